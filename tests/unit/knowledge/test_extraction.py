"""The grammar: what is read out of a sentence, and what is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.knowledge.extraction import MAX_CLAIMS, extract


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I prefer dark roast coffee over tea.", ("user", "prefers", "dark roast coffee", "+", "assertion")),
        ("I don't like cilantro.", ("user", "likes", "cilantro", "-", "assertion")),
        ("We no longer use Redis.", ("user", "uses", "Redis", "-", "assertion")),
        ("I stopped using Vim.", ("user", "uses", "Vim", "-", "assertion")),
        ("I can't stand olives", ("user", "likes", "olives", "-", "assertion")),
        ("Bob is a nurse.", ("Bob", "identity_is", "a nurse", "+", "assertion")),
        ("My wife is Anna", ("Anna", "relationship_to", "wife of user", "+", "assertion")),
        ("Maybe Bob likes jazz.", ("Bob", "likes", "jazz", "+", "speculation")),
        ("Does Bob like jazz?", ("Bob", "likes", "jazz", "+", "question")),
        ("Bob said that Alice hates jazz.", ("Alice", "likes", "jazz", "-", "quoted")),
    ],
)
def test_a_sentence_is_read(text: str, expected: tuple[str, ...]) -> None:
    [claim] = extract(text)
    assert (claim.subject, claim.predicate, claim.object, claim.polarity, claim.modality) == expected


def test_lists_times_and_pronouns() -> None:
    assert [claim.object for claim in extract("The product uses PostgreSQL, Kafka and Redis.")] == [
        "PostgreSQL",
        "Kafka",
        "Redis",
    ]
    [claim] = extract("Bob worked at Initech from 2015 to 2018.")
    assert (str(claim.valid_from), str(claim.valid_to)) == (
        "2015-01-01 00:00:00+00:00",
        "2019-01-01 00:00:00+00:00",
    )
    read = extract("Ada is good at chess. She loves hiking.")
    assert [(claim.subject, claim.resolution_conf) for claim in read] == [("Ada", 0.9), ("Ada", 0.65)]


@given(st.text(max_size=300))
def test_any_text_is_read_without_failing_and_spans_lie_in_it(text: str) -> None:
    claims = extract(text)
    assert len(claims) <= MAX_CLAIMS
    assert all(0 <= claim.start < claim.end <= len(text) and claim.object for claim in claims)
