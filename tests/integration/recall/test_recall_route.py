"""Recall over HTTP: whatever is asked is answered, in one order, the same each time."""

from typing import Any

import httpx
import pytest

from tests.integration.conftest import Member

CONTENTS = (
    "外币汇率换算的规则写在财务手册里",
    "我们用机器学习算法给邮件分类",
    "我们最近配置的 rerank 精排是 bge 模型",
    "go 服务的部署 deployment 由平台组负责",
    "สวัสดีชาวโลก นี่คือระบบความจำ",
    "PROJ-123 was closed by the platform group",
    "PROJ-124 was closed by the platform group",
    "The parser is written in C++ and C# on .NET",
    "The owner is tagged team:foobar in the catalogue",
    "What is your password policy? Passwords expire after 90 days",
    "test_user1 has access to the billing console",
    "test_user has access to the admin console",
)


@pytest.fixture(scope="module")
async def filled(client: httpx.AsyncClient, make_member: Any) -> Member:
    member: Member = await make_member()
    answer = await client.post(
        f"{member.path}/fragments/batch",
        json={"items": [{"content": content} for content in CONTENTS]},
        headers=member.owner,
    )
    assert {item["status"] for item in answer.json()["results"]} == {"created"}
    return member


async def ask(client: httpx.AsyncClient, member: Member, query: str, **fields: Any) -> httpx.Response:
    return await client.post(f"{member.path}/recall", json={"query": query, **fields}, headers=member.reader)


@pytest.mark.parametrize(
    "query",
    [
        "(", ")", ":*", "&", "!", "|", "\\", "<->", "foo:bar", "'", "''", "a & b | !c", "<3>", "%", "%s", "$1", ";--",
        "the", "to be or not to be", "?!...", "👩‍👩‍👧‍👦", "🙂", "😀" * 2_048, "a" * 4_096, "x " * 2_048, "\x07\x1b[0m",
        "What's your password policies?", "十万年前", "两千零二十六年前", "100000 years ago", "12 June 2024 to 1 July 2024",
        "yesterday", "2026-02-30", "<|endoftext|>", "ﷺ" * 1_000, "e" + "\u0301" * 2_000,
    ],
    ids=lambda query: ascii(query[:16]),
)  # fmt: skip
@pytest.mark.parametrize("policy", ["strata-v1", "documented-v1"])
async def test_any_text_is_answered(
    client: httpx.AsyncClient, filled: Member, query: str, policy: str
) -> None:
    answer = await ask(client, filled, query, policy=policy, explain=True)
    assert answer.status_code == 200, answer.text
    assert answer.json()["degraded"] == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("外币汇率换算", 0),
        ("学习", 1),
        ("rerank 精排", 2),
        ("部署", 3),
        ("โลก", 4),
        ("PROJ-123", 5),
        ("PROJ-124", 6),
        ("C++ C# .NET", 7),
        ("team:foobar", 8),
        ("What's your password policies?", 9),
        ("test_user1", 10),
        ("test_user", 11),
    ],
)
async def test_words_of_any_script_and_identifiers_are_keyword_hits(
    client: httpx.AsyncClient, filled: Member, query: str, found: int
) -> None:
    hits = (await ask(client, filled, query, limit=50)).json()["results"]
    first = min((hit for hit in hits if hit["keyword_rank"]), key=lambda hit: hit["keyword_rank"])
    assert first["fragment"]["content"] == CONTENTS[found]


@pytest.mark.parametrize(
    "query", ["PROJ-123 platform group", "who has access", "教えて 机器学习", "password"]
)
async def test_the_order_does_not_depend_on_the_limit_and_repeats_to_the_byte(
    client: httpx.AsyncClient, filled: Member, query: str
) -> None:
    whole = await ask(client, filled, query, limit=50, explain=True)
    again = await ask(client, filled, query, limit=50, explain=True)
    assert [hit["id"] for hit in whole.json()["results"]] == [hit["id"] for hit in again.json()["results"]]
    assert [hit["score"] for hit in whole.json()["results"]] == [
        hit["score"] for hit in again.json()["results"]
    ]
    for limit in (1, 3, 10):
        short = (await ask(client, filled, query, limit=limit)).json()["results"]
        assert [hit["id"] for hit in short] == [hit["id"] for hit in whole.json()["results"][:limit]]
        assert [hit["rank"] for hit in short] == list(range(1, len(short) + 1))


async def test_filters_narrow_the_search_itself(client: httpx.AsyncClient, member: Member) -> None:
    """Five wanted rows among many better ones are all found."""
    noise = [{"content": f"harbour crane report {n}", "labels": ["noise"]} for n in range(300)]
    wanted = [
        {
            "content": f"harbour {'filler ' * 30} {n}",
            "labels": ["wanted", "noise"],
            "source_type": "document",
            "valid_from": "2026-01-01T00:00:00Z",
            "valid_to": "2026-02-01T00:00:00Z",
        }
        for n in range(5)
    ]
    await client.post(f"{member.path}/fragments/batch", json={"items": noise + wanted}, headers=member.owner)

    async def labels(**fields: Any) -> list[list[str]]:
        answer = await ask(client, member, "harbour crane report", limit=50, **fields)
        return [hit["fragment"]["labels"] for hit in answer.json()["results"]]

    for fields in (
        {"labels": ["wanted"]},
        {"labels": ["noise", "wanted"]},
        {"source_types": ["document", "conversation"]},
        {"labels": ["wanted"], "valid_at": "2026-01-15T00:00:00Z"},
    ):
        assert await labels(**fields) == [["wanted", "noise"]] * 5
    assert await labels(labels=["wanted"], valid_at="2026-02-01T00:00:00Z") == []
    assert await labels(labels=["Wanted"]) == []
    assert len(await labels()) == 50
    assert len(await labels(valid_at="2020-01-01T00:00:00Z")) == 50


async def test_an_empty_profile_answers_with_nothing(client: httpx.AsyncClient, member: Member) -> None:
    answer = await ask(client, member, "anything", explain=True)
    assert answer.status_code == 200
    assert answer.json()["results"] == []
