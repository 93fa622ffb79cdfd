"""What tests of several kinds share: directories for real servers, and finding those servers again."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

# In memory where there is room for it: data directories are made, copied and removed dozens of times.
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  the directories in it get random names
ROOMY = SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > 512 * 1024**2
FAST = SHARED_MEMORY if ROOMY else None


@contextmanager
def open_directory() -> Iterator[Path]:
    """Make a temporary directory that every user may pass through (pytest's own ones are closed)."""
    base = Path(tempfile.mkdtemp(prefix="strata-embedded-", dir=FAST)).resolve()
    base.chmod(0o755)
    try:
        yield base
    finally:
        left_over = servers_of(base)
        for pid in left_over:
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(base)
    assert left_over == []


def servers_of(directory: Path) -> list[int]:
    """Return the process ids of all servers whose data directory lies in a directory."""
    found = []
    for process in psutil.process_iter(["pid", "name", "cmdline", "status"]):
        info = process.info
        if info["name"] == "postgres" and info["status"] != psutil.STATUS_ZOMBIE:
            found += (
                [info["pid"]]
                if any(word.startswith(str(directory)) for word in info["cmdline"] or ())
                else []
            )
    return found
