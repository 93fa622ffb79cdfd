"""Predicate policies of a team's own.

Locks: SHARE ROW EXCLUSIVE on teams for the foreign key, milliseconds.
"""

import sqlalchemy as sa
from alembic import op

from migrations.security import isolate

revision = "0020_predicate_policies"
down_revision = "0015_semantic_search"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "predicate_policies",
        sa.Column("team_id", sa.UUID(), nullable=False),
        sa.Column("predicate", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("min_extract", sa.Double(), nullable=False),
        sa.Column("min_resolution", sa.Double(), nullable=False),
        sa.Column("requires_assertion", sa.Boolean(), nullable=False),
        sa.Column("requires_entailed", sa.Boolean(), nullable=False),
        sa.Column("min_sources", sa.Integer(), nullable=False),
        sa.Column("min_quality", sa.Double(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "kind IN ('single_current', 'multi_valued', 'versioned', 'append_only')",
            name=op.f("predicate_policies_kind_check"),
        ),
        sa.CheckConstraint("min_extract BETWEEN 0 AND 1", name=op.f("predicate_policies_min_extract_check")),
        sa.CheckConstraint("min_quality BETWEEN 0 AND 1", name=op.f("predicate_policies_min_quality_check")),
        sa.CheckConstraint(
            "min_resolution BETWEEN 0 AND 1", name=op.f("predicate_policies_min_resolution_check")
        ),
        sa.CheckConstraint("min_sources >= 1", name=op.f("predicate_policies_min_sources_check")),
        sa.ForeignKeyConstraint(
            ["team_id"], ["teams.team_id"], name="predicate_policies_team_id_fkey", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("team_id", "predicate", name="predicate_policies_pkey"),
    )
    isolate("predicate_policies", by_profile=False, grants="SELECT, INSERT, DELETE")


def downgrade() -> None:
    op.drop_table("predicate_policies")
