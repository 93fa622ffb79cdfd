"""Writes that may be repeated: one transaction stores the effect and the answer together.

The first request with a key claims a row before it writes; a second one waits for that row and then returns the stored
answer, or is refused when it asked for something else.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeVar

import msgspec
import psycopg
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.exc import DBAPIError

from app.db.unit_of_work import Database, Tenant, UnitOfWork
from app.errors import StrataError
from app.tenancy.models import IdempotencyRecord

Prepared = TypeVar("Prepared")
Result = TypeVar("Result")
RECORD_AGE: Final = timedelta(days=2)
_TRIES: Final = 4
_RETRIED_STATES: Final = ("40P01", "40001")


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A request's ``Idempotency-Key`` and what it asked for (SHA-256 over method, path and body)."""

    key: str
    digest: bytes

    @classmethod
    def of(cls, key: str | None, method: str, path: str, body: bytes) -> "IdempotentRequest | None":
        """The request's identity, or ``None`` when it carries no key."""
        if key is None:
            return None
        digest = hashlib.sha256(b"\0".join([method.encode(), path.encode(), body])).digest()
        return cls(key, digest)


class WriteExecutor:
    """Runs a write: prepare without a connection, then store in one transaction, at most once for each key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(
        self,
        tenant: Tenant,
        request: IdempotentRequest | None,
        result_type: type[Result],
        *,
        prepare: Callable[[], Awaitable[Prepared]],
        store: Callable[[UnitOfWork, Prepared], Awaitable[Result]],
    ) -> Result:
        """Result of the write, fresh or stored.

        Args:
            tenant: The profile that is written to; an ``Idempotency-Key`` belongs to it.
            request: Identity of the request, if it may be repeated.
            result_type: What the answer decodes to.
            prepare: The slow part (embedding); holds no connection.
            store: The statements; run again from the start after a deadlock.

        Raises:
            StrataError: ``idempotency_key_reused``, ``request_in_progress``, or what the callbacks raise.
        """
        if request is not None and (known := await self._stored(tenant, request, result_type)) is not None:
            return known
        prepared = await prepare()
        return await _retried(lambda: self._store_once(tenant, request, result_type, prepared, store))

    async def change(self, tenant: Tenant, store: Callable[[UnitOfWork], Awaitable[Result]]) -> Result:
        """Result of a change that is harmless to repeat: statements alone, run again after a deadlock."""

        async def once() -> Result:
            async with self._database.tenant(tenant) as unit:
                return await store(unit)

        return await _retried(once)

    async def _store_once(
        self,
        tenant: Tenant,
        request: IdempotentRequest | None,
        result_type: type[Result],
        prepared: Prepared,
        store: Callable[[UnitOfWork, Prepared], Awaitable[Result]],
    ) -> Result:
        async with self._database.tenant(tenant) as unit:
            if request is not None and not await _claim(unit, request):
                record = await _find(unit, request)
                if record is None:
                    raise _in_progress(retry_after=1)
                return _decode(record, request, result_type)
            result = await store(unit, prepared)
            if request is not None:
                await _complete(unit, request, msgspec.json.encode(result))
            return result

    async def _stored(
        self, tenant: Tenant, request: IdempotentRequest, result_type: type[Result]
    ) -> Result | None:
        async with self._database.tenant(tenant) as unit:
            record = await _find(unit, request)
        return None if record is None else _decode(record, request, result_type)


async def forget_old_records(unit: UnitOfWork) -> None:
    """Delete the profile's stored answers that are older than anybody retries."""
    await unit.execute(
        sa.delete(IdempotencyRecord).where(
            IdempotencyRecord.team_id == unit.tenant.team_id,
            IdempotencyRecord.profile_id == unit.tenant.profile,
            IdempotencyRecord.created_at < sa.func.now() - RECORD_AGE,
        )
    )


async def _retried(attempt: Callable[[], Awaitable[Result]]) -> Result:
    """Run a transaction again when the database gave it up in favour of another (a deadlock, a row that moved)."""
    for number in range(1, _TRIES):
        try:
            return await attempt()
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) not in _RETRIED_STATES:
                raise
            await asyncio.sleep(0.02 * number)
    return await attempt()


def _decode(
    record: sa.Row[tuple[bytes, bytes]], request: IdempotentRequest, result_type: type[Result]
) -> Result:
    if record.request_digest != request.digest:
        raise StrataError("idempotency_key_reused", "this Idempotency-Key belongs to another request")
    return msgspec.json.decode(record.response, type=result_type)


async def _find(unit: UnitOfWork, request: IdempotentRequest) -> sa.Row[tuple[bytes, bytes]] | None:
    statement = sa.select(IdempotencyRecord.request_digest, IdempotencyRecord.response).where(
        *_is_the_one(unit, request)
    )
    return (await unit.execute(statement)).one_or_none()


async def _claim(unit: UnitOfWork, request: IdempotentRequest) -> bool:
    """Take the key; False when it is taken for good.

    Raises:
        StrataError: ``request_in_progress``: another transaction holds the key, and longer than one waits for a lock.
    """
    statement = (
        pg.insert(IdempotencyRecord)
        .values(
            team_id=unit.tenant.team_id,
            idempotency_key=request.key,
            profile_id=unit.tenant.profile,
            request_digest=request.digest,
            response=b"",
        )
        .on_conflict_do_nothing()
        .returning(IdempotencyRecord.idempotency_key)
    )
    try:
        return (await unit.execute(statement)).one_or_none() is not None
    except DBAPIError as error:
        if _waited_for_the_key(error):
            raise _in_progress(retry_after=2) from error
        raise


def _waited_for_the_key(error: DBAPIError) -> bool:
    """Whether a lock timeout is about the key's own row: not the profile's, which the insert locks too, nor a table's."""
    orig = error.orig
    held = isinstance(orig, psycopg.errors.LockNotAvailable) and orig.diag.context
    return bool(held) and IdempotencyRecord.__tablename__ in str(held)


def _in_progress(retry_after: int) -> StrataError:
    return StrataError("request_in_progress", "the same request is still running", retry_after=retry_after)


async def _complete(unit: UnitOfWork, request: IdempotentRequest, response: bytes) -> None:
    await unit.execute(
        sa.update(IdempotencyRecord).where(*_is_the_one(unit, request)).values(response=response)
    )


def _is_the_one(unit: UnitOfWork, request: IdempotentRequest) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        IdempotencyRecord.team_id == unit.tenant.team_id,
        IdempotencyRecord.profile_id == unit.tenant.profile,
        IdempotencyRecord.idempotency_key == request.key,
    )
