"""Our measures against pytrec_eval, which runs trec_eval's own C code."""

from random import Random

import pytest
import pytrec_eval

from app.evaluation.formats.judged import Judged, Scoring
from app.evaluation.formats.rows import Ref
from app.evaluation.scorer import CaseView, Facts, score_case
from app.evaluation.traces import ImportedDocument, RankedRef, Trace

CASES = 1_000
DEPTHS = (1, 3, 5, 10, 50)


def draw(chance: Random) -> tuple[dict[str, int], dict[str, float]]:
    """Grades and scores of one query; few distinct scores, so that many tie."""
    documents = [f"d{number}" for number in range(chance.randint(1, 60))]
    judged = chance.sample(documents, chance.randint(1, len(documents)))
    grades = {name: chance.choice((0, 0, 1, 1, 2, 3)) for name in judged}
    # Some relevant documents never come back, and some that come back were never judged.
    grades |= {f"missing{number}": chance.randint(1, 3) for number in range(chance.randint(0, 3))}
    returned = chance.sample(documents, chance.randint(1, len(documents)))
    return grades, {name: float(chance.randint(0, 8)) for name in returned}


@pytest.fixture(scope="module")
def drawn() -> dict[str, tuple[dict[str, int], dict[str, float]]]:
    chance = Random(20_261_201)
    found = {}
    while len(found) < CASES:
        grades, scores = draw(chance)
        if any(grade > 0 for grade in grades.values()):
            found[f"q{len(found)}"] = (grades, scores)
    return found


@pytest.mark.parametrize("k", DEPTHS)
def test_recall_reciprocal_rank_and_ndcg_agree_on_a_thousand_rankings(drawn, k):
    wanted = pytrec_eval.RelevanceEvaluator(
        {query: grades for query, (grades, _) in drawn.items()},
        {f"recall.{k}", f"ndcg_cut.{k}", "recip_rank"},
    ).evaluate({query: scores for query, (_, scores) in drawn.items()})
    ties = sum(len(set(scores.values())) < len(scores) for _, scores in drawn.values())
    assert ties > CASES / 2
    for query, (grades, scores) in drawn.items():
        # trec_eval breaks ties by name, the later name first.
        order = sorted(scores, key=lambda name: (scores[name], name), reverse=True)
        found = score(order, grades, k)
        assert found.recall_at_k == pytest.approx(wanted[query][f"recall_{k}"], abs=1e-9)
        # trec_eval's reciprocal rank has no depth: below it, it counts for us as nothing.
        reciprocal = wanted[query]["recip_rank"]
        assert found.mrr == pytest.approx(reciprocal if reciprocal >= 1 / k - 1e-12 else 0.0, abs=1e-9)
        assert found.ndcg_at_k == pytest.approx(wanted[query][f"ndcg_cut_{k}"], abs=1e-9)


def score(order, grades, k):
    names = {*order, *grades}
    facts = Facts(
        documents={
            name: ImportedDocument(source_doc_id=name, refs={"fragment": [f"id-{name}"]}) for name in names
        },
        names={f"id-{name}": [name] for name in names},
        groups={},
        spaces={},
    )
    judged = tuple(
        Judged(ref=Ref(type="fragment", source_doc_id=name), role="required", grade=grade)
        for name, grade in grades.items()
        if grade > 0
    )
    trace = Trace(
        case_id="q",
        query="?",
        latency_ms=1.0,
        ranked_refs=[
            RankedRef(rank=rank, type="fragment", id=f"id-{name}", source_doc_ids=[name])
            for rank, name in enumerate(order, start=1)
        ],
    )
    view = CaseView("q", k, (), 1.0, {"ranked": judged})
    return score_case(view, trace, facts, Scoring(gain="linear", k=k)).axes["ranked"]["strict"]
