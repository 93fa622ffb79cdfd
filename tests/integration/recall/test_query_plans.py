"""Which index each branch uses at 100,000 memories, under row-level security, as the API role. Shapes, not times."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest
from pgvector import HalfVector

from app.lexical.tsvector import space_prefix
from app.memory.repository import RECALLED
from app.recall import repository
from app.recall.repository import Filters, KeywordQuery
from tests.integration.plans import TEAM, Plans

LARGE, SMALL = (
    UUID("019a0000-0000-7000-8000-0000000000aa"),
    UUID("019a0000-0000-7000-8000-0000000000bb"),
)
PLACED = UUID("019a0000-0000-7000-8000-0000000000cc")
ROWS, PLACED_ROWS, SPACE = 100_000, 3_000, 1

DOCUMENTS = """
    INSERT INTO search_documents (team_id, id, profile_id, kind, lexemes, length, source_type)
    SELECT %(team)s, gen_random_uuid(), %(profile)s, 1,
           array_to_tsvector(ARRAY[%(prefix)s || 'common', %(prefix)s || 'w' || n %% 997, %(prefix)s || 'u' || n]),
           3, 'manual'
    FROM generate_series(1, %(rows)s) AS n
"""
STATISTICS = """
    INSERT INTO collection_statistics (team_id, profile_id, kind, documents, tokens, tokens_squared, vectors)
    VALUES (%(team)s, %(profile)s, 1, %(rows)s, 3 * %(rows)s, 9 * %(rows)s, %(rows)s)
"""
VECTORS = """
    INSERT INTO vectors (team_id, profile_id, kind, ref_id, window_index, space_id, graph, embedding)
    SELECT %(team)s, %(profile)s, 1, gen_random_uuid(), 0, 1, %(graph)s,
           (ARRAY(SELECT random() + 0 * n FROM generate_series(1, 64)))::real[]::vector::halfvec
    FROM generate_series(1, %(rows)s) AS n
"""


@pytest.fixture(scope="module")
def plans(module_database: Any) -> Iterator[Plans]:
    """A database with one profile of 100,000 memories, a small one, and one that is placed in a graph."""
    with psycopg.connect(module_database.superuser, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO teams (team_id, name, embedding_space_id) VALUES (%s, 'plans', 1)", (TEAM,)
        )
        for name, profile in (("large", LARGE), ("small", SMALL), ("placed", PLACED)):
            connection.execute(
                "INSERT INTO profiles (team_id, id, name) VALUES (%s, %s, %s)", (TEAM, profile, name)
            )
        for profile, rows in ((LARGE, ROWS), (SMALL, 500)):
            values = {
                "team": TEAM,
                "profile": profile,
                "rows": rows,
                "graph": 0,
                "prefix": space_prefix(profile),
            }
            for statement in (DOCUMENTS, STATISTICS):
                connection.execute(statement, values)
        values = {"team": TEAM, "profile": PLACED, "rows": PLACED_ROWS, "graph": 1}
        connection.execute(VECTORS, values)
        connection.execute(STATISTICS, values)
        for profile, rows in ((SMALL, 500), (LARGE, 20_000)):
            connection.execute(VECTORS, {"team": TEAM, "profile": profile, "rows": rows, "graph": 0})
        connection.execute(
            "INSERT INTO vector_placements (team_id, profile_id, space_id, graph, vectors) VALUES (%s, %s, 1, 1, %s)",
            (TEAM, PLACED, PLACED_ROWS),
        )
        connection.execute(
            "INSERT INTO fragments (team_id, id, profile_id, content, content_hash, source_type, authority,"
            " source_quality, confidentiality, retention, pii)"
            " SELECT %s, gen_random_uuid(), %s, 'note', sha256(n::text::bytea), 'manual', 'unknown', .5, 'internal',"
            " 'long_term', 'none' FROM generate_series(1, 20000) AS n",
            (TEAM, LARGE),
        )
        connection.execute(
            "INSERT INTO lexeme_statistics (team_id, profile_id, kind, lexeme, documents)"
            " SELECT %s, p, 1, 'w' || n, 100 FROM generate_series(1, 20000) AS n, unnest(%s::uuid[]) AS p",
            (TEAM, [LARGE, SMALL]),
        )
        yield Plans(connection)


def keyword(profile: UUID, *groups: list[str]) -> Any:
    terms = tuple(term for group in groups for term in group)
    query = KeywordQuery(terms, tuple(1.0 for _ in terms), k1=1.2, b=0.75, average_length=3.0)
    return repository.keyword_statement(profile, query, [groups], 100)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [(["w7"],), (["common"], ["w7"]), (["w7", "w8", "u9"],)])
def test_the_keyword_branch_reads_gin_and_nothing_else(plans: Plans, groups: tuple[list[str], ...]) -> None:
    plan = plans.of(LARGE, keyword(LARGE, *groups))
    assert "Bitmap Index Scan on search_documents_lexemes_idx" in plan
    assert "Seq Scan" not in plan
    assert "search_documents_profile_idx" not in plan


@pytest.mark.slow
def test_a_small_profile_reads_its_own_index_entries_only(plans: Plans) -> None:
    """The neighbour has 100,000 memories with the same word."""
    plan = plans.of(SMALL, keyword(SMALL, ["common"]))
    [scanned] = re.findall(
        r"Bitmap Index Scan on search_documents_lexemes_idx .*?rows=([\d.]+) loops=1\)", plan
    )
    assert float(scanned) == 500


def semantic(filters: Filters | None = None) -> Any:
    vector = HalfVector(np.full(64, 0.5, dtype=np.float32))
    parameters = (1, SPACE, vector, *(filters or Filters()).parameters, 10)
    return repository.Statement(repository.SEMANTIC_SEARCH, parameters)


@pytest.mark.slow
def test_a_placed_profile_is_searched_through_hnsw(plans: Plans) -> None:
    plan = plans.of(PLACED, semantic())
    assert "Index Scan using vectors_s1_g1_hnsw" in plan
    assert "Seq Scan on vectors" not in plan


@pytest.mark.slow
def test_a_small_profile_is_searched_exactly_through_its_own_key(plans: Plans) -> None:
    plan = plans.of(SMALL, semantic())
    assert "hnsw" not in plan.replace("hnsw.", "")
    assert "vectors_s1_g0_pkey" in plan
    assert not re.search(r"vectors_s1_g[1-9]", plan), "other graphs are pruned"


@pytest.mark.slow
def test_statistics_are_read_through_their_key(plans: Plans) -> None:
    parameters = {"team": TEAM, "profile": LARGE, "kind": 1, "terms": ["w7"]}
    plan = plans.of(LARGE, repository.Statement(repository.STATISTICS, parameters))
    assert "Seq Scan on lexeme_statistics" not in plan


@pytest.mark.slow
def test_contents_are_read_by_primary_key(plans: Plans, module_database: Any) -> None:
    with psycopg.connect(module_database.superuser) as connection:
        ids = [row[0] for row in connection.execute("SELECT id FROM fragments LIMIT 10")]
    plan = plans.of(LARGE, repository.Statement(RECALLED, (TEAM, LARGE, ids)))
    assert re.search(r"(Index Scan using|Bitmap Index Scan on) (fragments_pkey|fragments_listing_idx)", plan)
    assert "Index Scan using search_documents_pkey" in plan
    assert "Rows Removed by Filter" not in plan
