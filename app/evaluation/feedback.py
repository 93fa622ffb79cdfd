"""From recorded recalls to labelled cases that a person has accepted. Pure.

A candidate is a case and a judgement as a seed directory holds them, with why each reference is there. Nothing is accepted
by itself: a person looks at it, changes its labels where they are wrong, and accepts or refuses it; ``accepted_rows`` takes
the accepted ones alone.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from app.evaluation.formats.rows import Case, Qrel, Ref, RefType
from app.evaluation.formats.seeds import NO_ANSWER
from app.evaluation.traces import RankedRef, Trace, texts_of

Quality = Literal["high", "medium", "low"]
Decision = Literal["accepted", "refused"]
Label = Literal["required", "acceptable", "bad", "none"]
_TOP: Final = 3
_GRADES: Final = {"required": 3, "acceptable": 1, "bad": 0}
_LISTS: Final = {"required": "required_refs", "acceptable": "acceptable_refs", "bad": "bad_refs"}
BY_PERSON: Final = "named by the person who judged"


class LabelError(ValueError):
    """A label or a decision that cannot be; the message says what would do."""


class ReviewedRef(msgspec.Struct, kw_only=True, frozen=True):
    """An item that a reviewer called irrelevant."""

    type: RefType
    id: str
    rank: int = 0


class Review(msgspec.Struct, kw_only=True, frozen=True):
    """Feedback on one recall, as the feedback route takes it; ``recall_id`` is the trace's case."""

    recall_id: str
    used: bool = False
    answer_supported: bool = False
    quality: Quality = "medium"
    missing_context: bool = False
    irrelevant: bool = False
    feedback_comment: str = ""
    irrelevant_result_refs: list[ReviewedRef] = []


class Returned(msgspec.Struct, kw_only=True, frozen=True):
    """One item that came back, for the person who judges."""

    rank: int
    type: RefType
    id: str
    source_doc_ids: list[str] = []
    text: str = ""


class Candidate(msgspec.Struct, kw_only=True, frozen=True):
    """A case that a person is to judge.

    Attributes:
        decision: A person's; ``None`` until there is one.
        why: What the labels were read from.
    """

    decision: Decision | None = None
    case: Case
    qrel: Qrel
    why: str
    returned: list[Returned]


def candidates(
    traces: Sequence[Trace], reviews: Mapping[str, Review], asked: Mapping[str, Case] | None = None
) -> list[Candidate]:
    """Candidate cases of recorded recalls.

    A reviewed recall whose answer was supported proposes its first item that nobody called irrelevant as required, and the
    irrelevant ones as bad. One that missed something proposes no required item: the person names it. A recall without a
    review proposes nothing and only carries what came back.

    Args:
        traces: The recorded recalls.
        reviews: Feedback by trace.
        asked: How each recall was asked: its times, profile and limit.
    """
    return [
        _candidate(trace, reviews.get(trace.case_id), (asked or {}).get(trace.case_id)) for trace in traces
    ]


def labelled(candidate: Candidate, name: str, label: Label) -> Candidate:
    """A candidate with one item labelled anew.

    Args:
        candidate: The candidate.
        name: Rank of an item that came back, or the name of a document that did not.
        label: What it is to the question; ``none`` takes its label away.

    Raises:
        LabelError: nothing came back at that rank, or what came is of no document.
    """
    ref = _named(candidate, name)
    lists: dict[str, list[Ref]] = {
        field: [one for one in getattr(candidate.qrel, field) if not _same(one, ref)]
        for field in _LISTS.values()
    }
    if label != "none":
        lists[_LISTS[label]].append(msgspec.structs.replace(ref, grade=_GRADES[label], reason=BY_PERSON))
    case = candidate.case
    if label == "required" and case.task_type == NO_ANSWER:
        case = msgspec.structs.replace(case, task_type="recall")
    return msgspec.structs.replace(
        candidate, case=case, qrel=msgspec.structs.replace(candidate.qrel, **lists)
    )


def unanswerable(candidate: Candidate) -> Candidate:
    """A candidate whose question nothing in the corpus answers."""
    return msgspec.structs.replace(
        candidate,
        case=msgspec.structs.replace(candidate.case, task_type=NO_ANSWER),
        qrel=msgspec.structs.replace(candidate.qrel, required_refs=[], acceptable_refs=[]),
    )


def decided(candidate: Candidate, decision: Decision) -> Candidate:
    """A candidate with a person's decision.

    Raises:
        LabelError: it is accepted without saying what answers it, or with an item that a fresh import would not know.
    """
    if decision == "accepted":
        qrel = candidate.qrel
        if not qrel.required_refs and candidate.case.task_type != NO_ANSWER:
            raise LabelError("nothing is required: say what answers it, or that nothing does")
        if any(ref.source_doc_id is None for ref in _refs(qrel)):
            raise LabelError("an item is known by its id alone, and no other import will have that id")
    return msgspec.structs.replace(candidate, decision=decision)


def accepted_rows(found: Sequence[Candidate]) -> tuple[list[Case], list[Qrel]]:
    """Cases and judgements of the candidates that a person accepted."""
    taken = [candidate for candidate in found if candidate.decision == "accepted"]
    return [candidate.case for candidate in taken], [candidate.qrel for candidate in taken]


def _candidate(trace: Trace, review: Review | None, asked: Case | None) -> Candidate:
    irrelevant = {(ref.type, ref.id) for ref in review.irrelevant_result_refs} if review else set()
    bad = [ref for ref in trace.ranked_refs if (ref.type, ref.id) in irrelevant]
    good = [ref for ref in trace.ranked_refs if (ref.type, ref.id) not in irrelevant]
    supported = review is not None and review.answer_supported and not review.missing_context
    case_id = f"feedback_{trace.case_id}"[:128]
    case = asked or Case(case_id=case_id, query=trace.query, limit=max(1, len(trace.ranked_refs)))
    texts = texts_of(trace)
    return Candidate(
        # What the recall was made of stays; what another judge said of it does not.
        case=msgspec.structs.replace(
            case,
            case_id=case_id,
            query=trace.query,
            task_type="recall",
            slices=["feedback"],
            expected_behavior="",
        ),
        qrel=Qrel(
            case_id=case_id,
            required_refs=[_ref(good[0], 3, "first item of an answer that was supported")]
            if supported and good
            else [],
            acceptable_refs=[_ref(ref, 1, "came with an answer that was supported") for ref in good[1:_TOP]]
            if supported
            else [],
            bad_refs=[_ref(ref, 0, "called irrelevant by a reviewer") for ref in bad],
        ),
        why=_why(review),
        returned=[
            Returned(
                rank=ref.rank,
                type=ref.type,
                id=ref.id,
                source_doc_ids=ref.source_doc_ids,
                text=texts.get(ref.id, ""),
            )
            for ref in trace.ranked_refs
        ],
    )


def _ref(ref: RankedRef | Returned, grade: int, reason: str) -> Ref:
    # Documents of equal contents are one item, so the first name stands for all of them.
    named = ref.source_doc_ids[0] if ref.source_doc_ids else None
    return Ref(type=ref.type, id=None if named else ref.id, source_doc_id=named, grade=grade, reason=reason)


def _named(candidate: Candidate, name: str) -> Ref:
    if not name.isdecimal():
        return Ref(type="fragment", source_doc_id=name)
    found = next((one for one in candidate.returned if one.rank == int(name)), None)
    if found is None:
        raise LabelError(f"nothing came back at rank {name}; {len(candidate.returned)} items did")
    return _ref(found, 0, "")


def _same(one: Ref, other: Ref) -> bool:
    return (one.type, one.id, one.source_doc_id) == (other.type, other.id, other.source_doc_id)


def _refs(qrel: Qrel) -> list[Ref]:
    return [ref for field in _LISTS.values() for ref in getattr(qrel, field)]


def _why(review: Review | None) -> str:
    if review is None:
        return "recorded, not reviewed: label it by what came back"
    parts = [f"quality {review.quality}"]
    parts += [
        name.replace("_", " ")
        for name in ("used", "answer_supported", "missing_context", "irrelevant")
        if getattr(review, name)
    ]
    return ", ".join(parts) + (f": {review.feedback_comment}" if review.feedback_comment else "")
