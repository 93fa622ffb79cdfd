"""Statements on claims and their evidence. Locks are taken in one order: fragments, claims, a key, facts."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from app.db.unit_of_work import UnitOfWork
from app.knowledge.models import OPEN_STATUSES, Claim, ClaimConflict, ClaimEvidence
from app.memory.models import Fragment

Rows = Sequence[sa.RowMapping]
_CLAIM: Final = tuple(Claim.__table__.c)


def _mine(table: Any, unit: UnitOfWork) -> tuple[sa.ColumnElement[bool], ...]:
    return table.team_id == unit.tenant.team_id, table.profile_id == unit.tenant.profile


async def lock_fragments(unit: UnitOfWork, ids: Sequence[UUID]) -> dict[UUID, sa.RowMapping]:
    """Fragments by id, which nobody can retract or delete before this transaction ends."""
    statement = (
        sa.select(
            Fragment.id,
            Fragment.status,
            Fragment.source_quality,
            Fragment.source_type,
            Fragment.authority,
            Fragment.confidentiality,
            Fragment.retention,
            Fragment.pii,
            sa.func.char_length(Fragment.content).label("characters"),
        )
        .where(*_mine(Fragment, unit), Fragment.id.in_(ids))
        .order_by(Fragment.id)
        .with_for_update(read=True)
    )
    return {row["id"]: row for row in (await unit.execute(statement)).mappings()}


async def lock_evidence_of(unit: UnitOfWork, claim_ids: Sequence[UUID]) -> None:
    """Keep the fragments of claims from being retracted or deleted before this transaction ends."""
    cited = sa.select(ClaimEvidence.fragment_id).where(
        ClaimEvidence.team_id == unit.tenant.team_id, ClaimEvidence.claim_id.in_(claim_ids)
    )
    await unit.execute(
        sa.select(Fragment.id)
        .where(*_mine(Fragment, unit), Fragment.id.in_(cited))
        .order_by(Fragment.id)
        .with_for_update(read=True)
    )


async def find_claim(
    unit: UnitOfWork, content_hash: bytes, idempotency_key: str | None
) -> sa.RowMapping | None:
    """The claim that holds the key, else the newest with the same content."""
    if idempotency_key is not None:
        by_key = sa.select(*_CLAIM).where(*_mine(Claim, unit), Claim.idempotency_key == idempotency_key)
        row = (await unit.execute(by_key)).mappings().one_or_none()
        if row is not None:
            return row
    by_hash = (
        sa.select(*_CLAIM)
        .where(*_mine(Claim, unit), Claim.content_hash == content_hash)
        .order_by(Claim.status.in_(OPEN_STATUSES).desc(), Claim.id.desc())
        .limit(1)
    )
    return (await unit.execute(by_hash)).mappings().one_or_none()


async def insert_claim(unit: UnitOfWork, values: dict[str, Any]) -> bool:
    """Insert a claim; False when its key or its content is there already."""
    statement = (
        pg.insert(Claim)
        .values(team_id=unit.tenant.team_id, profile_id=unit.tenant.profile, **values)
        .on_conflict_do_nothing()
        .returning(Claim.id)
    )
    return (await unit.execute(statement)).one_or_none() is not None


async def add_evidence(unit: UnitOfWork, claim_id: UUID, rows: Sequence[dict[str, Any]]) -> int:
    """Link fragments to a claim; those linked already stay as they are. Returns how many are new."""
    values = [
        {
            "team_id": unit.tenant.team_id,
            "profile_id": unit.tenant.profile,
            "claim_id": claim_id,
            "reasons": [],
            **row,
        }
        for row in rows
    ]
    statement = (
        pg.insert(ClaimEvidence).values(values).on_conflict_do_nothing().returning(ClaimEvidence.fragment_id)
    )
    return len((await unit.execute(statement)).all())


async def get_claims(unit: UnitOfWork, ids: Sequence[UUID]) -> Rows:
    """Claims by id, in the order of their ids."""
    statement = sa.select(*_CLAIM).where(*_mine(Claim, unit), Claim.id.in_(ids)).order_by(Claim.id)
    return (await unit.execute(statement)).mappings().all()


async def lock_claims(unit: UnitOfWork, ids: Sequence[UUID]) -> Rows:
    """The same, locked in that order."""
    statement = (
        sa.select(*_CLAIM).where(*_mine(Claim, unit), Claim.id.in_(ids)).order_by(Claim.id).with_for_update()
    )
    return (await unit.execute(statement)).mappings().all()


async def get_evidence(unit: UnitOfWork, claim_ids: Sequence[UUID]) -> Rows:
    """Evidence of claims with the state, quality and content of each fragment; null where it is gone."""
    statement = (
        sa.select(
            *ClaimEvidence.__table__.c,
            Fragment.status.label("fragment_status"),
            Fragment.source_quality.label("fragment_quality"),
            Fragment.content.label("fragment_content"),
            Fragment.valid_from.label("fragment_valid_from"),
            Fragment.valid_to.label("fragment_valid_to"),
            Fragment.recorded_at.label("fragment_recorded_at"),
        )
        .join_from(
            ClaimEvidence,
            Fragment,
            sa.and_(
                Fragment.team_id == ClaimEvidence.team_id,
                Fragment.id == ClaimEvidence.fragment_id,
                Fragment.profile_id == unit.tenant.profile,
            ),
            isouter=True,
        )
        .where(*_mine(ClaimEvidence, unit), ClaimEvidence.claim_id.in_(claim_ids))
        .order_by(ClaimEvidence.claim_id, ClaimEvidence.fragment_id)
    )
    return (await unit.execute(statement)).mappings().all()


async def claims_citing(unit: UnitOfWork, fragment_id: UUID) -> list[UUID]:
    """Claims that rest on a fragment."""
    statement = sa.select(ClaimEvidence.claim_id).where(
        *_mine(ClaimEvidence, unit), ClaimEvidence.fragment_id == fragment_id
    )
    return list((await unit.execute(statement)).scalars())


async def update_claim(unit: UnitOfWork, claim_id: UUID, **values: Any) -> None:
    """Change a claim that the caller has locked."""
    await unit.execute(
        sa.update(Claim)
        .where(*_mine(Claim, unit), Claim.id == claim_id)
        .values(**values, updated_at=sa.func.now())
    )


async def judge_evidence(unit: UnitOfWork, claim_id: UUID, fragment_id: UUID, **values: Any) -> None:
    """Store a verdict on one piece of evidence."""
    await unit.execute(
        sa.update(ClaimEvidence)
        .where(
            *_mine(ClaimEvidence, unit),
            ClaimEvidence.claim_id == claim_id,
            ClaimEvidence.fragment_id == fragment_id,
        )
        .values(**values, verified_at=sa.func.now())
    )


async def delete_claim(unit: UnitOfWork, claim_id: UUID) -> bool:
    """Delete a claim with its evidence, support and conflicts; False when it is not there."""
    statement = sa.delete(Claim).where(*_mine(Claim, unit), Claim.id == claim_id)
    return (await unit.execute(statement)).rowcount == 1


async def list_claims(
    unit: UnitOfWork,
    *,
    status: str | None,
    subject_key: str | None,
    predicate: str | None,
    after: UUID | None,
    limit: int,
) -> Rows:
    """Claims of the unit's profile by id."""
    statement = sa.select(*_CLAIM).where(*_mine(Claim, unit)).order_by(Claim.id).limit(limit)
    if after is not None:
        statement = statement.where(Claim.id > after)
    if status is not None:
        statement = statement.where(Claim.status == status)
    if subject_key is not None:
        statement = statement.where(Claim.subject_key == subject_key)
    if predicate is not None:
        statement = statement.where(Claim.predicate == predicate)
    return (await unit.execute(statement)).mappings().all()


async def open_conflicts(unit: UnitOfWork, claim_ids: Sequence[UUID]) -> list[tuple[UUID, UUID]]:
    """Unresolved conflicts of claims: claim and fact."""
    statement = (
        sa.select(ClaimConflict.claim_id, ClaimConflict.fact_id)
        .where(
            *_mine(ClaimConflict, unit),
            ClaimConflict.claim_id.in_(claim_ids),
            ClaimConflict.resolved_at.is_(None),
        )
        .order_by(ClaimConflict.claim_id, ClaimConflict.fact_id)
    )
    return [(row.claim_id, row.fact_id) for row in await unit.execute(statement)]


async def conflicts_of(
    unit: UnitOfWork, *, claim_id: UUID | None = None, fact_id: UUID | None = None
) -> list[tuple[UUID, UUID]]:
    """Conflicts of a claim or a fact, resolved ones included: claim and fact."""
    statement = sa.select(ClaimConflict.claim_id, ClaimConflict.fact_id).where(*_mine(ClaimConflict, unit))
    if claim_id is not None:
        statement = statement.where(ClaimConflict.claim_id == claim_id)
    if fact_id is not None:
        statement = statement.where(ClaimConflict.fact_id == fact_id)
    rows = await unit.execute(statement.order_by(ClaimConflict.claim_id, ClaimConflict.fact_id).limit(100))
    return [(row.claim_id, row.fact_id) for row in rows]


async def add_conflicts(unit: UnitOfWork, claim_id: UUID, fact_ids: Sequence[UUID]) -> None:
    """Open conflicts between a claim and facts."""
    if not fact_ids:
        return
    values = [
        {
            "team_id": unit.tenant.team_id,
            "profile_id": unit.tenant.profile,
            "claim_id": claim_id,
            "fact_id": fact_id,
        }
        for fact_id in fact_ids
    ]
    await unit.execute(pg.insert(ClaimConflict).values(values).on_conflict_do_nothing())


async def resolve_conflicts(unit: UnitOfWork, claim_id: UUID, decision: str) -> None:
    """Close the open conflicts of a claim."""
    await unit.execute(
        sa.update(ClaimConflict)
        .where(
            *_mine(ClaimConflict, unit),
            ClaimConflict.claim_id == claim_id,
            ClaimConflict.resolved_at.is_(None),
        )
        .values(decision=decision, resolved_at=sa.func.now())
    )


async def end_conflicts_with(unit: UnitOfWork, fact_id: UUID) -> None:
    """Close the open conflicts with a fact that stands no longer; nobody decided them."""
    await unit.execute(
        sa.update(ClaimConflict)
        .where(
            *_mine(ClaimConflict, unit),
            ClaimConflict.fact_id == fact_id,
            ClaimConflict.resolved_at.is_(None),
        )
        .values(resolved_at=sa.func.now())
    )


async def disputing(unit: UnitOfWork, fact_ids: Sequence[UUID], limit: int) -> list[UUID]:
    """Disputed claims that conflict with one of the facts, oldest first."""
    statement = (
        sa.select(ClaimConflict.claim_id)
        .where(
            *_mine(ClaimConflict, unit),
            ClaimConflict.fact_id.in_(fact_ids),
            ClaimConflict.resolved_at.is_(None),
        )
        .distinct()
        .order_by(ClaimConflict.claim_id)
        .limit(limit)
    )
    return list((await unit.execute(statement)).scalars())
