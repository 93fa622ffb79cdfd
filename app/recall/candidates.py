"""Candidates of both branches, merged and ordered by the policy's fusion. Pure functions over what the branches found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from app.recall import fusion, tiers
from app.recall.adjustments import Note
from app.recall.branches import KeywordOutcome
from app.recall.policy import RankingPolicy
from app.recall.repository import KeywordHit, Neighbours


class Candidate(NamedTuple):
    """One memory on its way through the ranking.

    Attributes:
        semantic_rank: One-based rank in the semantic branch, 0 when it is not there.
        keyword_rank: The same for the keyword branch.
        base_score: Fused score before any adjustment.
        final_score: Score that orders it.
        semantic_score: Cosine similarity, where the semantic branch found it.
        keyword_score: BM25 score, where a keyword search found it.
        semantic_evidence: Nats of evidence (`app.recall.fusion`); the same of the keyword branch.
        coverage: Share of the query's known weight that it holds.
        tier: Effective tier (`app.recall.tiers`).
        anchors: Anchors of the query that it holds.
        notes: The adjustments that made ``final_score`` of ``base_score``.
        dropped: Why it left the list, if it did.
    """

    id: UUID
    semantic_rank: int
    keyword_rank: int
    base_score: float
    final_score: float
    semantic_score: float | None = None
    keyword_score: float | None = None
    semantic_evidence: float | None = None
    keyword_evidence: float | None = None
    coverage: float | None = None
    tier: float = tiers.FRAGMENT
    anchors: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    dropped: str | None = None


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
        """Every memory that a branch found, in the order found."""
        return list(dict.fromkeys([*self.semantic_ranks, *self.keyword_hits]))


def fuse_by_rank(policy: RankingPolicy, pool: Pool) -> list[Candidate]:
    """Reciprocal rank fusion."""
    scores = fusion.rrf(pool.semantic_ranks, pool.keyword_ranks, k=policy.rrf_k)
    return _ordered([_candidate(pool, ref, scores.get(ref, 0.0)) for ref in pool.members])


def fuse_by_evidence(
    policy: RankingPolicy,
    pool: Pool,
    keyword: KeywordOutcome,
    semantic: Neighbours,
    letters_per_token: float | None,
    *,
    depth: int,
) -> tuple[list[Candidate], dict[str, float | str]]:
    """The fusion of ``strata-v1``; also tells why the branches weigh what they do.

    Args:
        policy: Holds the constants.
        pool: What both branches found.
        keyword: The keyword branch.
        semantic: The semantic branch.
        letters_per_token: See `fusion.FusionSignals`.
        depth: Candidates that each branch was asked for.
    """
    members = pool.members
    weights = [weight.weight for weight in keyword.weights]
    total = sum(weights)
    signals = fusion.FusionSignals(
        documents=keyword.totals.documents,
        terms=tuple(fusion.QueryTerm(weight.weight, weight.documents) for weight in keyword.weights),
        semantic_mean=semantic.mean,
        semantic_deviation=semantic.deviation,
        windows=keyword.totals.windows,
        keyword_floor=keyword.hits[-1].score if len(keyword.hits) >= depth else 0.0,
        letters_per_token=letters_per_token,
        k1=policy.k1,
    )
    candidates = [
        fusion.FusionCandidate(
            semantic=pool.similarities.get(ref),
            keyword=pool.keyword_hits[ref].score if ref in pool.keyword_hits else None,
            coverage=_coverage(pool.keyword_hits.get(ref), weights, total),
        )
        for ref in members
    ]
    fused = fusion.fuse(candidates, signals, policy.fusion)
    merged = [
        _candidate(pool, ref, score.score)._replace(
            semantic_evidence=score.semantic_evidence,
            keyword_evidence=score.keyword_evidence,
            coverage=candidate.coverage,
        )
        for ref, score, candidate in zip(members, fused.scores, candidates, strict=True)
    ]
    return _ordered(merged), fused.explanation


def _coverage(hit: KeywordHit | None, weights: Sequence[float], total: float) -> float:
    """Share of the weight of the query's known terms that a memory holds."""
    if hit is None or not total:
        return 0.0
    return sum(weight for weight, count in zip(weights, hit.frequencies, strict=True) if count) / total


def _candidate(pool: Pool, ref: UUID, score: float) -> Candidate:
    hit = pool.keyword_hits.get(ref)
    return Candidate(
        ref,
        pool.semantic_ranks.get(ref, 0),
        pool.keyword_ranks.get(ref, 0),
        score,
        score,
        pool.similarities.get(ref),
        None if hit is None else hit.score,
    )


def _ordered(candidates: list[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: (-candidate.final_score, candidate.id))
