"""What is decided about a fragment before any database is asked: identity, quality, validity. Pure functions.

Identity: two contents are the same evidence when they are equal after Unicode NFC, line ends and runs of white space
folded to one space, and the ends trimmed; case counts. The stored text is always the one that was sent.
"""

import hashlib
import re
import unicodedata
from datetime import datetime
from typing import Any, Final, NamedTuple

from app.errors import invalid
from app.http.fields import MAX_CONTENT_BYTES, check_json_object, parse_instant
from app.memory.models import CONFIDENTIALITY, PII, RETENTION
from app.memory.schemas import FragmentInput

# Source quality by authority (Dense-Mem).
QUALITY: Final = {"authoritative": 0.95, "primary": 0.95, "secondary": 0.75, "inferred": 0.5, "unknown": 0.5}

CLASSIFICATION_ORDERS: Final = {"confidentiality": CONFIDENTIALITY, "retention": RETENTION, "pii": PII}

_METADATA_NAMES: Final = {
    "valid_from": ("valid_from", "validFrom"),
    "valid_to": ("valid_to", "validTo"),
    "recorded_at": ("recorded_at", "recordedAt"),
    "recorded_to": ("recorded_to", "recordedTo"),
}
_SPACE: Final = re.compile(r"\s+")
_DATE_ONLY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def content_hash(content: str) -> bytes:
    """SHA-256 (32 bytes) of the content's identity."""
    folded = _SPACE.sub(" ", unicodedata.normalize("NFC", content)).strip()
    return hashlib.sha256(folded.encode()).digest()


class Times(NamedTuple):
    """When a fragment is true, and when it was known."""

    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime
    recorded_to: datetime | None


def checked_times(data: FragmentInput, now: datetime) -> Times:
    """The fields, else the metadata keys of the same names, else ``now`` for ``recorded_at``.

    Raises:
        StrataError: ``validation_failed`` for times that cannot be read or that end before they begin.
    """
    start, end = _time(data, "valid_from"), _time(data, "valid_to")
    if start is not None and end is not None and end <= start:
        raise invalid("valid_to", "must be after valid_from")
    recorded, ended = _time(data, "recorded_at") or now, _time(data, "recorded_to")
    if ended is not None and ended < recorded:
        raise invalid("recorded_to", "must not be before recorded_at, which is now unless given")
    return Times(start, end, recorded, ended)


def check(data: FragmentInput) -> None:
    """Rules that a field type cannot say.

    Raises:
        StrataError: ``validation_failed``.
    """
    if len(data.content.encode()) > MAX_CONTENT_BYTES:
        raise invalid("content", f"must be at most {MAX_CONTENT_BYTES} bytes of UTF-8")
    if problem := check_json_object(data.metadata):
        raise invalid("metadata", problem)


def secondary_texts(source: str | None, labels: list[str], metadata: dict[str, Any]) -> list[str]:
    """Texts that make a fragment findable beside its content: source, labels, metadata keys and scalar values."""
    return [text for text in (source, *labels, *_flattened(metadata)) if text]


def _flattened(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key in sorted(value) for text in (key, *_flattened(value[key]))]
    if isinstance(value, list):
        return [text for item in value for text in _flattened(item)]
    if value is None or isinstance(value, bool):
        return []
    return [str(value)]


def _time(data: FragmentInput, name: str) -> datetime | None:
    value: datetime | None = getattr(data, name)
    return _from_metadata(data.metadata, name) if value is None else value


def _from_metadata(metadata: dict[str, Any], name: str) -> datetime | None:
    for key in _METADATA_NAMES[name]:
        value = metadata.get(key)
        if value in (None, ""):
            continue
        path, rule = f"metadata.{key}", "must be an RFC 3339 time or a date"
        if not isinstance(value, str):
            raise invalid(path, rule)
        return parse_instant(f"{value}T00:00:00Z" if _DATE_ONLY.fullmatch(value) else value, path, rule)
    return None
