"""Search documents: the lexemes of each memory and what recall filters by.

Locks: none that waits; creates new objects only.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

from migrations.security import isolate

revision = "0007_search_documents"
down_revision = "0006_fragments"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "search_documents",
        sa.Column("team_id", pg.UUID(), nullable=False),
        sa.Column("id", pg.UUID(), nullable=False),
        sa.Column("profile_id", pg.UUID(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("lexemes", pg.TSVECTOR(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=True),
        sa.Column("source_type", sa.Text(), nullable=False),
        sa.Column("labels", pg.ARRAY(sa.Text()), server_default=sa.text("'{}'::text[]"), nullable=False),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("recorded_to", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("team_id", "id", name="search_documents_pkey"),
    )
    op.create_index(
        "search_documents_profile_idx", "search_documents", ["team_id", "profile_id", "kind", "id"]
    )
    # Every search reads the whole pending list: at 512 kB that cost 5 ms, at 64 kB, the least there is, .5 ms.
    op.create_index(
        "search_documents_lexemes_idx",
        "search_documents",
        ["lexemes"],
        postgresql_using="gin",
        postgresql_with={"fastupdate": "on", "gin_pending_list_limit": 64},
    )
    isolate("search_documents", by_profile=True)


def downgrade() -> None:
    op.drop_table("search_documents")
