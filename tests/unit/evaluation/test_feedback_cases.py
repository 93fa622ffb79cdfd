import msgspec
import pytest

from app.evaluation.feedback import (
    LabelError,
    Review,
    ReviewedRef,
    accepted_rows,
    candidates,
    decided,
    labelled,
    unanswerable,
)
from app.evaluation.formats.rows import Case
from app.evaluation.traces import RankedRef, Trace

TRACE = Trace(
    case_id="r1",
    query="Where is the key?",
    latency_ms=1.0,
    ranked_refs=[
        RankedRef(rank=1, type="fragment", id="f1", source_doc_ids=["d1"]),
        RankedRef(rank=2, type="fragment", id="f2", source_doc_ids=["d2", "d3"]),
        RankedRef(rank=3, type="fact", id="t3", source_doc_ids=["d4"]),
        RankedRef(rank=4, type="fragment", id="f4"),
    ],
    raw={
        "results": [
            {"id": "f1", "kind": "fragment", "fragment": {"content": "Under the mat."}},
            {
                "id": "t3",
                "kind": "fact",
                "fact": {"subject": "key", "predicate": "lies_under", "object": "mat"},
            },
        ]
    },
)


def named(candidate):
    qrel = candidate.qrel
    return [
        [(ref.type, ref.source_doc_id or ref.id) for ref in refs]
        for refs in (qrel.required_refs, qrel.acceptable_refs, qrel.bad_refs)
    ]


def proposed(**review):
    return candidates([TRACE], {"r1": Review(recall_id="r1", **review)} if review else {})[0]


def test_a_supported_answer_proposes_its_first_item_that_nobody_called_irrelevant():
    found = proposed(
        answer_supported=True,
        quality="high",
        irrelevant_result_refs=[ReviewedRef(type="fragment", id="f1", rank=1)],
    )
    # Two documents of one content became f2: either name stands for it.
    assert named(found) == [
        [("fragment", "d2")],
        [("fact", "d4"), ("fragment", "f4")],
        [("fragment", "d1")],
    ]
    assert (found.decision, found.why) == (None, "quality high, answer supported")


def test_an_answer_that_missed_something_proposes_no_required_item():
    found = proposed(answer_supported=True, missing_context=True, feedback_comment="no address")
    assert named(found) == [[], [], []]
    assert found.why == "quality medium, answer supported, missing context: no address"


def test_a_recall_without_a_review_only_carries_what_came_back():
    found = proposed()
    assert found.why == "recorded, not reviewed: label it by what came back"
    assert [(row.rank, row.text) for row in found.returned] == [
        (1, "Under the mat."),
        (2, ""),
        (3, "key lies_under mat"),
        (4, ""),
    ]


def test_a_candidate_is_asked_as_its_recall_was_and_forgets_what_others_judged():
    asked = Case(
        case_id="r1",
        query="Where is the key?",
        limit=7,
        scope="house",
        known_at="2026-05-01T00:00:00Z",
        slices=["traps"],
        task_type="no_answer",
        expected_behavior="says so",
    )
    case = candidates([TRACE], {}, {"r1": asked})[0].case
    assert (case.case_id, case.limit, case.scope, case.known_at) == (
        "feedback_r1",
        7,
        "house",
        "2026-05-01T00:00:00Z",
    )
    assert (case.slices, case.task_type, case.expected_behavior) == (["feedback"], "recall", "")


def test_a_person_labels_what_came_back_by_rank_and_what_did_not_by_name():
    found = labelled(labelled(labelled(proposed(), "3", "required"), "1", "bad"), "d9", "acceptable")
    assert named(found) == [[("fact", "d4")], [("fragment", "d9")], [("fragment", "d1")]]
    assert [ref.grade for ref in found.qrel.required_refs] == [3]
    changed = labelled(labelled(found, "1", "required"), "3", "none")
    assert named(changed) == [[("fragment", "d1")], [("fragment", "d9")], []]


def test_a_rank_at_which_nothing_came_is_refused():
    with pytest.raises(LabelError, match="nothing came back at rank 9; 4 items did"):
        labelled(proposed(), "9", "required")


def test_an_accepted_case_says_what_answers_it_or_that_nothing_does():
    with pytest.raises(LabelError, match="nothing is required"):
        decided(proposed(), "accepted")
    assert decided(proposed(), "refused").decision == "refused"
    nothing = decided(unanswerable(labelled(proposed(), "1", "required")), "accepted")
    assert (nothing.case.task_type, named(nothing)) == ("no_answer", [[], [], []])
    answered = decided(labelled(unanswerable(proposed()), "1", "required"), "accepted")
    assert answered.case.task_type == "recall"


def test_an_item_that_no_other_import_would_know_is_not_accepted():
    with pytest.raises(LabelError, match="known by its id alone"):
        decided(labelled(proposed(), "4", "required"), "accepted")


def test_only_accepted_candidates_become_cases():
    found = [labelled(proposed(), "1", "required")]
    assert accepted_rows(found) == ([], [])
    assert accepted_rows([decided(found[0], "refused")]) == ([], [])
    cases, qrels = accepted_rows([msgspec.structs.replace(found[0], decision="accepted")])
    assert [case.case_id for case in cases] == [qrel.case_id for qrel in qrels] == ["feedback_r1"]
