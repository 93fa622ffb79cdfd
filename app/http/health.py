"""Public routes: is the process alive, is it ready, what does it run, and its metrics."""

import asyncio
from typing import Any

import msgspec
import sqlalchemy as sa
from litestar import Response, get
from litestar.openapi.datastructures import ResponseSpec
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from app import __version__
from app.db import migrate
from app.db.unit_of_work import Statement
from app.http.injection import Injected
from app.http.problems import PROBLEMS
from app.recall.policy import DEFAULT_POLICY
from app.services import Services

PUBLIC: dict[str, Any] = {"public": True}
_READY_TIMEOUT = 2.0


class Alive(msgspec.Struct):
    """The process answers."""

    status: str


class Dependency(msgspec.Struct, kw_only=True):
    """State of one dependency."""

    ready: bool
    detail: str


class Readiness(msgspec.Struct, kw_only=True):
    """Whether requests can be served, and what is missing when they cannot."""

    ready: bool
    database: Dependency
    embedder: Dependency


class EmbeddingHealth(msgspec.Struct, kw_only=True):
    """Active embedding descriptor."""

    model: str
    dim: int


class Health(msgspec.Struct, kw_only=True):
    """What this process runs."""

    version: str
    migration: str | None
    migration_head: str
    embedding: EmbeddingHealth
    ranking_policy: str


@get("/livez", operation_id="livez", summary="Liveness", opt=PUBLIC, tags=["health"])
async def livez() -> Alive:
    """Answers without the database."""
    return Alive("alive")


@get(
    "/readyz",
    operation_id="readyz",
    summary="Readiness",
    opt=PUBLIC,
    tags=["health"],
    responses={503: ResponseSpec(Readiness, generate_examples=False, description="Not ready")},
)
async def readyz(services: Injected[Services]) -> Response[Readiness]:
    """200 when requests can be served; 503 with each dependency named."""
    database = await _database(services)
    embeddings = services.embeddings
    embedder = Dependency(ready=embeddings.available, detail=embeddings.failure or str(embeddings.state))
    ready = database.ready and embedder.ready
    return Response(
        Readiness(ready=ready, database=database, embedder=embedder), status_code=200 if ready else 503
    )


async def _database(services: Injected[Services]) -> Dependency:
    try:
        async with asyncio.timeout(_READY_TIMEOUT):
            await services.database.fetch_unbound(Statement("SELECT 1"))
    except (sa.exc.SQLAlchemyError, OSError, TimeoutError) as error:
        return Dependency(ready=False, detail=type(error).__name__)
    return Dependency(ready=True, detail="ready")


@get(
    "/v1/health",
    operation_id="health",
    summary="Version and configuration",
    opt=PUBLIC,
    tags=["health"],
    responses={503: PROBLEMS[503]},
)
async def health(services: Injected[Services]) -> Health:
    """Version, migration state, embedding descriptor and ranking policy."""
    found = await services.database.fetch_unbound(Statement("SELECT version_num FROM alembic_version"))
    descriptor = services.embeddings.descriptor
    return Health(
        version=__version__,
        migration=found[0][0] if found else None,
        migration_head=migrate.head_revision(),
        embedding=EmbeddingHealth(model=descriptor.key, dim=descriptor.dimension),
        ranking_policy=DEFAULT_POLICY,
    )


@get(
    "/metrics",
    operation_id="metrics",
    summary="Prometheus metrics",
    opt=PUBLIC,
    tags=["health"],
    media_type="text/plain",
)
async def metrics() -> Response[bytes]:
    """Counters and histograms; no tenant, no query text."""
    return Response(generate_latest(), headers={"content-type": CONTENT_TYPE_LATEST})
