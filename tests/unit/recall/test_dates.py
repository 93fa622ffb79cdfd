"""The date grammar: every form, what it refuses, and that no time zone of a server matters."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.recall import dates

WEDNESDAY = datetime(2026, 7, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("on 2026-06-27.", date(2026, 6, 27)),
        ("2026-06-27T10:00:00Z", date(2026, 6, 27)),
        ("2026/06/27", date(2026, 6, 27)),
        ("27/06/2026", date(2026, 6, 27)),
        ("06/27/2026", date(2026, 6, 27)),
        ("06/06/2026", date(2026, 6, 6)),
        ("27/06", date(2026, 6, 27)),
        ("6/27", date(2026, 6, 27)),
        ("June 27, 2026", date(2026, 6, 27)),
        ("27 June 2026", date(2026, 6, 27)),
        ("the 27th of June 2026", date(2026, 6, 27)),
        ("Sept. 3rd", date(2026, 9, 3)),
        ("today", date(2026, 7, 15)),
        ("yesterday", date(2026, 7, 14)),
        ("3 days ago", date(2026, 7, 12)),
        ("a day ago", date(2026, 7, 14)),
        ("seven days ago", date(2026, 7, 8)),
        ("last week", date(2026, 7, 8)),
        ("last Monday", date(2026, 7, 13)),
        ("the most recent Wednesday", date(2026, 7, 8)),
    ],
)
def test_forms(text, day):
    assert [written.day for written in dates.find(text, WEDNESDAY)] == [day]


@pytest.mark.parametrize(
    "text",
    [
        "05/06/2026", "5/6", "next Monday", "8 days ago", "1899-12-31", "3001-01-01", "2026-02-30", "32/01/2026",
        "version 1.2.3", "01/02/26", "todays", "2026-06-271", "May", "the 27th",
    ],
)  # fmt: skip
def test_what_is_ambiguous_or_no_date_is_refused(text):
    assert dates.find(text, WEDNESDAY) == ()


def test_relative_forms_count_from_the_utc_day_of_the_anchor():
    late = datetime(2026, 7, 15, 23, 30, tzinfo=timezone(timedelta(hours=-8)))
    assert dates.find("today", late)[0].day == date(2026, 7, 16)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("valid until 2026-07-01", True),
        ("Valid through July 1, 2026", True),
        ("expires on 2026-07-01", True),
        ("the expiration date is 2026-07-01", True),
        ("sunset on that day 2026-07-01", True),
        ("ends after all five of us 2026-07-01", False),
        ("updated 2026-07-01", False),
    ],
)
def test_ends_of_validity(text, ends):
    assert [written.ends for written in dates.find(text, WEDNESDAY)] == [ends]


def test_an_end_of_validity_is_no_content_date():
    text = "Update dated 2026-06-01, valid until 2026-09-01."
    assert dates.newest_content_date(text, WEDNESDAY) == date(2026, 6, 1)
    assert dates.first_validity_end(text, WEDNESDAY) == date(2026, 9, 1)


@given(st.dates(date(1900, 1, 1), date(3000, 12, 31)))
def test_a_date_reads_the_same_in_every_unambiguous_form(day):
    forms = [
        day.isoformat(),
        f"{day.year}/{day.month}/{day.day}",
        f"{day:%B} {day.day}, {day.year}",
        f"{day.day} {day:%b} {day.year}",
    ]
    for form in forms:
        assert [written.day for written in dates.find(f"as of {form}: yes", WEDNESDAY)] == [day]


@given(st.text(max_size=120), st.datetimes(timezones=st.just(UTC)))
def test_any_text_gives_dates_in_range(text, anchor):
    assert all(1900 <= written.day.year <= 3000 for written in dates.find(text, anchor))
