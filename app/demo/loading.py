"""Loading the demo: a team `demo` with a profile `demo` that holds the demo memories, each stored once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from app.db.unit_of_work import UnitOfWork
from app.demo import DemoMemory, load_memories
from app.errors import StrataError
from app.memory.schemas import FragmentInput
from app.memory.service import PreparedFragments, Stored
from app.services import Services
from app.tenancy.audit import SYSTEM
from app.tenancy.schemas import KeyInput, ProfileInput
from app.tenancy.service import LocatedProfile

TEAM_NAME: Final = "demo"
PROFILE_NAME: Final = "demo"
KEY_NAME: Final = "printed by serve --demo"


@dataclass(frozen=True, slots=True)
class Demo:
    """The loaded demo.

    Attributes:
        profile_id: Profile with the memories.
        api_key: A new key that may read and write this profile alone.
        stored: Memories that were missing.
        memories: Memories that are there now.
    """

    profile_id: UUID
    api_key: str
    stored: int
    memories: int


async def load_demo(services: Services) -> Demo:
    """Make what is missing of the demo, and a key for it.

    Every call makes a new key and revokes those of earlier calls: a key that is only printed lies in no file that could
    be copied, and what was printed in an old terminal opens nothing.

    Args:
        services: Running services; the embedder is ready.

    Raises:
        StrataError: ``embedding_space_mismatch`` when the demo was loaded with another embedder.
    """
    team_id = await _team(services)
    profile_id = await _profile(services, team_id)
    located = await services.tenancy.locate_profile(profile_id, team_id)
    memories = load_memories()
    outcomes = await _store(services, located, memories)
    refused = next((outcome.error for outcome in outcomes if outcome.error is not None), None)
    if refused is not None:
        raise refused
    return Demo(
        profile_id=profile_id,
        api_key=await _fresh_key(services, team_id, profile_id),
        stored=sum(not outcome.duplicate for outcome in outcomes),
        memories=len(memories),
    )


async def _team(services: Services) -> UUID:
    try:
        return (await services.tenancy.find_team(TEAM_NAME)).team_id
    except StrataError as error:
        if error.code != "not_found":
            raise
    created = await services.tenancy.create_team(SYSTEM, TEAM_NAME, services.space_id)
    # The team's first key has every right, and nobody sees it here.
    await services.tenancy.revoke_key(SYSTEM, created.team_id, created.key_id)
    return created.team_id


async def _profile(services: Services, team_id: UUID) -> UUID:
    page = await services.tenancy.list_team_profiles(team_id, None, 1_000_000)
    for profile in page.items:
        if profile.name == PROFILE_NAME:
            return profile.id
    return (await services.tenancy.create_profile(SYSTEM, team_id, ProfileInput(name=PROFILE_NAME))).id


async def _store(services: Services, profile: LocatedProfile, memories: Sequence[DemoMemory]) -> list[Stored]:
    fragments = services.fragments
    items = [_fragment(memory) for memory in memories]

    async def write(unit: UnitOfWork, prepared: PreparedFragments) -> list[Stored]:
        return await fragments.store(unit, SYSTEM, profile.text_search_config, prepared)

    return await services.writes.run(
        profile.tenant,
        None,
        list[Stored],
        prepare=lambda: fragments.prepare(profile.tenant, profile.embedding_space_id, items),
        store=write,
    )


def _fragment(memory: DemoMemory) -> FragmentInput:
    values = msgspec.to_builtins(memory)
    values["idempotency_key"] = values.pop("id")
    return msgspec.convert(values, FragmentInput)


async def _fresh_key(services: Services, team_id: UUID, profile_id: UUID) -> str:
    for key in (await services.tenancy.list_keys(team_id, None, 1_000_000)).items:
        if key.name == KEY_NAME and key.revoked_at is None:
            await services.tenancy.revoke_key(SYSTEM, team_id, key.id)
    created = await services.tenancy.create_key(
        SYSTEM, team_id, KeyInput(name=KEY_NAME, profile_id=profile_id)
    )
    return created.api_key
