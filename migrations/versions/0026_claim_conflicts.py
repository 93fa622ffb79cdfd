"""Conflicts between claims and facts.

Locks: SHARE ROW EXCLUSIVE on facts and claims for the foreign keys, milliseconds.
"""

import sqlalchemy as sa
from alembic import op

from migrations.security import isolate

revision = "0026_claim_conflicts"
down_revision = "0025_fact_support"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "claim_conflicts",
        sa.Column("team_id", sa.UUID(), nullable=False),
        sa.Column("claim_id", sa.UUID(), nullable=False),
        sa.Column("fact_id", sa.UUID(), nullable=False),
        sa.Column("profile_id", sa.UUID(), nullable=False),
        sa.Column("decision", sa.Text(), nullable=True),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "decision IN ('accept_claim', 'keep_existing', 'reject_claim')",
            name=op.f("claim_conflicts_decision_check"),
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "claim_id"],
            ["claims.team_id", "claims.id"],
            name="claim_conflicts_team_id_claim_id_fkey",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "fact_id"],
            ["facts.team_id", "facts.id"],
            name="claim_conflicts_team_id_fact_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("team_id", "claim_id", "fact_id", name="claim_conflicts_pkey"),
    )
    op.create_index("claim_conflicts_fact_idx", "claim_conflicts", ["team_id", "fact_id"], unique=False)
    isolate("claim_conflicts", by_profile=True)


def downgrade() -> None:
    op.drop_table("claim_conflicts")
