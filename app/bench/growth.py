"""Whether a profile gets slower as others fill the database."""

import time
from concurrent.futures import ThreadPoolExecutor

from app.bench import inside
from app.bench.context import Context
from app.bench.corpus import QUERY_KINDS, QueryKind
from app.bench.figures import Latency
from app.bench.latency import WARM_UP
from app.bench.load import Loop, recall_calls
from app.bench.report import Column, Table, Value
from app.bench.stage import Profile, Stage

NEIGHBOUR_ROWS = 1_000
_WRITERS = 2


def run(context: Context) -> list[Table]:
    """One table: the same questions to the same profile at each total."""
    scale = context.scale
    texts = context.corpus.fragments(scale.growth_rows)
    rows: list[dict[str, Value]] = []
    with Stage.of(context.urls, context.directory) as stage:
        profile = stage.api.create_profile("growth")
        stage.api.store(profile, texts)
        total = scale.growth_rows
        for wanted in scale.growth_totals:
            context.say(f"growth: filling up to {wanted:,} rows")
            started = time.perf_counter()
            _fill(context, stage, total, wanted)
            if wanted > total:
                seconds = time.perf_counter() - started
                context.say(
                    f"growth: {wanted - total:,} rows in {seconds:.0f} s, {(wanted - total) / seconds:,.0f}/s"
                )
            total = max(total, wanted)
            inside.settle(context.urls, [profile])
            rows += [
                {"total": total, "kind": kind, **_measured(context, stage, profile, kind, texts)}
                for kind in QUERY_KINDS
            ]
    return [_table(rows, scale.growth_rows)]


def _fill(context: Context, stage: Stage, total: int, wanted: int) -> None:
    """Small neighbours of the same team through the batch route, two at a time."""

    def neighbour(first: int) -> None:
        count = min(NEIGHBOUR_ROWS, wanted - first)
        stage.api.store(stage.api.create_profile("neighbour"), context.corpus.fragments(count, first=first))

    with ThreadPoolExecutor(_WRITERS) as writers:
        for _ in writers.map(neighbour, range(total, wanted, NEIGHBOUR_ROWS)):
            pass


def _measured(
    context: Context, stage: Stage, profile: Profile, kind: QueryKind, texts: list[str]
) -> dict[str, Value]:
    questions = context.corpus.questions(kind, WARM_UP + context.scale.questions, texts)
    calls = recall_calls(str(profile.id), questions)
    result = stage.server.load([Loop(name="recall", calls=calls)], stage.api.headers)
    latency = Latency.of(result.seconds_of("recall")[WARM_UP:])
    return {"p50": latency.p50, "p95": latency.p95, "p99": latency.p99, "errors": len(result.errors)}


def _table(rows: list[dict[str, Value]], size: int) -> Table:
    first = {row["kind"]: row["p50"] for row in reversed(rows)}
    for row in rows:
        p50, start = row["p50"], first[row["kind"]]
        row["growth"] = p50 / start if isinstance(p50, float) and isinstance(start, float) else None
    return Table(
        title=f"Recall from a profile of {size:,} rows as the database grows, hash embedder, ms",
        columns=[
            Column("total", "rows in all"),
            Column("kind", "question"),
            Column("p50", "p50"),
            Column("p95", "p95"),
            Column("p99", "p99"),
            Column("growth", "p50 / first"),
            Column("errors", "errors"),
        ],
        rows=rows,
        note=f"Neighbours of {NEIGHBOUR_ROWS:,} rows each. Target: p50 at 1,000,000 <= 2x p50 at 10,000.",
    )
