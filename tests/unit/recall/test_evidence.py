"""Scaled adjustments and abstention: what they do, and what they never do."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.recall.abstention import AbstentionLimits, Evidence, coverage, decide
from app.recall.adjustments import Passage
from app.recall.cues import clause_cues
from app.recall.evidence import Scaling, adjust, asked_day

NOW = datetime(2026, 7, 15, tzinfo=UTC)
CUES = clause_cues()


def passages(*contents, times=None, authority="unknown"):
    moments = times or [NOW] * len(contents)
    return [
        Passage(UUID(int=place), content, content, time, authority)
        for place, (content, time) in enumerate(zip(contents, moments, strict=True))
    ]


def order(query, *contents, scores=None, times=None):
    """Positions by adjusted score, the refuted left out."""
    given_scores = scores or [10.0 - place / 10 for place in range(len(contents))]
    results, refuted = adjust(
        query,
        CUES.intent(query),
        CUES,
        passages(*contents, times=times),
        given_scores,
        now=NOW,
        scaling=Scaling(),
    )
    kept = [place for place in range(len(contents)) if not refuted[place]]
    return sorted(kept, key=lambda place: -results[place].score)


REVISIONS = [
    ("The build queue is served by host alpha.", "The build queue moved to host beta."),
    ("The build queue was served by host alpha.", "The build queue is now served by host beta."),
    ("The build queue of host alpha has been retired.", "The build queue is served by host beta as of June."),
    ("Host alpha no longer serves the build queue.", "Host beta serves the build queue."),
]


@pytest.mark.parametrize(("old", "new"), REVISIONS)
def test_a_question_for_now_finds_the_revision_first(old, new):
    assert order("Which host serves the build queue these days?", old, new)[0] == 1


@pytest.mark.parametrize(("old", "new"), REVISIONS[:2])
def test_a_question_for_before_finds_the_old_one_first(old, new):
    assert order("Which host served the build queue previously?", new, old)[0] == 1


def test_time_decides_between_two_that_are_about_the_same():
    times = [NOW - timedelta(days=40), NOW - timedelta(days=2)]
    contents = ("The ferry timetable has six sailings.", "The ferry timetable has nine sailings.")
    assert order("How many sailings does the ferry timetable have now?", *contents, times=times) == [1, 0]
    assert order(
        "How many sailings did the ferry timetable have before?", *reversed(contents), times=times[::-1]
    ) == [1, 0]


def test_a_period_that_is_named_is_asked_for():
    times = [NOW - timedelta(days=5), NOW - timedelta(days=140)]
    contents = ("The ferry timetable grew to nine sailings.", "The ferry timetable has six sailings.")
    assert order("How many sailings did the timetable have in early 2026?", *contents, times=times) == [1]
    assert asked_day("in late 2025", NOW).isoformat() == "2025-12-31"
    assert asked_day("in 2025", NOW) is None


def test_what_to_use_and_what_binds():
    assert order("Which tank should crews use?", "Crews may not use tank seven.", "Crews use tank nine.") == [
        1
    ]
    contents = (
        "Somebody mentioned at lunch that the limit is 4.",
        "The limit of 5 was ratified by the council.",
    )
    assert order("What is the official limit?", *contents) == [1]


def test_nothing_is_refuted_unless_another_speaks_for_itself():
    assert order("What is the current tank?", "Tank seven is obsolete.", "Tank nine is red.") == [1, 0]


def test_an_ordinary_question_is_left_alone():
    assert order("Where is tank seven?", "Tank seven is obsolete.", "Tank seven is now current.") == [0, 1]


@given(
    st.lists(
        st.tuples(
            st.floats(0, 100),
            st.sampled_from(
                ["It is now current.", "It is obsolete.", "Superseded by B.", "Official, must be used.", "x"]
            ),
        ),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from(["the current one now", "the official one", "which one should we use", "the one before"]),
)
def test_no_fragment_off_topic_ever_passes_one_on_topic(rows, query):
    scores, contents = [score for score, _ in rows], [content for _, content in rows]
    results, refuted = adjust(
        query, CUES.intent(query), CUES, passages(*contents), scores, now=NOW, scaling=Scaling()
    )
    level = Scaling().band * max(scores)
    on_topic = [r.score for r, score in zip(results, scores, strict=True) if score >= level]
    off_topic = [r.score for r, score in zip(results, scores, strict=True) if score < level]
    assert min(on_topic) >= level - 1e-9
    assert all(score < level for score in off_topic)
    assert not any(bad for bad, score in zip(refuted, scores, strict=True) if score < level)


LIMITS = AbstentionLimits(closeness=1 / 3, prominence=6.0, coverage=0.3, agreed_coverage=0.25)


@pytest.mark.parametrize(
    ("closeness", "prominence", "covered", "agreement", "abstained"),
    [
        (0.2, 3.0, 0.1, False, True),
        (0.4, 3.0, 0.0, False, False),
        (0.2, 7.0, 0.0, False, False),
        (0.2, 3.0, 0.3, False, False),
        (0.2, 3.0, 0.26, False, True),
        (0.2, 3.0, 0.26, True, False),
        (None, None, 0.0, False, True),
    ],
)
def test_abstention(closeness, prominence, covered, agreement, abstained):
    verdict = decide(Evidence(closeness, prominence, covered, agreement), LIMITS)
    assert verdict.abstained is abstained
    assert verdict.reason


def test_a_policy_without_limits_never_abstains():
    assert not decide(Evidence(None, None, 0.0, agreement=False), None).abstained


def test_unknown_words_count_against_coverage():
    assert coverage([2.0], [2.0, 2.0], 0, 4.0) == 0.5
    assert coverage([2.0], [2.0, 2.0], 1, 4.0) == 0.25
    assert coverage([], [], 0, 4.0) == 0.0


def test_a_long_text_says_nothing_of_itself_by_a_word_in_passing():
    chat = "We talked of my previous job as a baker for hours. " + "Then we looked at trams and ponds. " * 30
    chat += "These days I keep bees, as you know."
    query = "What was my previous job as a baker like?"
    texts = passages(chat, "My previous job as a baker was hard.")
    results, refuted = adjust(query, CUES.intent(query), CUES, texts, [10.0, 9.0], now=NOW, scaling=Scaling())
    assert results[0].score == 10.0
    assert not results[0].notes
    assert refuted == [False, False]
