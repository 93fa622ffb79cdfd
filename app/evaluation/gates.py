"""Gates: bounds that a run must keep. Pure.

Four bounds on each of four axes, over the whole run or over one slice. A gate on an axis (or slice) on which nothing was
scored fails: what was not measured is not good.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from app.evaluation.formats.judged import AXES, Axis
from app.evaluation.scorer import Reading
from app.evaluation.summary import Block, Summary

# Bound -> measure; "min" is the least that is allowed, "max" the most.
BOUNDS: Final = {
    "min-recall-at-k": "recall_at_k",
    "min-required-rank1-rate": "required_rank1_rate",
    "max-average-bad-at-k": "average_bad_at_k",
    "max-bad-rank1-rate": "bad_rank1_rate",
}
NAMES: Final = tuple(
    name if axis == "ranked" else f"{name[:4]}{axis}-{name[4:]}" for axis in AXES for name in BOUNDS
)
_NAME: Final = re.compile(r"(min|max)-(?:(context|evidence|dream)-)?(.+)")
_SLICED: Final = re.compile(r"(?:(?P<slice>.+)/)?(?P<name>[a-z0-9-]+)=(?P<value>[0-9.]+)")


class GateError(ValueError):
    """A gate that cannot be read; the message says how one is written."""


class Gate(msgspec.Struct, kw_only=True, frozen=True):
    """One bound.

    Attributes:
        name: As in `NAMES`, such as ``min-context-recall-at-k``.
        slice: Slice that it holds for; empty: the whole run.
    """

    name: str
    value: float
    slice: str = ""


class GateOutcome(msgspec.Struct, kw_only=True, frozen=True):
    """What a gate found."""

    gate: Gate
    passed: bool
    found: float | None
    scored_cases: int
    reason: str


class GateResult(msgspec.Struct, kw_only=True, frozen=True):
    """``gate_result.json``: passed when every gate is; without gates nothing was asked and nothing failed."""

    passed: bool
    reading: Reading
    outcomes: list[GateOutcome]


def parse_gate(text: str) -> Gate:
    """A gate from ``[slice/]name=value``, as in ``temporal/min-recall-at-k=.8``.

    Raises:
        GateError: it is not written so, or there is no gate of that name.
    """
    found = _SLICED.fullmatch(text)
    if found is None or found["name"] not in NAMES:
        raise GateError(f"{text!r} is no gate: write [slice/]name=value with a name of {', '.join(NAMES)}")
    try:
        value = float(found["value"])
    except ValueError:
        raise GateError(f"{text!r}: {found['value']!r} is no number") from None
    return Gate(name=found["name"], value=value, slice=found["slice"] or "")


def check_gates(summary: Summary, gates: Sequence[Gate], reading: Reading = "strict") -> GateResult:
    """Hold a summary against gates."""
    outcomes = [_check(summary, gate, reading) for gate in gates]
    return GateResult(passed=all(outcome.passed for outcome in outcomes), reading=reading, outcomes=outcomes)


def _check(summary: Summary, gate: Gate, reading: Reading) -> GateOutcome:
    parts = _NAME.fullmatch(gate.name)
    if parts is None:
        raise GateError(f"there is no gate {gate.name!r}")
    axis: Axis = parts[2] or "ranked"  # type: ignore[assignment]
    block: Block | None = summary.slices.get(gate.slice) if gate.slice else summary.overall
    scores = block.axes[axis][reading] if block else None
    found: float | None = getattr(scores, BOUNDS[f"{parts[1]}-{parts[3]}"]) if scores else None
    cases = scores.scored_cases if scores else 0
    if found is None:
        where = f"slice {gate.slice!r}" if gate.slice else "run"
        reason = f"nothing was scored on the {axis} axis of this {where}"
        return GateOutcome(gate=gate, passed=False, found=None, scored_cases=cases, reason=reason)
    least = parts[1] == "min"
    passed = found >= gate.value if least else found <= gate.value
    words = ("at least", "below") if least else ("at most", "above")
    reason = f"{found:.4f} is {words[0] if passed else words[1]} {gate.value:g}"
    return GateOutcome(gate=gate, passed=passed, found=found, scored_cases=cases, reason=reason)
