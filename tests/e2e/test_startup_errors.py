"""What keeps ``strata serve`` from starting: one sentence and a remedy, exit code 1, no traceback, no secret."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from app.db import migrate
from app.db.roles import OWNER_ROLE
from tests.e2e.external import SUPERUSER_PASSWORD, ExternalPostgres
from tests.e2e.processes import Running, Stage

WRONG_PASSWORD = "password-that-nobody-has"
EMBEDDING_KEY = "key-of-the-embedding-server"


@dataclass(frozen=True)
class Case:
    """Settings that cannot work, and what is said about them."""

    name: str
    settings: dict[str, object]
    message: str
    remedy: str
    arguments: tuple[str, ...] = ("serve", "--port", "0")


@contextmanager
def taken_port() -> Iterator[int]:
    """A port that somebody else listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def free_port() -> int:
    """A port that nobody listens on."""
    with taken_port() as port:
        return port


def cases(external: ExternalPostgres, taken: int) -> list[Case]:
    return [
        Case(
            "no pgvector",
            {"database_url": external.url(database="bare")},
            "pgvector: not installed in this database",
            "As a superuser of this database: CREATE EXTENSION vector; (deploy/roles.sql does it)",
        ),
        Case(
            "not migrated",
            {"database_url": external.url(database="unmigrated")},
            f"migrations: at nothing, this release needs {migrate.head_revision()}",
            "Run: STRATA_OWNER_DATABASE_URL=postgresql://strata_owner:...@... strata db upgrade",
        ),
        Case(
            "superuser",
            {"database_url": external.url("postgres", SUPERUSER_PASSWORD)},
            "role: role postgres is a superuser and bypasses row-level security",
            "Serve as strata_api: set up the roles with deploy/roles.sql and use its URL.",
        ),
        Case(
            "wrong password",
            {"database_url": external.url(password=WRONG_PASSWORD)},
            'password authentication failed for user "strata_api"',
            "Check STRATA_DATABASE_URL.",
        ),
        Case(
            "nobody listens",
            {"database_url": f"postgresql://strata_api:{WRONG_PASSWORD}@127.0.0.1:{free_port()}/strata"},
            "the database cannot be reached: connection",
            "Check STRATA_DATABASE_URL.",
        ),
        Case(
            "unknown space",
            {
                "database_url": external.url(),
                "embedder": "openai",
                "embedding_base_url": "http://127.0.0.1:9",
                "embedding_model": "other",
                "embedding_dimension": 8,
                "embedding_api_key": EMBEDDING_KEY,
            },
            "the database has no embedding space 'openai/other/norm:l2' of dimension 8",
            "Run `strata db upgrade` with the same STRATA_EMBEDDER settings and STRATA_OWNER_DATABASE_URL.",
        ),
        Case(
            "values",
            {"embedder": "magic", "pool_size": "many", "database_url": f"mysql://u:{WRONG_PASSWORD}@h/d"},
            "STRATA_DATABASE_URL: a database URL starts with postgresql://; "
            "STRATA_EMBEDDER: Input should be 'sentence-transformers', 'hash' or 'openai'; "
            "STRATA_POOL_SIZE: Input should be a valid integer",
            "See the configuration table in the README.",
        ),
        Case(
            "port",
            {},
            f"cannot listen on 127.0.0.1 port {taken}: Address already in use",
            "Choose another --host or --port.",
            ("serve", "--port", str(taken)),
        ),
        Case(
            "owner's password",
            {"owner_database_url": external.url(OWNER_ROLE, WRONG_PASSWORD), "database_url": external.url()},
            'password authentication failed for user "strata_owner"',
            "Check STRATA_OWNER_DATABASE_URL.",
            ("db", "upgrade"),
        ),
    ]


@pytest.mark.slow
def test_each_fault_is_one_sentence_with_a_remedy(
    stage: Stage, external: ExternalPostgres, subtests: pytest.Subtests
) -> None:
    stage.secrets |= {WRONG_PASSWORD, EMBEDDING_KEY}
    with external.superuser() as connection:
        for name in ("bare", "unmigrated"):
            connection.execute(f"CREATE DATABASE {name}")
        with external.superuser("unmigrated") as inside:
            inside.execute("CREATE EXTENSION vector")

    def ended(case: Case) -> Running:
        running = stage.start(*case.arguments, **case.settings)
        running.wait()
        return running

    with taken_port() as taken, ThreadPoolExecutor(3) as pool:
        listed = cases(external, taken)
        for case, running in zip(listed, pool.map(ended, listed), strict=True):
            with subtests.test(case.name):
                assert running.process.returncode == 1
                told = [line for line in running.output.splitlines() if not line.startswith("Strata on ")]
                assert len(told) == 2, running.output
                message, remedy = told
                assert message.startswith("error ")
                assert case.message in message
                assert remedy.strip() == case.remedy
