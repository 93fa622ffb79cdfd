import asyncio

import numpy as np
import pytest

from app.embeddings.errors import EmbedderConfigurationError, EmbedderUnavailable
from app.embeddings.protocol import BatchLimit
from app.embeddings.scheduler import BatchScheduler


class Bench:
    """A scheduler over an embedding function that notes its batches; a vector is the text's length."""

    def __init__(self, *, limit, concurrency=1):
        self.batches = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.fault = None
        self.now = 0.0
        self.seconds = {"query": 0.0, "document": 0.0}
        self.scheduler = BatchScheduler(
            self.embed,
            limit=limit,
            concurrency=concurrency,
            pending_queries=100,
            pending_characters=1_000,
            clock=lambda: self.now,
        )

    async def embed(self, lane, texts):
        self.batches.append((lane, list(texts)))
        await self.gate.wait()
        self.now += self.seconds[lane]
        if self.fault:
            raise self.fault
        return np.array([[len(text)] for text in texts], dtype=np.float32)

    def submit(self, lane, texts):
        return asyncio.ensure_future(self.scheduler.submit(lane, texts))


async def turns():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_jobs_take_turns_so_a_small_one_is_not_stuck_behind_a_large_one():
    bench = Bench(limit=BatchLimit(texts=2, characters=100))
    bench.gate.clear()
    large = bench.submit("document", list("abcdefgh"))
    await turns()
    small, other = bench.submit("document", ["x", "y", "z"]), bench.submit("document", ["0"])
    await turns()
    bench.gate.set()
    await asyncio.gather(large, small, other)
    assert [texts for _, texts in bench.batches] == [
        ["h", "g"],
        ["f", "e"],
        ["z", "y"],
        ["0", "d"],
        ["x", "c"],
        ["b", "a"],
    ]


async def test_queries_keep_their_order_and_precede_documents():
    bench = Bench(limit=BatchLimit(texts=2, characters=100))
    bench.gate.clear()
    jobs = [bench.submit("document", ["d", "e", "f"])]
    await turns()
    jobs += [bench.submit("query", [text]) for text in "123"]
    await turns()
    bench.gate.set()
    await asyncio.gather(*jobs)
    assert bench.batches == [
        ("document", ["f", "e"]),
        ("query", ["1", "2"]),
        ("query", ["3"]),
        ("document", ["d"]),
    ]


async def test_documents_get_a_quarter_of_the_time_under_an_unending_stream_of_queries():
    bench = Bench(limit=BatchLimit(texts=1, characters=100))
    bench.seconds = {"query": 1.0, "document": 10.0}
    documents = bench.submit("document", ["a", "b"])
    queries = [bench.submit("query", [str(number)]) for number in range(70)]
    await asyncio.gather(documents, *queries)
    lanes = [lane for lane, _ in bench.batches]
    # The first document's time is not known yet; the second waits until queries have had three times as much.
    assert [place for place, lane in enumerate(lanes) if lane == "document"] == [1, 33]


async def test_outcomes_come_back_in_the_order_of_the_texts():
    bench = Bench(limit=BatchLimit(texts=3, characters=1_000))
    texts = ["ccc", "a", "dddd", "bb", "a"]
    outcomes = await bench.scheduler.submit("document", texts)
    assert [row.tolist() for row in outcomes] == [[3.0], [1.0], [4.0], [2.0], [1.0]]
    assert await bench.scheduler.submit("document", []) == []


async def test_a_text_beyond_the_limit_goes_alone():
    bench = Bench(limit=BatchLimit(texts=8, characters=10))
    await bench.scheduler.submit("document", ["a" * 50, "b", "c" * 5, "d" * 4])
    assert bench.batches == [("document", ["b", "d" * 4]), ("document", ["c" * 5]), ("document", ["a" * 50])]


@pytest.mark.parametrize(
    "fault", [EmbedderUnavailable("down", retry_after=7), EmbedderConfigurationError("384, not 8")]
)
async def test_a_fault_of_the_embedder_fails_each_waiting_job_of_the_batch_once(fault):
    bench = Bench(limit=BatchLimit(texts=2, characters=100))
    bench.fault = fault
    jobs = [bench.submit("document", ["a", "b", "c"]), bench.submit("query", ["q"])]
    results = await asyncio.gather(*jobs, return_exceptions=True)
    assert results == [fault, fault]
    assert len(bench.batches) == 2
    bench.fault = None
    assert [row.tolist() for row in await bench.scheduler.submit("query", ["ok"])] == [[2.0]]


async def test_what_cancelled_and_failed_jobs_held_is_free_again():
    bench = Bench(limit=BatchLimit(texts=1, characters=100))
    bench.gate.clear()
    job = bench.submit("document", ["a" * 600, "b" * 400])
    await turns()
    with pytest.raises(EmbedderUnavailable, match="too many document texts wait"):
        await bench.scheduler.submit("document", ["c"])
    job.cancel()
    await turns()
    bench.gate.set()
    assert len(await bench.scheduler.submit("document", ["d" * 1_000])) == 1


async def test_closing_twice_and_submitting_afterwards():
    bench = Bench(limit=BatchLimit(texts=1, characters=100))
    await bench.scheduler.close()
    await bench.scheduler.close()
    with pytest.raises(EmbedderUnavailable, match="is closed"):
        await bench.scheduler.submit("query", ["a"])
