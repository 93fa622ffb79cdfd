"""Remember: evidence first and for good, then what it says."""

from typing import Any
from uuid import uuid4

import msgspec
import psycopg
import pytest
import sqlalchemy as sa

from app.knowledge.remember_schemas import RunRequest
from app.knowledge.scope import Scope
from app.memory.schemas import FragmentInput
from app.services import Services
from app.tenancy.audit import SYSTEM
from tests.integration.conftest import TestDatabase
from tests.integration.knowledge.conftest import Talk


def outcomes(result: dict[str, Any]) -> list[tuple[str, str]]:
    return [(item["origin"], item["outcome"]) for item in result["claims"]]


async def work(services: Services) -> None:
    await services.jobs.app.run_worker_async(
        wait=False, install_signal_handlers=False, listen_notify=False, delete_jobs="successful"
    )


async def test_evidence_alone_is_read_by_the_grammar(talk: Talk) -> None:
    text = "I prefer dark roast coffee. We no longer use Redis. Does Bob like jazz? The sky was grey."
    answer = await talk.post("remember", {"evidence": [{"content": text}]})
    assert answer.status_code == 200, answer.text
    result = answer.json()
    assert result["status"] == "completed"
    assert [item["status"] for item in result["evidence"]] == ["created"]
    assert outcomes(result) == [
        ("extracted", "promoted"),
        ("extracted", "promoted"),
        ("extracted", "candidate"),
    ], "a question states nothing"
    facts = (await talk.get("facts"))["items"]
    assert sorted((f["subject"], f["predicate"], f["object"], f["polarity"]) for f in facts) == [
        ("user", "prefers", "dark roast coffee", "+"),
        ("user", "uses", "Redis", "-"),
    ]
    assert await talk.get(f"remember/{result['run_id']}") == result
    again = (await talk.post("remember", {"evidence": [{"content": text}]})).json()
    assert again["evidence"][0]["status"] == "duplicate"
    assert outcomes(again)[:2] == [("extracted", "already_promoted")] * 2


async def test_typed_claims_point_at_their_evidence(talk: Talk) -> None:
    claim = {"predicate": "works_at", "object": "Acme", "extract_conf": 0.9, "resolution_conf": 0.9}
    body = {
        "evidence": [
            {"content": "Ada works at Acme.", "authority": "secondary"},
            {"content": "Yes, Ada works at Acme.", "authority": "secondary"},
            {"content": "   "},
        ],
        "claims": [
            {**claim, "subject": "Ada", "evidence": [0]},
            {**claim, "subject": "Ada", "evidence": [0, 1]},
            {**claim, "subject": "Ada", "evidence": [2]},
            {**claim, "subject": "Ada", "predicate": "lunches_at", "evidence": [0]},
            {**claim, "subject": "", "evidence": [0]},
            {**claim, "subject": "Ada", "object": "Initech", "evidence": [0]},
        ],
    }
    result = (await talk.post("remember", body)).json()
    assert [item["status"] for item in result["evidence"]] == ["created", "created", "error"]
    assert outcomes(result) == [
        ("typed", "gate_rejected"),
        ("typed", "promoted"),
        ("typed", "invalid"),
        ("typed", "candidate"),
        ("typed", "invalid"),
        ("typed", "candidate"),
    ]
    assert result["claims"][2]["error"]["errors"][0]["path"] == "claims[2].evidence"
    assert result["claims"][4]["error"]["errors"][0]["path"] == "claims[4].subject"
    assert len((await talk.get("fragments"))["items"]) == 2


async def test_imports_promote_only_when_asked(talk: Talk) -> None:
    body = {"evidence": [{"content": "Ada likes tea."}]}
    result = (await talk.post("import", body)).json()
    assert outcomes(result) == [("extracted", "validated")]
    [fragment] = (await talk.get("fragments"))["items"]
    assert (fragment["source_type"], fragment["authority"]) == ("document", "secondary")
    assert (await talk.get("facts"))["items"] == []
    result = (await talk.post("import", {**body, "auto_promote": True})).json()
    assert outcomes(result) == [("extracted", "promoted")]


async def test_a_key_makes_it_repeatable(talk: Talk) -> None:
    headers = {**talk.member.owner, "Idempotency-Key": "once"}
    body = {"evidence": [{"content": "Ada likes tea."}]}
    path = f"{talk.member.path}/remember"
    first = await talk.client.post(path, json=body, headers=headers)
    again = await talk.client.post(path, json=body, headers=headers)
    assert first.json() == again.json()
    other = await talk.client.post(path, json={"evidence": [{"content": "x"}]}, headers=headers)
    assert other.json()["code"] == "idempotency_key_reused"


async def test_a_large_body_is_worked_by_a_job(talk: Talk, services: Services) -> None:
    evidence = [{"content": f"Ada likes tea{number}."} for number in range(30)]
    answer = await talk.post("remember", {"evidence": evidence})
    assert (answer.status_code, answer.json()["status"]) == (202, "queued")
    run = answer.json()["run_id"]
    assert (await talk.get(f"remember/{run}"))["evidence"] == []
    await work(services)
    done = await talk.get(f"remember/{run}")
    assert (done["status"], len(done["evidence"]), len(done["claims"])) == ("completed", 30, 30)
    assert {item["outcome"] for item in done["claims"]} == {"promoted"}
    assert len((await talk.get("facts", limit=100))["items"]) == 30


async def test_a_run_that_was_cut_off_is_worked_again(talk: Talk, services: Services) -> None:
    member = talk.member
    located = await services.tenancy.locate_profile(member.profile_id, member.team_id)
    scope = Scope(located.tenant, located.embedding_space_id, located.text_search_config, SYSTEM)
    raw = msgspec.Raw(msgspec.json.encode(FragmentInput(content="Ada likes tea.")))
    request = RunRequest(form="remember", evidence=[raw], claims=[], auto_promote=True, extraction="rules")
    remember = services.knowledge.remember
    prepared = await remember.prepare(scope, request)
    async with services.database.tenant(scope.tenant) as unit:
        stored = await remember.store(unit, scope, request, prepared, uuid4())
    cut_off = await talk.get(f"remember/{stored.run_id}")
    assert (cut_off["status"], cut_off["evidence"][0]["status"], cut_off["claims"]) == (
        "processing",
        "created",
        [],
    )
    done = await remember.resume(scope, stored.run_id)
    assert [item.outcome for item in done.claims] == ["promoted"]
    assert await remember.resume(scope, stored.run_id) == done


def jobs_of(urls: TestDatabase, profile_id: object) -> list[str]:
    with psycopg.connect(urls.superuser) as connection:
        statement = "SELECT status::text FROM procrastinate_jobs WHERE args->>'profile_id' = %s"
        return [row[0] for row in connection.execute(statement, (str(profile_id),))]


async def test_a_run_whose_process_ends_is_completed_by_a_worker(
    talk: Talk, services: Services, database_urls: TestDatabase
) -> None:
    """What a process leaves behind that stored the evidence and then ended: a run in progress, and a job."""
    member = talk.member
    located = await services.tenancy.locate_profile(member.profile_id, member.team_id)
    scope = Scope(located.tenant, located.embedding_space_id, located.text_search_config, SYSTEM)
    raw = msgspec.Raw(msgspec.json.encode(FragmentInput(content="Ada likes tea.")))
    request = RunRequest(form="remember", evidence=[raw], claims=[], auto_promote=True, extraction="rules")
    run_id, never_stored = uuid4(), uuid4()
    for run in (run_id, never_stored):
        assert await services.jobs.remember_if_cut_off(scope.tenant, run) is not None
    prepared = await services.knowledge.remember.prepare(scope, request)
    async with services.database.tenant(scope.tenant) as unit:
        await services.knowledge.remember.store(unit, scope, request, prepared, run_id)
        await unit.execute(
            sa.text(
                "UPDATE procrastinate_jobs SET scheduled_at = now() WHERE args->>'profile_id' = :profile"
            ),
            {"profile": str(member.profile_id)},
        )
    await work(services)
    done = await talk.get(f"remember/{run_id}")
    assert (done["status"], [claim["outcome"] for claim in done["claims"]]) == ("completed", ["promoted"])
    assert jobs_of(database_urls, member.profile_id) == []


async def test_a_run_that_is_done_leaves_no_job(talk: Talk, database_urls: TestDatabase) -> None:
    assert (await talk.post("remember", {"evidence": [{"content": "Ada likes tea."}]})).status_code == 200
    assert jobs_of(database_urls, talk.member.profile_id) == []


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"evidence": []}, "evidence"),
        ({"evidence": [{"content": "x"}], "extraction": "openai"}, "extraction"),
        ({"evidence": [{"content": "x"}], "extraction": "magic"}, "extraction"),
        ({"evidence": [{"content": "x"}], "surprise": 1}, "surprise"),
    ],
)
async def test_bad_bodies_are_refused(talk: Talk, body: dict[str, Any], path: str) -> None:
    answer = await talk.post("remember", body)
    assert (answer.status_code, answer.json()["code"]) == (422, "validation_failed"), answer.text
    assert [error["path"] for error in answer.json()["errors"]] == [path]


async def test_other_profiles_do_not_see_a_run(talk: Talk) -> None:
    run = (await talk.post("remember", {"evidence": [{"content": "Ada likes tea."}]})).json()["run_id"]
    path = f"/v1/profiles/{talk.member.other_profile_id}/remember/{run}"
    answer = await talk.client.get(path, headers=talk.member.owner)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
