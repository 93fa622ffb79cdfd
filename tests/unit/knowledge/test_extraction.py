"""The grammar: what is read out of a sentence, and what is left alone."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.knowledge.extraction import MAX_CLAIMS, extract
from app.knowledge.verification import ClaimText, EvidenceText, judge


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
        ("My name is Grace Hopper.", ("user", "identity_is", "Grace Hopper", "+", "assertion")),
        ("Please call me Sam.", ("user", "identity_is", "Sam", "+", "assertion")),
        ("Alice is the CEO of Initech.", ("Alice", "identity_is", "the CEO of Initech", "+", "assertion")),
        ("My favourite colour is green.", ("user", "prefers", "green as colour", "+", "assertion")),
        ("My goal is to ship v2.", ("user", "has_goal", "ship v2", "+", "assertion")),
        ("Bob is my manager.", ("Bob", "relationship_to", "manager of user", "+", "assertion")),
        ("Ada's mentor is Bob.", ("Bob", "relationship_to", "mentor of Ada", "+", "assertion")),
        ("I'm currently working on the parser.", ("user", "works_on", "the parser", "+", "assertion")),
        ("I've been working at Stripe.", ("user", "works_at", "Stripe", "+", "assertion")),
        (
            "The billing service depends on Stripe.",
            ("The billing service", "uses", "Stripe", "+", "assertion"),
        ),
        ("Our team moved away from Kafka.", ("Our team", "uses", "Kafka", "-", "assertion")),
        (
            "Ada Lovelace was born in 1815 and died young.",
            ("Ada Lovelace", "born_on", "1815", "+", "assertion"),
        ),
        (
            "Actually, I no longer live in Berlin.",
            ("user", "profile_fact", "live in Berlin", "-", "assertion"),
        ),
    ],
)
def test_a_sentence_is_read(text: str, expected: tuple[str, ...]) -> None:
    [claim] = extract(text)
    assert (claim.subject, claim.predicate, claim.object, claim.polarity, claim.modality) == expected


@pytest.mark.parametrize(
    "text",
    [
        "My manager is Bob.",
        "Bob is my manager.",
        "I've been working at Stripe since March 2019.",
        "Our team switched to Kafka in 2023.",
        "Our team moved away from Kafka.",
        "We deploy to AWS.",
        "Please call me Sam.",
        "Alice and Bob like jazz.",
        "Alice led the migration.",
    ],
)
def test_what_is_read_is_verified(text: str) -> None:
    found = extract(text)
    assert found
    for claim in found:
        fields = {name: getattr(claim, name) for name in ClaimText.__dataclass_fields__ if name != "speaker"}
        assert judge(ClaimText(**fields, speaker=None), EvidenceText(content=text)).verdict == "entailed", (
            claim
        )


@pytest.mark.parametrize(
    "text", ["Let's use Rust.", "The sky was grey.", "I think we should use Rust.", "Hm."]
)
def test_what_states_nothing_is_left_alone(text: str) -> None:
    assert extract(text) == []


def test_two_subjects_of_one_verb_and_two_clauses() -> None:
    read = [
        (claim.subject, claim.object) for claim in extract("Alice and Bob like jazz, but Carol likes rock.")
    ]
    assert read == [("Alice", "jazz"), ("Bob", "jazz"), ("Carol", "rock")]
    read = [(claim.subject, claim.object) for claim in extract("We use PostgreSQL and Redis in production.")]
    assert read == [("user", "PostgreSQL"), ("user", "Redis in production")]


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


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read_without_failing_and_spans_lie_in_it(text: str) -> None:
    claims = extract(text)
    assert len(claims) <= MAX_CLAIMS
    assert all(0 <= claim.start < claim.end <= len(text) and claim.object for claim in claims)


# Predicate, affirmed verb, denied verb, objects that it takes.
FORMS = (
    ("works_at", "works at", "does not work at", ("Acme", "Initech Labs")),
    ("works_at", "is employed by", "is not employed by", ("Acme", "the city")),
    ("works_on", "works on", "doesn't work on", ("the engine", "Strata")),
    ("works_on", "maintains", "no longer maintains", ("the parser",)),
    ("likes", "likes", "never liked", ("green tea", "jazz")),
    ("likes", "enjoys", "does not enjoy", ("hiking",)),
    ("prefers", "prefers", "does not prefer", ("dark mode", "short answers")),
    ("uses", "uses", "doesn't use", ("Postgres", "C++")),
    ("uses", "relies on", "does not rely on", ("Kafka",)),
    ("knows", "knows", "doesn't know", ("Charles Babbage", "Python")),
    ("has_skill", "is fluent in", "is not fluent in", ("French",)),
    ("has_goal", "wants to", "does not want to", ("run a marathon", "learn Rust")),
    ("identity_is", "works as", "does not work as", ("a nurse", "an engineer")),
    ("relationship_to", "is married to", "is not married to", ("William King",)),
    ("profile_fact", "lives in", "no longer lives in", ("London", "New York")),
)
NAMES = ("Ada", "Grace Hopper", "Bob", "Jean-Luc")


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form[1]}")
@settings(deadline=None)
@given(data=st.data())
def test_what_the_grammar_says_is_read_and_verified(
    form: tuple[str, str, str, tuple[str, ...]], data: st.DataObject
) -> None:
    """Grammar and verifier agree: each claim that is read out of a sentence is entailed by that sentence."""
    predicate, affirmed, denied, objects = form
    name, value = data.draw(st.sampled_from(NAMES)), data.draw(st.sampled_from(objects))
    negative = data.draw(st.booleans())
    before = data.draw(st.sampled_from(("", "Well, ", "It rained. ", "Carol likes rain. ")))
    after = data.draw(st.sampled_from((".", "!", ". It rained.", ", because so it is.")))
    year = data.draw(st.none() | st.integers(1990, 2025)) if predicate != "has_goal" else None
    since = "" if year is None else f" since {year}"
    text = f"{before}{name} {denied if negative else affirmed} {value}{since}{after}"
    [claim] = [item for item in extract(text) if item.subject == name]
    assert (claim.predicate, claim.polarity, claim.modality) == (
        predicate,
        "-" if negative else "+",
        "assertion",
    )
    kept = {"relationship_to": "married to ", "profile_fact": "lives in "}.get(predicate, "")
    said = claim.object.removeprefix(kept).replace("live in ", "")
    assert said == value, text
    assert claim.valid_from == (None if year is None else datetime(year, 1, 1, tzinfo=UTC))
    fields = {field: getattr(claim, field) for field in ClaimText.__dataclass_fields__ if field != "speaker"}
    evidence = EvidenceText(content=text, span=(claim.start, claim.end))
    assert judge(ClaimText(**fields, speaker=None), evidence).verdict == "entailed", text


@pytest.mark.parametrize(
    ("doubt", "modality"),
    [
        ("Maybe {}.", "speculation"),
        ("I think {}.", "speculation"),
        ("If {}, fine.", "speculation"),
        ("Bob said that {}.", "quoted"),
        ("Bob says {}.", "quoted"),
    ],
)
@pytest.mark.parametrize("form", FORMS[:7], ids=lambda form: f"{form[1]}")
def test_what_is_doubtful_is_never_read_as_an_assertion(
    form: tuple[str, str, str, tuple[str, ...]], doubt: str, modality: str
) -> None:
    text = doubt.format(f"Ada {form[1]} {form[3][0]}")
    found = extract(text)
    assert {claim.modality for claim in found} <= {modality}, text
    assert all(claim.extract_conf == 0.5 for claim in found)


@pytest.mark.parametrize(
    "unit", ["said ", "Mr. ", "I like a, ", "it's ", "Ada works at Acme and ", "no, well, "]
)
def test_the_longest_content_is_read_to_its_end(unit: str) -> None:
    """Each of these once took minutes: openings and abbreviations could be tried in more ways than one."""
    assert len(extract((unit * 65_536)[:65_536])) <= MAX_CLAIMS
