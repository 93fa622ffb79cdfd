"""Stored answers of writes that carried an Idempotency-Key.

Locks: SHARE ROW EXCLUSIVE on profiles for the foreign key, milliseconds.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

from migrations.security import isolate

revision = "0005_idempotency_records"
down_revision = "0004_audit_log"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "idempotency_records",
        sa.Column("team_id", pg.UUID(), nullable=False),
        sa.Column("profile_id", pg.UUID(), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=False),
        sa.Column("request_digest", sa.LargeBinary(), nullable=False),
        sa.Column("response", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.ForeignKeyConstraint(
            ["team_id", "profile_id"],
            ["profiles.team_id", "profiles.id"],
            name="idempotency_records_team_id_profile_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("team_id", "profile_id", "idempotency_key", name="idempotency_records_pkey"),
    )
    isolate("idempotency_records", by_profile=True)


def downgrade() -> None:
    op.drop_table("idempotency_records")
