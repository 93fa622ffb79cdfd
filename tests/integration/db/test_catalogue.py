"""What the migrated database itself says: isolation on every table, keys that begin with the team, least privilege."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from app.db.roles import API_ROLE, OWNER_ROLE, SEARCH_ROLE
from tests.integration.conftest import TestDatabase

# The registry of the tenants themselves: a team's name is unique over all teams.
NOT_BY_TEAM = {"teams_name_key"}

ROW_CHANGES = {"SELECT", "INSERT", "UPDATE", "DELETE"}
GLOBAL_GRANTS = {
    "alembic_version": {"SELECT"},
    "embedding_spaces": {"SELECT"},
    "procrastinate_events": ROW_CHANGES,
    "procrastinate_events_id_seq": {"USAGE"},
    "procrastinate_jobs": ROW_CHANGES,
    "procrastinate_jobs_id_seq": {"USAGE"},
    "procrastinate_periodic_defers": ROW_CHANGES,
    "procrastinate_periodic_defers_id_seq": {"USAGE"},
    "procrastinate_workers": ROW_CHANGES,
    "procrastinate_workers_id_seq": {"USAGE"},
}
SEARCH_GRANTS = {"search_documents": {"SELECT"}, "vector_placements": {"SELECT"}}
API_FUNCTIONS = {"find_caller", "graph_loads", "keyword_search", "semantic_search"}
SEARCH_FUNCTIONS = {"graph_loads", "keyword_search"}

# The statements below are put together from these program constants alone.
# Functions of ours: not the extension's, and not procrastinate's, which run with the caller's rights.
OURS = """
FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.proname !~ '^procrastinate_'
AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
"""
TENANT_TABLES = """
FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'team_id' AND NOT a.attisdropped)
"""


@pytest.fixture(scope="module")
def catalogue(database_urls: TestDatabase) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_urls.superuser, autocommit=True) as connection:
        yield connection


def column(connection: psycopg.Connection, statement: str, *parameters: Any) -> list[Any]:
    return [row[0] for row in connection.execute(statement, parameters).fetchall()]


def test_the_tables_of_the_tenants_are_all_looked_at(catalogue: psycopg.Connection) -> None:
    tables = set(column(catalogue, f"SELECT c.relname {TENANT_TABLES}"))
    assert tables >= {
        "teams", "profiles", "api_keys", "audit_log", "idempotency_records", "fragments", "search_documents",
        "lexeme_statistics", "collection_statistics", "vectors", "vector_placements",
    }  # fmt: skip
    # One space with its exact partition and its graphs.
    assert {name for name in tables if name.startswith("vectors_s1")} == {
        "vectors_s1", "vectors_s1_g0", "vectors_s1_g1", "vectors_s1_g2", "vectors_s1_g3",
    }  # fmt: skip


def test_row_level_security_is_enabled_and_forced_everywhere(catalogue: psycopg.Connection) -> None:
    open_tables = column(
        catalogue,
        f"SELECT c.relname {TENANT_TABLES} AND NOT (c.relrowsecurity AND c.relforcerowsecurity"  # noqa: S608
        " AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid))",
    )
    assert open_tables == []


def test_policies_bind_the_team_and_where_rows_have_one_the_profile(catalogue: psycopg.Connection) -> None:
    policies = catalogue.execute(
        """
        SELECT c.relname, p.polname, p.polpermissive, p.polroles = '{0}', p.polcmd,
               pg_get_expr(p.polqual, c.oid), coalesce(pg_get_expr(p.polwithcheck, c.oid), pg_get_expr(p.polqual, c.oid)),
               EXISTS (SELECT FROM pg_attribute a
                       WHERE a.attrelid = c.oid AND a.attname = 'profile_id' AND a.attnotnull)
        FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
        """
    ).fetchall()
    others = {}
    for table, name, permissive, everybody, command, using, check, by_profile in policies:
        assert permissive
        assert everybody
        if name != "tenant":
            others[table, name] = (command, using)
            continue
        assert command == "*"
        for expression in (using, check):
            assert (
                "team_id = ( SELECT (NULLIF(current_setting('strata.team_id'::text, true), ''::text))"
                in expression
            )
            assert (
                "profile_id = ( SELECT (NULLIF(current_setting('strata.profile_id'" in expression
            ) == by_profile
            assert " OR " not in expression
    # Reading is all that these add: the operator's list of teams, and the one key whose prefix was presented.
    assert {place: command for place, (command, _) in others.items()} == {
        ("teams", "operator"): "r",
        ("api_keys", "presented"): "r",
    }


def test_every_key_of_a_tenant_table_begins_with_the_team(catalogue: psycopg.Connection) -> None:
    """Citus distributes by `team_id`: each primary, unique and foreign key must hold it, and ours hold it first."""
    indexes = catalogue.execute(
        f"""
        SELECT i.indexrelid::regclass::text, a.attname
        FROM pg_index i LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE (i.indisunique OR i.indisprimary) AND i.indrelid IN (SELECT c.oid {TENANT_TABLES})
        """  # noqa: S608
    ).fetchall()
    assert {name for name, first in indexes if first != "team_id"} == NOT_BY_TEAM
    foreign = catalogue.execute(
        """
        SELECT k.conname, mine.attname, theirs.attname FROM pg_constraint k
        LEFT JOIN pg_attribute mine ON mine.attrelid = k.conrelid AND mine.attnum = k.conkey[1]
        LEFT JOIN pg_attribute theirs ON theirs.attrelid = k.confrelid AND theirs.attnum = k.confkey[1]
        WHERE k.contype = 'f' AND k.conrelid::regclass::text !~ '^procrastinate'
        """
    ).fetchall()
    assert len(foreign) >= 6
    assert {(mine, theirs) for _, mine, theirs in foreign} == {("team_id", "team_id")}


def test_every_tenant_table_has_a_primary_key(catalogue: psycopg.Connection) -> None:
    without = column(
        catalogue,
        f"SELECT c.relname {TENANT_TABLES} AND NOT EXISTS"  # noqa: S608
        " (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)",
    )
    assert without == []


def test_foreign_keys_have_an_index_to_find_their_rows_by(catalogue: psycopg.Connection) -> None:
    """Without one, erasing a profile reads the whole referencing table."""
    without = column(
        catalogue,
        """
        SELECT k.conrelid::regclass::text || '.' || k.conname FROM pg_constraint k
        WHERE k.contype = 'f' AND k.conrelid::regclass::text !~ '^procrastinate' AND NOT EXISTS (
            SELECT FROM pg_index i WHERE i.indrelid = k.conrelid AND i.indpred IS NULL
            AND (i.indkey::smallint[])[0:cardinality(k.conkey) - 1] @> k.conkey)
        """,
    )
    # A team holds few keys; its first column, the team, is indexed.
    assert without == ["api_keys.api_keys_team_id_profile_id_fkey"]


def grants(connection: psycopg.Connection, role: str) -> dict[str, set[str]]:
    found = connection.execute(
        """
        SELECT c.relname, array_agg(a.privilege_type) FROM pg_class c, aclexplode(c.relacl) AS a
        WHERE a.grantee = %s::regrole AND c.relnamespace = 'public'::regnamespace GROUP BY 1
        """,
        (role,),
    ).fetchall()
    return {name: set(privileges) for name, privileges in found}


def test_the_api_role_has_the_grants_that_it_needs_and_no_others(catalogue: psycopg.Connection) -> None:
    tables = set(column(catalogue, f"SELECT c.relname {TENANT_TABLES} AND NOT c.relispartition"))
    found = grants(catalogue, API_ROLE)
    assert {name: privileges for name, privileges in found.items() if name not in tables} == GLOBAL_GRANTS
    assert found["audit_log"] == {"SELECT", "INSERT"}
    for table in tables:
        assert {"SELECT", "INSERT"} <= found[table] <= ROW_CHANGES, table


def test_the_search_role_reads_what_the_searches_read(catalogue: psycopg.Connection) -> None:
    assert grants(catalogue, SEARCH_ROLE) == SEARCH_GRANTS


def test_nothing_is_granted_to_everybody(catalogue: psycopg.Connection) -> None:
    public = column(
        catalogue,
        "SELECT c.relname FROM pg_class c, aclexplode(c.relacl) AS a"
        " WHERE a.grantee = 0 AND c.relnamespace = 'public'::regnamespace",
    )
    assert public == []
    callable_by_all = column(
        catalogue, f"SELECT p.proname {OURS} AND has_function_privilege('public', p.oid, 'EXECUTE')"
    )
    assert callable_by_all == []


def test_the_api_role_owns_nothing_and_bypasses_nothing(catalogue: psycopg.Connection) -> None:
    attributes = catalogue.execute(
        "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication FROM pg_roles WHERE rolname = %s",
        (API_ROLE,),
    ).fetchone()
    assert attributes == (False,) * 5
    owned = column(
        catalogue,
        "SELECT count(*) FROM pg_shdepend WHERE refclassid = 'pg_authid'::regclass"
        " AND refobjid = %s::regrole AND deptype = 'o'",
        API_ROLE,
    )
    assert owned == [0]
    memberships = column(
        catalogue, "SELECT roleid::regrole::text FROM pg_auth_members WHERE member = %s::regrole", API_ROLE
    )
    assert memberships == []


def test_the_owner_role_is_bound_too(catalogue: psycopg.Connection, database_urls: TestDatabase) -> None:
    owners = column(catalogue, f"SELECT DISTINCT c.relowner::regrole::text {TENANT_TABLES}")
    assert owners == [OWNER_ROLE]
    with psycopg.connect(database_urls.owner) as owner:
        for table in column(catalogue, f"SELECT c.relname {TENANT_TABLES}"):
            assert column(owner, f"SELECT count(*) FROM {table}") == [0]  # noqa: S608 - names of the catalogue


def test_the_api_role_calls_four_functions(catalogue: psycopg.Connection) -> None:
    callable_functions = column(
        catalogue, f"SELECT p.proname {OURS} AND has_function_privilege(%s, p.oid, 'EXECUTE')", API_ROLE
    )
    assert set(callable_functions) == API_FUNCTIONS
    assert len(callable_functions) == len(API_FUNCTIONS)


def test_functions_fix_their_search_path(catalogue: psycopg.Connection) -> None:
    paths = catalogue.execute(
        f"SELECT p.proname, (SELECT s FROM unnest(p.proconfig) AS s WHERE starts_with(s, 'search_path=')) {OURS}"  # noqa: S608
    ).fetchall()
    assert len(paths) >= 6
    assert {path for _, path in paths} <= {
        "search_path=pg_catalog, pg_temp",
        "search_path=pg_catalog, public, pg_temp",
    }


def test_definers_rights_belong_to_the_search_role_alone(catalogue: psycopg.Connection) -> None:
    definers = catalogue.execute(
        f"SELECT p.proname, p.proowner::regrole::text {OURS} AND p.prosecdef"
    ).fetchall()
    assert dict(definers) == dict.fromkeys(SEARCH_FUNCTIONS, SEARCH_ROLE)
    unsafe = column(
        catalogue,
        f"SELECT p.proname {OURS} AND p.prosecdef AND NOT 'search_path=pg_catalog, pg_temp' = ANY (p.proconfig)",
    )
    assert unsafe == []
    owned = column(catalogue, f"SELECT p.proname {OURS} AND p.proowner = %s::regrole", SEARCH_ROLE)
    assert set(owned) == SEARCH_FUNCTIONS
    owned_elsewhere = column(
        catalogue,
        "SELECT classid::regclass::text FROM pg_shdepend WHERE refclassid = 'pg_authid'::regclass"
        " AND refobjid = %s::regrole AND deptype = 'o' AND classid <> 'pg_proc'::regclass",
        SEARCH_ROLE,
    )
    assert owned_elsewhere == []


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT create_embedding_space('x', 3::smallint, 1::smallint)",
        "CREATE TABLE mine (id int)",
        "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE fragments DISABLE ROW LEVEL SECURITY",
        "DROP POLICY tenant ON fragments",
        "TRUNCATE fragments",
        "SELECT * FROM vectors_s1_g0",
        "INSERT INTO embedding_spaces (key, dimension, graphs) VALUES ('x', 3, 1)",
        "UPDATE audit_log SET action = 'x'",
        "DELETE FROM audit_log",
        "TRUNCATE audit_log",
        "UPDATE alembic_version SET version_num = 'x'",
        "SET ROLE strata_owner",
        "SET ROLE strata_search",
        "SELECT pg_read_file('/etc/passwd')",
        "COPY teams TO PROGRAM 'true'",
        "CREATE EXTENSION pg_trgm",
    ],
)
def test_the_api_role_may_not(database_urls: TestDatabase, statement: str) -> None:
    with (
        psycopg.connect(database_urls.api) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement)


@pytest.mark.parametrize("row_security", ["on", "off"])
def test_row_level_security_cannot_be_switched_off(database_urls: TestDatabase, row_security: str) -> None:
    with psycopg.connect(database_urls.api) as connection:
        connection.execute(f"SET row_security = {row_security}")
        if row_security == "on":
            assert column(connection, "SELECT count(*) FROM fragments") == [0]
        else:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT count(*) FROM fragments")


@pytest.mark.parametrize("role", ["owner", "superuser"])
@pytest.mark.parametrize(
    "statement", ["UPDATE audit_log SET action = 'x'", "DELETE FROM audit_log", "TRUNCATE audit_log"]
)
async def test_the_audit_log_is_append_only_even_for_its_owner(
    database_urls: TestDatabase, member: Any, role: str, statement: str
) -> None:
    with psycopg.connect(getattr(database_urls, role)) as connection:
        connection.execute("SELECT set_config('strata.team_id', %s, true)", (str(member.team_id),))
        before = column(connection, "SELECT count(*) FROM audit_log")
        assert before[0] > 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
            connection.execute(statement)
        connection.rollback()
        connection.execute("SELECT set_config('strata.team_id', %s, true)", (str(member.team_id),))
        assert column(connection, "SELECT count(*) FROM audit_log") == before
