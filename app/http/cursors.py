"""Keyset cursors: opaque to the caller, nothing but the last id inside."""

import base64
import re
from collections.abc import Callable
from typing import Final, Generic, TypeVar
from uuid import UUID

import msgspec

from app.errors import invalid

Item = TypeVar("Item")
MAX_PAGE = 100
# Python's UUID() takes much more: braces, prefixes, underscores, other digits.
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)


class Page(msgspec.Struct, Generic[Item], kw_only=True):
    """One page of a list; ``next_cursor`` is absent on the last one."""

    items: list[Item]
    next_cursor: str | None = None


def page_of(items: list[Item], limit: int, id_of: Callable[[Item], UUID]) -> Page[Item]:
    """Page out of the up to ``limit + 1`` items that were read: one more than fits tells that a next page exists."""
    kept = items[:limit]
    return Page(items=kept, next_cursor=encode_cursor(id_of(kept[-1])) if len(items) > limit else None)


def encode_cursor(last_id: UUID) -> str:
    """Cursor that continues after ``last_id``."""
    return base64.urlsafe_b64encode(last_id.bytes).decode().rstrip("=")


def decode_cursor(cursor: str | None) -> UUID | None:
    """Id that a cursor continues after.

    Raises:
        StrataError: the cursor was not made by `encode_cursor`.
    """
    if cursor is None:
        return None
    try:
        last_id = UUID(bytes=base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError:
        raise invalid("cursor", "is not a cursor of this service") from None
    if encode_cursor(last_id) != cursor:  # the decoder skips what it does not know
        raise invalid("cursor", "is not a cursor of this service")
    return last_id


def parse_id(value: str, path: str) -> UUID:
    """UUID of a path or query parameter.

    Raises:
        StrataError: the value is no UUID.
    """
    if not _UUID.fullmatch(value):
        raise invalid(path, "must be a UUID")
    return UUID(value)
