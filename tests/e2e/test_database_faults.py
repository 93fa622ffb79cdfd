"""The database goes away, is killed, is slow: every answer is clear, nothing acknowledged is lost, all heals by itself."""

import asyncio
import os
import signal
from collections import Counter
from dataclasses import dataclass, field

import httpx
import psycopg
import pytest

from tests.e2e.external import ExternalPostgres
from tests.e2e.jobs import job_is_done
from tests.e2e.processes import PATIENCE, Member, Running, Stage, wait_until
from tests.support import servers_of

BATCH = 20
BUSY = {"database_unavailable", "database_busy"}


def batch(writer: str, number: int) -> dict[str, object]:
    return {"items": [{"content": f"Writer {writer} saw {number} times {item}."} for item in range(BATCH)]}


def check_unavailable(answer: httpx.Response) -> str:
    """The one shape of "later": 503, a problem, and when to come back; returns its code."""
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert int(answer.headers["retry-after"]) >= 1
    code: str = answer.json()["code"]
    return code


@dataclass
class Load:
    """Clients that write and ask without a pause until they are told to stop."""

    service: Running
    member: Member
    stored: set[str] = field(default_factory=set)
    successes: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    stopping: bool = False

    async def write(self, name: str) -> None:
        async with self.client() as http:
            number = 0
            while not self.stopping:
                number += 1
                self._note(name, await http.post(self.member.batch, json=batch(name, number)))

    async def ask(self, name: str) -> None:
        async with self.client() as http:
            while not self.stopping:
                self._note(
                    name, await http.post(self.member.recall, json={"query": "what writer 1 saw 3 times"})
                )

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.service.url, headers=self.member.headers, timeout=PATIENCE)

    def _note(self, name: str, answer: httpx.Response) -> None:
        if answer.status_code != 200:
            self.failures[check_unavailable(answer)] += 1
            return
        self.successes[name] += 1
        if answer.request.url.path == self.member.batch:
            results = answer.json()["results"]
            assert {result["status"] for result in results} == {"created"}
            self.stored |= {result["id"] for result in results}

    async def until_each_succeeds(self, tasks: list[asyncio.Task[None]], times: int = 3) -> None:
        """Wait until every client has had so many further successes."""
        before = Counter(self.successes)

        def advanced() -> bool:
            if any(task.done() for task in tasks):
                return True
            return all(self.successes[task.get_name()] >= before[task.get_name()] + times for task in tasks)

        await asyncio.to_thread(wait_until, "clients to succeed", advanced)
        for task in tasks:
            if task.done():
                task.result()


def stored_ids(service: Running, member: Member) -> list[str]:
    found: list[str] = []
    cursor: str | None = None
    with httpx.Client(base_url=service.url, headers=member.headers, timeout=PATIENCE) as http:
        while True:
            parameters = {"limit": "100"} | ({} if cursor is None else {"cursor": cursor})
            page = http.get(member.fragments, params=parameters).raise_for_status().json()
            found += [item["id"] for item in page["items"]]
            cursor = page.get("next_cursor")
            if cursor is None:
                return found


async def test_postgresql_restarts_under_load(stage: Stage, external: ExternalPostgres) -> None:
    service = stage.serve(database_url=external.url())
    load = Load(service, stage.member(service))
    tasks = [
        asyncio.create_task(use(name), name=name)
        for use, names in ((load.write, ("1", "2", "3")), (load.ask, ("a", "b")))
        for name in names
    ]
    try:
        await load.until_each_succeeds(tasks)
        for mode in ("immediate", "fast"):
            await asyncio.to_thread(external.restart, mode)
            await load.until_each_succeeds(tasks)
    finally:
        load.stopping = True
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        task.result()
    assert load.failures.keys() <= BUSY
    assert load.failures.total() > 0
    readiness = service.readiness()
    assert readiness is not None
    assert readiness.status_code == 200
    assert load.stored - set(stored_ids(service, load.member)) == set()
    await job_is_done(external, load.member)


def waiting(outsider: psycopg.Connection) -> int:
    """How many sessions wait for a lock on a table."""
    [row] = outsider.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'relation' AND NOT granted")
    return int(row[0])


async def test_a_full_pool_answers_instead_of_hanging(stage: Stage, external: ExternalPostgres) -> None:
    # Two connections for transactions, and two for what only reads.
    service = stage.serve(database_url=external.url(), pool_size=4, pool_timeout=1)
    member = stage.member(service)
    async with httpx.AsyncClient(base_url=service.url, headers=member.headers, timeout=PATIENCE) as http:
        (await http.post(member.fragments, json={"content": "The kettle is green."})).raise_for_status()
        with external.superuser() as outsider, outsider.transaction():
            outsider.execute("LOCK TABLE fragments IN ACCESS EXCLUSIVE MODE")
            reads = [asyncio.create_task(http.get(member.fragments)) for _ in range(6)]
            refused: list[httpx.Response] = []
            for first in asyncio.as_completed(reads):
                refused.append(await first)
                if len(refused) == 4:
                    break
            assert (await http.get("/readyz")).status_code == 200
            recalls = [
                asyncio.create_task(http.post(member.recall, json={"query": "green kettle"}))
                for _ in range(2)
            ]
            await asyncio.to_thread(wait_until, "everybody to wait", lambda: waiting(outsider) == 4)
            assert (await http.get("/livez")).status_code == 200
            readiness = await http.get("/readyz")
            assert readiness.status_code == 503
            assert readiness.json()["database"]["ready"] is False
        answers = await asyncio.gather(*reads)
        assert [answer.status_code for answer in await asyncio.gather(*recalls)] == [200, 200]
    assert [check_unavailable(answer) for answer in refused] == ["database_busy"] * 4
    assert {answer.json()["detail"] for answer in refused} == {"every database connection is in use"}
    assert sorted(answer.status_code for answer in answers) == [200, 200, 503, 503, 503, 503]


async def test_a_write_that_waits_for_a_lock_gives_up(stage: Stage, external: ExternalPostgres) -> None:
    with external.superuser() as outsider:
        outsider.execute("ALTER ROLE strata_api SET lock_timeout = '200ms'")
        service = stage.serve(database_url=external.url())
        member = stage.member(service)
        async with httpx.AsyncClient(base_url=service.url, headers=member.headers, timeout=PATIENCE) as http:
            stored = await http.post(member.fragments, json={"content": "The kettle is green."})
            fragment = f"{member.fragments}/{stored.json()['id']}"
            with outsider.transaction():
                outsider.execute("SELECT FROM fragments FOR UPDATE")
                assert check_unavailable(await http.post(f"{fragment}/retract")) == "database_busy"
                assert check_unavailable(await http.delete(fragment)) == "database_busy"
                assert (await http.get(fragment)).json()["status"] == "active"
            assert (await http.post(f"{fragment}/retract")).json()["status"] == "retracted"


class TestKill:
    async def test_nothing_acknowledged_is_lost_and_a_repeat_stores_nothing_twice(self, stage: Stage) -> None:
        service = stage.serve()
        member = stage.member(service)
        sent: dict[str, dict[str, object]] = {}
        answered: dict[str, object] = {}

        async def write(writer: str) -> None:
            async with httpx.AsyncClient(
                base_url=service.url, headers=member.headers, timeout=PATIENCE
            ) as http:
                for number in range(1, 1_000):
                    key = f"{writer}-{number}"
                    sent[key] = batch(writer, number)
                    answer = await http.post(member.batch, json=sent[key], headers={"Idempotency-Key": key})
                    assert answer.status_code == 200, answer.text
                    answered[key] = answer.json()

        writers = [asyncio.create_task(write(name)) for name in "12345"]
        await asyncio.to_thread(
            wait_until, "batches", lambda: len(answered) >= 10 or any(writer.done() for writer in writers)
        )
        service.kill()
        for writer in writers:
            with pytest.raises(httpx.TransportError):
                await writer
        assert len(answered) < len(sent)
        assert len(servers_of(stage.directory)) == 1

        service = stage.serve()
        found = stored_ids(service, member)
        acknowledged = {result["id"] for answer in answered.values() for result in answer["results"]}  # type: ignore[index]
        assert acknowledged - set(found) == set()
        async with httpx.AsyncClient(base_url=service.url, headers=member.headers, timeout=PATIENCE) as http:
            for key, body in sent.items():
                answer = await http.post(member.batch, json=body, headers={"Idempotency-Key": key})
                assert answer.status_code == 200, answer.text
                assert len(answer.json()["results"]) == BATCH
                if key in answered:
                    assert answer.json() == answered[key]
        found = stored_ids(service, member)
        assert len(found) == len(set(found)) == BATCH * len(sent)
        service.terminate()
        service.wait()
        assert servers_of(stage.directory) == []

    def test_the_embedded_server_is_recovered_when_it_was_killed_too(self, stage: Stage) -> None:
        service = stage.serve()
        member = stage.member(service)
        with httpx.Client(base_url=service.url, headers=member.headers, timeout=PATIENCE) as http:
            stored = http.post(member.batch, json=batch("1", 1)).json()["results"]
        [server] = servers_of(stage.directory)
        service.kill()
        os.kill(server, signal.SIGKILL)
        service = stage.serve()
        assert stored_ids(service, member) == [result["id"] for result in stored]
