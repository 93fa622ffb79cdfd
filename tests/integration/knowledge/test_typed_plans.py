"""Which index each typed read uses at 100,000 facts, under row-level security, as the API role. Shapes, not times."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest
import sqlalchemy as sa
from pgvector import HalfVector
from sqlalchemy.dialects import postgresql

from app.db.unit_of_work import Statement, Tenant
from app.indexing.models import Kind
from app.knowledge import claims_repository, facts_repository
from app.knowledge.facts_repository import READ_ACTIVE, FactPage
from app.knowledge.recalled import READ_VALIDATED
from app.lexical.tsvector import space_prefix
from app.recall import repository
from app.recall.repository import Filters, KeywordQuery
from tests.integration.plans import TEAM, Plans

LARGE, SMALL, PLACED = (UUID(f"019a0000-0000-7000-8000-0000000000{end}") for end in ("a1", "b1", "c1"))
FACTS, FEW, VECTORS = 100_000, 500, 20_000

STATEMENTS = (
    """
    INSERT INTO claims (team_id, id, profile_id, content_hash, subject, predicate, object, subject_key, modality,
        polarity, extract_conf, resolution_conf, source_quality, source_type, confidentiality, retention, pii, status)
    SELECT %(team)s, md5(%(profile)s || 'claim' || n)::uuid, %(profile)s::uuid, sha256((%(profile)s || n)::bytea),
        'subject ' || n %% 5000, 'likes', 'thing ' || n, 'subject ' || n %% 5000, 'assertion', '+', .9, .9, .75,
        'manual', 'internal', 'long_term', 'none',
        (ARRAY['superseded', 'validated', 'disputed'])[1 + (n %% 100 = 0)::int + (n %% 200 = 0)::int]
    FROM generate_series(1, %(facts)s) AS n
    """,
    """
    INSERT INTO claim_evidence (team_id, claim_id, fragment_id, profile_id, authority, verdict)
    SELECT %(team)s, md5(%(profile)s || 'claim' || n)::uuid, gen_random_uuid(), %(profile)s::uuid, 'primary', 'entailed'
    FROM generate_series(1, %(facts)s) AS n
    """,
    """
    INSERT INTO facts (team_id, id, profile_id, subject, predicate, object, polarity, subject_key, kind, slot, status,
        truth_score, extract_conf, source_quality, source_type, confidentiality, retention, pii, promoted_from_claim_id,
        superseded_by)
    SELECT %(team)s, md5(%(profile)s || 'fact' || n)::uuid, %(profile)s::uuid, 'subject ' || n %% 5000, 'likes',
        'thing ' || n, '+', 'subject ' || n %% 5000, 'multi_valued', sha256(n::text::bytea),
        CASE WHEN n %% 10 = 0 THEN 'superseded' ELSE 'active' END, .9, .9, .75, 'manual', 'internal', 'long_term',
        'none', md5(%(profile)s || 'claim' || n)::uuid,
        CASE WHEN n %% 10 = 0 THEN md5(%(profile)s || 'fact' || n - 1)::uuid END
    FROM generate_series(1, %(facts)s) AS n
    """,
    """
    INSERT INTO fact_versions (team_id, fact_id, version, profile_id, reason, status, truth_score, authority_state, recorded_at)
    SELECT team_id, id, 1, profile_id, 'promoted', status, truth_score, authority_state, recorded_at FROM facts
    WHERE profile_id = %(profile)s::uuid
    """,
    """
    INSERT INTO fact_support (team_id, fact_id, claim_id, profile_id)
    SELECT team_id, id, promoted_from_claim_id, profile_id FROM facts WHERE profile_id = %(profile)s::uuid
    """,
    """
    INSERT INTO claim_conflicts (team_id, claim_id, fact_id, profile_id, resolved_at)
    SELECT %(team)s, md5(%(profile)s || 'claim' || n)::uuid, md5(%(profile)s || 'fact' || n - 1)::uuid, %(profile)s::uuid,
        CASE WHEN n %% 200 > 0 THEN now() END
    FROM generate_series(5, %(facts)s, 5) AS n
    """,
    """
    INSERT INTO search_documents (team_id, id, profile_id, kind, lexemes, length, source_type)
    SELECT %(team)s, md5(%(profile)s || 'fact' || n)::uuid, %(profile)s::uuid, 3,
           array_to_tsvector(ARRAY[%(prefix)s || 'common', %(prefix)s || 'w' || n %% 997, %(prefix)s || 'u' || n]),
           3, 'manual'
    FROM generate_series(1, %(facts)s) AS n
    """,
    """
    INSERT INTO vectors (team_id, profile_id, kind, ref_id, window_index, space_id, graph, embedding)
    SELECT %(team)s, %(profile)s::uuid, 3, md5(%(profile)s || 'fact' || n)::uuid, 0, 1, 0,
           (ARRAY(SELECT random() + 0 * n FROM generate_series(1, 64)))::real[]::vector::halfvec
    FROM generate_series(1, %(vectors)s) AS n
    """,
    """
    INSERT INTO collection_statistics (team_id, profile_id, kind, documents, tokens, tokens_squared, vectors)
    VALUES (%(team)s, %(profile)s::uuid, 3, %(facts)s, 3 * %(facts)s, 9 * %(facts)s, %(vectors)s)
    """,
)
STATISTICS = """
    INSERT INTO lexeme_statistics (team_id, profile_id, kind, lexeme, documents)
    SELECT %s, p, k, 'w' || n, 100
    FROM generate_series(1, 10000) AS n, unnest(%s::uuid[]) AS p, generate_series(1, 3) AS k
"""
# What others have beside the large profile: its facts are a third of the vectors that are searched exactly.
CROWD = """
    INSERT INTO vectors (team_id, profile_id, kind, ref_id, window_index, space_id, graph, embedding)
    SELECT team_id, %s, 1, gen_random_uuid(), 0, space_id, 0, embedding FROM vectors, generate_series(1, 2)
    WHERE profile_id = %s
"""
# Fragments and facts in one graph, as a profile that has earned one holds them.
MIXED = """
    INSERT INTO vectors (team_id, profile_id, kind, ref_id, window_index, space_id, graph, embedding)
    SELECT %(team)s, %(profile)s, CASE WHEN n %% 3 = 0 THEN 3 ELSE 1 END, gen_random_uuid(), 0, 1, 1,
           (ARRAY(SELECT random() + 0 * n FROM generate_series(1, 64)))::real[]::vector::halfvec
    FROM generate_series(1, 3000) AS n
"""


@pytest.fixture(scope="module")
def plans(module_database: Any) -> Iterator[Plans]:
    """One profile of 100,000 facts beside a small one, and one whose vectors are placed in a graph."""
    with psycopg.connect(module_database.superuser, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO teams (team_id, name, embedding_space_id) VALUES (%s, 'plans', 1)", (TEAM,)
        )
        for name, profile in (("large", LARGE), ("small", SMALL), ("placed", PLACED)):
            connection.execute(
                "INSERT INTO profiles (team_id, id, name) VALUES (%s, %s, %s)", (TEAM, profile, name)
            )
        for profile, facts, vectors in ((LARGE, FACTS, VECTORS), (SMALL, FEW, FEW)):
            values = {
                "team": TEAM, "profile": str(profile), "facts": facts, "vectors": vectors,
                "prefix": space_prefix(profile),
            }  # fmt: skip
            for statement in STATEMENTS:
                connection.execute(statement, values)
        connection.execute(STATISTICS, (TEAM, [LARGE, SMALL]))
        connection.execute(CROWD, (PLACED, LARGE))
        connection.execute(MIXED, {"team": TEAM, "profile": PLACED})
        connection.execute(
            "INSERT INTO vector_placements (team_id, profile_id, space_id, graph, vectors) VALUES (%s, %s, 1, 1, 3000)",
            (TEAM, PLACED),
        )
        yield Plans(connection)


def some_ids(module_database: Any, table: str, where: str = "true") -> list[UUID]:
    with psycopg.connect(module_database.superuser) as connection:
        found = connection.execute(
            f"SELECT id FROM {table} WHERE profile_id = %s AND {where} LIMIT 100",  # noqa: S608
            (LARGE,),
        )
        return [row[0] for row in found]


class Recorded:
    """A unit of work that tells which statement a repository runs, and runs none."""

    tenant = Tenant(TEAM, LARGE)

    def __init__(self) -> None:
        self.statement = Statement("")

    async def execute(self, statement: sa.Executable, *_: Any) -> Any:
        compiled = statement.compile(
            dialect=postgresql.psycopg.dialect(), compile_kwargs={"render_postcompile": True}
        )
        self.statement = Statement(str(compiled), compiled.params)
        return _Nothing()


class _Nothing:
    def mappings(self) -> "_Nothing":
        return self

    def scalars(self) -> "_Nothing":
        return self

    def all(self) -> list[Any]:
        return []

    def __iter__(self) -> Iterator[Any]:
        return iter(())


async def statement_of(read: Any, *arguments: Any, **options: Any) -> Statement:
    recorded = Recorded()
    await read(recorded, *arguments, **options)
    return recorded.statement


def removed(plan: str) -> int:
    """Rows that an index gave and a filter threw away."""
    return sum(map(int, re.findall(r"Rows Removed by (?:Filter|Index Recheck): (\d+)", plan)))


@pytest.mark.slow
@pytest.mark.parametrize("groups", [(["w7"],), (["common"], ["w7"]), (["w7", "w8", "u9"],)])
def test_facts_are_found_by_words_through_gin(plans: Plans, groups: tuple[list[str], ...]) -> None:
    terms = tuple(term for group in groups for term in group)
    query = KeywordQuery(terms, tuple(1.0 for _ in terms), k1=1.2, b=0.75, average_length=3.0, kind=Kind.FACT)
    plan = plans.of(LARGE, repository.keyword_statement(LARGE, query, [groups], 100))
    assert "Bitmap Index Scan on search_documents_lexemes_idx" in plan
    assert "Seq Scan" not in plan


def semantic() -> Statement:
    vector = HalfVector(np.full(64, 0.5, dtype=np.float32))
    return Statement(repository.SEMANTIC_SEARCH, (int(Kind.FACT), 1, vector, *Filters().parameters, 10))


@pytest.mark.slow
@pytest.mark.parametrize("profile", [LARGE, SMALL], ids=["large", "small"])
def test_facts_are_found_by_meaning_through_their_own_key(plans: Plans, profile: UUID) -> None:
    plan = plans.of(profile, semantic())
    assert "vectors_s1_g0_pkey" in plan
    assert "Seq Scan on vectors" not in plan
    assert not re.search(r"vectors_s1_g[1-9]", plan), "other graphs are pruned"


@pytest.mark.slow
def test_facts_of_a_placed_profile_are_found_through_its_graph(plans: Plans) -> None:
    plan = plans.of(PLACED, semantic())
    assert "Index Scan using vectors_s1_g1_hnsw" in plan
    assert "Seq Scan on vectors" not in plan


@pytest.mark.slow
def test_statistics_of_facts_are_read_through_their_key(plans: Plans) -> None:
    parameters = {"team": TEAM, "profile": LARGE, "kind": int(Kind.FACT), "terms": ["w7"]}
    plan = plans.of(LARGE, Statement(repository.STATISTICS, parameters))
    assert "Seq Scan on lexeme_statistics" not in plan


@pytest.mark.slow
def test_facts_are_hydrated_by_primary_key_with_their_evidence(plans: Plans, module_database: Any) -> None:
    ids = some_ids(module_database, "facts")
    plan = plans.of(LARGE, Statement(READ_ACTIVE, (TEAM, LARGE, ids)))
    assert re.search(r"facts_(pkey|listing_idx)", plan)
    assert "fact_support_pkey" in plan
    assert "claim_evidence_pkey" in plan
    assert "Seq Scan" not in plan
    assert removed(plan) == 0


@pytest.mark.slow
def test_claims_are_hydrated_by_primary_key_with_their_evidence(plans: Plans, module_database: Any) -> None:
    ids = some_ids(module_database, "claims", "status = 'validated'")
    plan = plans.of(LARGE, Statement(READ_VALIDATED, (TEAM, LARGE, ids)))
    assert re.search(r"claims_(pkey|listing_idx)", plan)
    assert "claim_evidence_pkey" in plan
    assert "Seq Scan" not in plan


@pytest.mark.slow
async def test_open_questions_about_facts_are_found_through_the_facts(
    plans: Plans, module_database: Any
) -> None:
    facts = [UUID(int=0), *some_ids(module_database, "facts", "superseded_by IS NULL")]
    with psycopg.connect(module_database.superuser) as connection:
        [disputed] = connection.execute(
            "SELECT fact_id FROM claim_conflicts WHERE profile_id = %s AND resolved_at IS NULL LIMIT 1",
            (LARGE,),
        )
    plan = plans.of(LARGE, await statement_of(claims_repository.disputing, [*facts[:20], disputed[0]], 10))
    assert "claim_conflicts_fact_idx" in plan
    assert "Seq Scan" not in plan


@pytest.mark.slow
async def test_questions_are_listed_through_the_disputed_claims(plans: Plans) -> None:
    listed = await statement_of(
        claims_repository.list_claims,
        status="disputed",
        subject_key=None,
        predicate=None,
        after=None,
        limit=20,
    )
    plan = plans.of(LARGE, listed)
    assert "claims_disputed_idx" in plan
    assert removed(plan) == 0


@pytest.mark.slow
@pytest.mark.parametrize("times", ["valid_at", "known_at"])
async def test_facts_as_of_a_time_read_no_more_than_a_page(plans: Plans, times: str) -> None:
    asked = {"valid_at": None, "known_at": None, times: datetime(2100, 1, 1, tzinfo=UTC)}
    plan = plans.of(LARGE, await statement_of(facts_repository.list_facts_as_of, FactPage(limit=20), **asked))
    assert re.search(r"Index Scan using facts_(listing_idx|pkey)", plan)
    assert "fact_versions_pkey" in plan
    assert "Seq Scan" not in plan
    read = [
        int(float(rows)) for rows in re.findall(r"facts_(?:listing_idx|pkey) .*?rows=([\d.]+) loops", plan)
    ]
    assert max(read) < 100


@pytest.mark.slow
async def test_facts_of_a_statement_are_locked_through_their_own_index(plans: Plans) -> None:
    plan = plans.of(LARGE, await statement_of(facts_repository.lock_standing, "likes", "subject 7"))
    assert re.search(r"facts_(statement_idx|active_key)", plan)
    assert "Seq Scan" not in plan


@pytest.mark.slow
async def test_what_a_fact_has_superseded_is_found_through_an_index(
    plans: Plans, module_database: Any
) -> None:
    with psycopg.connect(module_database.superuser) as connection:
        [successor] = connection.execute(
            "SELECT superseded_by FROM facts WHERE profile_id = %s AND superseded_by IS NOT NULL LIMIT 1",
            (LARGE,),
        )
    plan = plans.of(LARGE, await statement_of(facts_repository.superseded_by, successor[0], 10))
    assert "facts_superseded_by_idx" in plan
    assert "Seq Scan" not in plan
