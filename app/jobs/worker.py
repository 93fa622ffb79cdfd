"""Running the jobs: inside ``strata serve`` or alone as ``strata worker``."""

import asyncio
from typing import Final
from uuid import UUID

import psycopg
import structlog
from procrastinate.exceptions import ConnectorException

from app.errors import StrataError
from app.indexing import compaction
from app.jobs.queue import MAINTAIN_INDEX, REMEMBER, RETRIES, tenant_of
from app.knowledge.scope import Scope
from app.services import Services
from app.tenancy.audit import SYSTEM
from app.tenancy.idempotency import forget_old_records

_PAUSE: Final = 2.0
_log = structlog.get_logger()


def register(services: Services) -> None:
    """Give the queue its tasks."""

    @services.jobs.app.task(name=MAINTAIN_INDEX, retry=RETRIES)
    async def maintain_index(team_id: str, profile_id: str, space_id: int) -> None:
        tenant = tenant_of(team_id, profile_id)
        async with services.database.tenant(tenant) as unit:
            await compaction.compact(unit)
            await forget_old_records(unit)
        moved = await services.placement.settle(tenant, space_id, considerate=True)
        _log.info("index_maintained", team=team_id, profile=profile_id, vectors_moved=moved)

    @services.jobs.app.task(name=REMEMBER, retry=RETRIES)
    async def remember(team_id: str, profile_id: str, run_id: str) -> None:
        tenant = tenant_of(team_id, profile_id)
        try:
            located = await services.tenancy.locate_profile(tenant.profile, tenant.team_id)
            scope = Scope(located.tenant, located.embedding_space_id, located.text_search_config, SYSTEM)
            result = await services.knowledge.remember.resume(scope, UUID(run_id))
        except StrataError as error:
            if error.code != "not_found":
                raise
            # The profile was forgotten, or the run never began.
            _log.info("nothing_to_remember", team=team_id, profile=profile_id, run=run_id)
            return
        _log.info("remembered", team=team_id, profile=profile_id, run=run_id, claims=len(result.claims))


async def run(services: Services) -> None:
    """Work until cancelled; a worker that loses its database waits for it and goes on."""
    while True:
        try:
            await services.jobs.app.run_worker_async(
                concurrency=1, install_signal_handlers=False, delete_jobs="successful", listen_notify=True
            )
        except (ConnectorException, psycopg.Error, OSError) as error:
            _log.warning("worker_lost_database", error=type(error).__name__)
            await asyncio.sleep(_PAUSE)
