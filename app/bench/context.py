"""What a section is given, and how large it is to measure."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.bench.corpus import Corpus
from app.runtime import DatabaseUrls


class Skipped(Exception):  # noqa: N818 - no error: the section says why it does not run
    """The section cannot run here; the message tells what it needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Sizes of a run.

    Attributes:
        name: ``quick`` or ``full``.
        latency_rows: Profile sizes of the latency section.
        questions: Questions of each kind, and of each ANN profile.
        ann_profiles: Vectors of the ANN section's profiles.
        ann_neighbours: Small profiles beside them, of ``ann_neighbour_rows`` vectors each.
        ann_crowd: Number and vectors of the profiles that are searched side by side.
        ann_dimension: Components of the synthetic vectors.
        load_rows: Profile size of the concurrency section.
        load_clients: Clients of each of its runs, ``load_seconds`` long.
        growth_rows: Profile size of the growth section.
        growth_totals: Rows of the whole database at which it is measured, ascending.
        ingest_singles: Fragments stored one by one.
        ingest_batched: Fragments stored through the batch route, for each batch size, and imported.
        ingest_model_texts: The same with the model instead of ``hash``.
        size_rows: Fragments of the size section.
        quality_bytes: Largest corpus file of the quality section; ``None``: every set.
        peer_rows: Profile sizes of the peer section.
    """

    name: str
    latency_rows: tuple[int, ...]
    questions: int
    ann_profiles: tuple[int, ...]
    ann_neighbours: int
    ann_neighbour_rows: int
    ann_crowd: tuple[int, int]
    ann_dimension: int
    load_rows: int
    load_clients: tuple[int, ...]
    load_seconds: float
    growth_rows: int
    growth_totals: tuple[int, ...]
    ingest_singles: int
    ingest_batched: int
    ingest_model_texts: int
    size_rows: int
    quality_bytes: int | None
    peer_rows: tuple[int, ...]


QUICK = Scale(
    name="quick",
    latency_rows=(1_000, 5_000),
    questions=40,
    ann_profiles=(100, 1_000, 11_000),
    ann_neighbours=20,
    ann_neighbour_rows=50,
    ann_crowd=(3, 2_000),
    ann_dimension=384,
    load_rows=2_000,
    load_clients=(1, 4),
    load_seconds=2.0,
    growth_rows=2_000,
    growth_totals=(2_000, 10_000),
    ingest_singles=50,
    ingest_batched=2_000,
    ingest_model_texts=100,
    size_rows=2_000,
    quality_bytes=100_000,
    peer_rows=(1_000,),
)
FULL = Scale(
    name="full",
    latency_rows=(1_000, 10_000, 100_000),
    questions=200,
    ann_profiles=(100, 1_000, 10_000, 100_000),
    ann_neighbours=1_000,
    ann_neighbour_rows=100,
    ann_crowd=(20, 20_000),
    ann_dimension=384,
    load_rows=10_000,
    load_clients=(1, 4, 16),
    load_seconds=15.0,
    growth_rows=10_000,
    growth_totals=(10_000, 100_000, 1_000_000),
    ingest_singles=500,
    ingest_batched=20_000,
    ingest_model_texts=2_000,
    size_rows=20_000,
    quality_bytes=None,
    peer_rows=(1_000, 10_000),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What every section gets.

    Attributes:
        urls: A migrated database that holds nothing else; the owner's URL is there.
        directory: For logs and files of the run.
        cache: For embeddings that outlive the run.
        datasets: Directory of retrieval sets.
        sets: Names of the sets to use; ``None``: those that the scale allows.
        max_queries: Queries of each set at most.
        peer_python: Interpreter that has HotMem.
        say: Tells the person what is being done.
    """

    urls: DatabaseUrls
    directory: Path
    cache: Path
    scale: Scale
    corpus: Corpus
    datasets: Path | None = None
    sets: tuple[str, ...] | None = None
    max_queries: int | None = None
    peer_python: Path | None = None
    say: Callable[[str], None] = lambda _message: None
