import asyncio
import json
import logging
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from app.embeddings.errors import (
    EmbedderConfigurationError,
    EmbedderUnavailable,
    EmbeddingError,
    InvalidVectorError,
    TextRefusedError,
)
from app.embeddings.openai_backend import OpenAIEmbedder
from app.embeddings.service import EmbeddingService

SECRET = "sk-very-secret-0123456789"


def vector(text):
    return [3.0 * len(text), 4.0 * len(text), 0.0]


class Server(ThreadingHTTPServer):
    """An embedding server on loopback. `script` holds answers to give before it answers well."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = []
        self.requests = []
        self.most = 0
        self.running = 0
        self.lock = threading.Lock()
        self.release = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append((self.path, dict(self.headers), body))
            self.server.running += 1
            self.server.most = max(self.server.most, self.server.running)
            answer = self.server.script.pop(0) if self.server.script else None
        try:
            status, headers, payload = answer(self, body) if answer else self.good(body)
        finally:
            with self.server.lock:
                self.server.running -= 1
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    @staticmethod
    def good(body):
        data = [{"index": i, "embedding": vector(text)} for i, text in enumerate(body["input"])]
        return 200, {}, json.dumps({"object": "list", "data": data}).encode()

    def log_message(self, *_):
        """Keep the test's output quiet."""


def status(code, **headers):
    return lambda _handler, _body: (
        code,
        {name.replace("_", "-"): value for name, value in headers.items()},
        json.dumps({"error": f"wrong key {SECRET}"}).encode(),
    )


def payload(data):
    content = data if isinstance(data, bytes) else json.dumps(data).encode()
    return lambda _handler, _body: (200, {}, content)


def hang(handler, body):
    handler.server.release.wait(30)
    return handler.good(body)


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
async def embedder(server):
    embedder = OpenAIEmbedder(
        base_url=server.url, model="some-model", dimension=3, api_key=SECRET, batch_size=4, first_pause=0.001
    )
    yield embedder
    await embedder.aclose()


async def test_vectors_are_normalised_and_the_request_is_the_documented_one(server, embedder):
    vectors = await embedder.aembed_documents(["a", "bb"])
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [pytest.approx([0.6, 0.8, 0.0])] * 2
    [(path, headers, body)] = server.requests
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == f"Bearer {SECRET}"
    assert body == {"model": "some-model", "input": ["a", "bb"], "encoding_format": "float"}


@pytest.mark.parametrize("suffix", ["/", "/v1", "/v1/", "/gateway/v1"])
async def test_the_address_may_end_in_v1_or_not(server, suffix):
    embedder = OpenAIEmbedder(base_url=server.url + suffix, model="m", dimension=3)
    await embedder.aload()
    assert server.requests[0][0] == ("/gateway" if "gateway" in suffix else "") + "/v1/embeddings"
    assert "Authorization" not in server.requests[0][1]
    await embedder.aclose()


async def test_batches_are_split_at_the_provider_limit_and_keep_their_order(server, embedder):
    def turned(_handler, body):
        data = [{"index": i, "embedding": [1.0, i, 0.0]} for i in range(len(body["input"]))]
        return 200, {}, json.dumps({"data": data[::-1]}).encode()

    server.script = [turned] * 3
    vectors = await embedder.aembed_documents([str(i) for i in range(10)])
    assert sorted(len(body["input"]) for _, _, body in server.requests) == [2, 4, 4]
    assert np.rint(vectors[:, 1] / vectors[:, 0]).tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    assert (await embedder.aembed_documents([])).shape == (0, 3)


async def test_requests_under_way_are_bounded(server):
    embedder = OpenAIEmbedder(base_url=server.url, model="m", dimension=3, batch_size=1, concurrency=2)
    server.script = [lambda handler, body: (threading.Event().wait(0.02), handler.good(body))[1]] * 8
    assert (await embedder.aembed_documents([str(i) for i in range(8)])).shape == (8, 3)
    assert server.most == 2
    await embedder.aclose()


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 529])
async def test_passing_faults_are_tried_again(server, embedder, code):
    server.script = [status(code), status(code)]
    assert (await embedder.aembed_query(["a"])).shape == (1, 3)
    assert len(server.requests) == 3


async def test_attempts_are_bounded(server, embedder):
    server.script = [status(500)] * 9
    with pytest.raises(EmbedderUnavailable, match=r"answers 500 \(4 of 4 attempts made\)") as caught:
        await embedder.aembed_query(["a"])
    assert caught.value.retry_after == 1.0
    assert len(server.requests) == 4


async def test_a_short_retry_after_is_waited_for(server, embedder):
    loop = asyncio.get_running_loop()
    server.script = [status(429, Retry_After="1")]
    started = loop.time()
    await embedder.aembed_query(["a"])
    assert len(server.requests) == 2
    assert loop.time() - started > 0.9


@pytest.mark.parametrize("as_date", [False, True])
async def test_a_long_retry_after_is_handed_to_the_caller(server, embedder, as_date):
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=120), usegmt=True)
    server.script = [status(429, Retry_After=moment if as_date else "120")]
    with pytest.raises(EmbedderUnavailable, match="answers 429") as caught:
        await embedder.aembed_query(["a"])
    assert 100 < caught.value.retry_after <= 120
    assert len(server.requests) == 1


async def test_an_unreadable_retry_after_counts_as_none(server, embedder):
    server.script = [status(503, Retry_After="soon")]
    assert (await embedder.aembed_query(["a"])).shape == (1, 3)


async def test_another_dimension_is_refused_with_both_numbers(server):
    embedder = OpenAIEmbedder(base_url=server.url, model="m", dimension=1536)
    with pytest.raises(EmbedderConfigurationError, match="returns 3 dimensions; 1536 are configured"):
        await embedder.aload()
    await embedder.aclose()


@pytest.mark.parametrize("code", [401, 403, 404, 302])
async def test_refused_configuration_is_not_retried(server, embedder, code):
    server.script = [status(code)]
    with pytest.raises(EmbedderConfigurationError, match=f"answers {code} for the model some-model"):
        await embedder.aembed_query(["a"])
    assert len(server.requests) == 1


@pytest.mark.parametrize("code", [400, 413, 422])
async def test_refused_texts_are_not_retried(server, embedder, code):
    server.script = [status(code)]
    with pytest.raises(TextRefusedError, match=f"refuses the texts with {code}"):
        await embedder.aembed_query(["a"])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"<html>",
        b"",
        {"data": "x"},
        {"error": "x"},
        b'{"data": [{"index": 0, "embedding": [1.0, NaN, 0.0]}]}',
        b'{"data": [{"index": 0, "embedding": [1.0, null, 0.0]}]}',
        {"data": [{"embedding": [1.0, 0.0, 0.0]}]},
    ],
)
async def test_answers_that_are_no_embeddings_are_refused(server, embedder, data):
    server.script = [payload(data)]
    with pytest.raises(EmbeddingError, match="no list of embeddings"):
        await embedder.aembed_query(["a"])


@pytest.mark.parametrize("indexes", [[], [0], [0, 0], [1, 2], [0, 1, 2], [0, 1, 1]])
async def test_missing_and_doubled_answers_are_refused(server, embedder, indexes):
    server.script = [payload({"data": [{"index": i, "embedding": [1.0, 0.0, 0.0]} for i in indexes]})]
    with pytest.raises(EmbeddingError, match=f"answered {len(indexes)} embeddings for 2 texts"):
        await embedder.aembed_query(["a", "b"])


@pytest.mark.parametrize("bad", [[0.0, 0.0, 0.0], [1e200, 0.0, 0.0]])
async def test_unusable_vectors_are_named(server, embedder, bad):
    data = [{"index": 0, "embedding": [1.0, 0.0, 0.0]}, {"index": 1, "embedding": bad}]
    server.script = [payload({"data": data})]
    with pytest.raises(InvalidVectorError) as caught:
        await embedder.aembed_documents(["a", "b"])
    assert caught.value.indexes == (1,)


async def test_a_hanging_server_times_out(server):
    embedder = OpenAIEmbedder(
        base_url=server.url, model="m", dimension=3, read_timeout=0.05, attempts=2, first_pause=0.001
    )
    server.script = [hang, hang]
    with pytest.raises(EmbedderUnavailable, match=r"cannot be reached \(ReadTimeout\) \(2 of 2"):
        await embedder.aembed_query(["a"])
    server.script = [hang]
    assert (await embedder.aembed_query(["a"])).shape == (1, 3)
    await embedder.aclose()


async def test_no_server_is_unavailable():
    embedder = OpenAIEmbedder(
        base_url="http://127.0.0.1:9", model="m", dimension=3, attempts=2, first_pause=0.001
    )
    with pytest.raises(EmbedderUnavailable, match=r"cannot be reached \(ConnectError\)"):
        await embedder.aload()
    await embedder.aclose()


async def test_the_key_is_in_no_error_and_no_log(server, embedder, caplog):
    caplog.set_level(logging.DEBUG)
    for code in (401, 400, 500):
        server.script = [status(code)] * 4
        with pytest.raises(EmbeddingError) as caught:
            await embedder.aembed_query(["a"])
        error = caught.value
        while error is not None:
            assert SECRET not in repr(error)
            error = error.__cause__ or error.__context__
    assert len(caplog.records) > 0
    assert SECRET not in caplog.text
    assert not any(SECRET in repr(value) for value in vars(embedder).values())


async def test_prefixes_and_odd_characters_go_out_as_text(server):
    embedder = OpenAIEmbedder(
        base_url=server.url, model="m", dimension=3, query_prefix="query: ", document_prefix="passage: "
    )
    await embedder.aembed_query(["a\ud83d\x00b"])
    await embedder.aembed_documents(["<|endoftext|>"])
    assert [body["input"] for _, _, body in server.requests] == [
        ["query: a\ufffd\x00b"],
        ["passage: <|endoftext|>"],
    ]
    await embedder.aclose()


@pytest.mark.parametrize("text", ["", "short", "word " * 100, "x" * 333, "a" * 95 + " " + "b" * 200])
def test_windows_cover_the_text_by_characters(text):
    embedder = OpenAIEmbedder(base_url="http://localhost", model="m", dimension=3, window_characters=100)
    [windows] = embedder.windows([text])
    assert all(len(window) <= 100 for window in windows)
    reached = len(windows[0])
    for window in windows[1:]:
        reached = text.rindex(window, 0, reached + len(window)) + len(window)
    assert text.startswith(windows[0])
    assert reached == len(text)
    if " " in text and len(text) > 100:
        assert windows[0].endswith(" ")


async def test_through_the_service_one_refused_text_spoils_no_other(server, embedder):
    def refuse_long(handler, body):
        return (
            status(400)(handler, body) if any(len(text) > 5 for text in body["input"]) else handler.good(body)
        )

    service = EmbeddingService(embedder)
    await service.start()
    server.script = [refuse_long] * 20
    outcomes = await service.embed_each(["a", "much too long", "bb"])
    assert [isinstance(outcome, TextRefusedError) for outcome in outcomes] == [False, True, False]
    assert outcomes[0].tolist() == [pytest.approx([0.6, 0.8, 0.0])]
    query, documents = await asyncio.gather(service.embed_query("q"), service.embed_documents(["d"] * 9))
    assert query.shape == (3,)
    assert len(documents) == 9
    await service.close()


async def test_the_service_is_ready_once_the_server_answers(server, embedder):
    server.script = [status(503)] * 4
    service = EmbeddingService(embedder)
    with pytest.raises(EmbedderUnavailable):
        await service.start()
    assert service.failure == "the embedding server answers 503 (4 of 4 attempts made)"
    await service.start()
    assert service.ready
    await service.close()
