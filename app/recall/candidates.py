"""Candidates of both branches, merged and ordered by the policy's fusion."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from app.recall.branches import KeywordOutcome, SemanticOutcome
from app.recall.fusion import rrf
from app.recall.policy import RankingPolicy


@dataclass(frozen=True, slots=True)
class Candidate:
    """One memory on its way through the ranking.

    Attributes:
        semantic_rank: One-based rank in the semantic branch, 0 when it is not there.
        keyword_rank: The same for the keyword branch.
        base_score: Fused score before any adjustment.
        final_score: Score that orders it.
    """

    id: UUID
    semantic_rank: int
    keyword_rank: int
    base_score: float
    final_score: float
    semantic_score: float | None = None
    keyword_score: float | None = None
    notes: dict[str, Any] = field(default_factory=dict)


def fuse(policy: RankingPolicy, keyword: KeywordOutcome, semantic: SemanticOutcome) -> list[Candidate]:
    """Candidates by fused score, then id."""
    semantic_ranks = {ref: rank for rank, (ref, _) in enumerate(semantic.hits, start=1)}
    keyword_ranks = {hit.id: rank for rank, hit in enumerate(keyword.hits, start=1)}
    scores = rrf(semantic_ranks, keyword_ranks, k=policy.rrf_k)
    cosines = dict(semantic.hits)
    weights = {hit.id: hit.score for hit in (*keyword.identified, *keyword.hits)}
    merged = [
        Candidate(
            id=ref,
            semantic_rank=semantic_ranks.get(ref, 0),
            keyword_rank=keyword_ranks.get(ref, 0),
            base_score=scores.get(ref, 0.0),
            final_score=scores.get(ref, 0.0),
            semantic_score=cosines.get(ref),
            keyword_score=weights.get(ref),
        )
        for ref in {**semantic_ranks, **weights}
    ]
    return sorted(merged, key=lambda candidate: (-candidate.final_score, candidate.id))
