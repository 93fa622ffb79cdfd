"""Statements on fragments."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from app.db.unit_of_work import ReadUnit, Statement, UnitOfWork
from app.indexing.models import FINGERPRINT_OF_FRAGMENT
from app.memory.models import Fragment
from app.memory.preparation import CLASSIFICATION_ORDERS

_INSERT = sa.text(
    """
    INSERT INTO fragments (team_id, id, profile_id, content, content_hash, source, source_type, authority,
                           source_quality, labels, metadata, confidentiality, retention, pii, idempotency_key,
                           valid_from, valid_to, recorded_at, recorded_to)
    SELECT :team, r.id, :profile, r.content, decode(r.content_hash, 'hex'), r.source, r.source_type, r.authority,
           r.source_quality, r.labels, r.metadata, r.confidentiality, r.retention, r.pii, r.idempotency_key,
           r.valid_from, r.valid_to, r.recorded_at, r.recorded_to
    FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (
        id uuid, content text, content_hash text, source text, source_type text, authority text,
        source_quality float8, labels text[], metadata jsonb, confidentiality text, retention text, pii text,
        idempotency_key text, valid_from timestamptz, valid_to timestamptz, recorded_at timestamptz,
        recorded_to timestamptz)
    ON CONFLICT DO NOTHING
    RETURNING id
    """
)


async def insert_fragments(unit: UnitOfWork, rows: Sequence[dict[str, Any]]) -> set[UUID]:
    """Insert fragments; those whose key or content is there already are left out.

    Args:
        unit: The unit of work.
        rows: Column values, ``content_hash`` in hex. Callers sort them by hash, so that two batches with the same
            contents take their index locks in the same order.

    Returns:
        Ids of the fragments that were inserted.
    """
    parameters = {
        "team": unit.tenant.team_id,
        "profile": unit.tenant.profile,
        "rows": msgspec.json.encode(rows).decode(),
    }
    return set((await unit.execute(_INSERT, parameters)).scalars())


async def find_existing(
    unit: UnitOfWork, hashes: Sequence[bytes], idempotency_keys: Sequence[str]
) -> Sequence[sa.Row[Any]]:
    """Fragments that hold one of the contents (and are active) or one of the idempotency keys."""
    columns = (
        Fragment.id,
        Fragment.content_hash,
        Fragment.idempotency_key,
        Fragment.status,
        Fragment.confidentiality,
        Fragment.retention,
        Fragment.pii,
    )
    mine = (Fragment.team_id == unit.tenant.team_id, Fragment.profile_id == unit.tenant.profile)
    by_hash = sa.select(*columns).where(
        *mine,
        Fragment.status == "active",
        Fragment.content_hash == sa.any_(sa.bindparam("hashes", list(hashes), pg.ARRAY(sa.LargeBinary))),
    )
    by_key = sa.select(*columns).where(
        *mine,
        Fragment.idempotency_key == sa.any_(sa.bindparam("keys", list(idempotency_keys), pg.ARRAY(sa.Text))),
    )
    return (await unit.execute(sa.union(by_hash, by_key))).all()


async def raise_classification(unit: UnitOfWork, fragment_id: UUID, wanted: dict[str, str]) -> None:
    """Set each dimension of a fragment's classification to the stricter of what it has and what is wanted."""
    values = {
        name: sa.case(
            (_rank(getattr(Fragment, name), order) < order.index(wanted[name]) + 1, wanted[name]),
            else_=getattr(Fragment, name),
        )
        for name, order in CLASSIFICATION_ORDERS.items()
    }
    await unit.execute(
        sa.update(Fragment)
        .where(Fragment.team_id == unit.tenant.team_id, Fragment.id == fragment_id)
        .values(**values, updated_at=sa.func.now())
    )


def _rank(column: Any, order: tuple[str, ...]) -> sa.ColumnElement[int]:
    return sa.func.array_position(sa.cast(list(order), pg.ARRAY(sa.Text)), column, type_=sa.Integer)


async def get_fragments(unit: UnitOfWork, ids: Sequence[UUID]) -> Sequence[sa.RowMapping]:
    """Fragments by id, in no order."""
    statement = sa.select(*Fragment.__table__.c).where(
        Fragment.team_id == unit.tenant.team_id,
        Fragment.profile_id == unit.tenant.profile,
        Fragment.id.in_(ids),
    )
    return (await unit.execute(statement)).mappings().all()


_COLUMNS = tuple(column.name for column in Fragment.__table__.c)
RECALLED = (
    f"SELECT {', '.join(_COLUMNS)}, {FINGERPRINT_OF_FRAGMENT} AS fingerprint FROM fragments"  # noqa: S608 - own names
    " WHERE team_id = %s AND profile_id = %s AND id = ANY (%s)"
)


async def read_active(unit: ReadUnit, ids: Sequence[UUID]) -> list[dict[str, Any]]:
    """Active fragments by id, each with its fingerprint, in no order; the hot read of recall."""
    parameters = (unit.tenant.team_id, unit.tenant.profile, list(ids))
    rows = await unit.fetch(Statement(RECALLED, parameters))
    # The status is looked at here: in the statement it would tempt the planner to walk the active ones' unique index.
    fragments = [dict(zip((*_COLUMNS, "fingerprint"), row, strict=True)) for row in rows]
    return [fragment for fragment in fragments if fragment["status"] == "active"]


async def list_fragments(
    unit: UnitOfWork,
    *,
    status: str | None,
    source_type: str | None,
    label: str | None,
    created_from: datetime | None,
    created_to: datetime | None,
    after: UUID | None,
    limit: int,
) -> Sequence[sa.RowMapping]:
    """Fragments of the unit's profile, oldest first; ``created_from <= created_at < created_to``."""
    statement = (
        sa.select(*Fragment.__table__.c)
        .where(Fragment.team_id == unit.tenant.team_id, Fragment.profile_id == unit.tenant.profile)
        .order_by(Fragment.id)
        .limit(limit)
    )
    conditions: list[sa.ColumnElement[bool]] = []
    if after is not None:
        conditions.append(Fragment.id > after)
    if status is not None:
        conditions.append(Fragment.status == status)
    if source_type is not None:
        conditions.append(Fragment.source_type == source_type)
    if label is not None:
        conditions.append(sa.literal(label) == sa.any_(Fragment.labels))
    if created_from is not None:
        conditions.append(Fragment.created_at >= created_from)
    if created_to is not None:
        conditions.append(Fragment.created_at < created_to)
    return (await unit.execute(statement.where(*conditions))).mappings().all()


async def retract_fragment(unit: UnitOfWork, fragment_id: UUID) -> bool:
    """Mark an active fragment as retracted; False when it is not active or not there."""
    statement = (
        sa.update(Fragment)
        .where(
            Fragment.team_id == unit.tenant.team_id,
            Fragment.profile_id == unit.tenant.profile,
            Fragment.id == fragment_id,
            Fragment.status == "active",
        )
        .values(
            status="retracted",
            retracted_at=sa.func.now(),
            updated_at=sa.func.now(),
            recorded_to=sa.func.coalesce(
                Fragment.recorded_to, sa.func.greatest(sa.func.now(), Fragment.recorded_at)
            ),
        )
    )
    return (await unit.execute(statement)).rowcount == 1


async def delete_fragment(unit: UnitOfWork, fragment_id: UUID) -> bool:
    """Delete a fragment for good; False when it is not there."""
    statement = sa.delete(Fragment).where(
        Fragment.team_id == unit.tenant.team_id,
        Fragment.profile_id == unit.tenant.profile,
        Fragment.id == fragment_id,
    )
    return (await unit.execute(statement)).rowcount == 1
