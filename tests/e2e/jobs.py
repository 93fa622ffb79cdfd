"""Seeing that a service's worker works."""

import asyncio
from uuid import UUID

from app.db.unit_of_work import Tenant
from app.jobs.queue import JobQueue
from tests.e2e.external import ExternalPostgres
from tests.e2e.processes import Member, wait_until


async def job_is_done(external: ExternalPostgres, member: Member) -> None:
    """Ask for a job, and wait until the service's worker has done it."""
    with external.superuser() as connection:
        find_team = "SELECT team_id FROM profiles WHERE id = %s"
        [(team,)] = connection.execute(find_team, (member.profile_id,)).fetchall()
        [(space,)] = connection.execute("SELECT id FROM embedding_spaces").fetchall()
        jobs = JobQueue(external.url())
        async with jobs.opened():
            await jobs.maintain_index(Tenant(UUID(str(team)), UUID(member.profile_id)), int(str(space)))

        def none_left() -> bool:
            [(left,)] = connection.execute("SELECT count(*) FROM procrastinate_jobs").fetchall()
            return left == 0

        await asyncio.to_thread(wait_until, "the worker to do its job", none_left)
