"""A PostgreSQL that Strata does not manage: its own roles with passwords, restarted by its administrator."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psycopg
from psycopg import sql

from app.db.embedded import EmbeddedPostgres
from app.db.embedded.account import choose_account
from app.db.embedded.cluster import installation
from app.db.roles import API_ROLE, OWNER_ROLE
from app.runtime import DATABASE_NAME

API_PASSWORD = "password-of-the-api-role"
OWNER_PASSWORD = "password-of-the-owner-role"
SUPERUSER_PASSWORD = "password-of-the-superuser"
PASSWORDS = {API_PASSWORD, OWNER_PASSWORD, SUPERUSER_PASSWORD}
PARAMETERS = {"shared_buffers": "32MB", "max_connections": "60"}


@dataclass(frozen=True)
class ExternalPostgres:
    """A running server with Strata's database, reached with passwords."""

    server: EmbeddedPostgres
    data_dir: Path

    def url(self, role: str = API_ROLE, password: str = API_PASSWORD, database: str = DATABASE_NAME) -> str:
        """URL of a database for a role that must give a password."""
        return self.server.url(database, role).replace(f"{role}@", f"{role}:{password}@", 1)

    @property
    def owner_url(self) -> str:
        """URL of the owner role."""
        return self.url(OWNER_ROLE, OWNER_PASSWORD)

    def superuser(self, database: str = DATABASE_NAME) -> psycopg.Connection[tuple[object, ...]]:
        """Autocommit connection of the superuser."""
        return psycopg.connect(
            self.server.superuser_url(database), autocommit=True, password=SUPERUSER_PASSWORD
        )

    def restart(self, mode: Literal["immediate", "fast"]) -> None:
        """Restart the server as its administrator would."""
        directory = self.data_dir / "postgres"
        subprocess.run(
            [
                str(installation() / "bin" / "pg_ctl"),
                *(
                    "restart",
                    "-w",
                    "-m",
                    mode,
                    "-D",
                    str(directory),
                    "-l",
                    str(self.data_dir / "postgres.log"),
                ),
            ],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=directory,
            **choose_account(directory).process_options(),
        )


@contextmanager
def external_postgres(template: Path, data_dir: Path) -> Iterator[ExternalPostgres]:
    """Run a copy of a data directory that holds Strata's migrated database."""
    subprocess.run(["cp", "-a", str(template), str(data_dir)], check=True)
    with EmbeddedPostgres(data_dir, parameters=PARAMETERS) as server:
        with psycopg.connect(server.superuser_url(), autocommit=True) as connection:
            for role, password in (
                (API_ROLE, API_PASSWORD),
                (OWNER_ROLE, OWNER_PASSWORD),
                ("postgres", SUPERUSER_PASSWORD),
            ):
                connection.execute(
                    sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), sql.Literal(password))
                )
            rules = data_dir / "postgres" / "pg_hba.conf"
            rules.write_text("local all all scram-sha-256\n", encoding="utf-8")
            connection.execute("SELECT pg_reload_conf()")
        yield ExternalPostgres(server, data_dir)
