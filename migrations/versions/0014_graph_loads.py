"""How many vectors each HNSW graph of a space holds, over all tenants, as bare totals.

Locks: none that waits; one function and one grant.
"""

from alembic import op

from migrations.security import API_ROLE, SEARCH_ROLE

revision = "0014_graph_loads"
down_revision = "0013_readable_revision"
branch_labels = None
depends_on = None

# A profile that outgrows exact search takes the least loaded graph; the totals name no tenant.
GRAPH_LOADS = """
CREATE FUNCTION graph_loads(wanted_space smallint)
RETURNS TABLE (graph smallint, vectors numeric)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT p.graph, sum(p.vectors) FROM public.vector_placements p WHERE p.space_id = wanted_space GROUP BY p.graph
$function$
"""


def upgrade() -> None:
    op.execute(GRAPH_LOADS)
    op.execute("REVOKE ALL ON FUNCTION graph_loads(smallint) FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION graph_loads(smallint) TO {API_ROLE}")
    op.execute(f"GRANT SELECT ON vector_placements TO {SEARCH_ROLE}")
    op.execute(f"GRANT CREATE ON SCHEMA public TO {SEARCH_ROLE}")
    op.execute(f"ALTER FUNCTION graph_loads(smallint) OWNER TO {SEARCH_ROLE}")
    op.execute(f"REVOKE CREATE ON SCHEMA public FROM {SEARCH_ROLE}")


def downgrade() -> None:
    op.execute("DROP FUNCTION graph_loads(smallint)")
    op.execute(f"REVOKE SELECT ON vector_placements FROM {SEARCH_ROLE}")
