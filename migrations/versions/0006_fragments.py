"""Fragments: source evidence.

Locks: SHARE ROW EXCLUSIVE on profiles for the foreign key, milliseconds.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

from migrations.security import isolate

revision = "0006_fragments"
down_revision = "0005_idempotency_records"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "fragments",
        sa.Column("team_id", pg.UUID(), nullable=False),
        sa.Column("id", pg.UUID(), nullable=False),
        sa.Column("profile_id", pg.UUID(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.LargeBinary(), nullable=False),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("source_type", sa.Text(), nullable=False),
        sa.Column("authority", sa.Text(), nullable=False),
        sa.Column("source_quality", sa.Double(), nullable=False),
        sa.Column("labels", pg.ARRAY(sa.Text()), server_default=sa.text("'{}'::text[]"), nullable=False),
        sa.Column("metadata", pg.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("confidentiality", sa.Text(), nullable=False),
        sa.Column("retention", sa.Text(), nullable=False),
        sa.Column("pii", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), server_default="active", nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("recorded_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("retracted_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "source_type IN ('conversation', 'document', 'observation', 'manual')",
            name=op.f("fragments_source_type_check"),
        ),
        sa.CheckConstraint(
            "authority IN ('authoritative', 'primary', 'secondary', 'inferred', 'unknown')",
            name=op.f("fragments_authority_check"),
        ),
        sa.CheckConstraint(
            "confidentiality IN ('public', 'internal', 'confidential', 'restricted')",
            name=op.f("fragments_confidentiality_check"),
        ),
        sa.CheckConstraint(
            "retention IN ('ephemeral', 'short_term', 'long_term', 'permanent')",
            name=op.f("fragments_retention_check"),
        ),
        sa.CheckConstraint("pii IN ('none', 'non_sensitive', 'sensitive')", name=op.f("fragments_pii_check")),
        sa.CheckConstraint("status IN ('active', 'retracted')", name=op.f("fragments_status_check")),
        sa.CheckConstraint("valid_to > valid_from", name=op.f("fragments_validity_check")),
        sa.CheckConstraint("recorded_to >= recorded_at", name=op.f("fragments_recorded_check")),
        sa.CheckConstraint("octet_length(content_hash) = 32", name=op.f("fragments_content_hash_check")),
        sa.CheckConstraint("source_quality BETWEEN 0 AND 1", name=op.f("fragments_source_quality_check")),
        sa.ForeignKeyConstraint(
            ["team_id", "profile_id"],
            ["profiles.team_id", "profiles.id"],
            name="fragments_team_id_profile_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("team_id", "id", name="fragments_pkey"),
    )
    op.create_index("fragments_listing_idx", "fragments", ["team_id", "profile_id", "id"])
    op.create_index(
        "fragments_idempotency_key",
        "fragments",
        ["team_id", "profile_id", "idempotency_key"],
        unique=True,
        postgresql_where=sa.text("idempotency_key IS NOT NULL"),
    )
    op.create_index(
        "fragments_content_hash_key",
        "fragments",
        ["team_id", "profile_id", "content_hash"],
        unique=True,
        postgresql_where=sa.text("status = 'active'"),
    )
    isolate("fragments", by_profile=True)


def downgrade() -> None:
    op.drop_table("fragments")
