"""The SQL of recall's branches. Every statement names its tenant; row-level security checks it again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from pgvector import HalfVector
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects import postgresql as pg

from app.db.unit_of_work import UnitOfWork
from app.indexing.entries import CollectionTotals
from app.indexing.models import CollectionStatistic, Kind, LexemeStatistic, SearchDocument, Vector, VectorPlacement
from app.lexical.tsvector import prefixed, quoted, space_prefix


@dataclass(frozen=True, slots=True)
class Filters:
    """What a search is narrowed to, inside the search."""

    valid_at: datetime | None = None
    known_at: datetime | None = None
    source_types: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None

    @property
    def any(self) -> bool:
        """Whether anything is narrowed."""
        return any(getattr(self, name) is not None for name in self.__slots__)


@dataclass(frozen=True, slots=True)
class KeywordHit:
    """One keyword candidate: score and how often it holds each scored term."""

    id: UUID
    score: float
    frequencies: tuple[int, ...]


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


_TEXTS: Final = pg.ARRAY(sa.Text)
_KEYWORD_SEARCH: Final = sa.text(
    """
    SELECT id, score, frequencies FROM keyword_search(
        CAST(:kind AS smallint), CAST(:selection AS tsquery), CAST(:ids AS uuid[]), CAST(:terms AS tsquery[]), :weights,
        :k1, :b, :average_length, CAST(:valid_at AS timestamptz), CAST(:known_at AS timestamptz),
        CAST(:source_types AS text[]), CAST(:labels AS text[]), :depth)
    """
).bindparams(
    sa.bindparam("ids", type_=pg.ARRAY(pg.UUID(as_uuid=True))),
    sa.bindparam("terms", type_=_TEXTS),
    sa.bindparam("weights", type_=pg.ARRAY(sa.Double)),
    sa.bindparam("source_types", type_=_TEXTS),
    sa.bindparam("labels", type_=_TEXTS),
)


async def read_totals(unit: UnitOfWork, kind: Kind) -> CollectionTotals:
    """Totals of the unit's profile."""
    table = CollectionStatistic
    columns = (table.documents, table.tokens, table.tokens_squared, table.vectors)
    statement = sa.select(*(sa.func.coalesce(sa.func.sum(column), 0) for column in columns)).where(
        table.team_id == unit.tenant.team_id, table.profile_id == unit.tenant.profile, table.kind == int(kind)
    )
    return CollectionTotals(*(int(value) for value in (await unit.execute(statement)).one()))


async def read_frequencies(unit: UnitOfWork, kind: Kind, terms: Sequence[str]) -> dict[str, int]:
    """Document frequency of each term that the unit's profile holds."""
    table = LexemeStatistic
    statement = (
        sa.select(table.lexeme, sa.func.sum(table.documents))
        .where(
            table.team_id == unit.tenant.team_id,
            table.profile_id == unit.tenant.profile,
            table.kind == int(kind),
            table.lexeme == sa.any_(sa.bindparam("terms", list(terms), _TEXTS)),
        )
        .group_by(table.lexeme)
    )
    return {lexeme: int(documents) for lexeme, documents in await unit.execute(statement)}


async def keyword_search(
    unit: UnitOfWork, query: KeywordQuery, selecting: Sequence[str], depth: int, *, all_of: bool = False
) -> list[KeywordHit]:
    """Best ``depth`` documents that hold any (or all) of the ``selecting`` terms, by score, then id."""
    prefix = space_prefix(unit.tenant.profile)
    operator = " & " if all_of else " | "
    selection = operator.join(quoted(term) for term in prefixed(selecting, prefix))
    return await _keyword_hits(unit, query, depth, selection=selection, ids=None)


async def keyword_scores(unit: UnitOfWork, query: KeywordQuery, ids: Sequence[UUID]) -> list[KeywordHit]:
    """Scores of given documents under a query; documents that hold none of its terms are left out."""
    return await _keyword_hits(unit, query, len(ids), selection=None, ids=list(ids))


async def _keyword_hits(
    unit: UnitOfWork, query: KeywordQuery, depth: int, *, selection: str | None, ids: list[UUID] | None
) -> list[KeywordHit]:
    prefix = space_prefix(unit.tenant.profile)
    parameters: Mapping[str, Any] = {
        "kind": int(query.kind),
        "selection": selection,
        "ids": ids,
        "terms": [quoted(term) for term in prefixed(query.terms, prefix)],
        "weights": list(query.weights),
        "k1": query.k1,
        "b": query.b,
        "average_length": query.average_length,
        "valid_at": query.filters.valid_at,
        "known_at": query.filters.known_at,
        "source_types": None if query.filters.source_types is None else list(query.filters.source_types),
        "labels": None if query.filters.labels is None else list(query.filters.labels),
        "depth": depth,
    }
    rows = await unit.execute(_KEYWORD_SEARCH, dict(parameters))
    return [KeywordHit(row.id, row.score, tuple(row.frequencies)) for row in rows]


@dataclass(frozen=True, slots=True)
class SemanticQuery:
    """A question's vector in an embedding space."""

    vector: npt.NDArray[np.float32]
    space_id: int
    kind: Kind = Kind.FRAGMENT
    filters: Filters = field(default_factory=Filters)


async def read_graph(unit: UnitOfWork, space_id: int) -> int:
    """HNSW graph that the profile's vectors are in; 0 for none."""
    statement = sa.select(VectorPlacement.graph).where(
        VectorPlacement.team_id == unit.tenant.team_id,
        VectorPlacement.profile_id == unit.tenant.profile,
        VectorPlacement.space_id == space_id,
    )
    return (await unit.execute(statement)).scalar_one_or_none() or 0


async def exact_search(
    unit: UnitOfWork, query: SemanticQuery, depth: int, *, graphs: Sequence[int] = (0,)
) -> list[tuple[UUID, float]]:
    """Nearest ``depth`` memories by cosine similarity, comparing every vector; ties by id.

    Windows of one memory count once, with the nearest.
    """
    distance = Vector.embedding.op("<=>", return_type=sa.Double)(_vector(query))
    nearest = sa.func.min(distance)
    statement = (
        sa.select(Vector.ref_id, (1 - nearest).label("similarity"))
        .where(*_mine(unit, query), Vector.graph.in_(graphs))
        .group_by(Vector.ref_id)
        .order_by(nearest, Vector.ref_id)
        .limit(depth)
    )
    return [(row.ref_id, row.similarity) for row in await unit.execute(_narrowed(unit, statement, query))]


async def similarities(
    unit: UnitOfWork, query: SemanticQuery, ids: Sequence[UUID]
) -> dict[UUID, float]:
    """Cosine similarity of given memories to a question."""
    distance = Vector.embedding.op("<=>", return_type=sa.Double)(_vector(query))
    statement = (
        sa.select(Vector.ref_id, (1 - sa.func.min(distance)).label("similarity"))
        .where(*_mine(unit, query), Vector.ref_id.in_(ids))
        .group_by(Vector.ref_id)
    )
    return {row.ref_id: row.similarity for row in await unit.execute(statement)}


def _vector(query: SemanticQuery) -> sa.BindParameter[Any]:
    return sa.bindparam("question", HalfVector(query.vector), HALFVEC())


def _mine(unit: UnitOfWork, query: SemanticQuery) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        Vector.team_id == unit.tenant.team_id,
        Vector.profile_id == unit.tenant.profile,
        Vector.kind == int(query.kind),
        Vector.space_id == query.space_id,
    )


def _narrowed(unit: UnitOfWork, statement: sa.Select[Any], query: SemanticQuery) -> sa.Select[Any]:
    filters = query.filters
    if not filters.any:
        return statement
    document = SearchDocument
    conditions: list[sa.ColumnElement[bool]] = [
        document.team_id == unit.tenant.team_id,
        document.id == Vector.ref_id,
    ]
    if filters.valid_at is not None:
        conditions += [
            sa.or_(document.valid_from.is_(None), document.valid_from <= filters.valid_at),
            sa.or_(document.valid_to.is_(None), document.valid_to > filters.valid_at),
        ]
    if filters.known_at is not None:
        conditions += [
            document.recorded_at <= filters.known_at,
            sa.or_(document.recorded_to.is_(None), document.recorded_to > filters.known_at),
        ]
    if filters.source_types is not None:
        conditions.append(document.source_type.in_(filters.source_types))
    if filters.labels is not None:
        conditions.append(document.labels.contains(list(filters.labels)))
    return statement.where(sa.exists().where(*conditions))
