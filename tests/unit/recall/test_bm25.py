"""BM25's weights, the choice of candidates, and the proof that it changes nothing."""

import math

from hypothesis import given
from hypothesis import strategies as st
from pytest import approx  # noqa: PT013 - reads as arithmetic

from app.recall import bm25
from app.recall.bm25 import Caps, TermWeight

CAPS = Caps(first=100, work=1_000, terms=8)


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


def test_the_rarest_terms_that_fit_select_first() -> None:
    selection = bm25.select_first(weights(10, 80, 500), total=600, caps=CAPS)
    assert (selection.groups, selection.estimate) == ((("t0", "t1"),), 90)
    assert selection.bound == approx(1 / 3)


def test_nothing_is_outside_when_all_terms_fit() -> None:
    assert bm25.select_first(weights(10, 80), total=600, caps=CAPS).bound == 0


def test_where_even_the_rarest_word_is_common_all_words_select_first() -> None:
    selection = bm25.select_first(weights(200, 300), total=600, caps=CAPS)
    assert (selection.groups, selection.bound) == ((("t0",), ("t1",)), math.inf)
    assert "every word is common" in selection.note


def test_a_single_word_is_searched_while_that_is_affordable() -> None:
    assert bm25.select_first(weights(900), total=1_000, caps=CAPS).groups == (("t0",),)
    abstained = bm25.select_first(weights(2_000), total=3_000, caps=CAPS)
    assert abstained.groups == ()
    assert "too many" in abstained.note


def test_no_known_word_makes_the_branch_abstain() -> None:
    assert bm25.select_first([], total=10, caps=CAPS).groups == ()


def test_what_could_still_reach_the_score_holds_a_term_of_every_group() -> None:
    even = [TermWeight(f"t{n}", 10, 1.0) for n in range(3)]
    rest = bm25.select_rest(even, total=100, score=1.5, caps=CAPS)
    assert rest is not None
    assert rest.groups == (("t0", "t1"), ("t1", "t2"))
    assert bm25.select_rest(even, total=100, score=0, caps=CAPS).groups == (("t0", "t1", "t2"),)  # type: ignore[union-attr]


def test_a_rest_that_costs_too_much_is_left() -> None:
    assert bm25.select_rest(weights(500, 600), total=1_000, score=0.1, caps=CAPS) is None


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
    documents=st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=1, max_size=60),
    first=st.integers(1, 40),
    depth=st.integers(1, 5),
)
def test_no_document_outside_the_selections_is_among_the_best(
    documents: list[list[int]], first: int, depth: int
) -> None:
    caps = Caps(first=first, work=10_000)
    frequencies = {f"t{n}": sum(tfs[n] > 0 for tfs in documents) for n in range(4)}
    weighed = bm25.weigh({"t0": 1, "t1": 2, "t2": 1, "t3": 1}, frequencies, len(documents), caps)
    order = [int(weight.term[1]) for weight in weighed]
    scores = [score([tfs[n] for n in order], list(weighed)) for tfs in documents]

    def matching(groups: tuple[tuple[str, ...], ...]) -> set[int]:
        return {
            index
            for index, tfs in enumerate(documents)
            if groups and all(any(tfs[int(term[1])] for term in group) for group in groups)
        }

    selection = bm25.select_first(weighed, len(documents), caps)
    candidates = matching(selection.groups)
    found = sorted((scores[index] for index in candidates), reverse=True)
    if selection.groups and not bm25.is_exact(found, selection.bound, depth):
        rest = bm25.select_rest(
            weighed, len(documents), found[depth - 1] if len(found) >= depth else 0.0, caps
        )
        assert rest is not None
        candidates |= matching(rest.groups)
    best = [value for value in sorted(scores, reverse=True)[:depth] if value > 0]
    assert sorted((scores[index] for index in candidates), reverse=True)[: len(best)] == best
