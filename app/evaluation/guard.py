"""The committed baseline: what every shipped case answers, and what a change of it means. Pure.

The baseline holds the ordered documents of every guarded case. A change that is meant is accepted with a reason
(``strata eval accept``); any other one fails the guard's test, which prints this module's account of the difference.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from app.evaluation.comparison import LOWER_IS_BETTER
from app.evaluation.formats.judged import JudgedSet
from app.evaluation.scorer import CaseScore
from app.evaluation.summary import Summary, summarise
from app.evaluation.traces import RankedRef, Trace

SHOWN_CASES: Final = 8
SHOWN_PLACES: Final = 5
_MEASURES: Final = ("ndcg_at_k", "recall_at_k", "required_rank1_rate", "average_bad_at_k")
HEADLINE: Final = """\
The ranking of shipped cases changed.

What is compared: the suites in app/evaluation/suites, asked of this checkout with the hash embedder, against the accepted
answers in app/evaluation/suites/baseline.json. In the lists + is a document that answers and - one that must not come."""
ADVICE: Final = """\
What to do:
  - You did not mean to change the ranking: find out why it changed; nothing else should alter these lists.
    `strata eval guard` shows this again; `strata recall --explain` shows why a result stands where it stands.
  - You meant to: look at `make eval` (both policies, report with plots and worst cases). Is what got worse worth what got
    better? Then run `strata eval accept --reason "why"` and commit app/evaluation/suites/baseline.json with your change.
  - You changed a suite: accept it in the same way."""


class GuardedRun(msgspec.Struct, kw_only=True, frozen=True):
    """One suite under one policy.

    Attributes:
        rankings: Case id to the documents of its results, best first.
        categories: Slice (``overall`` for all) to measure to mean, strict.
    """

    seed_hash: str
    rankings: dict[str, list[str]]
    categories: dict[str, dict[str, float]]


class Note(msgspec.Struct, kw_only=True, frozen=True):
    """What a reader wants to know of a case: its question, and the mark of each judged result, ``+`` or ``-``."""

    query: str
    marks: dict[str, str]


Notes = Mapping[str, Mapping[str, Note]]


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


def notes_of(judged: JudgedSet) -> dict[str, Note]:
    """Notes on every case of a suite."""
    return {
        case.case_id: Note(
            query=case.query,
            marks={
                _told_item(item.ref.type, item.ref.source_doc_id or ""): "-" if item.role == "bad" else "+"
                for item in judged.judgements[case.case_id]["ranked"]
            },
        )
        for case in judged.cases
    }


def guarded(name: str, seed_hash: str, traces: Sequence[Trace], scores: Sequence[CaseScore]) -> GuardedRun:
    """What the baseline keeps of a run."""
    return GuardedRun(
        seed_hash=seed_hash,
        rankings={trace.case_id: [_item(ref) for ref in trace.ranked_refs] for trace in traces},
        categories=_categories(summarise(name, "", scores)),
    )


def _item(ref: RankedRef) -> str:
    """A result by its documents, which outlive an import; what is no fragment says so."""
    return _told_item(ref.type, "+".join(sorted(ref.source_doc_ids)) or ref.id)


def _told_item(kind: str, documents: str) -> str:
    return documents if kind == "fragment" else f"{kind} of {documents}"


def _categories(summary: Summary) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for name, block in {"overall": summary.overall, **summary.slices}.items():
        axis = block.axes["ranked"]["strict"]
        values = {measure: getattr(axis, measure) for measure in _MEASURES}
        found[name] = {measure: round(value, 6) for measure, value in values.items() if value is not None}
    return found


def difference(
    baseline: Mapping[str, GuardedRun], found: Mapping[str, GuardedRun], notes: Notes | None = None
) -> str:
    """What changed, told for people: by category, then changed cases, the worst first; empty when nothing did.

    Args:
        baseline: The accepted runs.
        found: The present ones.
        notes: On the cases of each suite, by its name.
    """
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
            lines += _told(name, (before, after), changed, (notes or {}).get(name.partition("/")[0], {}))
    return "\n".join([HEADLINE, "", *lines, "", ADVICE]) if lines else ""


def _told(
    name: str, runs: tuple[GuardedRun, GuardedRun], changed: Sequence[str], notes: Mapping[str, Note]
) -> list[str]:
    before, after = runs
    lines = [f"{name}: {len(changed)} of {len(after.rankings)} cases are answered in another order"]
    rows = []
    for category in sorted(before.categories.keys() | after.categories.keys()):
        old, new = before.categories.get(category, {}), after.categories.get(category, {})
        moved = [
            f"{measure} {old.get(measure, 0):.3f} -> {new.get(measure, 0):.3f} ({_verdict(measure, old, new)})"
            for measure in _MEASURES
            if abs(old.get(measure, 0) - new.get(measure, 0)) > 5e-7  # noqa: PLR2004 - below what is kept
        ]
        if moved:
            rows.append(f"    {category:<24} {'  '.join(moved)}")
    lines += rows or ["    no measure of any category moved: only places below the judged ones did"]

    def order(case: str) -> tuple[float, str]:
        marks = notes[case].marks if case in notes else {}
        was, now = (_worth(run.rankings.get(case, []), marks) for run in runs)
        return now - was, case

    ordered = sorted(changed, key=order)
    for case in ordered[:SHOWN_CASES]:
        note = notes.get(case, Note(query="", marks={}))
        lines.append(f"    {case}{f': {note.query}' if note.query else ''}")
        lines.append(f"      was {_listed(before.rankings.get(case, []), note.marks)}")
        lines.append(f"      is  {_listed(after.rankings.get(case, []), note.marks)}")
    if len(changed) > SHOWN_CASES:
        lines.append(f"    and {len(changed) - SHOWN_CASES} more")
    return lines


def _verdict(measure: str, old: Mapping[str, float], new: Mapping[str, float]) -> str:
    rising = new.get(measure, 0) > old.get(measure, 0)
    return "better" if rising != (measure in LOWER_IS_BETTER) else "worse"


def _worth(ranking: Sequence[str], marks: Mapping[str, str]) -> float:
    """What stands high counts most: answers for, what must not come against."""
    signs = {"+": 1.0, "-": -1.0}
    return sum(signs.get(marks.get(item, ""), 0.0) / place for place, item in enumerate(ranking, start=1))


def _listed(ranking: Sequence[str], marks: Mapping[str, str]) -> str:
    shown = [f"{marks.get(item, '')}{item}" for item in ranking[:SHOWN_PLACES]]
    more = len(ranking) - SHOWN_PLACES
    return ", ".join(shown + ([f"{more} more"] if more > 0 else [])) or "nothing"
