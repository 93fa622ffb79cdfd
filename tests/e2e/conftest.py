"""Stages for tests of whole processes."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.embeddings.hash_backend import HashEmbedder
from app.runtime import database_urls, ensure_space
from app.settings import Settings
from tests.e2e.external import PASSWORDS, ExternalPostgres, external_postgres
from tests.e2e.processes import Stage, staged
from tests.support import open_directory


@pytest.fixture(scope="session")
def template() -> Iterator[Path]:
    """A data directory that is migrated and knows the hash embedder's space: to be copied, not used."""
    with open_directory() as base:
        with database_urls(Settings(data_dir=base / "data", embedder="hash", database_url=None)) as urls:
            assert urls.owner is not None
            ensure_space(urls.owner, HashEmbedder().descriptor)
        yield base / "data"


@pytest.fixture
def stage(template: Path) -> Iterator[Stage]:
    """A place for processes, with a migrated data directory of its own."""
    with open_directory() as base:
        subprocess.run(["cp", "-a", str(template), str(base / "data")], check=True)
        with staged(base) as made:
            yield made


@pytest.fixture
def external(template: Path, stage: Stage) -> Iterator[ExternalPostgres]:
    """A PostgreSQL beside the stage, of which Strata knows nothing but the URL."""
    stage.secrets |= PASSWORDS
    with external_postgres(template, stage.directory / "external") as running:
        yield running
        stage.end()
