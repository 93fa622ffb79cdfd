"""What makes two statements the same."""

from datetime import UTC, datetime
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from app.knowledge.policies import BUILT_IN
from app.knowledge.promotion import slot
from app.knowledge.statements import LONGEST_KEY, StatementText, claim_hash, digest, sentence_of, term_key


def test_terms_are_compared_folded() -> None:
    same = ["Green Tea", "  green\u00a0 tea. ", "“GREEN TEA”", "green\ttea", "\uff27reen Tea"]
    assert {term_key(text) for text in same} == {"green tea"}
    assert term_key("straße") == term_key("STRASSE")
    assert term_key("C++") != term_key("C")
    assert term_key("...") == "..."


@settings(deadline=None)
@given(st.text(min_size=1, max_size=300))
def test_a_key_is_its_own_key_and_fits_an_index(text: str) -> None:
    key = term_key(text)
    assert len(key.encode()) <= LONGEST_KEY
    assert term_key(text) == key


def test_long_keys_stay_apart() -> None:
    one, two = term_key("\ufdfa" * 256), term_key("\ufdfa" * 255 + "x")
    assert one != two
    assert (one[:7], len(one)) == ("sha256:", 71)


def test_a_claim_is_what_it_says_how_and_since_when() -> None:
    base = StatementText("Ada", "likes", "tea", "+")
    since = datetime(2020, 1, 1, tzinfo=UTC)
    told = [
        claim_hash(base, "assertion", None),
        claim_hash(base, "assertion", since),
        claim_hash(base, "quoted", None),
        claim_hash(StatementText("Ada", "likes", "tea", "-"), "assertion", None),
        claim_hash(StatementText("Ada", "uses", "tea", "+"), "assertion", None),
    ]
    assert len(set(told)) == 5
    assert claim_hash(StatementText("ADA ", "likes", "Tea.", "+"), "assertion", None) == told[0]
    assert len(told[0]) == 32


@settings(deadline=None)
@given(st.lists(st.text(max_size=5), min_size=2, max_size=3))
def test_borders_of_a_digest_count(parts: list[str]) -> None:
    if "\x1f" not in "".join(parts):
        merged = ["".join(parts[:2]), *parts[2:]]
        assert digest(*parts) != digest(*merged)


def test_sentences() -> None:
    assert sentence_of(StatementText("Ada", "works_at", "Acme", "+")) == "Ada works at Acme"
    assert sentence_of(StatementText("Ada", "likes", "tea", "-")) == "Ada not likes tea"


def test_places_of_active_facts() -> None:
    one, two = UUID(int=1), UUID(int=2)
    assert slot(BUILT_IN["works_at"], "Acme", "+", one) == slot(BUILT_IN["works_at"], "Initech", "+", two)
    assert slot(BUILT_IN["works_at"], "Acme", "-", one) != slot(BUILT_IN["works_at"], "Initech", "-", two)
    assert slot(BUILT_IN["likes"], "Tea", "+", one) == slot(BUILT_IN["likes"], "tea ", "-", two)
    assert slot(BUILT_IN["likes"], "tea", "+", one) != slot(BUILT_IN["likes"], "milk", "+", two)
    assert slot(BUILT_IN["corrected"], "tea", "+", one) != slot(BUILT_IN["corrected"], "tea", "+", two)
