import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from app.db.embedded import EmbeddedPostgres
from app.db.embedded.cluster import installation
from app.db.roles import DATABASE_BLOCK, EXTENSION_BLOCK, ROLES_BLOCK, set_up_roles

SCRIPT = Path(__file__).parents[3] / "deploy" / "roles.sql"
PSQL = installation() / "bin" / "psql"

ATTRIBUTES = """
SELECT rolname, rolcanlogin, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication, rolinherit, rolconfig
FROM pg_roles WHERE rolname LIKE 'strata%' ORDER BY rolname
"""
MEMBERSHIPS = """
SELECT roleid::regrole::text, member::regrole::text, admin_option, inherit_option, set_option
FROM pg_auth_members WHERE roleid::regrole::text LIKE 'strata%' ORDER BY 1, 2
"""
DATABASE = "SELECT datdba::regrole::text, datacl::text, encoding FROM pg_database WHERE datname = %s"
# xmin tells when a row was written last: equal before and after means untouched, not merely the same again.
ROW_VERSIONS = """
SELECT 'role', oid::text, xmin::text FROM pg_authid WHERE rolname LIKE 'strata%'
UNION ALL SELECT 'member', oid::text, xmin::text FROM pg_auth_members
UNION ALL SELECT 'setting', setrole::text, xmin::text FROM pg_db_role_setting
UNION ALL SELECT 'extension', oid::text, xmin::text FROM pg_extension
ORDER BY 1, 2
"""


class Server:
    def __init__(self, postgres):
        self.postgres = postgres

    def connect(self, database="postgres", *, user="postgres", autocommit=True):
        return psycopg.connect(self.postgres.url(database, user), autocommit=autocommit)

    def set_up(self, *, database="strata", owner_password=None, api_password=None):
        with self.connect() as connection:
            set_up_roles(
                connection, database=database, owner_password=owner_password, api_password=api_password
            )

    def run_script(self, *arguments, user="postgres", **environment):
        base = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "STRATA_"))}
        return subprocess.run(
            [
                PSQL,
                "--no-psqlrc",
                *arguments,
                "-f",
                SCRIPT,
                self.postgres.url("postgres", user),
            ],
            env=base | environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def catalogue(self, database="strata"):
        with self.connect(database) as connection:
            return {
                "attributes": connection.execute(ATTRIBUTES).fetchall(),
                "memberships": connection.execute(MEMBERSHIPS).fetchall(),
                "database": connection.execute(DATABASE, (database,)).fetchone(),
                "extensions": connection.execute("SELECT extname FROM pg_extension ORDER BY 1").fetchall(),
                "schema": connection.execute(
                    "SELECT nspowner::regrole::text, nspacl::text FROM pg_namespace WHERE nspname = 'public'"
                ).fetchone(),
            }

    def row_versions(self, database="strata"):
        with self.connect(database) as connection:
            return connection.execute(ROW_VERSIONS).fetchall()

    def reset(self):
        with self.connect() as connection:
            for (name,) in connection.execute(
                "SELECT datname FROM pg_database WHERE datname NOT IN ('postgres', 'template0', 'template1')"
            ).fetchall():
                connection.execute(
                    psycopg.sql.SQL("DROP DATABASE {} WITH (FORCE)").format(psycopg.sql.Identifier(name))
                )
            for role in ("strata_owner", "strata_api", "strata_search", "administrator"):
                connection.execute(
                    psycopg.sql.SQL("DROP ROLE IF EXISTS {}").format(psycopg.sql.Identifier(role))
                )


@pytest.fixture(scope="module")
def embedded():
    # Not under pytest's base folder: as root the server runs as another user, who must be able to enter.
    directory = Path(tempfile.mkdtemp(prefix="strata-roles-"))
    with EmbeddedPostgres(directory) as postgres:
        yield Server(postgres)
    shutil.rmtree(directory)


@pytest.fixture
def server(embedded):
    embedded.reset()
    return embedded


EXPECTED_ATTRIBUTES = [
    # name, login, superuser, bypassrls, createrole, createdb, replication, inherit, settings
    (
        "strata_api",
        True,
        False,
        False,
        False,
        False,
        False,
        True,
        [
            "idle_in_transaction_session_timeout=30s",
            "lock_timeout=5s",
            "max_parallel_workers_per_gather=0",
            "statement_timeout=15s",
            "transaction_timeout=60s",
        ],
    ),
    ("strata_owner", True, False, False, False, False, False, True, ["lock_timeout=5s"]),
    ("strata_search", False, False, True, False, False, False, True, None),
]


def test_roles_have_the_attributes_of_the_contract(server):
    server.set_up()
    assert server.catalogue() == {
        "attributes": EXPECTED_ATTRIBUTES,
        # roleid, member, admin, inherit, set
        "memberships": [("strata_search", "strata_owner", False, False, True)],
        "database": ("strata_owner", "{strata_owner=CTc/strata_owner,strata_api=c/strata_owner}", 6),
        "extensions": [("plpgsql",), ("vector",)],
        "schema": ("pg_database_owner", "{pg_database_owner=UC/pg_database_owner,=U/pg_database_owner}"),
    }


def test_a_second_run_touches_no_catalogue_row(server):
    server.set_up()
    before = server.row_versions()
    server.set_up()
    assert server.row_versions() == before


def test_the_psql_script_gives_the_same_catalogue(server):
    server.set_up()
    by_python = server.catalogue()
    server.reset()
    result = server.run_script()
    assert (result.returncode, result.stderr) == (0, "")
    assert server.catalogue() == by_python


def test_the_psql_script_runs_again_without_a_change_and_after_the_python_one(server):
    server.set_up()
    before = server.row_versions()
    for _ in range(2):
        result = server.run_script()
        assert (result.returncode, result.stderr) == (0, "")
    assert server.row_versions() == before


def test_the_script_holds_the_blocks_of_the_module():
    script = SCRIPT.read_text(encoding="utf-8")
    assert [script.count(block) for block in (ROLES_BLOCK, DATABASE_BLOCK, EXTENSION_BLOCK)] == [1, 1, 1]


def test_the_script_takes_names_and_passwords_from_the_environment_and_variables_come_first(server):
    result = server.run_script(
        "-v", "database=Fancy name", STRATA_DATABASE_NAME="unused", STRATA_API_PASSWORD="it's \\ secret"
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "secret" not in result.stdout
    with server.connect("Fancy name") as connection:
        assert connection.execute("SELECT extname FROM pg_extension WHERE extname = 'vector'").fetchone()
        stored = dict(
            connection.execute(
                "SELECT rolname, rolpassword FROM pg_authid WHERE rolname IN ('strata_api', 'strata_owner')"
            ).fetchall()
        )
    assert stored["strata_api"].startswith("SCRAM-SHA-256$")
    assert stored["strata_owner"] is None


def test_passwords_are_stored_hashed_and_kept_when_none_is_given(server):
    server.set_up(owner_password="o'wner", api_password="api")
    query = "SELECT rolname, rolpassword FROM pg_authid WHERE rolname LIKE 'strata%' ORDER BY 1"
    with server.connect() as connection:
        first = connection.execute(query).fetchall()
    server.set_up()
    with server.connect() as connection:
        assert connection.execute(query).fetchall() == first
    assert [(name, (password or "")[:14]) for name, password in first] == [
        ("strata_api", "SCRAM-SHA-256$"),
        ("strata_owner", "SCRAM-SHA-256$"),
        ("strata_search", ""),
    ]


def test_no_password_stays_in_the_session(server):
    with server.connect() as connection:
        set_up_roles(connection, database="strata", owner_password="one", api_password="two")
        left = connection.execute(
            "SELECT current_setting('strata_setup.owner_password'), current_setting('strata_setup.api_password')"
        ).fetchone()
        locks = connection.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone()
    assert left == ("", "")
    assert locks == (0,)


def test_attributes_that_drifted_are_mended_and_limits_of_the_administrator_stay(server):
    server.set_up()
    with server.connect() as connection:
        connection.execute("ALTER ROLE strata_api BYPASSRLS SUPERUSER CREATEROLE")
        connection.execute("ALTER ROLE strata_search LOGIN NOBYPASSRLS")
        connection.execute("GRANT strata_search TO strata_owner WITH INHERIT TRUE")
        connection.execute("ALTER ROLE strata_api SET statement_timeout = '40s'")
        connection.execute("GRANT CONNECT ON DATABASE strata TO PUBLIC")
        connection.execute("ALTER DATABASE strata OWNER TO postgres")
    server.set_up()
    catalogue = server.catalogue()
    assert [row[:8] for row in catalogue["attributes"]] == [row[:8] for row in EXPECTED_ATTRIBUTES]
    assert catalogue["memberships"] == [("strata_search", "strata_owner", False, False, True)]
    assert sorted(catalogue["attributes"][0][8]) == [
        "idle_in_transaction_session_timeout=30s",
        "lock_timeout=5s",
        "max_parallel_workers_per_gather=0",
        "statement_timeout=40s",
        "transaction_timeout=60s",
    ]
    assert catalogue["database"][:2] == (
        "strata_owner",
        "{strata_owner=CTc/strata_owner,strata_api=c/strata_owner}",
    )


def test_owner_can_hand_a_function_over_and_the_api_role_can_do_nothing_yet(server):
    server.set_up()
    with server.connect("strata", user="strata_owner") as connection:
        connection.execute("CREATE SCHEMA search_only")
        connection.execute("GRANT USAGE, CREATE ON SCHEMA search_only TO strata_search")
        connection.execute("CREATE TABLE note (id int)")
        connection.execute(
            "CREATE FUNCTION search_only.one() RETURNS int LANGUAGE sql SECURITY DEFINER "
            "SET search_path = pg_catalog, pg_temp RETURN 1"
        )
        connection.execute("ALTER FUNCTION search_only.one() OWNER TO strata_search")
        owner = connection.execute(
            "SELECT proowner::regrole::text FROM pg_proc WHERE proname = 'one'"
        ).fetchone()
        assert owner == ("strata_search",)
    with server.connect("strata", user="strata_api") as connection:
        for statement in (
            "SELECT * FROM note",
            "CREATE TABLE mine (id int)",
            "CREATE TEMPORARY TABLE mine (id int)",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SET ROLE strata_search")


def test_force_row_level_security_binds_the_owner_although_search_bypasses_it(server):
    server.set_up()
    with server.connect("strata", user="strata_owner") as connection:
        connection.execute("CREATE TABLE note (team int)")
        connection.execute("INSERT INTO note VALUES (1)")
        connection.execute("ALTER TABLE note ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
        connection.execute("GRANT SELECT ON note TO strata_search")
        assert connection.execute("SELECT count(*) FROM note").fetchone() == (0,)
        connection.execute("SET ROLE strata_search")
        assert connection.execute("SELECT count(*) FROM note").fetchone() == (1,)


def test_only_strata_roles_may_connect(server):
    server.set_up()
    with server.connect() as connection:
        connection.execute("CREATE ROLE administrator LOGIN")
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        server.connect("strata", user="administrator")


def test_an_administrator_who_is_no_superuser_can_run_the_script_where_pgvector_is_in_the_template(server):
    with server.connect("template1") as connection:
        connection.execute("CREATE EXTENSION vector")
    try:
        with server.connect() as connection:
            connection.execute("CREATE ROLE administrator LOGIN CREATEROLE CREATEDB BYPASSRLS")
        for _ in range(2):
            result = server.run_script(user="administrator")
            assert (result.returncode, result.stderr) == (0, "")
        catalogue = server.catalogue()
    finally:
        with server.connect("template1") as connection:
            connection.execute("DROP EXTENSION vector")
    assert [row[:8] for row in catalogue["attributes"]] == [row[:8] for row in EXPECTED_ATTRIBUTES]
    assert ("strata_search", "strata_owner", False, False, True) in catalogue["memberships"]
    assert catalogue["database"][0] == "strata_owner"


def test_two_set_ups_at_once_both_succeed(server):
    with ThreadPoolExecutor(max_workers=4) as pool:
        for result in [pool.submit(server.set_up, api_password="x") for _ in range(4)]:
            result.result()
    assert server.catalogue()["attributes"] == EXPECTED_ATTRIBUTES


def test_a_connection_inside_transactions_is_refused(server):
    with server.connect(autocommit=False) as connection, pytest.raises(ValueError, match="autocommit"):
        set_up_roles(connection, database="strata", owner_password=None, api_password=None)


def test_a_database_of_another_encoding_is_refused(server):
    with server.connect() as connection:
        connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(psycopg.errors.RaiseException, match="latin must have the encoding UTF8"):
        server.set_up(database="latin")
