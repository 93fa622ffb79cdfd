"""Claims: statements on their way to facts.

Locks: SHARE ROW EXCLUSIVE on profiles for the foreign key, milliseconds.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

from migrations.security import isolate

revision = "0021_claims"
down_revision = "0020_predicate_policies"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "claims",
        sa.Column("team_id", sa.UUID(), nullable=False),
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("profile_id", sa.UUID(), nullable=False),
        sa.Column("content_hash", sa.LargeBinary(), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("predicate", sa.Text(), nullable=False),
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("subject_key", sa.Text(), nullable=False),
        sa.Column("modality", sa.Text(), nullable=False),
        sa.Column("polarity", sa.Text(), nullable=False),
        sa.Column("speaker", sa.Text(), nullable=True),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("recorded_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("extract_conf", sa.Double(), nullable=False),
        sa.Column("resolution_conf", sa.Double(), nullable=False),
        sa.Column("source_quality", sa.Double(), nullable=False),
        sa.Column("source_type", sa.Text(), nullable=False),
        sa.Column("labels", pg.ARRAY(sa.Text()), server_default=sa.text("'{}'::text[]"), nullable=False),
        sa.Column("extraction_model", sa.Text(), nullable=True),
        sa.Column("confidentiality", sa.Text(), nullable=False),
        sa.Column("retention", sa.Text(), nullable=False),
        sa.Column("pii", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), server_default="candidate", nullable=False),
        sa.Column("verdict", sa.Text(), server_default="insufficient", nullable=False),
        sa.Column("verifier", sa.Text(), nullable=True),
        sa.Column("verified_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fact_id", sa.UUID(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "confidentiality IN ('public', 'internal', 'confidential', 'restricted')",
            name=op.f("claims_confidentiality_check"),
        ),
        sa.CheckConstraint(
            "modality IN ('assertion', 'question', 'proposal', 'speculation', 'quoted')",
            name=op.f("claims_modality_check"),
        ),
        sa.CheckConstraint("pii IN ('none', 'non_sensitive', 'sensitive')", name=op.f("claims_pii_check")),
        sa.CheckConstraint("polarity IN ('+', '-')", name=op.f("claims_polarity_check")),
        sa.CheckConstraint(
            "retention IN ('ephemeral', 'short_term', 'long_term', 'permanent')",
            name=op.f("claims_retention_check"),
        ),
        sa.CheckConstraint(
            "status IN ('candidate', 'validated', 'disputed', 'rejected', 'superseded')",
            name=op.f("claims_status_check"),
        ),
        sa.CheckConstraint(
            "verdict IN ('entailed', 'contradicted', 'neutral', 'insufficient')",
            name=op.f("claims_verdict_check"),
        ),
        sa.CheckConstraint("extract_conf BETWEEN 0 AND 1", name=op.f("claims_extract_conf_check")),
        sa.CheckConstraint("octet_length(content_hash) = 32", name=op.f("claims_content_hash_check")),
        sa.CheckConstraint("recorded_to >= recorded_at", name=op.f("claims_recorded_check")),
        sa.CheckConstraint("resolution_conf BETWEEN 0 AND 1", name=op.f("claims_resolution_conf_check")),
        sa.CheckConstraint("source_quality BETWEEN 0 AND 1", name=op.f("claims_source_quality_check")),
        sa.CheckConstraint("valid_to > valid_from", name=op.f("claims_validity_check")),
        sa.ForeignKeyConstraint(
            ["team_id", "profile_id"],
            ["profiles.team_id", "profiles.id"],
            name="claims_team_id_profile_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("team_id", "id", name="claims_pkey"),
    )
    op.create_index(
        "claims_content_hash_idx", "claims", ["team_id", "profile_id", "content_hash"], unique=False
    )
    op.create_index(
        "claims_disputed_idx",
        "claims",
        ["team_id", "profile_id", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'disputed'"),
    )
    op.create_index(
        "claims_idempotency_key",
        "claims",
        ["team_id", "profile_id", "idempotency_key"],
        unique=True,
        postgresql_where=sa.text("idempotency_key IS NOT NULL"),
    )
    op.create_index("claims_listing_idx", "claims", ["team_id", "profile_id", "id"], unique=False)
    op.create_index(
        "claims_open_content_hash_key",
        "claims",
        ["team_id", "profile_id", "content_hash"],
        unique=True,
        postgresql_where=sa.text("status IN ('candidate', 'validated', 'disputed')"),
    )
    isolate("claims", by_profile=True)


def downgrade() -> None:
    op.drop_table("claims")
