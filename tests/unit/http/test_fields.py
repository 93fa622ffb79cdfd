"""Rules of field types: blank text, free objects, moments."""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import StrataError
from app.http.fields import (
    KEY_PATTERN,
    MAX_METADATA_DEPTH,
    TEXT_PATTERN,
    check_json_object,
    in_utc,
    parse_instant,
)

INVISIBLE = " \t\n\r\u00a0\u00ad\u034f\u061c\u1680\u180e\u2003\u200b\u200c\u200d\u200e\u2028\u202e\u2060\u2066\u3000\u3164\ufe0f\ufeff\uffa0"


@given(st.text(alphabet=INVISIBLE, max_size=30))
def test_text_of_invisible_characters_is_blank(text: str) -> None:
    assert re.search(TEXT_PATTERN, text) is None


@given(
    st.text(alphabet=INVISIBLE, max_size=10),
    st.characters(
        codec="utf-8", categories=("L", "N", "P", "S"), exclude_characters=INVISIBLE + "\u115f\u1160"
    ),
    st.text(max_size=10),
)
def test_text_with_anything_to_see_is_none(before: str, seen: str, after: str) -> None:
    text = before + seen + after
    assert (re.search(TEXT_PATTERN, text) is None) == ("\x00" in text)


@pytest.mark.parametrize("key", ["a", "a b", "!", "~" * 128, "import-2026-01-01/17"])
def test_header_keys_are_printable(key: str) -> None:
    assert re.search(KEY_PATTERN, key)


@pytest.mark.parametrize("key", ["", " ", " a", "a ", "a  b", "a\tb", "ü", "a\n"])
def test_other_header_keys_are_not(key: str) -> None:
    assert re.fullmatch(KEY_PATTERN, key) is None


def nested(levels: int) -> dict[str, Any]:
    value: Any = 1
    for level in range(levels - 1):
        value = [value] if level % 2 else {"a": value}
    return {"a": value}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, None),
        ({"a": [1, {"b": None}]}, None),
        ({"a": "\\u0000"}, None),
        ({"a": "\x00"}, "must not contain NUL characters"),
        ({"\x00": 1}, "must not contain NUL characters"),
        ({"a": [{"b\x00": 1}]}, "must not contain NUL characters"),
        ({"a": "x" * 4_088}, None),
        ({"a": "x" * 4_089}, "must be at most 4096 bytes of JSON, is 4097"),
        ({"a": "é" * 2_044}, None),
        ({"a": "é" * 2_045}, "must be at most 4096 bytes of JSON, is 4098"),
        (nested(MAX_METADATA_DEPTH), None),
        (nested(MAX_METADATA_DEPTH + 1), "must be nested at most 32 levels deep"),
        (nested(2_000), "must be nested at most 32 levels deep"),
    ],
    ids=range(13),
)
def test_free_objects_are_bounded(value: dict[str, Any], problem: str | None) -> None:
    assert check_json_object(value) == problem


@given(st.datetimes(timezones=st.timezones()))
def test_a_moment_in_utc_is_the_same_moment(moment: datetime) -> None:
    if not in_calendar(moment):
        with pytest.raises(StrataError) as raised:
            in_utc(moment, "at")
        assert [error.path for error in raised.value.errors] == ["at"]
        return
    # By seconds: in the hour that a clock change skips or repeats, no two zones' times are ever equal in Python.
    assert in_utc(moment, "at").timestamp() == moment.timestamp()
    assert in_utc(moment, "at").tzinfo is UTC


def in_calendar(moment: datetime) -> bool:
    offset = moment.utcoffset()
    assert offset is not None
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    return timedelta(0) <= moment.replace(tzinfo=UTC) - first - offset <= last - first


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-31T09:30:00Z", datetime(2026, 1, 31, 9, 30, tzinfo=UTC)),
        ("2026-01-31T09:30:00+02:00", datetime(2026, 1, 31, 7, 30, tzinfo=UTC)),
        ("2026-01-31T00:00:00-23:59", datetime(2026, 1, 31, 23, 59, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime.max.replace(tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime.min.replace(tzinfo=UTC)),
    ],
)
def test_texts_of_moments_are_read(text: str, expected: datetime) -> None:
    assert parse_instant(text, "at") == expected
    assert parse_instant(text, "at").utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("soon", "must be an RFC 3339 time"),
        ("", "must be an RFC 3339 time"),
        ("2026-02-30T00:00:00Z", "must be an RFC 3339 time"),
        ("2026-01-31", "must have a UTC offset"),
        ("2026-01-31T09:30:00", "must have a UTC offset"),
        ("0001-01-01T00:00:00+00:01", "must lie in the years 1 to 9999 of UTC"),
        ("9999-12-31T23:59:59-00:01", "must lie in the years 1 to 9999 of UTC"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(StrataError) as raised:
        parse_instant(text, "filter.at")
    assert [(error.path, error.message) for error in raised.value.errors] == [("filter.at", message)]


def test_the_zone_of_a_moment_does_not_matter() -> None:
    zone = timezone(timedelta(hours=-14))
    with pytest.raises(StrataError):
        in_utc(datetime(9999, 12, 31, 23, tzinfo=zone), "at")
    assert in_utc(datetime(9999, 12, 31, 9, tzinfo=zone), "at") == datetime(9999, 12, 31, 23, tzinfo=UTC)
