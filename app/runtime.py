"""From settings to running services: the one sequence that the API, the worker and every command go through."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final

import psycopg
import sqlalchemy as sa

from app.db import migrate
from app.db.checks import check_database
from app.db.embedded import EmbeddedPostgres
from app.db.roles import API_ROLE, OWNER_ROLE, set_up_roles
from app.db.unit_of_work import Database, UnitOfWork
from app.db.urls import sqlalchemy_url
from app.embeddings.descriptor import EmbeddingDescriptor
from app.embeddings.registry import EmbedderOptions, create_embedder
from app.embeddings.service import EmbeddingService, ServiceLimits
from app.http.rate_limits import RateLimiter
from app.indexing.placement import PlacementService, scaled_threshold
from app.indexing.service import IndexingService
from app.jobs import queue, worker
from app.jobs.queue import JobQueue
from app.knowledge.chat import ChatClient
from app.knowledge.extractors import Extractor, GrammarExtractor, OpenAIExtractor
from app.knowledge.services import build_knowledge
from app.knowledge.verifiers import OpenAIVerifier, RulesVerifier, Verifier
from app.memory.service import FragmentService
from app.recall.pipeline import RecallService
from app.services import Services
from app.settings import Settings
from app.tenancy.authentication import Authentication
from app.tenancy.idempotency import WriteExecutor
from app.tenancy.service import TenancyService

DATABASE_NAME: Final = "strata"
DEFAULT_GRAPHS: Final = 32
API_VARIABLE: Final = "STRATA_DATABASE_URL"
OWNER_VARIABLE: Final = "STRATA_OWNER_DATABASE_URL"
_OPENAI_SETTINGS: Final = ("embedding_base_url", "embedding_model", "embedding_dimension")


class StartupError(Exception):
    """Strata cannot start as configured.

    Attributes:
        remedy: What mends it; a command where there is one.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class DatabaseUrls:
    """URLs of the API role and, where this process has it, of the owner."""

    api: str
    owner: str | None


@contextmanager
def database_urls(settings: Settings) -> Iterator[DatabaseUrls]:
    """The configured database; without one, the embedded server, migrated, for as long as the block runs.

    Raises:
        EmbeddedPostgresError: the embedded server cannot start.
    """
    owner = settings.owner_database_url
    if settings.database_url is not None:
        yield DatabaseUrls(
            settings.database_url.get_secret_value(), None if owner is None else owner.get_secret_value()
        )
        return
    with EmbeddedPostgres(settings.data_dir, initialise=_initialise) as server:
        owner_url = server.url(DATABASE_NAME, OWNER_ROLE)
        migrate.upgrade(owner_url)
        yield DatabaseUrls(server.url(DATABASE_NAME, API_ROLE), owner_url)


def _initialise(superuser_url: str) -> None:
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        set_up_roles(connection, database=DATABASE_NAME, owner_password=None, api_password=None)


@contextmanager
def explained_refusal(variable: str) -> Iterator[None]:
    """Tell in one sentence why a database that ``variable`` names cannot be used.

    Raises:
        StartupError: it is not there, or refuses the role, the password or the database's name.
    """
    try:
        yield
    except sa.exc.OperationalError as error:
        # A failed connection has no SQLSTATE; a refused statement does, and is another matter.
        if getattr(error.orig, "sqlstate", None) is not None:
            raise
        raise StartupError(
            f"the database cannot be reached: {first_line(error)}", f"Check {variable}."
        ) from error


def first_line(error: sa.exc.DBAPIError) -> str:
    """What the database or its driver says, without the details that may quote rows."""
    return str(error.orig).strip().partition("\n")[0]


def embedding_service(settings: Settings) -> EmbeddingService:
    """Service of the configured embedder; nothing is loaded yet.

    Raises:
        StartupError: a setting that the embedder needs is missing.
    """
    if settings.embedder == "openai":
        needed = {name: getattr(settings, name) for name in _OPENAI_SETTINGS}
        if not all(needed.values()):
            names = ", ".join(f"STRATA_{name.upper()}" for name in needed)
            raise StartupError(
                f"STRATA_EMBEDDER=openai needs {names}", "See the configuration table in the README."
            )
    api_key = settings.embedding_api_key
    options = EmbedderOptions(
        model=settings.embedding_model,
        threads=settings.embedding_threads or None,
        base_url=settings.embedding_base_url,
        api_key=None if api_key is None else api_key.get_secret_value(),
        dimension=settings.embedding_dimension,
        read_timeout=settings.embedding_timeout,
    )
    return EmbeddingService(
        create_embedder(settings.embedder, options),
        limits=ServiceLimits(query_timeout=settings.embedding_timeout),
    )


def ensure_space(owner_url: str, descriptor: EmbeddingDescriptor, graphs: int = DEFAULT_GRAPHS) -> int:
    """Number of the descriptor's embedding space; made if it is new. Runs as the owner."""
    engine = sa.create_engine(sqlalchemy_url(owner_url), poolclass=sa.NullPool)
    with engine.begin() as connection:
        space = connection.scalar(
            sa.text(
                "SELECT create_embedding_space(:key, CAST(:dimension AS smallint), CAST(:graphs AS smallint))"
            ),
            {"key": descriptor.key, "dimension": descriptor.dimension, "graphs": graphs},
        )
    engine.dispose()
    if space is None:
        raise LookupError("create_embedding_space returned nothing")
    return int(space)


def _checked_space(urls: DatabaseUrls, descriptor: EmbeddingDescriptor) -> int:
    engine = sa.create_engine(sqlalchemy_url(urls.api), poolclass=sa.NullPool)
    with explained_refusal(API_VARIABLE), engine.connect() as connection:
        for finding in check_database(connection):
            if not finding.ok:
                raise StartupError(f"{finding.name}: {finding.found}", finding.remedy)
        space = connection.scalar(
            sa.text("SELECT id FROM embedding_spaces WHERE key = :key AND dimension = :dimension"),
            {"key": descriptor.key, "dimension": descriptor.dimension},
        )
    if space is not None:
        return int(space)
    if urls.owner is not None:
        with explained_refusal(OWNER_VARIABLE):
            return ensure_space(urls.owner, descriptor)
    raise StartupError(
        f"the database has no embedding space {descriptor.key!r} of dimension {descriptor.dimension}",
        "Run `strata db upgrade` with the same STRATA_EMBEDDER settings and STRATA_OWNER_DATABASE_URL.",
    )


@asynccontextmanager
async def running_services(settings: Settings) -> AsyncIterator[Services]:
    """Services on a checked database; the model is not loaded yet (`services.embeddings.start`).

    Raises:
        StartupError: the database is not fit to serve.
        EmbeddedPostgresError: the embedded server cannot start.
        EmbedderConfigurationError: the embedder cannot work as configured.
    """
    manager = database_urls(settings)
    urls = await asyncio.to_thread(manager.__enter__)
    try:
        embeddings = embedding_service(settings)
        descriptor = await asyncio.to_thread(lambda: embeddings.descriptor)
        space_id = await asyncio.to_thread(_checked_space, urls, descriptor)
        database = Database.connect(
            urls.api, pool_size=settings.pool_size, pool_timeout=settings.pool_timeout
        )
        jobs = JobQueue(urls.api)
        services = build_services(settings, database, embeddings, jobs, space_id)
        worker.register(services)
        try:
            async with jobs.opened():
                yield services
        finally:
            await services.knowledge.close()
            await embeddings.close()
            await database.close()
    finally:
        await asyncio.to_thread(manager.__exit__, None, None, None)


def build_services(
    settings: Settings,
    database: Database,
    embeddings: EmbeddingService,
    jobs: JobQueue,
    space_id: int,
) -> Services:
    """Wire every service of one process."""
    indexing = IndexingService(space_id, jobs.maintain_index)

    async def forget(unit: UnitOfWork) -> None:
        await indexing.forget_profile(unit)
        await queue.forget_profile(unit)

    fragments = FragmentService(database, embeddings, indexing)
    chat = None if settings.chat_base_url is None else chat_client(settings)
    verifier = _verifier(settings, chat)
    knowledge = build_knowledge(
        database, embeddings, indexing, fragments, verifier=verifier, extractors=_extractors(chat)
    )
    return Services(
        settings=settings,
        database=database,
        embeddings=embeddings,
        indexing=indexing,
        placement=PlacementService(
            database, scaled_threshold(settings.ann_threshold, embeddings.descriptor.dimension)
        ),
        jobs=jobs,
        authentication=Authentication(database),
        rate_limiter=RateLimiter(settings.rate_limit_per_minute),
        writes=WriteExecutor(database),
        tenancy=TenancyService(database, forget, indexing.erase_some),
        fragments=fragments,
        knowledge=knowledge,
        recall=RecallService(database, embeddings, indexing, fragments, knowledge),
    )


def _verifier(settings: Settings, chat: ChatClient | None) -> Verifier:
    if settings.verifier == "rules":
        return RulesVerifier()
    return OpenAIVerifier(chat or chat_client(settings))


def _extractors(chat: ChatClient | None) -> dict[str, Extractor]:
    rules: dict[str, Extractor] = {"rules": GrammarExtractor()}
    return rules if chat is None else {**rules, "openai": OpenAIExtractor(chat)}


def chat_client(settings: Settings) -> ChatClient:
    """Client of the configured chat endpoint.

    Raises:
        StartupError: address or model are not configured.
    """
    if settings.chat_base_url is None or settings.chat_model is None:
        raise StartupError(
            "the openai verifier and extractor need a chat endpoint",
            "Set STRATA_CHAT_BASE_URL and STRATA_CHAT_MODEL.",
        )
    api_key = settings.chat_api_key
    return ChatClient(
        settings.chat_base_url,
        settings.chat_model,
        api_key=None if api_key is None else api_key.get_secret_value(),
        timeout=settings.chat_timeout,
        concurrency=settings.chat_concurrency,
    )
