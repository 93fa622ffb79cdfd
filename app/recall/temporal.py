"""Time: half-open windows, and the temporal order of facts and claims. Pure functions (Dense-Mem, July 2026)."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time

from app.recall import dates


def within(start: datetime | None, end: datetime | None, at: datetime | None) -> bool:
    """Whether ``start <= at < end``; a bound or a time that is not there passes."""
    if at is None:
        return True
    return (start is None or start <= at) and (end is None or at < end)


def typed_time(
    *,
    valid_from: datetime | None,
    valid_to: datetime | None,
    recorded_at: datetime,
    triple: str,
    evidence: Sequence[str],
    as_of: datetime,
) -> datetime | None:
    """What a fact or claim is ordered by in a question for the current state; newer first, ``None`` last.

    Its ``valid_from``, else the newest date in its triple, else in its supporting fragments, else ``recorded_at``;
    ``None`` when it is over at ``as_of``.
    """
    if valid_to is not None and valid_to <= as_of:
        return None
    if valid_from is not None:
        return valid_from
    written = dates.newest_content_date(triple, recorded_at)
    if written is None:
        days = [day for text in evidence if (day := dates.newest_content_date(text, recorded_at)) is not None]
        written = max(days, default=None)
    return _midnight(written) if written is not None else recorded_at


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def order_key(moment: datetime | None) -> tuple[bool, float]:
    """Sort key: newest first, those without a time last."""
    return (moment is None, 0.0 if moment is None else -moment.timestamp())
