"""Fragments over HTTP."""

from typing import Any

import httpx


async def test_a_stored_fragment_is_found_by_the_next_recall(client: httpx.AsyncClient, member: Any) -> None:
    stored = await client.post(
        f"{member.path}/fragments", json={"content": "Retries are capped at three."}, headers=member.owner
    )
    assert stored.status_code == 201
    assert stored.json()["duplicate"] is False

    recalled = await client.post(
        f"{member.path}/recall", json={"query": "how many retries"}, headers=member.reader
    )
    assert recalled.status_code == 200
    assert [hit["id"] for hit in recalled.json()["results"]] == [stored.json()["id"]]
