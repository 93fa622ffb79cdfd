"""Embedding spaces: one row a descriptor, without tenant rows.

Locks: none that waits; creates new objects only.
"""

import sqlalchemy as sa
from alembic import op

from migrations.security import API_ROLE

revision = "0009_embedding_spaces"
down_revision = "0008_search_statistics"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "embedding_spaces",
        sa.Column("id", sa.SmallInteger(), sa.Identity(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("dimension", sa.SmallInteger(), nullable=False),
        sa.Column("graphs", sa.SmallInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="embedding_spaces_pkey"),
        sa.UniqueConstraint("key", "dimension", name="embedding_spaces_key_dimension_key"),
    )
    op.execute(f"GRANT SELECT ON embedding_spaces TO {API_ROLE}")


def downgrade() -> None:
    op.drop_table("embedding_spaces")
