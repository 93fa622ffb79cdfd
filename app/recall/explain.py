"""What a recall did, told for people: how each branch searched and where every candidate came from."""

from typing import Any

from app.lexical.analysis import AnalyzedQuery
from app.recall.abstention import Verdict
from app.recall.branches import KeywordOutcome
from app.recall.ranking import Parsed, Ranking
from app.recall.repository import Neighbours


def describe(
    question: AnalyzedQuery,
    keyword: KeywordOutcome,
    semantic: Neighbours,
    fusion: dict[str, float | str],
    ranked: Ranking,
    *,
    parsed: Parsed,
    verdict: Verdict,
) -> dict[str, Any]:
    """The explanation of one recall; plain JSON values only."""
    return {
        "query": {
            "terms": list(question.terms),
            "identifiers": list(question.identifiers),
            "stop_words": question.stop_words,
            "scripts": {script.value: count for script, count in question.scripts.items()},
        },
        "keyword": {
            "memories": keyword.totals.documents,
            "average_length": keyword.totals.average_length,
            "terms": [
                {"term": weight.term, "memories": weight.documents, "weight": weight.weight}
                for weight in keyword.weights
            ],
            "selected_by": [list(group) for group in keyword.selection.groups],
            "exact": keyword.exact,
            "note": keyword.selection.note,
            "candidates": len(keyword.hits),
        },
        "semantic": {
            "exact": semantic.exact,
            "graph": semantic.graph,
            "mean": semantic.mean,
            "deviation": semantic.deviation,
            "candidates": len(semantic.hits),
        },
        "fusion": fusion,
        "intent": {"asks_for": parsed.intent.names},
        "anchors": {
            "gating": list(parsed.gating),
            "ranking": list(parsed.ranking),
            "unmatched": list(ranked.unmatched),
        },
        "abstention": verdict.explanation,
        "candidates": [
            {
                "id": str(candidate.id),
                "tier": candidate.tier,
                "semantic_rank": candidate.semantic_rank,
                "semantic_score": candidate.semantic_score,
                "keyword_rank": candidate.keyword_rank,
                "keyword_score": candidate.keyword_score,
                "base_score": candidate.base_score,
                "final_score": candidate.final_score,
                "semantic_evidence": candidate.semantic_evidence,
                "keyword_evidence": candidate.keyword_evidence,
                "coverage": candidate.coverage,
                "anchors": list(candidate.anchors),
                "adjustments": [
                    {"rule": note.rule, "amount": note.amount, "cue": note.cue} for note in candidate.notes
                ],
                "dropped": candidate.dropped,
                "yields_to": None if candidate.yields_to is None else str(candidate.yields_to),
            }
            for candidate in (*ranked.kept, *ranked.dropped)
        ],
    }
