"""The `openai` embedder: any server with an OpenAI-compatible `/v1/embeddings`.

Text Embeddings Inference, vLLM, Ollama and OpenAI itself speak it: this is where an installation goes that has
outgrown one machine's cores.
"""

import asyncio
import hashlib
import math
import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

import httpx
import msgspec
import numpy as np

from app.embeddings.descriptor import EmbeddingDescriptor
from app.embeddings.errors import (
    EmbedderConfigurationError,
    EmbedderUnavailable,
    EmbeddingError,
    TextRefusedError,
)
from app.embeddings.protocol import BatchLimit, TokenStatistics, Vectors, check_vectors, replace_surrogates

# Characters past which no server takes one request gladly.
_REQUEST_CHARACTERS: Final = 400_000
_LONGEST_PAUSE: Final = 8.0
_POOL_TIMEOUT: Final = 60.0
_WINDOW_OVERLAP_SHARE: Final = 0.1
_PROBE: Final = "dimension probe"

_RETRIED: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_REFUSALS_OF_TEXT: Final = frozenset({400, 413, 422})


class _Item(msgspec.Struct):
    index: int
    embedding: list[float]


class _Answer(msgspec.Struct):
    data: list[_Item]


class _WorthRetryingError(Exception):
    """A fault that may be gone after a pause; `wanted` are the seconds that the server asks for."""

    def __init__(self, message: str, *, wanted: float = 0.0) -> None:
        super().__init__(message)
        self.wanted = wanted


class OpenAIEmbedder:
    """Embeds through HTTP, in bounded batches, with bounded retries and concurrency. Vectors are L2-normalised.

    The API key goes into the request header only; no message of an error carries it, nor the server's words, which
    may repeat it.

    Args:
        base_url: Address of the server, with or without the final `/v1`; without user name and password.
        model: Model name, as the server knows it.
        dimension: Components of a vector; another answer is refused.
        api_key: Bearer token, if the server wants one.
        revision: Revision in the descriptor, when the model's name does not fix its weights.
        batch_size: Texts in one request; more are split.
        concurrency: Requests under way at once.
        attempts: Tries of one request, the first included, on 429, 5xx and timeouts.
        connect_timeout: Seconds to reach the server.
        read_timeout: Seconds to wait for an answer.
        first_pause: Seconds of the pause after the first failed attempt; it doubles, up to 8 s.
        window_characters: Characters of a window. The server's tokenizer is not known here; choose by its model.
        query_prefix: Put before questions, for models that want one.
        document_prefix: Put before documents.

    Raises:
        EmbedderConfigurationError: The address is no plain HTTP address.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        dimension: int,
        api_key: str | None = None,
        revision: str = "",
        batch_size: int = 32,
        concurrency: int = 4,
        attempts: int = 4,
        connect_timeout: float = 5.0,
        read_timeout: float = 30.0,
        first_pause: float = 0.5,
        window_characters: int = 6_000,
        query_prefix: str = "",
        document_prefix: str = "",
    ) -> None:
        self._url = _endpoint(base_url)
        self._model = model
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._descriptor = EmbeddingDescriptor(
            implementation="openai",
            model=re.sub(r"[/@\s]+", "--", model.strip()).strip("-"),
            dimension=dimension,
            revision=revision,
            preprocessing=_prefix_name(query_prefix, document_prefix),
        )
        self._batch_size = batch_size
        self._concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._attempts = attempts
        self._window = window_characters
        self._first_pause = first_pause
        headers = {"Content-Type": "application/json"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._client = httpx.AsyncClient(
            headers=headers, timeout=httpx.Timeout(read_timeout, connect=connect_timeout, pool=_POOL_TIMEOUT)
        )

    @property
    def descriptor(self) -> EmbeddingDescriptor:
        """The configured model's space."""
        return self._descriptor

    @property
    def batch_limit(self) -> BatchLimit:
        """One request."""
        return BatchLimit(texts=self._batch_size, characters=_REQUEST_CHARACTERS)

    @property
    def concurrency(self) -> int:
        """Requests under way at once."""
        return self._concurrency

    def windows(self, texts: Sequence[str]) -> list[list[str]]:
        """Split texts by characters, at white space where there is some."""
        return [_split(text, self._window) for text in texts]

    def token_statistics(self, text: str) -> TokenStatistics:
        """Words of the text; the server's vocabulary is not known, so none counts as unknown."""
        return TokenStatistics(tokens=len(text.split()))

    async def aload(self) -> None:
        """Embed one word, to see that the server answers with the configured dimension."""
        await self.aembed_query([_PROBE])

    async def aembed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed documents: float32[n, dimension].

        Raises:
            EmbedderUnavailable: The server is down, overloaded or too slow, also after the last attempt.
            EmbedderConfigurationError: The server refuses the key or the model, or answers with another dimension.
            TextRefusedError: The server refuses the texts.
            InvalidVectorError: The answer holds zero vectors or numbers beyond float32.
            EmbeddingError: The answer is no list of embeddings.
        """
        return await self._embed(texts, self._document_prefix)

    async def aembed_query(self, texts: Sequence[str]) -> Vectors:
        """Embed questions: float32[n, dimension]; raises what `aembed_documents` raises."""
        return await self._embed(texts, self._query_prefix)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        inputs = [prefix + replace_surrogates(text) for text in texts]
        batches = [
            inputs[start : start + self._batch_size] for start in range(0, len(inputs), self._batch_size)
        ]
        rows: list[list[float]] = []
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._request(batch)) for batch in batches]
        except ExceptionGroup as failures:
            # The group has cancelled its other requests; callers know the one family of errors.
            raise failures.exceptions[0] from None
        for task in tasks:
            rows += task.result()
        if not rows:
            return np.empty((0, self._descriptor.dimension), dtype=np.float32)
        vectors = check_vectors(rows, self._descriptor.dimension, len(texts))
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        return np.asarray(vectors / lengths, dtype=np.float32)

    async def _request(self, batch: Sequence[str]) -> list[list[float]]:
        """Send one request, again after a pause when that may help."""
        body = msgspec.json.encode({"model": self._model, "input": batch, "encoding_format": "float"})
        attempt = 0
        async with self._slots:
            while True:
                attempt += 1
                try:
                    return self._vectors(await self._post(body), len(batch))
                except _WorthRetryingError as fault:
                    pause = max(fault.wanted, self._backoff(attempt))
                    if attempt >= self._attempts or pause > _LONGEST_PAUSE:
                        message = (
                            f"the embedding server {fault} ({attempt} of {self._attempts} attempts made)"
                        )
                        raise EmbedderUnavailable(message, retry_after=max(1.0, pause)) from None
                await asyncio.sleep(pause)

    async def _post(self, body: bytes) -> bytes:
        try:
            response = await self._client.post(self._url, content=body)
        except httpx.TransportError as error:
            raise _WorthRetryingError(f"cannot be reached ({type(error).__name__})") from error
        status = response.status_code
        if status == HTTPStatus.OK:
            return response.content
        if status in _RETRIED:
            wanted = _retry_after(response.headers.get("Retry-After"))
            raise _WorthRetryingError(f"answers {status}", wanted=wanted)
        if status in _REFUSALS_OF_TEXT:
            raise TextRefusedError(f"the embedding server refuses the texts with {status}")
        raise EmbedderConfigurationError(
            f"the embedding server answers {status} for the model {self._model}: check address, key and model"
        )

    def _backoff(self, attempt: int) -> float:
        # Jitter, so that callers that failed together do not come back together.
        jitter = random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        return min(_LONGEST_PAUSE, math.ldexp(self._first_pause, attempt - 1)) * jitter

    def _vectors(self, content: bytes, count: int) -> list[list[float]]:
        try:
            items = msgspec.json.decode(content, type=_Answer).data
        except msgspec.MsgspecError:
            # The decoder refuses NaN and Infinity too: they are no JSON.
            raise EmbeddingError("the embedding server's answer is no list of embeddings") from None
        by_index = {item.index: item.embedding for item in items}
        if len(items) != count or by_index.keys() != set(range(count)):
            raise EmbeddingError(f"the embedding server answered {len(items)} embeddings for {count} texts")
        expected = self._descriptor.dimension
        for vector in by_index.values():
            if len(vector) != expected:
                raise EmbedderConfigurationError(
                    f"the model {self._model} returns {len(vector)} dimensions; {expected} are configured"
                )
        return [by_index[index] for index in range(count)]


def _prefix_name(query: str, document: str) -> str:
    """Name the prefixes in the descriptor: other prefixes make other vectors."""
    if not query and not document:
        return ""
    return "prefix." + hashlib.sha256(msgspec.json.encode([query, document])).hexdigest()[:12]


def _endpoint(base_url: str) -> str:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        raise EmbedderConfigurationError("the embedding server's address is no URL") from None
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
        raise EmbedderConfigurationError(
            "the embedding server's address must be http(s)://host[:port][/path], without user name and password"
        )
    path = url.path.rstrip("/")
    return str(url.copy_with(path=f"{path}/embeddings" if path.endswith("/v1") else f"{path}/v1/embeddings"))


def _retry_after(value: str | None) -> float:
    """Seconds of a Retry-After header (RFC 9110, 10.2.3: seconds or a date); 0 when absent or unreadable."""
    if value is None:
        return 0.0
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    return max(0.0, (moment.astimezone(UTC) - datetime.now(UTC)).total_seconds())


def _split(text: str, window: int) -> list[str]:
    """Cut a text into overlapping windows of at most `window` characters, after white space where there is some."""
    overlap = int(window * _WINDOW_OVERLAP_SHARE)
    windows = []
    start = 0
    while len(text) - start > window:
        end = _after_space(text, start + window, lowest=start + window - overlap)
        windows.append(text[start:end])
        start = _after_space(text, end - overlap, lowest=end - 2 * overlap)
    windows.append(text[start:])
    return windows


def _after_space(text: str, index: int, *, lowest: int) -> int:
    """The nearest place at or before `index` that follows white space; `index` if there is none from `lowest`."""
    for candidate in range(index, lowest, -1):
        if text[candidate - 1].isspace():
            return candidate
    return index
