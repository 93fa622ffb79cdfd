"""What can go wrong with the embedded PostgreSQL, told in one sentence with the way to mend it.

PostgreSQL's programs report causes as free text; `diagnose` recognises the ones that a user can act upon.
The server is run with English messages (`lc_messages = C`), so that the texts are the documented ones.
"""

import re
from pathlib import Path
from typing import NamedTuple

EXCERPT_LINES = 6
# "2026-03-01 12:00:00.123 UTC [4711] " before each line of the server's log.
_PREFIX = re.compile(r"^\d{4}-\d\d-\d\d \S+ \S+ \[\d+\] ")
_TELLING = (
    "FATAL:",
    "PANIC:",
    "DETAIL:",
    "HINT:",
    "error:",
    "invalid value for parameter",
    "unrecognized configuration parameter",
    "syntax error in file",
    "could not find the database system",
    "Expected to find it",
    "but could not open",
)


class EmbeddedPostgresError(Exception):
    """The embedded PostgreSQL cannot be used.

    Attributes:
        message: one sentence that says what is wrong.
        hint: one sentence that says how to mend it.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}"


class StillStartingError(EmbeddedPostgresError):
    """The server is alive but not ready yet: it replays its log and must not be interrupted."""


class _Symptom(NamedTuple):
    """A text of PostgreSQL's programs, with the message and the hint that it calls for."""

    text: str
    message: str
    hint: str


# The first that matches wins: a full /dev/shm also says "No space left on device".
_SYMPTOMS = (
    _Symptom(
        "could not resize shared memory segment",
        "The shared memory of this machine (/dev/shm) is too small for the embedded PostgreSQL in {directory}.",
        "Give the container or machine more of it (for docker: --shm-size=256m) and start again.",
    ),
    _Symptom(
        "could not map anonymous shared memory",
        "This machine has too little memory free for the embedded PostgreSQL in {directory}.",
        "Free some memory, or lower the parameter shared_buffers, and start again.",
    ),
    _Symptom(
        "No space left on device",
        "The disk that holds {directory} is full, so the embedded PostgreSQL cannot start.",
        "Free at least 200 MB there, or point STRATA_DATA_DIR at a larger disk, and start again; "
        "nothing that was committed is lost.",
    ),
    _Symptom(
        "Disk quota exceeded",
        "The disk quota for {directory} is used up, so the embedded PostgreSQL cannot start.",
        "Free at least 200 MB there, or point STRATA_DATA_DIR at another disk, and start again; "
        "nothing that was committed is lost.",
    ),
    _Symptom(
        "could not look up effective user ID",
        "The user that runs Strata has a number but no name, which PostgreSQL refuses.",
        "Run Strata as a user that /etc/passwd lists.",
    ),
    _Symptom(
        "configuration file",
        "The embedded PostgreSQL in {directory} refuses its configuration: {excerpt}",
        "Correct the named parameter (in {directory}/postgresql.conf, {directory}/postgresql.auto.conf or the "
        "parameters given to Strata) and start again.",
    ),
    _Symptom(
        "Permission denied",
        "The embedded PostgreSQL in {directory} lacks a permission: {excerpt}",
        "Give the owner of {directory} access to the named file and start again.",
    ),
    _Symptom(
        "pre-existing shared memory block",
        "Processes of an earlier embedded PostgreSQL in {directory} still run although their server is gone.",
        "End the processes named postgres that belong to this directory and start again.",
    ),
)

_UNKNOWN = _Symptom(
    "",
    "The embedded PostgreSQL in {directory} does not start, its data may be damaged: {excerpt}",
    "Read {log}, then restore {directory} from a backup, or move it away to begin with an empty database.",
)


def diagnose(output: str, *, directory: Path, log: Path) -> EmbeddedPostgresError:
    """Tell why PostgreSQL failed from what it printed.

    Args:
        output: the new part of the server's log and what the failed program printed.
        directory: the data directory.
        log: the server's log file, named in the hint when the cause is not a known one.

    Returns:
        The error to raise.
    """
    symptom = next((known for known in _SYMPTOMS if known.text in output), _UNKNOWN)
    places = {"directory": directory, "log": log, "excerpt": excerpt(output)}
    return EmbeddedPostgresError(symptom.message.format(**places), symptom.hint.format(**places))


def disk_full(directory: Path, log: Path) -> EmbeddedPostgresError:
    """The error for a full disk noticed by Strata itself (a full disk also swallows the server's log)."""
    return diagnose("No space left on device", directory=directory, log=log)


def excerpt(output: str) -> str:
    """Return the telling lines of a server log, at most `EXCERPT_LINES`, without time stamps, joined by ` | `.

    A text without any telling line gives its last lines.
    """
    lines = [_PREFIX.sub("", line.strip()) for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if any(mark in line for mark in _TELLING)]
    chosen = (telling or lines)[-EXCERPT_LINES:]
    return " | ".join(chosen) if chosen else "it printed nothing."
