"""History of facts: the API role may append and read, and nothing else.

Locks: SHARE ROW EXCLUSIVE on facts for the foreign key, milliseconds.
"""

import sqlalchemy as sa
from alembic import op

from migrations.security import isolate

revision = "0024_fact_versions"
down_revision = "0023_facts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "fact_versions",
        sa.Column("team_id", sa.UUID(), nullable=False),
        sa.Column("fact_id", sa.UUID(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("profile_id", sa.UUID(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("truth_score", sa.Double(), nullable=False),
        sa.Column("authority_state", sa.Text(), nullable=False),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "status IN ('active', 'superseded', 'retracted', 'needs_revalidation')",
            name=op.f("fact_versions_status_check"),
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "fact_id"],
            ["facts.team_id", "facts.id"],
            name="fact_versions_team_id_fact_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("team_id", "fact_id", "version", name="fact_versions_pkey"),
    )
    op.create_index(
        "fact_versions_known_idx",
        "fact_versions",
        ["team_id", "profile_id", "fact_id", "recorded_at"],
        unique=False,
    )
    isolate("fact_versions", by_profile=True, grants="SELECT, INSERT")


def downgrade() -> None:
    op.drop_table("fact_versions")
