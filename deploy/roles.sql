-- Roles, database and extension of one Strata installation. Safe to run again at any time.
--
-- Run it with psql 15 or newer as a superuser, connected to any database of a PostgreSQL 16, 17 or 18:
--
--     STRATA_OWNER_PASSWORD=... STRATA_API_PASSWORD=... psql -d postgres -f deploy/roles.sql
--
-- Inputs, each as a psql variable (-v name=value) or from the environment:
--     database        STRATA_DATABASE_NAME    name of the database, "strata" if not given
--     owner_password  STRATA_OWNER_PASSWORD   password of strata_owner; left alone if not given
--     api_password    STRATA_API_PASSWORD     password of strata_api; left alone if not given
-- Prefer the environment for passwords: other users of the machine can see a command line.
--
-- The three blocks below are those of app/db/roles.py; a test keeps them equal.

\set ON_ERROR_STOP on

\if :{?database}
\else
  \set database strata
  \getenv database STRATA_DATABASE_NAME
\endif
\if :{?owner_password}
\else
  \set owner_password ''
  \getenv owner_password STRATA_OWNER_PASSWORD
\endif
\if :{?api_password}
\else
  \set api_password ''
  \getenv api_password STRATA_API_PASSWORD
\endif

-- Held until \connect ends this session: two runs at once would race for the same catalogue rows.
SELECT pg_advisory_lock(5732004118) IS NULL AS ignored \gset

SELECT set_config('strata_setup.database', :'database', false) IS NULL AS ignored,
       set_config('strata_setup.owner_password', :'owner_password', false) IS NULL AS ignored_2,
       set_config('strata_setup.api_password', :'api_password', false) IS NULL AS ignored_3 \gset

-- 1. Roles.
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

-- 2. The database.
SELECT format('CREATE DATABASE %I OWNER strata_owner ENCODING ''UTF8''', :'database')
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'database') \gexec

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

-- 3. Inside the database.
\connect :"database"

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
