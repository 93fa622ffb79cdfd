"""How fast fragments come in by each way, beside what the embedder alone takes for the same texts."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from app.bench.context import Context
from app.bench.figures import Latency, ratio
from app.bench.load import Call, Loop
from app.bench.report import Column, Table, Value
from app.bench.stage import Profile, Server, Stage, StageError
from app.embeddings.registry import EmbedderName, create_embedder
from app.embeddings.service import EmbeddingService

SIZES: Final = (100, 1_000)
WRITERS: Final = 2
_MODEL_SHARE: Final = 5
"""With the model, one in so many of the single fragments: each takes a pass of its own through it."""
_EMBEDDERS: Final[tuple[EmbedderName, ...]] = ("hash", "sentence-transformers")


def run(context: Context) -> list[Table]:
    """Tables of rates and of the time until a fragment is found."""
    rates: list[dict[str, Value]] = []
    searchable: list[dict[str, Value]] = []
    for embedder in _EMBEDDERS:
        scale = context.scale
        count = scale.ingest_batched if embedder == "hash" else scale.ingest_model_texts
        texts = context.corpus.fragments(count)
        context.say(f"ingest: {embedder} alone, {count:,} texts")
        alone = count / asyncio.run(_seconds_alone(embedder, texts))
        rates.append(_row(embedder, "embedder alone", count, alone, alone))
        with Stage.of(context.urls, context.directory, embedder) as stage:
            singles = min(count, scale.ingest_singles // (1 if embedder == "hash" else _MODEL_SHARE))
            rates += [
                _row(embedder, way, number, rate, alone)
                for way, number, rate in _ways(context, stage, texts, singles)
            ]
            searchable.append(_searchable(context, stage, embedder, singles))
    return [_rate_table(rates), _searchable_table(searchable)]


async def _seconds_alone(embedder: EmbedderName, texts: Sequence[str]) -> float:
    service = EmbeddingService(create_embedder(embedder))
    await service.start()
    try:
        started = time.perf_counter()
        await service.embed_documents(texts)
        return time.perf_counter() - started
    finally:
        await service.close()


def _ways(context: Context, stage: Stage, texts: Sequence[str], singles: int) -> list[tuple[str, int, float]]:
    """Way, fragments and fragments a second, each into a profile of its own."""
    found = []
    context.say(f"ingest: {singles:,} single fragments")
    profile = stage.api.create_profile("single")
    calls = [
        Call("POST", f"{profile.path}/fragments", msgspec.json.encode({"content": text}).decode())
        for text in texts[:singles]
    ]
    found.append(("one by one", singles, _rate(stage, [Loop(name="store", calls=calls)], singles)))
    for size in SIZES:
        if size <= len(texts):
            context.say(f"ingest: batches of {size:,}")
            calls = _batches(stage.api.create_profile(f"batch {size}"), texts, size)
            rate = _rate(stage, [Loop(name="store", calls=calls)], len(texts))
            found.append((f"batches of {size:,}", len(texts), rate))
    if max(SIZES) * WRITERS <= len(texts):
        loops = [
            Loop(
                name="store",
                calls=_batches(stage.api.create_profile("batch"), texts[number::WRITERS], max(SIZES)),
            )
            for number in range(WRITERS)
        ]
        found.append(
            (f"batches of {max(SIZES):,}, {WRITERS} clients", len(texts), _rate(stage, loops, len(texts)))
        )
    context.say(f"ingest: importing {len(texts):,} rows")
    found.append(("strata memory import", len(texts), _import(context, stage, texts)))
    return found


def _batches(profile: Profile, texts: Sequence[str], size: int) -> list[Call]:
    return [
        Call(
            "POST",
            f"{profile.path}/fragments/batch",
            msgspec.json.encode(
                {"items": [{"content": text} for text in texts[start : start + size]]}
            ).decode(),
        )
        for start in range(0, len(texts), size)
    ]


def _rate(stage: Stage, loops: list[Loop], fragments: int) -> float:
    result = stage.server.load(loops, stage.api.headers)
    if result.errors:
        raise StageError(f"{len(result.errors)} writes failed, the first: {result.errors[0]}")
    return fragments / result.elapsed


def _import(context: Context, stage: Stage, texts: Sequence[str]) -> float:
    """Fragments a second of the import command against the running server, its start not counted."""
    profile = stage.api.create_profile("import")
    path = context.directory / "import.jsonl"
    path.write_bytes(
        b"".join(
            msgspec.json.encode({"id": f"row-{number}", "text": text}) + b"\n"
            for number, text in enumerate(texts)
        )
    )
    summary = _strata_json(
        stage.server,
        stage.api.headers["Authorization"].removeprefix("Bearer "),
        ["memory", "import", str(path), "--profile", str(profile.id), "--json"],
    )
    if summary["stored"] != len(texts):
        raise StageError(f"the import stored {summary['stored']} of {len(texts)} rows")
    return len(texts) / summary["seconds"]


def _strata_json(server: Server, key: str, arguments: list[str]) -> dict[str, float]:
    finished = subprocess.run(  # noqa: S603 - this program itself
        [sys.executable, "-c", "from app.cli import main; main()", *arguments],
        env={**os.environ, "STRATA_URL": server.url, "STRATA_API_KEY": key},
        stdout=subprocess.PIPE,
        check=True,
    )
    printed: dict[str, float] = json.loads(finished.stdout)
    return printed


def _searchable(context: Context, stage: Stage, embedder: str, count: int) -> dict[str, Value]:
    """Store a fragment and ask for it at once: the share that is found, and how long both took together."""
    context.say("ingest: time until a fragment is found")
    profile = stage.api.create_profile("searchable")
    texts = context.corpus.fragments(count, first=1_000_000)
    seconds = []
    found = 0
    for text in texts:
        started = time.perf_counter()
        stored = stage.api.post_fragment(profile, text)
        answer = stage.api.recall(profile, text, limit=5)
        seconds.append(time.perf_counter() - started)
        # What says the same as an older one, or yields to it, is listed under it.
        found += any(
            stored["id"] in (hit["id"], *hit["duplicates"], *hit["yielded"]) for hit in answer["results"]
        )
    latency = Latency.of(seconds)
    return {
        "embedder": embedder,
        "fragments": count,
        "found": found / count,
        "p50": latency.p50,
        "p95": latency.p95,
    }


def _row(embedder: str, way: str, fragments: int, rate: float, alone: float) -> dict[str, Value]:
    return {
        "embedder": embedder,
        "way": way,
        "fragments": fragments,
        "rate": rate,
        "share": ratio(rate, alone),
    }


def _rate_table(rows: list[dict[str, Value]]) -> Table:
    return Table(
        title="Ingest",
        columns=[
            Column("embedder", "embedder"),
            Column("way", "way"),
            Column("fragments", "fragments"),
            Column("rate", "fragments/s", 0),
            Column("share", "of the embedder alone", 3),
        ],
        rows=rows,
        note="Target: >= 5,000/s with hash through the batch route; >= .9 of the embedder alone with the model.",
    )


def _searchable_table(rows: list[dict[str, Value]]) -> Table:
    return Table(
        title="From storing a fragment to finding it, ms",
        columns=[
            Column("embedder", "embedder"),
            Column("fragments", "fragments"),
            Column("found", "found by the next recall", 3),
            Column("p50", "p50"),
            Column("p95", "p95"),
        ],
        rows=rows,
        note="One POST and one recall, measured together.",
    )
