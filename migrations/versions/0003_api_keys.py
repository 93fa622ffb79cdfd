"""API keys.

Locks: SHARE ROW EXCLUSIVE on teams and profiles for the foreign keys, milliseconds.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

from migrations.security import API_ROLE, isolate

revision = "0003_api_keys"
down_revision = "0002_profiles"
branch_labels = None
depends_on = None


# Finds the key by its public prefix and returns what a request needs to know, in one round trip. It runs with the
# caller's own rights: the prefix policy shows the one key, whose team then becomes the context of the statement.
FIND_CALLER = """
CREATE FUNCTION find_caller(wanted_prefix text, wanted_profile uuid)
RETURNS TABLE (
    team_id uuid, key_id uuid, digest bytea, scopes text[], key_profile_id uuid, expires_at timestamptz,
    revoked_at timestamptz, team_status text, embedding_space_id smallint, profile_status text, text_search_config text,
    ranking_policy text
)
LANGUAGE plpgsql SECURITY INVOKER SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    found record;
BEGIN
    PERFORM set_config('strata.key_prefix', wanted_prefix, true);
    FOR found IN SELECT k.* FROM public.api_keys k WHERE k.prefix = wanted_prefix ORDER BY k.team_id LOOP
        PERFORM set_config('strata.team_id', found.team_id::text, true);
        RETURN QUERY
            SELECT found.team_id, found.id, found.digest, found.scopes, found.profile_id, found.expires_at,
                   found.revoked_at, t.status, t.embedding_space_id, p.status, p.text_search_config, t.ranking_policy
            FROM public.teams t
            LEFT JOIN public.profiles p ON p.team_id = t.team_id AND p.id = wanted_profile
            WHERE t.team_id = found.team_id;
    END LOOP;
    PERFORM set_config('strata.key_prefix', '', true), set_config('strata.team_id', '', true);
END
$function$
"""


def upgrade() -> None:
    op.create_table(
        "api_keys",
        sa.Column("team_id", pg.UUID(), nullable=False),
        sa.Column("id", pg.UUID(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("scopes", pg.ARRAY(sa.Text()), nullable=False),
        sa.Column("profile_id", pg.UUID(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("rotated_from", pg.UUID(), nullable=True),
        sa.CheckConstraint("octet_length(digest) = 32", name=op.f("api_keys_digest_check")),
        sa.CheckConstraint(
            "scopes <@ ARRAY['memory:read', 'memory:write', 'feedback:write', 'admin'] AND cardinality(scopes) > 0",
            name=op.f("api_keys_scopes_check"),
        ),
        sa.ForeignKeyConstraint(
            ["team_id"], ["teams.team_id"], name="api_keys_team_id_fkey", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "profile_id"],
            ["profiles.team_id", "profiles.id"],
            name="api_keys_team_id_profile_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("team_id", "id", name="api_keys_pkey"),
        sa.UniqueConstraint("team_id", "prefix", name="api_keys_team_id_prefix_key"),
    )
    op.create_index("api_keys_prefix_idx", "api_keys", ["prefix"])
    isolate("api_keys", by_profile=False)
    op.execute(
        "CREATE POLICY presented ON api_keys FOR SELECT"
        " USING (prefix = (SELECT nullif(current_setting('strata.key_prefix', true), '')))"
    )
    op.execute(FIND_CALLER)
    op.execute("REVOKE ALL ON FUNCTION find_caller(text, uuid) FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION find_caller(text, uuid) TO {API_ROLE}")


def downgrade() -> None:
    op.execute("DROP FUNCTION find_caller(text, uuid)")
    op.drop_table("api_keys")
