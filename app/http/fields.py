"""Field types of request bodies: one definition a rule, so that every route refuses the same input alike."""

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from app.errors import invalid

# Zero-width and formatting characters count as blank: a text of nothing else says nothing.
_INVISIBLE: Final = "\\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
TEXT_PATTERN: Final = f"^(?=[{_INVISIBLE}]*[^{_INVISIBLE}])[^\\x00]*$"
OPTIONAL_TEXT_PATTERN: Final = "^[^\\x00]*$"
KEY_PATTERN: Final = "^[!-~]+(?: [!-~]+)*$"
PREDICATE_PATTERN: Final = "^[a-z][a-z0-9_]*$"

PATTERN_MESSAGES: Final[dict[str, str]] = {
    TEXT_PATTERN: "must not be blank and must not contain NUL characters",
    OPTIONAL_TEXT_PATTERN: "must not contain NUL characters",
    KEY_PATTERN: "must consist of printable ASCII characters",
    PREDICATE_PATTERN: "must consist of lower-case letters, digits and underscores, and begin with a letter",
}

MAX_CONTENT_BYTES: Final = 65_536
MAX_METADATA_BYTES: Final = 4_096
MAX_METADATA_DEPTH: Final = 32
MAX_QUERY_CHARACTERS: Final = 4_096

Content = Annotated[str, Meta(min_length=1, max_length=MAX_CONTENT_BYTES, pattern=TEXT_PATTERN)]
QueryText = Annotated[str, Meta(min_length=1, max_length=MAX_QUERY_CHARACTERS, pattern=TEXT_PATTERN)]
Name = Annotated[str, Meta(min_length=1, max_length=100, pattern=TEXT_PATTERN)]
Source = Annotated[str, Meta(max_length=256, pattern=OPTIONAL_TEXT_PATTERN)]
Description = Annotated[str, Meta(max_length=1_000, pattern=OPTIONAL_TEXT_PATTERN)]
Label = Annotated[str, Meta(min_length=1, max_length=64, pattern=TEXT_PATTERN)]
Labels = Annotated[list[Label], Meta(max_length=20)]
IdempotencyKey = Annotated[str, Meta(min_length=1, max_length=128, pattern=TEXT_PATTERN)]
Instant = Annotated[datetime, Meta(tz=True)]
Limit = Annotated[int, Meta(ge=1, le=50)]
# The policies that recall knows, by name; a test holds the two against each other.
PolicyName = Literal["strata-v1", "documented-v1"]


def in_utc(value: datetime, path: str) -> datetime:
    """The same moment in UTC.

    PostgreSQL refuses offsets of 16 hours and more, which RFC 3339 allows; and an offset can carry the first and the last
    hours of Python's calendar out of it, where PostgreSQL stores them and no reader gets them back.

    Raises:
        StrataError: ``validation_failed`` for a moment outside of the years 1 to 9999.
    """
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise invalid(path, "must lie in the years 1 to 9999 of UTC") from None


def parse_instant(value: str, path: str, rule: str = "must be an RFC 3339 time") -> datetime:
    """Moment, in UTC, that a text tells.

    Raises:
        StrataError: ``validation_failed`` for anything but an RFC 3339 time with an offset.
    """
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        raise invalid(path, rule) from None
    if parsed.tzinfo is None:
        raise invalid(path, "must have a UTC offset")
    return in_utc(parsed, path)


def check_json_object(value: dict[str, Any], *, limit: int = MAX_METADATA_BYTES) -> str | None:
    """What is wrong with a free JSON object, or ``None``.

    PostgreSQL's jsonb holds no NUL character; everything else that JSON can say is kept.
    """
    if _depth(value) > MAX_METADATA_DEPTH:
        return f"must be nested at most {MAX_METADATA_DEPTH} levels deep"
    encoded = msgspec.json.encode(value)
    if len(encoded) > limit:
        return f"must be at most {limit} bytes of JSON, is {len(encoded)}"
    if b"\\u0000" in encoded and _holds_nul(value):
        return "must not contain NUL characters"
    return None


def _depth(value: Any) -> int:
    """Levels of nesting, without recursion; stops counting just above the limit."""
    level, depth = [value], 0
    while level and depth <= MAX_METADATA_DEPTH:
        level = [item for container in level for item in _children(container)]
        depth += 1
    return depth


def _children(value: Any) -> list[Any]:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in items if isinstance(item, dict | list)]


def _holds_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, dict):
        return any(_holds_nul(key) or _holds_nul(item) for key, item in value.items())
    if isinstance(value, list):
        return any(_holds_nul(item) for item in value)
    return False
