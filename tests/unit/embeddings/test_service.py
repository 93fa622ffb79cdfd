import asyncio
import threading

import numpy as np
import pytest

from app.embeddings.descriptor import EmbeddingDescriptor
from app.embeddings.errors import (
    EmbedderConfigurationError,
    EmbedderUnavailable,
    EmbeddingError,
    InvalidVectorError,
)
from app.embeddings.hash_backend import HashEmbedder
from app.embeddings.protocol import BatchLimit, TokenStatistics
from app.embeddings.service import EmbeddingService, ServiceLimits, ServiceState

DESCRIPTOR = EmbeddingDescriptor(implementation="test", model="letters", dimension=26)
WINDOW = 10


def letters(text):
    """Counts of a..z, normalised: zero for a text without letters."""
    counts = np.array([text.count(chr(97 + i)) for i in range(26)], dtype=np.float32)
    return counts / max(1.0, float(np.linalg.norm(counts)))


class LetterEmbedder:
    """Embeds by letters, notes its batches, and waits at a gate that the test opens.

    A text with `!` makes the whole batch fail, as a model's library may.
    """

    inline = False
    batch_limit = BatchLimit(texts=4, characters=40)
    descriptor = DESCRIPTOR

    def __init__(self):
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.batches = []
        self.threads = set()
        self.load_errors = []
        self.outages = []
        self.loads = 0

    def load(self):
        self.loads += 1
        self._pass()
        if self.load_errors:
            raise self.load_errors.pop()

    def windows(self, texts):
        return [[text[i : i + WINDOW] for i in range(0, max(1, len(text)), WINDOW)] for text in texts]

    def token_statistics(self, text):
        return TokenStatistics(tokens=len(text), unknown=text.count("?"))

    def embed_query(self, texts):
        return self._embed("query", texts)

    def embed_documents(self, texts):
        return self._embed("document", texts)

    def _embed(self, lane, texts):
        self.batches.append((lane, list(texts)))
        self._pass()
        if self.outages:
            raise self.outages.pop()
        if any("!" in text for text in texts):
            raise RuntimeError("cannot read '!'")
        return np.stack([letters(text) for text in texts])

    def _pass(self):
        self.threads.add(threading.current_thread().name)
        self.entered.set()
        assert self.gate.wait(30)

    async def shut(self, awaitable):
        """Close the gate, start something, and return its task once the embedder waits at the gate."""
        self.gate.clear()
        self.entered.clear()
        task = asyncio.ensure_future(awaitable)
        await asyncio.to_thread(self.entered.wait, 30)
        return task


@pytest.fixture
def embedder():
    return LetterEmbedder()


@pytest.fixture
async def service(embedder):
    service = EmbeddingService(embedder)
    await service.start()
    yield service
    embedder.gate.set()
    await service.close()


async def turns(count=5):
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_query_is_one_read_only_float32_vector(service):
    vector = await service.embed_query("abba")
    assert vector.shape == (26,)
    assert vector.dtype == np.float32
    assert vector.tolist() == letters("abba").tolist()
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        vector.setflags(write=True)


async def test_documents_come_back_per_text_with_their_windows(service):
    first, second = await service.embed_documents(["abc", "aaaaaaaaaabbbbbbbbbbc"])
    assert first.tolist() == [letters("abc").tolist()]
    assert second.tolist() == [letters("a").tolist(), letters("b").tolist(), letters("c").tolist()]
    assert service.windows("aaaaaaaaaabbbbbbbbbbc") == ["aaaaaaaaaa", "bbbbbbbbbb", "c"]
    assert await service.embed_documents([]) == []


async def test_a_long_query_is_the_mean_of_its_windows(service):
    vector = await service.embed_query("aaaaaaaaaabbbbbbbbbb")
    assert vector[:2].tolist() == pytest.approx([0.5**0.5] * 2)


async def test_queries_of_one_turn_share_a_batch(service, embedder):
    vectors = await asyncio.gather(*(service.embed_query(text) for text in "abcc"))
    assert [int(vector.argmax()) for vector in vectors] == [0, 1, 2, 2]
    assert embedder.batches == [("query", ["a", "b", "c"])]


async def test_queries_gather_while_a_batch_runs(service, embedder):
    first = await embedder.shut(service.embed_query("a"))
    others = [asyncio.ensure_future(service.embed_query(text)) for text in "bcdefg"]
    await turns()
    embedder.gate.set()
    await asyncio.gather(first, *others)
    assert embedder.batches == [
        ("query", ["a"]),
        ("query", ["b", "c", "d", "e"]),
        ("query", ["f", "g"]),
    ]


async def test_repeated_queries_come_from_the_cache(service, embedder):
    first = await service.embed_query("a")
    assert await service.embed_query("a") is first
    assert embedder.batches == [("query", ["a"])]


async def test_the_cache_forgets_the_least_recently_used(embedder):
    service = EmbeddingService(embedder, limits=ServiceLimits(cached_queries=2))
    await service.start()
    for text in ("a", "b", "a", "c", "a", "b"):
        await service.embed_query(text)
    assert [texts for _, texts in embedder.batches] == [["a"], ["b"], ["c"], ["b"]]
    await service.close()


async def test_a_cache_of_none_keeps_nothing(embedder):
    service = EmbeddingService(embedder, limits=ServiceLimits(cached_queries=0))
    await service.start()
    await service.embed_query("a")
    await service.embed_query("a")
    assert embedder.batches == [("query", ["a"])] * 2
    await service.close()


async def test_queries_go_before_the_rest_of_a_document_job(service, embedder):
    documents = await embedder.shut(service.embed_documents([f"{letter}{letter}" for letter in "abcdefghij"]))
    query = asyncio.ensure_future(service.embed_query("z"))
    await turns()
    embedder.gate.set()
    await asyncio.gather(documents, query)
    assert [(lane, len(texts)) for lane, texts in embedder.batches] == [
        ("document", 4),
        ("query", 1),
        ("document", 4),
        ("document", 2),
    ]


async def test_batches_hold_texts_of_like_length_within_the_limit(service, embedder):
    texts = ["a" * 9, "b", "c" * 10, "dd", "e" * 8, "f"]
    vectors = await service.embed_documents(texts)
    assert [int(vector[0].argmax()) for vector in vectors] == [0, 1, 2, 3, 4, 5]
    batches = [sorted(map(len, batch)) for _, batch in embedder.batches]
    assert batches == [[1, 1, 2, 8], [9, 10]]


async def test_equal_windows_are_embedded_once(service, embedder):
    vectors = await service.embed_documents(["ab", "ab", "ab"])
    assert embedder.batches == [("document", ["ab"])]
    assert [rows.tolist() for rows in vectors] == [[letters("ab").tolist()]] * 3


async def test_a_slow_embedder_is_unavailable_and_the_next_call_works(embedder):
    service = EmbeddingService(embedder, limits=ServiceLimits(query_timeout=0.05, document_timeout=0.05))
    await service.start()
    embedder.gate.clear()
    with pytest.raises(EmbedderUnavailable, match=r"longer than 0\.05 s") as caught:
        await service.embed_query("a")
    assert caught.value.retry_after == 2.0
    with pytest.raises(EmbedderUnavailable, match=r"longer than 0\.05 s"):
        await service.embed_documents(["a"])
    embedder.gate.set()
    assert (await service.embed_documents(["b"], timeout=30))[0].shape == (1, 26)
    await service.close()


async def test_a_full_query_queue_refuses_at_once_and_drains(embedder):
    service = EmbeddingService(embedder, limits=ServiceLimits(pending_queries=3))
    await service.start()
    first = await embedder.shut(service.embed_query("a"))
    waiting = [asyncio.ensure_future(service.embed_query(text)) for text in "bc"]
    await turns()
    with pytest.raises(EmbedderUnavailable, match="too many query texts wait") as caught:
        await service.embed_query("d")
    assert caught.value.retry_after == 1.0
    embedder.gate.set()
    await asyncio.gather(first, *waiting)
    assert (await service.embed_query("d")).argmax() == 3
    await service.close()


async def test_a_full_document_queue_refuses_but_takes_any_single_job(embedder):
    service = EmbeddingService(embedder, limits=ServiceLimits(pending_characters=20))
    await service.start()
    first = await embedder.shut(service.embed_documents(["a" * 50]))
    with pytest.raises(EmbedderUnavailable, match="too many document texts wait"):
        await service.embed_documents(["b"])
    embedder.gate.set()
    assert (await first)[0].shape == (5, 26)
    await service.close()


async def test_cancelled_calls_are_not_embedded_and_spoil_nothing(service, embedder):
    first = await embedder.shut(service.embed_query("a"))
    doomed, kept = (asyncio.ensure_future(service.embed_query(text)) for text in "bc")
    await turns()
    doomed.cancel()
    first.cancel()
    await turns()
    embedder.gate.set()
    assert (await kept).argmax() == 2
    assert doomed.cancelled()
    assert first.cancelled()
    assert embedder.batches == [("query", ["a"]), ("query", ["c"])]


async def test_cancelling_a_document_job_stops_it_after_its_batch(service, embedder):
    job = await embedder.shut(service.embed_documents([letter * 10 for letter in "abcdefghijkl"]))
    job.cancel()
    await turns()
    embedder.gate.set()
    await service.embed_query("z")
    assert len(embedder.batches) == 2


async def test_one_unreadable_text_does_not_spoil_its_batch(service, embedder):
    good, bad, other = await asyncio.gather(
        *(service.embed_query(text) for text in ("a", "b!", "c")), return_exceptions=True
    )
    assert (good.argmax(), other.argmax()) == (0, 2)
    assert isinstance(bad, EmbeddingError)
    assert str(bad) == "the embedder failed: RuntimeError: cannot read '!'"
    assert len(embedder.batches) == 4


async def test_texts_without_a_vector_are_named(service, embedder):
    texts = ["ab", "123", "cd", "aaaaaaaaaa456"]
    with pytest.raises(InvalidVectorError, match="2 of 4 texts have no usable vectors") as caught:
        await service.embed_documents(texts)
    assert caught.value.indexes == (1, 3)
    embedder.batches.clear()
    outcomes = await service.embed_each(texts)
    assert [isinstance(outcome, InvalidVectorError) for outcome in outcomes] == [False, True, False, True]
    assert outcomes[2].tolist() == [letters("cd").tolist()]
    with pytest.raises(InvalidVectorError):
        await service.embed_query("123")


async def test_nothing_is_embedded_before_the_model_is_loaded(embedder):
    service = EmbeddingService(embedder)
    with pytest.raises(EmbedderUnavailable, match="the embedder is idle"):
        await service.embed_query("a")
    starting = await embedder.shut(service.start())
    also = asyncio.ensure_future(service.start())
    assert (service.ready, service.state) == (False, ServiceState.LOADING)
    with pytest.raises(EmbedderUnavailable, match="the embedder is loading") as caught:
        await service.embed_documents(["a"])
    assert caught.value.retry_after == 5.0
    embedder.gate.set()
    await asyncio.gather(starting, also)
    assert service.ready
    assert embedder.loads == 1
    assert embedder.threads == {"embedding_0"}
    await service.start()
    assert embedder.loads == 1
    await service.close()


async def test_giving_up_on_start_does_not_spoil_the_load_for_others(embedder):
    service = EmbeddingService(embedder)
    impatient = await embedder.shut(service.start())
    patient = asyncio.ensure_future(service.start())
    await turns()
    impatient.cancel()
    embedder.gate.set()
    await patient
    assert service.ready
    assert embedder.loads == 1
    await service.close()


async def test_a_failed_load_tells_why_and_may_be_repeated(embedder):
    service = EmbeddingService(embedder)
    embedder.load_errors = [EmbedderConfigurationError("no such model")]
    with pytest.raises(EmbedderConfigurationError, match="no such model"):
        await service.start(keep_trying=True)
    assert (service.state, service.failure) == (ServiceState.FAILED, "no such model")
    with pytest.raises(EmbedderUnavailable, match="the embedder is failed: no such model"):
        await service.embed_query("a")
    await service.start()
    assert (service.ready, service.failure) == (True, None)
    await service.close()


async def test_start_keeps_trying_while_the_embedder_is_down(embedder):
    service = EmbeddingService(embedder)
    embedder.load_errors = [EmbedderUnavailable("down", retry_after=0.01) for _ in range(3)]
    with pytest.raises(EmbedderUnavailable, match="down"):
        await service.start()
    await service.start(keep_trying=True)
    assert service.ready
    assert embedder.loads == 4
    await service.close()


async def test_an_embedder_that_goes_down_is_asked_until_it_answers_again(service, embedder):
    embedder.outages = [EmbedderUnavailable("the provider is down", retry_after=0.01)]
    embedder.load_errors = [EmbedderUnavailable("the provider is still down", retry_after=0.01)]
    assert service.available
    with pytest.raises(EmbedderUnavailable, match="is down"):
        await service.embed_query("abc")
    assert (service.ready, service.available, service.failure) == (True, False, "the provider is down")
    loads = embedder.loads
    while not service.available:  # noqa: ASYNC110 - the service offers no event for it
        await asyncio.sleep(0.01)
    assert embedder.loads == loads + 2
    assert service.failure is None


async def test_a_call_that_succeeds_ends_an_outage(service, embedder):
    embedder.outages = [EmbedderUnavailable("the provider is down", retry_after=60)]
    with pytest.raises(EmbedderUnavailable):
        await service.embed_query("abc")
    assert not service.available
    await service.embed_query("abc")
    assert service.available


async def test_closing_fails_what_waits_and_refuses_the_rest(service, embedder):
    running = await embedder.shut(service.embed_query("a"))
    waiting = asyncio.ensure_future(service.embed_query("b"))
    await turns()
    await service.close()
    for task in (running, waiting):
        with pytest.raises(EmbedderUnavailable, match="clos"):
            await task
    assert (service.ready, service.state) == (False, ServiceState.CLOSED)
    with pytest.raises(EmbedderUnavailable, match="the embedder is closed"):
        await service.embed_query("c")
    with pytest.raises(EmbedderUnavailable, match="closed"):
        await service.start()
    await service.close()


async def test_closing_ends_a_load(embedder):
    service = EmbeddingService(embedder)
    starting = await embedder.shut(service.start())
    await service.close()
    with pytest.raises(EmbedderUnavailable, match="closed"):
        await starting
    embedder.gate.set()
    assert service.state is ServiceState.CLOSED


async def test_token_statistics_pass_through(service):
    assert service.unknown_token_share("ab??") == 0.5
    assert service.token_statistics("ab??").tokens == 4
    assert service.descriptor is DESCRIPTOR


async def test_hash_queries_and_documents_through_the_service():
    service = EmbeddingService(HashEmbedder())
    await service.start()
    query, [[document]] = await asyncio.gather(
        service.embed_query("Alice prefers tea"), service.embed_documents(["Alice prefers tea"])
    )
    assert query.tobytes() == document.tobytes()
    assert len(await service.embed_documents([f"memory {number}" for number in range(3_000)])) == 3_000
    await service.close()


class ConcurrentLetters:
    """The letter embedder as an asynchronous one; every batch waits for the test's gate."""

    concurrency = 3
    batch_limit = BatchLimit(texts=2, characters=1000)
    descriptor = DESCRIPTOR

    def __init__(self):
        self.gate = asyncio.Event()
        self.two_run = asyncio.Event()
        self.running = []
        self.most = 0
        self.closed = False

    def windows(self, texts):
        return [[text] for text in texts]

    def token_statistics(self, text):
        return TokenStatistics(tokens=len(text))

    async def aload(self):
        pass

    async def aembed_query(self, texts):
        return await self._embed("query", texts)

    async def aembed_documents(self, texts):
        return await self._embed("document", texts)

    async def aclose(self):
        self.closed = True

    async def _embed(self, lane, texts):
        self.running.append(lane)
        self.most = max(self.most, len(self.running))
        if len(self.running) == 2:
            self.two_run.set()
        await self.gate.wait()
        self.running.remove(lane)
        return np.stack([letters(text) for text in texts])


async def test_an_asynchronous_embedder_keeps_one_place_for_queries():
    embedder = ConcurrentLetters()
    service = EmbeddingService(embedder)
    await service.start()
    documents = asyncio.ensure_future(service.embed_documents(list("abcdefghij")))
    await embedder.two_run.wait()
    await turns(20)
    assert embedder.running == ["document", "document"]
    query = asyncio.ensure_future(service.embed_query("z"))
    await turns(20)
    assert embedder.running == ["document", "document", "query"]
    embedder.gate.set()
    assert (await query).argmax() == 25
    assert [int(rows[0].argmax()) for rows in await documents] == list(range(10))
    assert embedder.most == 3
    await service.close()
    assert embedder.closed
