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

_BIND = sa.text(
    "SELECT set_config('strata.team_id', :team, true), set_config('strata.profile_id', :profile, true),"
    " set_config('strata.operator', :operator, true)"
)
_BIND_SQL = "SELECT set_config('strata.team_id', %s, true), set_config('strata.profile_id', %s, true)"


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

    The binding and the statements of a fetch travel together and come back together (PostgreSQL's pipeline), so that
    it costs one round trip where BEGIN, SET, SELECT and COMMIT would cost four.
    """

    __slots__ = ("_connection", "tenant")

    def __init__(self, connection: psycopg.AsyncConnection[Any], tenant: Tenant) -> None:
        self._connection = connection
        self.tenant = tenant

    async def fetch(self, *statements: Statement) -> list[list[tuple[Any, ...]]]:
        """Rows of each statement, all in one snapshot-sharing transaction bound to the tenant."""
        profile = "" if self.tenant.profile_id is None else str(self.tenant.profile_id)
        cursors = []
        async with self._connection.pipeline():
            await self._connection.execute(_BIND_SQL, (str(self.tenant.team_id), profile))
            for statement in statements:
                cursor = self._connection.cursor()
                await cursor.execute(statement.sql, statement.parameters)
                cursors.append(cursor)
            return [await cursor.fetchall() for cursor in cursors]


class Database:
    """Opens units of work on one engine."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    @asynccontextmanager
    async def tenant(self, tenant: Tenant) -> AsyncIterator[UnitOfWork]:
        """Transaction that sees the rows of ``tenant`` and no others; commits when the block ends well."""
        async with self.engine.begin() as connection:
            profile = "" if tenant.profile_id is None else str(tenant.profile_id)
            await connection.execute(_BIND, {"team": str(tenant.team_id), "profile": profile, "operator": ""})
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
        async with self._driver() as connection:
            yield ReadUnit(connection, tenant)

    async def fetch_unbound(self, statement: Statement) -> list[tuple[Any, ...]]:
        """Rows of one statement that needs no tenant."""
        async with self._driver() as connection:
            cursor = await connection.execute(statement.sql, statement.parameters)
            return await cursor.fetchall()

    @asynccontextmanager
    async def _driver(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """The driver's own connection, in autocommit; its errors come out wrapped as SQLAlchemy wraps them."""
        async with self.engine.connect() as plain:
            connection = await plain.execution_options(isolation_level="AUTOCOMMIT")
            driver = (await connection.get_raw_connection()).driver_connection
            try:
                with wrapped_errors(self.engine.dialect):
                    yield cast("psycopg.AsyncConnection[Any]", driver)
            except sa.exc.DBAPIError as error:
                if isinstance(error.orig, psycopg.OperationalError | psycopg.InterfaceError):
                    await connection.invalidate(error)
                raise

    @asynccontextmanager
    async def operator(self) -> AsyncIterator[AsyncConnection]:
        """Transaction of the operator: may list teams, and sees no row of any tenant."""
        async with self.engine.begin() as connection:
            await connection.execute(_BIND, {"team": "", "profile": "", "operator": "on"})
            yield connection

    @asynccontextmanager
    async def unbound(self) -> AsyncIterator[AsyncConnection]:
        """Autocommit connection without a tenant: key lookup, health checks, global tables."""
        async with self.engine.connect() as connection:
            yield await connection.execution_options(isolation_level="AUTOCOMMIT")

    async def close(self) -> None:
        """Close every pooled connection."""
        await self.engine.dispose()
