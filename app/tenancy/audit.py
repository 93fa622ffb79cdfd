"""Who did what, without memory content."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from app.db.unit_of_work import UnitOfWork
from app.tenancy.models import AuditEntry


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: an API key, the operator, or the system itself."""

    type: str
    id: str | None = None
    request_id: str | None = None


SYSTEM = Actor("system")


async def record(
    unit: UnitOfWork, actor: Actor, action: str, entity_type: str, entity_id: UUID | str, **details: Any
) -> None:
    """Append one entry in the caller's transaction. ``details`` holds counts, names of fields and states only."""
    await unit.execute(
        sa.insert(AuditEntry).values(
            team_id=unit.tenant.team_id,
            id=uuid7(),
            action=action,
            entity_type=entity_type,
            entity_id=str(entity_id),
            actor_type=actor.type,
            actor_id=actor.id,
            request_id=actor.request_id,
            details=details,
        )
    )
