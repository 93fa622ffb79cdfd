"""Runs an embedder's calls off the event loop, or hands them to it when the embedder is asynchronous itself."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Final, Literal, Protocol, TypeVar

from app.embeddings.errors import EmbeddingError
from app.embeddings.protocol import AsyncEmbedder, Embedder, TextReader, Vectors, check_vectors

Lane = Literal["query", "document"]
T = TypeVar("T")

# Tokenising a long import must not keep the loop or a cancelled caller waiting.
SPLIT_CHARACTERS: Final = 262_144


class Runner(Protocol):
    """One embedder behind an asynchronous face."""

    @property
    def reader(self) -> TextReader:
        """The embedder's knowledge of texts."""

    @property
    def concurrency(self) -> int:
        """Batches that may be under way at once."""

    async def load(self) -> None:
        """Make the embedder ready."""

    async def embed(self, lane: Lane, texts: Sequence[str]) -> Vectors:
        """Embed one batch and check its vectors: float32[n, dimension]."""

    async def windows(self, texts: Sequence[str]) -> list[list[str]]:
        """Split texts into windows."""

    async def close(self) -> None:
        """Release what the embedder holds."""


def checked(reader: TextReader, vectors: Vectors, count: int) -> Vectors:
    """Check a batch of vectors against the embedder's own descriptor."""
    descriptor = reader.descriptor
    return check_vectors(vectors, descriptor.dimension, count, normalized=descriptor.normalization == "l2")


class ThreadRunner:
    """Runs a blocking embedder in one dedicated thread; windows are split in another.

    One thread, because torch's thread count belongs to the calling thread, and because two batches at once on the
    same cores only slow each other down.
    """

    concurrency: Final = 1

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._embedding = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedding")
        self._splitting = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedding-windows")

    @property
    def reader(self) -> TextReader:
        """The embedder itself."""
        return self._embedder

    async def load(self) -> None:
        """Load the model in the embedding thread."""
        with _faults_named():
            await self._call(self._embedding, self._embedder.load)

    async def embed(self, lane: Lane, texts: Sequence[str]) -> Vectors:
        """Embed one batch in the embedding thread, or at once if that costs less than changing threads."""
        if lane == "query" and self._embedder.inline:
            with _faults_named():
                return self._embed(lane, texts)
        with _faults_named():
            return await self._call(self._embedding, partial(self._embed, lane, texts))

    async def windows(self, texts: Sequence[str]) -> list[list[str]]:
        """Split texts in the splitting thread, a portion at a time."""
        if self._embedder.inline:
            return self._embedder.windows(texts)
        split: list[list[str]] = []
        for portion in _portions(texts, SPLIT_CHARACTERS):
            with _faults_named():
                split += await self._call(self._splitting, partial(self._embedder.windows, portion))
        return split

    async def close(self) -> None:
        """Let both threads end after what they are doing; nothing waits for a hanging model."""
        self._embedding.shutdown(wait=False, cancel_futures=True)
        self._splitting.shutdown(wait=False, cancel_futures=True)

    def _embed(self, lane: Lane, texts: Sequence[str]) -> Vectors:
        embed = self._embedder.embed_query if lane == "query" else self._embedder.embed_documents
        return checked(self._embedder, embed(texts), len(texts))

    @staticmethod
    async def _call(executor: ThreadPoolExecutor, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(executor, function)


class AsyncRunner:
    """Runs an asynchronous embedder on the event loop."""

    def __init__(self, embedder: AsyncEmbedder) -> None:
        self._embedder = embedder

    @property
    def reader(self) -> TextReader:
        """The embedder itself."""
        return self._embedder

    @property
    def concurrency(self) -> int:
        """What the embedder allows."""
        return self._embedder.concurrency

    async def load(self) -> None:
        """Let the embedder try its connection."""
        with _faults_named():
            await self._embedder.aload()

    async def embed(self, lane: Lane, texts: Sequence[str]) -> Vectors:
        """Embed one batch."""
        embed = self._embedder.aembed_query if lane == "query" else self._embedder.aembed_documents
        with _faults_named():
            return checked(self._embedder, await embed(texts), len(texts))

    async def windows(self, texts: Sequence[str]) -> list[list[str]]:
        """Split texts, letting other work in between."""
        split: list[list[str]] = []
        for portion in _portions(texts, SPLIT_CHARACTERS):
            split += self._embedder.windows(portion)
            await asyncio.sleep(0)
        return split

    async def close(self) -> None:
        """Close the embedder's connections."""
        await self._embedder.aclose()


def runner_for(embedder: Embedder | AsyncEmbedder) -> Runner:
    """Choose how an embedder is run."""
    return AsyncRunner(embedder) if isinstance(embedder, AsyncEmbedder) else ThreadRunner(embedder)


@contextmanager
def _faults_named() -> Iterator[None]:
    """Turn whatever a model's library raises into an `EmbeddingError`, so that callers know one family of errors."""
    try:
        yield
    except EmbeddingError:
        raise
    except Exception as error:
        raise EmbeddingError(f"the embedder failed: {type(error).__name__}: {error}") from error


def _portions(texts: Sequence[str], characters: int) -> list[Sequence[str]]:
    portions: list[Sequence[str]] = []
    start = size = 0
    for index, text in enumerate(texts):
        if size and size + len(text) > characters:
            portions.append(texts[start:index])
            start, size = index, 0
        size += len(text)
    portions.append(texts[start:])
    return portions
