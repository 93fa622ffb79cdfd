"""Commands through a server: its answers, its refusals, and batches that it could not take at once."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from app.cli.filters import Filters
from app.cli.importing.runner import Import
from app.cli.importing.sources import Refused, find_files
from app.cli.output import CommandError
from app.cli.remote import RemoteMemory, send
from app.errors import StrataError
from app.memory.schemas import FragmentInput
from app.recall.schemas import RecallInput


class Quiet:
    """Watches an import and remembers what it was told."""

    def __init__(self) -> None:
        self.items = self.size = 0
        self.waits: list[str] = []
        self.refusals: list[str] = []

    def began(self) -> None:
        pass

    def advanced(self, size: int, items: int) -> None:
        self.size += size
        self.items += items

    def refused(self, refused: Refused) -> None:
        self.refusals.append(refused.reason)

    def waiting(self, reason: str, seconds: float) -> None:
        self.waits.append(f"{reason} ({seconds:.0f})")


@pytest.fixture
async def memory(client: httpx.AsyncClient, member: Any) -> AsyncIterator[RemoteMemory]:
    """A profile through the API in this process."""
    transport = client._transport  # noqa: SLF001 - the application of the fixture, with a key of its own
    headers = {**member.owner}
    async with httpx.AsyncClient(transport=transport, base_url=client.base_url, headers=headers) as mine:
        yield RemoteMemory(mine, member.profile_id)


async def test_everything_works_through_the_api(memory: RemoteMemory) -> None:
    [one, twice, bad] = await memory.store(
        [
            FragmentInput(content="Billing is owned by Edda.", labels=["owners"]),
            FragmentInput(content="Billing is owned by Edda."),
            FragmentInput(content=" "),
        ]
    )
    assert (one.duplicate, twice.duplicate, twice.id) == (False, True, one.id)
    assert bad.error is not None
    assert bad.error.detail == "content must not be blank and must not contain NUL characters"

    page = await memory.list_page(Filters(label="owners"), 10, None)
    assert [fragment["id"] for fragment in page["items"]] == [str(one.id)]
    answer = await memory.recall(RecallInput(query="who owns billing", explain=True))
    assert answer["results"][0]["id"] == str(one.id)
    assert "fusion" in answer["explain"]
    assert one.id is not None
    assert (await memory.retract(one.id))["status"] == "retracted"
    assert (await memory.get(one.id))["status"] == "retracted"
    with pytest.raises(StrataError) as missing:
        await memory.get(uuid4())
    assert missing.value.code == "not_found"


async def test_files_are_imported_through_the_api(memory: RemoteMemory, notes: Path) -> None:
    for stored, duplicates in ((5, 0), (0, 5)):
        watch = Quiet()
        importing = Import(find_files([notes]), watch, batch_size=2)
        summary = await importing.run(memory)
        assert (summary.stored, summary.duplicates, summary.failed) == (stored, duplicates, 0)
        assert watch.items == 5
        assert 0 < watch.size <= 245


def answering(*responses: httpx.Response | Exception) -> httpx.AsyncClient:
    """A client of a server that gives these answers, one after the other."""
    left = list(responses)

    def answer(_: httpx.Request) -> httpx.Response:
        response = left.pop(0)
        if isinstance(response, Exception):
            raise response
        return response

    return httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://strata.test")


BUSY = {"code": "database_busy", "detail": "every connection is in use"}
TAKEN = {"results": [{"index": 0, "status": "created", "id": str(uuid4())}]}


async def test_a_batch_that_the_server_cannot_take_now_is_repeated(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    watch = Quiet()
    async with answering(
        httpx.Response(503, json=BUSY, headers={"Retry-After": "0"}),
        httpx.ReadError("cut off"),
        httpx.Response(200, json=TAKEN),
    ) as client:
        importing = Import(find_files([tmp_path]), watch, batch_size=10, pauses=(0.0, 0.0))
        # A connection that was cut off is waited for a little; the rest of the pauses is the caller's.
        summary = await importing.run(RemoteMemory(client, uuid4()))
    assert summary.stored == 1
    assert watch.waits == ["every connection is in use (0)", "the server does not answer: ReadError (2)"]


async def test_a_server_that_stays_busy_ends_the_import_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    busy = [httpx.Response(503, json=BUSY, headers={"Retry-After": "0"}) for _ in range(3)]
    importing = Import(find_files([tmp_path]), Quiet(), batch_size=10, pauses=(0.0, 0.0))
    async with answering(*busy) as client:
        with pytest.raises(StrataError) as caught:
            await importing.run(RemoteMemory(client, uuid4()))
    assert caught.value.code == "database_busy"
    assert importing.summary.stored == 0


async def test_a_refusal_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    missing = httpx.Response(404, json={"code": "not_found", "detail": "no such profile"})
    importing = Import(find_files([tmp_path]), Quiet(), batch_size=10)
    async with answering(missing) as client:
        with pytest.raises(StrataError, match="no such profile"):
            await importing.run(RemoteMemory(client, uuid4()))


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(200, text="<html>"),
        httpx.Response(502, text="bad gateway"),
        httpx.Response(404, json=[]),
        httpx.Response(400, json={"code": "of_the_future", "detail": "new"}),
    ],
)
async def test_answers_that_are_not_stratas_are_told_as_such(response: httpx.Response) -> None:
    async with answering(response) as client:
        with pytest.raises(CommandError, match=f"answered {response.status_code}"):
            await send(client, "GET", "/v1/profiles")
