"""The branches of a recall: each takes its own unit of work, for as long as its statements run and no longer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.db.unit_of_work import Database, ReadUnit, Tenant
from app.indexing.entries import CollectionTotals
from app.indexing.models import Kind
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
        documents: How many memories hold each of the query's terms and identifiers; absent means none.
        other_kinds: What other kinds of memories the profile has.
    """

    hits: tuple[KeywordHit, ...]
    identified: tuple[KeywordHit, ...]
    weights: tuple[bm25.TermWeight, ...]
    totals: CollectionTotals
    selection: bm25.Selection
    exact: bool
    documents: Mapping[str, int] = field(default_factory=dict)
    other_kinds: frozenset[Kind] = frozenset()


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
    async with database.reading(tenant) as unit:
        totals, frequencies, kinds = await repository.read_statistics(unit, kind, wanted)
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
        held = [term for term in identifiers if 0 < frequencies.get(term, 0) <= policy.caps.first]
        search = _Search(query, weights, totals, held if weights else [], policy.caps, depth)
        return replace(await _searched(unit, search), documents=frequencies, other_kinds=kinds)


@dataclass(frozen=True, slots=True)
class _Search:
    """One keyword search, weighed and ready to run."""

    query: KeywordQuery
    weights: tuple[bm25.TermWeight, ...]
    totals: CollectionTotals
    identifiers: list[str]
    caps: bm25.Caps
    depth: int

    async def run(self, unit: ReadUnit, *selections: Sequence[Sequence[str]]) -> list[tuple[KeywordHit, ...]]:
        """Hits of each selection: the documents that hold a term of every group."""
        return await repository.keyword_search(unit, self.query, selections, self.depth)


async def _searched(unit: ReadUnit, search: _Search) -> KeywordOutcome:
    """Search the likeliest candidates; then those that could still be among the best ten, if there can be any."""
    weights, total = search.weights, search.totals.documents
    selection = bm25.select_first(weights, total, search.caps)
    wanted: list[Sequence[Sequence[str]]] = [selection.groups] if selection.groups else []
    if search.identifiers:
        wanted.append([search.identifiers])
    found = await search.run(unit, *wanted)
    hits = found[0] if selection.groups else ()
    identified = found[-1] if search.identifiers else ()
    scores = [hit.score for hit in hits]
    exact = bool(selection.groups) and bm25.is_exact(scores, selection.bound, bm25.EXACT_DEPTH)
    if selection.groups and not exact:
        reached = scores[bm25.EXACT_DEPTH - 1] if len(scores) >= bm25.EXACT_DEPTH else 0.0
        rest = bm25.select_rest(weights, total, reached, search.caps)
        if rest is not None:
            [others] = await search.run(unit, rest.groups)
            merged = {hit.id: hit for hit in (*hits, *others)}
            hits = tuple(sorted(merged.values(), key=lambda hit: (-hit.score, hit.id))[: search.depth])
            selection, exact = rest, True
    return KeywordOutcome(hits, identified, weights, search.totals, selection, exact)


async def semantic_branch(
    database: Database, tenant: Tenant, query: SemanticQuery, *, depth: int
) -> Neighbours:
    """Nearest memories by cosine similarity: exact for a small profile, through its HNSW graph for a large one."""
    async with database.reading(tenant) as unit:
        return await repository.semantic_search(unit, query, depth)
