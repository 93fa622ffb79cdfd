"""A profile's memories through the services of this process."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from app.cli.filters import Filters
from app.cli.session import OPERATOR
from app.http.cursors import decode_cursor
from app.http.problems import to_error
from app.memory.schemas import FragmentInput
from app.memory.service import PreparedFragments, Stored
from app.recall.schemas import RecallInput
from app.services import Services
from app.tenancy.service import LocatedProfile


class DirectMemory:
    """Reads and writes one profile as the operator.

    Args:
        services: Running services; the embedder is started for `store` and `recall`.
        profile: The profile.
    """

    def __init__(self, services: Services, profile: LocatedProfile) -> None:
        self._services = services
        self._profile = profile

    async def store(self, items: Sequence[FragmentInput]) -> list[Stored]:
        """Store a batch in one embedding pass and one transaction.

        Raises:
            StrataError: nothing of the batch is stored; with ``retry_after`` when it may be repeated.
        """
        fragments, profile = self._services.fragments, self._profile

        async def write(unit: Any, prepared: PreparedFragments) -> list[Stored]:
            return await fragments.store(unit, OPERATOR, profile.text_search_config, prepared)

        try:
            return await self._services.writes.run(
                profile.tenant,
                None,
                list[Stored],
                prepare=lambda: fragments.prepare(profile.tenant, profile.embedding_space_id, items),
                store=write,
            )
        except Exception as error:
            mapped = to_error(error)
            if mapped.code == "internal_error":
                raise
            raise mapped from error

    async def list_page(self, filters: Filters, limit: int, cursor: str | None) -> dict[str, Any]:
        """One page, oldest first."""
        page = await self._services.fragments.list_page(
            self._profile.tenant, after=decode_cursor(cursor), limit=limit, **filters.values
        )
        return _object(page)

    async def get(self, fragment_id: UUID) -> dict[str, Any]:
        """One fragment, retracted ones included."""
        return _object(await self._services.fragments.get(self._profile.tenant, fragment_id))

    async def retract(self, fragment_id: UUID) -> dict[str, Any]:
        """Withdraw a fragment."""
        async with self._services.database.tenant(self._profile.tenant) as unit:
            return _object(await self._services.fragments.retract(unit, OPERATOR, fragment_id))

    async def recall(self, request: RecallInput) -> dict[str, Any]:
        """Answer a question."""
        result = await self._services.recall.recall(
            self._profile.tenant,
            space_id=self._profile.embedding_space_id,
            text_search_config=self._profile.text_search_config,
            request=request,
            pinned_policy=self._profile.ranking_policy,
        )
        return _object(result)


def _object(value: msgspec.Struct) -> dict[str, Any]:
    converted: dict[str, Any] = msgspec.to_builtins(value)
    return converted
