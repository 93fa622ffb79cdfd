"""Migrations: up and down in steps with rows present, the same by hand as by program, linted, and told to DBAs."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import LiteralString
from uuid import uuid4

import psycopg
import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory
from psycopg import sql

# The standard tests of pytest-alembic: one head, upgrade, models as migrated, every revision up and down.
from pytest_alembic.tests import (
    test_model_definitions_match_ddl,  # noqa: F401 - collected from here
    test_single_head_revision,  # noqa: F401
    test_up_down_consistency,  # noqa: F401
    test_upgrade,  # noqa: F401
)

from app.db import migrate
from app.db.embedded import EmbeddedPostgres
from app.db.embedded.cluster import installation
from app.db.roles import OWNER_ROLE, set_up_roles
from app.db.urls import libpq_url, sqlalchemy_url
from app.embeddings.hash_backend import HashEmbedder
from migrations.metadata import target_metadata
from tests.integration.conftest import TEST_GRAPHS, TestDatabase

ROOT = Path(__file__).parents[3]
SCRIPTS = ScriptDirectory.from_config(migrate.alembic_config())
REVISIONS = list(SCRIPTS.walk_revisions())[::-1]
NAMES = [script.revision for script in REVISIONS]
MODULES: dict[str, ModuleType] = {script.revision: script.module for script in REVISIONS}

IDS = {name: uuid4() for name in ("team", "profile", "fragment", "key", "entry")}
# One row in each table that later revisions could lose: filled as soon as its table is there.
ROWS: dict[str, LiteralString] = {
    "teams": "INSERT INTO teams (team_id, name, embedding_space_id) VALUES (%(team)s, 'kept', 1)",
    "profiles": "INSERT INTO profiles (team_id, id, name) VALUES (%(team)s, %(profile)s, 'kept')",
    "api_keys": """
        INSERT INTO api_keys (team_id, id, name, prefix, digest, scopes)
        VALUES (%(team)s, %(key)s, 'kept', 'prefix', decode(repeat('00', 32), 'hex'), ARRAY['admin'])
    """,
    "audit_log": """
        INSERT INTO audit_log (team_id, id, action, entity_type, entity_id, actor_type)
        VALUES (%(team)s, %(entry)s, 'kept', 'team', 'x', 'system')
    """,
    "fragments": """
        INSERT INTO fragments (team_id, id, profile_id, content, content_hash, source_type, authority,
                               source_quality, confidentiality, retention, pii)
        VALUES (%(team)s, %(fragment)s, %(profile)s, 'kept', decode(repeat('00', 32), 'hex'), 'manual', 'unknown',
                0.5, 'internal', 'long_term', 'none')
    """,
    "search_documents": """
        INSERT INTO search_documents (team_id, id, profile_id, kind, lexemes, length, source_type)
        VALUES (%(team)s, %(fragment)s, %(profile)s, 1, 'kept', 1, 'manual')
    """,
    "lexeme_statistics": """
        INSERT INTO lexeme_statistics (team_id, profile_id, kind, lexeme, documents)
        VALUES (%(team)s, %(profile)s, 1, 'kept', 1)
    """,
    "vectors": """
        INSERT INTO vectors (team_id, profile_id, kind, ref_id, window_index, space_id, graph, embedding)
        VALUES (%(team)s, %(profile)s, 1, %(fragment)s, 0, 1, 0, '[1,0,0]')
    """,
    "procrastinate_jobs": "INSERT INTO procrastinate_jobs (queue_name, task_name) VALUES ('kept', 'kept')",
}


@pytest.fixture
def empty_database(postgres: EmbeddedPostgres) -> Iterator[TestDatabase]:
    """A database with its roles and the extension, before the first migration."""
    name = f"empty_{uuid4().hex[:12]}"
    with psycopg.connect(postgres.superuser_url(), autocommit=True) as connection:
        set_up_roles(connection, database=name, owner_password=None, api_password=None)
        try:
            yield TestDatabase(name, "", postgres.url(name, OWNER_ROLE), postgres.superuser_url(name))
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def alembic_config() -> Config:
    return migrate.alembic_config()


@pytest.fixture
def alembic_engine(empty_database: TestDatabase) -> Iterator[sa.Connection]:
    engine = sa.create_engine(sqlalchemy_url(empty_database.owner), poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def dump(database: TestDatabase) -> str:
    """The schema as pg_dump writes it, without what differs from one run to the next."""
    found = subprocess.run(
        [installation() / "bin" / "pg_dump", "--schema-only", "--no-comments", libpq_url(database.superuser)],
        check=True,
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("PG")},
    )
    # Alembic prints tabs as four spaces; pg_dump writes a random word into \\restrict.
    return re.sub(r"^\\(?:un)?restrict .*$", "", found.stdout, flags=re.MULTILINE).replace("\t", "    ")


def counts(connection: psycopg.Connection) -> dict[str, int]:
    tables = connection.execute(
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')"
        " AND NOT c.relispartition AND c.relname <> 'alembic_version'"
    ).fetchall()
    return {
        name: connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name))).fetchone()[
            0
        ]
        for (name,) in tables
    }


def fill(connection: psycopg.Connection) -> None:
    """A row into each table that has none."""
    for table, count in counts(connection).items():
        if count == 0 and table in ROWS:
            if table == "vectors":
                space = connection.execute("SELECT create_embedding_space('kept', 3::smallint, 1::smallint)")
                assert space.fetchone() == (1,)
            connection.execute(ROWS[table], IDS)


@pytest.mark.slow
def test_each_revision_goes_up_down_and_up_again_and_loses_no_other_row(empty_database: TestDatabase) -> None:
    config = migrate.alembic_config(empty_database.owner)
    with psycopg.connect(empty_database.superuser, autocommit=True) as connection:
        for before, revision in zip(["base", *NAMES], NAMES, strict=False):
            rows = counts(connection)
            migrate_command(config, "upgrade", revision)
            whole = dump(empty_database)
            fill(connection)
            migrate_command(config, "downgrade", before)
            assert counts(connection) == rows, revision
            migrate_command(config, "upgrade", revision)
            assert dump(empty_database) == whole, revision
            fill(connection)
        assert {
            table: count for table, count in counts(connection).items() if table in ROWS
        } == dict.fromkeys(ROWS, 1)
        migrate_command(config, "downgrade", "base")
        assert counts(connection) == {}
        left = connection.execute(
            "SELECT count(*) FROM pg_proc p WHERE pronamespace = 'public'::regnamespace"
            " AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')"
        ).fetchone()
        assert left == (0,)


def migrate_command(config: Config, command: str, revision: str) -> None:
    url = config.get_main_option("sqlalchemy.url")
    assert url is not None
    getattr(migrate, command)(url, revision)


def test_the_printed_sql_makes_the_same_schema(
    empty_database: TestDatabase, fresh_database: TestDatabase
) -> None:
    with psycopg.connect(empty_database.owner, autocommit=True) as connection:
        connection.execute(migrate.offline_sql().encode())
        # The template of the tests has a space of its own; this one gets the same.
        connection.execute(
            "SELECT create_embedding_space('any', %s::smallint, %s::smallint)",
            (HashEmbedder().descriptor.dimension, TEST_GRAPHS),
        )
    assert dump(empty_database) == dump(fresh_database)


def test_two_runs_at_once_make_one_schema(empty_database: TestDatabase) -> None:
    program = "import sys; from app.db import migrate; migrate.upgrade(sys.argv[1])"
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", program, empty_database.owner], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for run in runs:
        _, errors = run.communicate(timeout=60)
        assert run.returncode == 0, errors
    with psycopg.connect(empty_database.owner) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(NAMES[-1],)]


def test_the_model_names_of_constraints_are_the_databases(fresh_database: TestDatabase) -> None:
    with psycopg.connect(fresh_database.superuser) as connection:
        names = connection.execute(
            "SELECT DISTINCT c.conrelid::regclass::text, c.conname FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid"
            " WHERE c.contype = 'c' AND c.connamespace = 'public'::regnamespace AND NOT t.relispartition"
        ).fetchall()
    declared = {
        (table.name, constraint.name)
        for table in target_metadata.tables.values()
        for constraint in table.constraints
        if isinstance(constraint, sa.CheckConstraint)
    }
    found = {(table, name) for table, name in names if not table.startswith("procrastinate_")}
    assert found == declared


def test_squawk_finds_nothing(tmp_path: Path) -> None:
    files = []
    for script in REVISIONS:
        file = tmp_path / f"{script.revision}.sql"
        file.write_text(migrate.offline_sql(f"{script.down_revision or 'base'}:{script.revision}"))
        files.append(file)
    found = subprocess.run(
        [Path(sys.executable).parent / "squawk", "--config", ROOT / ".squawk.toml", *files],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("name", NAMES)
def test_a_revision_says_what_it_locks(name: str) -> None:
    module = MODULES[name]
    assert Path(str(module.__file__)).stem == name
    assert re.fullmatch(r"\d{4}_[a-z_]+", name)
    assert len(name) <= 32  # alembic_version
    lines = str(module.__doc__).strip().splitlines()
    assert lines[0].endswith(".")
    assert lines[1] == ""
    assert [line for line in lines if line.startswith("Locks: ")], module.__doc__


@pytest.mark.parametrize("name", NAMES)
def test_a_revision_stands_in_the_table_for_dbas(name: str) -> None:
    text = (ROOT / "migrations" / "README.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
    assert len(rows) == 1
    cells = [cell.strip() for cell in rows[0].strip("|").split("|")]
    assert len(cells) == 5
    assert all(cells)


def test_the_table_for_dbas_holds_no_other_revision() -> None:
    text = (ROOT / "migrations" / "README.md").read_text()
    assert re.findall(r"^\| `(\d{4}_[a-z_]+)` \|", text, flags=re.MULTILINE) == NAMES
