"""Many clients at once, while a writer stores batches and a monitor asks for the service's health."""

import msgspec

from app.bench import inside
from app.bench.context import Context
from app.bench.corpus import QUERY_KINDS
from app.bench.figures import Latency
from app.bench.load import Call, LoadResult, Loop, recall_calls
from app.bench.report import Column, Table, Value
from app.bench.stage import Profile, Stage

WRITE_PERIOD = 0.1
WRITE_ITEMS = 10
HEALTH_PERIOD = 0.1
_QUESTIONS = 60


def run(context: Context) -> list[Table]:
    """One table, a row for each number of clients."""
    scale = context.scale
    texts = context.corpus.fragments(scale.load_rows)
    rows: list[dict[str, Value]] = []
    errors: list[str] = []
    with Stage.of(context.urls, context.directory) as stage:
        context.say(f"concurrency: storing {scale.load_rows:,} fragments")
        profile = stage.api.create_profile("concurrency")
        stage.api.store(profile, texts)
        inside.settle(context.urls, [profile])
        fresh = scale.load_rows
        for clients in scale.load_clients:
            context.say(f"concurrency: {clients} clients")
            writes = _writes(context, profile, first=fresh)
            fresh += len(writes) * WRITE_ITEMS
            loops = [
                *_searchers(context, profile, texts, clients),
                Loop(name="write", calls=writes, period=WRITE_PERIOD),
                Loop(name="health", calls=[Call("GET", "/v1/health")], period=HEALTH_PERIOD),
            ]
            result = stage.server.load(loops, stage.api.headers, seconds=scale.load_seconds)
            errors += result.errors
            rows.append({"clients": clients, **_figures(result)})
    return [_table(rows, scale.load_rows, errors)]


def _searchers(context: Context, profile: Profile, texts: list[str], clients: int) -> list[Loop]:
    """Clients that ask all kinds of questions in turn, each from another place on."""
    by_kind = [context.corpus.questions(kind, _QUESTIONS, texts) for kind in QUERY_KINDS]
    mixed = [question for group in zip(*by_kind, strict=True) for question in group]
    loops = []
    for client in range(clients):
        start = client * len(mixed) // clients
        loops.append(Loop(name="recall", calls=recall_calls(str(profile.id), mixed[start:] + mixed[:start])))
    return loops


def _writes(context: Context, profile: Profile, *, first: int) -> list[Call]:
    """Batches of new fragments, enough for the whole run."""
    batches = int(context.scale.load_seconds / WRITE_PERIOD) + 2
    texts = context.corpus.fragments(batches * WRITE_ITEMS, first=first)
    return [
        Call(
            "POST",
            f"{profile.path}/fragments/batch",
            msgspec.json.encode(
                {"items": [{"content": text} for text in texts[start : start + WRITE_ITEMS]]}
            ).decode(),
        )
        for start in range(0, len(texts), WRITE_ITEMS)
    ]


def _figures(result: LoadResult) -> dict[str, Value]:
    recalls = result.seconds_of("recall")
    recall, write, health = (Latency.of(result.seconds_of(name)) for name in ("recall", "write", "health"))
    return {
        "per_second": len(recalls) / result.elapsed,
        "p50": recall.p50,
        "p95": recall.p95,
        "health_p95": health.p95,
        "write_p95": write.p95,
        "client_cpu": result.cpu_milliseconds_per_call,
        "errors": len(result.errors),
    }


def _table(rows: list[dict[str, Value]], size: int, errors: list[str]) -> Table:
    note = (
        f"Beside the clients: a batch of {WRITE_ITEMS} every {WRITE_PERIOD * 1_000:.0f} ms and /v1/health every "
        f"{HEALTH_PERIOD * 1_000:.0f} ms; client CPU in ms a call. Target: >= 200 recalls/s with 4 clients, health p95 < 20 ms."
    )
    return Table(
        title=f"Concurrent recalls over {size:,} rows, hash embedder, ms",
        columns=[
            Column("clients", "clients"),
            Column("per_second", "recalls/s", 1),
            Column("p50", "p50"),
            Column("p95", "p95"),
            Column("health_p95", "health p95"),
            Column("write_p95", "write p95"),
            Column("client_cpu", "client CPU", 3),
            Column("errors", "errors"),
        ],
        rows=rows,
        note=f"{note} First error: {errors[0]}" if errors else note,
    )
