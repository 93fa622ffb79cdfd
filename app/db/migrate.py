"""Alembic from Python: upgrade, downgrade, current, and the SQL a DBA may want to read first."""

import io
from functools import cache
from importlib.resources import files

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from app.db.urls import sqlalchemy_url


def alembic_config(url: str | None = None, output: io.StringIO | None = None) -> Config:
    """Alembic configuration of the packaged migrations; ``url`` belongs to the owner role."""
    config = Config(output_buffer=output) if output is not None else Config()
    config.set_main_option("script_location", str(files("migrations")))
    config.set_main_option("path_separator", "os")
    if url is not None:
        rendered = sqlalchemy_url(url).render_as_string(hide_password=False)
        config.set_main_option("sqlalchemy.url", rendered.replace("%", "%%"))
    return config


def upgrade(url: str, revision: str = "head") -> None:
    """Apply every revision up to ``revision``; two runs on one database wait for one another."""
    command.upgrade(alembic_config(url), revision)


def downgrade(url: str, revision: str) -> None:
    """Undo revisions down to ``revision``."""
    command.downgrade(alembic_config(url), revision)


def offline_sql(revision_range: str = "head") -> str:
    """SQL of the revisions, for review or for running by hand."""
    output = io.StringIO()
    command.upgrade(alembic_config(output=output), revision_range, sql=True)
    return output.getvalue()


@cache
def head_revision() -> str:
    """Newest revision that this release ships."""
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    if head is None:
        raise LookupError("no migration found in the package")
    return head


def current_revision(connection: sa.Connection) -> str | None:
    """Revision that the database is at; ``None`` before the first migration."""
    return MigrationContext.configure(connection).get_current_revision()
