"""The operating system user that runs the embedded PostgreSQL, and what it must be able to reach.

PostgreSQL refuses to run as root. When Strata runs as root, the server runs as the owner of an existing data
directory or else as `embedded_postgres`; when Strata runs as an ordinary user, the server runs as that user.
"""

import errno
import logging
import os
import pwd
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from app.db.embedded.errors import EmbeddedPostgresError, disk_full

SERVER_USER = "embedded_postgres"
_USER_ATTEMPTS = 3
_ANYONE_READS = stat.S_IRGRP | stat.S_IROTH
_ANYONE_ENTERS = stat.S_IXGRP | stat.S_IXOTH

_logger = logging.getLogger(__name__)


class Account(NamedTuple):
    """The user that runs the server; `switched` when it is another one than Strata's own (Strata is root)."""

    name: str
    uid: int
    gid: int
    switched: bool

    def process_options(self) -> dict[str, Any]:
        """Return the keyword arguments that make `subprocess` run a program as this user."""
        if not self.switched:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, path: Path) -> None:
        """Give a file or directory that Strata just made to this user."""
        if self.switched:
            os.chown(path, self.uid, self.gid)

    def grant_entry(self, path: Path) -> None:
        """Let this user pass through the directories above `path`: adds the search bit alone, no right to list."""
        if not self.switched:
            return
        for directory in path.resolve().parents:
            status = directory.stat()
            if status.st_uid != self.uid and not status.st_mode & stat.S_IXOTH:
                _logger.warning(
                    "letting other users pass through %s so that PostgreSQL reaches %s", directory, path
                )
                directory.chmod(stat.S_IMODE(status.st_mode) | stat.S_IXOTH)

    def grant_programs(self, installation: Path) -> None:
        """Let this user run PostgreSQL's programs, also when they were installed under a strict umask."""
        if not self.switched:
            return
        self.grant_entry(installation)
        if _open_to_all(installation) and _open_to_all(installation / "bin" / "postgres"):
            return
        for path in (installation, *installation.rglob("*")):
            mode = stat.S_IMODE(path.stat().st_mode)
            enters = _ANYONE_ENTERS if mode & stat.S_IXUSR else 0
            path.chmod(mode | _ANYONE_READS | enters)


def choose_account(directory: Path) -> Account:
    """Return the user that is to run the server on a data directory, made if it has to be.

    Raises:
        EmbeddedPostgresError: Strata is root and no other user can be made.
    """
    uid = os.geteuid()
    if uid != 0:
        return Account(user_name(uid), uid, os.getegid(), switched=False)
    entry = _owner(directory) or _server_user()
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, switched=True)


def user_name(uid: int) -> str:
    """Return the name of a user, or its number when it has no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


@contextmanager
def explained_os_errors(directory: Path, log: Path) -> Iterator[None]:
    """Turn the operating system's refusals into errors that say how to mend them.

    Args:
        directory: the data directory.
        log: the server's log file.

    Raises:
        EmbeddedPostgresError: a permission or space is missing, or something else stands at a path.
    """
    try:
        yield
    except OSError as error:
        place = error.filename or directory
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise disk_full(directory, log) from error
        if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
            user = user_name(os.geteuid())
            raise EmbeddedPostgresError(
                f"The user {user} may not use {place}: {os.strerror(error.errno)}.",
                f"Let {user} read and write {directory.parent}, or point STRATA_DATA_DIR at a directory of its own.",
            ) from error
        if error.errno in {errno.ENOTDIR, errno.EEXIST}:
            raise EmbeddedPostgresError(
                f"{place} is in the way: {os.strerror(error.errno)}.",
                "Move it away, or point STRATA_DATA_DIR at another directory.",
            ) from error
        raise


def _owner(directory: Path) -> pwd.struct_passwd | None:
    """Return the named user other than root that owns the directory."""
    if not directory.exists() or (uid := directory.stat().st_uid) == 0:
        return None
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return None


def _server_user() -> pwd.struct_passwd:
    for attempt in range(_USER_ATTEMPTS):
        try:
            return pwd.getpwnam(SERVER_USER)
        except KeyError:
            # Another program may be changing the user table just now, perhaps to make this very user.
            time.sleep(attempt)
            _add_user()
    try:
        return pwd.getpwnam(SERVER_USER)
    except KeyError as error:
        raise EmbeddedPostgresError(
            f"PostgreSQL does not run as root, and the user {SERVER_USER} that should run it cannot be made.",
            f"Make it with `useradd --system {SERVER_USER}`, or run Strata as an ordinary user.",
        ) from error


def _add_user() -> None:
    program = shutil.which("useradd")
    if program is None:
        return
    command = [program, "--system", "--no-create-home", "--shell", "/bin/sh", SERVER_USER]
    result = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603  fixed arguments
    if result.returncode != 0:
        _logger.warning("useradd: %s", result.stderr.strip())


def _open_to_all(path: Path) -> bool:
    wanted = stat.S_IROTH | stat.S_IXOTH
    return path.stat().st_mode & wanted == wanted
