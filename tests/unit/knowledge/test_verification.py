"""What the rule verifier takes for a statement, and everything that it does not."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.knowledge.verification import ClaimText, EvidenceText, combined, judge

CLAIM = {
    "subject": "Ada", "predicate": "works_at", "object": "Acme", "polarity": "+", "modality": "assertion",
    "speaker": None, "valid_from": None, "valid_to": None,
}  # fmt: skip


def year(number: int) -> datetime:
    return datetime(number, 1, 1, tzinfo=UTC)


def judged(text: str, evidence: dict[str, Any] | None = None, **claim: Any) -> tuple[str, tuple[str, ...]]:
    found = judge(ClaimText(**{**CLAIM, **claim}), EvidenceText(content=text, **(evidence or {})))
    return found.verdict, found.reasons


@pytest.mark.parametrize(
    "text",
    [
        "Ada works at Acme.",
        "At Acme, Ada has worked since spring.",
        "Ada is nice. She works at Acme.",
        "Ada is nice and she works at Acme.",
        "Bob and Ada work at Acme.",
        "Unlike Bob, Ada works at Acme.",
        "Ada works at Acme, not at Initech.",
        "Ada works at Acme but lives elsewhere.",
        "Ada works at Acme without pay.",
        "Ada does not only visit but works at Acme.",
        "ADA WORKS AT ACME!",
    ],
)
def test_statements_entail(text: str) -> None:
    assert judged(text) == ("entailed", ("stated",))


@pytest.mark.parametrize(
    "text",
    [
        "Ada does not work at Acme.",
        "Ada doesn't work at Acme anymore.",
        "Ada doesn’t work at Acme.",
        "Ada never worked at Acme.",
        "Ada no longer works at Acme.",
        "Ada used to work at Acme.",
        "Ada stopped working at Acme.",
        "Ada refuses to work at Acme.",
        "It is not true that Ada works at Acme.",
        "Neither Ada nor Bob works at Acme.",
        "Nobody, Ada included, works at Acme.",
        "Ada works at Initech, not at Acme, where people work.",
        "Ada works at Initech instead of working at Acme.",
        "Ada was fired from her work at Acme.",
    ],
)
def test_denials_contradict_and_entail_a_denial(text: str) -> None:
    assert judged(text) == ("contradicted", ("negated",))
    assert judged(text, polarity="-") == ("entailed", ("stated",))


def test_a_statement_contradicts_a_denial() -> None:
    assert judged("Ada works at Acme.", polarity="-") == ("contradicted", ("affirmed",))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Does Ada work at Acme?", "question"),
        ("Ada works at Acme, right?", "question"),
        ('Bob told me "Ada works at Acme".', "quotation"),
        ("“I am sure that Ada works at Acme”", "quotation"),
        ("According to Bob, Ada works at Acme.", "quotation"),
        ("Ada says she works at Acme.", "quotation"),
        ("Maybe Ada works at Acme.", "hedged"),
        ("I think Ada works at Acme.", "hedged"),
        ("I wonder whether Ada works at Acme.", "hedged"),
        ("I doubt that Ada works at Acme.", "hedged"),
        ("Ada may work at Acme.", "hedged"),
        ("If Ada works at Acme, she is rich.", "hypothetical"),
        ("Ada would work at Acme.", "hypothetical"),
        ("Suppose Ada works at Acme.", "hypothetical"),
        ("Ada should work at Acme.", "proposal"),
        ("Let's say that Ada works at Acme.", "proposal"),
        ("Ada will work at Acme.", "unrealised"),
        ("Ada wants to work at Acme.", "unrealised"),
        ("Ada applied for work at Acme.", "unrealised"),
    ],
)
def test_what_leaves_it_open_is_insufficient(text: str, reason: str) -> None:
    verdict, reasons = judged(text)
    assert verdict == "insufficient"
    assert reason in reasons


@pytest.mark.parametrize(
    ("text", "verdict", "reason"),
    [
        ("The weather is fine.", "insufficient", "object_not_in_span"),
        ("Ada works at Acmeland.", "insufficient", "object_not_in_span"),
        ("Bob works at Acme.", "neutral", "subject_not_in_span"),
        ("Ada's brother works at Acme.", "neutral", "subject_not_in_span"),
        ("Bob works at Acme and Ada works at Initech.", "neutral", "subject_not_in_span"),
        ("Ada visited Acme.", "neutral", "predicate_not_in_span"),
        ("Ada left Acme.", "neutral", "predicate_not_in_span"),
    ],
)
def test_what_is_about_something_else(text: str, verdict: str, reason: str) -> None:
    assert judged(text) == (verdict, (reason,))


def test_only_the_cited_span_counts() -> None:
    text = "Monday. Ada works at Acme."
    assert judged(text, {"span": (0, 7)}) == ("insufficient", ("object_not_in_span",))
    assert judged(text, {"span": (8, 26)})[0] == "entailed"


def test_who_says_i() -> None:
    mode = {"predicate": "prefers", "object": "dark mode"}
    text = "I prefer dark mode."
    assert judged(text, subject="user", **mode)[0] == "entailed"
    assert judged(text, {"speaker": "Ada"}, **mode)[0] == "entailed"
    assert judged(text, speaker="ada", **mode)[0] == "entailed"
    assert judged(text, **mode) == ("neutral", ("subject_not_in_span",))


def test_terms_that_look_like_doubts_or_denials() -> None:
    for subject, value in (("Ada", "Maybe"), ("Ada", "No Logo"), ("If", "tea"), ("Ada", "The Who")):
        assert judged(f"{subject} likes {value}.", subject=subject, predicate="likes", object=value) == (
            "entailed",
            ("stated",),
        ), value
    assert judged("Ada works at Acme since May 2024.", valid_from=datetime(2024, 5, 1, tzinfo=UTC)) == (
        "entailed",
        ("stated",),
    )


@pytest.mark.parametrize(
    ("text", "claim", "outside"),
    [
        ("Ada works at Acme since 2020.", {"valid_from": year(2020)}, ()),
        ("Ada works at Acme since 2020.", {"valid_from": year(2019)}, ("valid_from_not_in_span",)),
        ("Ada works at Acme.", {"valid_from": year(2020)}, ("valid_from_not_in_span",)),
        ("Ada worked at Acme from 2015 to 2018.", {"valid_from": year(2015), "valid_to": year(2019)}, ()),
        (
            "Ada worked at Acme from 2015 to 2018.",
            {"valid_from": year(2014), "valid_to": year(2020)},
            ("valid_from_not_in_span", "valid_to_not_in_span"),
        ),
        ("Ada used to work at Acme, until 2018.", {"valid_to": year(2019)}, ()),
        ("Ada works at Acme since 3 March 2020.", {"valid_from": datetime(2020, 3, 3, tzinfo=UTC)}, ()),
        ("Ada works at Acme since 2020-03-03.", {"valid_from": datetime(2020, 3, 3, tzinfo=UTC)}, ()),
    ],
)
def test_a_time_must_stand_in_the_span(text: str, claim: dict[str, Any], outside: tuple[str, ...]) -> None:
    assert judged(text, **claim) == (("insufficient", outside) if outside else ("entailed", ("stated",)))


def test_the_times_of_the_fragment_count_too() -> None:
    times = {"times": (year(2020),)}
    assert judged("Ada works at Acme.", times, valid_from=year(2020))[0] == "entailed"
    assert judged("Ada works at Acme.", times, valid_from=year(2021))[0] == "insufficient"


def test_a_quotation_supports_a_claim_that_says_so_and_a_question_none() -> None:
    assert judged("Bob said Ada works at Acme.", modality="quoted")[0] == "entailed"
    assert judged("Does Ada work at Acme?", modality="question")[0] == "insufficient"


def test_goals_are_wishes_and_still_stated() -> None:
    goal = {"predicate": "has_goal", "object": "run a marathon"}
    assert judged("Ada wants to run a marathon.", **goal)[0] == "entailed"
    assert judged("Ada does not want to run a marathon.", **goal)[0] == "contradicted"


def test_a_contradiction_outweighs_support() -> None:
    text = "Ada works at Acme. Ada does not work at Acme."
    assert judged(text)[0] == "contradicted"
    assert combined(["entailed", "contradicted", "neutral"]) == "contradicted"
    assert combined(["neutral", "entailed"]) == "entailed"
    assert combined(["insufficient", "neutral"]) == "neutral"
    assert combined([]) == "insufficient"


def test_a_predicate_of_a_team_is_recognised_by_its_words() -> None:
    assert judged("Ada commutes by bicycle.", predicate="commutes_by", object="bicycle")[0] == "entailed"
    assert judged("Ada sold a bicycle.", predicate="commutes_by", object="bicycle")[0] == "neutral"


@settings(deadline=None)
@given(st.text(max_size=300), st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40))
def test_any_evidence_is_judged_without_failing_and_always_the_same(
    text: str, subject: str, value: str
) -> None:
    first = judged(text, subject=subject, object=value)
    assert first == judged(text, subject=subject, object=value)
    assert first[0] in {"entailed", "contradicted", "neutral", "insufficient"}


WORDS = st.lists(
    st.sampled_from(
        [
            "Ada",
            "Bob",
            "works",
            "at",
            "Acme",
            "not",
            "never",
            "if",
            "maybe",
            "and",
            "but",
            "said",
            "will",
            "?",
            ",",
            "she",
        ]
    ),
    max_size=14,
).map(" ".join)


@settings(deadline=None)
@given(WORDS)
def test_a_doubt_in_the_sentence_never_entails(text: str) -> None:
    verdict, _ = judged(text)
    if verdict == "entailed":
        words = text.casefold().split()
        assert {"ada", "acme", "works"} <= set(words) or {"she", "acme", "works"} <= set(words)
        assert not set(words) & {"if", "maybe", "said"}
        assert not text.rstrip().endswith("?")
