"""Lists by cursor: filters, complete walks, and walks while others write."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.integration.conftest import Member


async def add_all(client: httpx.AsyncClient, member: Member, items: list[dict[str, Any]]) -> list[str]:
    answer = await client.post(f"{member.path}/fragments/batch", json={"items": items}, headers=member.owner)
    return [result["id"] for result in answer.json()["results"]]


async def pages(
    client: httpx.AsyncClient, member: Member, path: str, **query: Any
) -> AsyncIterator[list[Any]]:
    cursor = None
    while True:
        parameters = {**query, **({} if cursor is None else {"cursor": cursor})}
        answer = await client.get(path, params=parameters, headers=member.owner)
        assert answer.status_code == 200, answer.text
        yield answer.json()["items"]
        cursor = answer.json()["next_cursor"]
        if cursor is None:
            return


async def walk(client: httpx.AsyncClient, member: Member, **query: Any) -> list[str]:
    path = f"{member.path}/fragments"
    return [item["id"] async for page in pages(client, member, path, **query) for item in page]


@pytest.mark.parametrize("limit", [1, 7, 25, 100])
async def test_a_walk_sees_each_fragment_once_in_order(
    client: httpx.AsyncClient, member: Member, limit: int
) -> None:
    ids = await add_all(client, member, [{"content": f"note {n}"} for n in range(25)])
    sizes = [len(page) async for page in pages(client, member, f"{member.path}/fragments", limit=limit)]
    assert await walk(client, member, limit=limit) == ids
    assert all(size == limit for size in sizes[:-1])
    assert 1 <= sizes[-1] <= limit


async def test_an_empty_profile_has_one_empty_page(client: httpx.AsyncClient, member: Member) -> None:
    answer = await client.get(f"{member.path}/fragments", headers=member.owner)
    assert answer.json() == {"items": [], "next_cursor": None}


async def test_a_walk_misses_nothing_while_others_write_and_delete(
    client: httpx.AsyncClient, member: Member
) -> None:
    ids = await add_all(client, member, [{"content": f"old {n}"} for n in range(60)])
    seen: list[str] = []
    round_trip = 0
    async for page in pages(client, member, f"{member.path}/fragments", limit=6):
        seen += [item["id"] for item in page]
        round_trip += 1
        if round_trip <= 8:
            behind = seen[round_trip]
            await asyncio.gather(
                add_all(client, member, [{"content": f"new {round_trip} {n}"} for n in range(3)]),
                client.delete(f"{member.path}/fragments/{behind}", headers=member.owner),
            )
    assert len(seen) == len(set(seen))
    assert seen[:60] == ids
    assert len(seen) == 60 + 8 * 3


async def test_filters_choose_and_combine(client: httpx.AsyncClient, member: Member) -> None:
    ids = await add_all(
        client,
        member,
        [
            {"content": "one", "labels": ["red", "Blue"], "source_type": "document"},
            {"content": "two", "labels": ["red"], "source_type": "conversation"},
            {"content": "three", "labels": ["reddish"]},
            {"content": "four", "labels": ["red"], "source_type": "document"},
        ],
    )
    await client.post(f"{member.path}/fragments/{ids[3]}/retract", headers=member.owner)

    async def chosen(**query: str) -> list[int]:
        return [ids.index(found) for found in await walk(client, member, limit=2, **query)]

    assert await chosen() == [0, 1, 2, 3]
    assert await chosen(label="red") == [0, 1, 3]
    assert await chosen(label="blue") == []
    assert await chosen(label="Blue") == [0]
    assert await chosen(source_type="document") == [0, 3]
    assert await chosen(source_type="manual") == [2]
    assert await chosen(status="active") == [0, 1, 2]
    assert await chosen(status="retracted") == [3]
    assert await chosen(label="red", source_type="document", status="active") == [0]


async def test_times_of_storing_bound_a_list_half_open(client: httpx.AsyncClient, member: Member) -> None:
    times = []
    for n in range(3):
        [fragment_id] = await add_all(client, member, [{"content": f"at {n}"}])
        stored = await client.get(f"{member.path}/fragments/{fragment_id}", headers=member.owner)
        times.append(stored.json()["created_at"])

    async def count(**query: str) -> int:
        return len(await walk(client, member, **query))

    assert await count(created_from=times[1]) == 2
    assert await count(created_to=times[1]) == 1
    assert await count(created_from=times[1], created_to=times[2]) == 1
    assert await count(created_from=times[2], created_to=times[1]) == 0
    offset = times[1].replace("Z", "+00:00")
    plain = await client.get(f"{member.path}/fragments?created_from={offset}", headers=member.owner)
    assert len(plain.json()["items"]) == 2  # a plus that nobody escaped


@pytest.mark.parametrize("name", ["profiles", "keys", "audit"])
async def test_lists_of_the_team_can_be_walked(client: httpx.AsyncClient, member: Member, name: str) -> None:
    for n in range(3):
        await client.post("/v1/profiles", json={"name": f"profile {n}"}, headers=member.owner)
        await client.post("/v1/keys", json={"name": f"key {n}"}, headers=member.owner)
    small = [item["id"] async for page in pages(client, member, f"/v1/{name}", limit=2) for item in page]
    [whole] = [page async for page in pages(client, member, f"/v1/{name}", limit=100)]
    assert small == [item["id"] for item in whole]
    assert len(small) == len(set(small)) >= 5
    assert small == sorted(small, reverse=name == "audit")


async def test_a_cursor_of_another_list_is_only_a_place(client: httpx.AsyncClient, make_member: Any) -> None:
    mine, other = await make_member(), await make_member()
    await add_all(client, other, [{"content": f"theirs {n}"} for n in range(4)])
    ids = await add_all(client, mine, [{"content": f"mine {n}"} for n in range(2)])
    answer = await client.get(f"{other.path}/fragments?limit=2", headers=other.owner)
    assert await walk(client, mine, cursor=answer.json()["next_cursor"]) == ids
