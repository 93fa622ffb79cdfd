"""The documented adjustments, number for number."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from app.recall import adjustments
from app.recall.adjustments import Passage
from app.recall.cues import phrase_cues
from app.recall.fusion import rrf

NOW = datetime(2026, 7, 15, tzinfo=UTC)
BASE = 1 / 64 + 1 / 62


def passage(number, content, time=NOW, recall_text=None):
    return Passage(UUID(int=number), content, recall_text or content, time)


def amounts(query, *contents, times=None):
    """What each content's score gained, from a base that no adjustment can floor."""
    passages = [
        passage(number, content, time)
        for number, (content, time) in enumerate(zip(contents, times or [NOW] * len(contents), strict=True))
    ]
    cues = phrase_cues()
    results = adjustments.documented(
        query, cues.intent(query), cues, passages, [1.0] * len(passages), now=NOW
    )
    return [pytest.approx(result.score - 1.0, abs=1e-9) for result in results]


def test_the_worked_example_of_the_page():
    ref = UUID(int=1)
    assert rrf({ref: 4}, {ref: 2})[ref] == pytest.approx(0.031754, abs=5e-7)


def test_each_ranking_anchor_found_adds_the_same():
    query = "What did job UNT-013 do in recall_memory?"
    assert amounts(query, "job UNT-013 called recall_memory", "job UNT-013 failed", "nothing") == [
        0.008,
        0.004,
        0,
    ]


@pytest.mark.parametrize(
    ("content", "amount"),
    [
        ("The plan is current.", 0.024),
        ("The plan is active now.", 0.024),
        ("The plan is obsolete.", -0.024),
        ("The current plan replaced that one.", 0.024 - 0.006),
        ("A legacy plan.", -0.012),
        ("An archived, legacy plan.", -0.028),
        ("A plan.", 0),
    ],
)
def test_wording_for_currentness(content, amount):
    assert amounts("What is the latest plan?", content) == [amount]


def test_dates_for_currentness():
    query = "What is the latest owner?"
    contents = [
        "Owner Ann, dated 2026-07-10.",
        "Owner Ben, dated 2026-07-08.",
        "Owner Cid, dated 2026-07-05.",
        "Owner Dan, dated 2026-07-01.",
        "Owner Eva.",
        "The current owner is Fay.",
    ]
    assert amounts(query, *contents) == [0.028, 0.014, -0.018, -0.026, -0.006, -0.006]


def test_times_count_only_when_no_content_has_a_date_and_they_are_a_day_apart():
    times = [NOW, NOW - timedelta(hours=30), NOW - timedelta(days=5), NOW - timedelta(days=9)]
    assert amounts("What is the latest owner?", "a", "b", "c", "d", times=times) == [
        0.014,
        0.007,
        -0.010,
        -0.014,
    ]
    close = [NOW, NOW - timedelta(hours=23)]
    assert amounts("What is the latest owner?", "a", "b", times=close) == [0, 0]


def test_what_is_past_its_written_end_is_expired():
    assert amounts("As of 2026-07-02, what is the rate?", "The rate is 5, valid until 2026-07-01.") == [-0.04]
    assert amounts("As of 2026-06-30, what is the rate?", "The rate is 5, valid until 2026-07-01.") == [0]


@pytest.mark.parametrize(
    ("content", "amount"),
    [
        ("Teams must use vendor A.", 0.022),
        ("The policy: teams must use vendor A.", 0.026),
        ("Enterprise teams must use vendor A.", 0.026),
        ("It does not apply to vendor A.", -0.022),
        ("A fallback note on vendor A.", -0.012),
        ("Vendor A is forbidden, a rumor.", -0.026),
    ],
)
def test_selection(content, amount):
    assert amounts("Which vendor should enterprise teams use?", content) == [amount]


def test_what_was_used_before_yields_to_a_directive():
    contents = ["Teams must use vendor A.", "Vendor B was used before."]
    assert amounts("Which vendor should teams use?", *contents) == [0.022, -0.026]


@pytest.mark.parametrize(
    ("content", "amount"),
    [
        ("The official rate is 5.", 0.026),
        ("The official rate is required.", 0.032),
        ("An informal chat on the rate.", -0.028),
        ("An informal chat, suggested while testing.", -0.034),
        ("The rate was suggested.", -0.018),
    ],
)
def test_authority(content, amount):
    assert amounts("What is the required rate?", content) == [amount]


def test_source_of_truth_does_not_ask_for_authority_though_the_page_says_so():
    assert amounts("What is the source of truth for the rate?", "The official rate is 5.") == [0]


def test_up_cues_need_the_identifiers_of_the_query():
    query = "What is the current state of UNT-013?"
    assert amounts(query, "UNT-013 is active", "UNT-014 is active") == [0.024, 0]


def test_scores_are_floored_at_zero_and_notes_add_up():
    query = "What is the current plan?"
    cues = phrase_cues()
    [result] = adjustments.documented(
        query, cues.intent(query), cues, [passage(1, "An archived plan.")], [0.01], now=NOW
    )
    assert result.score == 0
    assert [(note.rule, note.amount, note.cue) for note in result.notes] == [
        ("currentness", -0.024, "archived")
    ]


def test_a_question_without_intent_changes_nothing():
    assert amounts("Where is the plan?", "The current plan is archived.") == [0]
