"""Scores of one case, on every axis, in two readings. Pure.

*Strict*: an item counts when it is the judged one, type and all. *Projected* is Dense-Mem's reading: an item of another
type counts as the target when both come from one and the same document and no target of its own type does, and evidence
that nobody returned is read from the context's fragments when only fragments are judged. Strict decides; projected stands
beside it, because it tells relevance across tiers and hides a wrong tier.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import msgspec

from app.evaluation import measures
from app.evaluation.formats.judged import AXES, Axis, Judged, Role, Scoring
from app.evaluation.formats.rows import RefType
from app.evaluation.traces import ImportedDocument, RankedRef, Trace

SCORER_REVISION: Final = "strata-scorer-1"
Reading = Literal["strict", "projected"]
READINGS: Final[tuple[Reading, ...]] = ("strict", "projected")
RELEVANT: Final[tuple[Role, ...]] = ("required", "acceptable")


class AxisScore(msgspec.Struct, kw_only=True, frozen=True):
    """One axis in one reading.

    Attributes:
        scored: Whether the axis was asked and has judgements; if not, nothing else means anything.
        recall_at_k: Distinct relevant items within k over all relevant ones; ``None`` without any.
        required_recall_at_k: The same of required items alone.
        bad_at_k: Places within k that hold a judged-bad item, repeats counted.
        first_required_rank: Over everything that came back; ``None`` when it did not.
    """

    scored: bool = False
    k: int = 0
    relevant_at_k: int = 0
    relevant_total: int = 0
    bad_at_k: int = 0
    recall_at_k: float | None = None
    required_recall_at_k: float | None = None
    mrr: float | None = None
    ndcg_at_k: float | None = None
    first_required_rank: int | None = None
    first_bad_rank: int | None = None
    missing_required_refs: list[str] = []
    bad_refs_at_k: list[str] = []


class CaseScore(msgspec.Struct, kw_only=True, frozen=True):
    """One case.

    Attributes:
        axes: Axis to reading to score.
        answerable: Whether the corpus holds an answer.
        abstained: Whether the service said that it has none, or returned nothing.
        false_positive_rate: Places within k that hold nothing relevant over places filled; ``None`` when none is.
        duplicate_slot_rate: Places within k whose duplicate group stands above already, over places filled.
        leakage: Places within k from another space than the best-graded document's, over places filled.
        recall_curves: Recall at 1, 2, 3, ... of the fused list and of each branch alone.
        unmapped_source_refs: Judged references that the import made nothing of.
    """

    case_id: str
    slices: list[str]
    weight: float
    axes: dict[Axis, dict[Reading, AxisScore]]
    answerable: bool
    abstained: bool
    latency_ms: float
    false_positive_rate: float | None = None
    duplicate_slot_rate: float | None = None
    leakage: float | None = None
    recall_curves: dict[str, list[float]] = {}
    unmapped_source_refs: list[str] = []

    def flat(self) -> dict[str, Any]:
        """As a row of ``retrieval_scores.jsonl``: strict names bare, the others with their reading and axis before."""
        row: dict[str, Any] = {
            name: value for name, value in msgspec.to_builtins(self).items() if name != "axes"
        }
        for axis, readings in self.axes.items():
            for reading, score in readings.items():
                prefix = _prefix(axis, reading)
                row |= {f"{prefix}{name}": value for name, value in msgspec.to_builtins(score).items()}
        return row

    @classmethod
    def from_flat(cls, row: Mapping[str, Any]) -> Self:
        """A score from its row; the inverse of `flat`.

        Raises:
            msgspec.ValidationError: the row lacks something or holds something else.
        """
        own = {name: row[name] for name in cls.__struct_fields__ if name in row}
        own["axes"] = {
            axis: {
                reading: {
                    name: row[key]
                    for name in AxisScore.__struct_fields__
                    if (key := _prefix(axis, reading) + name) in row
                }
                for reading in READINGS
            }
            for axis in AXES
        }
        return msgspec.convert(own, cls)


def _prefix(axis: Axis, reading: Reading) -> str:
    return ("" if reading == "strict" else f"{reading}_") + ("" if axis == "ranked" else f"{axis}_")


@dataclass(frozen=True, slots=True)
class Target:
    """A judged reference as the service knows it; ``ids`` is empty when the import made nothing of it."""

    name: str
    type: RefType
    role: Role
    grade: int
    ids: frozenset[str]
    document: str | None


@dataclass(frozen=True, slots=True)
class Facts:
    """What the scorer knows about a set's documents.

    Attributes:
        documents: What each document became.
        names: Document names by id.
        groups: Duplicate group of a document.
        spaces: Space of a document (HotMem: its namespace), for leakage.
    """

    documents: Mapping[str, ImportedDocument]
    names: Mapping[str, Sequence[str]]
    groups: Mapping[str, str]
    spaces: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CaseView:
    """What the scorer needs of a case."""

    case_id: str
    limit: int
    slices: tuple[str, ...]
    weight: float
    judgements: Mapping[Axis, Sequence[Judged]]


def resolve(judged: Sequence[Judged], facts: Facts) -> list[Target]:
    """Targets of judged references; those that became one and the same item are one target of the best role and grade."""
    targets: dict[Any, Target] = {}
    for item in judged:
        ref = item.ref
        if ref.id is not None:
            names = facts.names.get(ref.id, ())
            document = names[0] if len(names) == 1 else None
            ids = frozenset([ref.id])
        else:
            document = ref.source_doc_id
            made = facts.documents.get(document or "")
            ids = frozenset(made.refs.get(ref.type, ()) if made else ())
        target = Target(
            f"{ref.type}:{ref.source_doc_id or ref.id}", ref.type, item.role, item.grade, ids, document
        )
        key = (ref.type, ids or target.name, item.role == "bad")
        other = targets.get(key)
        if other is None or _order(target) < _order(other):
            targets[key] = target
    return list(targets.values())


def _order(target: Target) -> tuple[int, int]:
    return ("required", "acceptable", "partial", "bad").index(target.role), -target.grade


def score_case(case: CaseView, trace: Trace, facts: Facts, scoring: Scoring) -> CaseScore:
    """Score one traced case on every axis."""
    k = scoring.k or case.limit
    targets = {axis: resolve(case.judgements.get(axis, ()), facts) for axis in AXES}
    returned: dict[Axis, list[RankedRef] | None] = {
        "ranked": trace.ranked_refs,
        "context": trace.context_refs,
        "evidence": trace.context_evidence_refs,
        "dream": trace.dream_refs,
    }
    axes: dict[Axis, dict[Reading, AxisScore]] = {}
    for axis in AXES:
        axes[axis] = {}
        for reading in READINGS:
            refs = returned[axis]
            if axis == "evidence" and reading == "projected" and refs == []:
                refs = _evidence_from_context(targets[axis], trace.context_refs)
            axes[axis][reading] = score_axis(targets[axis], refs, k, scoring, reading)
    relevant = [target for target in targets["ranked"] if target.role in RELEVANT]
    unmapped = [
        target.name for axis in ("ranked", "evidence", "dream") for target in targets[axis] if not target.ids
    ]
    return CaseScore(
        case_id=case.case_id,
        slices=list(case.slices),
        weight=case.weight,
        axes=axes,
        answerable=bool(relevant),
        abstained=trace.abstained or not trace.ranked_refs,
        latency_ms=trace.latency_ms,
        recall_curves=_curves(relevant, trace, facts),
        unmapped_source_refs=unmapped,
        **_slot_rates(relevant, trace.ranked_refs[:k], facts),
    )


def score_axis(
    targets: Sequence[Target], refs: Sequence[RankedRef] | None, k: int, scoring: Scoring, reading: Reading
) -> AxisScore:
    """Score what came back on one axis; not scored when it was not asked or nothing is judged."""
    if refs is None or not targets:
        return AxisScore(k=k)
    found = [_matches(ref, targets, reading) for ref in refs]
    graded, required, seen = [], [], set[str]()
    for matched in found:
        fresh = [target for target in matched if target.role != "bad" and target.name not in seen]
        best = min(fresh, key=_order, default=None)
        seen |= {target.name for target in fresh}
        graded.append(best)
        required.append(best is not None and best.role == "required")
    bad = [[target.name for target in matched if target.role == "bad"] for matched in found]
    relevant = [target for target in targets if target.role in RELEVANT]
    wanted = [target for target in targets if target.role == "required"]
    # Partial targets earn gain in nDCG; recall and reciprocal rank do not know them.
    hits = [int(target is not None and target.role in RELEVANT) for target in graded]
    return AxisScore(
        scored=True,
        k=k,
        relevant_at_k=sum(hits[:k]),
        relevant_total=len(relevant),
        bad_at_k=sum(bool(names) for names in bad[:k]),
        recall_at_k=measures.recall_at(hits, len(relevant), k),
        required_recall_at_k=measures.recall_at([int(hit) for hit in required], len(wanted), k),
        mrr=measures.reciprocal_rank(hits, k) if relevant else None,
        ndcg_at_k=measures.ndcg_at(
            [target.grade if target else 0 for target in graded],
            [target.grade for target in targets if target.role != "bad"],
            k,
            scoring.gain,
        ),
        first_required_rank=measures.first_rank(required),
        first_bad_rank=measures.first_rank([bool(names) for names in bad]),
        missing_required_refs=_missing(wanted, found[:k]),
        bad_refs_at_k=[name for names in bad[:k] for name in names],
    )


def _missing(wanted: Sequence[Target], found: Sequence[Sequence[Target]]) -> list[str]:
    there = {target.name for matched in found for target in matched}
    return [target.name for target in wanted if target.name not in there]


def _matches(ref: RankedRef, targets: Sequence[Target], reading: Reading) -> list[Target]:
    exact = [target for target in targets if target.type == ref.type and ref.id in target.ids]
    if exact or reading == "strict" or len(ref.source_doc_ids) != 1:
        return exact
    document = ref.source_doc_ids[0]
    kin = [target for target in targets if target.document == document]
    return [] if any(target.type == ref.type for target in kin) else kin


def _evidence_from_context(targets: Sequence[Target], context: Sequence[RankedRef] | None) -> list[RankedRef]:
    if any(target.type != "fragment" for target in targets):
        return []
    return [ref for ref in context or () if ref.type == "fragment"]


def _slot_rates(
    relevant: Sequence[Target], top: Sequence[RankedRef], facts: Facts
) -> dict[str, float | None]:
    """HotMem's measures over the places that are filled."""
    if not top:
        return {"false_positive_rate": None, "duplicate_slot_rate": None, "leakage": None}
    wrong = sum(not any(t.type == ref.type and ref.id in t.ids for t in relevant) for ref in top)
    seen: set[str] = set()
    repeated = 0
    for ref in top:
        groups = {facts.groups[name] for name in ref.source_doc_ids if name in facts.groups}
        repeated += bool(groups & seen)
        seen |= groups
    best = max(relevant, key=lambda target: target.grade, default=None)
    home = facts.spaces.get(best.document or "") if best else None
    leaked = None
    if home is not None:
        leaked = sum(all(facts.spaces.get(name) != home for name in ref.source_doc_ids) for ref in top) / len(
            top
        )
    return {
        "false_positive_rate": wrong / len(top),
        "duplicate_slot_rate": repeated / len(top),
        "leakage": leaked,
    }


def _curves(relevant: Sequence[Target], trace: Trace, facts: Facts) -> dict[str, list[float]]:
    """Recall at every depth, by document, of the fused list and of each branch alone."""
    wanted = {target.document or target.name for target in relevant}
    if not wanted:
        return {}
    curves: dict[str, list[float]] = {}
    for name in ("fused", "keyword", "semantic"):
        there: set[str] = set()
        curve: list[float] = []
        for ref in getattr(trace.arms, name):
            there |= wanted & set(facts.names.get(ref, ()))
            curve.append(len(there) / len(wanted))
        curves[name] = curve
    return curves
