"""Fusion of the branches."""

from collections.abc import Mapping
from uuid import UUID


def rrf(semantic_ranks: Mapping[UUID, int], keyword_ranks: Mapping[UUID, int], k: int = 60) -> dict[UUID, float]:
    """Reciprocal rank fusion."""
    scores: dict[UUID, float] = {}
    for ranks in (semantic_ranks, keyword_ranks):
        for ref, rank in ranks.items():
            scores[ref] = scores.get(ref, 0.0) + 1 / (k + rank)
    return scores
