"""Near-duplicates, and maximal marginal relevance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.recall.diversity import are_near_duplicates, collapse, mmr, signature


def same(first: str, second: str) -> bool:
    forward = are_near_duplicates(signature(first), signature(second))
    assert forward == are_near_duplicates(signature(second), signature(first))
    return forward


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The printer on the third floor jams weekly.", "the PRINTER on the third floor jams weekly"),
        (
            "The warehouse inventory is counted by the night crew.",
            "The night crew counts the warehouse inventory.",
        ),
        (
            "Visitors must sign the guest register at reception.",
            "At reception visitors need to sign the guest register.",
        ),
        (
            "During storms the ferry to Harris is cancelled.",
            "The ferry to Harris is cancelled during storms.",
        ),
        ("x", "X!"),
    ],
)
def test_the_same_in_another_order_or_form(first, second):
    assert same(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The permit is valid for the site until March.", "The permit is valid for the site until May."),
        ("The gate is locked during the night shift.", "The gate is not locked during the night shift."),
        ("The lab keeps samples for 30 days in storage.", "The lab keeps samples for 60 days in storage."),
        ("The lab keeps samples for ten days in storage.", "The lab keeps samples for two days in storage."),
        ("Yesterday Ann sold the red boat to Bob.", "Yesterday Bob sold the red boat to Ann."),
        ("the brown cat chased the small dog", "the small dog chased the brown cat"),
        ("a big brown fluffy cat chased the small grey dog", "a small grey dog chased the big brown fluffy cat"),
        ("we copy the ledger data from mysql to postgres", "we copy the ledger data from postgres to mysql"),
        ("the archive bucket of the analytics team is stored in frankfurt", "the archive bucket of the analytics team is stored in london"),
        ("Service OBS-001 restarts every night after backups.", "Service OBS-002 restarts every night after backups."),
        ("Guests may use the gym in the morning.", "Guests may only use the gym in the morning."),
        ("The old server hosts the wiki and the forum.", "The new server hosts the wiki and the forum."),
        ("The rota moved from Monday to Friday for drivers.", "The rota moved from Friday to Monday for drivers."),
        ("Lunch is at noon.", "Dinner is at noon."),
    ],
)  # fmt: skip
def test_what_differs_in_meaning_is_a_revision(first, second):
    assert not same(first, second)


def test_long_texts_are_duplicates_only_when_equal():
    text = "The night crew counts the warehouse inventory. " * 40
    assert same(text, text.upper())
    assert not same(text, text + "Again.")


def test_collapse_keeps_the_first_and_lists_the_others_under_it():
    texts = [
        "Night crews count the inventory daily.",
        "Lunch is at noon.",
        "Daily, night crews count the inventory.",
    ]
    assert collapse(texts, lambda text: text) == [(texts[0], [texts[2]]), (texts[1], [])]


@given(st.lists(st.text(max_size=40), max_size=8))
def test_collapse_loses_nothing_and_keeps_the_order(texts):
    groups = collapse(list(enumerate(texts)), lambda item: item[1])
    leaders = [leader for leader, _ in groups]
    assert leaders == sorted(leaders)
    assert sorted(item for leader, copies in groups for item in (leader, *copies)) == list(enumerate(texts))


def test_mmr_prefers_novelty_after_the_first():
    similarity = [[1, 0.95, 0.1], [0.95, 1, 0.1], [0.1, 0.1, 1]]
    assert mmr([3.0, 2.5, 2.0], lambda i, j: similarity[i][j]) == [0, 2, 1]
    assert mmr([3.0, 2.9, 2.0], lambda i, j: similarity[i][j], trade_off=1.0) == [0, 1, 2]


def test_mmr_details():
    assert mmr([1.0, 1.0, 1.0], lambda _i, _j: 0.0) == [0, 1, 2]
    assert mmr([3.0, 2.0, 1.0], lambda _i, _j: -1.0) == [0, 1, 2]
    assert mmr([4.0, 3.0, 2.0, 1.0], lambda i, j: float({i, j} == {0, 1}), pool=3) == [0, 2, 1, 3]
    assert mmr([], lambda _i, _j: 0.0) == []


@given(st.lists(st.floats(0, 10), max_size=30), st.floats(0, 1))
def test_mmr_is_a_permutation_that_begins_with_the_best(scores, trade_off):
    ordered = sorted(scores, reverse=True)
    order = mmr(ordered, lambda _i, _j: 0.5, trade_off=trade_off, pool=10)
    assert sorted(order) == list(range(len(ordered)))
    assert order[:1] == [0][: len(ordered)]
