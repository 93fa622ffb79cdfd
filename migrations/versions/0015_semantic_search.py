"""Nearest memories to a question: exact for small profiles, through HNSW for placed ones, in one snapshot.

Locks: none that waits; creates one function.
"""

from alembic import op

from migrations.security import API_ROLE

revision = "0015_semantic_search"
down_revision = "0014_graph_loads"
branch_labels = None
depends_on = None

# STABLE: the placement and the vectors are read in one snapshot, so a search in the middle of a move misses nothing.
# It runs with the caller's rights: row-level security decides what it sees. Only numbers of the catalogue enter the
# text of a statement; every value is bound.
SEMANTIC_SEARCH = """
CREATE FUNCTION semantic_search(
    wanted_kind smallint, wanted_space smallint, question public.halfvec,
    valid_time timestamptz, known_time timestamptz, source_types text[], wanted_labels text[], result_limit integer
)
RETURNS TABLE (id uuid, similarity float8, mean float8, deviation float8, graph smallint, exact boolean)
LANGUAGE plpgsql STABLE SECURITY INVOKER
SET search_path = pg_catalog, public, pg_temp SET plan_cache_mode = force_custom_plan
AS $function$
#variable_conflict use_column
DECLARE
    team uuid := nullif(current_setting('strata.team_id', true), '')::uuid;
    profile uuid := nullif(current_setting('strata.profile_id', true), '')::uuid;
    placed smallint;
    documents bigint;
    windows bigint;
    sampled bigint;
    filtered boolean := valid_time IS NOT NULL OR known_time IS NOT NULL OR source_types IS NOT NULL
                        OR wanted_labels IS NOT NULL;
    mine text;
    spread record;
    found_ids uuid[];
    found_distances float8[];
BEGIN
    IF team IS NULL OR profile IS NULL THEN
        RETURN;
    END IF;
    SELECT p.graph INTO placed FROM public.vector_placements p
    WHERE p.team_id = team AND p.profile_id = profile AND p.space_id = wanted_space;
    SELECT coalesce(sum(c.documents), 0), coalesce(sum(c.vectors), 0) INTO documents, windows
    FROM public.collection_statistics c
    WHERE c.team_id = team AND c.profile_id = profile AND c.kind = wanted_kind;
    sampled := CASE WHEN documents <= 256 THEN greatest(windows, 256) ELSE ceil(128.0 * windows / documents) END;
    mine := format(
        'v.team_id = $1 AND v.profile_id = $2 AND v.kind = $3 AND v.space_id = %s', wanted_space);
    IF filtered THEN
        mine := mine || ' AND EXISTS (SELECT 1 FROM public.search_documents d'
            ' WHERE d.team_id = v.team_id AND d.id = v.ref_id'
            ' AND ($5 IS NULL OR ((d.valid_from IS NULL OR d.valid_from <= $5) AND (d.valid_to IS NULL OR d.valid_to > $5)))'
            ' AND ($6 IS NULL OR (d.recorded_at <= $6 AND (d.recorded_to IS NULL OR d.recorded_to > $6)))'
            ' AND ($7 IS NULL OR d.source_type = ANY ($7)) AND ($8 IS NULL OR d.labels @> $8))';
    END IF;

    IF placed IS NOT NULL THEN
        -- Four times the limit finds .99 of the nearest hundred of a model's vectors. In the 64 components of the hash
        -- everything is near everything, and no breadth that is worth its time would: there twice the limit has to do.
        PERFORM set_config('hnsw.ef_search', least(1000, greatest(
                    100, result_limit * CASE WHEN public.vector_dims(question) > 128 THEN 4 ELSE 2 END))::text, true),
                set_config('hnsw.iterative_scan', 'relaxed_order', true),
                set_config('hnsw.max_scan_tuples', '20000', true),
                -- Before the first ANALYZE the planner takes a large profile for a small one and sorts it.
                set_config('enable_sort', 'off', true);
        -- Windows of one memory may crowd the list: where there are any, twice the limit leaves room.
        EXECUTE format(
            'WITH near AS MATERIALIZED ('
            '  SELECT v.ref_id, v.embedding::public.halfvec(%1$s) <=> $4::public.halfvec(%1$s) AS distance'
            '  FROM public.vectors v WHERE %2$s AND v.graph = %3$s'
            '  ORDER BY v.embedding::public.halfvec(%1$s) <=> $4::public.halfvec(%1$s) LIMIT %4$s * $9), '
            'waiting AS MATERIALIZED ('
            '  SELECT v.ref_id, v.embedding <=> $4 AS distance FROM public.vectors v WHERE %2$s AND v.graph = 0), '
            'best AS (SELECT ref_id, min(distance) AS distance FROM (TABLE near UNION ALL TABLE waiting) b'
            '         GROUP BY ref_id ORDER BY min(distance), ref_id LIMIT $9) '
            'SELECT array_agg(ref_id ORDER BY distance, ref_id), array_agg(distance ORDER BY distance, ref_id) FROM best',
            public.vector_dims(question), mine, placed, CASE WHEN windows > documents THEN 2 ELSE 1 END)
        INTO found_ids, found_distances
        USING team, profile, wanted_kind, question, valid_time, known_time, source_types, wanted_labels, result_limit;
        PERFORM set_config('enable_sort', 'on', true);
    END IF;

    -- A graph that gives fewer than asked for, as under a narrow filter, is not believed: compare every vector.
    IF placed IS NULL OR coalesce(cardinality(found_ids), 0) < result_limit THEN
        exact := true;
        EXECUTE format(
            'WITH best AS (SELECT ref_id, %1$s AS distance FROM ('
            '    SELECT v.ref_id, v.embedding <=> $4 AS distance FROM public.vectors v'
            '    WHERE %2$s AND v.graph IN (0, %3$s)) b %4$s ORDER BY 2, 1 LIMIT $9) '
            'SELECT array_agg(ref_id ORDER BY distance, ref_id), array_agg(distance ORDER BY distance, ref_id) FROM best',
            CASE WHEN windows > documents THEN 'min(distance)' ELSE 'distance' END, mine, coalesce(placed, 0),
            CASE WHEN windows > documents THEN 'GROUP BY ref_id' ELSE '' END)
        INTO found_ids, found_distances
        USING team, profile, wanted_kind, question, valid_time, known_time, source_types, wanted_labels, result_limit;
    ELSE
        exact := false;
    END IF;

    -- How the question's similarities are spread over the profile: over all memories of a small one, else over the
    -- oldest and the newest 128, by as many windows as that makes on average. A memory counts with its best window:
    -- single windows of long texts lie lower, and made every long text look like a good match.
    EXECUTE format(
        'WITH compared AS ('
        '  (SELECT v.ref_id, v.window_index, v.embedding <=> $4 AS distance FROM public.vectors v'
        '   WHERE %1$s AND v.graph IN (0, %2$s) ORDER BY v.ref_id, v.window_index LIMIT %3$s)'
        '  UNION ALL'
        '  (SELECT v.ref_id, v.window_index, v.embedding <=> $4 AS distance FROM public.vectors v'
        '   WHERE %1$s AND v.graph IN (0, %2$s) ORDER BY v.ref_id DESC, v.window_index DESC LIMIT %4$s)) '
        'SELECT avg(distance) AS mean, stddev_pop(distance) AS deviation'
        ' FROM (SELECT min(distance) AS distance FROM compared GROUP BY ref_id) AS best',
        mine, coalesce(placed, 0), sampled, CASE WHEN documents <= 256 THEN 0 ELSE sampled END)
    INTO spread
    USING team, profile, wanted_kind, question, valid_time, known_time, source_types, wanted_labels, result_limit;

    -- Sums depend on the order of the rows on disk in their last digits; nine digits do not.
    mean := round((1 - spread.mean)::numeric, 9)::float8;
    deviation := round(spread.deviation::numeric, 9)::float8;
    graph := coalesce(placed, 0::smallint);
    RETURN QUERY
        SELECT f.ref_id, 1 - f.distance, mean, deviation, graph, exact
        FROM unnest(found_ids, found_distances) WITH ORDINALITY AS f (ref_id, distance, place) ORDER BY f.place;
END
$function$
"""
SIGNATURE = "semantic_search(smallint, smallint, halfvec, timestamptz, timestamptz, text[], text[], integer)"


def upgrade() -> None:
    op.execute(SEMANTIC_SEARCH)
    op.execute(f"REVOKE ALL ON FUNCTION {SIGNATURE} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {SIGNATURE} TO {API_ROLE}")


def downgrade() -> None:
    op.execute(f"DROP FUNCTION {SIGNATURE}")
