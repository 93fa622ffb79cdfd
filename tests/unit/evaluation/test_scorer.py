from math import log2

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.evaluation import measures
from app.evaluation.formats.judged import Judged, Scoring
from app.evaluation.formats.rows import Ref
from app.evaluation.scorer import CaseScore, CaseView, Facts, score_case
from app.evaluation.traces import Arms, ImportedDocument, RankedRef, Trace

DOCUMENTS = {
    "a": {"fragment": ["fa"], "fact": ["ta"]},
    "b": {"fragment": ["fb"], "claim": ["cb"]},
    "c": {"fragment": ["fc"]},
    "d": {"fragment": ["fd"]},
}
TYPES = {"f": "fragment", "t": "fact", "c": "claim"}


def facts(groups=None, spaces=None, documents=None):
    made = {
        name: ImportedDocument(source_doc_id=name, refs=refs)
        for name, refs in (documents or DOCUMENTS).items()
    }
    names = {}
    for name, document in made.items():
        for ids in document.refs.values():
            for one in ids:
                names.setdefault(one, []).append(name)
    return Facts(documents=made, names=names, groups=groups or {}, spaces=spaces or {})


def refs(known, *ids):
    return [
        RankedRef(rank=rank, type=TYPES[name[0]], id=name, source_doc_ids=list(known.names[name]))
        for rank, name in enumerate(ids, start=1)
    ]


def judged(kind, name, role="required", grade=3):
    return Judged(ref=Ref(type=kind, source_doc_id=name, grade=grade), role=role, grade=grade)


def scored(judgements, ids, *, limit=5, scoring=None, known=None, **trace):
    known = known or facts()
    axes = judgements if isinstance(judgements, dict) else {"ranked": judgements, "context": judgements}
    view = CaseView("case", limit, ("s",), 1.0, axes)
    made = Trace(case_id="case", query="?", latency_ms=4.0, ranked_refs=refs(known, *ids), **trace)
    return score_case(view, made, known, scoring or Scoring())


def test_strict_wants_the_type_and_projected_the_document():
    score = scored([judged("fact", "a")], ["fc", "fa"])
    strict, projected = score.axes["ranked"]["strict"], score.axes["ranked"]["projected"]
    assert (strict.recall_at_k, strict.first_required_rank, strict.missing_required_refs) == (
        0.0,
        None,
        ["fact:a"],
    )
    assert (projected.recall_at_k, projected.first_required_rank, projected.missing_required_refs) == (
        1.0,
        2,
        [],
    )


def test_an_item_with_a_target_of_its_own_type_is_not_projected_onto_another():
    targets = [judged("fragment", "a"), judged("fact", "a", role="bad")]
    projected = scored(targets, ["fa"]).axes["ranked"]["projected"]
    assert (projected.relevant_at_k, projected.bad_at_k) == (1, 0)


def test_an_item_of_two_documents_is_not_projected():
    known = facts(documents={"a": {"fragment": ["f1"], "fact": ["t1"]}, "b": {"fragment": ["f1"]}})
    projected = scored([judged("fact", "a")], ["f1"], known=known).axes["ranked"]["projected"]
    assert projected.recall_at_k == 0.0


def test_a_fact_and_its_fragment_are_one_find_when_projected():
    projected = scored([judged("fact", "a"), judged("fragment", "c")], ["ta", "fa", "fc"], limit=3)
    found = projected.axes["ranked"]["projected"]
    assert (found.relevant_at_k, found.relevant_total, found.recall_at_k) == (2, 2, 1.0)
    assert found.ndcg_at_k == pytest.approx((7 + 7 / log2(4)) / (7 + 7 / log2(3)))


def test_k_is_not_cut_to_what_came_back():
    targets = [judged("fragment", name) for name in "abc"]
    found = scored(targets, ["fa"], limit=3).axes["ranked"]["strict"]
    assert found.k == 3
    assert found.recall_at_k == pytest.approx(1 / 3)
    # Cut to one place, this would be 1: the ideal list has three.
    assert found.ndcg_at_k == pytest.approx(1 / (1 + 1 / log2(3) + 1 / log2(4)))


def test_bad_places_are_counted_and_named():
    found = scored([judged("fragment", "a"), judged("fragment", "b", role="bad")], ["fb", "fa"]).axes[
        "ranked"
    ]["strict"]
    assert (found.bad_at_k, found.first_bad_rank, found.bad_refs_at_k) == (1, 1, ["fragment:b"])
    assert (found.mrr, found.first_required_rank) == (0.5, 2)


def test_acceptable_items_are_relevant_and_not_required():
    targets = [judged("fragment", "a"), judged("fragment", "b", role="acceptable", grade=1)]
    found = scored(targets, ["fb"]).axes["ranked"]["strict"]
    assert (found.recall_at_k, found.required_recall_at_k, found.mrr) == (0.5, 0.0, 1.0)
    assert found.missing_required_refs == ["fragment:a"]


def test_partial_items_gain_in_ndcg_alone():
    targets = [judged("fragment", "a", grade=3), judged("fragment", "b", role="partial", grade=1)]
    found = scored(targets, ["fb", "fa"], scoring=Scoring(gain="linear", k=5)).axes["ranked"]["strict"]
    assert (found.recall_at_k, found.mrr) == (1.0, 0.5)
    assert found.ndcg_at_k == pytest.approx((1 + 3 / log2(3)) / (3 + 1 / log2(3)))


def test_axes_that_were_not_asked_are_not_scored():
    score = scored([judged("fragment", "a")], ["fa"])
    assert [score.axes[axis]["strict"].scored for axis in ("ranked", "context", "evidence", "dream")] == [
        True, False, False, False,
    ]  # fmt: skip


def test_an_asked_axis_that_brought_nothing_is_scored_as_nothing():
    score = scored([judged("fragment", "a")], ["fa"], context_refs=[])
    assert score.axes["context"]["strict"].scored
    assert score.axes["context"]["strict"].recall_at_k == 0.0


def test_evidence_falls_back_to_the_context_only_when_projected():
    known = facts()
    judgements = {"ranked": [judged("fact", "a")], "evidence": [judged("fragment", "a")]}
    score = scored(judgements, ["ta"], context_refs=refs(known, "fa"), context_evidence_refs=[])
    assert score.axes["evidence"]["strict"].recall_at_k == 0.0
    assert score.axes["evidence"]["projected"].recall_at_k == 1.0


def test_unmapped_references_are_named():
    score = scored([judged("claim", "c")], ["fc"])
    assert score.unmapped_source_refs == ["claim:c"]
    assert score.axes["ranked"]["strict"].recall_at_k == 0.0


def test_documents_of_equal_content_are_one_target():
    known = facts(documents={"a": {"fragment": ["f1"]}, "b": {"fragment": ["f1"]}})
    found = scored([judged("fragment", "a", grade=1), judged("fragment", "b", grade=3)], ["f1"], known=known)
    assert found.axes["ranked"]["strict"].relevant_total == 1
    assert found.axes["ranked"]["strict"].ndcg_at_k == 1.0


def test_slot_rates_follow_hotmem():
    known = facts(groups={"a": "g", "b": "g", "c": "g"}, spaces={"a": "x", "b": "x", "c": "y", "d": "y"})
    score = scored([judged("fragment", "a"), judged("fragment", "b")], ["fa", "fb", "fc", "fd"], known=known)
    assert score.false_positive_rate == 0.5
    assert score.duplicate_slot_rate == 0.5
    assert score.leakage == 0.5


def test_an_empty_answer_is_an_abstention_without_slot_rates():
    score = scored([], [])
    assert (score.answerable, score.abstained, score.false_positive_rate) == (False, True, None)


def test_a_curve_counts_documents_at_every_depth():
    score = scored(
        [judged("fragment", "a"), judged("fragment", "b")],
        ["fa"],
        arms=Arms(fused=["fa", "fc", "fb"], keyword=["fc"], semantic=[]),
    )
    assert score.recall_curves == {"fused": [0.5, 0.5, 1.0], "keyword": [0.0], "semantic": []}


def test_a_row_holds_every_documented_field_and_comes_back():
    score = scored([judged("fact", "a"), judged("fragment", "b", role="bad")], ["ta", "fb"], context_refs=[])
    row = msgspec.json.decode(msgspec.json.encode(score.flat()))
    for name in (
        "case_id", "k", "relevant_at_k", "relevant_total", "bad_at_k", "recall_at_k", "mrr", "ndcg_at_k",
        "first_required_rank", "first_bad_rank", "missing_required_refs", "bad_refs_at_k", "unmapped_source_refs", "latency_ms",
        "context_recall_at_k", "evidence_scored", "dream_scored", "projected_recall_at_k", "projected_context_mrr",
    ):  # fmt: skip
        assert name in row
    assert CaseScore.from_flat(row) == score


@given(
    st.lists(st.integers(0, 3), max_size=12), st.integers(1, 12), st.sampled_from(["linear", "exponential"])
)
def test_measures_lie_between_0_and_1_and_the_ideal_order_is_1(grades, k, gain):
    relevant = [grade for grade in grades if grade]
    value = measures.ndcg_at(grades, grades, k, gain)
    if not relevant:
        assert value is None
        return
    assert 0 <= value <= 1 + 1e-12
    assert measures.ndcg_at(sorted(grades, reverse=True), grades, k, gain) == pytest.approx(1)
    assert 0 <= measures.recall_at(grades, len(relevant), k) <= 1
    assert 0 <= measures.reciprocal_rank(grades, k) <= 1
