"""Folding the appended statistics into one row a lexeme. Sums do not change, so no reader ever notices."""

import sqlalchemy as sa

from app.db.unit_of_work import UnitOfWork

_CLAIM = sa.text("SELECT pg_try_advisory_xact_lock(hashtextextended('strata.compaction ' || :profile, 0))")
# A nested loop compares every repeated lexeme with every row: that is what the planner takes before the first ANALYZE.
_NO_NESTED_LOOPS = sa.text("SELECT set_config('enable_nestloop', 'off', true)")
# One statement sees one snapshot: what it deletes is what it sums.
_LEXEMES = sa.text(
    """
    WITH repeated AS (
        SELECT kind, lexeme FROM lexeme_statistics
        WHERE team_id = :team AND profile_id = :profile
        GROUP BY kind, lexeme HAVING count(*) > 1 OR sum(documents) = 0),
    folded AS (
        DELETE FROM lexeme_statistics s USING repeated r
        WHERE s.team_id = :team AND s.profile_id = :profile AND s.kind = r.kind AND s.lexeme = r.lexeme
        RETURNING s.kind, s.lexeme, s.documents)
    INSERT INTO lexeme_statistics (team_id, profile_id, kind, lexeme, documents)
    SELECT :team, :profile, kind, lexeme, sum(documents) FROM folded
    GROUP BY kind, lexeme HAVING sum(documents) <> 0
    """
)
_COLLECTIONS = sa.text(
    """
    WITH folded AS (
        DELETE FROM collection_statistics WHERE team_id = :team AND profile_id = :profile
        RETURNING kind, documents, tokens, tokens_squared, vectors)
    INSERT INTO collection_statistics (team_id, profile_id, kind, documents, tokens, tokens_squared, vectors)
    SELECT :team, :profile, kind, sum(documents), sum(tokens), sum(tokens_squared), sum(vectors) FROM folded
    GROUP BY kind
    """
)
_PENDING = sa.text(
    """
    SELECT count(*) AS changes,
           coalesce(sum(documents) FILTER (WHERE id <> first), 0) AS documents
    FROM (SELECT id, documents, min(id) OVER () AS first FROM collection_statistics
          WHERE team_id = :team AND profile_id = :profile) c
    """
)


async def compact(unit: UnitOfWork) -> None:
    """Fold the statistics of the unit's profile; leaves it to another compaction that is at work."""
    tenant = {"team": unit.tenant.team_id, "profile": unit.tenant.profile}
    claimed = await unit.execute(_CLAIM, {"profile": str(unit.tenant.profile)})
    if not claimed.scalar_one():
        return
    await unit.execute(_NO_NESTED_LOOPS)
    await unit.execute(_LEXEMES, tenant)
    await unit.execute(_COLLECTIONS, tenant)


async def pending_changes(unit: UnitOfWork) -> tuple[int, int]:
    """Writes since the last compaction, and the memories that they added."""
    tenant = {"team": unit.tenant.team_id, "profile": unit.tenant.profile}
    row = (await unit.execute(_PENDING, tenant)).one()
    return int(row.changes), int(row.documents)
