"""Facts; at most one active for each subject, predicate and slot (the value, or nothing where only one may be).

Locks: SHARE ROW EXCLUSIVE on profiles for the foreign key, milliseconds.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

from migrations.security import isolate

revision = "0023_facts"
down_revision = "0022_claim_evidence"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "facts",
        sa.Column("team_id", sa.UUID(), nullable=False),
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("profile_id", sa.UUID(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("predicate", sa.Text(), nullable=False),
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("polarity", sa.Text(), nullable=False),
        sa.Column("subject_key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("slot", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("authority_state", sa.Text(), server_default="authoritative", nullable=False),
        sa.Column("truth_score", sa.Double(), nullable=False),
        sa.Column("extract_conf", sa.Double(), nullable=False),
        sa.Column("source_quality", sa.Double(), nullable=False),
        sa.Column("source_type", sa.Text(), nullable=False),
        sa.Column("labels", pg.ARRAY(sa.Text()), server_default=sa.text("'{}'::text[]"), nullable=False),
        sa.Column("confidentiality", sa.Text(), nullable=False),
        sa.Column("retention", sa.Text(), nullable=False),
        sa.Column("pii", sa.Text(), nullable=False),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("recorded_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("retracted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_confirmed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("promoted_from_claim_id", sa.UUID(), nullable=False),
        sa.Column("superseded_by", sa.UUID(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "confidentiality IN ('public', 'internal', 'confidential', 'restricted')",
            name=op.f("facts_confidentiality_check"),
        ),
        sa.CheckConstraint(
            "kind IN ('single_current', 'multi_valued', 'versioned', 'append_only')",
            name=op.f("facts_kind_check"),
        ),
        sa.CheckConstraint("pii IN ('none', 'non_sensitive', 'sensitive')", name=op.f("facts_pii_check")),
        sa.CheckConstraint("polarity IN ('+', '-')", name=op.f("facts_polarity_check")),
        sa.CheckConstraint(
            "retention IN ('ephemeral', 'short_term', 'long_term', 'permanent')",
            name=op.f("facts_retention_check"),
        ),
        sa.CheckConstraint(
            "status IN ('active', 'superseded', 'retracted', 'needs_revalidation')",
            name=op.f("facts_status_check"),
        ),
        sa.CheckConstraint("recorded_to >= recorded_at", name=op.f("facts_recorded_check")),
        sa.CheckConstraint("superseded_by <> id", name=op.f("facts_superseded_by_check")),
        sa.CheckConstraint("truth_score BETWEEN 0 AND 1", name=op.f("facts_truth_score_check")),
        sa.CheckConstraint("valid_to >= valid_from", name=op.f("facts_validity_check")),
        sa.ForeignKeyConstraint(
            ["team_id", "profile_id"],
            ["profiles.team_id", "profiles.id"],
            name="facts_team_id_profile_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("team_id", "id", name="facts_pkey"),
    )
    op.create_index(
        "facts_active_key",
        "facts",
        ["team_id", "profile_id", "predicate", "subject_key", "slot"],
        unique=True,
        postgresql_where=sa.text("status = 'active'"),
    )
    op.create_index("facts_listing_idx", "facts", ["team_id", "profile_id", "id"], unique=False)
    op.create_index(
        "facts_statement_idx", "facts", ["team_id", "profile_id", "predicate", "subject_key"], unique=False
    )
    op.create_index(
        "facts_superseded_by_idx",
        "facts",
        ["team_id", "superseded_by"],
        unique=False,
        postgresql_where=sa.text("superseded_by IS NOT NULL"),
    )
    isolate("facts", by_profile=True)


def downgrade() -> None:
    op.drop_table("facts")
