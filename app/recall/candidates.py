"""Candidates of both branches, merged and ordered by the policy's fusion. Pure functions over what the branches found."""

import math
from dataclasses import dataclass
from itertools import compress
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
        yields_to: The memory that it left its slot to.
        yielded: Memories that left their slots to it.
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
    yields_to: UUID | None = None
    yielded: tuple[UUID, ...] = ()


class Member(NamedTuple):
    """What the branches found of one memory; a rank of 0 means that the branch did not find it."""

    id: UUID
    semantic_rank: int = 0
    similarity: float | None = None
    keyword_rank: int = 0
    hit: KeywordHit | None = None

    @property
    def keyword_score(self) -> float | None:
        """BM25 score, where a keyword search found it."""
        return None if self.hit is None else self.hit.score


@dataclass(frozen=True, slots=True)
class Pool:
    """What both branches found, by memory: those near in meaning, by similarity, then the others, by keyword score."""

    members: tuple[Member, ...]

    @classmethod
    def of(cls, keyword: KeywordOutcome, semantic: Neighbours) -> "Pool":
        """Members as the branches returned them, those that hold an identifier included."""
        # Ids hash slowly: each is looked up once here and never again.
        hits = {hit.id: (0, hit) for hit in keyword.identified}
        hits.update((hit.id, (rank, hit)) for rank, hit in enumerate(keyword.hits, start=1))
        missing = (0, None)
        near = [
            Member(ref, rank, similarity, *hits.pop(ref, missing))
            for rank, (ref, similarity) in enumerate(semantic.hits, start=1)
        ]
        others = [Member(ref, 0, None, rank, hit) for ref, (rank, hit) in hits.items()]
        others.sort(key=lambda member: (member.keyword_rank or math.inf, member.id))
        return cls((*near, *others))

    @property
    def ids(self) -> list[UUID]:
        """Every memory that a branch found."""
        return [member.id for member in self.members]


def fuse_by_rank(policy: RankingPolicy, pool: Pool) -> list[Candidate]:
    """Reciprocal rank fusion."""
    members = pool.members
    scores = fusion.rrf(
        {member.id: member.semantic_rank for member in members if member.semantic_rank},
        {member.id: member.keyword_rank for member in members if member.keyword_rank},
        k=policy.rrf_k,
    )
    return _ordered(
        [
            Candidate(
                member.id,
                member.semantic_rank,
                member.keyword_rank,
                score := scores.get(member.id, 0.0),
                score,
                member.similarity,
                member.keyword_score,
            )
            for member in members
        ]
    )


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
    found = [
        fusion.FusionCandidate(member.similarity)
        if member.hit is None
        # Share of the weight of the query's known terms that it holds.
        else fusion.FusionCandidate(
            member.similarity, member.hit.score, sum(compress(weights, member.hit.frequencies)) / total
        )
        for member in pool.members
    ]
    fused = fusion.fuse(found, signals, policy.fusion)
    merged = [
        Candidate(
            member.id,
            member.semantic_rank,
            member.keyword_rank,
            score.score,
            score.score,
            member.similarity,
            member.keyword_score,
            score.semantic_evidence,
            score.keyword_evidence,
            one.coverage,
        )
        for member, one, score in zip(pool.members, found, fused.scores, strict=True)
    ]
    return _ordered(merged), fused.explanation


def _ordered(candidates: list[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: (-candidate.final_score, candidate.id))
