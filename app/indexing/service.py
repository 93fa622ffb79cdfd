"""Use cases of the index: what other packages call when a memory comes or goes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from app.db.unit_of_work import Tenant, UnitOfWork
from app.errors import StrataError
from app.indexing import compaction, repository
from app.indexing.entries import IndexEntry
from app.indexing.models import Kind
from app.lexical.fingerprint import VERSION

AskForMaintenance = Callable[[Tenant, int], Awaitable[None]]
# Uncompacted changes cost each keyword search a little; these many cost it well below a millisecond.
MAX_CHANGES: Final = 200
MAX_DOCUMENTS: Final = 5_000
ERASE_BATCH: Final = 2_000
REFRESH_BATCH: Final = 1_000


class IndexingService:
    """Keeps search documents, statistics and vectors in step with the memories, in the same transaction.

    Args:
        space_id: Embedding space of the service's embedder.
        ask_for_maintenance: Defers the job that compacts a profile's statistics and places its vectors.
    """

    def __init__(self, space_id: int, ask_for_maintenance: AskForMaintenance) -> None:
        self.space_id = space_id
        self._ask_for_maintenance = ask_for_maintenance

    def check_space(self, team_space_id: int) -> None:
        """Refuse to mix spaces.

        Raises:
            StrataError: ``embedding_space_mismatch``.
        """
        if team_space_id != self.space_id:
            raise StrataError(
                "embedding_space_mismatch",
                f"the team's memories are in embedding space {team_space_id}, this service embeds into {self.space_id}",
            )

    async def add(self, unit: UnitOfWork, entries: Sequence[IndexEntry]) -> None:
        """Make memories findable as soon as the unit commits."""
        await repository.insert_entries(unit, entries, self.space_id)
        await self._maintain_if_due(unit)

    async def remove(self, unit: UnitOfWork, ids: Sequence[UUID]) -> None:
        """Make memories unfindable as soon as the unit commits."""
        await repository.delete_entries(unit, ids)
        await self._maintain_if_due(unit)

    async def stale_fingerprints(self, unit: UnitOfWork, kind: Kind, after: UUID | None) -> list[UUID]:
        """Some memories by id, whose fingerprint is to be made anew; none when all are up to date."""
        return await repository.stale_fingerprints(unit, kind, VERSION, after, REFRESH_BATCH)

    async def set_fingerprints(self, unit: UnitOfWork, made: Mapping[UUID, bytes]) -> None:
        """Store fingerprints by memory."""
        await repository.set_fingerprints(unit, made)

    async def _maintain_if_due(self, unit: UnitOfWork) -> None:
        changes, documents = await compaction.pending_changes(unit)
        if changes >= MAX_CHANGES or documents >= MAX_DOCUMENTS:
            unit.after_commit.append(partial(self._ask_for_maintenance, unit.tenant, self.space_id))

    async def erase_some(self, unit: UnitOfWork) -> int:
        """Erase one transaction's worth of a profile that is to be forgotten; 0 when nothing is left.

        A large profile takes longer than one statement may.
        """
        return await repository.erase_some(unit, ERASE_BATCH)

    async def forget_profile(self, unit: UnitOfWork) -> None:
        """Erase all that is derived from the unit's profile."""
        await repository.forget_profile(unit)
