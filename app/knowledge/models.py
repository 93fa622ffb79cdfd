"""Tables of claims, facts and everything between them. A fact's past is in ``fact_versions``, which only grows."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, OptionalTimestamp, ProfileId, RowId, TeamId, Timestamp, one_of
from app.knowledge.policies import KINDS
from app.memory.models import CONFIDENTIALITY, PII, RETENTION

MODALITIES = ("assertion", "question", "proposal", "speculation", "quoted")
POLARITIES = ("+", "-")
VERDICTS = ("entailed", "contradicted", "neutral", "insufficient")
CLAIM_STATUSES = ("candidate", "validated", "disputed", "rejected", "superseded")
OPEN_STATUSES = ("candidate", "validated", "disputed")
FACT_STATUSES = ("active", "superseded", "retracted", "needs_revalidation")
DECISIONS = ("accept_claim", "keep_existing", "reject_claim")
RUN_STATUSES = ("queued", "processing", "completed")

_PROFILE = ("profiles.team_id", "profiles.id")
_UUID = pg.UUID(as_uuid=True)


def _of_profile() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["team_id", "profile_id"], _PROFILE, ondelete="CASCADE")


def _of(table: str, column: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["team_id", column], [f"{table}.team_id", f"{table}.id"], ondelete="CASCADE"
    )


class StoredPolicy(Base):
    """A team's own predicate policy; the built-in ones are program constants."""

    __tablename__ = "predicate_policies"
    __table_args__ = (
        one_of("kind", KINDS),
        sa.CheckConstraint("min_extract BETWEEN 0 AND 1", name="min_extract"),
        sa.CheckConstraint("min_resolution BETWEEN 0 AND 1", name="min_resolution"),
        sa.CheckConstraint("min_quality BETWEEN 0 AND 1", name="min_quality"),
        sa.CheckConstraint("min_sources >= 1", name="min_sources"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.team_id"], ondelete="CASCADE"),
    )

    team_id: Mapped[TeamId]
    predicate: Mapped[str] = mapped_column(sa.Text, primary_key=True)
    kind: Mapped[str] = mapped_column(sa.Text)
    min_extract: Mapped[float] = mapped_column(sa.Double)
    min_resolution: Mapped[float] = mapped_column(sa.Double)
    requires_assertion: Mapped[bool] = mapped_column(sa.Boolean)
    requires_entailed: Mapped[bool] = mapped_column(sa.Boolean)
    min_sources: Mapped[int] = mapped_column(sa.Integer)
    min_quality: Mapped[float | None] = mapped_column(sa.Double)
    created_at: Mapped[Timestamp]


class Claim(Base):
    """A statement supported by fragments, on its way through verification and promotion."""

    __tablename__ = "claims"
    __table_args__ = (
        one_of("modality", MODALITIES),
        one_of("polarity", POLARITIES),
        one_of("status", CLAIM_STATUSES),
        one_of("verdict", VERDICTS),
        one_of("confidentiality", CONFIDENTIALITY),
        one_of("retention", RETENTION),
        one_of("pii", PII),
        sa.CheckConstraint("valid_to > valid_from", name="validity"),
        sa.CheckConstraint("recorded_to >= recorded_at", name="recorded"),
        sa.CheckConstraint("octet_length(content_hash) = 32", name="content_hash"),
        sa.CheckConstraint("extract_conf BETWEEN 0 AND 1", name="extract_conf"),
        sa.CheckConstraint("resolution_conf BETWEEN 0 AND 1", name="resolution_conf"),
        sa.CheckConstraint("source_quality BETWEEN 0 AND 1", name="source_quality"),
        _of_profile(),
        sa.Index("claims_listing_idx", "team_id", "profile_id", "id"),
        sa.Index("claims_content_hash_idx", "team_id", "profile_id", "content_hash"),
        sa.Index(
            "claims_open_content_hash_key",
            "team_id",
            "profile_id",
            "content_hash",
            unique=True,
            postgresql_where=sa.text("status IN ('candidate', 'validated', 'disputed')"),
        ),
        sa.Index(
            "claims_idempotency_key",
            "team_id",
            "profile_id",
            "idempotency_key",
            unique=True,
            postgresql_where=sa.text("idempotency_key IS NOT NULL"),
        ),
        sa.Index(
            "claims_disputed_idx",
            "team_id",
            "profile_id",
            "id",
            postgresql_where=sa.text("status = 'disputed'"),
        ),
    )

    team_id: Mapped[TeamId]
    id: Mapped[RowId]
    profile_id: Mapped[ProfileId]
    content_hash: Mapped[bytes] = mapped_column(sa.LargeBinary)
    idempotency_key: Mapped[str | None] = mapped_column(sa.Text)
    subject: Mapped[str] = mapped_column(sa.Text)
    predicate: Mapped[str] = mapped_column(sa.Text)
    object: Mapped[str] = mapped_column(sa.Text)
    subject_key: Mapped[str] = mapped_column(sa.Text)
    modality: Mapped[str] = mapped_column(sa.Text)
    polarity: Mapped[str] = mapped_column(sa.Text)
    speaker: Mapped[str | None] = mapped_column(sa.Text)
    valid_from: Mapped[OptionalTimestamp]
    valid_to: Mapped[OptionalTimestamp]
    recorded_at: Mapped[Timestamp]
    recorded_to: Mapped[OptionalTimestamp]
    extract_conf: Mapped[float] = mapped_column(sa.Double)
    resolution_conf: Mapped[float] = mapped_column(sa.Double)
    source_quality: Mapped[float] = mapped_column(sa.Double)
    source_type: Mapped[str] = mapped_column(sa.Text)
    labels: Mapped[list[str]] = mapped_column(pg.ARRAY(sa.Text), server_default=sa.text("'{}'::text[]"))
    extraction_model: Mapped[str | None] = mapped_column(sa.Text)
    confidentiality: Mapped[str] = mapped_column(sa.Text)
    retention: Mapped[str] = mapped_column(sa.Text)
    pii: Mapped[str] = mapped_column(sa.Text)
    status: Mapped[str] = mapped_column(sa.Text, server_default="candidate")
    verdict: Mapped[str] = mapped_column(sa.Text, server_default="insufficient")
    verifier: Mapped[str | None] = mapped_column(sa.Text)
    verified_at: Mapped[OptionalTimestamp]
    fact_id: Mapped[UUID | None] = mapped_column(_UUID)
    created_at: Mapped[Timestamp]
    updated_at: Mapped[Timestamp]


class ClaimEvidence(Base):
    """A fragment that a claim rests on. The link outlives the fragment, so that a trace can tell what is missing."""

    __tablename__ = "claim_evidence"
    __table_args__ = (
        one_of("verdict", VERDICTS),
        sa.CheckConstraint("span_end > span_start AND span_start >= 0", name="span"),
        sa.CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence"),
        _of("claims", "claim_id"),
        sa.Index("claim_evidence_fragment_idx", "team_id", "fragment_id"),
    )

    team_id: Mapped[TeamId]
    claim_id: Mapped[UUID] = mapped_column(_UUID, primary_key=True)
    fragment_id: Mapped[UUID] = mapped_column(_UUID, primary_key=True)
    profile_id: Mapped[ProfileId]
    span_start: Mapped[int | None] = mapped_column(sa.Integer)
    span_end: Mapped[int | None] = mapped_column(sa.Integer)
    speaker: Mapped[str | None] = mapped_column(sa.Text)
    authority: Mapped[str] = mapped_column(sa.Text)
    verdict: Mapped[str | None] = mapped_column(sa.Text)
    reasons: Mapped[list[str]] = mapped_column(pg.ARRAY(sa.Text), server_default=sa.text("'{}'::text[]"))
    confidence: Mapped[float | None] = mapped_column(sa.Double)
    verifier: Mapped[str | None] = mapped_column(sa.Text)
    verified_at: Mapped[OptionalTimestamp]
    created_at: Mapped[Timestamp]


class Fact(Base):
    """A promoted claim as it stands now."""

    __tablename__ = "facts"
    __table_args__ = (
        one_of("kind", KINDS),
        one_of("polarity", POLARITIES),
        one_of("status", FACT_STATUSES),
        one_of("confidentiality", CONFIDENTIALITY),
        one_of("retention", RETENTION),
        one_of("pii", PII),
        # Half-open: a fact that ends where it begins was never true.
        sa.CheckConstraint("valid_to >= valid_from", name="validity"),
        sa.CheckConstraint("recorded_to >= recorded_at", name="recorded"),
        sa.CheckConstraint("truth_score BETWEEN 0 AND 1", name="truth_score"),
        sa.CheckConstraint("superseded_by <> id", name="superseded_by"),
        _of_profile(),
        sa.Index("facts_listing_idx", "team_id", "profile_id", "id"),
        sa.Index("facts_statement_idx", "team_id", "profile_id", "predicate", "subject_key"),
        sa.Index(
            "facts_superseded_by_idx",
            "team_id",
            "superseded_by",
            postgresql_where=sa.text("superseded_by IS NOT NULL"),
        ),
        sa.Index(
            "facts_active_key",
            "team_id",
            "profile_id",
            "predicate",
            "subject_key",
            "slot",
            unique=True,
            postgresql_where=sa.text("status = 'active'"),
        ),
    )

    team_id: Mapped[TeamId]
    id: Mapped[RowId]
    profile_id: Mapped[ProfileId]
    subject: Mapped[str] = mapped_column(sa.Text)
    predicate: Mapped[str] = mapped_column(sa.Text)
    object: Mapped[str] = mapped_column(sa.Text)
    polarity: Mapped[str] = mapped_column(sa.Text)
    subject_key: Mapped[str] = mapped_column(sa.Text)
    kind: Mapped[str] = mapped_column(sa.Text)
    slot: Mapped[bytes] = mapped_column(sa.LargeBinary)
    status: Mapped[str] = mapped_column(sa.Text)
    authority_state: Mapped[str] = mapped_column(sa.Text, server_default="authoritative")
    truth_score: Mapped[float] = mapped_column(sa.Double)
    extract_conf: Mapped[float] = mapped_column(sa.Double)
    source_quality: Mapped[float] = mapped_column(sa.Double)
    source_type: Mapped[str] = mapped_column(sa.Text)
    labels: Mapped[list[str]] = mapped_column(pg.ARRAY(sa.Text), server_default=sa.text("'{}'::text[]"))
    confidentiality: Mapped[str] = mapped_column(sa.Text)
    retention: Mapped[str] = mapped_column(sa.Text)
    pii: Mapped[str] = mapped_column(sa.Text)
    valid_from: Mapped[OptionalTimestamp]
    valid_to: Mapped[OptionalTimestamp]
    recorded_at: Mapped[Timestamp]
    recorded_to: Mapped[OptionalTimestamp]
    retracted_at: Mapped[OptionalTimestamp]
    last_confirmed_at: Mapped[OptionalTimestamp]
    promoted_from_claim_id: Mapped[UUID] = mapped_column(_UUID)
    superseded_by: Mapped[UUID | None] = mapped_column(_UUID)
    created_at: Mapped[Timestamp]
    updated_at: Mapped[Timestamp]


class FactVersion(Base):
    """What was believed of a fact from ``recorded_at`` until its next version."""

    __tablename__ = "fact_versions"
    __table_args__ = (
        one_of("status", FACT_STATUSES),
        _of("facts", "fact_id"),
        sa.Index("fact_versions_known_idx", "team_id", "profile_id", "fact_id", "recorded_at"),
    )

    team_id: Mapped[TeamId]
    fact_id: Mapped[UUID] = mapped_column(_UUID, primary_key=True)
    version: Mapped[int] = mapped_column(sa.Integer, primary_key=True)
    profile_id: Mapped[ProfileId]
    reason: Mapped[str] = mapped_column(sa.Text)
    status: Mapped[str] = mapped_column(sa.Text)
    truth_score: Mapped[float] = mapped_column(sa.Double)
    authority_state: Mapped[str] = mapped_column(sa.Text)
    valid_from: Mapped[OptionalTimestamp]
    valid_to: Mapped[OptionalTimestamp]
    recorded_at: Mapped[datetime] = mapped_column(sa.DateTime(timezone=True))


class FactSupport(Base):
    """A claim that a fact was promoted from, or that confirmed it."""

    __tablename__ = "fact_support"
    __table_args__ = (
        _of("facts", "fact_id"),
        _of("claims", "claim_id"),
        sa.Index("fact_support_claim_idx", "team_id", "claim_id"),
    )

    team_id: Mapped[TeamId]
    fact_id: Mapped[UUID] = mapped_column(_UUID, primary_key=True)
    claim_id: Mapped[UUID] = mapped_column(_UUID, primary_key=True)
    profile_id: Mapped[ProfileId]
    created_at: Mapped[Timestamp]


class ClaimConflict(Base):
    """A claim and a fact that cannot both be so; open until somebody decides, and kept afterwards."""

    __tablename__ = "claim_conflicts"
    __table_args__ = (
        one_of("decision", DECISIONS),
        _of("claims", "claim_id"),
        _of("facts", "fact_id"),
        sa.Index("claim_conflicts_fact_idx", "team_id", "fact_id"),
    )

    team_id: Mapped[TeamId]
    claim_id: Mapped[UUID] = mapped_column(_UUID, primary_key=True)
    fact_id: Mapped[UUID] = mapped_column(_UUID, primary_key=True)
    profile_id: Mapped[ProfileId]
    decision: Mapped[str | None] = mapped_column(sa.Text)
    resolved_at: Mapped[OptionalTimestamp]
    created_at: Mapped[Timestamp]


class RememberRun(Base):
    """One call of ``remember``: what is still to be done, and the outcome of each item."""

    __tablename__ = "remember_runs"
    __table_args__ = (
        one_of("status", RUN_STATUSES),
        _of_profile(),
        sa.Index("remember_runs_listing_idx", "team_id", "profile_id", "id"),
    )

    team_id: Mapped[TeamId]
    id: Mapped[RowId]
    profile_id: Mapped[ProfileId]
    status: Mapped[str] = mapped_column(sa.Text)
    # JSON as bytes: items are kept as they were sent, and jsonb takes no NUL character.
    request: Mapped[bytes | None] = mapped_column(sa.LargeBinary)
    result: Mapped[bytes] = mapped_column(sa.LargeBinary)
    created_at: Mapped[Timestamp]
    completed_at: Mapped[OptionalTimestamp]
