"""Alembic environment: the owner role, one transaction a revision, bounded locks, one migration run at a time."""

import os

import sqlalchemy as sa
from alembic import context

from app.db.urls import sqlalchemy_url
from migrations.metadata import compared_name, target_metadata

# A migration that cannot get its lock gives way to the traffic instead of queueing in front of it.
TIMEOUTS = {"lock_timeout": "4s", "statement_timeout": "60s", "idle_in_transaction_session_timeout": "60s"}
# Any fixed number: two migration runs on one database wait for one another.
ADVISORY_LOCK = 7_203_155_001


def _configure(**arguments: object) -> None:
    context.configure(
        target_metadata=target_metadata,
        include_name=compared_name,
        compare_type=True,
        compare_server_default=False,
        transaction_per_migration=True,
        **arguments,  # type: ignore[arg-type]
    )


def run_offline() -> None:
    """Print the SQL of the revisions instead of running it."""
    # Of the driver's parameter style, every % would be printed twice.
    _configure(dialect_name="postgresql", dialect_opts={"paramstyle": "named"}, literal_binds=True)
    with context.begin_transaction():
        for name, value in TIMEOUTS.items():
            context.execute(f"SET {name} = '{value}'")
        context.run_migrations()


def run_online() -> None:
    """Run the revisions on the configured database."""
    connection = context.config.attributes.get("connection")
    if connection is not None:
        _run_on(connection)
        return
    url = context.config.get_main_option("sqlalchemy.url") or os.environ["STRATA_OWNER_DATABASE_URL"]
    engine = sa.create_engine(sqlalchemy_url(url), poolclass=sa.pool.NullPool)
    with engine.connect() as fresh:
        _run_on(fresh)
    engine.dispose()


def _run_on(connection: sa.Connection) -> None:
    for name, value in TIMEOUTS.items():
        connection.execute(sa.text("SELECT set_config(:name, :value, false)"), {"name": name, "value": value})
    connection.execute(
        sa.text("SELECT set_config('lock_timeout', '0', false), pg_advisory_lock(:key)"),
        {"key": ADVISORY_LOCK},
    )
    connection.execute(
        sa.text("SELECT set_config('lock_timeout', :value, false)"), {"value": TIMEOUTS["lock_timeout"]}
    )
    connection.commit()
    try:
        _configure(connection=connection)
        with context.begin_transaction():
            context.run_migrations()
    finally:
        connection.rollback()
        connection.execute(sa.text("SELECT pg_advisory_unlock(:key)"), {"key": ADVISORY_LOCK})
        connection.commit()


if context.is_offline_mode():
    run_offline()
else:
    run_online()
