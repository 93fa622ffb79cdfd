"""Candidates of both branches, merged and ordered by the policy's fusion. Pure functions over what the branches found."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from app.recall import fusion
from app.recall.branches import KeywordOutcome
from app.recall.policy import RankingPolicy
from app.recall.repository import KeywordHit, Neighbours


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


@dataclass(frozen=True, slots=True)
class Pool:
    """What both branches found, by memory.

    Attributes:
        similarities: Cosine similarity, for every member that has a vector.
        keyword_hits: Score and term frequencies, for every member that holds a term.
    """

    semantic_ranks: Mapping[UUID, int]
    keyword_ranks: Mapping[UUID, int]
    similarities: Mapping[UUID, float]
    keyword_hits: Mapping[UUID, KeywordHit]

    @classmethod
    def of(cls, keyword: KeywordOutcome, semantic: Neighbours) -> "Pool":
        """Members as the branches returned them, those that hold an identifier included."""
        found = semantic.hits
        return cls(
            semantic_ranks={ref: rank for rank, (ref, _) in enumerate(found, start=1)},
            keyword_ranks={hit.id: rank for rank, hit in enumerate(keyword.hits, start=1)},
            similarities=dict(found),
            keyword_hits={hit.id: hit for hit in (*keyword.hits, *keyword.identified)},
        )

    @property
    def members(self) -> list[UUID]:
        """Every memory that a branch found, by id."""
        return sorted({*self.semantic_ranks, *self.keyword_hits})


def fuse_by_rank(policy: RankingPolicy, pool: Pool) -> list[Candidate]:
    """Reciprocal rank fusion."""
    scores = fusion.rrf(pool.semantic_ranks, pool.keyword_ranks, k=policy.rrf_k)
    return _ordered(pool, {ref: scores.get(ref, 0.0) for ref in pool.members}, {})


def fuse_by_evidence(
    policy: RankingPolicy,
    pool: Pool,
    keyword: KeywordOutcome,
    semantic: Neighbours,
    letters_per_token: float | None,
) -> tuple[list[Candidate], dict[str, float | str]]:
    """The fusion of ``strata-v1``; also tells why the branches weigh what they do."""
    members = pool.members
    signals = fusion.FusionSignals(
        documents=keyword.totals.documents,
        terms=tuple(fusion.QueryTerm(weight.weight, weight.documents) for weight in keyword.weights),
        semantic_mean=semantic.mean,
        semantic_deviation=semantic.deviation,
        letters_per_token=letters_per_token,
        k1=policy.k1,
    )
    candidates = [
        fusion.FusionCandidate(
            semantic=pool.similarities.get(ref),
            keyword=pool.keyword_hits[ref].score if ref in pool.keyword_hits else None,
            coverage=_coverage(pool.keyword_hits.get(ref), keyword),
        )
        for ref in members
    ]
    fused = fusion.fuse(candidates, signals)
    notes = {
        ref: {
            "semantic_evidence": score.semantic_evidence,
            "keyword_evidence": score.keyword_evidence,
            "coverage": candidate.coverage,
        }
        for ref, score, candidate in zip(members, fused.scores, candidates, strict=True)
    }
    scores = {ref: score.score for ref, score in zip(members, fused.scores, strict=True)}
    return _ordered(pool, scores, notes), fused.explanation


def _coverage(hit: KeywordHit | None, keyword: KeywordOutcome) -> float:
    """Share of the weight of the query's known terms that a memory holds."""
    total = math.fsum(weight.weight for weight in keyword.weights)
    if hit is None or not total:
        return 0.0
    held = math.fsum(
        weight.weight for weight, count in zip(keyword.weights, hit.frequencies, strict=True) if count
    )
    return held / total


def _ordered(
    pool: Pool, scores: Mapping[UUID, float], notes: Mapping[UUID, dict[str, Any]]
) -> list[Candidate]:
    merged = [
        Candidate(
            id=ref,
            semantic_rank=pool.semantic_ranks.get(ref, 0),
            keyword_rank=pool.keyword_ranks.get(ref, 0),
            base_score=score,
            final_score=score,
            semantic_score=pool.similarities.get(ref),
            keyword_score=pool.keyword_hits[ref].score if ref in pool.keyword_hits else None,
            notes=notes.get(ref, {}),
        )
        for ref, score in scores.items()
    ]
    return sorted(merged, key=lambda candidate: (-candidate.final_score, candidate.id))
