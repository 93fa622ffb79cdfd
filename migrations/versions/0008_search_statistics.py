"""Per-profile document frequencies and totals, as append-only changes.

Locks: none that waits; creates new objects only.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

from migrations.security import isolate

revision = "0008_search_statistics"
down_revision = "0007_search_documents"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "lexeme_statistics",
        sa.Column("team_id", pg.UUID(), nullable=False),
        sa.Column("profile_id", pg.UUID(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("lexeme", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("documents", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint(
            "team_id",
            "profile_id",
            "kind",
            "lexeme",
            "id",
            name="lexeme_statistics_pkey",
            postgresql_include=["documents"],
        ),
    )
    op.create_table(
        "collection_statistics",
        sa.Column("team_id", pg.UUID(), nullable=False),
        sa.Column("profile_id", pg.UUID(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("documents", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("tokens_squared", sa.BigInteger(), nullable=False),
        sa.Column("vectors", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("team_id", "profile_id", "kind", "id", name="collection_statistics_pkey"),
    )
    isolate("lexeme_statistics", by_profile=True)
    isolate("collection_statistics", by_profile=True)


def downgrade() -> None:
    op.drop_table("collection_statistics")
    op.drop_table("lexeme_statistics")
