"""The server process of a data directory (PostgreSQL calls it the postmaster), found through `postmaster.pid`.

A pid file alone proves nothing: after a power cut its number may belong to any program. A process counts as the
server only when it is PostgreSQL and runs on the data directory in question.
"""

import logging
import signal
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import psutil

PID_FILE = "postmaster.pid"
PORT = 5432
SOCKET_NAME = f".s.PGSQL.{PORT}"
_SOCKET_LINE = 4
_STATUS_LINE = 7
_QUIT_SECONDS = 2.0
_POLL_SECONDS = 0.05

_logger = logging.getLogger(__name__)


class Phase(StrEnum):
    """What a live server is doing, as the last line of its pid file says."""

    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"


@dataclass(frozen=True)
class Postmaster:
    """A live server: its process id, phase, and the directory of its socket (known once it is ready)."""

    pid: int
    phase: Phase
    socket_directory: Path | None

    @property
    def reachable(self) -> bool:
        """The socket file is where the server made it."""
        return self.socket_directory is not None and (self.socket_directory / SOCKET_NAME).exists()


def find_postmaster(directory: Path) -> Postmaster | None:
    """Return the live server of a data directory, or None."""
    lines = _pid_file_lines(directory)
    pid = _pid(lines)
    if pid is None or not _is_postmaster(pid, directory):
        return None
    status = lines[_STATUS_LINE].strip() if len(lines) > _STATUS_LINE else ""
    socket_directory = lines[_SOCKET_LINE] if len(lines) > _SOCKET_LINE else ""
    return Postmaster(
        pid=pid,
        phase=Phase(status) if status in set(Phase) else Phase.STARTING,
        socket_directory=Path(socket_directory) if socket_directory else None,
    )


def clear_remains(directory: Path) -> None:
    """Make way for a new server on a directory that has no live one.

    Server processes that outlived a killed postmaster are told to quit, as their postmaster would have told them
    after a crash. A pid file whose number now belongs to another program, or that a power cut left empty, is
    removed, because PostgreSQL would take it for a live server; any other stale one PostgreSQL replaces by itself.
    """
    _quit_orphans(directory)
    if not (directory / PID_FILE).exists():
        return
    pid = _pid(_pid_file_lines(directory))
    if pid is None or psutil.pid_exists(pid):
        _logger.warning("removing %s, left behind by a server that no longer runs", directory / PID_FILE)
        (directory / PID_FILE).unlink()


def _pid_file_lines(directory: Path) -> list[str]:
    try:
        return (directory / PID_FILE).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except FileNotFoundError:
        return []


def _pid(lines: list[str]) -> int | None:
    # PostgreSQL's single-user mode writes its process id with a minus sign.
    text = lines[0].strip().removeprefix("-") if lines else ""
    return int(text) if text.isdigit() and int(text) > 0 else None


def _is_postmaster(pid: int, directory: Path) -> bool:
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE or process.name() != "postgres":
            return False
        # The command line is readable where the working directory is not (root without CAP_SYS_PTRACE).
        return str(directory) in process.cmdline() or _runs_in(process, directory)
    except psutil.NoSuchProcess:
        return False


def _runs_in(process: psutil.Process, directory: Path) -> bool:
    try:
        return process.cwd() == str(directory)
    except psutil.AccessDenied:
        return False


def _quit_orphans(directory: Path) -> None:
    orphans = [process for process in psutil.process_iter() if _is_server_process(process, directory)]
    for process in orphans:
        _logger.warning("ending server process %d, whose postmaster is gone", process.pid)
        _signal(process, signal.SIGQUIT)
    deadline = time.monotonic() + _QUIT_SECONDS
    while orphans and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        orphans = [process for process in orphans if _is_server_process(process, directory)]
    for process in orphans:
        _signal(process, signal.SIGKILL)


def _is_server_process(process: psutil.Process, directory: Path) -> bool:
    try:
        if process.name() != "postgres" or process.status() == psutil.STATUS_ZOMBIE:
            return False
        return _runs_in(process, directory)
    except psutil.NoSuchProcess:
        return False


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        _logger.debug("server process %d ended by itself", process.pid)
