"""Two services on one data directory: one database, one truth about keys, and an orderly end."""

import asyncio
from collections.abc import Iterator

import httpx
import pytest

from tests.e2e.embedding_server import API_KEY, EmbeddingServer, embedding_server
from tests.e2e.processes import PATIENCE, Stage, wait_until
from tests.support import servers_of


@pytest.fixture
def embedder(stage: Stage) -> Iterator[EmbeddingServer]:
    stage.secret(API_KEY)
    with embedding_server() as server:
        yield server
        stage.end()


async def test_keys_and_an_orderly_end(stage: Stage, embedder: EmbeddingServer) -> None:
    first = stage.serve(**embedder.settings)
    second = stage.serve(**embedder.settings)
    [server] = servers_of(stage.directory)
    member = stage.member(first)
    async with (
        httpx.AsyncClient(base_url=first.url, headers=member.headers, timeout=PATIENCE) as here,
        httpx.AsyncClient(base_url=second.url, headers=member.headers, timeout=PATIENCE) as there,
    ):
        made = (await here.post("/v1/keys", json={"name": "k", "scopes": ["memory:read"]})).raise_for_status()
        stage.secret(made.json()["api_key"])
        headers = {"Authorization": f"Bearer {made.json()['api_key']}"}
        assert (await there.get(member.fragments, headers=headers)).status_code == 200
        (await here.delete(f"/v1/keys/{made.json()['id']}")).raise_for_status()
        refused = await there.get(member.fragments, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (401, "revoked_key")

        (await here.post(member.fragments, json={"content": "The kettle is green."})).raise_for_status()
        embedder.open_gate.clear()
        embedder.texts.clear()
        under_way = asyncio.create_task(here.post(member.recall, json={"query": "which kettle"}))
        await asyncio.to_thread(wait_until, "a question at the embedder", lambda: embedder.texts)
        first.terminate()
        await asyncio.to_thread(wait_until, "no new connections", lambda: first.readiness() is None)
        assert not under_way.done()
        assert not first.ended
        embedder.open_gate.set()
        answer = await under_way
        assert answer.status_code == 200
        assert answer.json()["results"][0]["fragment"]["content"] == "The kettle is green."
        await asyncio.to_thread(first.wait)
        assert servers_of(stage.directory) == [server]
        assert (await there.get(member.fragments)).status_code == 200
    second.terminate()
    await asyncio.to_thread(second.wait)
    assert servers_of(stage.directory) == []
