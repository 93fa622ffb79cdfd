"""Tables of the memories themselves; everything derived from them lives in ``app.indexing``."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, JsonObject, OptionalTimestamp, ProfileId, RowId, TeamId, Timestamp, one_of

SOURCE_TYPES = ("conversation", "document", "observation", "manual")
AUTHORITIES = ("authoritative", "primary", "secondary", "inferred", "unknown")
CONFIDENTIALITY = ("public", "internal", "confidential", "restricted")
RETENTION = ("ephemeral", "short_term", "long_term", "permanent")
PII = ("none", "non_sensitive", "sensitive")
FRAGMENT_STATUSES = ("active", "retracted")


class Fragment(Base):
    """Immutable source evidence; only its lifecycle columns and its classification ever change."""

    __tablename__ = "fragments"
    __table_args__ = (
        one_of("source_type", SOURCE_TYPES),
        one_of("authority", AUTHORITIES),
        one_of("confidentiality", CONFIDENTIALITY),
        one_of("retention", RETENTION),
        one_of("pii", PII),
        one_of("status", FRAGMENT_STATUSES),
        sa.CheckConstraint("valid_to > valid_from", name="validity"),
        sa.CheckConstraint("recorded_to >= recorded_at", name="recorded"),
        sa.CheckConstraint("octet_length(content_hash) = 32", name="content_hash"),
        sa.CheckConstraint("source_quality BETWEEN 0 AND 1", name="source_quality"),
        sa.ForeignKeyConstraint(
            ["team_id", "profile_id"], ["profiles.team_id", "profiles.id"], ondelete="CASCADE"
        ),
        sa.Index("fragments_listing_idx", "team_id", "profile_id", "id"),
        sa.Index(
            "fragments_idempotency_key",
            "team_id",
            "profile_id",
            "idempotency_key",
            unique=True,
            postgresql_where=sa.text("idempotency_key IS NOT NULL"),
        ),
        sa.Index(
            "fragments_content_hash_key",
            "team_id",
            "profile_id",
            "content_hash",
            unique=True,
            postgresql_where=sa.text("status = 'active'"),
        ),
    )

    team_id: Mapped[TeamId]
    id: Mapped[RowId]
    profile_id: Mapped[ProfileId]
    content: Mapped[str] = mapped_column(sa.Text)
    content_hash: Mapped[bytes] = mapped_column(sa.LargeBinary)
    source: Mapped[str | None] = mapped_column(sa.Text)
    source_type: Mapped[str] = mapped_column(sa.Text)
    authority: Mapped[str] = mapped_column(sa.Text)
    source_quality: Mapped[float] = mapped_column(sa.Double)
    labels: Mapped[list[str]] = mapped_column(pg.ARRAY(sa.Text), server_default=sa.text("'{}'::text[]"))
    metadata_: Mapped[JsonObject] = mapped_column("metadata")
    confidentiality: Mapped[str] = mapped_column(sa.Text)
    retention: Mapped[str] = mapped_column(sa.Text)
    pii: Mapped[str] = mapped_column(sa.Text)
    status: Mapped[str] = mapped_column(sa.Text, server_default="active")
    idempotency_key: Mapped[str | None] = mapped_column(sa.Text)
    valid_from: Mapped[OptionalTimestamp]
    valid_to: Mapped[OptionalTimestamp]
    recorded_at: Mapped[Timestamp]
    recorded_to: Mapped[OptionalTimestamp]
    created_at: Mapped[Timestamp]
    updated_at: Mapped[Timestamp]
    retracted_at: Mapped[OptionalTimestamp]
