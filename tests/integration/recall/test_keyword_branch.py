"""BM25 in PostgreSQL: the same digits as the formula, bounded work, no hole in the isolation."""

import math
from collections import Counter
from typing import Any
from uuid import UUID

import numpy as np
import pytest
import sqlalchemy as sa

from app.db.unit_of_work import Tenant
from app.lexical.analysis import Analyzer
from app.lexical.tsvector import quoted, space_prefix
from app.memory.schemas import FragmentInput
from app.recall import branches
from app.recall.bm25 import Caps
from app.recall.policy import DOCUMENTED_V1, STRATA_V1, RankingPolicy
from app.recall.repository import Filters
from app.services import Services
from app.tenancy.audit import SYSTEM

ANALYZER = Analyzer.for_config("english")
VOCABULARY = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(300)]


def zipf_texts(count: int, seed: int = 5) -> list[str]:
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, len(VOCABULARY) + 1)
    chances /= chances.sum()
    return [
        " ".join(rng.choice(VOCABULARY, int(rng.integers(4, 16)), p=chances)) + f" u{n}x"
        for n in range(count)
    ]


async def store(services: Services, tenant: Tenant, contents: list[str], **fields: Any) -> list[UUID]:
    items = [FragmentInput(content=content, **fields) for content in contents]
    prepared = await services.fragments.prepare(tenant, services.space_id, items)
    async with services.database.tenant(tenant) as unit:
        stored = await services.fragments.store(unit, SYSTEM, "english", prepared)
    assert all(item.error is None for item in stored)
    return [item.id for item in stored if item.id is not None]


async def search(
    services: Services, tenant: Tenant, text: str, policy: RankingPolicy = DOCUMENTED_V1, **options: Any
) -> branches.KeywordOutcome:
    return await branches.keyword_branch(
        services.database,
        tenant,
        ANALYZER.query(text),
        policy,
        depth=options.get("depth", 100),
        filters=options.get("filters", Filters()),
    )


def exhaustive(contents: list[str], query: str, k1: float = 1.2, b: float = 0.75) -> dict[int, float]:
    """BM25 by the formula, over every text."""
    documents = [ANALYZER.document(content) for content in contents]
    average = sum(document.length for document in documents) / len(documents)
    frequencies = Counter(term for document in documents for term in document.lexemes)
    asked = ANALYZER.query(query)
    scores: dict[int, float] = {}
    for index, document in enumerate(documents):
        normal = k1 * (1 - b + b * document.length / average)
        score = 0.0
        for term, count in zip(asked.terms, asked.counts, strict=True):
            tf = len(document.lexemes.get(term, []))
            df = frequencies[term]
            score += count * math.log1p((len(documents) - df + 0.5) / (df + 0.5)) * tf / (tf + normal)
        if score > 0:
            scores[index] = score
    return scores


@pytest.fixture
async def tenant(member: Any) -> Tenant:
    return Tenant(member.team_id, member.profile_id)


async def test_scores_are_those_of_the_formula(services: Services, tenant: Tenant) -> None:
    contents = [*zipf_texts(200), "waa " * 40 + "wab", "waa waa"]
    ids = await store(services, tenant, contents)
    query = "waa wab wzz u7x waa wcd"
    expected = exhaustive(contents, query)
    found = await search(services, tenant, query, depth=1_000)
    assert found.exact
    assert len(found.hits) == len(expected)
    for hit in found.hits:
        assert hit.score == pytest.approx(expected[ids.index(hit.id)], rel=1e-12)
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


@pytest.mark.parametrize("query", ["waa wab wac", "waa wbb wck u17x", "wab waf wbz wcc wdd waa"])
async def test_choosing_candidates_by_rarity_keeps_the_best_ten(
    services: Services, tenant: Tenant, query: str
) -> None:
    contents = zipf_texts(600)
    ids = await store(services, tenant, contents)
    capped = RankingPolicy(name="capped", caps=Caps(first=40, work=5_000))
    found = await search(services, tenant, query, capped)
    expected = exhaustive(contents, query)
    best = sorted(expected.values(), reverse=True)[:10]
    assert found.exact
    assert [hit.score for hit in found.hits[:10]] == pytest.approx(best, rel=1e-12)
    assert {ids.index(hit.id) for hit in found.hits} <= expected.keys()


async def test_when_every_word_is_common_memories_with_all_of_them_come(
    services: Services, tenant: Tenant
) -> None:
    contents = zipf_texts(400)
    ids = await store(services, tenant, contents)
    found = await search(
        services, tenant, "waa wab", RankingPolicy(name="capped", caps=Caps(first=10, work=50)), depth=1_000
    )
    assert found.selection.groups == (("wab",), ("waa",))
    assert not found.exact
    holders = {n for n, text in enumerate(contents) if {"waa", "wab"} <= set(text.split())}
    assert {ids.index(hit.id) for hit in found.hits} == holders


async def test_one_word_that_most_memories_hold_makes_the_branch_abstain(
    services: Services, tenant: Tenant
) -> None:
    await store(services, tenant, zipf_texts(400))
    found = await search(services, tenant, "waa", RankingPolicy(name="capped", caps=Caps(first=10, work=50)))
    assert found.hits == ()
    assert "too many" in found.selection.note


@pytest.mark.parametrize(
    "text",
    [
        "the",
        "to be or not to be",
        "(",
        ")",
        ":*",
        "&",
        "!",
        "|",
        "\\",
        "<->",
        "'",
        "''",
        "?!...",
        "%s :x",
        "\u200b a",
    ],
)
async def test_operators_and_stop_words_are_answered(services: Services, tenant: Tenant, text: str) -> None:
    await store(services, tenant, ["a plain sentence about harbours"])
    assert (await search(services, tenant, text)).hits == ()


async def test_lexemes_with_quotes_and_backslashes_are_stored_and_found(
    services: Services, tenant: Tenant
) -> None:
    [quoted, path] = await store(services, tenant, ["it's o'clock \\' ok", "see C:\\temp\\it's\\log.txt"])
    found = await search(services, tenant, "C:\\temp\\it's\\log.txt")
    assert found.hits[0].id == path
    assert quoted in {hit.id for hit in (await search(services, tenant, "o'clock")).hits}


async def test_an_identifier_that_stands_only_in_metadata_is_found(
    services: Services, tenant: Tenant
) -> None:
    await store(services, tenant, zipf_texts(30))
    [wanted] = await store(services, tenant, ["the login page was mended"], metadata={"ticket": "PROJ-123"})
    await store(services, tenant, ["another page was mended"], metadata={"ticket": "PROJ-124"})
    found = await search(services, tenant, "PROJ-123", STRATA_V1)
    assert found.hits[0].id == wanted
    assert [hit.id for hit in found.identified] == [wanted]


async def test_a_memory_with_the_identifier_is_in_the_pool_however_low_it_ranks(
    services: Services, tenant: Tenant
) -> None:
    await store(services, tenant, [f"deploy notes deploy notes deploy {n}" for n in range(150)])
    [wanted] = await store(services, tenant, ["zz " * 200 + "deploy of build 2e4b0cc1"])
    found = await search(services, tenant, "deploy notes 2e4b0cc1", STRATA_V1, depth=5)
    assert wanted in {hit.id for hit in found.identified}


async def test_time_source_type_and_labels_filter_inside_the_search(
    services: Services, tenant: Tenant
) -> None:
    await store(services, tenant, [f"harbour note {n}" for n in range(60)], labels=["noise"])
    [wanted] = await store(
        services,
        tenant,
        ["harbour " + "filler words " * 30],
        labels=["rare", "noise"],
        source_type="document",
    )
    for filters in (Filters(labels=("rare",)), Filters(source_types=("document",))):
        found = await search(services, tenant, "harbour", depth=3, filters=filters)
        assert [hit.id for hit in found.hits] == [wanted]


async def test_without_a_tenant_the_function_returns_nothing(services: Services, tenant: Tenant) -> None:
    await store(services, tenant, ["harbour"])
    statement = sa.text(
        "SELECT count(*) FROM keyword_search(1::smallint, :q ::tsquery, ARRAY[:q ::tsquery], ARRAY[1.0::float8],"
        " 1.2, .75, 5, NULL, NULL, NULL, NULL, 10)"
    )

    attack = {"q": quoted(space_prefix(tenant.profile) + "harbour")}
    async with services.database.readers.connect() as connection:
        assert (await connection.execute(statement, attack)).scalar_one() == 0
    async with services.database.tenant(Tenant(tenant.team_id)) as unit:
        assert (await unit.execute(statement, attack)).scalar_one() == 0
    async with services.database.tenant(tenant) as unit:
        assert (await unit.execute(statement, attack)).scalar_one() == 1


async def test_a_neighbour_with_the_same_words_is_neither_seen_nor_read(
    services: Services, tenant: Tenant, member: Any
) -> None:
    """The index entries of a profile are its own: the search reads as many rows as the profile holds."""
    neighbour = Tenant(member.team_id, member.other_profile_id)
    await store(services, neighbour, [f"harbour crane {n}" for n in range(500)])
    mine = await store(services, tenant, [f"harbour crane {n}" for n in range(7)])
    found = await search(services, tenant, "harbour crane")
    assert {hit.id for hit in found.hits} == set(mine)
    assert found.totals.documents == 7
    assert {weight.documents for weight in found.weights} == {7}

    async with services.database.tenant(tenant) as unit:
        prefix = space_prefix(tenant.profile)
        await unit.execute(sa.text("SET LOCAL enable_seqscan = off"))
        plan = (
            await unit.execute(
                sa.text("SELECT count(*) FROM search_documents WHERE lexemes @@ CAST(:q AS tsquery)"),
                {"q": f"'{prefix}harbour'"},
            )
        ).scalar_one()
    assert plan == 7


async def test_statistics_follow_deletions(services: Services, tenant: Tenant) -> None:
    ids = await store(services, tenant, ["harbour crane", "harbour", "quay"])
    async with services.database.tenant(tenant) as unit:
        await services.fragments.retract(unit, SYSTEM, ids[0])
        await services.fragments.delete(unit, SYSTEM, ids[2])
    found = await search(services, tenant, "harbour crane quay")
    assert found.totals.documents == 1
    assert {(weight.term, weight.documents) for weight in found.weights} == {("harbour", 1)}
    assert [hit.id for hit in found.hits] == [ids[1]]
