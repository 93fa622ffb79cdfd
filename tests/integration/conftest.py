"""A real PostgreSQL for the tests: one embedded server, one template migrated by Alembic, one clone a worker."""

import asyncio
import getpass
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest
from psycopg import sql

from app.asgi import create_app
from app.db import migrate
from app.db.embedded import EmbeddedPostgres
from app.db.roles import API_ROLE, OWNER_ROLE, set_up_roles
from app.db.unit_of_work import Database
from app.embeddings.descriptor import EmbeddingDescriptor
from app.embeddings.hash_backend import HashEmbedder
from app.jobs import worker
from app.jobs.queue import JobQueue
from app.runtime import build_services, embedding_service, ensure_space
from app.services import Services
from app.settings import Settings

TEMPLATE = "strata_template"
OPERATOR_TOKEN = "operator-token-of-the-tests"
# Losing the test database in a crash is fine; waiting for the disk is not.
PARAMETERS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "128MB",
}
TEST_GRAPHS = 3


@dataclass(frozen=True)
class TestDatabase:
    """URLs of one worker's database, by role."""

    __test__ = False

    name: str
    api: str
    owner: str
    superuser: str


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """The server that all workers of one run share."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    directory = Path(tempfile.gettempdir()) / f"strata-tests-{getpass.getuser()}-{run}"
    directory.mkdir(mode=0o755, exist_ok=True)

    def initialise(superuser_url: str) -> None:
        with psycopg.connect(superuser_url, autocommit=True) as connection:
            set_up_roles(connection, database=TEMPLATE, owner_password=None, api_password=None)
        owner = server.url(TEMPLATE, OWNER_ROLE)
        migrate.upgrade(owner)
        ensure_space(owner, HashEmbedder().descriptor, graphs=TEST_GRAPHS)

    server = EmbeddedPostgres(directory, parameters=PARAMETERS, initialise=initialise)
    with server:
        yield server


@contextmanager
def cloned_database(server: EmbeddedPostgres, template: str = TEMPLATE) -> Iterator[TestDatabase]:
    """A fresh copy of the template, dropped at the end."""
    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(server.superuser_url(), autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {}").format(
                sql.Identifier(name), sql.Identifier(template), sql.Identifier(OWNER_ROLE)
            )
        )
        # Per-database grants are not copied from a template.
        connection.execute(
            sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(
                sql.Identifier(name), sql.Identifier(API_ROLE)
            )
        )
        try:
            yield TestDatabase(
                name, server.url(name, API_ROLE), server.url(name, OWNER_ROLE), server.superuser_url(name)
            )
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def database_urls(postgres: EmbeddedPostgres) -> Iterator[TestDatabase]:
    """This worker's database."""
    with cloned_database(postgres) as database:
        yield database


@pytest.fixture
def fresh_database(postgres: EmbeddedPostgres) -> Iterator[TestDatabase]:
    """A database of one test's own."""
    with cloned_database(postgres) as database:
        yield database


@pytest.fixture(scope="module")
def module_database(postgres: EmbeddedPostgres) -> Iterator[TestDatabase]:
    """A database of one module's own, for tests that share an expensive state."""
    with cloned_database(postgres) as database:
        yield database


@pytest.fixture(scope="session")
def settings() -> Settings:
    """Settings of the tested service: no model, an operator."""
    return Settings(embedder="hash", operator_token=OPERATOR_TOKEN, worker=False)


@pytest.fixture(scope="session")
async def services(database_urls: TestDatabase, settings: Settings) -> AsyncIterator[Services]:
    """The services of the application, with the hash embedder."""
    async with opened_services(database_urls, settings) as opened:
        yield opened


class opened_services:  # noqa: N801 - reads as the context manager that it is
    """Services on a test database; `pool_size` and other settings are the caller's."""

    def __init__(self, urls: TestDatabase, settings: Settings) -> None:
        self._urls, self._settings = urls, settings

    async def __aenter__(self) -> Services:
        self._embeddings = embedding_service(self._settings)
        descriptor: EmbeddingDescriptor = await asyncio.to_thread(lambda: self._embeddings.descriptor)
        space = await asyncio.to_thread(ensure_space, self._urls.owner, descriptor, TEST_GRAPHS)
        self._database = Database.connect(
            self._urls.api, pool_size=self._settings.pool_size, pool_timeout=self._settings.pool_timeout
        )
        await self._embeddings.start()
        jobs = JobQueue(self._urls.api)
        services = build_services(self._settings, self._database, self._embeddings, jobs, space)
        worker.register(services)
        self._queue = jobs.opened()
        await self._queue.__aenter__()
        return services

    async def __aexit__(self, *exception: object) -> None:
        await self._queue.__aexit__(*exception)  # type: ignore[arg-type]
        await self._embeddings.close()
        await self._database.close()


@pytest.fixture(scope="session")
async def client(services: Services, settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """HTTP client of the application, in this process."""
    transport = httpx.ASGITransport(app=create_app(settings, services))
    async with httpx.AsyncClient(transport=transport, base_url="http://strata.test") as http:
        yield http


@dataclass(frozen=True)
class Member:
    """A team's profile and how its callers present themselves."""

    team_id: UUID
    profile_id: UUID
    other_profile_id: UUID
    owner: dict[str, str]  # every scope
    reader: dict[str, str]  # memory:read only
    writer: dict[str, str]  # memory:write only
    restricted: dict[str, str]  # read and write, other profile only

    @property
    def path(self) -> str:
        return f"/v1/profiles/{self.profile_id}"


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


OPERATOR = bearer(OPERATOR_TOKEN)


@pytest.fixture(scope="session")
def make_member(client: httpx.AsyncClient) -> Callable[..., Any]:
    """Makes a team with two profiles and a key for each kind of caller, through the API."""

    async def make(**profile: Any) -> Member:
        created = await client.post("/v1/admin/teams", json={"name": f"team {uuid4()}"}, headers=OPERATOR)
        assert created.status_code == 201, created.text
        team, owner = created.json(), bearer(created.json()["api_key"])
        profiles = []
        for name in ("first", "second"):
            answer = await client.post("/v1/profiles", json={"name": name, **profile}, headers=owner)
            assert answer.status_code == 201, answer.text
            profiles.append(answer.json()["id"])

        async def key(scopes: list[str], profile_id: str | None = None) -> dict[str, str]:
            body = {"name": "key", "scopes": scopes, "profile_id": profile_id}
            answer = await client.post("/v1/keys", json=body, headers=owner)
            assert answer.status_code == 201, answer.text
            return bearer(answer.json()["api_key"])

        return Member(
            team_id=UUID(team["team_id"]),
            profile_id=UUID(profiles[0]),
            other_profile_id=UUID(profiles[1]),
            owner=owner,
            reader=await key(["memory:read"]),
            writer=await key(["memory:write"]),
            restricted=await key(["memory:read", "memory:write"], profiles[1]),
        )

    return make


@pytest.fixture
async def member(make_member: Callable[..., Any]) -> Member:
    """One team."""
    made: Member = await make_member()
    return made
