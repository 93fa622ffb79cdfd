"""Memories as short texts."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.text import age, content_of, number, one_line, snippet

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("then", "told"),
    [
        ("2026-06-01T11:59:30Z", "now"),
        ("2026-06-01T11:58:00Z", "2 min"),
        ("2026-06-01T13:55:00+02:00", "5 min"),
        ("2026-05-29T12:00:00Z", "3 d"),
        ("2026-01-01T00:00:00Z", "4 mo"),
        ("2020-01-01T00:00:00Z", "6 y"),
        ("2026-06-01T15:00:00Z", "in 3 h"),
        (None, ""),
    ],
)
def test_age(then: str | None, told: str) -> None:
    assert age(then, NOW) == told


def test_numbers_have_four_digits_that_tell() -> None:
    assert [number(value) for value in (23.06794, 0.0163934, 0.0, 1.0)] == [
        "23.07",
        "0.01639",
        "0.000",
        "1.000",
    ]


def test_one_line() -> None:
    assert one_line(" a\n\n b\tc ", 10) == "a b c"
    assert one_line("one two three", 9) == "one two…"


@given(st.text(max_size=200), st.text(max_size=20), st.integers(10, 80))
def test_a_snippet_is_one_line_that_fits(text: str, query: str, width: int) -> None:
    told = snippet(text, query, width)
    assert len(told) <= width
    assert "\n" not in told


def test_a_snippet_shows_where_the_words_of_the_question_stand() -> None:
    text = "Filler words come first. " * 10 + "The retry budget is ten seconds."
    assert (
        snippet(text, "what is the retry budget?", 60)
        == "…Filler words come first. The retry budget is ten seconds."
    )
    assert snippet(text, "nothing of it", 18) == "Filler words come…"


def test_content_of_every_kind_of_hit() -> None:
    assert content_of({"kind": "fragment", "fragment": {"content": "text"}}) == "text"
    fact = {"kind": "fact", "fact": {"subject": "billing", "predicate": "is owned by", "object": "Edda"}}
    assert content_of(fact) == "billing is owned by Edda"
    assert content_of({"kind": "other"}) == ""
