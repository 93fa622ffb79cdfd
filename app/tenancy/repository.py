"""Statements on teams, profiles, keys and the audit log."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from app.db.unit_of_work import UnitOfWork
from app.tenancy.models import ApiKey, AuditEntry, Profile, Team


async def insert_team(unit: UnitOfWork, name: str, space_id: int) -> sa.Row[Any]:
    """Insert the team of the unit's tenant."""
    values = {"team_id": unit.tenant.team_id, "name": name, "embedding_space_id": space_id}
    return (await unit.execute(sa.insert(Team).values(values).returning(*Team.__table__.c))).one()


async def list_teams(connection: AsyncConnection, after: UUID | None, limit: int) -> Sequence[sa.Row[Any]]:
    """Teams by id; the connection is the operator's."""
    statement = sa.select(*Team.__table__.c).order_by(Team.team_id).limit(limit)
    if after is not None:
        statement = statement.where(Team.team_id > after)
    return (await connection.execute(statement)).all()


async def find_team_by_name(connection: AsyncConnection, name: str) -> sa.Row[Any] | None:
    """A team by its name, whatever the case; the connection is the operator's."""
    statement = sa.select(*Team.__table__.c).where(sa.func.lower(Team.name) == sa.func.lower(name))
    return (await connection.execute(statement)).one_or_none()


async def get_team(unit: UnitOfWork) -> sa.Row[Any] | None:
    """The unit's own team."""
    statement = sa.select(*Team.__table__.c).where(Team.team_id == unit.tenant.team_id)
    return (await unit.execute(statement)).one_or_none()


async def update_team(unit: UnitOfWork, **values: Any) -> sa.Row[Any] | None:
    """Change the unit's own team."""
    statement = (
        sa.update(Team)
        .where(Team.team_id == unit.tenant.team_id)
        .values(**values, updated_at=sa.func.now())
        .returning(*Team.__table__.c)
    )
    return (await unit.execute(statement)).one_or_none()


async def delete_team(unit: UnitOfWork) -> bool:
    """Delete the team; its profiles, keys and fragments go with it by foreign key."""
    deleted = await unit.execute(sa.delete(Team).where(Team.team_id == unit.tenant.team_id))
    return deleted.rowcount == 1


async def insert_profile(unit: UnitOfWork, values: dict[str, Any]) -> sa.Row[Any]:
    """Insert a profile of the unit's team."""
    statement = (
        sa.insert(Profile).values(team_id=unit.tenant.team_id, **values).returning(*Profile.__table__.c)
    )
    return (await unit.execute(statement)).one()


async def list_profiles(
    unit: UnitOfWork, *, only: UUID | None, after: UUID | None, limit: int
) -> Sequence[sa.Row[Any]]:
    """Profiles of the unit's team by id."""
    statement = (
        sa.select(*Profile.__table__.c)
        .where(Profile.team_id == unit.tenant.team_id)
        .order_by(Profile.id)
        .limit(limit)
    )
    if only is not None:
        statement = statement.where(Profile.id == only)
    if after is not None:
        statement = statement.where(Profile.id > after)
    return (await unit.execute(statement)).all()


async def get_profile(unit: UnitOfWork, profile_id: UUID) -> sa.Row[Any] | None:
    """One profile of the unit's team."""
    statement = sa.select(*Profile.__table__.c).where(
        Profile.team_id == unit.tenant.team_id, Profile.id == profile_id
    )
    return (await unit.execute(statement)).one_or_none()


async def delete_profile(unit: UnitOfWork, profile_id: UUID) -> bool:
    """Delete a profile; its fragments and keys go with it by foreign key."""
    statement = sa.delete(Profile).where(Profile.team_id == unit.tenant.team_id, Profile.id == profile_id)
    return (await unit.execute(statement)).rowcount == 1


async def insert_key(unit: UnitOfWork, values: dict[str, Any]) -> sa.Row[Any]:
    """Insert an API key of the unit's team."""
    statement = sa.insert(ApiKey).values(team_id=unit.tenant.team_id, **values).returning(*ApiKey.__table__.c)
    return (await unit.execute(statement)).one()


async def list_keys(unit: UnitOfWork, *, after: UUID | None, limit: int) -> Sequence[sa.Row[Any]]:
    """Keys of the unit's team by id, revoked ones included."""
    statement = (
        sa.select(*ApiKey.__table__.c)
        .where(ApiKey.team_id == unit.tenant.team_id)
        .order_by(ApiKey.id)
        .limit(limit)
    )
    if after is not None:
        statement = statement.where(ApiKey.id > after)
    return (await unit.execute(statement)).all()


async def lock_key(unit: UnitOfWork, key_id: UUID) -> sa.Row[Any] | None:
    """One key of the unit's team, locked until the unit ends."""
    statement = (
        sa.select(*ApiKey.__table__.c)
        .where(ApiKey.team_id == unit.tenant.team_id, ApiKey.id == key_id)
        .with_for_update()
    )
    return (await unit.execute(statement)).one_or_none()


async def end_key(unit: UnitOfWork, key_id: UUID, **values: datetime) -> sa.Row[Any]:
    """Set ``revoked_at`` or ``expires_at`` of a key."""
    statement = (
        sa.update(ApiKey)
        .where(ApiKey.team_id == unit.tenant.team_id, ApiKey.id == key_id)
        .values(**values)
        .returning(*ApiKey.__table__.c)
    )
    return (await unit.execute(statement)).one()


async def list_audit(unit: UnitOfWork, *, before: UUID | None, limit: int) -> Sequence[sa.Row[Any]]:
    """Audit entries of the unit's team, newest first."""
    statement = (
        sa.select(*AuditEntry.__table__.c)
        .where(AuditEntry.team_id == unit.tenant.team_id)
        .order_by(AuditEntry.id.desc())
        .limit(limit)
    )
    if before is not None:
        statement = statement.where(AuditEntry.id < before)
    return (await unit.execute(statement)).all()
