"""The embedding service: the only way the rest of Strata turns texts into vectors."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import structlog

from app.embeddings.descriptor import EmbeddingDescriptor
from app.embeddings.errors import EmbedderUnavailable, EmbeddingError, InvalidVectorError
from app.embeddings.protocol import AsyncEmbedder, Embedder, TokenStatistics, Vector, Vectors
from app.embeddings.runners import Lane, runner_for
from app.embeddings.scheduler import BatchScheduler, Outcome

_LOADING_RETRY: Final = 5.0
_TIMEOUT_RETRY: Final = 2.0

_log = structlog.get_logger()


class ServiceState(StrEnum):
    """Where the service stands; it embeds in `ready` only."""

    IDLE = "idle"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """Bounds of the embedding service.

    Attributes:
        query_timeout: Seconds a query may take, waiting included.
        document_timeout: Seconds a document call may take, waiting included.
        pending_queries: Query texts that may wait or run at once; more are refused.
        pending_characters: Characters of documents that may wait or run at once; more are refused, but one call alone
            always gets in.
        cached_queries: Query vectors kept; 0 keeps none.
    """

    query_timeout: float = 10.0
    document_timeout: float = 600.0
    pending_queries: int = 1_024
    pending_characters: int = 32_000_000
    cached_queries: int = 10_000


class EmbeddingService:
    """Embeds queries and documents for many callers at once.

    Queries that arrive together are embedded together and go before documents; see `BatchScheduler`. Bound to the
    event loop that first uses it.

    Args:
        embedder: The embedder; the service owns it and closes it.
        limits: Bounds of time, queue and cache.
    """

    def __init__(self, embedder: Embedder | AsyncEmbedder, *, limits: ServiceLimits | None = None) -> None:
        self._limits = limits or ServiceLimits()
        self._runner = runner_for(embedder)
        self._reader = self._runner.reader
        self._scheduler = BatchScheduler(
            self._embed,
            limit=self._reader.batch_limit,
            concurrency=self._runner.concurrency,
            pending_queries=self._limits.pending_queries,
            pending_characters=self._limits.pending_characters,
        )
        self._cache = _VectorCache(self._limits.cached_queries)
        self._state = ServiceState.IDLE
        self._failure: str | None = None
        self._loading: asyncio.Task[None] | None = None
        self._recovery: asyncio.Task[None] | None = None

    @property
    def descriptor(self) -> EmbeddingDescriptor:
        """The space of this service's vectors; cheap once `ready`, may read model files before."""
        return self._reader.descriptor

    @property
    def state(self) -> ServiceState:
        """Where the service stands."""
        return self._state

    @property
    def ready(self) -> bool:
        """Whether the model is loaded and calls are taken."""
        return self._state is ServiceState.READY

    @property
    def available(self) -> bool:
        """Whether calls can be expected to succeed: the model is loaded, and the embedder has not gone down since."""
        return self.ready and self._failure is None

    @property
    def failure(self) -> str | None:
        """Why loading failed the last time, or why the embedder has been unavailable since; None when all is well."""
        return self._failure

    async def start(self, *, keep_trying: bool = False) -> None:
        """Load the model off the event loop; concurrent calls share one load, a failed load may be repeated.

        Args:
            keep_trying: Repeat after a pause while the embedder is unavailable (a provider that is down); a wrong
                configuration is raised at once in any case.

        Raises:
            EmbedderConfigurationError: The embedder cannot work as configured.
            EmbedderUnavailable: The embedder is down, or the service is closed.
        """
        while True:
            if self._state is ServiceState.CLOSED:
                raise EmbedderUnavailable("the embedding service is closed")
            if self._loading is None or (self._loading.done() and not self.ready):
                self._loading = asyncio.get_running_loop().create_task(self._load())
            try:
                # Shielded: a caller that gives up must not spoil the load for the others.
                await asyncio.shield(self._loading)
            except asyncio.CancelledError:
                if self._closed and self._loading.cancelled():
                    raise EmbedderUnavailable("the embedding service is closed") from None
                raise
            except EmbedderUnavailable as error:
                if not keep_trying or self._closed:
                    raise
                await asyncio.sleep(error.retry_after)
            else:
                return

    async def embed_query(self, text: str) -> Vector:
        """Embed one question: float32[dimension], read-only.

        A question longer than the model's window is embedded in windows; its vector is their normalised mean.

        Raises:
            EmbedderUnavailable: Not ready, overloaded, down or too slow.
            EmbeddingError: This text has no usable vector.
        """
        self._require_ready()
        if (cached := self._cache.get(text)) is not None:
            return cached
        async with self._deadline(self._limits.query_timeout):
            windows = self._reader.windows([text])[0]
            vector = _mean(await self._scheduler.submit("query", windows))
        return self._cache.put(text, vector)

    async def embed_documents(self, texts: Sequence[str], *, timeout: float | None = None) -> list[Vectors]:  # noqa: ASYNC109 - one deadline for the waiting and the work
        """Embed texts to be stored: per text float32[windows, dimension], in order.

        Args:
            texts: The texts; any length.
            timeout: Seconds for the whole call; the service's limit if None.

        Raises:
            EmbedderUnavailable: Not ready, overloaded, down or too slow.
            InvalidVectorError: Some texts have no usable vectors; `indexes` names them.
            EmbeddingError: The embedder failed.
        """
        outcomes = await self.embed_each(texts, timeout=timeout)
        failed = [index for index, outcome in enumerate(outcomes) if isinstance(outcome, EmbeddingError)]
        if failed:
            raise InvalidVectorError(
                f"{len(failed)} of {len(texts)} texts have no usable vectors: {outcomes[failed[0]]}",
                indexes=failed,
            )
        return [outcome for outcome in outcomes if not isinstance(outcome, EmbeddingError)]

    async def embed_each(
        self,
        texts: Sequence[str],
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - one deadline for the waiting and the work
    ) -> list[Vectors | EmbeddingError]:
        """Embed texts as `embed_documents` does, but return what concerns single texts instead of raising it.

        Returns:
            Per text float32[windows, dimension], or the error for which this text has no vectors.

        Raises:
            EmbedderUnavailable: Not ready, overloaded, down or too slow.
            EmbedderConfigurationError: The embedder does not work as configured.
        """
        self._require_ready()
        async with self._deadline(self._limits.document_timeout if timeout is None else timeout):
            windows = await self._runner.windows(texts)
            rows = await self._scheduler.submit("document", [window for text in windows for window in text])
        return _regroup(rows, [len(text) for text in windows])

    def windows(self, text: str) -> list[str]:
        """Split a text the way `embed_documents` does; row i of its vectors belongs to slice i."""
        self._require_ready()
        return self._reader.windows([text])[0]

    def token_statistics(self, text: str) -> TokenStatistics:
        """How the model reads a text: token count, unknown and single-character tokens."""
        self._require_ready()
        return self._reader.token_statistics(text)

    def unknown_token_share(self, text: str) -> float:
        """Share of the text's tokens that the model does not know, 0 to 1."""
        return self.token_statistics(text).unknown_share

    async def close(self) -> None:
        """Fail what waits, release the model; repeating it does nothing."""
        if self._closed:
            return
        self._state = ServiceState.CLOSED
        for task in (self._loading, self._recovery):
            if task is not None and not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await self._scheduler.close()
        await self._runner.close()

    @property
    def _closed(self) -> bool:
        return self._state is ServiceState.CLOSED

    async def _load(self) -> None:
        self._state, started = ServiceState.LOADING, time.perf_counter()
        try:
            await self._runner.load()
        except EmbeddingError as error:
            self._failure = str(error)
            if not self._closed:
                self._state = ServiceState.FAILED
            _log.warning("embedder_load_failed", error=str(error))
            raise
        if not self._closed:
            self._failure, self._state = None, ServiceState.READY
            seconds = round(time.perf_counter() - started, 2)
            _log.info("embedder_ready", space=self.descriptor.key, seconds=seconds)

    async def _embed(self, lane: Lane, texts: Sequence[str]) -> Vectors:
        """Embed one batch, and note whether the embedder is there."""
        try:
            vectors = await self._runner.embed(lane, texts)
        except EmbedderUnavailable as error:
            self._failure = str(error)
            if self._recovery is None or self._recovery.done():
                self._recovery = asyncio.get_running_loop().create_task(self._recover(error.retry_after))
            raise
        self._failure = None
        return vectors

    async def _recover(self, pause: float) -> None:
        """Ask an embedder that went down until it answers: a process that is not ready gets no calls that would show it."""
        while self._failure is not None:
            await asyncio.sleep(pause)
            try:
                await self._runner.load()
            except EmbeddingError as error:
                self._failure = str(error)
                pause = error.retry_after if isinstance(error, EmbedderUnavailable) else _LOADING_RETRY
            else:
                self._failure = None
        _log.info("embedder_available_again", space=self.descriptor.key)

    def _require_ready(self) -> None:
        if not self.ready:
            detail = f": {self._failure}" if self._failure else ""
            raise EmbedderUnavailable(f"the embedder is {self._state}{detail}", retry_after=_LOADING_RETRY)

    @asynccontextmanager
    async def _deadline(self, seconds: float) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            message = f"the embedder took longer than {seconds:g} s"
            raise EmbedderUnavailable(message, retry_after=_TIMEOUT_RETRY) from error


class _VectorCache:
    """Keeps the most recently used query vectors, by exact text."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._vectors: OrderedDict[str, Vector] = OrderedDict()

    def get(self, text: str) -> Vector | None:
        vector = self._vectors.get(text)
        if vector is not None:
            self._vectors.move_to_end(text)
        return vector

    def put(self, text: str, vector: Vector) -> Vector:
        # Over bytes, an array cannot be made writeable again: no caller can spoil another's vector.
        kept = np.frombuffer(vector.tobytes(), dtype=np.float32)
        if self._capacity:
            self._vectors[text] = kept
            self._vectors.move_to_end(text)
            if len(self._vectors) > self._capacity:
                self._vectors.popitem(last=False)
        return kept


def _mean(rows: Sequence[Outcome]) -> Vector:
    vectors = []
    for row in rows:
        if isinstance(row, EmbeddingError):
            raise row
        vectors.append(row)
    if len(vectors) == 1:
        return vectors[0]
    total = np.stack(vectors).astype(np.float64).sum(axis=0)
    length = float(np.linalg.norm(total))
    if not length:
        raise EmbeddingError("the windows of this text cancel each other")
    return np.asarray(total / length, dtype=np.float32)


def _regroup(rows: Sequence[Outcome], sizes: Sequence[int]) -> list[Vectors | EmbeddingError]:
    grouped: list[Vectors | EmbeddingError] = []
    start = 0
    for size in sizes:
        vectors: list[Vector] = []
        failure: EmbeddingError | None = None
        for row in rows[start : start + size]:
            if isinstance(row, EmbeddingError):
                failure = failure or row
            else:
                vectors.append(row)
        grouped.append(failure or np.stack(vectors))
        start += size
    return grouped
