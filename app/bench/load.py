"""The load generator: a process of its own, so that the server under test shares no interpreter with its clients.

``python -m app.bench.load`` reads one ``Load`` as JSON from standard input and writes one ``LoadResult`` to standard
output. Each loop is a thread with a keep-alive connection of the standard library's HTTP client; what a call costs the
client itself is reported as its CPU time.
"""

import http.client
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import msgspec


class Call(msgspec.Struct, frozen=True):
    """One HTTP request."""

    method: str
    path: str
    body: str = ""


class Loop(msgspec.Struct, frozen=True, kw_only=True):
    """One client: its calls in turn, again from the first while time is left.

    Attributes:
        period: Seconds from the start of one call to the start of the next; 0: at once.
        rounds: How often the calls are gone through when the load has no end of its own.
    """

    name: str
    calls: list[Call]
    period: float = 0.0
    rounds: int = 1


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Clients that run at the same time.

    Attributes:
        seconds: When to end; ``None``: every loop goes through its calls ``rounds`` times.
        headers: Sent with every call.
    """

    host: str
    port: int
    loops: list[Loop]
    seconds: float | None = None
    headers: dict[str, str] = {}


class LoopResult(msgspec.Struct, kw_only=True):
    """What one client saw: seconds a call, and for every answer that is no 2xx its status and text."""

    name: str
    seconds: list[float] = []
    errors: list[str] = []


class LoadResult(msgspec.Struct, kw_only=True):
    """What all clients saw; ``cpu_seconds`` is what this process used for them."""

    loops: list[LoopResult]
    elapsed: float
    cpu_seconds: float

    @property
    def cpu_milliseconds_per_call(self) -> float:
        """The client's own cost of a call."""
        return 1_000 * self.cpu_seconds / max(1, sum(len(loop.seconds) for loop in self.loops))

    def seconds_of(self, name: str) -> list[float]:
        """Durations of every loop of that name."""
        return [second for loop in self.loops if loop.name == name for second in loop.seconds]

    @property
    def errors(self) -> list[str]:
        """Every failed call."""
        return [error for loop in self.loops for error in loop.errors]


def run_apart(load: Load) -> LoadResult:
    """Run a load in a process of its own.

    Raises:
        subprocess.CalledProcessError: the process failed; its message is on standard error.
    """
    finished = subprocess.run(
        [sys.executable, "-m", "app.bench.load"],
        input=msgspec.json.encode(load),
        stdout=subprocess.PIPE,
        check=True,
    )
    return msgspec.json.decode(finished.stdout, type=LoadResult)


def run(load: Load) -> LoadResult:
    """Run a load in this process."""
    results = [LoopResult(name=loop.name) for loop in load.loops]
    barrier = threading.Barrier(len(load.loops) + 1)
    clients = [
        threading.Thread(target=_client, args=(load, loop, result, barrier), daemon=True)
        for loop, result in zip(load.loops, results, strict=True)
    ]
    for client in clients:
        client.start()
    barrier.wait()
    started, cpu = time.perf_counter(), time.process_time()
    for client in clients:
        client.join()
    return LoadResult(
        loops=results, elapsed=time.perf_counter() - started, cpu_seconds=time.process_time() - cpu
    )


def _client(load: Load, loop: Loop, result: LoopResult, barrier: threading.Barrier) -> None:
    connection = http.client.HTTPConnection(load.host, load.port, timeout=60)
    connection.connect()
    headers = {**load.headers, "Content-Type": "application/json"}
    calls = [(call.method, call.path, call.body.encode() or None) for call in loop.calls]
    barrier.wait()
    begin = time.perf_counter()
    number = 0
    while _goes_on(load, loop, number, begin):
        method, path, body = calls[number % len(calls)]
        if loop.period:
            time.sleep(max(0.0, begin + number * loop.period - time.perf_counter()))
        number += 1
        started = time.perf_counter()
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            result.errors.append(f"{method} {path}: {type(error).__name__}: {error}")
            connection.close()
            continue
        result.seconds.append(time.perf_counter() - started)
        if not http.client.OK <= response.status < http.client.MULTIPLE_CHOICES:
            result.errors.append(f"{method} {path}: {response.status} {text[:200].decode(errors='replace')}")
    connection.close()


def _goes_on(load: Load, loop: Loop, number: int, begin: float) -> bool:
    if load.seconds is None:
        return number < loop.rounds * len(loop.calls)
    return max(time.perf_counter() - begin, number * loop.period) < load.seconds


def recall_calls(profile_id: str, questions: Sequence[str], limit: int = 10) -> list[Call]:
    """Recall requests as the documentation shows them."""
    path = f"/v1/profiles/{profile_id}/recall"
    return [
        Call("POST", path, msgspec.json.encode({"query": question, "limit": limit}).decode())
        for question in questions
    ]


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(run(msgspec.json.decode(sys.stdin.buffer.read(), type=Load))))
