"""Use cases of fragments. Writes come in two halves: `prepare` embeds and holds no connection, `store` is statements."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from uuid_utils.compat import uuid7

from app.db.unit_of_work import Database, Tenant, UnitOfWork
from app.embeddings.errors import EmbeddingError
from app.embeddings.service import EmbeddingService
from app.errors import StrataError, invalid, not_found
from app.http.cursors import Page, page_of
from app.indexing.entries import IndexEntry
from app.indexing.models import Kind
from app.indexing.service import IndexingService
from app.lexical.analysis import Analyzer
from app.lexical.fingerprint import fingerprint
from app.memory import preparation, repository
from app.memory.schemas import Classification, FragmentInput, FragmentView
from app.tenancy import audit
from app.tenancy.audit import Actor

Outcome = UUID | StrataError
WithdrawalListener = Callable[[UnitOfWork, Actor, UUID], Awaitable[None]]


@dataclass(slots=True)
class _Item:
    """One fragment on its way in."""

    data: FragmentInput
    hash: bytes
    times: preparation.Times
    id: UUID
    vectors: npt.NDArray[np.float32] | None = None


@dataclass(slots=True)
class PreparedFragments:
    """Fragments that are checked and embedded, and what is known already about the others.

    Attributes:
        known: Outcome by position: the id of an existing fragment, or why the item is refused.
        items: By position, what is to be stored.
    """

    size: int
    known: dict[int, Outcome] = field(default_factory=dict)
    items: dict[int, _Item] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stored:
    """Outcome of one item: the fragment's id, or the error."""

    id: UUID | None
    duplicate: bool
    error: StrataError | None = None


class RecalledFragment(NamedTuple):
    """A fragment as recall reads it, with its stored fingerprint (`app.lexical.fingerprint`)."""

    view: FragmentView
    fingerprint: bytes | None


class FragmentService:
    """Stores, reads, retracts and deletes fragments.

    Attributes:
        listeners: Called, in the same transaction, when a fragment is retracted or deleted.
    """

    def __init__(self, database: Database, embeddings: EmbeddingService, indexing: IndexingService) -> None:
        self._database = database
        self._embeddings = embeddings
        self._indexing = indexing
        self.listeners: list[WithdrawalListener] = []

    async def prepare(
        self, tenant: Tenant, space_id: int, items: Sequence[FragmentInput | StrataError]
    ) -> PreparedFragments:
        """Check, recognise duplicates, and embed the rest in one pass.

        Args:
            tenant: The profile.
            space_id: Embedding space of the tenant's team.
            items: Decoded items, or the error that decoding one gave.

        Raises:
            StrataError: ``embedding_space_mismatch``.
            EmbedderUnavailable: the embedder is down, overloaded or too slow; nothing is stored.
        """
        self._indexing.check_space(space_id)
        prepared = PreparedFragments(len(items))
        now = datetime.now(UTC)
        for position, item in enumerate(items):
            try:
                if isinstance(item, StrataError):
                    raise item
                preparation.check(item)
                times = preparation.checked_times(item, now)
            except StrataError as error:
                prepared.known[position] = error
                continue
            prepared.items[position] = _Item(item, preparation.content_hash(item.content), times, uuid7())
        _refuse_reused_keys(prepared)
        await self._settle_existing(tenant, prepared)
        await self._embed(prepared)
        return prepared

    async def _settle_existing(self, tenant: Tenant, prepared: PreparedFragments) -> None:
        """Move what is stored already from ``items`` to ``known``, so that it is not embedded again."""
        if not prepared.items:
            return
        async with self._database.tenant(tenant) as unit:
            existing = _Existing(await _find_existing(unit, prepared.items.values()))
        for position, item in list(prepared.items.items()):
            outcome = existing.outcome(item)
            if outcome is not None and (
                isinstance(outcome, StrataError) or not existing.needs_stricter(item)
            ):
                prepared.known[position] = outcome
                del prepared.items[position]

    async def _embed(self, prepared: PreparedFragments) -> None:
        """Give each distinct content its vectors; a content that has none becomes an error of its item."""
        first: dict[bytes, int] = {}
        for position, item in prepared.items.items():
            first.setdefault(item.hash, position)
        positions = list(first.values())
        outcomes = await self._embeddings.embed_each([prepared.items[p].data.content for p in positions])
        vectors = dict(zip(first, outcomes, strict=True))
        for position, item in list(prepared.items.items()):
            outcome = vectors[item.hash]
            if isinstance(outcome, EmbeddingError):
                prepared.known[position] = invalid("content", f"has no usable embedding: {outcome}")
                del prepared.items[position]
            else:
                item.vectors = outcome

    async def store(
        self, unit: UnitOfWork, actor: Actor, text_search_config: str, prepared: PreparedFragments
    ) -> list[Stored]:
        """Write what was prepared; one outcome for each item, in order.

        A content or key that somebody stored meanwhile is recognised here: the database's unique indexes decide.
        """
        outcomes: dict[int, Stored] = {
            position: Stored(None, duplicate=False, error=known)
            if isinstance(known, StrataError)
            else Stored(known, duplicate=True)
            for position, known in prepared.known.items()
        }
        order = sorted(prepared.items, key=lambda position: (prepared.items[position].hash, position))
        inserted: set[UUID] = set()
        if order:
            inserted = await repository.insert_fragments(unit, [_row(prepared.items[p]) for p in order])
        fresh = [prepared.items[p] for p in sorted(prepared.items) if prepared.items[p].id in inserted]
        if fresh:
            await self._indexing.add(unit, [_entry(item, text_search_config) for item in fresh])
        left = [p for p in prepared.items if prepared.items[p].id not in inserted]
        if left:
            existing = _Existing(await _find_existing(unit, [prepared.items[p] for p in left]))
            for position in left:
                outcomes[position] = await _duplicate(unit, existing, prepared.items[position])
        outcomes.update(
            (p, Stored(item.id, duplicate=False)) for p, item in prepared.items.items() if item.id in inserted
        )
        if fresh:
            await audit.record(
                unit,
                actor,
                "fragment.create",
                "profile",
                unit.tenant.profile,
                created=len(fresh),
                items=prepared.size,
            )
        return [outcomes[position] for position in range(prepared.size)]

    async def get(self, tenant: Tenant, fragment_id: UUID) -> FragmentView:
        """One fragment, retracted ones included.

        Raises:
            StrataError: ``not_found``.
        """
        async with self._database.tenant(tenant) as unit:
            rows = await repository.get_fragments(unit, [fragment_id])
        if not rows:
            raise not_found("fragment")
        return view_of_fragment(rows[0])

    async def get_many(self, tenant: Tenant, ids: Sequence[UUID]) -> dict[UUID, FragmentView]:
        """Active fragments by id; those that are gone are left out."""
        async with self._database.reading(tenant) as unit:
            rows = await repository.read_active(unit, ids)
        return {row["id"]: view_of_fragment(row) for row in rows}

    async def get_recalled(self, tenant: Tenant, ids: Sequence[UUID]) -> dict[UUID, RecalledFragment]:
        """The same, each with its fingerprint."""
        async with self._database.reading(tenant) as unit:
            rows = await repository.read_active(unit, ids)
        return {row["id"]: RecalledFragment(view_of_fragment(row), row["fingerprint"]) for row in rows}

    async def get_stored(self, tenant: Tenant, ids: Sequence[UUID]) -> dict[UUID, FragmentView]:
        """Fragments by id, retracted ones included; those that are gone are left out."""
        async with self._database.tenant(tenant) as unit:
            rows = await repository.get_fragments(unit, ids)
        return {row["id"]: view_of_fragment(row) for row in rows}

    async def refresh_fingerprints(self, tenant: Tenant, text_search_config: str) -> int:
        """Make anew the fingerprints of a profile that other rules made, batch by batch; returns how many."""
        made, after = 0, None
        while True:
            async with self._database.tenant(tenant) as unit:
                stale = await self._indexing.stale_fingerprints(unit, Kind.FRAGMENT, after)
                if not stale:
                    return made
                rows = await repository.get_fragments(unit, stale)
                await self._indexing.set_fingerprints(
                    unit,
                    {row["id"]: fingerprint(row["content"], text_search_config).encoded() for row in rows},
                )
            made, after = made + len(rows), stale[-1]

    async def list_page(
        self, tenant: Tenant, *, after: UUID | None, limit: int, **filters: Any
    ) -> Page[FragmentView]:
        """Fragments of a profile, oldest first; ``filters`` as in the repository."""
        async with self._database.tenant(tenant) as unit:
            rows = await repository.list_fragments(unit, after=after, limit=limit + 1, **filters)
        return page_of([view_of_fragment(row) for row in rows], limit, lambda fragment: fragment.id)

    async def retract(self, unit: UnitOfWork, actor: Actor, fragment_id: UUID) -> FragmentView:
        """Withdraw a fragment: it is kept and readable, and never recalled again. Repeating it changes nothing.

        Raises:
            StrataError: ``not_found``.
        """
        if await repository.retract_fragment(unit, fragment_id):
            await self._indexing.remove(unit, [fragment_id])
            await audit.record(unit, actor, "fragment.retract", "fragment", fragment_id)
            await self._tell(unit, actor, fragment_id)
        rows = await repository.get_fragments(unit, [fragment_id])
        if not rows:
            raise not_found("fragment")
        return view_of_fragment(rows[0])

    async def delete(self, unit: UnitOfWork, actor: Actor, fragment_id: UUID) -> None:
        """Delete a fragment and everything derived from it, for good.

        Raises:
            StrataError: ``not_found``.
        """
        if not await repository.delete_fragment(unit, fragment_id):
            raise not_found("fragment")
        await self._indexing.remove(unit, [fragment_id])
        await audit.record(unit, actor, "fragment.delete", "fragment", fragment_id)
        await self._tell(unit, actor, fragment_id)

    async def _tell(self, unit: UnitOfWork, actor: Actor, fragment_id: UUID) -> None:
        """Tell whoever derives something from fragments, in the same transaction."""
        for listener in self.listeners:
            await listener(unit, actor, fragment_id)


class _Existing:
    """Stored fragments by content and by idempotency key."""

    def __init__(self, rows: Sequence[sa.Row[Any]]) -> None:
        self.by_hash = {row.content_hash: row for row in rows if row.status == "active"}
        self.by_key = {row.idempotency_key: row for row in rows if row.idempotency_key is not None}

    def row(self, item: _Item) -> sa.Row[Any] | None:
        """The stored fragment that an item repeats; its key decides before its content."""
        return self.by_key.get(item.data.idempotency_key) or self.by_hash.get(item.hash)

    def outcome(self, item: _Item) -> Outcome | None:
        """Id of the fragment that the item repeats, an error for a key with another content, or ``None``."""
        row = self.row(item)
        if row is None:
            return None
        if row.content_hash != item.hash:
            return _key_reused()
        fragment_id: UUID = row.id
        return fragment_id

    def needs_stricter(self, item: _Item) -> bool:
        """Whether the item asks for a stricter classification than the stored fragment has."""
        row, wanted = self.row(item), item.data.classification
        return row is not None and any(
            order.index(getattr(wanted, name)) > order.index(getattr(row, name))
            for name, order in preparation.CLASSIFICATION_ORDERS.items()
        )


def _key_reused() -> StrataError:
    return StrataError("idempotency_key_reused", "this idempotency_key belongs to another content")


def _refuse_reused_keys(prepared: PreparedFragments) -> None:
    """Of the items of one batch that share a key, the first decides its content."""
    contents: dict[str, bytes] = {}
    for position, item in list(prepared.items.items()):
        key = item.data.idempotency_key
        if key is not None and contents.setdefault(key, item.hash) != item.hash:
            prepared.known[position] = _key_reused()
            del prepared.items[position]


async def _find_existing(unit: UnitOfWork, items: Any) -> Sequence[sa.Row[Any]]:
    listed = list(items)
    keys = [item.data.idempotency_key for item in listed if item.data.idempotency_key is not None]
    return await repository.find_existing(unit, [item.hash for item in listed], keys)


async def _duplicate(unit: UnitOfWork, existing: _Existing, item: _Item) -> Stored:
    outcome = existing.outcome(item)
    if isinstance(outcome, StrataError):
        return Stored(None, duplicate=False, error=outcome)
    if outcome is None:
        raise StrataError("conflict", "the fragment changed while it was being stored; repeat the request")
    if existing.needs_stricter(item):
        await repository.raise_classification(unit, outcome, msgspec.structs.asdict(item.data.classification))
    return Stored(outcome, duplicate=True)


def _row(item: _Item) -> dict[str, Any]:
    data = item.data
    return {
        "id": item.id,
        "content": data.content,
        "content_hash": item.hash.hex(),
        "source": data.source,
        "source_type": data.source_type,
        "authority": data.authority,
        "source_quality": preparation.QUALITY[data.authority],
        "labels": data.labels,
        "metadata": data.metadata,
        **msgspec.structs.asdict(data.classification),
        "idempotency_key": data.idempotency_key,
        **item.times._asdict(),
    }


def _entry(item: _Item, text_search_config: str) -> IndexEntry:
    data = item.data
    if item.vectors is None:
        raise AssertionError("an item is stored only after it was embedded")
    secondary = preparation.secondary_texts(data.source, data.labels, data.metadata)
    return IndexEntry(
        id=item.id,
        kind=Kind.FRAGMENT,
        document=Analyzer.for_config(text_search_config).document(data.content, secondary),
        vectors=item.vectors,
        source_type=data.source_type,
        labels=data.labels,
        **item.times._asdict(),
        fingerprint=fingerprint(data.content, text_search_config).encoded(),
    )


def view_of_fragment(columns: Mapping[str, Any] | sa.RowMapping) -> FragmentView:
    """A stored row as callers see it."""
    classification = Classification(
        confidentiality=columns["confidentiality"], retention=columns["retention"], pii=columns["pii"]
    )
    return FragmentView(classification=classification, **{name: columns[name] for name in _PLAIN_FIELDS})


_PLAIN_FIELDS = tuple(name for name in FragmentView.__struct_fields__ if name != "classification")
