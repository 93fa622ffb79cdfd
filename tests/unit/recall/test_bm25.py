"""BM25's weights, the choice of candidates, and the proof that it changes nothing."""

import math

from hypothesis import given
from hypothesis import strategies as st
from pytest import approx  # noqa: PT013 - reads as arithmetic

from app.recall import bm25
from app.recall.bm25 import Caps, Selection, TermWeight

CAPS = Caps(first=100, most=1_000, terms=8)


def test_idf_is_lucenes() -> None:
    assert bm25.idf(1_000, 10) == approx(math.log(1 + (1_000 - 10 + 0.5) / (10 + 0.5)))


@given(total=st.integers(1, 10**7), data=st.data())
def test_idf_is_positive_and_falls_with_frequency(total: int, data: st.DataObject) -> None:
    documents = data.draw(st.integers(0, total - 1))
    assert 0 < bm25.idf(total, documents + 1) < bm25.idf(total, documents)


def test_weights_come_rarest_first_and_unknown_terms_are_left_out() -> None:
    weights = bm25.weigh({"common": 1, "rare": 2, "unknown": 1}, {"common": 50, "rare": 2}, 100, CAPS)
    assert [(weight.term, weight.documents) for weight in weights] == [("rare", 2), ("common", 50)]
    assert weights[0].weight == approx(2 * bm25.idf(100, 2))


def test_only_the_rarest_terms_of_a_long_question_are_scored() -> None:
    counts = {f"t{n:02}": 1 for n in range(20)}
    frequencies = {term: index + 1 for index, term in enumerate(counts)}
    assert [weight.term for weight in bm25.weigh(counts, frequencies, 100, CAPS)] == list(counts)[:8]


def weights(*documents: int) -> list[TermWeight]:
    return [TermWeight(f"t{index}", count, 1.0 / (index + 1)) for index, count in enumerate(documents)]


def test_selection_takes_the_rarest_terms_that_fit_the_budget() -> None:
    selection = bm25.select(weights(10, 80, 500), budget=100, caps=CAPS)
    assert selection == Selection("any", ("t0", "t1"), bound=approx(1 / 3))


def test_the_rarest_term_selects_even_when_it_alone_exceeds_the_first_budget() -> None:
    assert bm25.select(weights(300, 400), budget=100, caps=CAPS).terms == ("t0",)


def test_when_every_word_is_common_memories_with_all_of_them_are_candidates() -> None:
    selection = bm25.select(weights(2_000, 3_000), budget=1_000, caps=CAPS)
    assert (selection.mode, selection.terms, selection.bound) == ("all", ("t0", "t1"), math.inf)


def test_a_single_common_word_makes_the_branch_abstain() -> None:
    selection = bm25.select(weights(2_000), budget=1_000, caps=CAPS)
    assert selection.mode == "none"
    assert "too many" in selection.reason


def test_no_known_word_makes_the_branch_abstain() -> None:
    assert bm25.select([], budget=1_000, caps=CAPS).mode == "none"


def test_the_best_are_exact_once_they_reach_what_others_can_score() -> None:
    assert bm25.is_exact([3.0, 2.0], bound=2.0, depth=2)
    assert not bm25.is_exact([3.0, 1.9], bound=2.0, depth=2)
    assert not bm25.is_exact([3.0], bound=2.0, depth=2)
    assert bm25.is_exact([], bound=0, depth=10)


def test_question_words_stay_when_nothing_else_is_asked() -> None:
    assert bm25.asked_counts({"who": 1}, frozenset({"who"})) == {"who": 1}
    assert bm25.asked_counts({"who": 1, "retri": 1}, frozenset({"who"})) == {"retri": 1}


def test_length_normalisation_is_bounded() -> None:
    assert bm25.length_normalisation(8) == 0.4
    assert bm25.length_normalisation(30) == approx(0.6)
    assert bm25.length_normalisation(400) == 0.75


def score(tfs: list[int], weighed: list[TermWeight]) -> float:
    return sum(weight.weight * tf / (tf + 1.2) for weight, tf in zip(weighed, tfs, strict=True))


@given(
    documents=st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=1, max_size=60),
    budget=st.integers(1, 40),
    depth=st.integers(1, 5),
)
def test_a_ranking_called_exact_is_the_exhaustive_one(
    documents: list[list[int]], budget: int, depth: int
) -> None:
    caps = Caps(first=budget, most=10_000)
    frequencies = {f"t{n}": sum(tfs[n] > 0 for tfs in documents) for n in range(3)}
    weighed = bm25.weigh({"t0": 1, "t1": 2, "t2": 1}, frequencies, len(documents), caps)
    order = [int(weight.term[1]) for weight in weighed]
    scores = [score([tfs[n] for n in order], list(weighed)) for tfs in documents]
    selection = bm25.select(weighed, budget, caps)
    chosen = [int(term[1]) for term in selection.terms]
    candidates = sorted(
        (s for tfs, s in zip(documents, scores, strict=True) if any(tfs[n] for n in chosen)), reverse=True
    )
    if bm25.is_exact(candidates, selection.bound, depth):
        best = [s for s in sorted(scores, reverse=True)[:depth] if s > 0]
        assert candidates[: len(best)] == best
