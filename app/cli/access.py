"""A profile's memories for a command: through the services of this process, or through a running server."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeVar
from uuid import UUID

import httpx
import typer

from app.cli.direct import DirectMemory
from app.cli.filters import Filters
from app.cli.output import CommandError
from app.cli.remote import RemoteMemory, open_client
from app.cli.session import with_services
from app.memory.schemas import FragmentInput
from app.memory.service import Stored
from app.recall.schemas import RecallInput
from app.services import Services

Result = TypeVar("Result")

ProfileOption = Annotated[UUID, typer.Option("--profile", help="Id of the profile", show_default=False)]
TeamOption = Annotated[
    str | None, typer.Option("--team", help="Team of the profile, by name or id; found by itself if left out")
]
UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url",
        envvar="STRATA_URL",
        help="Go through the server at this address instead of through the database",
    ),
]
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key",
        envvar="STRATA_API_KEY",
        help="API key for --url; other users of this machine cannot read the variable, but can read the option",
    ),
]


class MemoryAccess(Protocol):
    """What commands do with the memories of one profile. Answers are plain JSON values, as the API gives them."""

    async def store(self, items: Sequence[FragmentInput]) -> list[Stored]:
        """Store a batch in one embedding pass; one outcome for each item, in order."""

    async def list_page(self, filters: Filters, limit: int, cursor: str | None) -> dict[str, Any]:
        """One page: ``{items, next_cursor}``; ``limit`` up to 100."""

    async def get(self, fragment_id: UUID) -> dict[str, Any]:
        """One fragment."""

    async def retract(self, fragment_id: UUID) -> dict[str, Any]:
        """Withdraw a fragment."""

    async def recall(self, request: RecallInput) -> dict[str, Any]:
        """Answer a question."""


@dataclass(frozen=True, slots=True)
class Target:
    """Which profile, and by which way."""

    profile_id: UUID
    team: str | None = None
    url: str | None = None
    key: str | None = None


def with_memory(
    target: Target, use: Callable[[MemoryAccess], Awaitable[Result]], *, embedder: bool = False
) -> Result:
    """Open the profile, run ``use``, close it.

    Args:
        target: The profile.
        use: What the command does.
        embedder: The command embeds texts: load the model first, if this process needs one.

    Raises:
        CommandError: there is no key for the server, or no server.
        StrataError: ``not_found`` and what ``use`` raises.
    """
    if target.url is not None:
        return with_server(
            target.url, target.key, lambda client: use(RemoteMemory(client, target.profile_id))
        )

    async def run(services: Services) -> Result:
        team_id = None if target.team is None else (await services.tenancy.find_team(target.team)).team_id
        located = await services.tenancy.locate_profile(target.profile_id, team_id)
        if embedder:
            await services.embeddings.start()
        return await use(DirectMemory(services, located))

    return with_services(run)


def with_server(url: str, key: str | None, use: Callable[[httpx.AsyncClient], Awaitable[Result]]) -> Result:
    """Open a client of a running server, run ``use``, close it.

    Raises:
        CommandError: there is no key, or no server.
    """
    if key is None:
        raise CommandError("--url needs an API key", "Set STRATA_API_KEY, or give --key.")

    async def run() -> Result:
        async with open_client(url, key) as client:
            return await use(client)

    return asyncio.run(run())
