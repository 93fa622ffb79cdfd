"""Use cases of the index: what other packages call when a memory comes or goes."""

from collections.abc import Sequence
from uuid import UUID

from app.db.unit_of_work import UnitOfWork
from app.errors import StrataError
from app.indexing import repository
from app.indexing.entries import IndexEntry


class IndexingService:
    """Keeps search documents, statistics and vectors in step with the memories, in the same transaction.

    Args:
        space_id: Embedding space of the service's embedder.
    """

    def __init__(self, space_id: int) -> None:
        self.space_id = space_id

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

    async def remove(self, unit: UnitOfWork, ids: Sequence[UUID]) -> None:
        """Make memories unfindable as soon as the unit commits."""
        await repository.delete_entries(unit, ids)

    async def forget_profile(self, unit: UnitOfWork) -> None:
        """Erase all that is derived from the unit's profile."""
        await repository.forget_profile(unit)
