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
from app.indexing.models import (
    CollectionStatistic,
    Kind,
    LexemeStatistic,
    SearchDocument,
    Vector,
    VectorPlacement,
)
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
        CAST(:kind AS smallint), CAST(:selection AS tsquery), CAST(:terms AS tsquery[]), :weights,
        :k1, :b, :average_length, CAST(:valid_at AS timestamptz), CAST(:known_at AS timestamptz),
        CAST(:source_types AS text[]), CAST(:labels AS text[]), :depth)
    """
).bindparams(
    sa.bindparam("terms", type_=_TEXTS),
    sa.bindparam("weights", type_=pg.ARRAY(sa.Double)),
    sa.bindparam("source_types", type_=_TEXTS),
    sa.bindparam("labels", type_=_TEXTS),
)


async def read_totals(unit: UnitOfWork, kind: Kind) -> CollectionTotals:
    """Totals of the unit's profile."""
    table = CollectionStatistic
    columns = {name: getattr(table, name) for name in CollectionTotals.__slots__}
    statement = sa.select(
        *(sa.func.coalesce(sa.func.sum(column), 0).label(name) for name, column in columns.items())
    ).where(
        table.team_id == unit.tenant.team_id, table.profile_id == unit.tenant.profile, table.kind == int(kind)
    )
    row = (await unit.execute(statement)).one()
    return CollectionTotals(**{name: int(getattr(row, name)) for name in columns})


async def read_frequencies(unit: UnitOfWork, kind: Kind, terms: Sequence[str]) -> dict[str, int]:
    """Document frequency of each term that the unit's profile holds."""
    table = LexemeStatistic
    statement = (
        sa.select(table.lexeme, sa.func.sum(table.documents).label("frequency"))
        .where(
            table.team_id == unit.tenant.team_id,
            table.profile_id == unit.tenant.profile,
            table.kind == int(kind),
            table.lexeme == sa.any_(sa.bindparam("terms", list(terms), _TEXTS)),
        )
        .group_by(table.lexeme)
    )
    return {row.lexeme: int(row.frequency) for row in await unit.execute(statement)}


async def keyword_search(
    unit: UnitOfWork, query: KeywordQuery, selecting: Sequence[str], depth: int, *, all_of: bool = False
) -> list[KeywordHit]:
    """Best ``depth`` documents that hold any (or all) of the ``selecting`` terms, by score, then id."""
    prefix = space_prefix(unit.tenant.profile)
    operator = " & " if all_of else " | "
    selection = operator.join(quoted(term) for term in prefixed(selecting, prefix))
    parameters: Mapping[str, Any] = {
        "kind": int(query.kind),
        "selection": selection,
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


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Nearest memories, and how the question's similarities are spread over the memories that were compared.

    Attributes:
        hits: Memory and cosine similarity, nearest first; ties by id.
        compared: Number of memories compared.
        mean: Mean similarity over them.
        deviation: Standard deviation over them.
    """

    hits: tuple[tuple[UUID, float], ...]
    compared: int
    mean: float
    deviation: float


# Floating-point sums depend on the order of the rows on disk; nine digits do not.
_DIGITS: Final = 9


async def exact_search(
    unit: UnitOfWork, query: SemanticQuery, depth: int, *, graphs: Sequence[int] = (0,)
) -> Neighbours:
    """Nearest ``depth`` memories by cosine similarity, comparing every vector in ``graphs``.

    Windows of one memory count once, with the nearest.
    """
    distance = Vector.embedding.op("<=>", return_type=sa.Double)(_vector(query))
    compared = _narrowed(
        unit,
        sa.select(Vector.ref_id, sa.func.min(distance).label("distance"))
        .where(*_mine(unit, query), Vector.graph.in_(graphs))
        .group_by(Vector.ref_id),
        query,
    ).cte("compared")
    return await _neighbours(unit, compared, depth)


async def _neighbours(unit: UnitOfWork, compared: sa.CTE, depth: int) -> Neighbours:
    nearest = (
        sa.select(compared.c.ref_id, compared.c.distance)
        .order_by(compared.c.distance, compared.c.ref_id)
        .limit(depth)
        .subquery("nearest")
    )
    spread = sa.select(
        sa.func.count().label("compared"),
        sa.func.avg(compared.c.distance).label("mean"),
        sa.func.stddev_pop(compared.c.distance).label("deviation"),
    ).subquery("spread")
    statement = (
        sa.select(nearest, spread)
        .join_from(nearest, spread, sa.true())
        .order_by(nearest.c.distance, nearest.c.ref_id)
    )
    rows = (await unit.execute(statement)).all()
    if not rows:
        return Neighbours((), 0, 0.0, 0.0)
    return Neighbours(
        tuple((row.ref_id, 1 - row.distance) for row in rows),
        rows[0].compared,
        round(1 - rows[0].mean, _DIGITS),
        round(rows[0].deviation, _DIGITS),
    )


# A search of a graph stops after this many vectors; with fewer hits than wanted, every vector is compared instead.
_GRAPH_SETTINGS: Final = sa.text(
    "SELECT set_config('hnsw.ef_search', :width, true), set_config('hnsw.iterative_scan', 'relaxed_order', true),"
    " set_config('hnsw.max_scan_tuples', '20000', true)"
)
_SAMPLE: Final = 200


async def graph_search(
    unit: UnitOfWork, query: SemanticQuery, depth: int, *, graph: int, dimension: int
) -> Neighbours:
    """Nearest ``depth`` memories through an HNSW graph, and exactly among vectors that are not in it yet.

    The spread of the similarities is taken from the oldest and the newest memories, up to 200 vectors in all.
    """
    await unit.execute(_GRAPH_SETTINGS, {"width": str(min(1_000, max(100, 2 * depth)))})
    indexed = sa.cast(Vector.embedding, HALFVEC(dimension)).op("<=>", return_type=sa.Double)(
        sa.cast(_vector(query), HALFVEC(dimension))
    )
    plain = Vector.embedding.op("<=>", return_type=sa.Double)(_vector(query))
    # Windows of one memory may crowd the list: twice the depth leaves room.
    in_graph = _narrowed(
        unit,
        sa.select(Vector.ref_id, indexed.label("distance")).where(*_mine(unit, query), Vector.graph == graph),
        query,
    )
    near = in_graph.order_by(indexed).limit(2 * depth).cte("near").prefix_with("MATERIALIZED")
    waiting = _narrowed(
        unit,
        sa.select(Vector.ref_id, plain.label("distance")).where(*_mine(unit, query), Vector.graph == 0),
        query,
    )
    both = sa.union_all(sa.select(near), waiting).subquery("both")
    nearest = (
        sa.select(both.c.ref_id, sa.func.min(both.c.distance).label("distance"))
        .group_by(both.c.ref_id)
        .order_by(sa.func.min(both.c.distance), both.c.ref_id)
        .limit(depth)
    )
    hits = (await unit.execute(nearest)).all()
    mean, deviation = await _sampled_spread(unit, query, plain)
    return Neighbours(tuple((row.ref_id, 1 - row.distance) for row in hits), len(hits), mean, deviation)


async def _sampled_spread(
    unit: UnitOfWork, query: SemanticQuery, distance: sa.ColumnElement[float]
) -> tuple[float, float]:
    """Mean and deviation of the question's similarities over a deterministic sample of the profile."""
    ends = [
        sa.select(Vector.ref_id, distance.label("distance"))
        .where(*_mine(unit, query))
        .order_by(order)
        .limit(_SAMPLE // 2)
        .subquery(name)
        for name, order in (("oldest", Vector.ref_id.asc()), ("newest", Vector.ref_id.desc()))
    ]
    sample = sa.union(*(sa.select(end) for end in ends)).subquery("sample")
    best = (
        sa.select(sa.func.min(sample.c.distance).label("distance")).group_by(sample.c.ref_id).subquery("best")
    )
    row = (
        await unit.execute(
            sa.select(
                sa.func.avg(best.c.distance).label("mean"),
                sa.func.stddev_pop(best.c.distance).label("deviation"),
            )
        )
    ).one()
    if row.mean is None:
        return 0.0, 0.0
    return round(1 - row.mean, _DIGITS), round(row.deviation, _DIGITS)


def _vector(query: SemanticQuery) -> sa.BindParameter[Any]:
    return sa.bindparam("question", HalfVector(query.vector), HALFVEC())


def _mine(unit: UnitOfWork, query: SemanticQuery) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        Vector.team_id == unit.tenant.team_id,
        Vector.profile_id == unit.tenant.profile,
        Vector.kind == int(query.kind),
        Vector.space_id == query.space_id,
    )


def _narrowed(
    unit: UnitOfWork, statement: sa.Select[*tuple[Any, ...]], query: SemanticQuery
) -> sa.Select[*tuple[Any, ...]]:
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
