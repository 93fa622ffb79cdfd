"""Row-level security and grants, in the one form that every tenant table has."""

from alembic import op

API_ROLE = "strata_api"
SEARCH_ROLE = "strata_search"

# Wrapped in a sub-select so that it is read once a statement; nullif because a transaction-local setting is the empty
# string, not NULL, in the next transaction of the same connection.
TEAM = "(SELECT nullif(current_setting('strata.team_id', true), '')::uuid)"
PROFILE = "(SELECT nullif(current_setting('strata.profile_id', true), '')::uuid)"
OPERATOR = "(SELECT coalesce(current_setting('strata.operator', true), '') = 'on')"


def isolate(table: str, *, by_profile: bool, grants: str = "SELECT, INSERT, UPDATE, DELETE") -> None:
    """Enable and force row-level security on ``table`` by team, or by team and profile, and grant the API role."""
    condition = f"team_id = {TEAM}"
    if by_profile:
        condition += f" AND profile_id = {PROFILE}"
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY tenant ON {table} USING ({condition}) WITH CHECK ({condition})")
    op.execute(f"GRANT {grants} ON {table} TO {API_ROLE}")
