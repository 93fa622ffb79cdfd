"""From recorded recalls to labelled candidate cases, for a person to accept. Pure.

A candidate is a case and a judgement as a seed directory holds them, with why each reference is there. Nothing is
accepted by itself: a person sets ``accepted`` to true, or edits the references, and ``accepted_rows`` takes those alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from app.evaluation.formats.rows import Case, Qrel, Ref
from app.evaluation.traces import Trace

Quality = Literal["high", "medium", "low"]
_TOP: Final = 3


class ReviewedRef(msgspec.Struct, kw_only=True, frozen=True):
    """An item that a reviewer called irrelevant."""

    type: Literal["fragment", "claim", "fact", "dream"]
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


class Candidate(msgspec.Struct, kw_only=True, frozen=True):
    """A case that a person is to judge.

    Attributes:
        accepted: Set by a person.
        why: What the labels were read from.
        returned: What came back, for the person who judges.
    """

    accepted: bool
    case: Case
    qrel: Qrel
    why: str
    returned: list[dict[str, Any]]


def candidates(traces: Sequence[Trace], reviews: Mapping[str, Review]) -> list[Candidate]:
    """Candidate cases of recorded recalls.

    A reviewed recall whose answer was supported proposes its first item that nobody called irrelevant as required, and the
    irrelevant ones as bad. One that missed something proposes no required item: the person names it. A recall without a
    review proposes nothing and only carries what came back.
    """
    return [_candidate(trace, reviews.get(trace.case_id)) for trace in traces]


def accepted_rows(found: Sequence[Candidate]) -> tuple[list[Case], list[Qrel]]:
    """Cases and judgements of the candidates that a person accepted."""
    taken = [candidate for candidate in found if candidate.accepted]
    return [candidate.case for candidate in taken], [candidate.qrel for candidate in taken]


def _candidate(trace: Trace, review: Review | None) -> Candidate:
    irrelevant = {(ref.type, ref.id) for ref in review.irrelevant_result_refs} if review else set()
    bad = [ref for ref in trace.ranked_refs if (ref.type, ref.id) in irrelevant]
    good = [ref for ref in trace.ranked_refs if (ref.type, ref.id) not in irrelevant]
    supported = review is not None and review.answer_supported and not review.missing_context
    case_id = f"feedback_{trace.case_id}"[:128]
    return Candidate(
        accepted=False,
        case=Case(
            case_id=case_id, query=trace.query, slices=["feedback"], limit=max(1, len(trace.ranked_refs))
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
            {"rank": ref.rank, "type": ref.type, "id": ref.id, "source_doc_ids": ref.source_doc_ids}
            for ref in trace.ranked_refs
        ],
    )


def _ref(ref: Any, grade: int, reason: str) -> Ref:
    named = ref.source_doc_ids[0] if len(ref.source_doc_ids) == 1 else None
    return Ref(type=ref.type, id=None if named else ref.id, source_doc_id=named, grade=grade, reason=reason)


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
