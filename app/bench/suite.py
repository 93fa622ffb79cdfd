"""Runs sections, each on a database of its own."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg import sql

from app.bench import ann, concurrency, growth, ingest, latency, peer, quality, size
from app.bench.context import Context, Skipped
from app.bench.report import SectionResult, Table
from app.db import migrate
from app.db.embedded import EmbeddedPostgres
from app.db.roles import API_ROLE, OWNER_ROLE, set_up_roles
from app.runtime import DatabaseUrls

Section = Callable[[Context], list[Table]]
SECTIONS: Final[Mapping[str, Section]] = {
    "quality": quality.run,
    "ann": ann.run,
    "latency": latency.run,
    "concurrency": concurrency.run,
    "ingest": ingest.run,
    "size": size.run,
    "growth": growth.run,
    "peer": peer.run,
}


def run_section(name: str, context: Context) -> SectionResult:
    """Run one section on the context's database."""
    started = time.perf_counter()
    try:
        tables = SECTIONS[name](context)
    except Skipped as reason:
        return SectionResult(name=name, seconds=time.perf_counter() - started, skipped=str(reason))
    return SectionResult(name=name, seconds=time.perf_counter() - started, tables=tables)


def run_sections(
    names: Iterable[str], server: EmbeddedPostgres, make_context: Callable[[DatabaseUrls], Context]
) -> Iterator[SectionResult]:
    """Run sections one after the other, so that none measures in what another has left.

    Args:
        names: Keys of `SECTIONS`.
        server: A started server.
        make_context: The context of a run on a database.
    """
    for name in names:
        with database(server, f"bench_{name}") as urls:
            yield run_section(name, make_context(urls))


@contextmanager
def database(server: EmbeddedPostgres, name: str) -> Iterator[DatabaseUrls]:
    """A migrated database, dropped at the end; one of the same name that an earlier run left is dropped first."""
    with psycopg.connect(server.superuser_url(), autocommit=True) as connection:
        drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        connection.execute(drop)
        set_up_roles(connection, database=name, owner_password=None, api_password=None)
        urls = DatabaseUrls(server.url(name, API_ROLE), server.url(name, OWNER_ROLE))
        try:
            migrate.upgrade(server.url(name, OWNER_ROLE))
            yield urls
        finally:
            connection.execute(drop)
