"""The branches of a recall: each takes its own unit of work, for as long as its statements run and no longer."""

from dataclasses import dataclass

from app.db.unit_of_work import Database, Tenant, UnitOfWork
from app.indexing.entries import CollectionTotals
from app.indexing.models import Kind
from app.indexing.repository import read_placement
from app.lexical.analysis import AnalyzedQuery
from app.recall import bm25, repository
from app.recall.policy import RankingPolicy
from app.recall.repository import Filters, KeywordHit, KeywordQuery, Neighbours, SemanticQuery


@dataclass(frozen=True, slots=True)
class KeywordOutcome:
    """What the keyword branch found and how.

    Attributes:
        hits: Candidates by score.
        identified: Candidates that hold an identifier of the query.
        weights: Scored terms, rarest first; aligned with each hit's frequencies.
        exact: Whether the best ten are proven to be those of an exhaustive search.
    """

    hits: tuple[KeywordHit, ...]
    identified: tuple[KeywordHit, ...]
    weights: tuple[bm25.TermWeight, ...]
    totals: CollectionTotals
    selection: bm25.Selection
    exact: bool
    query: KeywordQuery | None = None


@dataclass(frozen=True, slots=True)
class SemanticOutcome:
    """What the semantic branch found: the nearest memories, and whether every vector was compared."""

    neighbours: Neighbours
    exact: bool
    graph: int = 0


async def keyword_branch(
    database: Database,
    tenant: Tenant,
    question: AnalyzedQuery,
    policy: RankingPolicy,
    *,
    depth: int,
    filters: Filters,
    kind: Kind = Kind.FRAGMENT,
) -> KeywordOutcome:
    """BM25 candidates; the ranking among the best ten is exhaustive whenever the bounds allow it."""
    counts = dict(zip(question.terms, question.counts, strict=True))
    if policy.drop_question_words:
        counts = bm25.asked_counts(counts, question.asking)
    identifiers = [term for term in question.identifiers if policy.identifier_branch]
    wanted = list(dict.fromkeys([*counts, *identifiers]))
    async with database.tenant(tenant) as unit:
        totals = await repository.read_totals(unit, kind)
        frequencies = await repository.read_frequencies(unit, kind, wanted) if wanted else {}
        weights = bm25.weigh(counts, frequencies, totals.documents, policy.caps)
        query = KeywordQuery(
            terms=tuple(weight.term for weight in weights),
            weights=tuple(weight.weight for weight in weights),
            k1=policy.k1,
            b=bm25.length_normalisation(totals.average_length) if policy.adaptive_b else policy.b,
            average_length=totals.average_length,
            kind=kind,
            filters=filters,
        )
        selection = bm25.select(weights, policy.caps.first, policy.caps)
        hits: list[KeywordHit] = []
        exact = selection.mode == "any"
        if selection.mode != "none":
            hits = await _search(unit, query, selection, depth)
            scores = [hit.score for hit in hits]
            exact = exact and bm25.is_exact(scores, selection.bound, bm25.EXACT_DEPTH)
            wider = bm25.select(weights, policy.caps.most, policy.caps)
            if selection.mode == "any" and not exact and len(wider.terms) > len(selection.terms):
                selection = wider
                hits = await _search(unit, query, selection, depth)
                exact = bm25.is_exact([hit.score for hit in hits], selection.bound, bm25.EXACT_DEPTH)
        held = [term for term in identifiers if 0 < frequencies.get(term, 0) <= policy.caps.first]
        identified: list[KeywordHit] = []
        if held and weights:
            identified = await repository.keyword_search(unit, query, held, depth)
    return KeywordOutcome(
        tuple(hits), tuple(identified), weights, totals, selection, exact, query if weights else None
    )


async def _search(
    unit: UnitOfWork, query: KeywordQuery, selection: bm25.Selection, depth: int
) -> list[KeywordHit]:
    return await repository.keyword_search(
        unit, query, selection.terms, depth, all_of=selection.mode == "all"
    )


async def semantic_branch(
    database: Database, tenant: Tenant, query: SemanticQuery, *, depth: int
) -> SemanticOutcome:
    """Nearest memories by cosine similarity: exact for a small profile, through its HNSW graph for a large one.

    A graph that returns fewer memories than were asked for, as under a narrow filter, is not believed: every vector is
    compared instead, so that nothing that exists is missing.
    """
    async with database.tenant(tenant) as unit:
        graph = await read_placement(unit, query.space_id)
        if graph is None:
            return SemanticOutcome(await repository.exact_search(unit, query, depth), exact=True)
        found = await repository.graph_search(unit, query, depth, graph=graph, dimension=len(query.vector))
        if len(found.hits) < depth:
            found = await repository.exact_search(unit, query, depth, graphs=(0, graph))
            return SemanticOutcome(found, exact=True, graph=graph)
    return SemanticOutcome(found, exact=False, graph=graph)
