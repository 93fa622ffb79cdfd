"""The job queue: procrastinate on the service's own database, as the API role."""

from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import procrastinate
import sqlalchemy as sa
import structlog
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException

from app.db.unit_of_work import Tenant, UnitOfWork
from app.db.urls import libpq_url
from app.errors import StrataError

MAINTAIN_INDEX: Final = "index.maintain"
REMEMBER: Final = "knowledge.remember"
# A run that is not done by then was cut off.
CUT_OFF: Final = timedelta(minutes=3)
RETRIES: Final = procrastinate.RetryStrategy(max_attempts=10, exponential_wait=2)
_log = structlog.get_logger()


class JobQueue:
    """Defers jobs and, in a worker, runs them.

    Args:
        url: Database URL of the API role.
    """

    def __init__(self, url: str) -> None:
        # Transaction-pooling proxies cannot carry prepared statements.
        connector = procrastinate.PsycopgConnector(
            conninfo=libpq_url(url), min_size=1, max_size=4, kwargs={"prepare_threshold": None}
        )
        self.app = procrastinate.App(connector=connector)

    def opened(self) -> AbstractAsyncContextManager[Any]:
        """Connections of the queue, for as long as the block runs."""
        return self.app.open_async()

    async def maintain_index(self, tenant: Tenant, space_id: int) -> None:
        """Ask for one profile's index to be put in order; asking again before it is done changes nothing.

        A failure to ask is logged, not raised: the write that noticed the need is committed, and the next one asks
        again.
        """
        name = f"{MAINTAIN_INDEX}:{tenant.profile}:{space_id}"
        try:
            await self.app.configure_task(MAINTAIN_INDEX, queueing_lock=name, lock=name).defer_async(
                team_id=str(tenant.team_id), profile_id=str(tenant.profile), space_id=space_id
            )
        except AlreadyEnqueued:
            return
        except ConnectorException as error:
            _log.warning("job_not_deferred", job=MAINTAIN_INDEX, error=type(error).__name__)

    async def remember(self, tenant: Tenant, run_id: UUID) -> None:
        """Ask for a run of remember to be worked; asking again before it is done changes nothing.

        Raises:
            StrataError: ``database_unavailable``; the run is kept, and repeating the request asks again.
        """
        await self._defer_run(tenant, run_id, now=True)

    async def remember_if_cut_off(self, tenant: Tenant, run_id: UUID) -> int | None:
        """Ask for a run that is about to begin to be looked after, should this process end before it is done.

        Returns:
            Number of the job, to be given to `cancel` once the run is done.

        Raises:
            StrataError: ``database_unavailable``.
        """
        return await self._defer_run(tenant, run_id, now=False)

    async def cancel(self, job: int | None) -> None:
        """Take a job back that nobody needs any more; one that stays finds nothing to do."""
        if job is None:
            return
        try:
            await self.app.job_manager.cancel_job_by_id_async(job, delete_job=True)
        except ConnectorException as error:
            _log.warning("job_not_cancelled", job=REMEMBER, error=type(error).__name__)

    async def _defer_run(self, tenant: Tenant, run_id: UUID, *, now: bool) -> int | None:
        name = f"{REMEMBER}:{run_id}"
        task = self.app.configure_task(
            REMEMBER,
            queueing_lock=name if now else f"{name}:later",
            lock=name,
            schedule_in=None if now else {"seconds": int(CUT_OFF.total_seconds())},
        )
        try:
            return await task.defer_async(
                team_id=str(tenant.team_id), profile_id=str(tenant.profile), run_id=str(run_id)
            )
        except AlreadyEnqueued:
            return None
        except ConnectorException as error:
            raise StrataError("database_unavailable", "the job could not be queued", retry_after=2) from error


async def forget_profile(unit: UnitOfWork) -> None:
    """Delete the jobs of the unit's profile; one that runs finds the profile gone, and ends."""
    await unit.execute(
        sa.text(
            "DELETE FROM procrastinate_jobs WHERE status <> 'doing'"
            " AND args->>'team_id' = :team AND args->>'profile_id' = :profile"
        ),
        {"team": str(unit.tenant.team_id), "profile": str(unit.tenant.profile)},
    )


def tenant_of(team_id: str, profile_id: str) -> Tenant:
    """Tenant out of a job's arguments."""
    return Tenant(UUID(team_id), UUID(profile_id))
