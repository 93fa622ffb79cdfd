"""The service's own parts in this process, on the database of the server under test."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import psycopg
from pydantic import SecretStr

from app.bench.stage import Profile
from app.db.unit_of_work import Database, ReadUnit, Statement, Tenant
from app.db.urls import libpq_url
from app.indexing import compaction
from app.lexical.analysis import Analyzer
from app.recall import branches
from app.recall.policy import STRATA_V1
from app.recall.repository import Filters, SemanticQuery
from app.runtime import DatabaseUrls, running_services
from app.services import Services
from app.settings import Settings


@asynccontextmanager
async def hash_services(urls: DatabaseUrls) -> AsyncIterator[Services]:
    """Services with the hash embedder, loaded."""
    settings = Settings(
        database_url=SecretStr(urls.api),
        owner_database_url=None if urls.owner is None else SecretStr(urls.owner),
        embedder="hash",
        worker=False,
    )
    async with running_services(settings) as services:
        await services.embeddings.start()
        yield services


def settle(urls: DatabaseUrls, profiles: Sequence[Profile]) -> None:
    """Finish the background work that storing has left: statistics folded, vectors placed, tables analysed.

    What is measured afterwards is the steady state, not the minute after an import.
    """

    async def run() -> None:
        async with hash_services(urls) as services:
            for profile in profiles:
                await settle_tenant(services, Tenant(profile.team_id, profile.id), services.space_id)

    asyncio.run(run())
    analyse(urls)


async def settle_tenant(services: Services, tenant: Tenant, space_id: int) -> None:
    """Fold one profile's statistics and place its vectors."""
    async with services.database.tenant(tenant) as unit:
        await compaction.compact(unit)
    await services.placement.settle(tenant, space_id)


def analyse(urls: DatabaseUrls) -> None:
    """Refresh the planner's statistics and empty the GIN index's pending list, as autovacuum does in time."""
    with psycopg.connect(libpq_url(urls.owner or urls.api), autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")


class _RecordingUnit(ReadUnit):
    """Passes fetches on and keeps what they consist of."""

    __slots__ = ("_inner", "_statements")

    def __init__(self, inner: ReadUnit, statements: list[Statement]) -> None:
        self.tenant = inner.tenant
        self._inner = inner
        self._statements = statements

    async def fetch(self, *statements: Statement) -> list[list[tuple[Any, ...]]]:
        self._statements.extend(statements)
        return await self._inner.fetch(*statements)


class _RecordingDatabase(Database):
    """A database whose reads are recorded."""

    def __init__(self, inner: Database) -> None:
        super().__init__(inner.engine)
        self.statements: list[Statement] = []

    @asynccontextmanager
    async def reading(self, tenant: Tenant) -> AsyncIterator[ReadUnit]:
        async with super().reading(tenant) as unit:
            yield _RecordingUnit(unit, self.statements)


def record_statements(
    urls: DatabaseUrls, profile: Profile, questions: Sequence[str]
) -> list[list[Statement]]:
    """The statements that both branches run for each question, in the driver's own form."""

    async def run() -> list[list[Statement]]:
        async with hash_services(urls) as services:
            return [await _record(services, profile, question) for question in questions]

    return asyncio.run(run())


async def _record(services: Services, profile: Profile, question: str) -> list[Statement]:
    database = _RecordingDatabase(services.database)
    tenant = Tenant(profile.team_id, profile.id)
    depth = STRATA_V1.branch_depth(10)
    await branches.keyword_branch(
        database,
        tenant,
        Analyzer.for_config("english").query(question),
        STRATA_V1,
        depth=depth,
        filters=Filters(),
    )
    vector = await services.embeddings.embed_query(question)
    await branches.semantic_branch(database, tenant, SemanticQuery(vector, services.space_id), depth=depth)
    return database.statements


def bind(connection: psycopg.Connection, team_id: UUID, profile_id: UUID) -> None:
    """Give a bare session the tenant that row-level security asks for."""
    connection.execute(
        "SELECT set_config('strata.team_id', %s, false), set_config('strata.profile_id', %s, false)",
        (str(team_id), str(profile_id)),
    )
