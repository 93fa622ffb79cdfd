"""What counts as the same evidence: idempotency keys, contents, requests, one at a time and all at once."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
import sqlalchemy as sa

from app.db.unit_of_work import Tenant
from app.services import Services
from tests.integration.conftest import Member


async def add(client: httpx.AsyncClient, member: Member, content: str, **fields: Any) -> httpx.Response:
    headers = {**member.owner, **fields.pop("headers", {})}
    return await client.post(f"{member.path}/fragments", json={"content": content, **fields}, headers=headers)


async def add_batch(client: httpx.AsyncClient, member: Member, *items: Any, key: str | None = None) -> Any:
    headers = member.owner if key is None else {**member.owner, "Idempotency-Key": key}
    answer = await client.post(f"{member.path}/fragments/batch", json={"items": items}, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["results"]


async def contents(client: httpx.AsyncClient, member: Member) -> list[str]:
    answer = await client.get(f"{member.path}/fragments?limit=100", headers=member.owner)
    return [item["content"] for item in answer.json()["items"]]


# --- contents ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Café at noon", "Cafe\u0301 at noon"),
        ("two  words", "two words"),
        ("a\r\nb", "a\nb"),
        ("  padded\t", "padded"),
        ("non\u00a0breaking", "non breaking"),
        ("Å", "\u212b"),
    ],
)
async def test_contents_that_differ_in_form_or_white_space_are_one(
    client: httpx.AsyncClient, member: Member, first: str, second: str
) -> None:
    stored, again = await add(client, member, first), await add(client, member, second)
    assert stored.status_code == again.status_code == 201
    assert again.json() == {"id": stored.json()["id"], "duplicate": True}
    assert await contents(client, member) == [first]


@pytest.mark.parametrize(
    ("first", "second"), [("Deploy", "deploy"), ("ﬁle", "file"), ("ab", "a b"), ("x²", "x2"), ("a", "а")]
)
async def test_other_differences_make_two(
    client: httpx.AsyncClient, member: Member, first: str, second: str
) -> None:
    await add(client, member, first)
    assert (await add(client, member, second)).json()["duplicate"] is False
    assert await contents(client, member) == [first, second]


async def test_a_duplicate_keeps_everything_but_a_stricter_classification(
    client: httpx.AsyncClient, member: Member
) -> None:
    before = {"confidentiality": "restricted", "retention": "ephemeral", "pii": "none"}
    asked = {"confidentiality": "public", "retention": "permanent", "pii": "sensitive"}
    stored = await add(client, member, "salaries", source="hr", labels=["a"], classification=before)
    await add(client, member, "salaries", source="gossip", labels=["b"], classification=asked)
    path = f"{member.path}/fragments/{stored.json()['id']}"
    kept = (await client.get(path, headers=member.owner)).json()
    assert (kept["source"], kept["labels"]) == ("hr", ["a"])
    assert kept["classification"] == {
        "confidentiality": "restricted",
        "retention": "permanent",
        "pii": "sensitive",
    }
    assert kept["updated_at"] > kept["created_at"]


async def test_contents_of_a_retracted_fragment_can_be_stored_again(
    client: httpx.AsyncClient, member: Member
) -> None:
    first = (await add(client, member, "back again")).json()["id"]
    await client.post(f"{member.path}/fragments/{first}/retract", headers=member.owner)
    second = (await add(client, member, "back again")).json()
    assert second["duplicate"] is False
    assert second["id"] != first


async def test_the_other_profile_has_its_own_contents_and_keys(
    client: httpx.AsyncClient, member: Member
) -> None:
    mine = await add(
        client, member, "shared words", idempotency_key="k", headers={"Idempotency-Key": "request"}
    )
    theirs = await client.post(
        f"/v1/profiles/{member.other_profile_id}/fragments",
        json={"content": "shared words", "idempotency_key": "k"},
        headers={**member.owner, "Idempotency-Key": "request"},
    )
    assert (mine.status_code, theirs.status_code) == (201, 201)
    assert theirs.json()["duplicate"] is False
    assert theirs.json()["id"] != mine.json()["id"]


# --- idempotency keys of items -----------------------------------------------------------------------------------


async def test_a_key_with_the_same_content_is_a_duplicate(client: httpx.AsyncClient, member: Member) -> None:
    stored = await add(client, member, "row one", idempotency_key="row-1")
    again = await add(client, member, " row  one", idempotency_key="row-1")
    assert again.json() == {"id": stored.json()["id"], "duplicate": True}


async def test_a_key_with_another_content_is_refused(client: httpx.AsyncClient, member: Member) -> None:
    await add(client, member, "row one", idempotency_key="row-1")
    again = await add(client, member, "row two", idempotency_key="row-1")
    assert (again.status_code, again.json()["code"]) == (409, "idempotency_key_reused")
    assert await contents(client, member) == ["row one"]


async def test_a_key_outlives_the_retraction_of_its_fragment(
    client: httpx.AsyncClient, member: Member
) -> None:
    stored = (await add(client, member, "row one", idempotency_key="row-1")).json()["id"]
    await client.post(f"{member.path}/fragments/{stored}/retract", headers=member.owner)
    again = await add(client, member, "row one", idempotency_key="row-1")
    assert again.json() == {"id": stored, "duplicate": True}


@pytest.mark.parametrize("key", ["ключ", "a b", "🙂", "x" * 128, "equipe/α", "%00"])
async def test_keys_may_be_any_text(client: httpx.AsyncClient, member: Member, key: str) -> None:
    stored = await add(client, member, "keyed", idempotency_key=key)
    assert (await add(client, member, "keyed", idempotency_key=key)).json()["duplicate"] is True
    path = f"{member.path}/fragments/{stored.json()['id']}"
    assert (await client.get(path, headers=member.owner)).json()["idempotency_key"] == key


# --- Idempotency-Key of requests ---------------------------------------------------------------------------------


async def test_a_repeated_request_gets_the_stored_answer(client: httpx.AsyncClient, member: Member) -> None:
    headers = {"Idempotency-Key": "import 17"}
    first = await add(client, member, "once", headers=headers)
    again = await add(client, member, "once", headers=headers)
    assert again.content == first.content == b'{"id":"%s","duplicate":false}' % first.json()["id"].encode()
    assert again.status_code == first.status_code == 201


async def test_another_body_with_the_same_request_key_is_refused(
    client: httpx.AsyncClient, member: Member
) -> None:
    headers = {"Idempotency-Key": "import 17"}
    await add(client, member, "once", headers=headers)
    again = await add(client, member, "twice", headers=headers)
    assert (again.status_code, again.json()["code"]) == (409, "idempotency_key_reused")
    batch = await client.post(
        f"{member.path}/fragments/batch",
        json={"items": [{"content": "once"}]},
        headers={**member.owner, **headers},
    )
    assert batch.status_code == 409
    assert await contents(client, member) == ["once"]


async def test_a_refused_request_leaves_its_key_free(client: httpx.AsyncClient, member: Member) -> None:
    headers = {"Idempotency-Key": "import 17"}
    assert (await add(client, member, "  ", headers=headers)).status_code == 422
    await add(client, member, "other", idempotency_key="taken")
    assert (await add(client, member, "new", idempotency_key="taken", headers=headers)).status_code == 409
    assert (await add(client, member, "good", headers=headers)).status_code == 201


async def test_a_repeated_batch_gets_the_stored_answer(client: httpx.AsyncClient, member: Member) -> None:
    items = [{"content": "one"}, {"content": ""}, {"content": "two"}]
    first = await add_batch(client, member, *items, key="b-1")
    assert [item["status"] for item in first] == ["created", "error", "created"]
    assert await add_batch(client, member, *items, key="b-1") == first
    assert [item["status"] for item in await add_batch(client, member, *items)] == [
        "duplicate",
        "error",
        "duplicate",
    ]


# --- at the same time --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{}, {"idempotency_key": "same"}], ids=["content", "key"])
async def test_identical_adds_at_once_make_one_row(
    client: httpx.AsyncClient, member: Member, fields: dict[str, Any]
) -> None:
    answers = await asyncio.gather(*(add(client, member, "said by many", **fields) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sorted(answer.json()["duplicate"] for answer in answers) == [False] + [True] * 7
    assert await contents(client, member) == ["said by many"]


async def test_one_key_with_two_contents_at_once_has_one_winner(
    client: httpx.AsyncClient, member: Member
) -> None:
    answers = await asyncio.gather(
        *(add(client, member, f"version {n}", idempotency_key="same") for n in range(6))
    )
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 5
    assert len(await contents(client, member)) == 1


async def test_identical_requests_at_once_get_identical_answers(
    client: httpx.AsyncClient, member: Member
) -> None:
    headers = {"Idempotency-Key": str(uuid4())}
    answers = await asyncio.gather(*(add(client, member, "once only", headers=headers) for _ in range(8)))
    assert {(answer.status_code, answer.content) for answer in answers} == {(201, answers[0].content)}
    assert answers[0].json()["duplicate"] is False
    assert await contents(client, member) == ["once only"]


async def test_overlapping_batches_at_once_store_each_content_once(
    client: httpx.AsyncClient, member: Member
) -> None:
    texts = [f"line {n}" for n in range(60)]
    orders = [texts, texts[::-1], texts[30:] + texts[:30], texts[10:50]]
    answers = await asyncio.gather(
        *(add_batch(client, member, *({"content": text} for text in order)) for order in orders)
    )
    ids: dict[str, set[str]] = {}
    for order, results in zip(orders, answers, strict=True):
        for text, result in zip(order, results, strict=True):
            ids.setdefault(text, set()).add(result["id"])
    assert {len(found) for found in ids.values()} == {1}
    assert sum(result["status"] == "created" for results in answers for result in results) == 60
    assert sorted(await contents(client, member)) == sorted(texts)


async def test_statistics_count_a_row_that_many_added_once(
    client: httpx.AsyncClient, services: Services, member: Member
) -> None:
    await asyncio.gather(*(add(client, member, "harbour crane") for _ in range(6)))
    async with services.database.tenant(Tenant(member.team_id, member.profile_id)) as unit:
        totals = await unit.execute(
            sa.text("SELECT sum(documents), sum(tokens), sum(vectors) FROM collection_statistics")
        )
        assert tuple(totals.one()) == (1, 2, 1)


# --- batches -----------------------------------------------------------------------------------------------------


async def test_a_batch_answers_item_by_item_in_order(client: httpx.AsyncClient, member: Member) -> None:
    known = (await add(client, member, "known", idempotency_key="known")).json()["id"]
    results = await add_batch(
        client,
        member,
        {"content": "alpha"},
        {"content": "known"},
        {"content": "alpha "},
        {"content": "beta", "idempotency_key": "known"},
        {"content": "\u200b"},
        {"content": "gamma", "idempotency_key": "g"},
        {"content": "delta", "idempotency_key": "g"},
        {"content": "epsilon"},
    )
    assert [item["index"] for item in results] == list(range(8))
    assert [item["status"] for item in results] == [
        "created", "duplicate", "duplicate", "error", "error", "created", "error", "created",
    ]  # fmt: skip
    assert [item["duplicate"] for item in results] == [False, True, True, False, False, False, False, False]
    assert results[1]["id"] == known
    assert results[2]["id"] == results[0]["id"]
    assert [item["error"]["code"] for item in results if item["error"]] == [
        "idempotency_key_reused", "validation_failed", "idempotency_key_reused",
    ]  # fmt: skip
    assert [item["id"] is None for item in results] == [item["status"] == "error" for item in results]
    assert await contents(client, member) == ["known", "alpha", "gamma", "epsilon"]


async def test_duplicates_inside_a_batch_merge_their_classification(
    client: httpx.AsyncClient, member: Member
) -> None:
    levels = ["internal", "restricted", "public"]
    results = await add_batch(
        client,
        member,
        *({"content": "plan", "classification": {"confidentiality": level}} for level in levels),
    )
    path = f"{member.path}/fragments/{results[0]['id']}"
    kept = (await client.get(path, headers=member.owner)).json()
    assert kept["classification"]["confidentiality"] == "restricted"


async def test_fragments_are_listed_in_the_order_of_their_batch(
    client: httpx.AsyncClient, member: Member
) -> None:
    texts = [f"sentence {n} of the story" for n in range(100)]
    results = await add_batch(client, member, *({"content": text} for text in texts))
    assert [UUID(item["id"]) for item in results] == sorted(UUID(item["id"]) for item in results)
    assert await contents(client, member) == texts


async def test_a_batch_of_a_thousand_is_stored_and_one_more_is_refused(
    client: httpx.AsyncClient, member: Member
) -> None:
    results = await add_batch(client, member, *({"content": f"entry {n}"} for n in range(1_000)))
    assert {item["status"] for item in results} == {"created"}
    answer = await client.post(
        f"{member.path}/fragments/batch",
        json={"items": [{"content": f"entry {n}"} for n in range(1_001)]},
        headers=member.owner,
    )
    assert answer.status_code == 422
