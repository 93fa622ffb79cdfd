"""Statements that keep the index: documents, statistics, vectors, all in the transaction of the memory itself."""

from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec
import sqlalchemy as sa
from pgvector import HalfVector
from sqlalchemy.dialects import postgresql as pg

from app.db.unit_of_work import Statement, UnitOfWork
from app.indexing.entries import CollectionTotals, IndexEntry
from app.indexing.models import (
    CollectionStatistic,
    Kind,
    LexemeStatistic,
    SearchDocument,
    Vector,
    VectorPlacement,
)
from app.lexical.tsvector import PREFIX_LENGTH, space_prefix, tsvector_literal

# jsonb_to_recordset takes a whole batch as one parameter; row-level security rules COPY out.
_INSERT_DOCUMENTS = sa.text(
    """
    INSERT INTO search_documents (team_id, id, profile_id, kind, lexemes, length, fingerprint, source_type,
                                  labels, valid_from, valid_to, recorded_at, recorded_to)
    SELECT :team, r.id, :profile, r.kind, r.lexemes::tsvector, r.length, decode(r.fingerprint, 'base64'),
           r.source_type, r.labels, r.valid_from, r.valid_to, r.recorded_at, r.recorded_to
    FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (
        id uuid, kind smallint, lexemes text, length integer, fingerprint text, source_type text, labels text[],
        valid_from timestamptz, valid_to timestamptz, recorded_at timestamptz, recorded_to timestamptz)
    """
)
# In the driver's own form: %b sends the vectors in binary, which neither side has to print or parse.
_INSERT_VECTORS = """
    INSERT INTO vectors (team_id, profile_id, kind, ref_id, window_index, space_id, graph, embedding)
    SELECT %(team)s, %(profile)s, v.kind, v.ref_id, v.window_index, %(space)s, 0, v.embedding
    FROM unnest(%(kinds)s::smallint[], %(refs)s::uuid[], %(windows)s::smallint[], %(embeddings)b::halfvec[])
         AS v (kind, ref_id, window_index, embedding)
"""
_INSERT_LEXEMES = sa.text(
    """
    INSERT INTO lexeme_statistics (team_id, profile_id, kind, lexeme, documents)
    SELECT :team, :profile, :kind, s.lexeme, s.documents FROM unnest(:lexemes, :counts) AS s (lexeme, documents)
    """
).bindparams(
    sa.bindparam("lexemes", type_=pg.ARRAY(sa.Text)), sa.bindparam("counts", type_=pg.ARRAY(sa.Integer))
)

_SET_FINGERPRINTS = sa.text(
    """
    UPDATE search_documents d SET fingerprint = m.fingerprint
    FROM unnest(:ids, :fingerprints) AS m (id, fingerprint) WHERE d.team_id = :team AND d.id = m.id
    """
).bindparams(
    sa.bindparam("ids", type_=pg.ARRAY(pg.UUID(as_uuid=True))),
    sa.bindparam("fingerprints", type_=pg.ARRAY(sa.LargeBinary)),
)


async def insert_entries(unit: UnitOfWork, entries: Sequence[IndexEntry], space_id: int) -> None:
    """Add entries to documents, vectors and statistics."""
    tenant = {"team": unit.tenant.team_id, "profile": unit.tenant.profile}
    prefix = space_prefix(unit.tenant.profile)
    rows = [
        {
            "id": entry.id,
            "kind": entry.kind,
            "lexemes": tsvector_literal(entry.document, prefix),
            "length": entry.document.length,
            "fingerprint": entry.fingerprint,
            "source_type": entry.source_type,
            "labels": entry.labels,
            "valid_from": entry.valid_from,
            "valid_to": entry.valid_to,
            "recorded_at": entry.recorded_at,
            "recorded_to": entry.recorded_to,
        }
        for entry in entries
    ]
    await unit.execute(_INSERT_DOCUMENTS, {**tenant, "rows": msgspec.json.encode(rows).decode()})
    windows = [(entry, index) for entry in entries for index in range(len(entry.vectors))]
    await unit.execute_in_driver(
        Statement(
            _INSERT_VECTORS,
            {
                **tenant,
                "space": space_id,
                "kinds": [int(entry.kind) for entry, _ in windows],
                "refs": [entry.id for entry, _ in windows],
                "windows": [index for _, index in windows],
                "embeddings": [HalfVector(entry.vectors[index]) for entry, index in windows],
            },
        )
    )
    for kind in sorted({entry.kind for entry in entries}):
        chosen = [entry for entry in entries if entry.kind is kind]
        frequencies = Counter(lexeme for entry in chosen for lexeme in entry.document.lexemes)
        lengths = [entry.document.length for entry in chosen]
        totals = CollectionTotals(
            len(chosen),
            sum(lengths),
            sum(n * n for n in lengths),
            sum(len(entry.vectors) for entry in chosen),
        )
        await _add_statistics(unit, kind, frequencies, totals)


async def delete_entries(unit: UnitOfWork, ids: Sequence[UUID]) -> None:
    """Take memories out of documents, vectors and statistics; ids that are not indexed are passed over."""
    deleted = await unit.execute(
        sa.delete(SearchDocument)
        .where(SearchDocument.team_id == unit.tenant.team_id, SearchDocument.id.in_(ids))
        .returning(
            SearchDocument.id,
            SearchDocument.kind,
            SearchDocument.length,
            sa.func.tsvector_to_array(SearchDocument.lexemes, type_=pg.ARRAY(sa.Text)).label("lexemes"),
        )
    )
    rows = deleted.all()
    for kind in sorted({row.kind for row in rows}):
        chosen = [row for row in rows if row.kind == kind]
        removed = await unit.execute(
            sa.delete(Vector).where(
                Vector.team_id == unit.tenant.team_id,
                Vector.profile_id == unit.tenant.profile,
                Vector.kind == kind,
                Vector.ref_id.in_([row.id for row in chosen]),
            )
        )
        frequencies = Counter(lexeme[PREFIX_LENGTH:] for row in chosen for lexeme in row.lexemes)
        totals = CollectionTotals(
            -len(chosen),
            -sum(row.length for row in chosen),
            -sum(row.length**2 for row in chosen),
            -removed.rowcount,
        )
        await _add_statistics(unit, Kind(kind), Counter({t: -n for t, n in frequencies.items()}), totals)


async def _add_statistics(
    unit: UnitOfWork, kind: Kind, frequencies: Counter[str], totals: CollectionTotals
) -> None:
    tenant = {"team": unit.tenant.team_id, "profile": unit.tenant.profile}
    if frequencies:
        lexemes = sorted(frequencies)
        counts = [frequencies[lexeme] for lexeme in lexemes]
        await unit.execute(
            _INSERT_LEXEMES, {**tenant, "kind": int(kind), "lexemes": lexemes, "counts": counts}
        )
    await unit.execute(
        sa.insert(CollectionStatistic).values(
            team_id=unit.tenant.team_id,
            profile_id=unit.tenant.profile,
            kind=int(kind),
            documents=totals.documents,
            tokens=totals.tokens,
            tokens_squared=totals.tokens_squared,
            vectors=totals.vectors,
        )
    )


async def erase_some(unit: UnitOfWork, limit: int) -> int:
    """Delete up to ``limit`` search documents of the unit's profile with their vectors; statistics are left behind."""
    chosen = (
        sa.select(SearchDocument.id)
        .where(
            SearchDocument.team_id == unit.tenant.team_id, SearchDocument.profile_id == unit.tenant.profile
        )
        .limit(limit)
    )
    deleted = await unit.execute(
        sa.delete(SearchDocument)
        .where(SearchDocument.team_id == unit.tenant.team_id, SearchDocument.id.in_(chosen))
        .returning(SearchDocument.id)
    )
    ids = deleted.scalars().all()
    await unit.execute(
        sa.delete(Vector).where(
            Vector.team_id == unit.tenant.team_id,
            Vector.profile_id == unit.tenant.profile,
            Vector.kind.in_(list(Kind)),
            Vector.ref_id.in_(ids),
        )
    )
    return len(ids)


async def forget_profile(unit: UnitOfWork) -> None:
    """Delete everything that is derived from the unit's profile."""
    for table in (SearchDocument, Vector, LexemeStatistic, CollectionStatistic, VectorPlacement):
        await unit.execute(
            sa.delete(table).where(
                table.team_id == unit.tenant.team_id, table.profile_id == unit.tenant.profile
            )
        )


async def stale_fingerprints(
    unit: UnitOfWork, kind: Kind, version: int, after: UUID | None, limit: int
) -> list[UUID]:
    """Memories of a kind, by id, whose fingerprint other rules made or that have none."""
    found = await unit.execute(
        sa.select(SearchDocument.id)
        .where(
            SearchDocument.team_id == unit.tenant.team_id,
            SearchDocument.profile_id == unit.tenant.profile,
            SearchDocument.kind == kind,
            *([] if after is None else [SearchDocument.id > after]),
            sa.func.get_byte(SearchDocument.fingerprint, 0).is_distinct_from(version),
        )
        .order_by(SearchDocument.id)
        .limit(limit)
    )
    return list(found.scalars())


async def set_fingerprints(unit: UnitOfWork, made: Mapping[UUID, bytes]) -> None:
    """Store fingerprints that were made anew."""
    await unit.execute(
        _SET_FINGERPRINTS,
        {"team": unit.tenant.team_id, "ids": list(made), "fingerprints": list(made.values())},
    )


async def read_placement(unit: UnitOfWork, space_id: int) -> int | None:
    """HNSW graph that the profile's vectors are moved to; ``None`` when it is searched exactly."""
    statement = sa.select(VectorPlacement.graph).where(
        VectorPlacement.team_id == unit.tenant.team_id,
        VectorPlacement.profile_id == unit.tenant.profile,
        VectorPlacement.space_id == space_id,
    )
    return (await unit.execute(statement)).scalar_one_or_none()
