"""A judged set from a folder, whichever format it is in."""

from pathlib import Path

from app.evaluation.formats.beir import CORPUS, QRELS, QUERIES, load_beir
from app.evaluation.formats.graded_fixtures import load_graded
from app.evaluation.formats.judged import InvalidSet, JudgedSet, Problem
from app.evaluation.formats.seeds import MANIFEST, load_seed


def load_set(
    folder: Path, *, suite: Path | None = None, max_queries: int | None = None, scoped: bool = False
) -> JudgedSet:
    """Read and check a judged set.

    Args:
        folder: A seed directory, a BEIR-style folder, or graded fixtures; told apart by the files that it holds.
        suite: Suite file, for a seed directory.
        max_queries: Queries at most, for a BEIR-style folder.
        scoped: One profile a namespace, for graded fixtures.

    Raises:
        InvalidSet: with everything that is wrong.
    """
    if (folder / MANIFEST).is_file():
        return load_seed(folder, suite)
    if (folder / CORPUS).is_file() and (folder / QUERIES).is_file():
        if suite is not None:
            raise InvalidSet([Problem(suite.name, 0, "a suite goes with a seed directory only")])
        if (folder / QRELS).is_file():
            return load_beir(folder, max_queries=max_queries)
        return load_graded(folder, scoped=scoped)
    wanted = f"needs {MANIFEST}, or {CORPUS} and {QUERIES} with or without {QRELS}"
    raise InvalidSet([Problem(folder.name or str(folder), 0, wanted)])
