"""The SQL of recall's branches, and its rows. Every statement names its tenant; row-level security checks it again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import numpy as np
import numpy.typing as npt
from pgvector import HalfVector

from app.db.unit_of_work import ReadUnit, Statement
from app.indexing.entries import CollectionTotals
from app.indexing.models import Kind
from app.lexical.tsvector import prefixed, quoted, space_prefix


@dataclass(frozen=True, slots=True)
class Filters:
    """What a search is narrowed to, inside the search."""

    valid_at: datetime | None = None
    known_at: datetime | None = None
    source_types: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None

    @property
    def parameters(self) -> tuple[Any, ...]:
        """Arguments in the order of the search functions."""
        return (
            self.valid_at,
            self.known_at,
            None if self.source_types is None else list(self.source_types),
            None if self.labels is None else list(self.labels),
        )


@dataclass(frozen=True, slots=True)
class KeywordQuery:
    """Terms with their weights, and the length normalisation."""

    terms: tuple[str, ...]
    weights: tuple[float, ...]
    k1: float
    b: float
    average_length: float
    kind: Kind = Kind.FRAGMENT
    filters: Filters = field(default_factory=Filters)


class KeywordHit(NamedTuple):
    """One keyword candidate: score and how often it holds each scored term."""

    id: UUID
    score: float
    frequencies: Sequence[int]


@dataclass(frozen=True, slots=True)
class SemanticQuery:
    """A question's vector in an embedding space."""

    vector: npt.NDArray[np.float32]
    space_id: int
    kind: Kind = Kind.FRAGMENT
    filters: Filters = field(default_factory=Filters)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Nearest memories, and how the question's similarities are spread over the profile.

    Attributes:
        hits: Memory and cosine similarity, nearest first; ties by id. Windows of one memory count once, the nearest.
        mean: Mean similarity, over all memories of a small profile, else over the oldest and the newest.
        deviation: Standard deviation over the same.
        exact: Whether every vector was compared.
        graph: HNSW graph that the profile is placed in, 0 for none.
    """

    hits: tuple[tuple[UUID, float], ...] = ()
    mean: float = 0.0
    deviation: float = 0.0
    exact: bool = True
    graph: int = 0


STATISTICS: Final = """
    SELECT kind, NULL AS lexeme, sum(documents)::bigint AS documents, sum(tokens)::bigint AS tokens,
           sum(tokens_squared)::bigint AS tokens_squared, sum(vectors)::bigint AS vectors
    FROM collection_statistics WHERE team_id = %(team)s AND profile_id = %(profile)s GROUP BY kind
    UNION ALL
    SELECT %(kind)s, lexeme, sum(documents)::bigint, 0, 0, 0
    FROM lexeme_statistics
    WHERE team_id = %(team)s AND profile_id = %(profile)s AND kind = %(kind)s AND lexeme = ANY (%(terms)s)
    GROUP BY lexeme
"""
_KEYWORD_SEARCH: Final = """
    SELECT %s::integer AS part, id, score, frequencies
    FROM keyword_search(%s::smallint, %s::tsquery, %s::text[]::tsquery[], %s::float8[], %s, %s, %s,
                        %s::timestamptz, %s::timestamptz, %s::text[], %s::text[], %s)
"""
SEMANTIC_SEARCH: Final = """
    SELECT id, similarity, mean, deviation, exact, graph
    FROM semantic_search(%s::smallint, %s::smallint, %s::halfvec,
                         %s::timestamptz, %s::timestamptz, %s::text[], %s::text[], %s)
"""


async def read_statistics(
    unit: ReadUnit, kind: Kind, terms: Sequence[str]
) -> tuple[CollectionTotals, dict[str, int], frozenset[Kind]]:
    """Totals of the profile, the document frequency of each of the terms that it holds, and its other kinds."""
    parameters = {
        "team": unit.tenant.team_id,
        "profile": unit.tenant.profile,
        "kind": int(kind),
        "terms": list(terms),
    }
    totals = CollectionTotals(0, 0, 0, 0)
    frequencies: dict[str, int] = {}
    others: set[Kind] = set()
    for other, lexeme, documents, tokens, tokens_squared, vectors in await unit.fetch(
        Statement(STATISTICS, parameters)
    ):
        if lexeme is not None:
            frequencies[lexeme] = int(documents)
        elif other == kind:
            totals = CollectionTotals(documents, tokens, tokens_squared, vectors)
        elif documents:
            others.add(Kind(other))
    return totals, frequencies, frozenset(others)


def keyword_statement(
    profile_id: UUID, query: KeywordQuery, selections: Sequence[Sequence[Sequence[str]]], depth: int
) -> Statement:
    """Best ``depth`` documents of each selection, by score, then id; a selection's hold a term of each of its groups."""
    prefix = space_prefix(profile_id)
    terms = [quoted(term) for term in prefixed(query.terms, prefix)]
    parameters: list[Any] = []
    for part, groups in enumerate(selections):
        selection = " & ".join(
            "(" + " | ".join(quoted(term) for term in prefixed(group, prefix)) + ")" for group in groups
        )
        parameters += [part, int(query.kind), selection, terms, list(query.weights)]
        parameters += [query.k1, query.b, query.average_length, *query.filters.parameters, depth]
    return Statement(" UNION ALL ".join([_KEYWORD_SEARCH] * len(selections)), parameters)


async def keyword_search(
    unit: ReadUnit, query: KeywordQuery, selections: Sequence[Sequence[Sequence[str]]], depth: int
) -> list[tuple[KeywordHit, ...]]:
    """Hits of each selection (`keyword_statement`), all from one snapshot."""
    found: list[list[KeywordHit]] = [[] for _ in selections]
    if selections:
        for part, *hit in await unit.fetch(keyword_statement(unit.tenant.profile, query, selections, depth)):
            found[part].append(KeywordHit._make(hit))
    return [tuple(hits) for hits in found]


async def semantic_search(unit: ReadUnit, query: SemanticQuery, depth: int) -> Neighbours:
    """Nearest ``depth`` memories by cosine similarity; a placed profile through its graph and what waits for it."""
    parameters = (
        int(query.kind),
        query.space_id,
        HalfVector(query.vector),
        *query.filters.parameters,
        depth,
    )
    rows = await unit.fetch(Statement(SEMANTIC_SEARCH, parameters))
    if not rows:
        return Neighbours()
    _, _, mean, deviation, exact, graph = rows[0]
    return Neighbours(tuple((row[0], row[1]) for row in rows), mean, deviation, exact, graph)


async def exact_search(unit: ReadUnit, query: SemanticQuery, depth: int) -> tuple[tuple[UUID, float], ...]:
    """The same by comparing every vector, wherever it is placed: what approximate search is measured against."""
    statement = Statement(
        """
        SELECT ref_id, 1 - min(embedding <=> %(question)s) AS similarity FROM vectors
        WHERE team_id = %(team)s AND profile_id = %(profile)s AND kind = %(kind)s AND space_id = %(space)s
        GROUP BY ref_id ORDER BY similarity DESC, ref_id LIMIT %(depth)s
        """,
        {
            "question": HalfVector(query.vector),
            "team": unit.tenant.team_id,
            "profile": unit.tenant.profile,
            "kind": int(query.kind),
            "space": query.space_id,
            "depth": depth,
        },
    )
    return tuple((row[0], row[1]) for row in await unit.fetch(statement))


async def read_vectors(
    unit: ReadUnit, kind: Kind, space_id: int, ids: Sequence[UUID]
) -> dict[UUID, npt.NDArray[np.float32]]:
    """The windows' vectors of memories, ``float32[windows, dim]`` each; memories without one are left out."""
    statement = Statement(
        "SELECT ref_id, embedding::real[] FROM vectors WHERE team_id = %(team)s AND profile_id = %(profile)s"
        " AND kind = %(kind)s AND space_id = %(space)s AND ref_id = ANY (%(ids)s)",
        {
            "team": unit.tenant.team_id,
            "profile": unit.tenant.profile,
            "kind": int(kind),
            "space": space_id,
            "ids": list(ids),
        },
    )
    windows: dict[UUID, list[list[float]]] = {}
    for ref, embedding in await unit.fetch(statement):
        windows.setdefault(ref, []).append(embedding)
    return {ref: np.array(sorted(vectors), np.float32) for ref, vectors in windows.items()}
