"""Teams: the tenants.

Locks: none that waits; creates new objects only.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

from migrations.security import OPERATOR, isolate

revision = "0001_teams"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "teams",
        sa.Column("team_id", pg.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), server_default="active", nullable=False),
        sa.Column("embedding_space_id", sa.SmallInteger(), nullable=False),
        # The names of policies belong to the application: a new one needs no revision.
        sa.Column("ranking_policy", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.CheckConstraint("status IN ('active', 'archived')", name=op.f("teams_status_check")),
        sa.PrimaryKeyConstraint("team_id", name="teams_pkey"),
    )
    op.create_index("teams_name_key", "teams", [sa.text("lower(name)")], unique=True)
    isolate("teams", by_profile=False)
    # Listing and naming teams is the operator's, who sees no row of any other table.
    op.execute(f"CREATE POLICY operator ON teams FOR SELECT USING ({OPERATOR})")


def downgrade() -> None:
    op.drop_table("teams")
