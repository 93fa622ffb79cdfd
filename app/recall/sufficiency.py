"""What an abstention is decided by, taken from what the branches found. Pure functions."""

from app.lexical.analysis import AnalyzedQuery
from app.recall import bm25
from app.recall.abstention import Evidence, coverage
from app.recall.branches import KeywordOutcome
from app.recall.candidates import Pool
from app.recall.repository import KeywordHit, Neighbours

_MIN_DEVIATION = 0.01


def evidence_of(
    question: AnalyzedQuery, keyword: KeywordOutcome, semantic: Neighbours, pool: Pool
) -> Evidence:
    """How far the best memories of both branches answer a question."""
    closeness = prominence = None
    if semantic.hits:
        above = semantic.hits[0][1] - semantic.mean
        closeness = above / max(1 - semantic.mean, _MIN_DEVIATION)
        prominence = above / max(semantic.deviation, _MIN_DEVIATION)
    best_words = keyword.hits[0].id if keyword.hits else None
    best_meaning = pool.members[0] if semantic.hits else None
    leaders = list(keyword.hits[:1])
    if best_meaning is not None and best_meaning.hit is not None:
        leaders.append(best_meaning.hit)
    return Evidence(
        closeness=closeness,
        prominence=prominence,
        coverage=max((_coverage(question, keyword, hit) for hit in leaders), default=0.0),
        agreement=best_meaning is not None and best_words == best_meaning.id,
    )


def _coverage(question: AnalyzedQuery, keyword: KeywordOutcome, hit: KeywordHit) -> float:
    """Share of the question's tokens, by weight, of which a memory holds a form."""
    weights = {weight.term: weight.weight for weight in keyword.weights}
    held_terms = {
        weight.term for weight, count in zip(keyword.weights, hit.frequencies, strict=True) if count
    }
    asked = [group for group in question.groups if not question.asking.issuperset(group)]
    known, held, unknown = [], [], 0
    for group in asked or question.groups:
        weight = max((weights[term] for term in group if term in weights), default=None)
        if weight is None:
            unknown += 1
            continue
        known.append(weight)
        if held_terms.intersection(group):
            held.append(weight)
    rarest = bm25.idf(max(keyword.totals.documents, 1), 1)
    return coverage(held, known, unknown, rarest)
