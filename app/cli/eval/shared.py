"""What the evaluation's commands share: options, exit codes, and how they end early."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.markup import escape

from app.cli.output import CommandError, err, out, print_table
from app.evaluation.comparison import Incomparable
from app.evaluation.errors import EvaluationError
from app.evaluation.formats.judged import InvalidSet
from app.evaluation.report.tables import Table

INVALID: Final = 2
GATE_FAILED: Final = 3
REGRESSION: Final = 4
Json = Annotated[bool, typer.Option("--json", help="Print JSON")]
SetFolder = Annotated[
    Path,
    typer.Option(
        "--seed",
        help="The set: a seed directory, a BEIR-style folder, or graded fixtures",
        exists=True,
        file_okay=False,
    ),
]
SuiteFile = Annotated[
    Path | None, typer.Option("--suite", help="Cases to ask, with weights and slices (JSONL)", exists=True)
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        envvar="STRATA_URL",
        help="A running server; without it the run starts a service of its own, in the run's directory",
    ),
]


@contextmanager
def told() -> Iterator[None]:
    """What ends a command early, in a sentence or a list of them."""
    try:
        yield
    except InvalidSet as invalid:
        for problem in invalid.problems:
            err.print(escape(str(problem)), highlight=False, soft_wrap=True)
        err.print(f"[bold red]{len(invalid.problems)} problems[/]; nothing was imported", highlight=False)
        raise typer.Exit(INVALID) from None
    except EvaluationError as error:
        raise CommandError(str(error), error.remedy) from error
    except Incomparable as error:
        raise CommandError(
            str(error), "Compare runs of one set, one scorer and one way of import."
        ) from error


def show(table: Table) -> None:
    """A report's table on the terminal with its note; nothing when it has no rows."""
    if not table.rows:
        return
    out.print(table.title, style="bold")
    print_table(table.columns, table.rows)
    if table.note:
        out.print(table.note, style="dim", highlight=False, markup=False)
