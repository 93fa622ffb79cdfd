"""Data directories of embedded servers."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.db.embedded import EmbeddedPostgres
from tests.integration.db.embedded.servers import ROOT, SMALL, copy, create_notes, server_user
from tests.support import open_directory, servers_of


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """The path of a data directory that does not exist yet."""
    with open_directory() as base:
        yield base / "data"


@pytest.fixture(scope="session")
def made() -> Iterator[Path]:
    """A data directory of a completed first start with an empty table `note`: to be used, not changed."""
    with open_directory() as base:
        with EmbeddedPostgres(base, parameters=SMALL, initialise=create_notes):
            pass
        yield base


@pytest.fixture
def existing(made: Path) -> Iterator[Path]:
    """The data directory `made`, with no server before and after the test."""
    assert servers_of(made) == []
    yield made
    assert servers_of(made) == []


@pytest.fixture
def own(made: Path, data_dir: Path) -> Path:
    """A copy of the data directory `made`, to be changed or damaged."""
    copy(made, data_dir)
    return data_dir


@pytest.fixture
def bare(made: Path, data_dir: Path) -> Path:
    """A data directory of which only the version file is there, owned by the user that runs the server."""
    (data_dir / "postgres").mkdir(parents=True)
    (data_dir / "postgres" / "PG_VERSION").write_text("18\n")
    shutil.chown(data_dir / "postgres", server_user(made))
    return data_dir


@pytest.fixture
def small_disk(data_dir: Path) -> Iterator[Callable[[str], Path]]:
    """Give a function that mounts a file system of a size at `data_dir`."""
    if not ROOT:
        pytest.skip("only root may mount a small file system")
    data_dir.mkdir()

    def mount(size: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(data_dir)]
        result = subprocess.run(command, check=False, capture_output=True, text=True)
        if result.returncode != 0:
            pytest.skip(f"file systems cannot be mounted here: {result.stderr.strip()}")
        return data_dir

    yield mount
    if data_dir.is_mount():
        subprocess.run(["umount", str(data_dir)], check=True)
