"""Evidence of claims; the link outlives the fragment, so there is no foreign key to fragments.

Locks: SHARE ROW EXCLUSIVE on claims for the foreign key, milliseconds.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

from migrations.security import isolate

revision = "0022_claim_evidence"
down_revision = "0021_claims"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "claim_evidence",
        sa.Column("team_id", sa.UUID(), nullable=False),
        sa.Column("claim_id", sa.UUID(), nullable=False),
        sa.Column("fragment_id", sa.UUID(), nullable=False),
        sa.Column("profile_id", sa.UUID(), nullable=False),
        sa.Column("span_start", sa.Integer(), nullable=True),
        sa.Column("span_end", sa.Integer(), nullable=True),
        sa.Column("speaker", sa.Text(), nullable=True),
        sa.Column("authority", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("reasons", pg.ARRAY(sa.Text()), server_default=sa.text("'{}'::text[]"), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=True),
        sa.Column("verifier", sa.Text(), nullable=True),
        sa.Column("verified_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "verdict IN ('entailed', 'contradicted', 'neutral', 'insufficient')",
            name=op.f("claim_evidence_verdict_check"),
        ),
        sa.CheckConstraint("confidence BETWEEN 0 AND 1", name=op.f("claim_evidence_confidence_check")),
        sa.CheckConstraint(
            "span_end > span_start AND span_start >= 0", name=op.f("claim_evidence_span_check")
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "claim_id"],
            ["claims.team_id", "claims.id"],
            name="claim_evidence_team_id_claim_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("team_id", "claim_id", "fragment_id", name="claim_evidence_pkey"),
    )
    op.create_index("claim_evidence_fragment_idx", "claim_evidence", ["team_id", "fragment_id"], unique=False)
    isolate("claim_evidence", by_profile=True)


def downgrade() -> None:
    op.drop_table("claim_evidence")
