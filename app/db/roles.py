"""Roles, database and extension of one Strata installation, set up by a superuser and safe to repeat.

Three roles keep the tenants apart: ``strata_owner`` migrates and owns every table, ``strata_api`` serves requests,
owns nothing and is bound by row-level security, and ``strata_search`` cannot log in, bypasses row-level security and
owns the full-text function alone. `deploy/roles.sql` holds the same blocks for psql; a test compares the two.
"""

from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

OWNER_ROLE = "strata_owner"
API_ROLE = "strata_api"
SEARCH_ROLE = "strata_search"

# Two processes that set up one server at a time would race for the same catalogue rows.
_LOCK_KEY = 5_732_004_118

# Roles with the attributes they must have, passwords where given, and time limits that nobody has set before.
ROLES_BLOCK: LiteralString = """\
DO $strata$
DECLARE
    owner_password text := nullif(current_setting('strata_setup.owner_password', true), '');
    api_password text := nullif(current_setting('strata_setup.api_password', true), '');
    role_limit record;
BEGIN
    IF current_setting('server_version_num')::integer < 160000 THEN
        RAISE EXCEPTION 'Strata needs PostgreSQL 16 or newer, this is %', current_setting('server_version');
    END IF;
    -- Lets an administrator who is no superuser make the database for the owner role.
    SET LOCAL createrole_self_grant = 'set, inherit';
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'strata_owner') THEN
        CREATE ROLE strata_owner LOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'strata_api') THEN
        CREATE ROLE strata_api LOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'strata_search') THEN
        CREATE ROLE strata_search NOLOGIN BYPASSRLS;
    END IF;

    -- Altered only where they differ: naming these attributes at all is a superuser's right.
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'strata_owner' AND (NOT rolcanlogin OR rolsuper
            OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication)) THEN
        ALTER ROLE strata_owner LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB NOREPLICATION;
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'strata_api' AND (NOT rolcanlogin OR rolsuper
            OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication)) THEN
        ALTER ROLE strata_api LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB NOREPLICATION;
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'strata_search' AND (rolcanlogin OR rolsuper
            OR NOT rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication)) THEN
        ALTER ROLE strata_search NOLOGIN NOSUPERUSER BYPASSRLS NOCREATEROLE NOCREATEDB NOREPLICATION;
    END IF;

    -- SET without INHERIT: migrations can hand the function over, the owner role itself stays bound by the policies.
    IF NOT EXISTS (SELECT FROM pg_auth_members WHERE roleid = 'strata_search'::regrole
            AND member = 'strata_owner'::regrole AND set_option AND NOT inherit_option AND NOT admin_option) THEN
        GRANT strata_search TO strata_owner WITH INHERIT FALSE, SET TRUE;
    END IF;

    IF owner_password IS NOT NULL THEN
        EXECUTE format('ALTER ROLE strata_owner PASSWORD %L', owner_password);
    END IF;
    IF api_password IS NOT NULL THEN
        EXECUTE format('ALTER ROLE strata_api PASSWORD %L', api_password);
    END IF;

    -- A limit that is set already is a decision of the database's administrator and stays.
    FOR role_limit IN
        SELECT * FROM (VALUES
            ('strata_api', 'statement_timeout', '15s', 160000),
            ('strata_api', 'lock_timeout', '5s', 160000),
            ('strata_api', 'idle_in_transaction_session_timeout', '30s', 160000),
            ('strata_api', 'transaction_timeout', '60s', 170000),
            ('strata_api', 'max_parallel_workers_per_gather', '0', 160000),
            ('strata_owner', 'lock_timeout', '5s', 160000)
        ) AS wanted (role_name, name, value, since)
        WHERE since <= current_setting('server_version_num')::integer
            AND NOT EXISTS (
                SELECT FROM pg_db_role_setting AS s CROSS JOIN unnest(s.setconfig) AS entry
                WHERE s.setrole = role_name::regrole AND s.setdatabase = 0 AND split_part(entry, '=', 1) = name
            )
        ORDER BY role_name, name
    LOOP
        EXECUTE format('ALTER ROLE %I SET %I = %L', role_limit.role_name, role_limit.name, role_limit.value);
    END LOOP;
END
$strata$;
"""

# Ownership of the database, and who may connect to it.
DATABASE_BLOCK: LiteralString = """\
DO $strata$
DECLARE
    database_name text := current_setting('strata_setup.database');
BEGIN
    IF (SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = database_name) <> 'UTF8' THEN
        RAISE EXCEPTION 'the database % must have the encoding UTF8', database_name;
    END IF;
    IF (SELECT datdba FROM pg_database WHERE datname = database_name) <> 'strata_owner'::regrole THEN
        EXECUTE format('ALTER DATABASE %I OWNER TO strata_owner', database_name);
    END IF;
    EXECUTE format('REVOKE CONNECT, TEMPORARY ON DATABASE %I FROM PUBLIC', database_name);
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO strata_api', database_name);
END
$strata$;
"""

# Runs inside the database: the extension, brought up to the version that the server has on disk.
EXTENSION_BLOCK: LiteralString = """\
DO $strata$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') THEN
        CREATE EXTENSION vector;
    ELSIF EXISTS (SELECT FROM pg_available_extensions
            WHERE name = 'vector' AND installed_version <> default_version) THEN
        ALTER EXTENSION vector UPDATE;
    END IF;
    -- A database that grew up before PostgreSQL 15 still lets everybody create here.
    IF has_schema_privilege('public', 'public', 'CREATE') THEN
        REVOKE CREATE ON SCHEMA public FROM PUBLIC;
    END IF;
END
$strata$;
"""


def set_up_roles(
    connection: psycopg.Connection, *, database: str, owner_password: str | None, api_password: str | None
) -> None:
    """Create or mend the roles, the database and the extension ``vector``; a repeat changes nothing.

    Attributes and memberships are enforced. Time limits that an administrator changed stay.

    Args:
        connection: autocommit connection of a superuser, to any database of the server.
        database: name of Strata's database; it is created if missing.
        owner_password: password of ``strata_owner``; None leaves it as it is (none, for a new role).
        api_password: the same for ``strata_api``.

    Raises:
        ValueError: the connection is not in autocommit mode (a database cannot be created inside a transaction).
        psycopg.errors.RaiseException: PostgreSQL is older than 16, or the database is not encoded in UTF-8.
        psycopg.Error: the connection's role may not do this, or pgvector is not installed on the server.
    """
    if not connection.autocommit:
        raise ValueError("set_up_roles needs a connection in autocommit mode")
    connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK_KEY,))
    try:
        _set_parameters(
            connection,
            database=database,
            owner_password=owner_password or "",
            api_password=api_password or "",
        )
        connection.execute(ROLES_BLOCK)
        _create_database(connection, database)
        connection.execute(DATABASE_BLOCK)
        _create_extension(connection, database)
    finally:
        if not connection.closed:
            _set_parameters(connection, database="", owner_password="", api_password="")
            connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK_KEY,))


def _set_parameters(connection: psycopg.Connection, **values: str) -> None:
    for name, value in values.items():
        connection.execute("SELECT set_config(%s, %s, false)", (f"strata_setup.{name}", value))


def _create_database(connection: psycopg.Connection, database: str) -> None:
    found = connection.execute("SELECT FROM pg_database WHERE datname = %s", (database,)).fetchone()
    if found is None:
        connection.execute(
            sql.SQL("CREATE DATABASE {} OWNER {} ENCODING 'UTF8'").format(
                sql.Identifier(database), sql.Identifier(OWNER_ROLE)
            )
        )


def _create_extension(connection: psycopg.Connection, database: str) -> None:
    if connection.info.dbname == database:
        connection.execute(EXTENSION_BLOCK)
        return
    # libpq never reports a password among the parameters; None leaves it out.
    target = make_conninfo(connection.info.dsn, dbname=database, password=connection.info.password or None)
    with psycopg.connect(target, autocommit=True) as inside:
        inside.execute(EXTENSION_BLOCK)
