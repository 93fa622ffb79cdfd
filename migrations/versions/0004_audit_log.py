"""Audit log: append-only, kept when its team is gone.

Locks: none that waits; creates new objects only.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

from migrations.security import isolate

revision = "0004_audit_log"
down_revision = "0003_api_keys"
branch_labels = None
depends_on = None


REFUSE = """
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    RAISE EXCEPTION 'audit_log is append-only' USING ERRCODE = 'insufficient_privilege';
END
$function$
"""


def upgrade() -> None:
    op.create_table(
        "audit_log",
        sa.Column("team_id", pg.UUID(), nullable=False),
        sa.Column("id", pg.UUID(), nullable=False),
        sa.Column("occurred_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("entity_type", sa.Text(), nullable=False),
        sa.Column("entity_id", sa.Text(), nullable=False),
        sa.Column("actor_type", sa.Text(), nullable=False),
        sa.Column("actor_id", sa.Text(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("details", pg.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.CheckConstraint(
            "actor_type IN ('key', 'operator', 'system')", name=op.f("audit_log_actor_type_check")
        ),
        sa.PrimaryKeyConstraint("team_id", "id", name="audit_log_pkey"),
    )
    op.execute(REFUSE)
    op.execute("REVOKE ALL ON FUNCTION refuse_audit_change() FROM PUBLIC")
    op.execute(
        "CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log"
        " FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()"
    )
    isolate("audit_log", by_profile=False, grants="SELECT, INSERT")


def downgrade() -> None:
    op.drop_table("audit_log")
    op.execute("DROP FUNCTION refuse_audit_change()")
