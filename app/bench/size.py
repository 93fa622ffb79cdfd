"""Bytes that a fragment takes, by table and index."""

import psycopg

from app.bench import inside
from app.bench.context import Context
from app.bench.report import Column, Table, Value
from app.bench.stage import Stage
from app.db.urls import libpq_url

# Partitions count for their table, and a partition's indexes by what they are: primary key or HNSW.
_SIZES = """
    WITH RECURSIVE trees AS (
        SELECT c.oid, c.relname AS root FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        UNION ALL
        SELECT i.inhrelid, t.root FROM pg_inherits i JOIN trees t ON t.oid = i.inhparent
    ), parts AS (
        SELECT root, 'rows' AS part, pg_table_size(oid) AS bytes FROM trees
        UNION ALL
        SELECT t.root, CASE WHEN x.indisprimary THEN 'primary key' WHEN a.amname = 'hnsw' THEN 'HNSW' ELSE c.relname END,
               pg_relation_size(c.oid)
        FROM trees t JOIN pg_index x ON x.indrelid = t.oid JOIN pg_class c ON c.oid = x.indexrelid
        JOIN pg_am a ON a.oid = c.relam
    )
    SELECT root, part, sum(bytes)::bigint FROM parts GROUP BY root, part
"""


def run(context: Context) -> list[Table]:
    """One table: what each table and index grew by, divided by the fragments stored."""
    size = context.scale.size_rows
    texts = context.corpus.fragments(size)
    with Stage.of(context.urls, context.directory) as stage:
        inside.analyse(context.urls)
        before = _sizes(context)
        context.say(f"size: storing {size:,} fragments")
        profile = stage.api.create_profile("size")
        stage.api.store(profile, texts)
    inside.settle(context.urls, [profile])
    after = _sizes(context)
    grown = {part: after[part] - before.get(part, 0) for part in after}
    rows: list[dict[str, Value]] = [
        {"table": table, "part": part, "bytes": taken, "per_fragment": taken / size}
        for (table, part), taken in sorted(grown.items(), key=lambda item: (-item[1], item[0]))
        if taken > 0
    ]
    total = sum(taken for taken in grown.values() if taken > 0)
    rows.append({"table": "all", "part": "", "bytes": total, "per_fragment": total / size})
    content = sum(len(text.encode()) for text in texts) / size
    return [
        Table(
            title=f"Size of {size:,} fragments, hash embedder (64 components)",
            columns=[
                Column("table", "table"),
                Column("part", "part"),
                Column("bytes", "bytes"),
                Column("per_fragment", "bytes/fragment", 1),
            ],
            rows=rows,
            note=f"After VACUUM; what was there before is taken off. The texts alone take {content:.0f} bytes each.",
        )
    ]


def _sizes(context: Context) -> dict[tuple[str, str], int]:
    with psycopg.connect(libpq_url(context.urls.owner or context.urls.api)) as connection:
        return {(table, part): taken for table, part, taken in connection.execute(_SIZES)}
