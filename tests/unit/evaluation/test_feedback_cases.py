import msgspec

from app.evaluation.feedback import Review, ReviewedRef, accepted_rows, candidates
from app.evaluation.traces import RankedRef, Trace

TRACE = Trace(
    case_id="r1",
    query="Where is the key?",
    latency_ms=1.0,
    ranked_refs=[
        RankedRef(rank=1, type="fragment", id="f1", source_doc_ids=["d1"]),
        RankedRef(rank=2, type="fragment", id="f2", source_doc_ids=["d2", "d3"]),
        RankedRef(rank=3, type="fact", id="t3", source_doc_ids=["d4"]),
    ],
)


def proposed(**review):
    found = candidates([TRACE], {"r1": Review(recall_id="r1", **review)})[0]
    return found, [
        [(ref.type, ref.source_doc_id or ref.id) for ref in refs]
        for refs in (found.qrel.required_refs, found.qrel.acceptable_refs, found.qrel.bad_refs)
    ]


def test_a_supported_answer_proposes_its_first_item_that_nobody_called_irrelevant():
    found, refs = proposed(
        answer_supported=True,
        quality="high",
        irrelevant_result_refs=[ReviewedRef(type="fragment", id="f1", rank=1)],
    )
    # Two documents became f2, so only its id names it.
    assert refs == [[("fragment", "f2")], [("fact", "d4")], [("fragment", "d1")]]
    assert (found.accepted, found.why) == (False, "quality high, answer supported")


def test_an_answer_that_missed_something_proposes_no_required_item():
    _, refs = proposed(answer_supported=True, missing_context=True, feedback_comment="no address")
    assert refs == [[], [], []]


def test_a_recall_without_a_review_only_carries_what_came_back():
    found = candidates([TRACE], {})[0]
    assert found.why == "recorded, not reviewed: label it by what came back"
    assert [row["rank"] for row in found.returned] == [1, 2, 3]


def test_only_accepted_candidates_become_cases():
    found = candidates([TRACE], {})
    assert accepted_rows(found) == ([], [])
    cases, qrels = accepted_rows([msgspec.structs.replace(found[0], accepted=True)])
    assert [case.case_id for case in cases] == [qrel.case_id for qrel in qrels] == ["feedback_r1"]
