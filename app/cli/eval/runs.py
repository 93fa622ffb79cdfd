"""One run of one set: ``strata eval baseline`` and ``strata eval candidate``."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer

from app.cli.access import KeyOption
from app.cli.eval.gate_options import with_gates
from app.cli.eval.service import Say, with_api
from app.cli.eval.shared import GATE_FAILED, BaseUrl, Json, SetFolder, SuiteFile, show, told
from app.cli.output import CommandError, out, print_json
from app.evaluation.api import Api
from app.evaluation.artifacts import RunDirectory
from app.evaluation.formats.loading import load_set
from app.evaluation.gates import Gate
from app.evaluation.report import tables
from app.evaluation.report.render import write_report
from app.evaluation.runner import RunOptions, RunResult, import_once, rescore, run_cases
from app.evaluation.scorer import Reading


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
        with told():
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

                run = with_api(output, base_url, key, use)
            path = write_report(output, [(judged, [run])])
        _print_run(run, path, as_json=as_json)

    return command


def _object(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise CommandError(f"--recall-options is no JSON object: {error}") from error


def _named(command: Callable[..., None], name: str, said: str) -> Callable[..., None]:
    command.__name__, command.__doc__ = name, said
    return with_gates(command)


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
        show(tables.axes([run]))
        if run.gates.outcomes:
            out.print()
            show(tables.gates([[run]]))
        out.print(f"\n{path}", highlight=False, soft_wrap=True)
    if not run.gates.passed:
        raise typer.Exit(GATE_FAILED)


baseline = _named(
    _run("baseline"), "baseline", "Import a set into a fresh profile, ask every case, score and gate it."
)
candidate = _named(
    _run("candidate"), "candidate", "As baseline; the run is the one that is compared with a baseline."
)
