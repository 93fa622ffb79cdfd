"""Checking the ranking of the guarded suites against the committed baseline, and accepting another one."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from app.embeddings.hash_backend import HashEmbedder
from app.evaluation import shipped
from app.evaluation.api import Api
from app.evaluation.artifacts import RunDirectory
from app.evaluation.guard import Acceptance, Baseline, difference
from app.evaluation.importing import Progress
from app.evaluation.scorer import SCORER_REVISION


def read_baseline() -> Baseline:
    """The committed baseline.

    Raises:
        EvaluationError: it cannot be read.
    """
    path = shipped.BASELINE
    return RunDirectory(path.parent).read(path.name, Baseline)


async def check(api: Api, directory: Path, say: Callable[[str], Progress], only: str | None = None) -> str:
    """What differs from the baseline, in all suites or in one; told for people, empty when nothing does.

    The service must embed with ``hash``: the baseline holds for that embedder, which needs no model and is exact.
    """
    accepted = {
        name: run for name, run in read_baseline().runs.items() if only in (None, name.partition("/")[0])
    }
    return difference(accepted, await shipped.run_guard(api, directory, say, only), shipped.guard_notes())


async def accept(api: Api, directory: Path, say: Callable[[str], Progress], reason: str) -> str:
    """Write the present ranking as the baseline, with its reason; returns what changed, empty when nothing did."""
    path = shipped.BASELINE
    found = await shipped.run_guard(api, directory, say)
    before = read_baseline() if path.is_file() else None
    told = difference(before.runs if before else {}, found, shipped.guard_notes())
    if told:
        earlier = before.reasons if before else []
        accepted = Baseline(
            scorer_revision=SCORER_REVISION,
            embedder=HashEmbedder().descriptor.key,
            reasons=[*earlier, Acceptance(at=datetime.now(UTC).replace(microsecond=0), reason=reason)],
            runs=found,
        )
        RunDirectory(path.parent).write(path.name, accepted)
    return told
