"""Is this database fit to serve? Each finding names the command that mends it."""

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from app.db import migrate

MIN_SERVER: Final = 160_000
MIN_PGVECTOR: Final = (0, 8, 4)


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was looked at, what was found, and what to do when it is not ``ok``."""

    name: str
    ok: bool
    found: str
    remedy: str = ""


def check_database(connection: sa.Connection) -> list[Finding]:
    """Checks that a process makes before it serves; ``connection`` is the API role's."""
    return [
        _server_version(connection),
        _pgvector_version(connection),
        _role(connection),
        _revision(connection),
    ]


def _server_version(connection: sa.Connection) -> Finding:
    number = int(connection.scalar(sa.text("SHOW server_version_num")) or 0)
    found = f"PostgreSQL {connection.scalar(sa.text('SHOW server_version'))}"
    return Finding(
        "server", number >= MIN_SERVER, found, "Strata needs PostgreSQL 16 or newer: upgrade the server."
    )


def _pgvector_version(connection: sa.Connection) -> Finding:
    version = connection.scalar(sa.text("SELECT extversion FROM pg_extension WHERE extname = 'vector'"))
    if version is None:
        return Finding(
            "pgvector",
            ok=False,
            found="not installed in this database",
            remedy="As a superuser of this database: CREATE EXTENSION vector; (deploy/roles.sql does it)",
        )
    numbers = tuple(int(part) for part in version.split(".")[:3])
    return Finding(
        "pgvector",
        numbers >= MIN_PGVECTOR,
        f"pgvector {version}",
        "Versions before 0.8.4 can lose rows and corrupt indexes: install a newer one, then ALTER EXTENSION vector UPDATE;",
    )


def _role(connection: sa.Connection) -> Finding:
    row = connection.execute(
        sa.text(
            "SELECT rolname, rolsuper, rolbypassrls, EXISTS ("
            "  SELECT 1 FROM pg_class WHERE relowner = pg_roles.oid AND relkind IN ('r', 'p')"
            "  AND relnamespace = 'public'::regnamespace) AS owner"
            " FROM pg_roles WHERE rolname = current_user"
        )
    ).one()
    faults = [
        fault
        for fault, present in (
            ("is a superuser", row.rolsuper),
            ("bypasses row-level security", row.rolbypassrls),
            ("owns tables", row.owner),
        )
        if present
    ]
    found = f"role {row.rolname}" + (f" {' and '.join(faults)}" if faults else "")
    return Finding(
        "role",
        not faults,
        found,
        "Serve as strata_api: set up the roles with deploy/roles.sql and use its URL.",
    )


def _revision(connection: sa.Connection) -> Finding:
    exists = connection.scalar(sa.text("SELECT to_regclass('public.alembic_version') IS NOT NULL"))
    current = connection.scalar(sa.text("SELECT version_num FROM public.alembic_version")) if exists else None
    head = migrate.head_revision()
    return Finding(
        "migrations",
        current == head,
        f"at {current or 'nothing'}, this release needs {head}",
        "Run: STRATA_OWNER_DATABASE_URL=postgresql://strata_owner:...@... strata db upgrade",
    )
