"""A server of the benchmark's own, shared by the workers of one run."""

import getpass
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.bench.context import QUICK, Context
from app.bench.corpus import Corpus
from app.bench.suite import database
from app.db.embedded import EmbeddedPostgres

# Nothing here outlives the run, and no test looks at times.
PARAMETERS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedPostgres]:
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    directory = Path(tempfile.gettempdir()) / f"strata-bench-tests-{getpass.getuser()}-{run}"
    directory.mkdir(mode=0o755, exist_ok=True)
    with EmbeddedPostgres(directory, parameters=PARAMETERS) as running:
        yield running


@pytest.fixture
def make_context(server: EmbeddedPostgres, tmp_path: Path) -> Iterator[Callable[..., Context]]:
    """Makes the context of a quick run on a database of the test's own."""
    name = f"bench_{os.getpid()}"
    with database(server, name) as urls:

        def make(**changes: object) -> Context:
            given = {"scale": QUICK, "corpus": Corpus(), "cache": tmp_path / "cache", **changes}
            return Context(urls=urls, directory=tmp_path, **given)  # type: ignore[arg-type]

        yield make
