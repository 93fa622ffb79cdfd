"""Cues hold on wordings that no list has: negation, tense, hedges, other word order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.recall.cues import clause_cues, padded, phrase_cues

STRATA, DOCUMENTED = clause_cues(), phrase_cues()


def test_plain_phrases_are_looked_for_in_padded_text():
    assert padded("  What (is)\tNow?\n") == " what is now "


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("What is the current owner?", ["currentness"]),
        ("Which vendor should we use?", ["selection"]),
        ("What is the canonical rate?", ["authority"]),
        ("Which note says that?", ["evidence_source"]),
        ("What is the currently best?", []),
        ("What is the source of truth?", []),
    ],
)
def test_documented_intents(query, names):
    assert DOCUMENTED.intent(query).names == names


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Who owns billing these days?", "currentness"),
        ("Is the old rule still in force?", "currentness"),
        ("What was the deadline before the change?", "past"),
        ("Who owned billing originally?", "past"),
        ("Did the address ever change?", "change"),
        ("What is the source of truth for the rate?", "authority"),
        ("Which queue are we supposed to use?", "selection"),
        ("In whose memo does it say so?", "evidence_source"),
    ],
)
def test_intents_by_other_words(query, name):
    assert name in STRATA.intent(query).names


@pytest.mark.parametrize(
    "query",
    [
        "What approval does an invoice need?",
        "How old is Bob?",
        "Where do we keep spare tubes?",
        "What did Ann research?",
    ],
)
def test_ordinary_questions_have_no_intent(query):
    assert STRATA.intent(query).names == []


@pytest.mark.parametrize(
    "content",
    [
        "The rota is current.",
        "As of June the rota is run by Eve.",
        "The rota moved to Fridays.",
        "Plan B supersedes plan A.",
        "The owner is now Eve (previously Bob).",
        "The rule is not obsolete; it is in force.",
    ],
)
def test_what_holds_now(content):
    assert STRATA.read(content).currentness > 0.5


@pytest.mark.parametrize(
    "content",
    [
        "The rota is no longer current.",
        "This isn't the current rota.",
        "Bob was the active owner.",
        "Plan A has since been superseded.",
        "Bob used to run the rota.",
        "The rota is not run by Bob anymore.",
        "The notice was withdrawn by legal.",
    ],
)
def test_what_holds_no_more(content):
    assert STRATA.read(content).currentness < -0.5


def test_a_hedge_halves_what_it_stands_beside():
    plain, hedged = STRATA.read("The owner is now Eve."), STRATA.read("Perhaps the owner is now Eve.")
    assert hedged.hedged
    assert hedged.currentness < plain.currentness / 2


@pytest.mark.parametrize(
    ("content", "sign"),
    [
        ("Teams must use vendor A.", 1),
        ("Teams must not use vendor A.", -1),
        ("Vendor A is prohibited.", -1),
        ("Vendor A is assigned to all teams.", 1),
        ("Vendor A does not apply here.", -1),
    ],
)
def test_what_to_use(content, sign):
    assert STRATA.read(content).selection * sign > 0.5


@pytest.mark.parametrize(
    ("content", "sign"),
    [
        ("Ratified by the board.", 1),
        ("This was not approved by the board.", -1),
        ("Overheard at lunch.", -1),
        ("The official figure is 5.", 1),
    ],
)
def test_how_binding(content, sign):
    assert STRATA.read(content).authority * sign > 0.5


def test_documented_cues_know_no_negation():
    assert DOCUMENTED.find(padded("It is no longer current."), "current") == "current"


@given(st.text(max_size=200))
def test_any_text_is_read_the_same_twice_and_within_bounds(text):
    first, second = STRATA.reading_of(text), STRATA.reading_of(text)
    assert first == second
    assert max(map(abs, (first.currentness, first.selection, first.authority))) <= 2
