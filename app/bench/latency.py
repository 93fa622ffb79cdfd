"""Latency of recall over HTTP, beside the same branches' statements alone and beside what a round trip costs at least."""

import time
from collections.abc import Callable

import psycopg
from pgvector.psycopg import register_vector

from app.bench import inside
from app.bench.context import Context
from app.bench.corpus import QUERY_KINDS
from app.bench.figures import Latency
from app.bench.load import Call, Loop, recall_calls
from app.bench.report import Column, Table, Value
from app.bench.stage import Profile, Stage
from app.db.urls import libpq_url

WARM_UP = 10
_FLOOR_CALLS = 300


def run(context: Context) -> list[Table]:
    """Tables of floors and of recalls by profile size and kind of question."""
    rows: list[dict[str, Value]] = []
    with Stage.of(context.urls, context.directory) as stage:
        floors = _floors(context, stage)
        for size in context.scale.latency_rows:
            context.say(f"latency: storing {size:,} fragments")
            texts = context.corpus.fragments(size)
            profile = stage.api.create_profile(f"latency {size}")
            stage.api.store(profile, texts)
            inside.settle(context.urls, [profile])
            for kind in QUERY_KINDS:
                context.say(f"latency: {kind} over {size:,} rows")
                questions = context.corpus.questions(kind, WARM_UP + context.scale.questions, texts)
                rows.append({"rows": size, "kind": kind, **_measured(context, stage, profile, questions)})
    return [floors, _table(rows)]


def _measured(context: Context, stage: Stage, profile: Profile, questions: list[str]) -> dict[str, Value]:
    calls = recall_calls(str(profile.id), questions)
    before = stage.server.cpu_seconds
    answers = stage.server.load([Loop(name="recall", calls=calls)], stage.api.headers)
    cpu = (stage.server.cpu_seconds - before) / len(calls)
    over_http = Latency.of(answers.seconds_of("recall")[WARM_UP:])
    alone = _statements_alone(context, profile, questions)
    return {
        "p50": over_http.p50,
        "p95": over_http.p95,
        "p99": over_http.p99,
        "sql_p50": alone.p50,
        "sql_p95": alone.p95,
        "ratio": over_http.p50 / alone.p50,
        "server_cpu": 1_000 * cpu,
        "errors": len(answers.errors),
    }


def _statements_alone(context: Context, profile: Profile, questions: list[str]) -> Latency:
    """Both branches' statements, one after the other on one bare connection, for each question."""
    recorded = inside.record_statements(context.urls, profile, questions)
    seconds: list[float] = []
    with psycopg.connect(libpq_url(context.urls.api), autocommit=True, prepare_threshold=None) as connection:
        register_vector(connection)
        inside.bind(connection, profile.team_id, profile.id)
        for statements in recorded:
            started = time.perf_counter()
            for statement in statements:
                connection.execute(statement.sql.encode(), statement.parameters).fetchall()
            seconds.append(time.perf_counter() - started)
    return Latency.of(seconds[WARM_UP:])


def _floors(context: Context, stage: Stage) -> Table:
    """What cannot be undercut: a round trip to the database, and one through the HTTP server."""
    livez = stage.server.load([Loop(name="livez", calls=[Call("GET", "/livez")], rounds=_FLOOR_CALLS)])
    health = stage.server.load([Loop(name="health", calls=[Call("GET", "/v1/health")], rounds=_FLOOR_CALLS)])
    with psycopg.connect(libpq_url(context.urls.api), autocommit=True, prepare_threshold=None) as connection:
        select = _timed(lambda: connection.execute("SELECT 1").fetchall())
    rows: list[dict[str, Value]] = []
    for what, seconds in (
        ("SELECT 1, bare connection", select),
        ("GET /livez", livez.seconds_of("livez")),
        ("GET /v1/health", health.seconds_of("health")),
    ):
        latency = Latency.of(seconds[WARM_UP:])
        rows.append({"what": what, "p50": latency.p50, "p95": latency.p95, "p99": latency.p99})
    return Table(
        title="Floors, ms",
        columns=[
            Column("what", "what"),
            Column("p50", "p50", 3),
            Column("p95", "p95", 3),
            Column("p99", "p99", 3),
        ],
        rows=rows,
        note=f"The client, a process of its own, uses {livez.cpu_milliseconds_per_call:.3f} ms of CPU a call.",
    )


def _timed(call: Callable[[], object]) -> list[float]:
    seconds = []
    for _ in range(_FLOOR_CALLS):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return seconds


def _table(rows: list[dict[str, Value]]) -> Table:
    return Table(
        title="Recall over HTTP, one client, hash embedder, ms",
        columns=[
            Column("rows", "rows"),
            Column("kind", "question"),
            Column("p50", "p50"),
            Column("p95", "p95"),
            Column("p99", "p99"),
            Column("sql_p50", "SQL p50"),
            Column("sql_p95", "SQL p95"),
            Column("ratio", "HTTP / SQL"),
            Column("server_cpu", "server CPU"),
            Column("errors", "errors"),
        ],
        rows=rows,
        note="SQL: both branches' statements alone, in turn on one bare connection; ratio of the medians. "
        "Target: p50 <= 10, p95 <= 25 at 100,000 rows; ratio <= 1.5.",
    )
