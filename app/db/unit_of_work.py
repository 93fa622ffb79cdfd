"""The only way to a connection: one transaction, bound to one tenant.

Row-level security reads the tenant from two transaction-local settings. A unit of work sets them first, commits once at
its end, and rolls back on any error; repositories never commit.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, cast
from uuid import UUID

import psycopg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from app.db.engine import create_engine

_BIND = sa.text(
    "SELECT set_config('strata.team_id', :team, true), set_config('strata.profile_id', :profile, true),"
    " set_config('strata.operator', :operator, true)"
)


@dataclass(frozen=True, slots=True)
class Tenant:
    """Whose rows a unit of work may see: a team, or one profile of it."""

    team_id: UUID
    profile_id: UUID | None = None

    @property
    def profile(self) -> UUID:
        """The profile's id.

        Raises:
            LookupError: this tenant is a whole team.
        """
        if self.profile_id is None:
            raise LookupError("this unit of work is bound to a team, not to a profile")
        return self.profile_id


class Statement(NamedTuple):
    """A statement in the driver's own form, for the hot read path."""

    sql: str
    parameters: Mapping[str, Any] | Sequence[Any] = ()


@contextmanager
def wrapped_errors(dialect: sa.Dialect) -> Iterator[None]:
    """The driver's errors as SQLAlchemy wraps its own, so that callers know one kind.

    Raises:
        sqlalchemy.exc.DBAPIError: the driver raised.
    """
    try:
        yield
    except psycopg.Error as error:
        raise sa.exc.DBAPIError.instance(None, None, error, psycopg.Error, dialect=dialect) from error


class UnitOfWork:
    """A transaction bound to ``tenant``; repositories run their statements through it.

    Attributes:
        after_commit: What is to happen once the transaction is committed and its connection given back.
    """

    __slots__ = ("after_commit", "connection", "tenant")

    def __init__(self, connection: AsyncConnection, tenant: Tenant) -> None:
        self.connection = connection
        self.tenant = tenant
        self.after_commit: list[Callable[[], Awaitable[None]]] = []

    async def execute(
        self, statement: sa.Executable, parameters: dict[str, Any] | list[dict[str, Any]] | None = None
    ) -> sa.CursorResult[Any]:
        """Run one statement inside the transaction."""
        return await self.connection.execute(statement, parameters)

    async def execute_in_driver(self, statement: Statement) -> None:
        """Run a statement in the driver's own form inside the same transaction, for values that it sends best."""
        with wrapped_errors(self.connection.dialect):
            driver = (await self.connection.get_raw_connection()).driver_connection
            await cast("psycopg.AsyncConnection[Any]", driver).execute(statement.sql, statement.parameters)


class ReadUnit:
    """Reads of one tenant, each `fetch` a transaction of its own.

    The binding travels inside the statement, so that a read costs one round trip where BEGIN, SET, SELECT and COMMIT
    would cost four. (PostgreSQL's pipeline through the driver was measured too: it writes to the socket for every
    statement, seven times a fetch, and took half of a recall's CPU.)
    """

    __slots__ = ("_reader", "tenant")

    def __init__(self, reader: "Reader", tenant: Tenant) -> None:
        self._reader = reader
        self.tenant = tenant

    async def fetch(self, statement: Statement) -> list[tuple[Any, ...]]:
        """Rows of a SELECT, in a transaction bound to the tenant."""
        return await self._reader.rows(bound(statement, self.tenant))


class Reader:
    """Statements that change nothing, on a pooled connection in autocommit.

    A restart of the server leaves the pool full of dead connections. A read that meets one is run again on a live one;
    to ask each connection whether it lives before it is used would cost every read a round trip.
    """

    __slots__ = ("_connection", "_driver", "_spare")

    def __init__(self, connection: AsyncConnection, driver: Any, spare: int) -> None:
        """``spare``: how many other connections of the pool may be dead too."""
        self._connection = connection
        self._driver: psycopg.AsyncConnection[Any] = driver
        self._spare = spare

    async def rows(self, statement: Statement) -> list[tuple[Any, ...]]:
        """Rows of a statement."""
        try:
            return await self._run(statement)
        except psycopg.OperationalError:
            if not self._driver.broken:
                raise
        await self._renew()
        return await self._run(statement)

    async def _run(self, statement: Statement) -> list[tuple[Any, ...]]:
        # Binary rows take half the time of text.
        cursor = self._driver.cursor(binary=True)
        await cursor.execute(statement.sql, statement.parameters)
        return await cursor.fetchall()

    async def _renew(self) -> None:
        """Take connections out of the pool until one lives."""
        for left in range(self._spare, -1, -1):
            await self._connection.invalidate()
            driver = (await self._connection.get_raw_connection()).driver_connection
            self._driver = cast("psycopg.AsyncConnection[Any]", driver)
            try:
                await self._driver.execute("SELECT")
            except psycopg.OperationalError:
                if not left or not self._driver.broken:
                    raise
            else:
                return


def bound(statement: Statement, tenant: Tenant) -> Statement:
    """A SELECT that binds its own transaction to the tenant before it reads anything.

    The subquery depends on the binding (``LATERAL``) and cannot be merged with what is around it (``OFFSET 0``), so the
    planner has no other order than the binding first; row-level security reads it when the subquery begins.
    """
    profile = "" if tenant.profile_id is None else str(tenant.profile_id)
    parameters = statement.parameters
    if isinstance(parameters, Mapping):
        team_place, profile_place = "%(bound_team)s", "%(bound_profile)s"
        given: Mapping[str, Any] | Sequence[Any] = {
            **parameters,
            "bound_team": str(tenant.team_id),
            "bound_profile": profile,
        }
    else:
        team_place = profile_place = "%s"
        given = (str(tenant.team_id), profile, *parameters)
    sql = (
        f"WITH tenant AS MATERIALIZED (SELECT set_config('strata.team_id', {team_place}, true) AS team,"  # noqa: S608
        f" set_config('strata.profile_id', {profile_place}, true) AS profile)"
        " SELECT found.* FROM tenant CROSS JOIN LATERAL"
        f" (SELECT wanted.* FROM ({statement.sql}) AS wanted WHERE tenant.team IS NOT NULL OFFSET 0) AS found"
    )
    return Statement(sql, given)


class Database:
    """Opens units of work.

    Args:
        engine: For transactions.
        readers: For what needs none, in autocommit.
    """

    def __init__(self, engine: AsyncEngine, readers: AsyncEngine) -> None:
        self.engine = engine
        self.readers = readers
        self._spare = readers.pool.size() if isinstance(readers.pool, AsyncAdaptedQueuePool) else 1

    @classmethod
    def connect(cls, url: str, *, pool_size: int, pool_timeout: float) -> "Database":
        """Database on two pools, about half of ``pool_size`` connections each and one at the least."""
        reading = max(1, (pool_size + 1) // 2)
        return cls(
            create_engine(url, pool_size=max(1, pool_size - reading), pool_timeout=pool_timeout),
            create_engine(url, pool_size=reading, pool_timeout=pool_timeout, autocommit=True),
        )

    @asynccontextmanager
    async def tenant(self, tenant: Tenant) -> AsyncIterator[UnitOfWork]:
        """Transaction that sees the rows of ``tenant`` and no others; commits when the block ends well."""
        profile = "" if tenant.profile_id is None else str(tenant.profile_id)
        async with self._begun(team=str(tenant.team_id), profile=profile, operator="") as connection:
            unit = UnitOfWork(connection, tenant)
            yield unit
        for callback in unit.after_commit:
            await callback()

    @asynccontextmanager
    async def reading(self, tenant: Tenant) -> AsyncIterator[ReadUnit]:
        """Connection for reads of ``tenant``, bound anew for each fetch.

        Raises:
            sqlalchemy.exc.DBAPIError: a statement failed.
        """
        async with self._reader() as reader:
            yield ReadUnit(reader, tenant)

    async def fetch_unbound(self, statement: Statement) -> list[tuple[Any, ...]]:
        """Rows of one statement that needs no tenant."""
        async with self._reader() as reader:
            return await reader.rows(statement)

    @asynccontextmanager
    async def _begun(self, **binding: str) -> AsyncIterator[AsyncConnection]:
        """A transaction that is bound; commits when the block ends well."""
        async with self.engine.connect() as connection:
            try:
                await connection.execute(_BIND, binding)
            except sa.exc.DBAPIError as error:
                if not error.connection_invalidated:
                    raise
                # It lay dead in the pool, and nothing has been asked of it yet. All others as old are discarded with it.
                await connection.rollback()
                await connection.execute(_BIND, binding)
            yield connection
            await connection.commit()

    @asynccontextmanager
    async def _reader(self) -> AsyncIterator[Reader]:
        """Reads on the driver's own connection; its errors come out wrapped as SQLAlchemy wraps them."""
        async with self.readers.connect() as connection:
            driver = (await connection.get_raw_connection()).driver_connection
            try:
                with wrapped_errors(self.engine.dialect):
                    yield Reader(connection, driver, self._spare)
            except sa.exc.DBAPIError as error:
                if isinstance(error.orig, psycopg.OperationalError | psycopg.InterfaceError):
                    await connection.invalidate(error)
                raise

    @asynccontextmanager
    async def operator(self) -> AsyncIterator[AsyncConnection]:
        """Transaction of the operator: may list teams, and sees no row of any tenant."""
        async with self._begun(team="", profile="", operator="on") as connection:
            yield connection

    async def close(self) -> None:
        """Close every pooled connection."""
        await self.engine.dispose()
        await self.readers.dispose()
