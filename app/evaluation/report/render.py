"""A report from runs: tables, plots and worst cases, as HTML and as Markdown."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jinja2

from app.evaluation.artifacts import COMPARISON, RunDirectory
from app.evaluation.comparison import Comparison
from app.evaluation.formats.judged import JudgedSet
from app.evaluation.report import plots, tables
from app.evaluation.report.tables import Table
from app.evaluation.report.worst import WorstCase, worst_cases
from app.evaluation.runner import RunResult

HTML: Final = "report.html"
MARKDOWN: Final = "report.md"
TITLE: Final = "Strata evaluation"
LIMITS: Final = (
    "The suites are small and written by hand or generated: a figure says how these cases fare, not how users' questions will.",
    "Who wrote broad and hardcases knew the ranking rules: paraphrases, other draws and sets by other authors say more.",
    "An axis that was not asked is not scored; it is neither good nor bad.",
    "Intervals are over cases alone. Cases that share documents or wording are not independent, so intervals are too narrow.",
    "A projected score tells relevance across tiers; it does not show that the wanted type came back.",
    "Judgements are incomplete: an item that nobody judged counts as not relevant, and never as bad.",
    "Latencies are of one caller on the machine of the run, with the explanation switched on, the embedder included; the policies were asked one after the other.",
)


@dataclass(frozen=True, slots=True)
class _Part:
    """One set in the report."""

    name: str
    told: str
    plots: list[str]
    tables: list[Table]
    worst: list[WorstCase]
    worst_policy: str
    facts: list[tuple[str, str]]


def write_report(directory: Path, sets: Sequence[tuple[JudgedSet | None, Sequence[RunResult]]]) -> Path:
    """Write both files; returns the HTML one.

    Args:
        directory: Gets them.
        sets: Runs of each set, the baseline first, with the set itself where it is at hand: it tells what was judged.
    """
    parts = [_part(judged, runs, number) for number, (judged, runs) in enumerate(sets)]
    runs = [runs for _, runs in sets]
    failed = sum(not outcome.passed for group in runs for run in group for outcome in run.gates.outcomes)
    asked = sum(len(run.gates.outcomes) for group in runs for run in group)
    context: dict[str, Any] = {
        "title": TITLE,
        "subtitle": _subtitle(runs),
        "outcome": "bad" if failed else "good" if asked else "none",
        "verdict": _verdict(asked, failed),
        "overview": tables.overview(runs),
        "gates": tables.gates(runs),
        "parts": parts,
        "limits": LIMITS,
    }
    target = RunDirectory(directory)
    target.write_bytes(HTML, _html(context).encode())
    target.write_bytes(MARKDOWN, _markdown(context).encode())
    return directory / HTML


def _verdict(asked: int, failed: int) -> str:
    if not asked:
        return "No gates were set."
    return f"{failed} of {asked} gates failed." if failed else f"All {asked} gates passed."


def _subtitle(groups: Sequence[Sequence[RunResult]]) -> str:
    runs = [run for group in groups for run in group]
    started = min(run.config.started_at for run in runs)
    cases = sum(run.config.cases for run in runs)
    service = runs[0].config.service
    embedding = service.get("embedding") or {}
    model = embedding.get("model", "") if isinstance(embedding, dict) else embedding
    return (
        f"{started:%Y-%m-%d %H:%M} UTC · version {service.get('version', 'unknown')} · embedding {model} · "
        f"{_counted(len(groups), 'set')}, {_counted(len(runs), 'run')}, {cases:,} questions asked · scorer {runs[0].config.scorer_revision}"
    )


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def _part(judged: JudgedSet | None, runs: Sequence[RunResult], number: int) -> _Part:
    config = runs[0].config
    last = RunDirectory(runs[-1].directory)
    comparison = last.read(COMPARISON, Comparison) if len(runs) > 1 and last.has(COMPARISON) else None
    pictures = [plots.first_required(runs, f"first{number}"), plots.recall_curves(runs, f"recall{number}")]
    if comparison is not None and comparison.slices:
        pictures.append(plots.slice_deltas(comparison, f"slices{number}"))
    pictures.append(plots.latency(runs, f"latency{number}"))
    shown = [tables.changes(comparison)] if comparison is not None else []
    shown += [tables.categories(runs), tables.axes(runs), tables.slots(runs)]
    return _Part(
        name=config.name,
        told=_told(runs),
        plots=pictures,
        tables=shown,
        worst=worst_cases(runs[-1].scores, {trace.case_id: trace for trace in last.traces()}, _roles(judged)),
        worst_policy=runs[-1].config.policy,
        facts=_facts(runs),
    )


def _told(runs: Sequence[RunResult]) -> str:
    config = runs[0].config
    depth = f"k = {config.scoring.k}" if config.scoring.k else "k = each case's limit"
    return (
        f"{config.cases:,} cases over {config.documents:,} documents ({config.form} format); {depth}, "
        f"{config.scoring.gain} gain in nDCG."
    )


def _facts(runs: Sequence[RunResult]) -> list[tuple[str, str]]:
    config, mapping = runs[0].config, RunDirectory(runs[0].directory).mapping()
    facts = [
        ("runs", ", ".join(run.config.run_id + " " + run.config.policy for run in runs)),
        ("set hash", config.seed_hash),
        ("import", config.import_method),
        ("service", _service(config.service)),
    ]
    if config.recall_options:
        facts.append(
            ("recall options", ", ".join(f"{name} {value}" for name, value in config.recall_options.items()))
        )
    unmapped = Counter(
        ref.partition(":")[0] for score in runs[0].scores for ref in score.unmapped_source_refs
    )
    if unmapped:
        counted = ", ".join(f"{number} of type {kind}" for kind, number in sorted(unmapped.items()))
        facts.append(("unmapped references", f"{counted}: the import made nothing of them"))
    if mapping.refused_promotions:
        facts.append(("refused promotions", "; ".join(mapping.refused_promotions)))
    return facts


def _service(told: Mapping[str, Any]) -> str:
    parts = [
        f"{name} {value.get('model', value) if isinstance(value, dict) else value}"
        for name, value in told.items()
        if name != "embedded"
    ]
    return ", ".join([*parts, "started by the run" if told.get("embedded") else "a running server"])


def _roles(judged: JudgedSet | None) -> dict[str, dict[str, str]]:
    if judged is None:
        return {}
    return {
        case: {
            item.ref.source_doc_id: item.role
            # Required last: a document that is judged twice shows its better role.
            for item in reversed(axes["ranked"])
            if item.ref.source_doc_id
        }
        for case, axes in judged.judgements.items()
    }


def _html(context: dict[str, Any]) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("app.evaluation.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("page.html.j2").render(context)


def _markdown(context: dict[str, Any]) -> str:
    lines = [f"# {context['title']}", "", context["subtitle"], "", f"**{context['verdict']}**", ""]
    for table in (context["overview"], context["gates"]):
        lines += _markdown_table(table)
    for part in context["parts"]:
        lines += [f"## {part.name}", "", part.told, ""]
        for table in part.tables:
            lines += _markdown_table(table)
        if part.worst:
            lines += [f"### Worst cases of {part.worst_policy}", ""]
        for case in part.worst:
            lines += [f"- {_cell(case.query)} ({case.case_id}): {case.told}"]
            lines += [
                f"  - {item.place} {f'**{item.mark}** ' if item.mark else ''}{_cell(item.text or item.document)} ({item.why})"
                for item in case.items
            ]
        lines += ["", "### How it was run", ""]
        lines += [f"- {name}: {_cell(value)}" for name, value in part.facts]
        lines += [""]
    lines += ["## What this does not prove", "", *(f"- {limit}" for limit in context["limits"]), ""]
    return "\n".join(lines)


def _markdown_table(table: Table) -> list[str]:
    if not table.rows:
        return []
    rule = ["---" if number < table.labels else "---:" for number in range(len(table.columns))]
    rows = [table.columns, rule, *table.rows]
    lines = [f"### {table.title}", "", *("| " + " | ".join(map(_cell, row)) + " |" for row in rows), ""]
    return [*lines, table.note, ""] if table.note else lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
