"""Profiles: the memory spaces of a team.

Locks: SHARE ROW EXCLUSIVE on teams for the foreign key, milliseconds; the new table is empty.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

from migrations.security import isolate

revision = "0002_profiles"
down_revision = "0001_teams"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "profiles",
        sa.Column("team_id", pg.UUID(), nullable=False),
        sa.Column("id", pg.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("text_search_config", sa.Text(), server_default="english", nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("metadata", pg.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("status", sa.Text(), server_default="active", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.CheckConstraint("status IN ('active', 'archived')", name=op.f("profiles_status_check")),
        sa.ForeignKeyConstraint(
            ["team_id"], ["teams.team_id"], name="profiles_team_id_fkey", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("team_id", "id", name="profiles_pkey"),
    )
    op.create_index("profiles_team_id_name_key", "profiles", ["team_id", sa.text("lower(name)")], unique=True)
    isolate("profiles", by_profile=False)


def downgrade() -> None:
    op.drop_table("profiles")
