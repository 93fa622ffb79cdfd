"""BM25 over the search documents, through GIN although row-level security is on.

Locks: none that waits; creates new objects only.
"""

from alembic import op

from migrations.security import API_ROLE, SEARCH_ROLE

revision = "0011_keyword_search"
down_revision = "0010_vectors"
branch_labels = None
depends_on = None


# ts_rank of a one-lexeme query is 0.1 / (pi^2 / 6) * (1 + 1/4 + ... + 1/n^2) for n occurrences of weight D, which
# rises strictly with n: its place among these thresholds is the term frequency, read in C without unnesting.
_MOST_POSITIONS = 256
_harmonics = [sum(1.0 / (i * i) for i in range(1, n + 1)) for n in range(1, _MOST_POSITIONS + 1)]
THRESHOLDS = ",".join(repr(round(0.1 * h / 1.64493406685 - 2e-7, 10)) for h in _harmonics)

KEYWORD_SEARCH = f"""
CREATE FUNCTION keyword_search(
    wanted_kind smallint, selection tsquery, terms tsquery[], weights float8[],
    k1 float8, b float8, average_length float8,
    valid_time timestamptz, known_time timestamptz, source_types text[], wanted_labels text[], result_limit integer
)
RETURNS TABLE (id uuid, score float8, frequencies integer[])
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
SET row_security = on
AS $function$
#variable_conflict use_column
DECLARE
    team uuid := nullif(current_setting('strata.team_id', true), '')::uuid;
    profile uuid := nullif(current_setting('strata.profile_id', true), '')::uuid;
    thresholds constant float8[] := '{{{THRESHOLDS}}}';
    rank_columns text;
    rank_names text;
    frequency_list text;
    score_sum text;
BEGIN
    IF team IS NULL OR profile IS NULL OR cardinality(terms) = 0 THEN
        RETURN;
    END IF;
    -- Only the numbers of the terms enter the statement's text; every value is bound.
    SELECT string_agg(format('ts_rank(m.lexemes, $1[%1$s]) AS r%1$s', n), ', ' ORDER BY n),
           string_agg(format('r%s', n), ', ' ORDER BY n),
           string_agg(format('width_bucket(r%s::float8, $2)', n), ', ' ORDER BY n),
           string_agg(
               format('CASE WHEN r%1$s = 0 THEN 0 ELSE $3[%1$s] / (1 + normal / width_bucket(r%1$s::float8, $2)) END', n),
               ' + ' ORDER BY n)
    INTO rank_columns, rank_names, frequency_list, score_sum
    FROM generate_series(1, cardinality(terms)) AS n;
    -- The fences (OFFSET 0) leave GIN the only index for the selection. A tsvector that may be stored out of line is
    -- copied, which fetches it once instead of once a term; short ones lie in the row, and a copy would double the work.
    -- Most candidates hold few of the terms: the frequency is worked out only where there is one.
    RETURN QUERY EXECUTE format(
        'SELECT id, score, ARRAY[%3$s] FROM ('
        '  SELECT id, (%4$s)::float8 AS score, %2$s FROM ('
        '    SELECT id, $8 * (1 - $9 + $9 * length / $10) AS normal, %1$s FROM ('
        '      SELECT c.id, c.length, CASE WHEN pg_column_size(c.lexemes) > 1900 THEN setweight(c.lexemes, ''D'')'
        '                                  ELSE c.lexemes END AS lexemes FROM ('
        '        SELECT s.* FROM public.search_documents s WHERE s.lexemes @@ $7 OFFSET 0) c'
        '      WHERE c.team_id = $4 AND c.profile_id = $5 AND c.kind = $6'
        '        AND ($11 IS NULL OR ((c.valid_from IS NULL OR c.valid_from <= $11)'
        '                             AND (c.valid_to IS NULL OR c.valid_to > $11)))'
        '        AND ($12 IS NULL OR (c.recorded_at <= $12 AND (c.recorded_to IS NULL OR c.recorded_to > $12)))'
        '        AND ($13 IS NULL OR c.source_type = ANY ($13)) AND ($14 IS NULL OR c.labels @> $14)'
        '      OFFSET 0) m OFFSET 0) f ORDER BY score DESC, id LIMIT $15) r'
        ' WHERE score > 0 ORDER BY score DESC, id',
        rank_columns, rank_names, frequency_list, score_sum)
    USING terms, thresholds, weights, team, profile, wanted_kind, selection, k1, b, average_length,
          valid_time, known_time, source_types, wanted_labels, result_limit;
END
$function$
"""
SIGNATURE = (
    "keyword_search(smallint, tsquery, tsquery[], float8[], float8, float8, float8,"
    " timestamptz, timestamptz, text[], text[], integer)"
)


def upgrade() -> None:
    op.execute(KEYWORD_SEARCH)
    op.execute(f"REVOKE ALL ON FUNCTION {SIGNATURE} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {SIGNATURE} TO {API_ROLE}")
    op.execute(f"GRANT SELECT ON search_documents TO {SEARCH_ROLE}")
    # The function must bypass row-level security to use GIN, and so belongs to a role that can do nothing else.
    op.execute(f"GRANT CREATE ON SCHEMA public TO {SEARCH_ROLE}")
    op.execute(f"ALTER FUNCTION {SIGNATURE} OWNER TO {SEARCH_ROLE}")
    op.execute(f"REVOKE CREATE ON SCHEMA public FROM {SEARCH_ROLE}")


def downgrade() -> None:
    op.execute(f"DROP FUNCTION {SIGNATURE}")
    op.execute(f"REVOKE SELECT ON search_documents FROM {SEARCH_ROLE}")
