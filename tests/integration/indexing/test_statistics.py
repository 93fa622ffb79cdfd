"""Statistics under concurrency: exact at the end against a recount, and no writer fails."""

import asyncio
import random
from collections import Counter
from typing import Any

import pytest
import sqlalchemy as sa

from app.db.unit_of_work import Tenant
from app.indexing.compaction import compact, pending_changes
from app.lexical.tsvector import PREFIX_LENGTH
from app.memory.schemas import FragmentInput
from app.services import Services
from app.tenancy.audit import SYSTEM

WRITERS, BATCHES = 16, 2_000
WORDS = [f"word{n}" for n in range(60)]


async def write(services: Services, tenant: Tenant, contents: list[str]) -> list[Any]:
    async def store(unit: Any, prepared: Any) -> list[Any]:
        return await services.fragments.store(unit, SYSTEM, "english", prepared)

    return await services.writes.run(
        tenant,
        None,
        list,
        prepare=lambda: services.fragments.prepare(
            tenant, services.space_id, [FragmentInput(content=content) for content in contents]
        ),
        store=store,
    )


DOCUMENTS = sa.text(
    "SELECT tsvector_to_array(lexemes) AS lexemes, length FROM search_documents WHERE team_id = :t AND profile_id = :p"
)
VECTORS = sa.text("SELECT count(*) FROM vectors WHERE team_id = :t AND profile_id = :p")
FREQUENCIES = sa.text(
    "SELECT lexeme, sum(documents) AS documents, count(*) AS changes FROM lexeme_statistics"
    " WHERE team_id = :t AND profile_id = :p GROUP BY 1"
)
TOTALS = sa.text(
    "SELECT sum(documents), sum(tokens), sum(tokens_squared), sum(vectors) FROM collection_statistics"
    " WHERE team_id = :t AND profile_id = :p"
)


async def recounted(services: Services, tenant: Tenant) -> tuple[Counter[str], tuple[int, ...]]:
    """Document frequencies and totals counted from the documents themselves."""
    mine = {"t": tenant.team_id, "p": tenant.profile_id}
    async with services.database.tenant(tenant) as unit:
        documents = (await unit.execute(DOCUMENTS, mine)).all()
        vectors = (await unit.execute(VECTORS, mine)).scalar_one()
    frequencies = Counter(lexeme[PREFIX_LENGTH:] for row in documents for lexeme in row.lexemes)
    lengths = [row.length for row in documents]
    return frequencies, (len(documents), sum(lengths), sum(n * n for n in lengths), vectors)


async def kept_lexemes(services: Services, tenant: Tenant) -> tuple[Counter[str], int]:
    """Document frequencies from the statistics, and the number of rows that hold them."""
    async with services.database.tenant(tenant) as unit:
        rows = (await unit.execute(FREQUENCIES, {"t": tenant.team_id, "p": tenant.profile_id})).all()
    return Counter({row.lexeme: int(row.documents) for row in rows if row.documents}), sum(
        r.changes for r in rows
    )


async def kept(services: Services, tenant: Tenant) -> tuple[Counter[str], tuple[int, ...]]:
    """The same as `recounted`, from the statistics."""
    frequencies, _ = await kept_lexemes(services, tenant)
    async with services.database.tenant(tenant) as unit:
        totals = (await unit.execute(TOTALS, {"t": tenant.team_id, "p": tenant.profile_id})).one()
    return frequencies, tuple(int(value) for value in totals)


@pytest.mark.slow
async def test_sixteen_writers_leave_exact_statistics(services: Services, member: Any) -> None:
    tenant = Tenant(member.team_id, member.profile_id)
    rng = random.Random(7)
    batches = [
        [" ".join(rng.choices(WORDS, k=3)) + rng.choice(["", "", f" n{n}"]) for _ in range(rng.randint(1, 4))]
        for n in range(BATCHES)
    ]
    queue = list(enumerate(batches))
    outcomes: list[Any] = []
    writing = True

    async def writer() -> None:
        while queue:
            _, batch = queue.pop()
            outcomes.extend(await write(services, tenant, batch))

    async def retractor() -> None:
        while writing:
            await asyncio.sleep(0.05)
            page = await services.fragments.list_page(tenant, after=None, limit=3, **NO_FILTERS)
            for fragment in page.items:
                async with services.database.tenant(tenant) as unit:
                    await services.fragments.delete(unit, SYSTEM, fragment.id)

    async def compactor() -> None:
        while writing:
            await asyncio.sleep(0.2)
            async with services.database.tenant(tenant) as unit:
                await compact(unit)

    helpers = [
        asyncio.create_task(retractor()),
        asyncio.create_task(compactor()),
        asyncio.create_task(compactor()),
    ]
    await asyncio.gather(*(writer() for _ in range(WRITERS)))
    writing = False
    await asyncio.gather(*helpers)

    assert len(outcomes) == sum(len(batch) for batch in batches)
    assert [outcome.error for outcome in outcomes if outcome.error is not None] == []
    assert await kept(services, tenant) == await recounted(services, tenant)


NO_FILTERS: dict[str, Any] = {
    "status": None,
    "source_type": None,
    "label": None,
    "created_from": None,
    "created_to": None,
}


async def test_compaction_keeps_every_sum(services: Services, member: Any) -> None:
    tenant = Tenant(member.team_id, member.profile_id)
    for n in range(12):
        await write(services, tenant, [f"harbour crane {n}", f"harbour {n} quay"])
    before = await kept(services, tenant)
    async with services.database.tenant(tenant) as unit:
        assert await pending_changes(unit) == (12, 22)
        await compact(unit)
    async with services.database.tenant(tenant) as unit:
        assert await pending_changes(unit) == (1, 0)
    assert await kept(services, tenant) == before == await recounted(services, tenant)


async def test_a_large_vocabulary_is_compacted_before_the_first_analyze(
    services: Services, member: Any
) -> None:
    """40,000 changes of 20,000 lexemes in a table that the planner knows nothing of; quadratic work would time out."""
    tenant = Tenant(member.team_id, member.profile_id)
    insert = sa.text(
        "INSERT INTO lexeme_statistics (team_id, profile_id, kind, lexeme, documents)"
        " SELECT :t, :p, 1, 'w' || n % 20000, 1 FROM generate_series(1, 40000) AS n"
    )
    async with services.database.tenant(tenant) as unit:
        await unit.execute(insert, {"t": tenant.team_id, "p": tenant.profile_id})
    async with services.database.tenant(tenant) as unit:
        await compact(unit)
    frequencies, rows = await kept_lexemes(services, tenant)
    assert (frequencies, rows) == ({f"w{n}": 2 for n in range(20_000)}, 20_000)


async def test_maintenance_is_asked_for_after_many_writes_and_puts_the_index_in_order(
    services: Services, member: Any
) -> None:
    tenant = Tenant(member.team_id, member.profile_id)
    for n in range(201):
        await write(services, tenant, [f"harbour {n}"])
    await services.jobs.app.run_worker_async(wait=False, install_signal_handlers=False)
    async with services.database.tenant(tenant) as unit:
        changes, _ = await pending_changes(unit)
    assert changes < 10
    assert await kept(services, tenant) == await recounted(services, tenant)


async def test_a_large_profile_is_erased_in_parts_and_wholly(services: Services, member: Any) -> None:
    tenant = Tenant(member.team_id, member.profile_id)
    for n in range(5):
        await write(services, tenant, [f"harbour {n} {k}" for k in range(500)])
    await services.tenancy.delete_profile(SYSTEM, tenant)
    assert await recounted(services, tenant) == (Counter(), (0, 0, 0, 0))
    assert await kept_lexemes(services, tenant) == (Counter(), 0)
