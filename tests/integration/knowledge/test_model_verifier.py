"""A chat model as verifier and extractor of a whole service: what it decides, and what its failures leave alone."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from app.asgi import create_app
from app.services import Services
from app.settings import Settings
from tests.integration.conftest import OPERATOR_TOKEN, Member, TestDatabase, opened_services
from tests.integration.knowledge.chat_server import MODEL, ChatServer, Reply, chat_server, verdict
from tests.integration.knowledge.conftest import Talk


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


@pytest.fixture
async def model_services(database_urls: TestDatabase, server: ChatServer) -> AsyncIterator[Services]:
    settings = Settings(
        embedder="hash",
        operator_token=OPERATOR_TOKEN,
        worker=False,
        verifier="openai",
        chat_base_url=server.url,
        chat_model=MODEL,
        chat_timeout=5.0,
    )
    async with opened_services(database_urls, settings) as services:
        yield services
        await services.knowledge.close()


@pytest.fixture
async def talk(model_services: Services, member: Member) -> AsyncIterator[Talk]:
    transport = httpx.ASGITransport(app=create_app(model_services.settings, model_services))
    async with httpx.AsyncClient(transport=transport, base_url="http://strata.test") as http:
        yield Talk(http, member)


async def state(talk: Talk, claim: str) -> dict[str, Any]:
    view = await talk.get(f"claims/{claim}")
    return {name: view[name] for name in ("status", "verdict", "verifier", "updated_at", "evidence")}


async def test_the_model_decides(talk: Talk, server: ChatServer) -> None:
    server.replies.extend([verdict("entailed", 0.8), verdict("neutral", 0.6)])
    one, two = await talk.fragment("Ada is employed by Acme."), await talk.fragment("Acme exists.")
    claim = await talk.claim("Ada", "works_at", "Acme", one, two)
    assert await talk.verify(claim) == "validated"
    view = await talk.get(f"claims/{claim}")
    assert view["verifier"] == f"openai:{MODEL}"
    assert sorted((e["verdict"], e["confidence"], e["reasons"]) for e in view["evidence"]) == [
        ("entailed", 0.8, ["model"]),
        ("neutral", 0.6, ["model"]),
    ]


@pytest.mark.parametrize(
    ("reply", "status", "code"),
    [
        (Reply(status=400), 503, "verifier_provider"),
        (Reply(status=429, headers=(("Retry-After", "60"),)), 429, "verifier_rate_limit"),
        (Reply("no"), 502, "verifier_malformed_response"),
    ],
    ids=["provider", "rate", "malformed"],
)
async def test_a_verifier_that_fails_changes_nothing_and_is_reported(
    talk: Talk, server: ChatServer, reply: Reply, status: int, code: str
) -> None:
    claim = await talk.claim("Ada", "likes", "tea", await talk.fragment("Ada likes tea."))
    before = await state(talk, claim)
    server.otherwise = reply
    answer = await talk.post(f"claims/{claim}/verify")
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    if status in {429, 503}:
        assert int(answer.headers["Retry-After"]) >= 5
    assert await state(talk, claim) == before
    server.otherwise = verdict("entailed")
    assert await talk.verify(claim) == "validated"


async def test_evidence_is_never_lost_because_the_model_fails(talk: Talk, server: ChatServer) -> None:
    server.otherwise = Reply(status=400)
    body = {
        "evidence": [{"content": "Ada likes tea."}, {"content": "Bob likes milk."}],
        "extraction": "openai",
    }
    answer = await talk.post("remember", body)
    assert answer.status_code == 200, answer.text
    result = answer.json()
    assert result["status"] == "completed"
    assert [item["status"] for item in result["evidence"]] == ["created", "created"]
    assert [(c["outcome"], c["error"]["code"]) for c in result["claims"]] == [
        ("claim_error", "verifier_provider")
    ] * 2
    assert len((await talk.get("fragments"))["items"]) == 2
    claim = {"subject": "Ada", "predicate": "likes", "object": "tea", "evidence": [0], "resolution_conf": 0.9}
    again = (await talk.post("remember", {**body, "claims": [claim], "extraction": "none"})).json()
    assert [item["status"] for item in again["evidence"]] == ["duplicate", "duplicate"]
    assert [(c["outcome"], c["error"]["code"]) for c in again["claims"]] == [
        ("claim_error", "verifier_provider")
    ]
    assert len((await talk.get("claims"))["items"]) == 1, "the claim is there, to be verified later"


async def test_what_the_model_extracts_is_verified_and_promoted(talk: Talk, server: ChatServer) -> None:
    said = {
        "subject": "Ada", "predicate": "works_at", "object": "Acme", "polarity": "+", "modality": "assertion",
        "quote": "Ada got hired by Acme", "confidence": 0.9,
    }  # fmt: skip
    server.replies.extend([Reply({"claims": [said, {**said, "predicate": "lunches_at"}]})])
    server.otherwise = verdict("entailed")
    body = {"evidence": [{"content": "News: Ada got hired by Acme."}], "extraction": "openai"}
    result = (await talk.post("remember", body)).json()
    assert [item["outcome"] for item in result["claims"]] == ["promoted", "predicate_not_supported"]
    [fact] = (await talk.get("facts"))["items"]
    assert (fact["subject"], fact["predicate"], fact["object"]) == ("Ada", "works_at", "Acme")
    trace = await talk.get(f"trace/fact/{fact['id']}")
    [evidence] = trace["promoted_from_claim"]["evidence"]
    assert (evidence["span_start"], evidence["span_end"]) == (6, 27)


async def test_a_fact_that_is_doubted_waits_until_its_claim_is_verified_again(
    talk: Talk, server: ChatServer
) -> None:
    server.otherwise = verdict("entailed")
    made = await talk.fact("Ada", "works_at", "Acme", "Ada is with Acme.", extract_conf=0.86)
    fact, claim = made["fact"]["id"], made["claim_id"]
    server.otherwise = verdict("insufficient")
    assert await talk.verify(claim) == "superseded"
    assert (await talk.get(f"facts/{fact}"))["status"] == "needs_revalidation"
    assert (await talk.post(f"facts/{fact}/revalidate")).json()["code"] == "gate_rejected"
    server.otherwise = verdict("entailed")
    assert await talk.verify(claim) == "superseded"
    assert (await talk.get(f"facts/{fact}"))["status"] == "needs_revalidation", "nobody has revalidated it"
    done = await talk.post(f"facts/{fact}/revalidate")
    assert (done.status_code, done.json()["status"]) == (200, "active")
    history = (await talk.get(f"facts/{fact}/history"))["versions"]
    assert [version["reason"] for version in history] == ["promoted", "support_lost", "revalidated"]
    await talk.fact("Ada", "works_at", "Initech", "Ada is with Initech.")
    for said, status in (("neutral", "needs_revalidation"), ("entailed", "needs_revalidation")):
        server.otherwise = verdict(said)
        await talk.verify(claim)
        assert (await talk.get(f"facts/{fact}"))["status"] == status
    back = await talk.post(f"facts/{fact}/revalidate")
    assert (back.status_code, back.json()["status"]) == (200, "superseded"), (
        "past it was, and past it is again"
    )
    [active] = (await talk.get("facts", status="active"))["items"]
    assert active["object"] == "Initech"


async def test_a_revalidation_finds_its_place_taken(talk: Talk, server: ChatServer) -> None:
    """An active fact of an earlier time excludes the one that waits; the fact stays as it is."""
    server.otherwise = verdict("entailed")
    late = await talk.fact(
        "Ada", "works_at", "Acme", "Ada is with Acme since 2020.", valid_from="2020-01-01T00:00:00Z"
    )
    server.otherwise = verdict("neutral")
    await talk.verify(late["claim_id"])
    server.otherwise = verdict("entailed")
    early = await talk.fact(
        "Ada", "works_at", "Initech", "Ada was with Initech until 2015.", valid_to="2015-01-01T00:00:00Z"
    )
    assert early["fact"]["status"] == "active"
    await talk.verify(late["claim_id"])
    refused = await talk.post(f"facts/{late['fact']['id']}/revalidate")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert refused.json()["detail"] == "an active fact excludes this one"
