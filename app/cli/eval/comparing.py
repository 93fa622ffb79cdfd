"""Finished runs: comparing two, and writing a report of several."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.markup import escape

from app.cli.eval.shared import REGRESSION, Json, show, told
from app.cli.output import err, out, print_json, print_table
from app.evaluation import shipped
from app.evaluation.artifacts import COMPARISON, RunDirectory
from app.evaluation.comparison import Comparison
from app.evaluation.comparison import compare as compare_scores
from app.evaluation.formats.loading import load_set
from app.evaluation.report import tables
from app.evaluation.report.render import write_report
from app.evaluation.runner import read_run


def compare(
    baseline_run: Annotated[Path, typer.Option(help="Directory of the baseline", exists=True)],
    candidate_run: Annotated[
        Path, typer.Option(help="Directory of the candidate; gets comparison.json", exists=True)
    ],
    max_regression: Annotated[
        float | None,
        typer.Option(
            help="Fail (exit code 4) when a ranked measure, over all cases or in a slice, falls by more",
            min=0,
        ),
    ] = None,
    cases: Annotated[int, typer.Option(help="Changed cases to print, the worst first", min=0)] = 20,
    as_json: Json = False,
) -> None:
    """Compare two runs of one set: changes over all cases, by slice and by case, with intervals."""
    with told():
        first, second = read_run(baseline_run), read_run(candidate_run)
        traces = (RunDirectory(baseline_run).traces(), RunDirectory(candidate_run).traces())
        found = compare_scores(
            shipped.comparable(first),
            shipped.comparable(second),
            (first.scores, second.scores),
            traces,
            tolerance=max_regression,
        )
        RunDirectory(candidate_run).write(COMPARISON, found)
    if as_json:
        print_json(msgspec.to_builtins(found))
    else:
        _print_comparison(found, cases)
    if found.regressions:
        raise typer.Exit(REGRESSION)


def _print_comparison(found: Comparison, cases: int) -> None:
    show(tables.changes(found))
    rows = [
        [
            name,
            f"{delta.baseline:.3f}",
            f"{delta.candidate:.3f}",
            f"{delta.delta:+.3f}",
            f"{delta.low:+.3f} to {delta.high:+.3f}",
        ]
        for name, deltas in found.slices.items()
        if (delta := deltas.get("ndcg_at_k")) is not None
    ]
    if rows:
        out.print("\nnDCG@k by slice", style="bold")
        print_table(["slice", "baseline", "candidate", "change", "95% interval"], rows)
    out.print(f"\n{len(found.changes)} cases changed", style="bold")
    if found.changes and cases:
        print_table(
            ["case", "nDCG", "first required", "first bad"],
            [
                [
                    change.case_id,
                    " -> ".join(tables.number(value) for value in change.ndcg),
                    " -> ".join(str(rank or "none") for rank in change.first_required_rank),
                    " -> ".join(str(rank or "none") for rank in change.first_bad_rank),
                ]
                for change in found.changes[:cases]
            ],
        )
    for regression in found.regressions:
        where = regression.slice or "all cases"
        err.print(
            f"[bold red]regression[/] {regression.measure} of {escape(where)}: {regression.delta:+.4f}, "
            f"allowed is {regression.tolerance:g}",
            highlight=False,
        )


def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Directories of runs of one set, the baseline first", exists=True)
    ],
    output: Annotated[Path, typer.Option("--out", help="Where report.html and report.md go")],
    seed: Annotated[
        Path | None, typer.Option(help="The set, to mark what was judged", exists=True, file_okay=False)
    ] = None,
) -> None:
    """Write a report of finished runs: one self-contained HTML file, and Markdown."""
    with told():
        judged = load_set(seed) if seed is not None else None
        path = write_report(output, [(judged, [read_run(run) for run in runs])])
    out.print(str(path), highlight=False, soft_wrap=True)
