"""Memories that yield their slot to a sibling: each rule, its counter-examples, and what holds for any texts."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.recall.adjustments import Passage
from app.recall.cues import clause_cues
from app.recall.siblings import SiblingRules, yielding

NOW = datetime(2026, 7, 15, tzinfo=UTC)
CUES = clause_cues()
RULES = SiblingRules()


def yielded(query, *contents, scores=None, times=None, authority=None, coverage=None):
    """Place to (rival's place, rule)."""
    moments = times or [NOW] * len(contents)
    standing = authority or ["unknown"] * len(contents)
    passages = [
        Passage(UUID(int=place), content, content, moments[place], standing[place])
        for place, content in enumerate(contents)
    ]
    found = yielding(
        query,
        CUES.intent(query),
        CUES,
        passages,
        scores or [10.0 - place / 10 for place in range(len(contents))],
        coverage=coverage or [0.5] * len(contents),
        rules=RULES,
        now=NOW,
    )
    return {one.place: (one.rival, one.rule) for one in found}


CORRECTIONS = [
    (
        "How tall is the chimney of the brickworks?",
        "The chimney of the brickworks is 40 metres tall.",
        "The figure of 40 metres for the chimney of the brickworks was a mistake; it is 52.",
    ),
    (
        "Which ward does nurse Adeola work on?",
        "Nurse Adeola works on the surgical ward.",
        "Nurse Adeola switched wards in June and works with newborns, no matter what the surgical rota tells.",
    ),
    (
        "Can the skylight be opened?",
        "The skylight can be opened with the brass crank.",
        "The skylight cannot be opened any more since the brass crank broke.",
    ),
]


@pytest.mark.parametrize(("query", "said", "correction"), CORRECTIONS)
def test_what_is_corrected_yields_to_its_correction_wherever_both_stand(query, said, correction):
    assert yielded(query, said, correction) == {0: (1, "corrected")}
    assert yielded(query, correction, said) == {1: (0, "corrected")}


@pytest.mark.parametrize("said", [said for _, said, _ in CORRECTIONS])
def test_a_correction_of_something_else_moves_nothing(said):
    assert yielded("Who tunes the organ?", said, "The organ key was wrong; it was replaced.") == {}


@pytest.mark.parametrize(
    ("query", "hearsay", "plain"),
    [
        (
            "When does the harbour pilot retire?",
            "A deckhand told us the harbour pilot will retire at Easter.",
            "The harbour pilot will retire in the autumn.",
        ),
        (
            "How many spores does the fungus release?",
            "“The fungus releases a million spores a day”, runs a saying.",
            "The fungus releases eleven thousand spores a day.",
        ),
    ],
)
def test_hearsay_yields_to_a_plain_statement(query, hearsay, plain):
    assert yielded(query, hearsay, plain) == {0: (1, "hearsay")}


def test_a_question_about_what_was_said_keeps_the_hearsay():
    told = "A deckhand told us the harbour pilot will retire at Easter."
    assert yielded("What did the deckhand say?", told, "The harbour pilot will retire in the autumn.") == {}


def test_inferred_yields_to_authority_on_the_same_subject_alone():
    query = "How wide is the towpath?"
    contents = ("The towpath is about three metres wide.", "The towpath is 2.4 metres wide.")
    assert yielded(query, *contents, authority=["inferred", "authoritative"]) == {0: (1, "authority")}
    assert yielded(query, *contents, authority=["unknown", "authoritative"]) == {}
    other = ("The towpath is about three metres wide.", "Bicycles are 60 centimetres at the handlebar.")
    assert yielded(query, *other, authority=["inferred", "authoritative"]) == {}


def test_authority_over_less_of_the_question_settles_nothing():
    said = "Rumour has it that the ferry hoist lifts nine cars; that is nonsense, it lifts six."
    manual = "The manual of the hoist requires gloves."
    query = "How many cars does the ferry hoist lift?"
    assert yielded(query, said, manual, authority=["unknown", "authoritative"]) == {}


REVISED = (
    "The tide gate of the north basin closes at half past nine.",
    "The tide gate of the north basin closes at a quarter to ten.",
)


def test_a_question_for_now_keeps_the_newer_and_one_for_before_the_older():
    times = [NOW - timedelta(days=40), NOW - timedelta(days=2)]
    assert yielded("When does the tide gate close now?", *REVISED, times=times) == {0: (1, "revised")}
    assert yielded("When did the tide gate close before?", *REVISED, times=times) == {1: (0, "revised")}


def test_an_ordinary_question_keeps_both_revisions():
    times = [NOW - timedelta(days=40), NOW - timedelta(days=2)]
    assert yielded("When does the tide gate close?", *REVISED, times=times) == {}
    assert yielded("Did the closing of the tide gate ever change?", *REVISED, times=times) == {}


@pytest.mark.parametrize(
    ("query", "right", "wrong"),
    [
        (
            "What voltage does the pump in hall Gamma need?",
            "The pump in hall Gamma needs 400 volts.",
            "The pump in hall Delta needs 230 volts.",
        ),
        (
            "Who teaches the fourth graders chess?",
            "Ms. Ito teaches the fourth graders chess.",
            "Mr. Rao teaches the sixth graders chess.",
        ),
        (
            "What does my uncle Felix collect?",
            "My uncle Felix collects lamps from trams, 40 of them.",
            "My colleague Felix collects coins.",
        ),
    ],
)
def test_one_that_has_another_thing_instead_yields(query, right, wrong):
    assert yielded(query, right, wrong)[1][0] == 0
    assert yielded(query, wrong, right)[0][0] == 1


def test_a_namesake_yields_to_the_one_that_the_question_describes():
    found = yielded(
        "Who looks after Orion, the research vessel?",
        "Orion, the research vessel, is looked after by Mette.",
        "Orion, the cat, sleeps on the boiler.",
    )
    assert found == {1: (0, "another")}


def test_two_facts_of_one_person_are_no_siblings():
    assert (
        yielded(
            "What does Odile like to drink?",
            "Odile likes to drink rooibos.",
            "Odile rows on Sundays.",
            "Odile has a son in Porto.",
            scores=[20.0, 5.0, 4.0],
        )
        == {}
    )


def test_a_paraphrase_does_not_yield():
    assert (
        yielded(
            "Who taught Ansel to weld?",
            "It was Birgit who taught Ansel to weld.",
            "Ansel learned to weld from Birgit.",
        )
        == {}
    )


def test_a_rule_stays_beside_its_exception():
    assert (
        yielded(
            "Which ramp may a crew with a blue badge take?",
            "Exception: a crew with a blue badge may take ramp 4.",
            "A crew must not take ramp 4 but ramp 2.",
        )
        == {}
    )


def test_a_bare_contradiction_is_settled_by_nobody():
    assert (
        yielded(
            "Is the weir lit at night?",
            "The weir by the mill is lit at night.",
            "The weir by the mill is not lit at night.",
        )
        == {}
    )


def test_parallel_answers_of_a_question_for_all_of_them_stay():
    assert (
        yielded(
            "When are the gliding clubs open?",
            "The gliding club of Varel is open on Saturdays.",
            "The gliding club of Leer is open on Sundays.",
            scores=[10.0, 8.0],
        )
        == {}
    )


def test_what_holds_the_identifier_beside_its_text_goes_first():
    contents = ("The belt stopped since the sensor was dirty.", "The belt stopped since the fuse had blown.")
    query = "Why did the belt stop on shift 7?"
    assert yielded(query, *contents, coverage=[0.9, 0.4]) == {1: (0, "beside")}
    assert yielded(query, *contents) == {}


def test_of_two_things_the_one_that_the_best_match_names_stays():
    found = yielded(
        "Who holds the key of the locker with the altimeter?",
        "The altimeter lies in locker 31.",
        "The key of locker 32 is held by Gry.",
        "The key of locker 31 is held by Sanna.",
        scores=[20.0, 9.0, 8.9],
    )
    assert found == {1: (2, "unlinked")}


def test_a_long_question_makes_nothing_yield():
    query, said, correction = CORRECTIONS[0]
    dialogue = (
        f"{query} I walked past ponds, barns, cranes, kilns, sheds, carts, mules, ovens, boats and swings."
    )
    assert yielded(dialogue, said, correction) == {}


def test_a_question_is_no_statement():
    query, said, correction = CORRECTIONS[0]
    assert yielded(query, said, f"{correction} Or was it?") == {}


def test_code_is_no_statement():
    right = "def size(queue): return the size of the queue, 4 at least"
    assert yielded("size of the queue", right, "def full(queue): False if the queue has no size") == {}


def test_the_same_said_of_another_one_stays():
    assert (
        yielded(
            "How are parcels of Alder weighed?",
            "Parcels of Alder are weighed by two clerks.",
            "Parcels of Birch are weighed by two clerks.",
        )
        == {}
    )


def test_a_dated_statement_does_not_yield_to_an_older_correction():
    newer = "As of 2026-07-01 the chimney of the brickworks is 40 metres tall."
    older = "Correction of 2025-01-10: the chimney of the brickworks is 52 metres tall."
    assert yielded("How tall is the chimney of the brickworks?", newer, older) == {}


def test_a_long_text_is_left_alone():
    long = "The chimney of the brickworks is 40 metres tall. " + "It was built of yellow brick. " * 30
    assert yielded(CORRECTIONS[0][0], long, CORRECTIONS[0][2]) == {}


WORDS = st.sampled_from(
    [
        "the",
        "pump",
        "hall",
        "gamma",
        "delta",
        "400",
        "230",
        "volts",
        "needs",
        "not",
        "wrong",
        "said",
        "Bob",
        "Eve",
        "is",
    ]
)
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=9).map(" ".join), min_size=1, max_size=8, unique=True)
QUERIES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


@given(query=QUERIES, contents=TEXTS, data=st.data())
def test_no_rival_yields_and_one_always_stays(query, contents, data):
    scores = data.draw(
        st.lists(st.floats(0, 50), min_size=len(contents), max_size=len(contents)).map(
            lambda drawn: sorted(drawn, reverse=True)
        )
    )
    found = yielded(query, *contents, scores=scores)
    assert len(found) < len(contents)
    assert not {rival for rival, _ in found.values()} & found.keys()


@given(query=QUERIES, contents=TEXTS)
def test_memories_that_share_no_word_never_yield(query, contents):
    apart = [f"{text} x{place}" for place, text in enumerate(contents[:1])]
    assert yielded(query, *apart, "zebra umbrella quartz") == {}
