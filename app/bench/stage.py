"""What a section measures on: a database, a server that is a process of its own, and a team with its profiles."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from uuid import UUID, uuid4

import httpx
import psutil

from app.bench.load import Load, LoadResult, Loop, run_apart
from app.runtime import DatabaseUrls

OPERATOR_TOKEN: Final = "operator-of-the-benchmark"  # noqa: S105 - of a server that only this run can reach
BATCH: Final = 1_000
_START_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.05


class StageError(Exception):
    """The stage cannot be set, or the server under test refused what it must take."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile of the benchmark's team."""

    team_id: UUID
    id: UUID

    @property
    def path(self) -> str:
        """Path of its routes."""
        return f"/v1/profiles/{self.id}"


class Api:
    """The calls that set a stage, over any HTTP client of the service; one team of its own.

    Args:
        client: Knows the service's address.
        operator_token: Token of the operator's routes.
    """

    def __init__(self, client: httpx.Client, operator_token: str = OPERATOR_TOKEN) -> None:
        self._client = client
        operator = {"Authorization": f"Bearer {operator_token}"}
        created = self._send("POST", "/v1/admin/teams", {"name": f"bench {uuid4()}"}, operator)
        self.team_id = UUID(created["team_id"])
        self.headers: Mapping[str, str] = {"Authorization": f"Bearer {created['api_key']}"}

    def create_profile(self, name: str) -> Profile:
        """A new profile; names need not be unique."""
        made = self._send("POST", "/v1/profiles", {"name": f"{name} {uuid4()}"}, self.headers)
        return Profile(self.team_id, UUID(made["id"]))

    def store(self, profile: Profile, texts: Sequence[str], *, batch: int = BATCH) -> None:
        """Store texts through the batch route.

        Raises:
            StageError: an item was refused.
        """
        for start in range(0, len(texts), batch):
            body = {"items": [{"content": text} for text in texts[start : start + batch]]}
            results = self._send("POST", f"{profile.path}/fragments/batch", body, self.headers)["results"]
            refused = [item for item in results if item["status"] == "error"]
            if refused:
                raise StageError(f"{len(refused)} fragments were refused, the first: {refused[0]['error']}")

    def recall(self, profile: Profile, query: str, **options: Any) -> dict[str, Any]:
        """One recall."""
        return self._send("POST", f"{profile.path}/recall", {"query": query, **options}, self.headers)

    def post_fragment(self, profile: Profile, text: str) -> dict[str, Any]:
        """Store one fragment."""
        return self._send("POST", f"{profile.path}/fragments", {"content": text}, self.headers)

    def _send(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> dict[str, Any]:
        answer = self._client.request(method, path, json=body, headers=headers)
        if not answer.is_success:
            raise StageError(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
        found: dict[str, Any] = answer.json() if answer.content else {}
        return found


@dataclass(frozen=True, slots=True)
class Server:
    """A running ``strata serve``."""

    host: str
    port: int
    process: psutil.Process
    log: Path

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{self.host}:{self.port}"

    @property
    def cpu_seconds(self) -> float:
        """CPU time that the server's process used so far, PostgreSQL's not included."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def load(
        self, loops: list[Loop], headers: Mapping[str, str] | None = None, seconds: float | None = None
    ) -> LoadResult:
        """Put a load on it from another process."""
        return run_apart(
            Load(host=self.host, port=self.port, loops=loops, seconds=seconds, headers=dict(headers or {}))
        )


@dataclass(frozen=True, slots=True)
class Stage:
    """A server with a team; the section's database goes with everything that it stores."""

    server: Server
    api: Api

    @classmethod
    @contextmanager
    def of(cls, urls: DatabaseUrls, directory: Path, embedder: str = "hash") -> Iterator[Self]:
        """Start a server on a database and make a team; the server is gone when the block ends."""
        with (
            running_server(urls, directory, embedder) as server,
            httpx.Client(base_url=server.url, timeout=600) as client,
        ):
            yield cls(server, Api(client))


@contextmanager
def running_server(urls: DatabaseUrls, directory: Path, embedder: str = "hash") -> Iterator[Server]:
    """``strata serve`` on a free port of this machine, ready; its log is in ``directory``.

    Raises:
        StageError: it did not become ready.
    """
    host = "127.0.0.1"
    port = free_port(host)
    log = directory / f"serve-{port}.log"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("STRATA_")},
        "STRATA_DATABASE_URL": urls.api,
        **({} if urls.owner is None else {"STRATA_OWNER_DATABASE_URL": urls.owner}),
        "STRATA_EMBEDDER": embedder,
        "STRATA_OPERATOR_TOKEN": OPERATOR_TOKEN,
        "STRATA_LOG_LEVEL": "warning",
    }
    command = [sys.executable, "-c", "from app.cli import main; main()", "serve", "--port", str(port)]
    with log.open("wb") as output:
        started = subprocess.Popen(command, env=environment, stdout=output, stderr=output)  # noqa: S603
    try:
        server = Server(host, port, psutil.Process(started.pid), log)
        _wait_until_ready(server, started)
        yield server
    finally:
        started.terminate()
        try:
            started.wait(30)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def free_port(host: str) -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(server: Server, started: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if started.poll() is not None:
            break
        try:
            if httpx.get(f"{server.url}/readyz", timeout=5).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(_POLL_SECONDS)
    tail = server.log.read_text(encoding="utf-8", errors="replace")[-2_000:]
    raise StageError(f"the server did not become ready on {server.url}:\n{tail}")
