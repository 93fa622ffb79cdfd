"""Claims that facts rest on.

Locks: SHARE ROW EXCLUSIVE on facts and claims for the foreign keys, milliseconds.
"""

import sqlalchemy as sa
from alembic import op

from migrations.security import isolate

revision = "0025_fact_support"
down_revision = "0024_fact_versions"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "fact_support",
        sa.Column("team_id", sa.UUID(), nullable=False),
        sa.Column("fact_id", sa.UUID(), nullable=False),
        sa.Column("claim_id", sa.UUID(), nullable=False),
        sa.Column("profile_id", sa.UUID(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["team_id", "claim_id"],
            ["claims.team_id", "claims.id"],
            name="fact_support_team_id_claim_id_fkey",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "fact_id"],
            ["facts.team_id", "facts.id"],
            name="fact_support_team_id_fact_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("team_id", "fact_id", "claim_id", name="fact_support_pkey"),
    )
    op.create_index("fact_support_claim_idx", "fact_support", ["team_id", "claim_id"], unique=False)
    isolate("fact_support", by_profile=True)


def downgrade() -> None:
    op.drop_table("fact_support")
