"""The same load on HotMem, where an interpreter that has it is named."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
import msgspec

from app.bench.concurrency import HEALTH_PERIOD, WRITE_PERIOD
from app.bench.context import Context, Skipped
from app.bench.corpus import QUERY_KINDS
from app.bench.figures import Latency
from app.bench.latency import WARM_UP
from app.bench.load import Call, Load, LoadResult, Loop, run_apart
from app.bench.report import Column, Table, Value
from app.bench.stage import StageError, free_port

HOST: Final = "127.0.0.1"
CLIENTS: Final = 4
_START_SECONDS: Final = 30.0
_TOP_K: Final = 10


def run(context: Context) -> list[Table]:
    """Tables of search latency by size and kind, and of the mixed load."""
    if context.peer_python is None:
        raise Skipped(
            "no peer: name a Python that has `hotmem` by --peer-python or STRATA_BENCH_HOTMEM_PYTHON"
        )
    latencies: list[dict[str, Value]] = []
    loads: list[dict[str, Value]] = []
    for size in context.scale.peer_rows:
        with _hotmem(context.peer_python) as port:
            context.say(f"peer: storing {size:,} facts")
            texts = context.corpus.fragments(size)
            added = _run(port, [Loop(name="add", calls=_adds(texts))])
            if added.errors:
                raise StageError(f"HotMem refused {len(added.errors)} facts, the first: {added.errors[0]}")
            for kind in QUERY_KINDS:
                questions = context.corpus.questions(kind, WARM_UP + context.scale.questions, texts)
                searched = _run(port, [Loop(name="search", calls=_searches(questions))])
                latency = Latency.of(searched.seconds_of("search")[WARM_UP:])
                latencies.append(
                    {
                        "rows": size,
                        "kind": kind,
                        "p50": latency.p50,
                        "p95": latency.p95,
                        "p99": latency.p99,
                        "errors": len(searched.errors),
                    }
                )
            context.say(f"peer: {CLIENTS} clients over {size:,} facts")
            loads.append({"rows": size, **_mixed(context, port, texts)})
    return [_latency_table(latencies), _load_table(loads)]


def _mixed(context: Context, port: int, texts: list[str]) -> dict[str, Value]:
    seconds = context.scale.load_seconds
    questions = [
        question
        for group in zip(*(context.corpus.questions(kind, 40, texts) for kind in QUERY_KINDS), strict=True)
        for question in group
    ]
    # HotMem has no batch route: the writer adds one fact where Strata's stores ten.
    fresh = context.corpus.fragments(int(seconds / WRITE_PERIOD) + 2, first=len(texts))
    result = _run(
        port,
        [
            *(Loop(name="search", calls=_searches(questions[n:] + questions[:n])) for n in range(CLIENTS)),
            Loop(name="add", calls=_adds(fresh), period=WRITE_PERIOD),
            Loop(name="health", calls=[Call("GET", "/v1/health")], period=HEALTH_PERIOD),
        ],
        seconds,
    )
    search, write, health = (Latency.of(result.seconds_of(name)) for name in ("search", "add", "health"))
    return {
        "clients": CLIENTS,
        "per_second": search.count / result.elapsed,
        "p50": search.p50,
        "p95": search.p95,
        "health_p95": health.p95,
        "write_p95": write.p95,
        "errors": len(result.errors),
    }


@contextmanager
def _hotmem(python: Path) -> Iterator[int]:
    """A HotMem server with an empty database; yields its port."""
    directory = Path(tempfile.mkdtemp(prefix="strata-bench-peer-"))
    port = free_port(HOST)
    command = [
        str(python.parent / "hotmem"),
        "serve",
        "--db",
        str(directory / "m.sqlite"),
        "--port",
        str(port),
    ]
    try:
        with (directory / "log").open("wb") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603 - named by the person who runs it
        try:
            _wait(port, server)
            yield port
        finally:
            server.terminate()
            server.wait(30)
    finally:
        shutil.rmtree(directory)


def _wait(port: int, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            if httpx.get(f"http://{HOST}:{port}/v1/health", timeout=5).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise StageError("HotMem did not start")


def _run(port: int, loops: list[Loop], seconds: float | None = None) -> LoadResult:
    return run_apart(Load(host=HOST, port=port, loops=loops, seconds=seconds))


def _adds(texts: list[str]) -> list[Call]:
    return [
        Call("POST", "/v1/add", msgspec.json.encode({"identifier": "bench", "fact": text}).decode())
        for text in texts
    ]


def _searches(questions: list[str]) -> list[Call]:
    return [
        Call("POST", "/v1/search", msgspec.json.encode({"query": question, "top_k": _TOP_K}).decode())
        for question in questions
    ]


def _latency_table(rows: list[dict[str, Value]]) -> Table:
    return Table(
        title="HotMem, one client, hash embedder, ms",
        columns=[
            Column("rows", "rows"),
            Column("kind", "question"),
            Column("p50", "p50"),
            Column("p95", "p95"),
            Column("p99", "p99"),
            Column("errors", "errors"),
        ],
        rows=rows,
    )


def _load_table(rows: list[dict[str, Value]]) -> Table:
    return Table(
        title="HotMem under the mixed load, ms",
        columns=[
            Column("rows", "rows"),
            Column("clients", "clients"),
            Column("per_second", "searches/s", 1),
            Column("p50", "p50"),
            Column("p95", "p95"),
            Column("health_p95", "health p95"),
            Column("write_p95", "write p95"),
            Column("errors", "errors"),
        ],
        rows=rows,
        note=f"Beside the clients: one fact every {WRITE_PERIOD * 1_000:.0f} ms (Strata's writer stores ten) and its health.",
    )
