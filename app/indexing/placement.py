"""Earned ANN: which profiles are searched through an HNSW graph, and moving their vectors there and back.

Every new vector lands in graph 0, which has no HNSW index and is searched exactly, so writing never waits for a graph.
A profile that holds more vectors than the threshold gets a graph, and its vectors are moved there in small
transactions; one that shrinks well below it is moved back. A search of a placed profile always looks at both, its graph
and what is still in graph 0, so it is complete before, during and after a move.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from app.db.unit_of_work import Database, Tenant, UnitOfWork
from app.indexing import repository
from app.indexing.models import Vector, VectorPlacement

# A profile is moved back only below this share of the threshold, or one near it would move to and fro.
KEEP_SHARE: Final = 0.7
MOVE_BATCH: Final = 500
_LOCK: Final = sa.text("SELECT pg_advisory_xact_lock(hashtextextended('strata.placement ' || :profile, 0))")


@dataclass(frozen=True, slots=True)
class Step:
    """One transaction's worth of moving: how many vectors went, and whether more wait."""

    moved: int
    more: bool


def scaled_threshold(threshold: int, dimension: int) -> int:
    """Threshold for vectors of ``dimension``, from the one for 384.

    Comparing 10,000 vectors of 384 dimensions costs about what a graph costs; of 64 dimensions, about 25,000 (2.2 ms
    for 10,000 compared, 5 ms through the graph).
    """
    return round(threshold * min(2.5, max(0.25, 384 / dimension)))


class PlacementService:
    """Moves vectors between exact search and HNSW graphs.

    Args:
        database: Where units of work come from.
        threshold: Vectors of a profile above which it gets a graph (`scaled_threshold`).
    """

    def __init__(self, database: Database, threshold: int) -> None:
        self._database = database
        self.threshold = threshold

    async def settle(self, tenant: Tenant, space_id: int, *, considerate: bool = False) -> int:
        """Move until the profile's vectors are where its size puts them; returns how many were moved.

        Args:
            tenant: The profile.
            space_id: Space of the vectors.
            considerate: Rest after each step for as long as it took, which leaves half of the machine to requests.
        """
        total = 0
        more = True
        while more:
            started = time.perf_counter()
            async with self._database.tenant(tenant) as unit:
                step = await self._step(unit, space_id)
            total += step.moved
            more = step.more
            if considerate and more:
                await asyncio.sleep(time.perf_counter() - started)
        return total

    async def _step(self, unit: UnitOfWork, space_id: int) -> Step:
        # Two movers of one profile would fail on each other's rows; the second waits and finds less to do.
        await unit.execute(_LOCK, {"profile": str(unit.tenant.profile)})
        count = await count_vectors(unit, space_id)
        placement = await repository.read_placement(unit, space_id)
        if placement is None:
            if count < self.threshold:
                return Step(0, more=False)
            graph = await _choose_graph(unit, space_id)
            await _place(unit, space_id, graph, count)
            return Step(await _move(unit, space_id, source=0, target=graph), more=True)
        if count < self.threshold * KEEP_SHARE:
            moved = await _move(unit, space_id, source=placement, target=0)
            if moved == 0:
                await _unplace(unit, space_id)
            return Step(moved, more=moved > 0)
        moved = await _move(unit, space_id, source=0, target=placement)
        await _place(unit, space_id, placement, count)
        return Step(moved, more=moved > 0)


async def count_vectors(unit: UnitOfWork, space_id: int) -> int:
    """Vectors of the profile in a space."""
    statement = sa.select(sa.func.count()).where(
        Vector.team_id == unit.tenant.team_id,
        Vector.profile_id == unit.tenant.profile,
        Vector.space_id == space_id,
    )
    return int((await unit.execute(statement)).scalar_one())


async def _choose_graph(unit: UnitOfWork, space_id: int) -> int:
    """The least loaded graph; an empty one first, so that a profile owns a large share of the graph it is in."""
    # Two profiles that outgrow exact search at once must not take the same empty graph.
    await unit.execute(
        sa.text("SELECT pg_advisory_xact_lock(hashtext('strata.graphs'), :space)"), {"space": space_id}
    )
    graph = await unit.execute(
        sa.text(
            "SELECT g FROM embedding_spaces s CROSS JOIN generate_series(1, s.graphs) AS g"
            " LEFT JOIN graph_loads(CAST(:space AS smallint)) l ON l.graph = g"
            " WHERE s.id = :space ORDER BY coalesce(l.vectors, 0), g LIMIT 1"
        ),
        {"space": space_id},
    )
    return int(graph.scalar_one())


async def _place(unit: UnitOfWork, space_id: int, graph: int, vectors: int) -> None:
    statement = pg.insert(VectorPlacement).values(
        team_id=unit.tenant.team_id,
        profile_id=unit.tenant.profile,
        space_id=space_id,
        graph=graph,
        vectors=vectors,
    )
    await unit.execute(
        statement.on_conflict_do_update(
            index_elements=["team_id", "profile_id", "space_id"],
            set_={"vectors": statement.excluded.vectors, "updated_at": sa.func.now()},
        )
    )


async def _unplace(unit: UnitOfWork, space_id: int) -> None:
    await unit.execute(
        sa.delete(VectorPlacement).where(
            VectorPlacement.team_id == unit.tenant.team_id,
            VectorPlacement.profile_id == unit.tenant.profile,
            VectorPlacement.space_id == space_id,
        )
    )


async def _move(unit: UnitOfWork, space_id: int, *, source: int, target: int) -> int:
    """Move one batch; the statement that deletes here and inserts there is one row-moving UPDATE."""
    batch = (
        sa.select(Vector.kind, Vector.ref_id, Vector.window_index)
        .where(
            Vector.team_id == unit.tenant.team_id,
            Vector.profile_id == unit.tenant.profile,
            Vector.space_id == space_id,
            Vector.graph == source,
        )
        .order_by(Vector.kind, Vector.ref_id, Vector.window_index)
        .limit(MOVE_BATCH)
        .with_for_update(skip_locked=True)
        .cte("batch")
    )
    statement = (
        sa.update(Vector)
        .where(
            Vector.team_id == unit.tenant.team_id,
            Vector.profile_id == unit.tenant.profile,
            Vector.space_id == space_id,
            Vector.graph == source,
            Vector.kind == batch.c.kind,
            Vector.ref_id == batch.c.ref_id,
            Vector.window_index == batch.c.window_index,
        )
        .values(graph=target)
    )
    return (await unit.execute(statement)).rowcount
