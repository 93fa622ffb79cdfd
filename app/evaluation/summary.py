"""Means over scored cases, as a whole and for each slice. Pure."""

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from math import ceil
from typing import Final

import msgspec

from app.evaluation.formats.judged import AXES, Axis
from app.evaluation.scorer import READINGS, AxisScore, CaseScore, Reading

MEASURES: Final = (
    "recall_at_k",
    "required_recall_at_k",
    "mrr",
    "ndcg_at_k",
    "required_rank1_rate",
    "average_bad_at_k",
    "bad_rank1_rate",
)
CURVE_DEPTH: Final = 50


class AxisSummary(msgspec.Struct, kw_only=True, frozen=True):
    """Weighted means of one axis in one reading; ``None`` where no case gives the measure a meaning.

    Attributes:
        scored_cases: Cases scored on this axis.
        required_rank1_rate: Share of the scored cases with a required item in the first place.
        bad_rank1_rate: The same of a judged-bad item.
    """

    scored_cases: int = 0
    recall_at_k: float | None = None
    required_recall_at_k: float | None = None
    mrr: float | None = None
    ndcg_at_k: float | None = None
    required_rank1_rate: float | None = None
    average_bad_at_k: float | None = None
    bad_rank1_rate: float | None = None


class Abstention(msgspec.Struct, kw_only=True, frozen=True):
    """Answers that were rightly and wrongly withheld."""

    no_answer_cases: int = 0
    abstained_on_no_answer: int = 0
    answerable_cases: int = 0
    abstained_on_answerable: int = 0


class Block(msgspec.Struct, kw_only=True, frozen=True):
    """Everything about a group of cases.

    Attributes:
        false_positive_rate: HotMem's; a case that returned nothing is left out, so read it beside ``abstention``.
        latency_ms: Quantiles of the primary recall, as the caller saw it.
        recall_curves: Mean recall at depth 1, 2, 3, ... of the fused list and of each branch alone.
    """

    cases: int
    axes: dict[Axis, dict[Reading, AxisSummary]]
    abstention: Abstention
    false_positive_rate: float | None = None
    duplicate_slot_rate: float | None = None
    leakage: float | None = None
    latency_ms: dict[str, float] = {}
    recall_curves: dict[str, list[float]] = {}


class Summary(msgspec.Struct, kw_only=True, frozen=True):
    """``summary.json``: the whole run and its slices."""

    name: str
    policy: str
    overall: Block
    slices: dict[str, Block]


def summarise(name: str, policy: str, scores: Sequence[CaseScore]) -> Summary:
    """Summary of a run's scores."""
    slices = sorted({part for score in scores for part in score.slices})
    return Summary(
        name=name,
        policy=policy,
        overall=block_of(scores),
        slices={part: block_of([score for score in scores if part in score.slices]) for part in slices},
    )


def block_of(scores: Sequence[CaseScore]) -> Block:
    """Means over some cases."""
    return Block(
        cases=len(scores),
        axes={axis: {reading: _axis(scores, axis, reading) for reading in READINGS} for axis in AXES},
        abstention=Abstention(
            no_answer_cases=sum(not score.answerable for score in scores),
            abstained_on_no_answer=sum(score.abstained and not score.answerable for score in scores),
            answerable_cases=sum(score.answerable for score in scores),
            abstained_on_answerable=sum(score.abstained and score.answerable for score in scores),
        ),
        false_positive_rate=_mean((score.weight, score.false_positive_rate) for score in scores),
        duplicate_slot_rate=_mean((score.weight, score.duplicate_slot_rate) for score in scores),
        leakage=_mean((score.weight, score.leakage) for score in scores),
        latency_ms=_quantiles([score.latency_ms for score in scores]),
        recall_curves=_curves(scores),
    )


def measure_of(score: AxisScore, name: str) -> float | None:
    """One case's value of a measure in `MEASURES`; ``None`` where it has no meaning."""
    if not score.scored:
        return None
    if name == "required_rank1_rate":
        return None if score.required_recall_at_k is None else float(score.first_required_rank == 1)
    if name == "bad_rank1_rate":
        return float(score.first_bad_rank == 1)
    if name == "average_bad_at_k":
        return float(score.bad_at_k)
    value: float | None = getattr(score, name)
    return value


def _axis(scores: Sequence[CaseScore], axis: Axis, reading: Reading) -> AxisSummary:
    scored = [
        (score.weight, score.axes[axis][reading]) for score in scores if score.axes[axis][reading].scored
    ]
    means = {name: _mean((weight, measure_of(score, name)) for weight, score in scored) for name in MEASURES}
    return AxisSummary(scored_cases=len(scored), **means)


def _mean(values: Iterable[tuple[float, float | None]]) -> float | None:
    known = [(weight, value) for weight, value in values if value is not None]
    total = sum(weight for weight, _ in known)
    return sum(weight * value for weight, value in known) / total if total else None


def _quantiles(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    ordered = sorted(values)
    at: Callable[[float], float] = lambda share: ordered[max(0, ceil(share * len(ordered)) - 1)]  # noqa: E731
    return {"p50": at(0.5), "p95": at(0.95), "max": ordered[-1]}


def _curves(scores: Sequence[CaseScore]) -> dict[str, list[float]]:
    curves: dict[str, list[float]] = {}
    for name in sorted({name for score in scores for name in score.recall_curves}):
        # A list that ended found nothing more further down.
        lists = [_stretched(score.recall_curves[name]) for score in scores if name in score.recall_curves]
        curves[name] = [sum(column) / len(lists) for column in zip_longest(*lists, fillvalue=0.0)]
    return curves


def _stretched(curve: Sequence[float]) -> list[float]:
    cut = list(curve[:CURVE_DEPTH])
    return cut + [cut[-1] if cut else 0.0] * (CURVE_DEPTH - len(cut))
