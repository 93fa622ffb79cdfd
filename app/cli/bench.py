"""``strata bench``: measure quality, latency, load, ingest and sizes."""

import signal
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from app.bench import report
from app.bench.context import FULL, QUICK, Context
from app.bench.corpus import Corpus
from app.bench.datasets import DatasetError
from app.bench.stage import StageError
from app.bench.suite import SECTIONS, run_sections
from app.cli.output import err, fail, out
from app.db.embedded import EmbeddedPostgres
from app.logs import configure_logging
from app.runtime import DatabaseUrls
from app.settings import load_settings

ALL = "all"
_WIDE = 160


def bench(
    sections: Annotated[
        list[str] | None,
        typer.Argument(help=f"What to measure: {', '.join(SECTIONS)}, or {ALL}", show_default=ALL),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: about two minutes for everything")
    ] = False,
    datasets: Annotated[
        Path | None,
        typer.Option(
            help="Retrieval sets for `quality` and `ann`: a folder each, with corpus.jsonl, queries.jsonl and qrels.tsv",
            envvar="STRATA_DATASETS_DIR",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="Only this retrieval set; repeatable")
    ] = None,
    max_queries: Annotated[
        int | None, typer.Option(help="Questions of each retrieval set at most", min=1)
    ] = None,
    peer_python: Annotated[
        Path | None,
        typer.Option(
            help="Python of an environment with `hotmem`, for `peer`",
            envvar="STRATA_BENCH_HOTMEM_PYTHON",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    results: Annotated[Path, typer.Option(help="Where the JSON file and the cached embeddings go")] = Path(
        "bench-results"
    ),
    seed: Annotated[int, typer.Option(help="Seed of the synthetic texts")] = Corpus.seed,
) -> None:
    """Measure this checkout on an embedded PostgreSQL of its own; prints tables and saves every figure as JSON."""
    # Ended from outside, the servers that this run has started must end too.
    signal.signal(signal.SIGTERM, _leave)
    names = _names(sections or [ALL])
    configure_logging(load_settings().model_copy(update={"log_level": "warning", "log_format": "console"}))
    scale = QUICK if quick else FULL
    corpus = Corpus(seed)
    started = datetime.now(UTC)
    machine = report.machine()
    found: list[report.SectionResult] = []
    with (
        tempfile.TemporaryDirectory(prefix="strata-bench-", ignore_cleanup_errors=True) as scratch,
        err.status("starting PostgreSQL") as status,
        # PostgreSQL may run as another user, who must get through.
        EmbeddedPostgres(_passable(scratch)) as server,
    ):

        def context(urls: DatabaseUrls) -> Context:
            return Context(
                urls=urls,
                directory=Path(scratch),
                cache=results / "cache",
                scale=scale,
                corpus=corpus,
                datasets=datasets,
                sets=tuple(sets) if sets else None,
                max_queries=max_queries,
                peer_python=peer_python,
                say=status.update,
            )

        console = Console(width=max(out.width, _WIDE)) if not out.is_terminal else out
        try:
            for section in run_sections(names, server, context):
                found.append(section)
                _print(console, section)
        except (DatasetError, StageError) as error:
            fail(str(error))
    path = report.save(
        report.Report(
            started_at=started,
            revision=report.revision(),
            machine=machine,
            versions=report.versions(),
            settings={
                "sections": " ".join(names),
                "scale": scale.name,
                "seed": seed,
                "datasets": None if datasets is None else str(datasets),
                "max_queries": max_queries,
            },
            sections=found,
        ),
        results,
    )
    out.print(f"saved {path}", highlight=False)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _passable(directory: str) -> Path:
    path = Path(directory)
    path.chmod(0o755)
    return path


def _names(wanted: list[str]) -> list[str]:
    """Sections in the order in which they run."""
    unknown = [name for name in wanted if name not in (*SECTIONS, ALL)]
    if unknown:
        fail(f"there is no section {unknown[0]!r}", f"Sections: {', '.join(SECTIONS)}, or {ALL}.")
    return [name for name in SECTIONS if name in wanted or ALL in wanted]


def _print(console: Console, section: report.SectionResult) -> None:
    console.rule(f"{section.name} ({section.seconds:.0f} s)", align="left")
    if section.skipped:
        console.print(f"skipped: {section.skipped}", highlight=False)
    for table in section.tables:
        console.print(report.render(table))
        if table.note:
            console.print(table.note, style="dim", highlight=False)
        console.print()
