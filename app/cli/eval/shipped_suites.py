"""The suites that come with Strata: running them all, and holding the ranking against the accepted one."""

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from app.cli.access import KeyOption
from app.cli.eval.service import Say, titled, with_api
from app.cli.eval.shared import GATE_FAILED, REGRESSION, BaseUrl, Json, show, told
from app.cli.output import CommandError, out, print_json
from app.evaluation import accepting, shipped
from app.evaluation.api import Api
from app.evaluation.formats.loading import load_set
from app.evaluation.report import tables
from app.evaluation.report.render import write_report
from app.evaluation.runner import RunResult
from app.settings import load_settings


def suites(
    output: Annotated[
        Path, typer.Option("--out", help="Directory of the runs and the report", file_okay=False)
    ] = Path("eval-runs"),
    quick: Annotated[
        bool, typer.Option("--quick", help="The hash embedder and a small draw: a minute, for CI")
    ] = False,
    draw: Annotated[int, typer.Option(help="Draw of hardcases; another number is a held-out set", min=1)] = 1,
    policy: Annotated[
        list[str] | None, typer.Option(help="Policies, the baseline first; repeatable", show_default="both")
    ] = None,
    datasets: Annotated[
        Path | None,
        typer.Option(help="Folder of more sets", envvar="STRATA_DATASETS_DIR", exists=True, file_okay=False),
    ] = None,
    sets: Annotated[list[str] | None, typer.Option("--set", help="A set in that folder; repeatable")] = None,
    max_queries: Annotated[
        int | None, typer.Option(help="Queries of a BEIR-style folder at most", min=1)
    ] = None,
    base_url: BaseUrl = None,
    key: KeyOption = None,
) -> None:
    """Run the shipped suites under both policies, compare them, and write one report."""
    settings = load_settings()
    if quick:
        settings = settings.model_copy(update={"embedder": "hash"})
    with told(), tempfile.TemporaryDirectory(prefix="strata-eval-") as scratch:
        wanted = shipped.entries(
            Path(scratch),
            preset="small" if quick else "standard",
            draw=draw,
            hashed=settings.embedder == "hash",
            datasets=datasets,
            sets=sets or (),
            max_queries=max_queries,
        )

        async def use(api: Api, say: Say) -> list[list[RunResult]]:
            return await shipped.run_entries(
                api,
                wanted,
                output,
                policies=policy or shipped.POLICIES,
                say=lambda title: titled(say, title),
            )

        found = with_api(output, base_url, key, use, settings=settings)
        judged = [load_set(entry.folder, **entry.load) for entry in wanted]
        path = write_report(output, list(zip(judged, found, strict=True)))
    show(tables.overview(found))
    out.print()
    show(tables.gates(found))
    out.print(f"\n{path}", highlight=False, soft_wrap=True)
    if not all(run.gates.passed for runs in found for run in runs):
        raise typer.Exit(GATE_FAILED)


def guard(as_json: Json = False) -> None:
    """Ask the guarded suites and tell what differs from the accepted ranking. Exit code 4 when something does."""
    with told():
        difference = _guarded(accepting.check)
    if as_json:
        print_json({"unchanged": not difference, "difference": difference})
    else:
        out.print(
            escape(difference) if difference else "The ranking is the accepted one.",
            highlight=False,
            soft_wrap=True,
        )
    if difference:
        raise typer.Exit(REGRESSION)


def accept(
    reason: Annotated[str, typer.Option(help="Why the ranking of shipped cases changed", show_default=False)],
) -> None:
    """Make the present ranking the accepted one; the reason is kept in the baseline."""
    if not reason.strip():
        raise CommandError("the reason is blank", "Say in a sentence why the ranking changed.")
    with told():
        difference = _guarded(
            lambda api, directory, say: accepting.accept(api, directory, say, reason.strip())
        )
    out.print(
        escape(difference) if difference else "Nothing changed; the baseline stays.",
        highlight=False,
        soft_wrap=True,
    )


def _guarded(use: Callable[[Api, Path, Callable[[str], Say]], Awaitable[str]]) -> str:
    settings = load_settings().model_copy(update={"embedder": "hash"})
    with tempfile.TemporaryDirectory(prefix="strata-eval-", ignore_cleanup_errors=True) as scratch:
        directory = Path(scratch)

        async def run(api: Api, say: Say) -> str:
            return await use(api, directory, lambda title: titled(say, title))

        return with_api(directory, None, None, run, settings=settings)
