"""The public API as the runner uses it: over the network, or of a service that the run starts itself."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast
from uuid import uuid4

import httpx
from pydantic import SecretStr

from app.asgi import create_app
from app.evaluation.errors import EvaluationError
from app.jobs.worker import run as run_jobs
from app.runtime import running_services
from app.settings import Settings

_TIMEOUT: Final = httpx.Timeout(10.0, read=600.0)
_ATTEMPTS: Final = 5
_BUSY: Final = (429, 503)
_LONGEST_PAUSE: Final = 10.0
RESUME: Final = "Repeat the command with the same --out to go on where it stopped."


class Api:
    """One team's requests.

    Args:
        client: Knows the service's address and the key.
        embedded: Whether the run started the service itself.
    """

    def __init__(self, client: httpx.AsyncClient, *, embedded: bool) -> None:
        self._client = client
        self.embedded = embedded

    async def send(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON answer of a request; a busy service is asked again, a few times.

        Raises:
            EvaluationError: no answer, or a refusal; with what the service said.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                answer = await self._client.request(method, path, json=body)
            except httpx.TransportError as error:
                raise EvaluationError(
                    f"the service does not answer: {type(error).__name__}", RESUME
                ) from error
            if answer.status_code not in _BUSY or attempt == _ATTEMPTS:
                break
            pause = answer.headers.get("Retry-After", "")
            await asyncio.sleep(min(float(pause) if pause.isdecimal() else 1.0, _LONGEST_PAUSE))
        if not answer.is_success:
            raise _refusal(method, path, answer)
        try:
            return answer.json()
        except ValueError as error:
            raise EvaluationError(f"{method} {path} answered no JSON", "Is this a Strata server?") from error

    async def health(self) -> dict[str, Any]:
        """What the service says of itself."""
        found: dict[str, Any] = await self.send("GET", "/v1/health")
        return found

    async def routes(self) -> frozenset[str]:
        """Paths of the service's OpenAPI document: what it can do."""
        document = await self.send("GET", "/docs/openapi.json")
        return frozenset(document["paths"])


def _refusal(method: str, path: str, answer: httpx.Response) -> EvaluationError:
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    said = problem.get("detail") or answer.reason_phrase
    code = problem.get("code", answer.status_code)
    return EvaluationError(
        f"{method} {path}: {said} ({code})",
        RESUME if answer.status_code in _BUSY else "",
        status=answer.status_code,
    )


@asynccontextmanager
async def remote_api(base_url: str, api_key: str) -> AsyncIterator[Api]:
    """A running server.

    Raises:
        EvaluationError: the address is none.
    """
    try:
        client = httpx.AsyncClient(
            base_url=base_url, headers={"Authorization": f"Bearer {api_key}"}, timeout=_TIMEOUT
        )
    except (httpx.InvalidURL, UnicodeError) as error:
        raise EvaluationError(f"{base_url!r} is no address: {error}") from error
    async with client:
        yield Api(client, embedded=False)


@asynccontextmanager
async def embedded_api(directory: Path, settings: Settings) -> AsyncIterator[Api]:
    """A service on an embedded PostgreSQL in ``directory``, in this process, with a team of its own.

    The directory outlives the block: a run that was cut off finds its profiles there again.
    """
    token = secrets.token_hex(32)
    used = settings.model_copy(
        update={
            "data_dir": directory,
            "database_url": None,
            "owner_database_url": None,
            "operator_token": SecretStr(token),
            "rate_limit_per_minute": 0,
            "worker": False,
        }
    )
    async with running_services(used) as services:
        await services.embeddings.start()
        # A server's jobs run too: large writes are theirs.
        jobs = asyncio.create_task(run_jobs(services))
        try:
            async with api_of(create_app(used, services), token, directory / "team.txt") as api:
                yield api
        finally:
            jobs.cancel()
            with suppress(asyncio.CancelledError):
                await jobs


@asynccontextmanager
async def api_of(app: Any, operator_token: str, remembered: Path | None = None) -> AsyncIterator[Api]:
    """An application in this process, with a team of its own.

    Args:
        app: The ASGI application; its services are running.
        operator_token: Token of its operator's routes.
        remembered: Holds the id of the team of an earlier run; gets it otherwise.
    """
    transport = httpx.ASGITransport(app=cast("Any", app))
    address = "http://strata.test"
    bearer = {"Authorization": f"Bearer {operator_token}"}
    async with httpx.AsyncClient(transport=transport, base_url=address, headers=bearer) as http:
        operator = Api(http, embedded=True)
        team = _read(remembered)
        if team is not None:
            scopes = ["memory:read", "memory:write"]
            body = {"name": "evaluation", "scopes": scopes}
            made = await operator.send("POST", f"/v1/admin/teams/{team}/keys", body)
        else:
            made = await operator.send("POST", "/v1/admin/teams", {"name": f"evaluation {uuid4()}"})
            _write(remembered, made["team_id"])
    key = {"Authorization": f"Bearer {made['api_key']}"}
    async with httpx.AsyncClient(transport=transport, base_url=address, headers=key, timeout=None) as client:  # noqa: S113 - in this process
        yield Api(client, embedded=True)


def _read(path: Path | None) -> str | None:
    return path.read_text(encoding="utf-8").strip() if path is not None and path.is_file() else None


def _write(path: Path | None, text: str) -> None:
    if path is not None:
        path.write_text(text + "\n", encoding="utf-8")
