"""Two runs of one set, case by case. Pure.

Intervals are paired bootstrap percentiles: cases are drawn with replacement, and the difference of the two runs' means is
taken over the same draw (Efron and Tibshirani 1993; Smucker, Allan and Carterette, CIKM 2007). The generator's seed is
fixed, so the same runs give the same interval.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from app.evaluation.formats.judged import AXES, Axis
from app.evaluation.scorer import READINGS, CaseScore, Reading
from app.evaluation.summary import MEASURES, measure_of
from app.evaluation.traces import Trace

DRAWS: Final = 2_000
LEVEL: Final = 0.95
MUST_AGREE: Final = ("seed_hash", "suite_hash", "scorer_revision", "import_method", "scoring")
LOWER_IS_BETTER: Final = frozenset({"average_bad_at_k", "bad_rank1_rate"})
_CHUNK: Final = 4_000_000


class Incomparable(Exception):  # noqa: N818 - names the state
    """Two runs whose difference would mean nothing; the message names what differs."""


class Delta(msgspec.Struct, kw_only=True, frozen=True):
    """One measure in both runs, over the cases in which both have it.

    Attributes:
        low: Interval of ``candidate - baseline`` at the level `LEVEL`; ``high`` its other end.
        worse: Cases in which the candidate is worse; ``better`` those in which it is better.
    """

    cases: int
    baseline: float
    candidate: float
    delta: float
    low: float
    high: float
    better: int
    worse: int


class CaseChange(msgspec.Struct, kw_only=True, frozen=True):
    """One case that came out differently, on the ranked axis in the strict reading."""

    case_id: str
    slices: list[str]
    ndcg: tuple[float | None, float | None]
    recall: tuple[float | None, float | None]
    first_required_rank: tuple[int | None, int | None]
    first_bad_rank: tuple[int | None, int | None]
    bad_at_k: tuple[int, int]


class Regression(msgspec.Struct, kw_only=True, frozen=True):
    """A measure that fell by more than was allowed."""

    slice: str
    measure: str
    delta: float
    tolerance: float


class Comparison(msgspec.Struct, kw_only=True, frozen=True):
    """``comparison.json``.

    Attributes:
        overall: Axis to reading to measure to its change; measures without common cases are left out.
        slices: Slice to measure to change, on the ranked axis in the strict reading.
        identical_rankings: Share of the cases whose ordered items and scores are equal (HotMem's clone equivalence,
            when the candidate is a restored copy).
        changes: Cases that differ in a measure, the worst first.
        regressions: What the tolerance does not allow; empty without one.
    """

    baseline: dict[str, Any]
    candidate: dict[str, Any]
    overall: dict[Axis, dict[Reading, dict[str, Delta]]]
    slices: dict[str, dict[str, Delta]]
    identical_rankings: float
    changes: list[CaseChange]
    regressions: list[Regression]


def compare(
    baseline: Mapping[str, Any],
    candidate: Mapping[str, Any],
    scores: tuple[Sequence[CaseScore], Sequence[CaseScore]],
    traces: tuple[Sequence[Trace], Sequence[Trace]],
    *,
    tolerance: float | None = None,
) -> Comparison:
    """Compare two runs.

    Args:
        baseline: The first run's configuration, as `MUST_AGREE` names it.
        candidate: The second run's.
        scores: Of both runs.
        traces: Of both runs.
        tolerance: Largest fall of a ranked measure, as a whole or in a slice, that is no regression.

    Raises:
        Incomparable: the runs differ in what must agree, or in their cases.
    """
    differing = [name for name in MUST_AGREE if baseline.get(name) != candidate.get(name)]
    if differing:
        said = "; ".join(f"{name}: {baseline.get(name)!r} and {candidate.get(name)!r}" for name in differing)
        raise Incomparable(f"the runs differ in {said}")
    first = {score.case_id: score for score in scores[0]}
    second = {score.case_id: score for score in scores[1]}
    if first.keys() != second.keys():
        odd = sorted(first.keys() ^ second.keys())
        raise Incomparable(f"{len(odd)} cases are in one run only, the first: {odd[0]!r}")
    pairs = [(first[name], second[name]) for name in first]
    overall: dict[Axis, dict[Reading, dict[str, Delta]]] = {
        axis: {reading: _deltas(pairs, axis, reading) for reading in READINGS} for axis in AXES
    }
    names = sorted({part for score in scores[0] for part in score.slices})
    slices = {
        part: _deltas([pair for pair in pairs if part in pair[0].slices], "ranked", "strict")
        for part in names
    }
    return Comparison(
        baseline=dict(baseline),
        candidate=dict(candidate),
        overall=overall,
        slices=slices,
        identical_rankings=identical_rankings(*traces),
        changes=_changes(pairs),
        regressions=_regressions({"": overall["ranked"]["strict"], **slices}, tolerance),
    )


def identical_rankings(first: Sequence[Trace], second: Sequence[Trace]) -> float:
    """Share of cases whose ordered documents, types and scores are equal in both."""
    others = {trace.case_id: _ordered(trace) for trace in second}
    if not first:
        return 1.0
    return sum(others.get(trace.case_id) == _ordered(trace) for trace in first) / len(first)


def _ordered(trace: Trace) -> list[tuple[Any, ...]]:
    # Ids of two imports differ by nature; documents do not.
    return [(ref.type, tuple(sorted(ref.source_doc_ids)) or ref.id, ref.score) for ref in trace.ranked_refs]


def bootstrap_interval(differences: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """Percentile interval of the weighted mean of paired differences."""
    values, shares = np.asarray(differences, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if not len(values):
        return 0.0, 0.0
    generator = np.random.default_rng(20_260_628)
    means: list[NDArray[np.float64]] = []
    step = max(1, _CHUNK // len(values))
    for start in range(0, DRAWS, step):
        drawn = generator.integers(0, len(values), size=(min(step, DRAWS - start), len(values)))
        means.append((values[drawn] * shares[drawn]).sum(axis=1) / shares[drawn].sum(axis=1))
    tail = (1 - LEVEL) / 2 * 100
    low, high = np.percentile(np.concatenate(means), [tail, 100 - tail])
    return float(low), float(high)


def _deltas(pairs: Sequence[tuple[CaseScore, CaseScore]], axis: Axis, reading: Reading) -> dict[str, Delta]:
    found: dict[str, Delta] = {}
    for name in MEASURES:
        values = [
            (one.weight, before, after)
            for one, two in pairs
            if (before := measure_of(one.axes[axis][reading], name)) is not None
            and (after := measure_of(two.axes[axis][reading], name)) is not None
        ]
        if values:
            found[name] = _delta(name, values)
    return found


def _delta(name: str, values: Sequence[tuple[float, float, float]]) -> Delta:
    weights = [weight for weight, _, _ in values]
    total = sum(weights)
    before = sum(weight * value for weight, value, _ in values) / total
    after = sum(weight * value for weight, _, value in values) / total
    low, high = bootstrap_interval([second - first for _, first, second in values], weights)
    risen = sum(second > first for _, first, second in values)
    fallen = sum(second < first for _, first, second in values)
    down = name in LOWER_IS_BETTER
    return Delta(
        cases=len(values),
        baseline=before,
        candidate=after,
        delta=after - before,
        low=low,
        high=high,
        better=fallen if down else risen,
        worse=risen if down else fallen,
    )


def _changes(pairs: Sequence[tuple[CaseScore, CaseScore]]) -> list[CaseChange]:
    changed = []
    for one, two in pairs:
        before, after = one.axes["ranked"]["strict"], two.axes["ranked"]["strict"]
        if before == after:
            continue
        changed.append(
            CaseChange(
                case_id=one.case_id,
                slices=one.slices,
                ndcg=(before.ndcg_at_k, after.ndcg_at_k),
                recall=(before.recall_at_k, after.recall_at_k),
                first_required_rank=(before.first_required_rank, after.first_required_rank),
                first_bad_rank=(before.first_bad_rank, after.first_bad_rank),
                bad_at_k=(before.bad_at_k, after.bad_at_k),
            )
        )
    return sorted(changed, key=lambda change: (_gain(change), change.case_id))


def _gain(change: CaseChange) -> float:
    """How much better the candidate is; nDCG first, then fewer bad places."""
    return (change.ndcg[1] or 0) - (change.ndcg[0] or 0) + (change.bad_at_k[0] - change.bad_at_k[1]) / 1_000


def _regressions(blocks: Mapping[str, Mapping[str, Delta]], tolerance: float | None) -> list[Regression]:
    if tolerance is None:
        return []
    found = []
    for part, deltas in blocks.items():
        for name, delta in deltas.items():
            fall = delta.delta if name in LOWER_IS_BETTER else -delta.delta
            if fall > tolerance:
                found.append(Regression(slice=part, measure=name, delta=delta.delta, tolerance=tolerance))
    return found
