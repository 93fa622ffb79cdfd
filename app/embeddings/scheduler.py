"""Decides which texts an embedder works on next: queries before documents, waiting texts together.

Nothing waits on purpose. While a batch runs, texts gather; when it ends, the next batch takes as many as the
embedder's limit admits. Documents go in batches of that size too, so a query waits for one of them at most, and jobs
take turns, so a small write is not stuck behind a large import. Under an unending stream of queries documents still get
a quarter of the time.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

import structlog

from app.embeddings.errors import (
    EmbedderConfigurationError,
    EmbedderUnavailable,
    EmbeddingError,
    InvalidVectorError,
)
from app.embeddings.protocol import BatchLimit, Vector, Vectors
from app.embeddings.runners import Lane

Outcome = Vector | EmbeddingError
"""What became of one text."""

_QUEUE_FULL_RETRY: Final = 1.0
# Seconds of queries for each second of documents, while both wait.
_QUERY_PREFERENCE: Final = 3.0

_log = structlog.get_logger()


class _Job:
    """Texts that one caller waits for. `waiting` holds their indexes, longest text first, taken from the end."""

    __slots__ = ("future", "missing", "outcomes", "texts", "waiting")

    def __init__(self, texts: Sequence[str], future: asyncio.Future[list[Outcome]]) -> None:
        self.texts = texts
        self.future = future
        self.waiting = sorted(range(len(texts)), key=lambda index: len(texts[index]), reverse=True)
        self.outcomes: list[Outcome | None] = [None] * len(texts)
        self.missing = len(texts)

    def settle(self, index: int, outcome: Outcome) -> None:
        """Note one text's outcome; the last one wakes the caller."""
        self.outcomes[index] = outcome
        self.missing -= 1
        if not self.missing and not self.future.done():
            self.future.set_result([row for row in self.outcomes if row is not None])

    def fail(self, error: EmbeddingError) -> None:
        """Give the whole job up."""
        if not self.future.done():
            self.future.set_exception(error)


_Batch = list[tuple[_Job, int]]


class BatchScheduler:
    """Feeds an embedder from two bounded lanes.

    Args:
        embed: Embeds one batch of texts, checked.
        limit: The embedder's batch limit, in force for both lanes.
        concurrency: Batches under way at once.
        pending_queries: Query texts that may wait or run at once.
        pending_characters: Characters of documents that may wait or run at once; a single job may exceed it when
            nothing else waits.
        clock: Seconds that pass, for sharing the embedder's time between the lanes.
    """

    def __init__(
        self,
        embed: Callable[[Lane, Sequence[str]], Coroutine[Any, Any, Vectors]],
        *,
        limit: BatchLimit,
        concurrency: int,
        pending_queries: int,
        pending_characters: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._embed = embed
        self._limit = limit
        self._concurrency = concurrency
        self._capacity: dict[Lane, int] = {"query": pending_queries, "document": pending_characters}
        self._pending: dict[Lane, int] = {"query": 0, "document": 0}
        self._lanes: dict[Lane, deque[_Job]] = {"query": deque(), "document": deque()}
        self._running: dict[Lane, int] = {"query": 0, "document": 0}
        self._clock = clock
        self._document_seconds = 0.0  # of the last batch
        self._query_seconds = 0.0  # since that batch
        self._tasks: set[asyncio.Task[None]] = set()
        self._pump_due = False
        self._closed = False

    async def submit(self, lane: Lane, texts: Sequence[str]) -> list[Outcome]:
        """Embed texts and wait for all of them; cancelling gives up what has not been started.

        Returns:
            One outcome a text: its vector, or the error that concerns this text alone.

        Raises:
            EmbedderUnavailable: The lane is full, the embedder is unavailable, or the service is closing.
            EmbeddingError: The embedder failed as a whole.
        """
        if self._closed:
            raise EmbedderUnavailable("the embedding service is closed")
        if not texts:
            return []
        weight = len(texts) if lane == "query" else sum(map(len, texts))
        if self._pending[lane] and self._pending[lane] + weight > self._capacity[lane]:
            raise EmbedderUnavailable(
                f"too many {lane} texts wait to be embedded", retry_after=_QUEUE_FULL_RETRY
            )
        job = _Job(texts, asyncio.get_running_loop().create_future())
        self._pending[lane] += weight
        self._lanes[lane].append(job)
        self._schedule_pump()
        try:
            return await job.future
        finally:
            self._pending[lane] -= weight

    async def close(self) -> None:
        """Fail what waits and what runs."""
        self._closed = True
        error = EmbedderUnavailable("the embedding service is closing")
        for lane in self._lanes.values():
            for job in lane:
                job.fail(error)
            lane.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _schedule_pump(self) -> None:
        # At the end of this turn of the loop: queries that arrive in the same turn then share a batch.
        if not self._pump_due:
            self._pump_due = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._pump_due = False
        while not self._closed and self._running["query"] + self._running["document"] < self._concurrency:
            lane, batch = self._next()
            if not batch:
                return
            self._running[lane] += 1
            task = asyncio.get_running_loop().create_task(self._run(lane, batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _next(self) -> tuple[Lane, _Batch]:
        documents_due = self._query_seconds > _QUERY_PREFERENCE * self._document_seconds
        order: tuple[Lane, Lane] = ("document", "query") if documents_due else ("query", "document")
        for lane in order:
            # Of several places, one stays free for queries.
            if lane == "document" and self._running["document"] >= max(1, self._concurrency - 1):
                continue
            if batch := self._take(lane):
                return lane, batch
        return "query", []

    def _take(self, lane: Lane) -> _Batch:
        jobs = self._lanes[lane]
        batch: _Batch = []
        longest = 0
        while jobs:
            job = jobs.popleft()
            if job.future.done():
                continue
            begun = len(batch)
            while job.waiting:
                length = max(longest, len(job.texts[job.waiting[-1]]))
                if not self._limit.admits(len(batch) + 1, length):
                    # A job that has had its turn goes to the tail: the next batch begins with another one.
                    (jobs.append if len(batch) > begun else jobs.appendleft)(job)
                    return batch
                longest = length
                batch.append((job, job.waiting.pop()))
        return batch

    async def _run(self, lane: Lane, batch: _Batch) -> None:
        started = self._clock()
        try:
            outcomes = await self._outcomes(
                lane, list(dict.fromkeys(job.texts[index] for job, index in batch))
            )
        except asyncio.CancelledError:
            self._fail(batch, EmbedderUnavailable("the embedding service is closing"))
            raise
        except EmbeddingError as error:
            _log.warning("embedding_batch_failed", lane=lane, texts=len(batch), error=str(error))
            self._fail(batch, error)
        else:
            for job, index in batch:
                job.settle(index, outcomes[job.texts[index]])
        finally:
            self._running[lane] -= 1
            self._note(lane, self._clock() - started)
            if not self._closed:
                self._schedule_pump()

    def _note(self, lane: Lane, seconds: float) -> None:
        if lane == "document":
            self._document_seconds, self._query_seconds = seconds, 0.0
        elif self._lanes["document"]:
            self._query_seconds += seconds

    async def _outcomes(self, lane: Lane, texts: list[str]) -> dict[str, Outcome]:
        """Embed distinct texts; errors that concern single texts are told from those of the embedder."""
        try:
            vectors = await self._embed(lane, texts)
        except (EmbedderUnavailable, EmbedderConfigurationError):
            raise
        except InvalidVectorError as error:
            return await self._without(lane, texts, error)
        except EmbeddingError as error:
            if len(texts) == 1:
                return {texts[0]: error}
            # One text that the embedder cannot take must not spoil the others.
            single = [await self._outcomes(lane, [text]) for text in texts]
            return {text: outcome for outcomes in single for text, outcome in outcomes.items()}
        # A row of its own, so that a kept vector does not keep its whole batch.
        return {text: vectors[row].copy() for row, text in enumerate(texts)}

    async def _without(self, lane: Lane, texts: list[str], error: InvalidVectorError) -> dict[str, Outcome]:
        bad = {texts[index] for index in error.indexes}
        outcomes: dict[str, Outcome] = {text: InvalidVectorError(str(error), indexes=(0,)) for text in bad}
        good = [text for text in texts if text not in bad]
        return outcomes | (await self._outcomes(lane, good) if good else {})

    @staticmethod
    def _fail(batch: _Batch, error: EmbeddingError) -> None:
        for job in {id(job): job for job, _ in batch}.values():
            job.fail(error)
