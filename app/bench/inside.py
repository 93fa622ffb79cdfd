"""The service's own parts in this process, on the database of the server under test."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import UUID

import psycopg
from pydantic import SecretStr

from app.bench.stage import OPERATOR_TOKEN, Profile, StageError
from app.db.unit_of_work import Database, ReadUnit, Statement, Tenant
from app.db.urls import libpq_url
from app.embeddings.hash_backend import HashEmbedder
from app.embeddings.protocol import Embedder
from app.embeddings.service import EmbeddingService
from app.indexing import compaction
from app.indexing.placement import PlacementService
from app.jobs import worker
from app.jobs.queue import JobQueue
from app.lexical.analysis import Analyzer
from app.recall import branches
from app.recall.policy import STRATA_V1
from app.recall.repository import Filters, SemanticQuery
from app.runtime import DatabaseUrls, build_services, ensure_space
from app.services import Services
from app.settings import Settings

_JOBS_SECONDS: Final = 900.0
_POLL_SECONDS: Final = 0.1


@asynccontextmanager
async def services_with(urls: DatabaseUrls, embedder: Embedder) -> AsyncIterator[Services]:
    """Services with any embedder, ready; the embedder stays the caller's to close."""
    settings = Settings(
        database_url=SecretStr(urls.api), operator_token=SecretStr(OPERATOR_TOKEN), worker=False
    )
    space_id = ensure_space(urls.owner or urls.api, embedder.descriptor)
    embeddings = EmbeddingService(embedder)
    database = Database.connect(urls.api, pool_size=settings.pool_size, pool_timeout=settings.pool_timeout)
    jobs = JobQueue(urls.api)
    services = build_services(settings, database, embeddings, jobs, space_id)
    worker.register(services)
    try:
        async with jobs.opened():
            await embeddings.start()
            yield services
    finally:
        await embeddings.close()
        await database.close()


def settle(urls: DatabaseUrls, profiles: Sequence[Profile]) -> None:
    """Finish the background work that storing has left: statistics folded, vectors placed, tables analysed.

    What is measured afterwards is the steady state, not the minute after an import. The server's own worker comes
    first: two that move the same vectors get in each other's way.

    Raises:
        StageError: the worker did not finish.
    """
    _await_jobs(urls)

    async def run() -> None:
        async with services_with(urls, HashEmbedder()) as services:
            for profile in profiles:
                await settle_tenant(services, Tenant(profile.team_id, profile.id), services.space_id)

    asyncio.run(run())
    analyse(urls)


def _await_jobs(urls: DatabaseUrls) -> None:
    deadline = time.monotonic() + _JOBS_SECONDS
    with psycopg.connect(libpq_url(urls.owner or urls.api), autocommit=True) as connection:
        while time.monotonic() < deadline:
            waiting = connection.execute(
                "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
            ).fetchone()
            if waiting == (0,):
                return
            time.sleep(_POLL_SECONDS)
    raise StageError(f"background jobs were still at work after {_JOBS_SECONDS:.0f} s")


async def settle_tenant(
    services: Services, tenant: Tenant, space_id: int, placement: PlacementService | None = None
) -> None:
    """Fold one profile's statistics and place its vectors, by another placement service if one is given."""
    async with services.database.tenant(tenant) as unit:
        await compaction.compact(unit)
    await (placement or services.placement).settle(tenant, space_id)


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

    async def fetch(self, statement: Statement) -> list[tuple[Any, ...]]:
        self._statements.append(statement)
        return await self._inner.fetch(statement)


class _RecordingDatabase(Database):
    """A database whose reads are recorded."""

    def __init__(self, inner: Database) -> None:
        super().__init__(inner.engine, inner.readers)
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
        async with services_with(urls, HashEmbedder()) as services:
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
