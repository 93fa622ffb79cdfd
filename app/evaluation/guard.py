"""The committed baseline: what every shipped case answers, and what a change of it means. Pure.

The baseline holds the ordered documents of every guarded case. A change that is meant is accepted with a reason
(``strata eval accept``); any other one fails the guard's test, which prints this module's account of the difference.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from app.evaluation.scorer import CaseScore
from app.evaluation.summary import Summary, summarise
from app.evaluation.traces import RankedRef, Trace

SHOWN_CASES: Final = 12
_MEASURES: Final = ("ndcg_at_k", "recall_at_k", "required_rank1_rate", "average_bad_at_k")
ADVICE: Final = """\
What to do:
  - You did not mean to change the ranking: find out why it changed; nothing else should alter these lists.
  - You meant to: look at `make eval` (both policies, report with plots and worst cases), and when the change is worth it
    run `strata eval accept --reason "why"` and commit app/evaluation/suites/baseline.json with your change."""


class GuardedRun(msgspec.Struct, kw_only=True, frozen=True):
    """One suite under one policy.

    Attributes:
        rankings: Case id to the documents of its results, best first.
        categories: Slice (``overall`` for all) to measure to mean, strict.
    """

    seed_hash: str
    rankings: dict[str, list[str]]
    categories: dict[str, dict[str, float]]


class Baseline(msgspec.Struct, kw_only=True, frozen=True):
    """``baseline.json``.

    Attributes:
        embedder: Key of the embedding space: the baseline holds for it alone.
        reasons: Why it was accepted, oldest first.
        runs: ``suite/policy`` to its run.
    """

    scorer_revision: str
    embedder: str
    reasons: list["Acceptance"]
    runs: dict[str, GuardedRun]


class Acceptance(msgspec.Struct, kw_only=True, frozen=True):
    """One accepted change."""

    at: datetime
    reason: str


def guarded(name: str, seed_hash: str, traces: Sequence[Trace], scores: Sequence[CaseScore]) -> GuardedRun:
    """What the baseline keeps of a run."""
    return GuardedRun(
        seed_hash=seed_hash,
        rankings={trace.case_id: [_item(ref) for ref in trace.ranked_refs] for trace in traces},
        categories=_categories(summarise(name, "", scores)),
    )


def _item(ref: RankedRef) -> str:
    """A result by its documents, which outlive an import; what is no fragment says so."""
    documents = "+".join(sorted(ref.source_doc_ids)) or ref.id
    return documents if ref.type == "fragment" else f"{ref.type} of {documents}"


def _categories(summary: Summary) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for name, block in {"overall": summary.overall, **summary.slices}.items():
        axis = block.axes["ranked"]["strict"]
        values = {measure: getattr(axis, measure) for measure in _MEASURES}
        found[name] = {measure: round(value, 6) for measure, value in values.items() if value is not None}
    return found


def difference(baseline: Mapping[str, GuardedRun], found: Mapping[str, GuardedRun]) -> str:
    """What changed, told for people: by category, then the first changed cases; empty when nothing did."""
    lines: list[str] = []
    for name in sorted(baseline.keys() | found.keys()):
        before, after = baseline.get(name), found.get(name)
        if before is None or after is None:
            lines.append(f"{name}: {'not in the baseline' if before is None else 'no longer run'}")
            continue
        if before.seed_hash != after.seed_hash:
            lines.append(
                f"{name}: the suite itself changed ({before.seed_hash[:19]} to {after.seed_hash[:19]})"
            )
        changed = [
            case
            for case in sorted(before.rankings.keys() | after.rankings.keys())
            if before.rankings.get(case) != after.rankings.get(case)
        ]
        if changed:
            lines += _told(name, before, after, changed)
    return "\n".join(["The ranking of shipped cases changed.", "", *lines, "", ADVICE]) if lines else ""


def _told(name: str, before: GuardedRun, after: GuardedRun, changed: Sequence[str]) -> list[str]:
    lines = [f"{name}: {len(changed)} of {len(after.rankings)} cases are answered in another order"]
    rows = []
    for category in sorted(before.categories.keys() | after.categories.keys()):
        old, new = before.categories.get(category, {}), after.categories.get(category, {})
        moved = [
            f"{measure} {old.get(measure, 0):.3f} -> {new.get(measure, 0):.3f}"
            for measure in _MEASURES
            if abs(old.get(measure, 0) - new.get(measure, 0)) > 5e-7  # noqa: PLR2004 - below what is kept
        ]
        if moved:
            rows.append(f"    {category:<24} {'  '.join(moved)}")
    lines += rows or ["    no measure of any category moved: only places below the judged ones did"]
    for case in changed[:SHOWN_CASES]:
        lines.append(f"    {case}")
        lines.append(f"      was {', '.join(before.rankings.get(case, [])) or 'nothing'}")
        lines.append(f"      is  {', '.join(after.rankings.get(case, [])) or 'nothing'}")
    if len(changed) > SHOWN_CASES:
        lines.append(f"    and {len(changed) - SHOWN_CASES} more")
    return lines
