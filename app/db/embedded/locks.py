"""Advisory locks by which the Strata processes of one machine share one embedded PostgreSQL.

Both are `flock(2)` locks: the kernel drops them when their holder ends, however it ends, so nothing goes stale.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.db.embedded.errors import EmbeddedPostgresError

_POLL_SECONDS = 0.05


class Lease:
    """A process's claim that it uses the server: a shared lock, held from start to stop.

    Taken and given back only under the exclusive lock of the same data directory, so that "no other lease" stays
    true for as long as that lock is held.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.first = self.alone()
        """No other process used the server when this lease was taken."""
        fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def alone(self) -> bool:
        """Tell whether no other lease exists; the own one counts as given up afterwards."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Give the lease back."""
        os.close(self._descriptor)


@contextmanager
def exclusive(path: Path, timeout: float) -> Iterator[int]:
    """Hold the lock file's exclusive lock.

    Args:
        path: the lock file, made when it is missing.
        timeout: seconds to wait for another holder.

    Yields:
        The lock's file descriptor; a child process that inherits it keeps the lock until it ends.

    Raises:
        EmbeddedPostgresError: another process held the lock all the time.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(descriptor, path, time.monotonic() + timeout)
        yield descriptor
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, path: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise EmbeddedPostgresError(
                    f"Another Strata process has been starting or stopping the embedded PostgreSQL ({path}) for too long.",
                    "Wait for it to finish, or end it, and start again.",
                ) from error
            time.sleep(_POLL_SECONDS)
        else:
            return
