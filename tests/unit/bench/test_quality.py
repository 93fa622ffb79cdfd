"""From answers to rankings to tables."""

import pytest

from app.bench.measures import MEASURES, evaluate
from app.bench.quality import SYSTEMS, System, arm_order, details, expand, ranking_of, summary

CANDIDATES = [
    {"id": "f1", "keyword_rank": 0, "semantic_rank": 1},
    {"id": "f2", "keyword_rank": 2, "semantic_rank": 2},
    {"id": "f3", "keyword_rank": 1, "semantic_rank": 0},
]
DOCUMENTS = {"f1": ["d1", "d1b"], "f2": ["d2"], "f3": ["d3"]}


def test_an_arm_is_what_it_returned_in_its_own_order() -> None:
    assert arm_order(CANDIDATES, "keyword_rank") == ["f3", "f2"]
    assert arm_order(CANDIDATES, "semantic_rank") == ["f1", "f2"]


def test_equal_documents_share_a_fragment_and_excluded_ones_are_left_out() -> None:
    assert expand(["f1", "f2", "f1"], DOCUMENTS, frozenset()) == ["d1", "d1b", "d2"]
    assert expand(["f1", "f2"], DOCUMENTS, frozenset({"d1"})) == ["d1b", "d2"]


def test_candidates_below_the_results_follow_them() -> None:
    answer = {"results": [{"id": "f2"}], "explain": {"candidates": CANDIDATES}}
    assert ranking_of(answer, DOCUMENTS, frozenset()) == ["d2", "d1", "d1b", "d3"]


def test_measures_are_those_of_the_field() -> None:
    judgements = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}, "q3": {"z": 1}}
    found = evaluate({"q1": ["x", "a", "b"], "q2": []}, judgements)
    assert set(found) == set(MEASURES)
    # q1: (1/log2(3) + 1/log2(4)) / (1 + 1/log2(3)) = .69343; q2 found nothing; q3 was not asked.
    assert found["nDCG@10"] == pytest.approx(0.69343 / 2, abs=1e-5)
    assert found["R@5"] == 0.5
    assert found["RR@10"] == 0.25


def test_order_and_not_name_decides() -> None:
    judgements = {"q": {"a": 1}}
    assert evaluate({"q": ["z", "a"]}, judgements)["RR@10"] == 0.5
    assert evaluate({"q": ["0", "a"]}, judgements)["RR@10"] == 0.5


def figures(keyword: float, semantic: float, rrf: float, strata: float) -> dict[System, dict[str, float]]:
    by_system = zip(SYSTEMS, (keyword, semantic, rrf, strata), strict=True)
    return {system: dict.fromkeys(MEASURES, value) for system, value in by_system}


def test_the_summary_sets_strata_beside_the_best_of_the_others() -> None:
    table = summary(
        {"scifact": figures(0.6, 0.5, 0.7, 0.75), "own": figures(0.8, 0.1, 0.4, 0.79)},
        {"scifact": (10, 5), "own": (3, 2)},
    )
    scifact, own, mean = table.rows
    assert scifact["margin"] == pytest.approx(0.05)
    assert scifact["held"] is True
    assert scifact["bm25"] == 0.686
    assert own["margin"] == pytest.approx(-0.01)
    assert own["held"] is False
    assert own["bm25"] is None
    assert mean["strata-v1"] == pytest.approx(0.77)
    assert mean["margin"] == pytest.approx(0.77 - 0.7)
    assert mean["held"] is False
    assert all({column.key for column in table.columns} <= set(row) for row in table.rows)


def test_details_have_every_measure() -> None:
    table = details({"own": figures(0.1, 0.2, 0.3, 0.4)})
    assert [row["system"] for row in table.rows] == list(SYSTEMS)
    assert table.rows[3]["R@100"] == 0.4
