"""Calls of remember, and the outcome of each of their items.

Locks: SHARE ROW EXCLUSIVE on profiles for the foreign key, milliseconds.
"""

import sqlalchemy as sa
from alembic import op

from migrations.security import isolate

revision = "0027_remember_runs"
down_revision = "0026_claim_conflicts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "remember_runs",
        sa.Column("team_id", sa.UUID(), nullable=False),
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("profile_id", sa.UUID(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("request", sa.LargeBinary(), nullable=True),
        sa.Column("result", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "status IN ('queued', 'processing', 'completed')", name=op.f("remember_runs_status_check")
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "profile_id"],
            ["profiles.team_id", "profiles.id"],
            name="remember_runs_team_id_profile_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("team_id", "id", name="remember_runs_pkey"),
    )
    op.create_index(
        "remember_runs_listing_idx", "remember_runs", ["team_id", "profile_id", "id"], unique=False
    )
    isolate("remember_runs", by_profile=True)


def downgrade() -> None:
    op.drop_table("remember_runs")
