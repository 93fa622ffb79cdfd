"""The API role may read which revision the database is at, and refuses to serve another one.

Locks: none that waits; one grant.
"""

from alembic import op

from migrations.security import API_ROLE

revision = "0013_readable_revision"
down_revision = "0012_job_queue"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(f"GRANT SELECT ON alembic_version TO {API_ROLE}")


def downgrade() -> None:
    op.execute(f"REVOKE SELECT ON alembic_version FROM {API_ROLE}")
