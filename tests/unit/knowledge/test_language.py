"""Sentences, words and dates of English."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.knowledge.language import (
    DATE,
    LONGEST_SENTENCE,
    content_words,
    date_of,
    first_person,
    is_question,
    is_quoted,
    raw_words,
    sentences,
    stem,
)


def test_sentences_end_where_they_end() -> None:
    text = "Dr. Lovelace met Mr. Babbage, e.g. in 1833. It cost 3.50 pounds! Really?\nYes"
    assert [item.text for item in sentences(text)] == [
        "Dr. Lovelace met Mr. Babbage, e.g. in 1833.",
        "It cost 3.50 pounds!",
        "Really?",
        "Yes",
    ]


@settings(deadline=None)
@given(st.text(max_size=400) | st.text("Mr. a\n", max_size=4_000))
def test_sentences_are_parts_of_the_text_in_order(text: str) -> None:
    found = sentences(text)
    assert all(text[item.start : item.end] == item.text for item in found)
    assert all(one.end <= two.start for one, two in itertools.pairwise(found))
    assert "".join("".join(item.text.split()) for item in found) == "".join(text.split())
    assert all(0 < len(item.text) <= LONGEST_SENTENCE for item in found)


@pytest.mark.parametrize("unit", ["Mr. ", "said ", "it's ", "Ada works at Acme and ", "A1", "x"])
def test_the_longest_content_is_cut_into_bounded_sentences(unit: str) -> None:
    text = (unit * 65_536)[:65_536]
    found = sentences(text)
    assert max(len(item.text) for item in found) <= LONGEST_SENTENCE
    assert "".join("".join(item.text.split()) for item in found) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Is it so?", True),
        ("It is so?", True),
        ('"Is it so?"', True),
        ("It is so.", False),
        ("Who knows.", False),
    ],
)
def test_questions(text: str, asks: bool) -> None:  # noqa: FBT001
    assert is_question(text) is asks


def test_quotations() -> None:
    assert is_quoted('Bob: "Ada likes green tea a lot"', "green tea")
    assert not is_quoted('Ada likes "green tea".', "green tea"), "a title is no quotation"
    assert is_quoted("Bob says Ada likes tea.", "tea")


def test_words() -> None:
    assert content_words("The cats' owner is using C++ at Acme's.") == ["cat", "owner", "using", "c++", "acm"]
    assert content_words("the") == ["the"]
    assert stem("works") == stem("worked") == stem("working") == stem("work")
    assert stem("likes") == stem("like") == stem("liked")
    assert stem("tea") != stem("teal")
    assert first_person(raw_words("That is MY cup")) is True
    assert first_person(raw_words("That is Amy's cup")) is False


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2020", "2020-01-01", "2021-01-01"),
        ("March 2020", "2020-03-01", "2020-04-01"),
        ("Dec. 2020", "2020-12-01", "2021-01-01"),
        ("3 March 2020", "2020-03-03", "2020-03-04"),
        ("3rd of March 2020", "2020-03-03", "2020-03-04"),
        ("March 3, 2020", "2020-03-03", "2020-03-04"),
        ("2020-02-29", "2020-02-29", "2020-03-01"),
    ],
)
def test_dates(text: str, start: str, end: str) -> None:
    match = DATE.search(f"since {text}, they say")
    assert match is not None
    first, after = date_of(match), date_of(match, end=True)
    assert first is not None
    assert after is not None
    assert (first.date().isoformat(), after.date().isoformat()) == (start, end)


@pytest.mark.parametrize("text", ["2021-02-29", "31 February 2020"])
def test_days_that_do_not_exist_are_no_dates(text: str) -> None:
    match = DATE.search(text)
    assert match is not None
    assert date_of(match) is None
