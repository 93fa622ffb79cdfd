"""The job queue's own tables, as the installed procrastinate 3.10 defines them.

A later procrastinate brings changes of its own; each becomes a revision of ours when its version is raised.

Locks: none that waits; creates new objects only.
"""

from alembic import op
from procrastinate.schema import SchemaManager

from migrations.security import API_ROLE

revision = "0012_job_queue"
down_revision = "0011_keyword_search"
branch_labels = None
depends_on = None

TABLES = (
    "procrastinate_events",
    "procrastinate_periodic_defers",
    "procrastinate_jobs",
    "procrastinate_workers",
)
DROP_REST = """
DO $block$
DECLARE
    item record;
BEGIN
    FOR item IN SELECT oid::regprocedure AS name FROM pg_proc
                WHERE pronamespace = 'public'::regnamespace AND proname LIKE 'procrastinate\\_%' LOOP
        EXECUTE format('DROP FUNCTION %s CASCADE', item.name);
    END LOOP;
    FOR item IN SELECT oid::regtype AS name FROM pg_type
                WHERE typnamespace = 'public'::regnamespace AND typname LIKE 'procrastinate\\_%' AND typtype IN ('c', 'e') LOOP
        EXECUTE format('DROP TYPE %s CASCADE', item.name);
    END LOOP;
END
$block$
"""


def upgrade() -> None:
    # Alembic's text construct reads `:name` as a parameter; the script has casts only.
    op.execute(SchemaManager.get_schema().replace(":", "\\:"))
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {', '.join(TABLES)} TO {API_ROLE}")
    op.execute(
        "GRANT USAGE ON SEQUENCE procrastinate_jobs_id_seq, procrastinate_events_id_seq,"
        f" procrastinate_periodic_defers_id_seq, procrastinate_workers_id_seq TO {API_ROLE}"
    )


def downgrade() -> None:
    op.execute(f"DROP TABLE {', '.join(TABLES)} CASCADE")
    op.execute(DROP_REST)
