"""Earned ANN: large profiles move to a graph and back, and a search is complete at every step."""

import asyncio
from typing import Any
from uuid import UUID

import numpy as np
import pytest
import sqlalchemy as sa

from app.db.unit_of_work import Tenant
from app.indexing import placement
from app.indexing.placement import PlacementService
from app.memory.schemas import FragmentInput
from app.recall import branches
from app.recall.repository import Filters, SemanticQuery, exact_search
from app.services import Services
from app.tenancy.audit import SYSTEM
from app.tenancy.schemas import ProfileInput
from tests.integration.conftest import opened_services

COUNT = 900
WORDS = [
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "inlet",
    "jetty",
    "kelp",
    "larch",
    "maple",
    "north",
    "ochre",
    "pine",
]


def texts(count: int, seed: int = 1) -> list[str]:
    rng = np.random.default_rng(seed)
    return [f"{' '.join(rng.choice(WORDS, 6))} number {n}" for n in range(count)]


async def store(services: Services, tenant: Tenant, contents: list[str], **fields: Any) -> list[UUID]:
    items = [FragmentInput(content=content, **fields) for content in contents]
    prepared = await services.fragments.prepare(tenant, services.space_id, items)
    async with services.database.tenant(tenant) as unit:
        stored = await services.fragments.store(unit, SYSTEM, "english", prepared)
    return [item.id for item in stored if item.id is not None]


async def question(services: Services, text: str, filters: Filters | None = None) -> SemanticQuery:
    return SemanticQuery(
        await services.embeddings.embed_query(text), services.space_id, filters=filters or Filters()
    )


async def graph_of(services: Services, tenant: Tenant) -> list[tuple[int, int]]:
    async with services.database.tenant(tenant) as unit:
        rows = await unit.execute(
            sa.text(
                "SELECT graph, count(*) FROM vectors WHERE team_id = :t AND profile_id = :p GROUP BY 1 ORDER BY 1"
            ),
            {"t": tenant.team_id, "p": tenant.profile_id},
        )
        return [tuple(row) for row in rows]


@pytest.fixture
async def tenant(member: Any) -> Tenant:
    return Tenant(member.team_id, member.profile_id)


async def test_a_profile_below_the_threshold_stays_exact(services: Services, tenant: Tenant) -> None:
    await store(services, tenant, texts(20))
    assert await PlacementService(services.database, threshold=21).settle(tenant, services.space_id) == 0
    assert await graph_of(services, tenant) == [(0, 20)]
    outcome = await branches.semantic_branch(
        services.database, tenant, await question(services, "amber"), depth=5
    )
    assert outcome.exact
    assert len(outcome.hits) == 5


async def test_a_large_profile_is_moved_to_a_graph_and_searched_there(
    services: Services, tenant: Tenant
) -> None:
    await store(services, tenant, texts(COUNT))
    query = await question(services, "cedar heron pine")
    async with services.database.reading(tenant) as unit:
        before = await exact_search(unit, query, 50)
    assert await PlacementService(services.database, threshold=800).settle(tenant, services.space_id) == COUNT
    [(graph, moved)] = await graph_of(services, tenant)
    assert (graph > 0, moved) == (True, COUNT)

    outcome = await branches.semantic_branch(services.database, tenant, query, depth=50)
    assert (outcome.exact, outcome.graph) == (False, graph)
    assert len(outcome.hits) == 50
    assert len(dict(outcome.hits).keys() & dict(before).keys()) >= 48


async def test_a_new_memory_of_a_placed_profile_is_found_at_once(services: Services, tenant: Tenant) -> None:
    await store(services, tenant, texts(COUNT))
    await PlacementService(services.database, threshold=800).settle(tenant, services.space_id)
    [fresh] = await store(services, tenant, ["a zebra crosses the quay at dawn"])
    query = await question(services, "a zebra crosses the quay at dawn")
    outcome = await branches.semantic_branch(services.database, tenant, query, depth=10)
    assert outcome.hits[0][0] == fresh
    assert outcome.hits[0][1] == pytest.approx(1, abs=1e-3)


async def test_a_search_in_the_middle_of_a_move_misses_nothing(services: Services, tenant: Tenant) -> None:
    await store(services, tenant, texts(COUNT))
    service = PlacementService(services.database, threshold=800)
    async with services.database.tenant(tenant) as unit:
        step = await service._step(unit, services.space_id)  # noqa: SLF001 - one step of the move
    assert step.moved == placement.MOVE_BATCH
    assert [count for _, count in await graph_of(services, tenant)] == [COUNT - step.moved, step.moved]
    query = await question(services, "ochre north larch")
    async with services.database.reading(tenant) as unit:
        everything = await exact_search(unit, query, 100)
    found = await branches.semantic_branch(services.database, tenant, query, depth=100)
    assert len(dict(found.hits).keys() & dict(everything).keys()) >= 95


async def test_a_shrunken_profile_moves_back_with_hysteresis(services: Services, tenant: Tenant) -> None:
    ids = await store(services, tenant, texts(COUNT))
    service = PlacementService(services.database, threshold=800)
    await service.settle(tenant, services.space_id)
    async with services.database.tenant(tenant) as unit:
        await services.indexing.remove(unit, ids[:200])
    await service.settle(tenant, services.space_id)
    assert [graph for graph, _ in await graph_of(services, tenant)] != [0], (
        "700 is above the share that is kept"
    )
    async with services.database.tenant(tenant) as unit:
        await services.indexing.remove(unit, ids[200:400])
    await service.settle(tenant, services.space_id)
    assert await graph_of(services, tenant) == [(0, 500)]
    outcome = await branches.semantic_branch(
        services.database, tenant, await question(services, "kelp"), depth=5
    )
    assert outcome.exact


async def test_a_removed_memory_of_a_placed_profile_never_returns(services: Services, tenant: Tenant) -> None:
    ids = await store(services, tenant, texts(COUNT))
    await PlacementService(services.database, threshold=800).settle(tenant, services.space_id)
    async with services.database.tenant(tenant) as unit:
        await services.indexing.remove(unit, ids[::2])
    query = await question(services, "grove inlet jetty")
    found = await branches.semantic_branch(services.database, tenant, query, depth=400)
    assert not dict(found.hits).keys() & set(ids[::2])
    assert len(found.hits) == 400


async def test_a_narrow_filter_finds_all_that_passes_it(services: Services, tenant: Tenant) -> None:
    await store(services, tenant, texts(COUNT))
    few = await store(services, tenant, texts(5, seed=9), labels=["rare"])
    await PlacementService(services.database, threshold=800).settle(tenant, services.space_id)
    query = await question(services, "amber delta", Filters(labels=("rare",)))
    found = await branches.semantic_branch(services.database, tenant, query, depth=50)
    assert dict(found.hits).keys() == set(few)


async def test_two_large_profiles_get_graphs_of_their_own(fresh_database: Any, settings: Any) -> None:
    async with opened_services(fresh_database, settings) as services:
        team = await services.tenancy.create_team(SYSTEM, "two", services.space_id)
        graphs = []
        for name in ("first", "second"):
            profile = await services.tenancy.create_profile(SYSTEM, team.team_id, ProfileInput(name=name))
            tenant = Tenant(team.team_id, profile.id)
            await store(services, tenant, texts(150))
            await PlacementService(services.database, threshold=100).settle(tenant, services.space_id)
            graphs += await graph_of(services, tenant)
    assert graphs == [(1, 150), (2, 150)]


async def test_memories_are_deleted_and_moved_at_the_same_time(services: Services, tenant: Tenant) -> None:
    """A row that moves to another partition under a delete is met again; two movers take turns."""
    ids = await store(services, tenant, texts(COUNT))
    movers = [
        asyncio.create_task(
            PlacementService(services.database, threshold=10).settle(tenant, services.space_id)
        )
        for _ in range(2)
    ]
    for ref in ids[::10]:
        await services.writes.change(
            tenant, lambda unit, ref=ref: services.fragments.delete(unit, SYSTEM, ref)
        )
    await asyncio.gather(*movers)
    await PlacementService(services.database, threshold=10).settle(tenant, services.space_id)
    [(graph, left)] = await graph_of(services, tenant)
    assert (graph > 0, left) == (True, COUNT - len(ids[::10]))
