"""What a keyed write says when it waits too long for a lock: for its own key, or for anything else."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from app.asgi import create_app
from tests.integration.conftest import OPERATOR, TestDatabase, bearer, opened_services


@pytest.fixture
async def writer(fresh_database: TestDatabase, settings: Any) -> AsyncIterator["Writer"]:
    """A profile, on a database where nobody waits long for a lock."""
    with psycopg.connect(fresh_database.superuser, autocommit=True) as connection:
        connection.execute(
            "ALTER ROLE strata_api IN DATABASE " + fresh_database.name + " SET lock_timeout = '200ms'"
        )
    async with opened_services(fresh_database, settings) as services:
        transport = httpx.ASGITransport(app=create_app(settings, services))
        async with httpx.AsyncClient(transport=transport, base_url="http://strata.test") as http:
            team = (await http.post("/v1/admin/teams", json={"name": "locks"}, headers=OPERATOR)).json()
            http.headers.update(bearer(team["api_key"]))
            profile = (await http.post("/v1/profiles", json={"name": "p"})).json()
            yield Writer(http, fresh_database.superuser, UUID(team["team_id"]), UUID(profile["id"]))


class Writer:
    """Stores one fragment under a key while somebody else holds a lock."""

    def __init__(self, http: httpx.AsyncClient, superuser: str, team: UUID, profile: UUID) -> None:
        self._http, self._superuser = http, superuser
        self.team, self.profile = team, profile

    @contextmanager
    def locked(self, statement: str) -> Iterator[None]:
        """Another transaction that has run a statement and is not over."""
        with psycopg.connect(self._superuser) as connection:
            connection.execute(statement, {"team": self.team, "profile": self.profile})
            yield
            connection.rollback()

    async def store(self) -> httpx.Response:
        return await self._http.post(
            f"/v1/profiles/{self.profile}/fragments",
            json={"content": "The ferry is late."},
            headers={"Idempotency-Key": "k"},
        )


async def test_the_key_itself_is_held(writer: "Writer") -> None:
    with writer.locked(
        "INSERT INTO idempotency_records (team_id, profile_id, idempotency_key, request_digest, response)"
        " VALUES (%(team)s, %(profile)s, 'k', decode(repeat('00', 32), 'hex'), '')"
    ):
        answer = await writer.store()
    assert (answer.status_code, answer.json()["code"]) == (409, "request_in_progress")
    assert answer.headers["retry-after"] == "2"
    assert (await writer.store()).status_code == 201


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT FROM profiles WHERE id = %(profile)s FOR UPDATE",
        "LOCK TABLE idempotency_records IN SHARE MODE",
        "LOCK TABLE fragments IN SHARE MODE",
        "LOCK TABLE search_documents IN SHARE MODE",
    ],
)
async def test_something_else_is_held(writer: "Writer", statement: str) -> None:
    with writer.locked(statement):
        answer = await writer.store()
    assert (answer.status_code, answer.json()["code"]) == (503, "database_busy")
    assert answer.headers["retry-after"] == "1"
    assert (await writer.store()).status_code == 201
