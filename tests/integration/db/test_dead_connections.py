"""Pooled connections that died while they lay idle, as after a restart of PostgreSQL: nobody hears of it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
import sqlalchemy as sa

from app.asgi import create_app
from app.db.unit_of_work import Database, Statement, Tenant
from tests.integration.conftest import OPERATOR, TestDatabase, bearer, opened_services

CLIENTS = 8
END_ALL = (
    "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name = 'strata'"
)


def end_all(database: TestDatabase) -> int:
    """End every connection of the service's pools; how many there were."""
    with psycopg.connect(database.superuser, autocommit=True) as connection:
        return connection.execute(END_ALL).fetchone()[0]


@pytest.fixture
async def database(fresh_database: TestDatabase) -> AsyncIterator[Database]:
    opened = Database.connect(fresh_database.api, pool_size=6, pool_timeout=5)
    yield opened
    await opened.close()


@pytest.fixture
async def client(fresh_database: TestDatabase, settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a profile of its own; its path is the base URL."""
    async with opened_services(fresh_database, settings) as services:
        transport = httpx.ASGITransport(app=create_app(settings, services))
        async with httpx.AsyncClient(transport=transport, base_url="http://strata.test") as http:
            team = (await http.post("/v1/admin/teams", json={"name": "t"}, headers=OPERATOR)).json()
            http.headers.update(bearer(team["api_key"]))
            profile = (await http.post("/v1/profiles", json={"name": "p"})).json()
            http.base_url = httpx.URL(f"http://strata.test/v1/profiles/{profile['id']}/")
            yield http


async def use_all(client: httpx.AsyncClient, number: int) -> list[int]:
    """Status codes of as many recalls, and as many writes, at the same time."""
    answers = await asyncio.gather(
        *(client.post("recall", json={"query": f"ferry {n}"}) for n in range(CLIENTS)),
        *(client.post("fragments", json={"content": f"ferry {n} of {number}"}) for n in range(CLIENTS)),
    )
    return [answer.status_code for answer in answers]


async def test_no_request_fails_after_every_connection_died(
    client: httpx.AsyncClient, fresh_database: TestDatabase
) -> None:
    expected = [200] * CLIENTS + [201] * CLIENTS
    assert await use_all(client, 1) == expected
    for number in (2, 3):
        assert end_all(fresh_database) > 2
        assert await use_all(client, number) == expected


async def test_one_reader_passes_over_every_dead_connection(
    database: Database, fresh_database: TestDatabase
) -> None:
    async def slow() -> None:
        await database.fetch_unbound(Statement("SELECT pg_sleep(0.1)"))

    await asyncio.gather(*(slow() for _ in range(3)))
    assert end_all(fresh_database) == 3
    assert await database.fetch_unbound(Statement("SELECT 1")) == [(1,)]


async def test_a_read_that_ends_its_own_connection_is_not_run_for_ever(database: Database) -> None:
    with pytest.raises(sa.exc.DBAPIError):
        await database.fetch_unbound(Statement("SELECT pg_terminate_backend(pg_backend_pid())"))
    assert await database.fetch_unbound(Statement("SELECT 1")) == [(1,)]


async def test_a_transaction_that_has_begun_is_never_run_again(
    database: Database, fresh_database: TestDatabase
) -> None:
    async def interrupted() -> None:
        async with database.tenant(Tenant(uuid4())) as unit:
            end_all(fresh_database)
            await unit.execute(sa.text("SELECT 1"))

    with pytest.raises(sa.exc.DBAPIError):
        await interrupted()
