"""Judged sets: checking them, and drawing the generated one."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from app.cli.eval.shared import INVALID, Json, SuiteFile, told
from app.cli.output import CommandError, err, out, print_json
from app.evaluation.formats.judged import InvalidSet, JudgedSet
from app.evaluation.formats.loading import load_set
from app.evaluation.suites.hardcases import PRESETS, generate


def validate(
    folders: Annotated[
        list[Path], typer.Argument(help="Sets to check", exists=True, file_okay=False, show_default=False)
    ],
    suite: SuiteFile = None,
    as_json: Json = False,
) -> None:
    """Check sets: every problem with file, line and reason. Exit code 2 when there is one."""
    found: list[JudgedSet] = []
    problems: dict[str, list[str]] = {}
    for folder in folders:
        try:
            found.append(load_set(folder, suite=suite))
        except InvalidSet as invalid:
            problems[str(folder)] = [str(problem) for problem in invalid.problems]
    if as_json:
        print_json({"valid": [_described(judged) for judged in found], "problems": problems})
    else:
        for judged in found:
            said = f"{len(judged.documents):,} documents, {len(judged.cases):,} cases"
            out.print(f"{judged.name}: valid; {judged.form}, {said}, {judged.hash}", highlight=False)
        for folder_name, lines in problems.items():
            for line in lines:
                err.print(escape(f"{folder_name}/{line}"), highlight=False, soft_wrap=True)
    if problems:
        raise typer.Exit(INVALID)


def _described(judged: JudgedSet) -> dict[str, Any]:
    return {
        "name": judged.name,
        "form": judged.form,
        "hash": judged.hash,
        "documents": len(judged.documents),
        "cases": len(judged.cases),
    }


def hardcases(
    output: Annotated[
        Path, typer.Option("--out", help="Folder to write the seed directory to", file_okay=False)
    ],
    preset: Annotated[str, typer.Option(help=f"Size: {', '.join(PRESETS)}")] = "standard",
    draw: Annotated[int, typer.Option(help="Seed number; another one is a held-out set", min=1)] = 1,
) -> None:
    """Generate the hardcases suite as a seed directory."""
    if preset not in PRESETS:
        raise CommandError(f"there is no preset {preset!r}", f"Presets: {', '.join(PRESETS)}.")
    with told():
        generate(output, preset=preset, draw=draw)
        judged = load_set(output)
    out.print(
        f"{output}: {len(judged.cases)} cases, {len(judged.documents)} documents, {judged.hash}",
        highlight=False,
        soft_wrap=True,
    )
