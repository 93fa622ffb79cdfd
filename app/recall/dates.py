"""Dates written in text, by the grammar of Dense-Mem's recall (July 2026). Pure functions.

ISO dates; slashed numbers of two or three parts (year first accepted, an ambiguous day and month refused, two parts
take the anchor's year); month names in both orders; today, yesterday, "N days ago" for 1 to 7, last week, a weekday
with "last" or "most recent". Years 1900 to 3000. Relative forms count from the fragment's own time, in UTC, so that
the server's time zone never matters.
"""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sept sep", "october oct", "november nov", "december dec"), start=1)
    for name in names.split()
}  # fmt: skip
_WEEKDAYS: Final = {
    name: number
    for number, name in enumerate(
        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    )
}
_COUNTS: Final = {
    name: number
    for number, name in enumerate(["one", "two", "three", "four", "five", "six", "seven"], start=1)
} | {"a": 1}
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_MIN_YEAR: Final = 1900
_MAX_YEAR: Final = 3000
_LAST_MONTH: Final = 12
_YEAR_DIGITS: Final = 4
_WEEK: Final = 7
_END_REACH: Final = 4

_DATE: Final = re.compile(
    r"(?<![\w/-])(?:"
    r"(?P<iso>(?P<iy>\d{4})-(?P<im>\d{1,2})-(?P<id>\d{1,2}))(?=$|[^\w-]|t\d)"
    r"|(?P<three>(?P<t1>\d{1,4})/(?P<t2>\d{1,2})/(?P<t3>\d{1,4}))(?![\w/])"
    r"|(?P<two>(?P<s1>\d{1,2})/(?P<s2>\d{1,2}))(?![\w/])"
    rf"|(?P<month_day>(?P<mm>{_MONTH})\.?\s+(?P<md>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<my>\d{{4}}))?)(?!\w)"
    rf"|(?P<day_month>(?P<dd>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+(?P<dm>{_MONTH})\.?(?:,?\s+(?P<dy>\d{{4}}))?)(?!\w)"
    r"|(?P<today>today)(?!\w)"
    r"|(?P<yesterday>yesterday)(?!\w)"
    r"|(?P<ago>(?P<n>[1-7]|a|one|two|three|four|five|six|seven)\s+days?\s+ago)(?!\w)"
    r"|(?P<last_week>last\s+week)(?!\w)"
    rf"|(?P<weekday>(?:last|most\s+recent)\s+(?P<wd>{'|'.join(_WEEKDAYS)}))(?!\w)"
    r")"
)
_END_CUE: Final = re.compile(
    r"(?<!\w)(?:valid\s+(?:through|until|to|before)|expire[sd]?|expiration|end(?:s|ed|ing)?|sunsets?|retired)(?!\w)"
)


class WrittenDate(NamedTuple):
    """A date in a text.

    Attributes:
        day: the date.
        ends: it says until when something is valid ("expires on ...").
    """

    day: date
    ends: bool


def find(text: str, anchor: datetime) -> tuple[WrittenDate, ...]:
    """Every date of a text, in order.

    Args:
        text: any text.
        anchor: the time that relative forms and missing years are taken from; with an offset.
    """
    lowered = text.lower()
    base = anchor.astimezone(UTC).date()
    ends = [_reach(lowered, match.end()) for match in _END_CUE.finditer(lowered)]
    found = []
    for match in _DATE.finditer(lowered):
        day = _day(match, base)
        if day is not None:
            found.append(WrittenDate(day, any(start <= match.start() < end for start, end in ends)))
    return tuple(found)


def newest_content_date(text: str, anchor: datetime) -> date | None:
    """The newest date of a text that is no end of validity."""
    return max((written.day for written in find(text, anchor) if not written.ends), default=None)


def first_validity_end(text: str, anchor: datetime) -> date | None:
    """The first end of validity that a text tells."""
    return min((written.day for written in find(text, anchor) if written.ends), default=None)


def _reach(text: str, start: int) -> tuple[int, int]:
    """Where the four tokens after ``start`` lie."""
    end = start
    for match in re.compile(r"\s*\S+").finditer(text, start):
        end = match.end()
        if len(text[start:end].split()) >= _END_REACH:
            break
    return start, end


def _day(match: re.Match[str], base: date) -> date | None:
    kind = match.lastgroup if match.lastgroup in _READERS else next(k for k in _READERS if match[k])
    return _READERS[kind](match, base)


def _made(year: int, month: int, day: int) -> date | None:
    if not _MIN_YEAR <= year <= _MAX_YEAR:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _iso(match: re.Match[str], _base: date) -> date | None:
    return _made(int(match["iy"]), int(match["im"]), int(match["id"]))


def _three(match: re.Match[str], _base: date) -> date | None:
    first, second, third = match["t1"], match["t2"], match["t3"]
    if len(first) == _YEAR_DIGITS:
        return _made(int(first), int(second), int(third))
    if len(third) != _YEAR_DIGITS:
        return None
    return _day_and_month(int(first), int(second), int(third))


def _two(match: re.Match[str], base: date) -> date | None:
    return _day_and_month(int(match["s1"]), int(match["s2"]), base.year)


def _day_and_month(first: int, second: int, year: int) -> date | None:
    """Whichever is above 12 is the day; two equal numbers are no question; else it is ambiguous."""
    if first == second or second > _LAST_MONTH:
        return _made(year, first, second)
    return _made(year, second, first) if first > _LAST_MONTH else None


def _month_day(match: re.Match[str], base: date) -> date | None:
    return _made(int(match["my"] or base.year), _MONTHS[match["mm"]], int(match["md"]))


def _day_month(match: re.Match[str], base: date) -> date | None:
    return _made(int(match["dy"] or base.year), _MONTHS[match["dm"]], int(match["dd"]))


def _ago(match: re.Match[str], base: date) -> date | None:
    count = match["n"]
    return _back(base, _COUNTS[count] if count in _COUNTS else int(count))


def _weekday(match: re.Match[str], base: date) -> date | None:
    return _back(base, (base.weekday() - _WEEKDAYS[match["wd"]] - 1) % _WEEK + 1)


def _back(base: date, days: int) -> date | None:
    if base.toordinal() <= days:
        return None
    day = base - timedelta(days=days)
    return day if _MIN_YEAR <= day.year <= _MAX_YEAR else None


_READERS: Final = {
    "iso": _iso,
    "three": _three,
    "two": _two,
    "month_day": _month_day,
    "day_month": _day_month,
    "today": lambda _match, base: _back(base, 0),
    "yesterday": lambda _match, base: _back(base, 1),
    "ago": _ago,
    "last_week": lambda _match, base: _back(base, _WEEK),
    "weekday": _weekday,
}
