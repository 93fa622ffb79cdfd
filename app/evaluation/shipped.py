"""What ``strata eval suites`` runs: the suites that come with Strata, and the sets that lie in a folder."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from app.evaluation.api import Api
from app.evaluation.artifacts import COMPARISON, RunDirectory
from app.evaluation.comparison import compare
from app.evaluation.formats.judged import JudgedSet
from app.evaluation.formats.loading import load_set
from app.evaluation.gates import Gate
from app.evaluation.guard import GuardedRun, Note, guarded, notes_of
from app.evaluation.importing import Progress
from app.evaluation.runner import RunOptions, RunResult, import_once, run_cases, score_all
from app.evaluation.suites.hardcases import generate

BROAD: Final = Path(__file__).parent / "suites" / "broad"
BASELINE: Final = Path(__file__).parent / "suites" / "baseline.json"
POLICIES: Final = ("documented-v1", "strata-v1")
GUARD_PRESET: Final = "small"
GRADED: Final = "hotmem"


@dataclass(frozen=True, slots=True)
class Entry:
    """One set to run.

    Attributes:
        name: Of its folder among the runs.
        gates: Bounds that every policy's run must keep.
    """

    name: str
    folder: Path
    load: Mapping[str, Any] = field(default_factory=dict)
    gates: Sequence[Gate] = ()


# Floors below what both policies reach with the bundled model and, in the second column, with the hash embedder, which knows
# no paraphrase. They catch a broken branch or a broken import; the committed baseline catches a changed ranking.
_FLOORS: Final = {
    "broad": (
        ("", "min-recall-at-k", 0.9, 0.75),
        ("", "min-required-rank1-rate", 0.6, 0.45),
        ("half:plain", "min-recall-at-k", 0.9, 0.85),
        ("half:paraphrase", "min-recall-at-k", 0.9, 0.6),
        ("retraction", "min-recall-at-k", 0.95, 0.85),
    ),
    "hardcases": (("metadata_identifier", "min-recall-at-k", 0.9, 0.9),),
}


def _gates(name: str, *, hashed: bool) -> list[Gate]:
    return [
        Gate(name=gate, value=low if hashed else high, slice=part) for part, gate, high, low in _FLOORS[name]
    ]


def entries(
    scratch: Path,
    *,
    preset: str = "standard",
    draw: int = 1,
    hashed: bool = False,
    datasets: Path | None = None,
    sets: Sequence[str] = (),
    max_queries: int | None = None,
) -> list[Entry]:
    """Shipped suites, then sets by path.

    Args:
        scratch: Where generated suites are written.
        preset: Of ``hardcases``.
        draw: Of ``hardcases``.
        hashed: The service embeds with ``hash``: its floors hold.
        datasets: Folder of sets.
        sets: Folders in it that are run.
        max_queries: Queries of a BEIR-style set at most.
    """
    generated = scratch / f"hardcases-{preset}-{draw}"
    generate(generated, preset=preset, draw=draw)
    found = [
        Entry(name, folder, gates=_gates(name, hashed=hashed))
        for name, folder in (("broad", BROAD), ("hardcases", generated))
    ]
    if datasets is None:
        return found
    for name in sets:
        folder = datasets / name
        found.append(Entry(name, folder, {"max_queries": max_queries}))
        if name == GRADED:
            found.append(Entry(f"{name}-scoped", folder, {"scoped": True}))
    return found


async def run_entries(
    api: Api,
    wanted: Sequence[Entry],
    out: Path,
    *,
    policies: Sequence[str],
    say: Callable[[str], Progress],
) -> list[list[RunResult]]:
    """Import each set once and ask it under every policy; each later policy is compared with the first.

    Args:
        api: The service.
        wanted: The sets; each is read and checked before anything is imported.
        out: Gets ``<set>/<policy>`` for every run.
        policies: Names of ranking policies.
        say: Called with a headline; returns what is told of the progress.

    Raises:
        InvalidSet: one of the sets is invalid.
        EvaluationError: a run failed.
    """
    loaded = [(entry, load_set(entry.folder, **entry.load)) for entry in wanted]
    results = []
    for entry, judged in loaded:
        mapping = await import_once(api, judged, out / entry.name / "import", say(entry.name))
        runs: list[RunResult] = []
        for number, policy in enumerate(policies):
            options = RunOptions(
                mode="candidate" if number else "baseline",
                policy=policy,
                seed=entry.name,
                load=entry.load,
                gates=entry.gates,
            )
            directory = out / entry.name / policy
            run = await run_cases(
                api, judged, mapping, directory, options=options, progress=say(f"{entry.name} {policy}")
            )
            runs.append(run)
            if number:
                compare_runs(runs[0], run)
        results.append(runs)
    return results


def compare_runs(baseline: RunResult, candidate: RunResult) -> None:
    """Write the comparison of two runs of one set into the candidate's directory."""
    first, second = RunDirectory(baseline.directory), RunDirectory(candidate.directory)
    comparison = compare(
        comparable(baseline),
        comparable(candidate),
        (baseline.scores, candidate.scores),
        (first.traces(), second.traces()),
    )
    second.write(COMPARISON, comparison)


def comparable(run: RunResult) -> dict[str, Any]:
    """What `comparison.MUST_AGREE` looks at, and what a reader wants to know."""
    config = run.config
    return {
        "run_id": config.run_id,
        "policy": config.policy,
        "seed_hash": config.seed_hash,
        "suite_hash": config.suite_hash,
        "scorer_revision": config.scorer_revision,
        "import_method": config.import_method,
        "scoring": {"gain": config.scoring.gain, "k": config.scoring.k},
    }


@contextmanager
def guard_suites() -> Iterator[dict[str, JudgedSet]]:
    """The suites that the committed baseline is about."""
    with tempfile.TemporaryDirectory() as scratch:
        generated = Path(scratch) / "hardcases"
        generate(generated, preset=GUARD_PRESET)
        yield {"broad": load_set(BROAD), "hardcases": load_set(generated)}


def guard_notes() -> dict[str, dict[str, Note]]:
    """Notes on the guarded cases, by suite."""
    with guard_suites() as suites:
        return {name: notes_of(judged) for name, judged in suites.items()}


async def run_guard(
    api: Api, out: Path, say: Callable[[str], Progress], only: str | None = None
) -> dict[str, GuardedRun]:
    """Run the guarded suites, or one of them alone, under every policy."""
    found: dict[str, GuardedRun] = {}
    with guard_suites() as suites:
        for name, judged in suites.items():
            if only not in (None, name):
                continue
            mapping = await import_once(api, judged, out / name / "import", say(name))
            for policy in POLICIES:
                run = await run_cases(
                    api,
                    judged,
                    mapping,
                    out / name / policy,
                    options=RunOptions(policy=policy, seed=name),
                    progress=say(f"{name} {policy}"),
                )
                traces = RunDirectory(run.directory).traces()
                scores = score_all(judged, mapping, traces)
                found[f"{name}/{policy}"] = guarded(name, judged.hash, traces, scores)
    return found
