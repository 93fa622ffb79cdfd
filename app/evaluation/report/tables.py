"""Tables of a report, the same for HTML and Markdown. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from app.evaluation.comparison import LOWER_IS_BETTER, Comparison, Delta
from app.evaluation.formats.judged import AXES
from app.evaluation.runner import RunResult
from app.evaluation.scorer import READINGS
from app.evaluation.summary import AxisSummary, Block

NOTHING: Final = "–"
_MARGIN: Final = 5e-5
_RANKED: Final = (
    ("recall_at_k", "recall@k"),
    ("mrr", "MRR"),
    ("ndcg_at_k", "nDCG@k"),
    ("required_rank1_rate", "rank 1"),
    ("average_bad_at_k", "bad@k"),
    ("bad_rank1_rate", "bad rank 1"),
)


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text; the first ``labels`` columns are words, the others numbers.

    Attributes:
        marks: Row and column to ``good`` or ``bad``, for cells that stand out.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    labels: int = 1
    note: str = ""
    marks: dict[tuple[int, int], str] = field(default_factory=dict)


def number(value: float | None, digits: int = 3) -> str:
    """A measure as text; a dash where it has no meaning."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def overview(sets: Sequence[Sequence[RunResult]]) -> Table:
    """Every set under every policy, on the ranked axis, strict; the projected rank-1 rate beside it."""
    rows = []
    for runs in sets:
        for run in runs:
            block = run.summary.overall
            strict, projected = (block.axes["ranked"][reading] for reading in READINGS)
            rows.append(
                [
                    run.config.name,
                    run.config.policy,
                    str(block.cases),
                    *(number(getattr(strict, name)) for name, _ in _RANKED),
                    number(projected.recall_at_k),
                    number(projected.required_rank1_rate),
                    number(block.latency_ms.get("p50"), 1),
                    number(block.latency_ms.get("p95"), 1),
                ]
            )
    return Table(
        "All sets",
        [
            "set",
            "policy",
            "cases",
            *(title for _, title in _RANKED),
            "projected recall",
            "projected rank 1",
            "p50 ms",
            "p95 ms",
        ],
        rows,
        labels=2,
        note="Strict: an item counts when it is the judged one, type and all. Projected: an item of another type from the "
        "same document counts too. bad@k counts places with a judged-bad item. k is the case's limit, never cut to what "
        "came back.",
    )


def gates(sets: Sequence[Sequence[RunResult]]) -> Table:
    """Every gate of every run."""
    rows: list[list[str]] = []
    marks: dict[tuple[int, int], str] = {}
    for runs in sets:
        for run in runs:
            for outcome in run.gates.outcomes:
                marks[len(rows), 4] = "good" if outcome.passed else "bad"
                rows.append(
                    [
                        run.config.name,
                        run.config.policy,
                        outcome.gate.slice or "all",
                        f"{outcome.gate.name} {outcome.gate.value:g}",
                        "passed" if outcome.passed else "FAILED",
                        outcome.reason,
                    ]
                )
    return Table("Gates", ["set", "policy", "slice", "gate", "outcome", "found"], rows, labels=6, marks=marks)


def axes(runs: Sequence[RunResult]) -> Table:
    """Every axis in both readings; an axis that was not asked says why."""
    rows = []
    unscored: dict[str, str] = {}
    for axis in AXES:
        for run in runs:
            for reading in READINGS:
                found = run.summary.overall.axes[axis][reading]
                if not found.scored_cases:
                    unscored[axis] = run.config.axes.get(axis) or "no case judges it"
                    continue
                cells = [number(getattr(found, name)) for name, _ in _RANKED]
                rows.append([axis, run.config.policy, reading, str(found.scored_cases), *cells])
    columns = ["axis", "policy", "reading", "cases", *(title for _, title in _RANKED)]
    note = " ".join(f"{axis.capitalize()} axis not scored: {why}." for axis, why in unscored.items())
    return Table("By axis", columns, rows, labels=3, note=note)


def categories(runs: Sequence[RunResult]) -> Table:
    """Every slice under every policy side by side."""
    names = list(runs[0].summary.slices)
    rows = [
        _category("all", [run.summary.overall for run in runs]),
        *(_category(name, [run.summary.slices[name] for run in runs]) for name in names),
    ]
    chosen = ("recall_at_k", "ndcg_at_k", "required_rank1_rate", "average_bad_at_k")
    titles = dict(_RANKED)
    columns = ["category", "cases"]
    for name in chosen:
        columns += [f"{titles[name]} {run.config.policy}" for run in runs]
    return Table("By category", columns, rows, note="Strict, ranked axis.")


def _category(name: str, blocks: Sequence[Block]) -> list[str]:
    found: list[AxisSummary] = [block.axes["ranked"]["strict"] for block in blocks]
    cells = [name, str(blocks[0].cases)]
    for measure in ("recall_at_k", "ndcg_at_k", "required_rank1_rate", "average_bad_at_k"):
        cells += [number(getattr(summary, measure)) for summary in found]
    return cells


def slots(runs: Sequence[RunResult]) -> Table:
    """HotMem's measures of places, and abstention."""
    rows = []
    for run in runs:
        block, told = run.summary.overall, run.summary.overall.abstention
        rows.append(
            [
                run.config.policy,
                number(block.false_positive_rate),
                number(block.duplicate_slot_rate),
                number(block.leakage),
                f"{told.abstained_on_no_answer} of {told.no_answer_cases}",
                f"{told.abstained_on_answerable} of {told.answerable_cases}",
            ]
        )
    columns = [
        "policy",
        "false positives",
        "duplicate slots",
        "leakage",
        "rightly abstained",
        "wrongly abstained",
    ]
    note = (
        "A case that returned nothing is left out of the false-positive rate: read it beside the abstentions."
    )
    return Table("Places and abstention", columns, rows, note=note)


def changes(comparison: Comparison) -> Table:
    """Every measure of the ranked axis, strict, in both runs, with its interval."""
    rows: list[list[str]] = []
    marks: dict[tuple[int, int], str] = {}
    for name, delta in comparison.overall["ranked"]["strict"].items():
        if (mark := _mark(name, delta)) is not None:
            marks[len(rows), 3] = mark
        rows.append(
            [
                name,
                number(delta.baseline, 4),
                number(delta.candidate, 4),
                f"{delta.delta:+.4f}",
                f"{delta.low:+.4f} to {delta.high:+.4f}",
                str(delta.better),
                str(delta.worse),
            ]
        )
    first, second = comparison.baseline.get("policy"), comparison.candidate.get("policy")
    return Table(
        f"{second} against {first}",
        ["measure", str(first), str(second), "change", "95% interval", "cases better", "cases worse"],
        rows,
        note="Paired bootstrap over cases, 2,000 draws. A change whose interval holds 0 may be chance. "
        f"{comparison.identical_rankings:.1%} of the cases are answered identically, scores included.",
        marks=marks,
    )


def _mark(name: str, delta: Delta) -> str | None:
    if delta.low <= _MARGIN and delta.high >= -_MARGIN:
        return None
    rising = delta.delta > 0
    return "good" if rising != (name in LOWER_IS_BETTER) else "bad"
