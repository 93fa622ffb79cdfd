"""A client of an OpenAI-compatible chat endpoint that answers in a strict JSON schema, at temperature 0."""

import asyncio
import math
import random
from http import HTTPStatus
from typing import Any, Final, TypeVar

import httpx
import msgspec

from app.errors import StrataError

Answer = TypeVar("Answer")
_RETRIED: Final = (408, 409, 425, 429, 500, 502, 503, 504)
_LONGEST_PAUSE: Final = 8.0
_CONNECT_TIMEOUT: Final = 5.0
_MAX_ANSWER: Final = 1_000_000
_WAIT: Final = 5.0


class _Message(msgspec.Struct):
    content: str


class _Choice(msgspec.Struct):
    message: _Message


class _Completion(msgspec.Struct):
    choices: list[_Choice]


class _WorthRetryingError(Exception):
    def __init__(self, error: StrataError, wanted: float = 0.0) -> None:
        super().__init__(error.detail)
        self.error = error
        self.wanted = wanted


class ChatClient:
    """Asks one model.

    Args:
        base_url: Address up to ``/v1``, with or without it.
        model: Name of the model.
        api_key: Bearer token, if the server wants one.
        timeout: Seconds that one attempt may take.
        attempts: Attempts in all.
        concurrency: Requests under way at once.
        first_pause: Seconds before the second attempt; doubled each time.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        attempts: int = 3,
        concurrency: int = 4,
        first_pause: float = 0.5,
    ) -> None:
        self.model = model
        base = base_url.rstrip("/")
        self._url = f"{base}/chat/completions" if base.endswith("/v1") else f"{base}/v1/chat/completions"
        headers = {"Content-Type": "application/json"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._timeout = timeout
        self._client = httpx.AsyncClient(
            headers=headers, timeout=httpx.Timeout(timeout, connect=min(timeout, _CONNECT_TIMEOUT))
        )
        self._attempts = attempts
        self._first_pause = first_pause
        self._slots = asyncio.Semaphore(concurrency)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def ask(
        self, instructions: str, question: str, name: str, schema: dict[str, Any], kind: type[Answer]
    ) -> Answer:
        """Answer of the model as ``kind``.

        Raises:
            StrataError: ``verifier_timeout``, ``verifier_rate_limit``, ``verifier_provider`` after the last
                attempt, or ``verifier_malformed_response``.
        """
        body = msgspec.json.encode(
            {
                "model": self.model,
                "temperature": 0,
                "messages": [
                    {"role": "system", "content": instructions},
                    {"role": "user", "content": question},
                ],
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": name, "strict": True, "schema": schema},
                },
            }
        )
        attempt = 0
        async with self._slots:
            while True:
                attempt += 1
                try:
                    return _decoded(await self._post(body), kind)
                except _WorthRetryingError as fault:
                    pause = max(fault.wanted, self._pause(attempt))
                    if attempt >= self._attempts or pause > _LONGEST_PAUSE:
                        raise fault.error from None
                await asyncio.sleep(pause)

    async def _post(self, body: bytes) -> bytes:
        try:
            # httpx limits each read; a server that drips must not hold a slot for longer either.
            async with (
                asyncio.timeout(self._timeout),
                self._client.stream("POST", self._url, content=body) as response,
            ):
                return await _content(response)
        except (httpx.TimeoutException, TimeoutError):
            raise _WorthRetryingError(
                StrataError("verifier_timeout", "the chat server did not answer in time", retry_after=_WAIT)
            ) from None
        except httpx.RequestError as error:
            kind = type(error).__name__
            raise _WorthRetryingError(
                StrataError(
                    "verifier_provider", f"the chat server cannot be reached ({kind})", retry_after=_WAIT
                )
            ) from None

    def _pause(self, attempt: int) -> float:
        # Jitter, so that callers that failed together do not come back together.
        jitter = random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        return min(_LONGEST_PAUSE, math.ldexp(self._first_pause, attempt - 1)) * jitter


async def _content(response: httpx.Response) -> bytes:
    """Body of an answer, as far as an answer may go.

    Raises:
        StrataError: the server refuses for good.
    """
    status = response.status_code
    if status == HTTPStatus.OK:
        content = bytearray()
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > _MAX_ANSWER:
                break
        return bytes(content)
    code = "verifier_rate_limit" if status == HTTPStatus.TOO_MANY_REQUESTS else "verifier_provider"
    told = response.headers.get("Retry-After", "")
    wanted = float(told) if told.isdecimal() else 0.0
    refusal = StrataError(code, f"the chat server answers {status}", retry_after=max(wanted, _WAIT))
    if status in _RETRIED:
        raise _WorthRetryingError(refusal, wanted)
    raise refusal


def _decoded(content: bytes, kind: type[Answer]) -> Answer:
    try:
        if len(content) > _MAX_ANSWER:
            raise ValueError("too long")  # noqa: TRY301 - one place tells every kind of malformed answer
        completion = msgspec.json.decode(content, type=_Completion)
        return msgspec.json.decode(completion.choices[0].message.content, type=kind)
    except (ValueError, IndexError, RecursionError):
        # A model that answered outside of the schema may do better when asked again.
        raise _WorthRetryingError(
            StrataError("verifier_malformed_response", "the chat server's answer does not follow the schema")
        ) from None
