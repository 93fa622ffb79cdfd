"""An embedding server that is slow or down: nobody else waits for it, and everybody is told."""

import asyncio
from collections.abc import Iterator

import httpx
import pytest

from tests.e2e.embedding_server import API_KEY, EmbeddingServer, embedding_server
from tests.e2e.processes import PATIENCE, Stage, wait_until


@pytest.fixture
def embedder(stage: Stage) -> Iterator[EmbeddingServer]:
    stage.secret(API_KEY)
    with embedding_server() as server:
        yield server
        stage.end()


def is_unavailable(answer: httpx.Response, *codes: str) -> bool:
    """Whether this is the one shape of "later": 503, a known code, and when to come back."""
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert int(answer.headers["retry-after"]) >= 1
    return answer.json()["code"] in codes


class TestEmbedder:
    async def test_a_slow_embedder_holds_no_connection(self, stage: Stage, embedder: EmbeddingServer) -> None:
        service = stage.serve(**embedder.settings, pool_size=1)
        member = stage.member(service)
        async with httpx.AsyncClient(base_url=service.url, headers=member.headers, timeout=PATIENCE) as http:
            stored = await http.post(member.fragments, json={"content": stage.secret("The kettle is green.")})
            fragment = f"{member.fragments}/{stored.raise_for_status().json()['id']}"
            embedder.open_gate.clear()
            embedder.texts.clear()
            recalls = [
                asyncio.create_task(http.post(member.recall, json={"query": f"kettle of kind {number}"}))
                for number in range(10)
            ]
            await asyncio.to_thread(wait_until, "a question at the embedder", lambda: embedder.texts)
            assert (await http.get("/livez")).status_code == 200
            assert (await http.get("/readyz")).status_code == 200
            assert (await http.get(fragment)).json()["content"] == "The kettle is green."
            assert [recall.done() for recall in recalls] == [False] * 10
            embedder.open_gate.set()
            answers = await asyncio.gather(*recalls)
        assert [answer.status_code for answer in answers] == [200] * 10
        assert {answer.json()["results"][0]["fragment"]["content"] for answer in answers} == {
            "The kettle is green."
        }

    async def test_an_embedder_that_is_down_is_named_and_comes_back(
        self, stage: Stage, embedder: EmbeddingServer
    ) -> None:
        service = stage.serve(**embedder.settings, pool_size=1)
        member = stage.member(service)
        async with httpx.AsyncClient(base_url=service.url, headers=member.headers, timeout=PATIENCE) as http:
            stored = await http.post(member.fragments, json={"content": "The kettle is green."})
            fragment = f"{member.fragments}/{stored.raise_for_status().json()['id']}"
            embedder.stop()
            recall = asyncio.create_task(http.post(member.recall, json={"query": "which colour"}))
            write = asyncio.create_task(http.post(member.fragments, json={"content": "The cup is blue."}))
            assert (await http.get(fragment)).status_code == 200
            assert (await http.get(member.fragments)).status_code == 200
            assert is_unavailable(await recall, "embedder_unavailable")
            assert is_unavailable(await write, "embedder_unavailable")
            readiness = await http.get("/readyz")
            assert readiness.status_code == 503
            assert readiness.json()["database"] == {"ready": True, "detail": "ready"}
            assert readiness.json()["embedder"]["ready"] is False
            assert "cannot be reached" in readiness.json()["embedder"]["detail"]
            assert (await http.get("/livez")).status_code == 200
            assert [item["content"] for item in (await http.get(member.fragments)).json()["items"]] == [
                "The kettle is green."
            ]
            embedder.resume()
            await asyncio.to_thread(service.until_ready)
            assert (await http.post(member.recall, json={"query": "which colour"})).status_code == 200
