"""The demo: memories of one made-up product team, and questions that a stranger would put to them.

Ferrywick and its Harbour team do not exist; names, customers, hashes and figures are invented. The memories cover
what recall has to get right: decisions and what replaced them, dated ownership, signed policy against chat,
near-duplicates, several scripts, and identifiers that only the metadata holds.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from importlib import resources
from typing import Annotated, Any, Literal, TypeVar

import msgspec

MAX_METADATA_BYTES = 4096

Slug = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=128)]
Label = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
AwareTime = Annotated[datetime, msgspec.Meta(tz=True)]
SourceType = Literal["conversation", "document", "observation", "manual"]
Authority = Literal["authoritative", "primary", "secondary", "inferred", "unknown"]

_Row = TypeVar("_Row", bound=msgspec.Struct)


class DemoMemory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fragment to store; ``id`` serves as its idempotency key. Times are UTC, validity is half-open."""

    id: Slug
    content: Annotated[str, msgspec.Meta(min_length=1, max_length=65_536)]
    source: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    source_type: SourceType
    authority: Authority
    labels: Annotated[tuple[Label, ...], msgspec.Meta(max_length=20)]
    metadata: dict[str, Any]
    recorded_at: AwareTime
    valid_from: AwareTime | None = None
    valid_to: AwareTime | None = None

    def __post_init__(self) -> None:
        """Check what a type cannot say.

        Raises:
            ValueError: metadata over 4,096 bytes of JSON, a time outside UTC, or an empty validity period.
        """
        if len(msgspec.json.encode(self.metadata)) > MAX_METADATA_BYTES:
            raise ValueError(f"metadata of {self.id} exceeds {MAX_METADATA_BYTES} bytes")
        for time in (self.recorded_at, self.valid_from, self.valid_to):
            if time is not None and time.utcoffset() != timedelta(0):
                raise ValueError(f"{self.id} has a time that is not in UTC: {time.isoformat()}")
        if self.valid_from is not None and self.valid_to is not None and self.valid_to <= self.valid_from:
            raise ValueError(f"{self.id} ends before it begins to be valid")


class DemoQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question with the ids of the memories that belong in the first three results."""

    query: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
    expected: Annotated[tuple[Slug, ...], msgspec.Meta(min_length=1, max_length=3)]
    valid_at: AwareTime | None = None


def load_memories() -> tuple[DemoMemory, ...]:
    """Read the demo memories in file order.

    Raises:
        msgspec.ValidationError: a row breaks a rule; the message starts with the file's name and line.
    """
    return _read("memories.jsonl", DemoMemory)


def load_questions() -> tuple[DemoQuestion, ...]:
    """Read the demo questions in file order.

    Raises:
        msgspec.ValidationError: a row breaks a rule; the message starts with the file's name and line.
    """
    return _read("questions.jsonl", DemoQuestion)


def _read(name: str, row_type: type[_Row]) -> tuple[_Row, ...]:
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return _parse(name, text, row_type)


def _parse(name: str, text: str, row_type: type[_Row]) -> tuple[_Row, ...]:
    rows: list[_Row] = []
    # Not splitlines(): it would also cut at U+2028 inside a string.
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        try:
            rows.append(msgspec.json.decode(line, type=row_type))
        except msgspec.DecodeError as error:
            raise msgspec.ValidationError(f"{name}:{number}: {error}") from error
    return tuple(rows)
