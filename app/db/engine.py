"""SQLAlchemy engine over psycopg, set up for recall: no server-side prepared plans, pgvector types registered."""

from typing import Any

import psycopg
import sqlalchemy as sa
from pgvector.psycopg import register_vector_async
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app.db.urls import sqlalchemy_url


def create_engine(
    url: str,
    *,
    pool_size: int,
    pool_timeout: float,
    autocommit: bool = False,
    application_name: str = "strata",
) -> AsyncEngine:
    """Engine with a fixed-size pool.

    Statements are planned afresh (``prepare_threshold=None``): a cached generic plan would ignore the tenant's size, and
    transaction-pooling proxies cannot carry prepared statements. A full pool raises ``sqlalchemy.exc.TimeoutError``
    after ``pool_timeout`` seconds. With ``autocommit`` every statement is a transaction of its own; to set that once a
    connection instead of once a use halves what a read spends on the pool.
    """
    engine = create_async_engine(
        sqlalchemy_url(url),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=pool_timeout,
        pool_reset_on_return=None if autocommit else "rollback",
        isolation_level="AUTOCOMMIT" if autocommit else None,
        # Parameters are memory contents; an error's text, which may be logged or shown, must not hold them.
        hide_parameters=True,
        connect_args={"prepare_threshold": None, "application_name": application_name, "connect_timeout": 5},
    )

    @sa.event.listens_for(engine.sync_engine, "connect")
    def _prepare(dbapi_connection: Any, _record: object) -> None:
        dbapi_connection.run_async(_read_times_as_utc)
        dbapi_connection.run_async(register_vector_async)

    return engine


async def _read_times_as_utc(connection: psycopg.AsyncConnection[Any]) -> None:
    """Set the session's zone, whatever the server's or the role's is.

    In another one the last hours of the year 9999 lie outside of Python's calendar, and equal answers are not the same
    bytes.
    """
    autocommit = connection.autocommit
    await connection.set_autocommit(True)
    await connection.execute("SET TIME ZONE 'UTC'")
    await connection.set_autocommit(autocommit)
