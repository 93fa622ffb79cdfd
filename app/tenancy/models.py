"""Tables of the tenancy: who may see what, and who did what."""

from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, JsonObject, OptionalTimestamp, RowId, TeamId, Timestamp, one_of

TEAM_STATUSES = ("active", "archived")
PROFILE_STATUSES = ("active", "archived")
SCOPES = ("memory:read", "memory:write", "feedback:write", "admin")
ACTOR_TYPES = ("key", "operator", "system")


class Team(Base):
    """The tenant: isolation boundary of every other row."""

    __tablename__ = "teams"
    __table_args__ = (
        one_of("status", TEAM_STATUSES),
        sa.Index("teams_name_key", sa.text("lower(name)"), unique=True),
    )

    team_id: Mapped[TeamId]
    name: Mapped[str] = mapped_column(sa.Text)
    status: Mapped[str] = mapped_column(sa.Text, server_default="active")
    embedding_space_id: Mapped[int] = mapped_column(sa.SmallInteger)
    ranking_policy: Mapped[str | None] = mapped_column(sa.Text)
    created_at: Mapped[Timestamp]
    updated_at: Mapped[Timestamp]


class Profile(Base):
    """One memory space in a team."""

    __tablename__ = "profiles"
    __table_args__ = (
        one_of("status", PROFILE_STATUSES),
        sa.ForeignKeyConstraint(["team_id"], ["teams.team_id"], ondelete="CASCADE"),
        sa.Index("profiles_team_id_name_key", "team_id", sa.text("lower(name)"), unique=True),
    )

    team_id: Mapped[TeamId]
    id: Mapped[RowId]
    name: Mapped[str] = mapped_column(sa.Text)
    text_search_config: Mapped[str] = mapped_column(sa.Text, server_default="english")
    description: Mapped[str | None] = mapped_column(sa.Text)
    metadata_: Mapped[JsonObject] = mapped_column("metadata")
    status: Mapped[str] = mapped_column(sa.Text, server_default="active")
    created_at: Mapped[Timestamp]
    updated_at: Mapped[Timestamp]


class ApiKey(Base):
    """A caller's credential: prefix for lookup, SHA-256 digest of the secret, never the secret."""

    __tablename__ = "api_keys"
    __table_args__ = (
        sa.CheckConstraint(
            "scopes <@ ARRAY['memory:read', 'memory:write', 'feedback:write', 'admin'] AND cardinality(scopes) > 0",
            name="scopes",
        ),
        sa.CheckConstraint("octet_length(digest) = 32", name="digest"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.team_id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["team_id", "profile_id"], ["profiles.team_id", "profiles.id"], ondelete="CASCADE"
        ),
        sa.UniqueConstraint("team_id", "prefix"),
        sa.Index(None, "prefix"),
    )

    team_id: Mapped[TeamId]
    id: Mapped[RowId]
    name: Mapped[str] = mapped_column(sa.Text)
    prefix: Mapped[str] = mapped_column(sa.Text)
    digest: Mapped[bytes] = mapped_column(sa.LargeBinary)
    scopes: Mapped[list[str]] = mapped_column(pg.ARRAY(sa.Text))
    profile_id: Mapped[UUID | None] = mapped_column(pg.UUID(as_uuid=True))
    created_at: Mapped[Timestamp]
    expires_at: Mapped[OptionalTimestamp]
    revoked_at: Mapped[OptionalTimestamp]
    rotated_from: Mapped[UUID | None] = mapped_column(pg.UUID(as_uuid=True))


class AuditEntry(Base):
    """One administrative or memory operation, without memory content; a trigger refuses UPDATE and DELETE."""

    __tablename__ = "audit_log"
    __table_args__ = (one_of("actor_type", ACTOR_TYPES),)

    team_id: Mapped[TeamId]
    id: Mapped[RowId]
    occurred_at: Mapped[Timestamp]
    action: Mapped[str] = mapped_column(sa.Text)
    entity_type: Mapped[str] = mapped_column(sa.Text)
    entity_id: Mapped[str] = mapped_column(sa.Text)
    actor_type: Mapped[str] = mapped_column(sa.Text)
    actor_id: Mapped[str | None] = mapped_column(sa.Text)
    request_id: Mapped[str | None] = mapped_column(sa.Text)
    details: Mapped[JsonObject]


class IdempotencyRecord(Base):
    """The answer given to a write that carried an ``Idempotency-Key``; keys of two profiles do not meet."""

    __tablename__ = "idempotency_records"
    __table_args__ = (
        sa.ForeignKeyConstraint(
            ["team_id", "profile_id"], ["profiles.team_id", "profiles.id"], ondelete="CASCADE"
        ),
    )

    team_id: Mapped[TeamId]
    profile_id: Mapped[UUID] = mapped_column(pg.UUID(as_uuid=True), primary_key=True)
    idempotency_key: Mapped[str] = mapped_column(sa.Text, primary_key=True)
    request_digest: Mapped[bytes] = mapped_column(sa.LargeBinary)
    response: Mapped[bytes] = mapped_column(sa.LargeBinary)
    created_at: Mapped[Timestamp]
