"""A profile's memories through a running server."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import UUID

import httpx
import msgspec

from app.cli.filters import Filters
from app.cli.output import CommandError
from app.errors import CODES, StrataError
from app.memory.schemas import BatchItem, BatchResult, FragmentInput
from app.memory.service import Stored
from app.recall.schemas import RecallInput

# A batch of long texts keeps a small server busy for a while.
_TIMEOUT: Final = httpx.Timeout(10.0, read=600.0)
_RECONNECT: Final = 2.0


@asynccontextmanager
async def open_client(url: str, key: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the key, once the server has answered.

    Raises:
        CommandError: the address is none, or nothing answers there.
    """
    try:
        client = httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=_TIMEOUT)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise CommandError(f"{url!r} is no address: {error}") from error
    async with client:
        try:
            await client.get("/livez")
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise CommandError(
                f"nothing answers at {url}: {error}", "Start `strata serve`, or mend --url or STRATA_URL."
            ) from error
        yield client


async def send(client: httpx.AsyncClient, method: str, path: str, **request: Any) -> Any:
    """The JSON answer of a request.

    Raises:
        StrataError: the server's problem answer.
        CommandError: no answer, or one that is not Strata's.
    """
    try:
        response = await client.request(method, path, **request)
    except httpx.TransportError as error:
        raise CommandError(
            f"the server does not answer: {type(error).__name__}",
            "Is `strata serve` still running?",
            retry_after=_RECONNECT,
        ) from error
    try:
        body = response.json()
    except ValueError:
        body = None
    if response.is_success and body is not None:
        return body
    raise _problem(response, body)


class RemoteMemory:
    """Reads and writes one profile over HTTP.

    Args:
        client: Client with the server's address and the key.
        profile_id: The profile.
    """

    def __init__(self, client: httpx.AsyncClient, profile_id: UUID) -> None:
        self._client = client
        self._path = f"/v1/profiles/{profile_id}"

    async def store(self, items: Sequence[FragmentInput]) -> list[Stored]:
        """Store a batch; it may be repeated as it is, because items are known by their keys and contents.

        Raises:
            StrataError: nothing of the batch is stored; with ``retry_after`` when it may be repeated.
            CommandError: no answer; the batch may be stored or not.
        """
        body = msgspec.json.encode({"items": items})
        answer = await send(
            self._client,
            "POST",
            f"{self._path}/fragments/batch",
            content=body,
            headers={"Content-Type": "application/json"},
        )
        return [_stored(item) for item in msgspec.convert(answer, BatchResult).results]

    async def list_page(self, filters: Filters, limit: int, cursor: str | None) -> dict[str, Any]:
        """One page, oldest first."""
        parameters = {**filters.parameters, "limit": limit, **({} if cursor is None else {"cursor": cursor})}
        return await self._object("GET", "/fragments", params=parameters)

    async def get(self, fragment_id: UUID) -> dict[str, Any]:
        """One fragment, retracted ones included."""
        return await self._object("GET", f"/fragments/{fragment_id}")

    async def retract(self, fragment_id: UUID) -> dict[str, Any]:
        """Withdraw a fragment."""
        return await self._object("POST", f"/fragments/{fragment_id}/retract")

    async def recall(self, request: RecallInput) -> dict[str, Any]:
        """Answer a question."""
        body = {name: value for name, value in msgspec.to_builtins(request).items() if value is not None}
        return await self._object("POST", "/recall", json=body)

    async def _object(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        answer: dict[str, Any] = await send(self._client, method, self._path + path, **request)
        return answer


def _stored(item: BatchItem) -> Stored:
    if item.error is None:
        return Stored(item.id, duplicate=item.duplicate)
    code = item.error.code if item.error.code in CODES else "validation_failed"
    # The server counts within the batch; whoever reads this counts within the file.
    detail = item.error.detail.replace(f"items[{item.index}].", "")
    return Stored(None, duplicate=False, error=StrataError(code, detail))


def _problem(response: httpx.Response, body: Any) -> Exception:
    problem = body if isinstance(body, dict) else {}
    code, detail = problem.get("code"), str(problem.get("detail", ""))
    if code in CODES:
        pause = response.headers.get("Retry-After", "")
        return StrataError(code, detail, retry_after=float(pause) if pause.isdecimal() else None)
    return CommandError(
        f"{response.request.url} answered {response.status_code} {detail or response.reason_phrase}",
        "Is this the address of a Strata server of this version?",
    )
