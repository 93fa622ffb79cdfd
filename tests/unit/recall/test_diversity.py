"""Near-duplicates in one slot, and maximal marginal relevance."""

from hypothesis import given
from hypothesis import strategies as st

from app.lexical.fingerprint import fingerprint
from app.recall.diversity import collapse, mmr


def test_collapse_keeps_the_first_and_lists_the_others_under_it():
    texts = [
        "Night crews count the inventory daily.",
        "Lunch is at noon.",
        "Daily, night crews count the inventory.",
    ]
    assert collapse(texts, fingerprint) == [(texts[0], [texts[2]]), (texts[1], [])]


@given(st.lists(st.text(max_size=40), max_size=8))
def test_collapse_loses_nothing_and_keeps_the_order(texts):
    groups = collapse(list(enumerate(texts)), lambda item: fingerprint(item[1]))
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
