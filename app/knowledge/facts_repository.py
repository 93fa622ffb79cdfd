"""Statements on facts. `insert_fact` and `change_fact` alone write them, and each writes the version that it makes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from app.db.unit_of_work import ReadUnit, Statement, UnitOfWork
from app.knowledge.models import ClaimEvidence, Fact, FactSupport, FactVersion
from app.knowledge.promotion import Support
from app.memory.models import Fragment

Rows = Sequence[sa.RowMapping]
_FACT: Final = tuple(Fact.__table__.c)
_VERSIONED: Final = ("status", "truth_score", "authority_state", "valid_from", "valid_to")


@dataclass(frozen=True, slots=True, kw_only=True)
class FactPage:
    """Which facts are listed: of a subject, of a predicate, after an id, how many."""

    subject_key: str | None = None
    predicate: str | None = None
    after: UUID | None = None
    limit: int = 100


def _mine(table: Any, unit: UnitOfWork) -> tuple[sa.ColumnElement[bool], ...]:
    return table.team_id == unit.tenant.team_id, table.profile_id == unit.tenant.profile


async def lock_key(unit: UnitOfWork, predicate: str, subject_key: str) -> None:
    """Wait until nobody else decides about facts of this subject and predicate; held to the end of the transaction."""
    name = f"{unit.tenant.team_id}/{unit.tenant.profile}/{predicate}/{subject_key}"
    await unit.execute(sa.text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": name})


async def instant(unit: UnitOfWork) -> datetime:
    """The time now, not that of the transaction's start: after a lock was waited for, the later one counts."""
    moment: datetime = (await unit.execute(sa.select(sa.func.clock_timestamp()))).scalar_one()
    return moment


async def lock_standing(unit: UnitOfWork, predicate: str, subject_key: str) -> Rows:
    """Facts of a subject and predicate that are active, or were until they lost their support; locked."""
    statement = (
        sa.select(*_FACT)
        .where(
            *_mine(Fact, unit),
            Fact.predicate == predicate,
            Fact.subject_key == subject_key,
            Fact.status.in_(("active", "needs_revalidation")),
            Fact.superseded_by.is_(None),
        )
        .order_by(Fact.id)
        .with_for_update()
    )
    return (await unit.execute(statement)).mappings().all()


async def has_facts(unit: UnitOfWork, predicate: str, subject_key: str, slot: bytes | None) -> bool:
    """Whether there ever was a fact of this subject and predicate, in one slot or in any."""
    of_slot = () if slot is None else (Fact.slot == slot,)
    statement = sa.select(
        sa.exists().where(
            *_mine(Fact, unit), Fact.predicate == predicate, Fact.subject_key == subject_key, *of_slot
        )
    )
    return bool((await unit.execute(statement)).scalar_one())


async def insert_fact(unit: UnitOfWork, values: dict[str, Any], at: datetime) -> bool:
    """Insert a fact with its first version; False when an active one holds its place."""
    statement = (
        pg.insert(Fact)
        .values(team_id=unit.tenant.team_id, profile_id=unit.tenant.profile, updated_at=at, **values)
        .on_conflict_do_nothing()
        .returning(Fact.id)
    )
    if (await unit.execute(statement)).one_or_none() is None:
        return False
    reason = "promoted" if values["status"] == "active" else "promoted_as_past"
    await _append_version(unit, {**values, "version": 1}, reason, values["recorded_at"])
    return True


async def change_fact(
    unit: UnitOfWork, fact: sa.RowMapping, reason: str, at: datetime, **values: Any
) -> None:
    """Change a locked fact, and append what is believed of it from ``at`` on."""
    await unit.execute(
        sa.update(Fact).where(*_mine(Fact, unit), Fact.id == fact["id"]).values(**values, updated_at=at)
    )
    version = sa.select(sa.func.max(FactVersion.version) + 1).where(
        *_mine(FactVersion, unit), FactVersion.fact_id == fact["id"]
    )
    number = (await unit.execute(version)).scalar_one()
    await _append_version(unit, {**fact, **values, "version": number}, reason, at)


async def _append_version(unit: UnitOfWork, fact: dict[str, Any], reason: str, at: datetime) -> None:
    await unit.execute(
        sa.insert(FactVersion).values(
            team_id=unit.tenant.team_id,
            profile_id=unit.tenant.profile,
            fact_id=fact["id"],
            version=fact["version"],
            reason=reason,
            recorded_at=at,
            **{name: fact[name] for name in _VERSIONED},
        )
    )


async def support_fact(unit: UnitOfWork, fact_id: UUID, claim_id: UUID) -> None:
    """Let a claim stand behind a fact."""
    await unit.execute(
        pg.insert(FactSupport)
        .values(
            team_id=unit.tenant.team_id,
            profile_id=unit.tenant.profile,
            fact_id=fact_id,
            claim_id=claim_id,
        )
        .on_conflict_do_nothing()
    )


async def facts_resting_on(unit: UnitOfWork, claim_ids: Sequence[UUID]) -> list[UUID]:
    """Facts that claims stand behind."""
    statement = (
        sa.select(FactSupport.fact_id)
        .where(*_mine(FactSupport, unit), FactSupport.claim_id.in_(claim_ids))
        .distinct()
    )
    return sorted((await unit.execute(statement)).scalars())


async def claims_behind(unit: UnitOfWork, fact_id: UUID, limit: int = 1_000) -> list[UUID]:
    """Claims that stand behind a fact, oldest first."""
    statement = (
        sa.select(FactSupport.claim_id)
        .where(*_mine(FactSupport, unit), FactSupport.fact_id == fact_id)
        .order_by(FactSupport.claim_id)
        .limit(limit)
    )
    return list((await unit.execute(statement)).scalars())


async def support_of(unit: UnitOfWork, fact_ids: Sequence[UUID]) -> dict[UUID, Support]:
    """Active fragments that entail the claims behind each fact; a fact without any is left out."""
    statement = (
        sa.select(
            FactSupport.fact_id,
            sa.func.count(Fragment.id.distinct()).label("sources"),
            sa.func.max(Fragment.source_quality).label("quality"),
        )
        .join(
            ClaimEvidence,
            sa.and_(
                ClaimEvidence.team_id == FactSupport.team_id, ClaimEvidence.claim_id == FactSupport.claim_id
            ),
        )
        .join(
            Fragment,
            sa.and_(
                Fragment.team_id == ClaimEvidence.team_id,
                Fragment.id == ClaimEvidence.fragment_id,
                Fragment.profile_id == unit.tenant.profile,
            ),
        )
        .where(
            *_mine(FactSupport, unit),
            FactSupport.fact_id.in_(fact_ids),
            ClaimEvidence.verdict == "entailed",
            Fragment.status == "active",
        )
        .group_by(FactSupport.fact_id)
    )
    return {row.fact_id: Support(row.sources, row.quality) for row in await unit.execute(statement)}


def _held(columns: Any, at: datetime) -> tuple[sa.ColumnElement[bool], ...]:
    """Whether a validity, half-open, covers a time."""
    return (
        sa.or_(columns.valid_from.is_(None), columns.valid_from <= at),
        sa.or_(columns.valid_to.is_(None), columns.valid_to > at),
    )


async def get_facts(unit: UnitOfWork, ids: Sequence[UUID]) -> Rows:
    """Facts by id, in the order of their ids."""
    statement = sa.select(*_FACT).where(*_mine(Fact, unit), Fact.id.in_(ids)).order_by(Fact.id)
    return (await unit.execute(statement)).mappings().all()


async def lock_facts(unit: UnitOfWork, ids: Sequence[UUID]) -> Rows:
    """The same, locked in that order."""
    statement = (
        sa.select(*_FACT).where(*_mine(Fact, unit), Fact.id.in_(ids)).order_by(Fact.id).with_for_update()
    )
    return (await unit.execute(statement)).mappings().all()


async def superseded_by(unit: UnitOfWork, fact_id: UUID, limit: int) -> Rows:
    """Facts that a fact has superseded."""
    statement = (
        sa.select(*_FACT)
        .where(*_mine(Fact, unit), Fact.superseded_by == fact_id)
        .order_by(Fact.id)
        .limit(limit)
    )
    return (await unit.execute(statement)).mappings().all()


async def list_versions(
    unit: UnitOfWork, fact_id: UUID, *, valid_at: datetime | None, known_at: datetime | None
) -> Rows:
    """Versions of a fact, oldest first: those known by a time, those that say it held at a time."""
    statement = (
        sa.select(*FactVersion.__table__.c)
        .where(*_mine(FactVersion, unit), FactVersion.fact_id == fact_id)
        .order_by(FactVersion.version)
    )
    if known_at is not None:
        statement = statement.where(FactVersion.recorded_at <= known_at)
    if valid_at is not None:
        statement = statement.where(*_held(FactVersion, valid_at))
    return (await unit.execute(statement)).mappings().all()


async def list_facts(unit: UnitOfWork, page: FactPage, *, status: str | None) -> Rows:
    """Facts of the unit's profile as they stand, by id."""
    statement = sa.select(*_FACT).where(*_mine(Fact, unit))
    if status is not None:
        statement = statement.where(Fact.status == status)
    return await _page(unit, statement, page)


async def list_facts_as_of(
    unit: UnitOfWork, page: FactPage, *, valid_at: datetime | None, known_at: datetime | None
) -> Rows:
    """Facts that were believed at ``known_at`` (None: now) to hold at ``valid_at``, by id.

    A superseded fact still holds for the time before it was superseded; a retracted one, or one that waits for
    revalidation, holds for none. Without ``valid_at``: the facts that were active at ``known_at``.
    """
    versions = sa.select(*FactVersion.__table__.c).where(
        *_mine(FactVersion, unit), FactVersion.fact_id == Fact.id
    )
    if known_at is not None:
        versions = versions.where(FactVersion.recorded_at <= known_at)
    latest = versions.order_by(FactVersion.version.desc()).limit(1).lateral("believed")
    columns = [_as_believed(column, latest, known_at).label(column.name) for column in _FACT]
    statement = sa.select(*columns).select_from(Fact).join(latest, sa.true()).where(*_mine(Fact, unit))
    if valid_at is None:
        statement = statement.where(latest.c.status == "active")
    else:
        statement = statement.where(latest.c.status.in_(("active", "superseded")), *_held(latest.c, valid_at))
    return await _page(unit, statement, page)


def _as_believed(column: Any, latest: Any, known_at: datetime | None) -> sa.ColumnElement[Any]:
    """A column of a fact as it was believed: what has become of the fact since then was not known."""
    if column.name in _VERSIONED:
        believed: sa.ColumnElement[Any] = latest.c[column.name]
        return believed
    if column.name in ("superseded_by", "recorded_to"):
        return sa.case((latest.c.status == "superseded", column))
    if column.name == "retracted_at":
        return sa.null()
    if column.name == "last_confirmed_at" and known_at is not None:
        return sa.case((column <= known_at, column))
    return sa.cast(column, column.type)


async def _page(unit: UnitOfWork, statement: sa.Select[Any], page: FactPage) -> Rows:
    if page.subject_key is not None:
        statement = statement.where(Fact.subject_key == page.subject_key)
    if page.predicate is not None:
        statement = statement.where(Fact.predicate == page.predicate)
    if page.after is not None:
        statement = statement.where(Fact.id > page.after)
    return (await unit.execute(statement.order_by(Fact.id).limit(page.limit))).mappings().all()


_HYDRATED: Final = tuple(column.name for column in _FACT)
READ_ACTIVE: Final = (
    f"SELECT {', '.join(_HYDRATED)}, "  # noqa: S608 - names of our own columns
    "ARRAY(SELECT DISTINCT e.fragment_id FROM fact_support s JOIN claim_evidence e"
    " ON e.team_id = s.team_id AND e.claim_id = s.claim_id"
    " WHERE s.team_id = facts.team_id AND s.fact_id = facts.id ORDER BY 1 LIMIT 50) AS evidence_ids"
    " FROM facts WHERE team_id = %s AND profile_id = %s AND id = ANY (%s)"
)


async def read_active(unit: ReadUnit, ids: Sequence[UUID]) -> list[dict[str, Any]]:
    """Active facts by id with the ids of their evidence, in no order; the hot read of recall."""
    rows = await unit.fetch(Statement(READ_ACTIVE, (unit.tenant.team_id, unit.tenant.profile, list(ids))))
    facts = [dict(zip((*_HYDRATED, "evidence_ids"), row, strict=True)) for row in rows]
    return [fact for fact in facts if fact["status"] == "active"]
