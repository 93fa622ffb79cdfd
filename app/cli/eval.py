"""``strata eval``: run judged sets, compare runs, guard the ranking.

Exit codes: 0 all is well; 1 the command could not do its work; 2 a set is invalid; 3 a gate failed; 4 a regression beyond
the tolerance, or a ranking that is not the accepted one.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from app.cli.access import KeyOption
from app.cli.eval_gates import with_gates
from app.cli.output import CommandError, err, out, print_json, print_table
from app.evaluation import accepting, shipped
from app.evaluation.api import Api, embedded_api, remote_api
from app.evaluation.artifacts import COMPARISON, RunDirectory
from app.evaluation.comparison import Comparison, Incomparable, compare
from app.evaluation.errors import EvaluationError
from app.evaluation.feedback import Review, candidates
from app.evaluation.formats.judged import InvalidSet, JudgedSet
from app.evaluation.formats.loading import load_set
from app.evaluation.gates import Gate, GateResult
from app.evaluation.report import tables
from app.evaluation.report.render import write_report
from app.evaluation.runner import RunOptions, RunResult, import_once, read_run, rescore, run_cases
from app.evaluation.scorer import Reading
from app.evaluation.suites.hardcases import PRESETS, generate
from app.logs import configure_logging
from app.settings import Settings, load_settings

commands = typer.Typer(
    help="Evaluation: run judged sets, compare runs, guard the ranking.", no_args_is_help=True
)
INVALID, GATE_FAILED, REGRESSION = 2, 3, 4
SERVICE = "service"
Result = TypeVar("Result")
Say = Callable[[str, int, int], None]
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
def _told() -> Iterator[None]:
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


@commands.command()
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


def _run(mode: Literal["baseline", "candidate"]) -> Callable[..., None]:
    def command(
        seed: SetFolder,
        output: Annotated[Path, typer.Option("--out", help="Directory of the run", file_okay=False)],
        gates: list[Gate],
        suite: SuiteFile = None,
        policy: Annotated[str, typer.Option(help="Ranking policy, by name")] = "strata-v1",
        base_url: BaseUrl = None,
        key: KeyOption = None,
        traces: Annotated[
            Path | None, typer.Option(help="Score this run's saved traces again; nothing is asked")
        ] = None,
        max_queries: Annotated[
            int | None, typer.Option(help="Queries of a BEIR-style folder at most", min=1)
        ] = None,
        scoped: Annotated[
            bool, typer.Option("--scoped", help="Graded fixtures: a profile for each namespace")
        ] = False,
        recall_options: Annotated[
            str, typer.Option(help="More fields of every recall, as a JSON object")
        ] = "{}",
        gate_reading: Annotated[
            Literal["strict", "projected"], typer.Option(help="Scores that the gates are held against")
        ] = "strict",
        concurrency: Annotated[
            int, typer.Option(help="Questions at once; more than one blurs latencies", min=1, max=32)
        ] = 1,
        as_json: Json = False,
    ) -> None:
        load: dict[str, Any] = {"max_queries": max_queries, "scoped": scoped}
        reading: Reading = gate_reading
        with _told():
            judged = load_set(seed, suite=suite, **load)
            options = RunOptions(
                mode=mode,
                policy=policy,
                seed=str(seed),
                load=load | {"suite": None if suite is None else str(suite)},
                recall_options=_object(recall_options),
                gates=gates,
                reading=reading,
                concurrency=concurrency,
            )
            if traces is not None:
                run = rescore(judged, RunDirectory(traces), output, options)
            else:

                async def use(api: Api, say: Say) -> RunResult:
                    mapping = await import_once(api, judged, output, say)
                    return await run_cases(api, judged, mapping, output, options=options, progress=say)

                run = _with_api(output, base_url, key, use)
            path = write_report(output, [(judged, [run])])
        _print_run(run, path, as_json=as_json)

    return command


def _object(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise CommandError(f"--recall-options is no JSON object: {error}") from error


def _named(command: Callable[..., None], name: str, told: str) -> Callable[..., None]:
    command.__name__, command.__doc__ = name, told
    return with_gates(command)


commands.command("baseline")(
    _named(
        _run("baseline"), "baseline", "Import a set into a fresh profile, ask every case, score and gate it."
    )
)
commands.command("candidate")(
    _named(
        _run("candidate"), "candidate", "As baseline; the run is the one that is compared with a baseline."
    )
)


@commands.command("compare")
def compare_runs(
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
    with _told():
        first, second = read_run(baseline_run), read_run(candidate_run)
        traces = (RunDirectory(baseline_run).traces(), RunDirectory(candidate_run).traces())
        found = compare(
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
    _print(tables.changes(found))
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


@commands.command()
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
    with _told():
        judged = load_set(seed) if seed is not None else None
        path = write_report(output, [(judged, [read_run(run) for run in runs])])
    out.print(str(path), highlight=False, soft_wrap=True)


@commands.command()
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
    with _told(), tempfile.TemporaryDirectory(prefix="strata-eval-") as scratch:
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
                say=lambda title: _titled(say, title),
            )

        found = _with_api(output, base_url, key, use, settings=settings)
        judged = [load_set(entry.folder, **entry.load) for entry in wanted]
        path = write_report(output, list(zip(judged, found, strict=True)))
    _print(tables.overview(found))
    out.print()
    _print(tables.gates(found))
    out.print(f"\n{path}", highlight=False, soft_wrap=True)
    if not all(run.gates.passed for runs in found for run in runs):
        raise typer.Exit(GATE_FAILED)


@commands.command()
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
    generate(output, preset=preset, draw=draw)
    judged = load_set(output)
    out.print(
        f"{output}: {len(judged.cases)} cases, {len(judged.documents)} documents, {judged.hash}",
        highlight=False,
    )


@commands.command()
def guard(as_json: Json = False) -> None:
    """Ask the guarded suites and tell what differs from the accepted ranking. Exit code 4 when something does."""
    with _told():
        told = _guarded(accepting.check)
    if as_json:
        print_json({"unchanged": not told, "difference": told})
    else:
        out.print(
            escape(told) if told else "The ranking is the accepted one.", highlight=False, soft_wrap=True
        )
    if told:
        raise typer.Exit(REGRESSION)


@commands.command()
def accept(
    reason: Annotated[str, typer.Option(help="Why the ranking of shipped cases changed", show_default=False)],
) -> None:
    """Make the present ranking the accepted one; the reason is kept in the baseline."""
    if not reason.strip():
        raise CommandError("the reason is blank", "Say in a sentence why the ranking changed.")
    with _told():
        told = _guarded(lambda api, directory, say: accepting.accept(api, directory, say, reason.strip()))
    out.print(
        escape(told) if told else "Nothing changed; the baseline stays.", highlight=False, soft_wrap=True
    )


def _guarded(use: Callable[[Api, Path, Callable[[str], Say]], Awaitable[str]]) -> str:
    settings = load_settings().model_copy(update={"embedder": "hash"})
    with tempfile.TemporaryDirectory(prefix="strata-eval-", ignore_cleanup_errors=True) as scratch:
        directory = Path(scratch)

        async def run(api: Api, say: Say) -> str:
            return await use(api, directory, lambda title: _titled(say, title))

        return _with_api(directory, None, None, run, settings=settings)


@commands.command("cases-from-feedback")
def cases_from_feedback(
    run: Annotated[Path, typer.Argument(help="Directory of a run with recorded traces", exists=True)],
    output: Annotated[Path, typer.Option("--out", help="JSONL file of candidate cases", dir_okay=False)],
    reviews: Annotated[
        Path | None,
        typer.Option(help="JSONL of reviewed feedback; recall_id names the trace's case", exists=True),
    ] = None,
) -> None:
    """Turn recorded recalls and their reviews into candidate cases for a person to accept."""
    with _told():
        traces = RunDirectory(run).traces()
        rows = [] if reviews is None else RunDirectory(reviews.parent).read_rows(reviews.name, Review)
        unknown = sorted({row.recall_id for row in rows} - {trace.case_id for trace in traces})
        if unknown:
            raise CommandError(f"{len(unknown)} reviews name no trace, the first: {unknown[0]!r}")
        found = candidates(traces, {row.recall_id: row for row in rows})
        RunDirectory(output.parent).write_rows(output.name, found)
    labelled = sum(bool(one.qrel.required_refs or one.qrel.bad_refs) for one in found)
    out.print(f"{output}: {len(found)} candidates, {labelled} labelled, none accepted yet", highlight=False)


def _with_api(
    directory: Path,
    base_url: str | None,
    key: str | None,
    use: Callable[[Api, Say], Awaitable[Result]],
    *,
    settings: Settings | None = None,
) -> Result:
    """Open the service, show progress, run ``use``."""
    used = settings or load_settings()
    configure_logging(used.model_copy(update={"log_level": "warning", "log_format": "console"}))

    async def run() -> Result:
        with _progress() as bar:
            task = bar.add_task("starting", total=None)

            def say(stage: str, done: int, total: int) -> None:
                bar.update(task, description=stage, completed=done, total=total)

            async with _opened(directory, base_url, key, used) as api:
                return await use(api, say)

    return asyncio.run(run())


@asynccontextmanager
async def _opened(
    directory: Path, base_url: str | None, key: str | None, settings: Settings
) -> AsyncIterator[Api]:
    if base_url is None:
        async with embedded_api((directory / SERVICE).absolute(), settings) as api:
            yield api
        return
    if key is None:
        raise CommandError("--base-url needs an API key", "Set STRATA_API_KEY, or give --key.")
    async with remote_api(base_url, key) as api:
        yield api


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
    )


def _titled(say: Say, title: str) -> Say:
    return lambda stage, done, total: say(f"{title}: {stage}", done, total)


def _print(table: tables.Table) -> None:
    if not table.rows:
        return
    out.print(table.title, style="bold")
    print_table(table.columns, table.rows)


def _print_run(run: RunResult, path: Path, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "run": str(run.directory),
                "report": str(path),
                "summary": msgspec.to_builtins(run.summary),
                "gates": msgspec.to_builtins(run.gates),
            }
        )
    else:
        _print(tables.axes([run]))
        if run.gates.outcomes:
            out.print()
            _print(tables.gates([[run]]))
        out.print(f"\n{path}", highlight=False, soft_wrap=True)
    _leave(run.gates)


def _leave(gates: GateResult) -> None:
    if not gates.passed:
        raise typer.Exit(GATE_FAILED)
