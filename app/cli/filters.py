"""Times and filters as people write them on a command line."""

import re
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time
from typing import Any, Final

import typer

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def instant(text: str) -> datetime:
    """A time out of RFC 3339 with an offset, or a date, which stands for its first moment in UTC.

    Raises:
        typer.BadParameter: it is neither.
    """
    try:
        if _DATE.fullmatch(text):
            return datetime.combine(date.fromisoformat(text), time(), UTC)
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter("must be a date or an RFC 3339 time, as in 2026-03-15T09:00:00Z") from None
    if parsed.tzinfo is None:
        raise typer.BadParameter("must have a UTC offset, as in 2026-03-15T09:00:00Z")
    return parsed


@dataclass(frozen=True, slots=True)
class Filters:
    """What a listing is narrowed to: ``created_from <= created_at < created_to``."""

    status: str | None = None
    source_type: str | None = None
    label: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None

    @property
    def values(self) -> dict[str, Any]:
        """Every filter by its name, those that are not set included."""
        return asdict(self)

    @property
    def parameters(self) -> dict[str, str]:
        """The filters that are set, as the API's query parameters."""
        return {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in asdict(self).items()
            if value is not None
        }
