"""The typed branches: facts or claims by keyword and by meaning, checked again where they are stored."""

import asyncio
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.db.unit_of_work import Database, Tenant
from app.indexing.models import Kind
from app.knowledge.recalled import RecalledMemory, RecalledService
from app.lexical.analysis import AnalyzedQuery
from app.recall import branches
from app.recall.candidates import Pool
from app.recall.policy import RankingPolicy
from app.recall.repository import Filters, SemanticQuery


@dataclass(frozen=True, slots=True)
class TypedCandidate:
    """A fact or claim that a branch found.

    Attributes:
        semantic_rank: One-based rank among its kind, 0 when the branch did not find it; ``keyword_rank`` likewise.
        similarity: Cosine similarity to the question, where the semantic branch found it.
        keyword_score: BM25 score among its kind, where the keyword branch found it.
    """

    memory: RecalledMemory
    semantic_rank: int
    keyword_rank: int
    similarity: float | None
    keyword_score: float | None


async def typed_branch(
    database: Database,
    recalled: RecalledService,
    tenant: Tenant,
    kind: Kind,
    question: AnalyzedQuery,
    *,
    vector: npt.NDArray[np.float32],
    space_id: int,
    policy: RankingPolicy,
    filters: Filters,
    depth: int,
) -> list[TypedCandidate]:
    """Up to ``2 * depth`` candidates of one kind in the order found, by meaning first; no order of rank is implied.

    Profile, status and time window are those of the stored memory, read after the search.
    """
    keyword, semantic = await asyncio.gather(
        branches.keyword_branch(database, tenant, question, policy, depth=depth, filters=filters, kind=kind),
        branches.semantic_branch(
            database, tenant, SemanticQuery(vector, space_id, kind=kind, filters=filters), depth=depth
        ),
    )
    pool = Pool.of(keyword, semantic)
    found = await recalled.read(tenant, kind, pool.ids)
    return [
        TypedCandidate(
            memory, member.semantic_rank, member.keyword_rank, member.similarity, member.keyword_score
        )
        for member in pool.members
        if (memory := found.get(member.id)) is not None and memory.holds(filters.valid_at, filters.known_at)
    ]
