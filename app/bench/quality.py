"""Retrieval quality on judged sets, through the public routes of an application in this process."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast
from uuid import UUID, uuid4

import httpx

from app.asgi import create_app
from app.bench import inside
from app.bench.cached_embedder import CachedEmbedder
from app.bench.context import Context, Skipped
from app.bench.datasets import CORPUS, Dataset, Document, Query, find_datasets, load_dataset
from app.bench.measures import MEASURES, evaluate
from app.bench.report import Column, Table, Value
from app.bench.stage import OPERATOR_TOKEN, StageError
from app.db.unit_of_work import Tenant
from app.embeddings.sentence_transformers_backend import SentenceTransformersEmbedder

System = Literal["keyword", "semantic", "documented-v1", "strata-v1"]
SYSTEMS: Final[tuple[System, ...]] = ("keyword", "semantic", "documented-v1", "strata-v1")
POLICIES: Final[tuple[System, ...]] = ("documented-v1", "strata-v1")
ARMS: Final[Mapping[System, str]] = {"keyword": "keyword_rank", "semantic": "semantic_rank"}
MARGIN: Final = 0.005
"""Differences in nDCG@10 up to this one count as a tie."""

# nDCG@10 measured apart from this program: BM25 (Lucene's, Snowball English), all-MiniLM-L6-v2 (text cut at 256 tokens),
# reciprocal rank fusion of their top 100 (k = 60), and a fusion of z-scores.
BASELINES: Final[Mapping[str, tuple[float, float, float, float]]] = {
    "scifact": (0.686, 0.645, 0.716, 0.738),
    "cranfield": (0.375, 0.395, 0.427, 0.432),
    "locomo": (0.429, 0.282, 0.387, 0.463),
    "longmemeval_20of500": (0.802, 0.360, 0.564, 0.661),
    "madial_en": (0.435, 0.538, 0.555, 0.588),
    "cmrc2018_dev": (0.981, 0.229, 0.578, 0.980),
    "gitbugs_hadoop": (0.551, 0.555, 0.594, 0.588),
    "cosqa": (0.336, 0.598, 0.485, 0.528),
}
_BATCH: Final = 500
_BATCH_BYTES: Final = 4_000_000
_AT_ONCE: Final = 4
_LIMIT: Final = 50
_LONGEST_QUERY: Final = 4_096

Rankings = dict[System, dict[str, list[str]]]


@dataclass(slots=True)
class _Profile:
    """One scope of a set: its path, and the documents that each fragment stands for (equal contents share one)."""

    path: str
    tenant: Tenant
    documents: dict[str, list[str]] = field(default_factory=dict)


def run(context: Context) -> list[Table]:
    """A table of nDCG@10 by set and system with baselines beside it, and one of every measure."""
    if context.datasets is None:
        raise Skipped("no retrieval sets: name their directory by --datasets or STRATA_DATASETS_DIR")
    folders = [
        folder
        for folder in find_datasets(context.datasets)
        if (folder.name in context.sets if context.sets else _within(folder / CORPUS, context))
    ]
    if not folders:
        raise Skipped(f"no retrieval set of the wanted names and sizes in {context.datasets}")
    figures: dict[str, dict[System, dict[str, float]]] = {}
    counts: dict[str, tuple[int, int]] = {}
    embedder = CachedEmbedder(SentenceTransformersEmbedder(), context.cache)
    try:
        for folder in folders:
            dataset = load_dataset(folder, max_queries=context.max_queries)
            rankings = asyncio.run(_rank(context, embedder, dataset))
            figures[dataset.name] = {
                system: evaluate(rankings[system], dataset.judgements) for system in SYSTEMS
            }
            counts[dataset.name] = (len(dataset.documents), len(dataset.queries))
    finally:
        embedder.close()
    return [summary(figures, counts), details(figures)]


def _within(corpus: Any, context: Context) -> bool:
    limit = context.scale.quality_bytes
    return limit is None or corpus.stat().st_size <= limit


async def _rank(context: Context, embedder: CachedEmbedder, dataset: Dataset) -> Rankings:
    """Store the set in fresh profiles and ask every question."""
    async with inside.services_with(context.urls, embedder) as services:
        app = create_app(services.settings, services)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=cast("Any", app)), base_url="http://strata.test"
        ) as client:
            team_id, headers = await _new_team(client, dataset.name)
            profiles: dict[str, _Profile] = {}
            for number, (scope, documents) in enumerate(dataset.by_scope().items()):
                context.say(f"quality: {dataset.name}: storing {len(documents):,} documents ({number + 1})")
                profiles[scope] = await _store(client, team_id, headers, documents)
                await inside.settle_tenant(services, profiles[scope].tenant, services.space_id)
            inside.analyse(context.urls)
            context.say(f"quality: {dataset.name}: {len(dataset.queries):,} questions")
            return await _ask_all(client, headers, profiles, dataset.queries)


async def _new_team(client: httpx.AsyncClient, name: str) -> tuple[UUID, dict[str, str]]:
    created = await _post(
        client,
        "/v1/admin/teams",
        {"name": f"{name} {uuid4()}"},
        {"Authorization": f"Bearer {OPERATOR_TOKEN}"},
    )
    return UUID(created["team_id"]), {"Authorization": f"Bearer {created['api_key']}"}


async def _store(
    client: httpx.AsyncClient, team_id: UUID, headers: dict[str, str], documents: Sequence[Document]
) -> _Profile:
    made = await _post(client, "/v1/profiles", {"name": f"set {uuid4()}"}, headers)
    profile = _Profile(f"/v1/profiles/{made['id']}", Tenant(team_id, UUID(made["id"])))
    # A set may hold an empty document (Cranfield does); there is nothing to store of it and nothing to find.
    for batch in _batches([document for document in documents if document.content.strip()]):
        items = [{"content": document.content, "metadata": document.metadata} for document in batch]
        stored = await _post(client, f"{profile.path}/fragments/batch", {"items": items}, headers)
        for document, outcome in zip(batch, stored["results"], strict=True):
            if outcome["status"] == "error":
                raise StageError(f"document {document.id!r} was refused: {outcome['error']}")
            profile.documents.setdefault(outcome["id"], []).append(document.id)
    return profile


def _batches(documents: Sequence[Document]) -> list[list[Document]]:
    """Batches within the route's limits of items and bytes."""
    batches: list[list[Document]] = [[]]
    size = 0
    for document in documents:
        weight = len(document.content.encode())
        if batches[-1] and (len(batches[-1]) == _BATCH or size + weight > _BATCH_BYTES):
            batches.append([])
            size = 0
        batches[-1].append(document)
        size += weight
    return batches


async def _ask_all(
    client: httpx.AsyncClient,
    headers: dict[str, str],
    profiles: Mapping[str, _Profile],
    queries: Sequence[Query],
) -> Rankings:
    rankings: Rankings = {system: {} for system in SYSTEMS}
    waiting = iter(queries)

    async def asker() -> None:
        for query in waiting:
            profile = profiles[query.scope]
            for policy in POLICIES:
                answer = await _recall(client, headers, profile, query, policy)
                rankings[policy][query.id] = ranking_of(answer, profile.documents, query.exclude)
                if policy == "strata-v1":
                    for arm, rank in ARMS.items():
                        ids = arm_order(answer["explain"]["candidates"], rank)
                        rankings[arm][query.id] = expand(ids, profile.documents, query.exclude)

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(asker())
    return rankings


async def _recall(
    client: httpx.AsyncClient, headers: dict[str, str], profile: _Profile, query: Query, policy: str
) -> dict[str, Any]:
    body = {"query": query.text[:_LONGEST_QUERY], "limit": _LIMIT, "policy": policy, "explain": True}
    return await _post(client, f"{profile.path}/recall", body, headers)


async def _post(client: httpx.AsyncClient, path: str, body: Any, headers: dict[str, str]) -> dict[str, Any]:
    answer = await client.post(path, json=body, headers=headers)
    if not answer.is_success:
        raise StageError(f"POST {path}: {answer.status_code} {answer.text[:500]}")
    found: dict[str, Any] = answer.json()
    return found


def ranking_of(
    answer: Mapping[str, Any], documents: Mapping[str, Sequence[str]], exclude: frozenset[str]
) -> list[str]:
    """Document ids of a recall, best first: its results, then the candidates below them."""
    ids = [hit["id"] for hit in answer["results"]]
    below = [candidate["id"] for candidate in answer["explain"]["candidates"]]
    return expand([*ids, *below], documents, exclude)


def arm_order(candidates: Sequence[Mapping[str, Any]], rank: str) -> list[str]:
    """Ids that one arm returned, in its own order."""
    found = [candidate for candidate in candidates if candidate[rank]]
    return [candidate["id"] for candidate in sorted(found, key=lambda candidate: int(candidate[rank]))]


def expand(ids: Sequence[str], documents: Mapping[str, Sequence[str]], exclude: frozenset[str]) -> list[str]:
    """Document ids of fragment ids, each once, without the excluded; documents of equal content follow one another."""
    named = dict.fromkeys(document for name in ids for document in documents[name])
    return [document for document in named if document not in exclude]


def summary(
    figures: Mapping[str, Mapping[System, Mapping[str, float]]], counts: Mapping[str, tuple[int, int]]
) -> Table:
    """nDCG@10 of every system on every set, what strata-v1 gains over the best of the others, and the baselines."""
    rows: list[dict[str, Value]] = []
    for name, systems in figures.items():
        own = {str(system): systems[system]["nDCG@10"] for system in SYSTEMS}
        margin = own["strata-v1"] - max(own[system] for system in SYSTEMS if system != "strata-v1")
        baseline = BASELINES.get(name, (None, None, None, None))
        documents, queries = counts[name]
        rows.append(
            {
                "set": name,
                "documents": documents,
                "queries": queries,
                **own,
                "margin": margin,
                "held": margin >= -MARGIN,
                **dict(zip(("bm25", "minilm", "rrf", "zfusion"), baseline, strict=True)),
            }
        )
    rows.append(_mean_row(rows))
    return Table(
        title="nDCG@10, all-MiniLM-L6-v2",
        columns=[
            Column("set", "set"),
            Column("documents", "documents"),
            Column("queries", "queries"),
            *(Column(system, "RRF k=60" if system == "documented-v1" else system, 3) for system in SYSTEMS),
            Column("margin", "over best", 3),
            Column("held", "held"),
            Column("bm25", "base BM25", 3),
            Column("minilm", "base MiniLM", 3),
            Column("rrf", "base RRF", 3),
            Column("zfusion", "base z", 3),
        ],
        rows=rows,
        note="keyword, semantic: strata-v1's arms alone. Over best: strata-v1 less the best of the three beside it; held when "
        f"it loses no more than {MARGIN}; in the last row less the best single arm's mean (target .06). base: measured apart.",
    )


def _mean_row(rows: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    def mean(key: str) -> float | None:
        values = [value for row in rows if isinstance(value := row[key], float)]
        return sum(values) / len(values) if values else None

    means = {key: mean(key) for key in (*SYSTEMS, "bm25", "minilm", "rrf", "zfusion")}
    strata, keyword, semantic = means["strata-v1"], means["keyword"], means["semantic"]
    margin = None
    if strata is not None and keyword is not None and semantic is not None:
        margin = strata - max(keyword, semantic)
    return {
        "set": "mean",
        "documents": None,
        "queries": None,
        **means,
        "margin": margin,
        "held": all(row["held"] for row in rows),
    }


def details(figures: Mapping[str, Mapping[System, Mapping[str, float]]]) -> Table:
    """Every measure of every system on every set."""
    return Table(
        title="All measures",
        columns=[
            Column("set", "set"),
            Column("system", "system"),
            *(Column(name, name, 3) for name in MEASURES),
        ],
        rows=[
            {"set": name, "system": system, **systems[system]}
            for name, systems in figures.items()
            for system in SYSTEMS
        ],
    )
