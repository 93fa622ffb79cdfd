"""The chat client against a real server: what it sends, what it repeats, when it gives up, how much at once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from app.errors import StrataError
from app.knowledge.chat import ChatClient
from app.knowledge.extractors import OpenAIExtractor
from app.knowledge.verification import ClaimText, EvidenceText, Judgement
from app.knowledge.verifiers import OpenAIVerifier
from tests.integration.knowledge.chat_server import API_KEY, MODEL, ChatServer, Reply, chat_server, verdict

CLAIM = ClaimText(
    subject="Ada",
    predicate="works_at",
    object="Acme",
    polarity="+",
    modality="assertion",
    speaker=None,
    valid_from=datetime(2020, 1, 1, tzinfo=UTC),
    valid_to=None,
)
EVIDENCE = EvidenceText(content="Well. Ada works at Acme since 2020.", span=(6, 35))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


@pytest.fixture
async def connect(server: ChatServer) -> AsyncIterator[Callable[..., ChatClient]]:
    clients: list[ChatClient] = []

    def make(url: str = server.url, **options: Any) -> ChatClient:
        given = {"api_key": API_KEY, "timeout": 5.0, "first_pause": 0.01, **options}
        clients.append(ChatClient(url, MODEL, **given))
        return clients[-1]

    yield make
    for client in clients:
        await client.close()


async def test_a_judgement_is_asked_for_by_a_strict_schema(
    server: ChatServer, connect: Callable[..., ChatClient]
) -> None:
    server.otherwise = verdict("entailed", 0.75)
    verifier = OpenAIVerifier(connect())
    assert await verifier.verify(CLAIM, [EVIDENCE]) == [Judgement("entailed", 0.75, ("model",))]
    [(path, headers, body)] = server.requests
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {API_KEY}"
    assert (body["model"], body["temperature"]) == (MODEL, 0)
    asked = body["response_format"]
    assert (asked["type"], asked["json_schema"]["strict"]) == ("json_schema", True)
    schema = asked["json_schema"]["schema"]
    assert schema["additionalProperties"] is False
    assert (
        sorted(schema["required"]) == sorted(schema["properties"]) == ["confidence", "rationale", "verdict"]
    )
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    question = body["messages"][1]["content"]
    assert '"text":"Ada works at Acme since 2020."' in question, "the cited span, and no more"
    assert '"valid_from":"2020-01-01T00:00:00Z"' in question


async def test_a_base_address_may_end_with_its_version(
    server: ChatServer, connect: Callable[..., ChatClient]
) -> None:
    server.otherwise = verdict("neutral")
    await OpenAIVerifier(connect(server.url + "/v1/")).verify(CLAIM, [EVIDENCE])
    assert server.requests[0][0] == "/v1/chat/completions"


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_a_fault_that_may_pass_is_tried_again(
    server: ChatServer, connect: Callable[..., ChatClient], status: int
) -> None:
    server.replies.extend([Reply(status=status), Reply(status=status), verdict("entailed")])
    [judgement] = await OpenAIVerifier(connect()).verify(CLAIM, [EVIDENCE])
    assert (judgement.verdict, len(server.requests)) == ("entailed", 3)


@pytest.mark.parametrize(
    ("reply", "code", "asked"),
    [
        (Reply(status=500), "verifier_provider", 3),
        (Reply(status=429), "verifier_rate_limit", 3),
        (Reply(status=429, headers=(("Retry-After", "60"),)), "verifier_rate_limit", 1),
        (Reply(status=401), "verifier_provider", 1),
        (Reply(status=400), "verifier_provider", 1),
        (Reply(raw=b"not json"), "verifier_malformed_response", 3),
        (Reply(raw=b'{"choices": []}'), "verifier_malformed_response", 3),
        (Reply(None), "verifier_malformed_response", 3),
        (Reply("entailed"), "verifier_malformed_response", 3),
        (
            Reply({"verdict": "perhaps", "confidence": 1, "rationale": ""}),
            "verifier_malformed_response",
            3,
        ),
        (
            Reply({"verdict": "entailed", "confidence": 2, "rationale": ""}),
            "verifier_malformed_response",
            3,
        ),
        (Reply({"verdict": "entailed", "confidence": 1}), "verifier_malformed_response", 3),
        (
            Reply({"verdict": "entailed", "confidence": 1, "rationale": "", "more": 1}),
            "verifier_malformed_response",
            3,
        ),
        (
            Reply('{"verdict": "entailed", "confidence": NaN, "rationale": ""}'),
            "verifier_malformed_response",
            3,
        ),
        (Reply(raw=b" " * 1_100_000), "verifier_malformed_response", 3),
        (Reply(raw=b"gzip", headers=(("Content-Encoding", "gzip"),)), "verifier_provider", 3),
        (Reply(delay=1.0), "verifier_timeout", 3),
        (Reply({}, drip=0.05), "verifier_timeout", 3),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
async def test_a_fault_that_stays_has_its_code(
    server: ChatServer, connect: Callable[..., ChatClient], reply: Reply, code: str, asked: int
) -> None:
    server.otherwise = reply
    timeout = 0.3 if code == "verifier_timeout" else 5.0
    with pytest.raises(StrataError) as refused:
        await OpenAIVerifier(connect(timeout=timeout)).verify(CLAIM, [EVIDENCE])
    assert (refused.value.code, len(server.requests)) == (code, asked)
    assert "Acme" not in refused.value.detail
    if reply.headers[:1] == (("Retry-After", "60"),):
        assert refused.value.retry_after == 60


async def test_a_server_that_is_down_has_its_code(
    server: ChatServer, connect: Callable[..., ChatClient]
) -> None:
    client = connect()
    server.stop()
    with pytest.raises(StrataError) as refused:
        await OpenAIVerifier(client).verify(CLAIM, [EVIDENCE])
    assert refused.value.code == "verifier_provider"


async def test_an_answer_that_was_malformed_is_asked_for_again(
    server: ChatServer, connect: Callable[..., ChatClient]
) -> None:
    server.replies.extend([Reply("no"), verdict("contradicted")])
    [judgement] = await OpenAIVerifier(connect()).verify(CLAIM, [EVIDENCE])
    assert judgement.verdict == "contradicted"


async def test_no_more_than_so_many_at_once(server: ChatServer, connect: Callable[..., ChatClient]) -> None:
    server.otherwise = Reply({"verdict": "neutral", "confidence": 0.5, "rationale": ""}, delay=0.05)
    verifier = OpenAIVerifier(connect(concurrency=3))
    asked = [EvidenceText(content=f"Note {number}.") for number in range(20)]
    found = await asyncio.gather(verifier.verify(CLAIM, asked[:10]), verifier.verify(CLAIM, asked[10:]))
    assert sum(map(len, found)) == len(server.requests) == 20
    assert server.most == 3


async def test_one_failure_fails_the_whole_verification(
    server: ChatServer, connect: Callable[..., ChatClient]
) -> None:
    server.replies.extend([verdict("entailed"), Reply(status=400), verdict("entailed")])
    with pytest.raises(StrataError) as refused:
        await OpenAIVerifier(connect(concurrency=1)).verify(CLAIM, [EVIDENCE] * 3)
    assert refused.value.code == "verifier_provider"


async def test_claims_are_extracted_with_their_quotes(
    server: ChatServer, connect: Callable[..., ChatClient]
) -> None:
    claim = {"subject": "Ada", "predicate": "works_at", "object": "Acme", "polarity": "+"}
    said = {**claim, "modality": "assertion", "quote": "Ada works at Acme", "confidence": 0.9}
    server.otherwise = Reply(
        {"claims": [said, {**said, "quote": "Bob works at Acme"}, {**said, "quote": " "}]}
    )
    text = "Monday. Ada works at Acme."
    [found] = await OpenAIExtractor(connect()).extract(text)
    assert text[found.start : found.end] == "Ada works at Acme"
    assert found.fields["subject"] == "Ada"
    assert (found.fields["extract_conf"], found.fields["extraction_model"]) == (0.9, f"openai:{MODEL}")
    [(_, _, body)] = server.requests
    assert body["messages"][1]["content"] == text
    assert body["response_format"]["json_schema"]["strict"] is True


@pytest.mark.parametrize(
    "change",
    [
        {"predicate": "Works At"}, {"subject": ""}, {"subject": "A\x00"}, {"polarity": "maybe"}, {"confidence": -1},
        {"object": "x" * 2_000}, {"modality": None},
    ],
)  # fmt: skip
async def test_claims_outside_of_the_schema_are_refused(
    server: ChatServer, connect: Callable[..., ChatClient], change: dict[str, Any]
) -> None:
    claim = {"subject": "Ada", "predicate": "works_at", "object": "Acme", "polarity": "+", "quote": "Ada"}
    server.otherwise = Reply({"claims": [{**claim, "modality": "assertion", "confidence": 0.9, **change}]})
    with pytest.raises(StrataError) as refused:
        await OpenAIExtractor(connect()).extract("Ada works at Acme.")
    assert refused.value.code == "verifier_malformed_response"
