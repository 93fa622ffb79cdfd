"""Approximate search against exact search: how much of the true neighbourhood it finds, on average and at worst."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
import numpy.typing as npt
from uuid_utils.compat import uuid7

from app.bench import inside
from app.bench.cached_embedder import CachedEmbedder
from app.bench.context import Context
from app.bench.datasets import find_datasets, load_dataset
from app.bench.figures import Latency, recall_at
from app.bench.report import Column, Table, Value
from app.db.unit_of_work import Tenant
from app.embeddings.descriptor import EmbeddingDescriptor
from app.embeddings.hash_backend import HashEmbedder
from app.embeddings.sentence_transformers_backend import SentenceTransformersEmbedder
from app.embeddings.service import EmbeddingService
from app.indexing import repository as index
from app.indexing.entries import IndexEntry
from app.indexing.models import Kind
from app.indexing.placement import PlacementService, scaled_threshold
from app.lexical.analysis import AnalyzedDocument
from app.recall import branches
from app.recall.repository import SemanticQuery, exact_search
from app.runtime import ensure_space
from app.services import Services
from app.tenancy.audit import Actor
from app.tenancy.schemas import ProfileInput

Vectors = npt.NDArray[np.float32]

DEPTH = 100
FEWEST_QUERIES = 100
_CLUSTER = 50
"""Vectors of a cluster, on average."""
_SPREAD = 0.7
"""Length of a vector's distance from its cluster's centre, the centre having length 1."""
_BATCH = 1_000
_ACTOR = Actor("operator", "bench")
_MODEL_MINIMUM = 1_000


@dataclass(frozen=True, slots=True)
class _Case:
    """A profile and the questions that it is asked."""

    label: str
    tenant: Tenant
    size: int
    questions: Vectors


def clustered(
    rng: np.random.Generator, count: int, dimension: int, questions: int
) -> tuple[Vectors, Vectors]:
    """Unit vectors around common centres, and questions around the same: float32[count, d], float32[questions, d]."""
    centres = _unit(rng.standard_normal((max(1, count // _CLUSTER), dimension)))

    def around(number: int) -> Vectors:
        noise = rng.standard_normal((number, dimension)) * (_SPREAD / np.sqrt(dimension))
        return _unit(centres[rng.integers(len(centres), size=number)] + noise)

    return around(count), around(questions)


def _unit(vectors: npt.NDArray[np.float64]) -> Vectors:
    scaled: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def run(context: Context) -> list[Table]:
    """Tables: profiles of several sizes among small ones, large ones side by side, and vectors of real texts."""
    return asyncio.run(_run(context))


async def _run(context: Context) -> list[Table]:
    async with inside.services_with(context.urls, HashEmbedder()) as services:
        bench = _Bench(context, services)
        await bench.open()
        tables = [
            _table("Among small neighbours", await bench.among_neighbours(), context),
            _table("Side by side", await bench.side_by_side(), context),
        ]
        real = await bench.real_texts()
    return [*tables, _table("Vectors of real texts, all-MiniLM-L6-v2", real, context)] if real else tables


class _Bench:
    """Fills profiles with vectors and compares both searches."""

    def __init__(self, context: Context, services: Services) -> None:
        self._context = context
        self._services = services
        self._scale = context.scale
        self._rng = np.random.default_rng([context.corpus.seed, 11])
        descriptor = EmbeddingDescriptor(
            implementation="bench", model="clusters", dimension=self._scale.ann_dimension
        )
        self._space = self._space_of(descriptor)
        self._team: UUID | None = None

    async def open(self) -> None:
        """Make the team that owns every profile."""
        team = await self._services.tenancy.create_team(_ACTOR, f"ann {uuid7()}", self._space)
        self._team = team.team_id

    async def among_neighbours(self) -> list[dict[str, Value]]:
        """Profiles of rising size, a crowd of small ones beside them."""
        scale = self._scale
        self._context.say(f"ann: {scale.ann_neighbours:,} small neighbours")
        for _ in range(scale.ann_neighbours):
            vectors, _unused = clustered(self._rng, scale.ann_neighbour_rows, scale.ann_dimension, 0)
            await self._fill(vectors, self._space)
        cases = [await self._synthetic(f"{size:,}", size) for size in scale.ann_profiles]
        inside.analyse(self._context.urls)
        return [await self._compared([case], self._space) for case in cases]

    async def side_by_side(self) -> list[dict[str, Value]]:
        """Several large profiles; the figures are over all of them, the minimum over every question of any."""
        number, size = self._scale.ann_crowd
        cases = [await self._synthetic(f"{number} of {size:,}", size) for _ in range(number)]
        inside.analyse(self._context.urls)
        return [await self._compared(cases, self._space)]

    async def real_texts(self) -> list[dict[str, Value]]:
        """One profile with the documents of the retrieval sets, asked their questions; empty without sets."""
        context = self._context
        if context.datasets is None:
            return []
        limit = self._scale.quality_bytes
        texts: list[str] = []
        questions: list[str] = []
        for folder in find_datasets(context.datasets):
            if limit is None or (folder / "corpus.jsonl").stat().st_size <= limit:
                dataset = load_dataset(folder, max_queries=self._scale.questions)
                texts += [document.content for document in dataset.documents]
                questions += [query.text for query in dataset.queries]
        if len(texts) < _MODEL_MINIMUM:
            return []
        context.say(f"ann: embedding {len(texts):,} real texts")
        embedder = CachedEmbedder(SentenceTransformersEmbedder(), context.cache)
        service = EmbeddingService(embedder)
        try:
            await service.start()
            vectors = np.concatenate(await service.embed_documents(texts, timeout=24 * 3_600))
            asked = np.stack([await service.embed_query(question) for question in questions])
        finally:
            await service.close()
            embedder.close()
        space = self._space_of(embedder.descriptor)
        tenant = await self._fill(vectors, space)
        inside.analyse(context.urls)
        return [await self._compared([_Case(f"{len(vectors):,}", tenant, len(vectors), asked)], space)]

    def _space_of(self, descriptor: EmbeddingDescriptor) -> int:
        urls = self._context.urls
        return ensure_space(urls.owner or urls.api, descriptor)

    async def _synthetic(self, label: str, size: int) -> _Case:
        self._context.say(f"ann: a profile of {size:,} vectors")
        questions = max(FEWEST_QUERIES, self._scale.questions)
        vectors, asked = clustered(self._rng, size, self._scale.ann_dimension, questions)
        return _Case(label, await self._fill(vectors, self._space), size, asked)

    async def _fill(self, vectors: Vectors, space: int) -> Tenant:
        """A new profile with these vectors, where its size puts them."""
        services = self._services
        if self._team is None:
            raise AssertionError("open() comes first")
        profile = await services.tenancy.create_profile(
            _ACTOR, self._team, ProfileInput(name=f"vectors {uuid7()}")
        )
        tenant = Tenant(self._team, profile.id)
        for start in range(0, len(vectors), _BATCH):
            async with services.database.tenant(tenant) as unit:
                await index.insert_entries(unit, [_entry(v) for v in vectors[start : start + _BATCH]], space)
        # The services' own threshold is for the vectors of their embedder.
        threshold = scaled_threshold(services.settings.ann_threshold, vectors.shape[1])
        await inside.settle_tenant(services, tenant, space, PlacementService(services.database, threshold))
        return tenant

    async def _compared(self, cases: Sequence[_Case], space: int) -> dict[str, Value]:
        at_10: list[float] = []
        at_100: list[float] = []
        rows: list[int] = []
        seconds: list[float] = []
        graphs: set[int] = set()
        for case in cases:
            for vector in case.questions:
                query = SemanticQuery(vector, space)
                started = time.perf_counter()
                found = await branches.semantic_branch(
                    self._services.database, case.tenant, query, depth=DEPTH
                )
                seconds.append(time.perf_counter() - started)
                async with self._services.database.reading(case.tenant) as unit:
                    wanted = [ref for ref, _ in await exact_search(unit, query, DEPTH)]
                ids = [ref for ref, _ in found.hits]
                at_10.append(recall_at(ids[:10], wanted[:10]))
                at_100.append(recall_at(ids, wanted))
                rows.append(len(ids))
                graphs.add(found.graph)
        latency = Latency.of(seconds)
        return {
            "profile": cases[0].label,
            "queries": len(rows),
            "search": "exact" if graphs == {0} else "HNSW" if 0 not in graphs else "both",
            "mean_10": float(np.mean(at_10)),
            "least_10": min(at_10),
            "mean_100": float(np.mean(at_100)),
            "least_100": min(at_100),
            "wanted": min(DEPTH, *(case.size for case in cases)),
            "fewest": min(rows),
            "p50": latency.p50,
            "p95": latency.p95,
        }


def _entry(vector: Vectors) -> IndexEntry:
    return IndexEntry(
        id=uuid7(),
        kind=Kind.FRAGMENT,
        document=AnalyzedDocument({"x": [1]}, 1),
        vectors=vector[np.newaxis],
        source_type="manual",
        labels=[],
        valid_from=None,
        valid_to=None,
        recorded_at=datetime.now(UTC),
        recorded_to=None,
    )


def _table(title: str, rows: list[dict[str, Value]], context: Context) -> Table:
    scale = context.scale
    return Table(
        title=f"ANN: {title}",
        columns=[
            Column("profile", "vectors"),
            Column("search", "search"),
            Column("queries", "queries"),
            Column("mean_10", "mean R@10", 4),
            Column("least_10", "min R@10", 3),
            Column("mean_100", "mean R@100", 4),
            Column("least_100", "min R@100", 3),
            Column("fewest", "fewest rows"),
            Column("wanted", "of"),
            Column("p50", "p50 ms"),
            Column("p95", "p95 ms"),
        ],
        rows=rows,
        note=f"Against exact search over the same profile; {scale.ann_neighbours:,} neighbours of {scale.ann_neighbour_rows:,}, "
        f"synthetic vectors clustered, {scale.ann_dimension} components. Target: mean >= .99, min >= .95, no row missing.",
    )
