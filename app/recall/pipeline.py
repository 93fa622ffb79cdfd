"""Recall, top to bottom: parse, search both branches at once, fuse, hydrate, answer."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog
from sqlalchemy.exc import SQLAlchemyError

from app.db.unit_of_work import Database, Tenant
from app.embeddings.errors import EmbedderUnavailable
from app.embeddings.service import EmbeddingService
from app.errors import StrataError
from app.indexing.service import IndexingService
from app.lexical.analysis import AnalyzedQuery, Analyzer
from app.memory.service import FragmentService
from app.recall import branches, explain
from app.recall.branches import KeywordOutcome
from app.recall.candidates import Candidate, Pool, fuse_by_evidence, fuse_by_rank
from app.recall.policy import RankingPolicy, get_policy
from app.recall.repository import Filters, Neighbours, SemanticQuery
from app.recall.schemas import Hit, RecallInput, RecallResult

_Outcome = TypeVar("_Outcome")
_log = structlog.get_logger()
FRAGMENT_TIER = "2"


@dataclass(frozen=True, slots=True)
class _Question:
    """A parsed recall request."""

    tenant: Tenant
    space_id: int
    analyzed: AnalyzedQuery
    policy: RankingPolicy
    filters: Filters
    depth: int


class RecallService:
    """Answers recall requests."""

    def __init__(
        self,
        database: Database,
        embeddings: EmbeddingService,
        indexing: IndexingService,
        fragments: FragmentService,
    ) -> None:
        self._database = database
        self._embeddings = embeddings
        self._indexing = indexing
        self._fragments = fragments

    async def recall(
        self, tenant: Tenant, *, space_id: int, text_search_config: str, request: RecallInput
    ) -> RecallResult:
        """Ranked memories for a question.

        Raises:
            StrataError: a required branch failed (503), the policy is unknown, or the team's space is another one.
            EmbedderUnavailable: the question could not be embedded.
        """
        self._indexing.check_space(space_id)
        policy = get_policy(request.policy)
        question = _Question(
            tenant=tenant,
            space_id=space_id,
            analyzed=Analyzer.for_config(text_search_config).query(request.query),
            policy=policy,
            filters=Filters(
                valid_at=request.valid_at,
                known_at=request.known_at,
                source_types=None if request.source_types is None else tuple(request.source_types),
                labels=None if request.labels is None else tuple(request.labels),
            ),
            depth=policy.branch_depth(request.limit),
        )
        keyword, semantic = await _both(self._keyword(question), self._semantic(question, request.query))
        pool = Pool.of(keyword, semantic)
        fusion: dict[str, float | str] = {"rule": "reciprocal rank", "k": policy.rrf_k}
        if policy.adaptive_fusion:
            letters = self._embeddings.token_statistics(request.query).letters_per_token
            candidates, fusion = fuse_by_evidence(policy, pool, keyword, semantic, letters)
        else:
            candidates = fuse_by_rank(policy, pool)
        results = await self._hydrated(tenant, candidates, request.limit)
        told = (
            explain.describe(question.analyzed, keyword, semantic, fusion, candidates)
            if request.explain
            else None
        )
        return RecallResult(results=results, policy=policy.name, explain=told)

    async def _keyword(self, question: _Question) -> KeywordOutcome:
        return await branches.keyword_branch(
            self._database,
            question.tenant,
            question.analyzed,
            question.policy,
            depth=question.depth,
            filters=question.filters,
        )

    async def _semantic(self, question: _Question, text: str) -> Neighbours:
        # The vector comes first: no connection is held while the embedder is awaited.
        vector = await self._embeddings.embed_query(text)
        query = SemanticQuery(vector, question.space_id, filters=question.filters)
        return await branches.semantic_branch(self._database, question.tenant, query, depth=question.depth)

    async def _hydrated(self, tenant: Tenant, candidates: list[Candidate], limit: int) -> list[Hit]:
        """The first ``limit`` candidates that are still there, with their contents."""
        hits: list[Hit] = []
        start = 0
        while len(hits) < limit and start < len(candidates):
            chosen = candidates[start : start + limit]
            start += limit
            views = await self._fragments.get_many(tenant, [candidate.id for candidate in chosen])
            for candidate in chosen:
                view = views.get(candidate.id)
                if view is not None and len(hits) < limit:
                    hits.append(_hit(candidate, len(hits) + 1, view))
        return hits


def _hit(candidate: Candidate, rank: int, view: Any) -> Hit:
    return Hit(
        rank=rank,
        kind="fragment",
        id=candidate.id,
        tier=FRAGMENT_TIER,
        score=candidate.final_score,
        final_score=candidate.final_score,
        semantic_rank=candidate.semantic_rank,
        keyword_rank=candidate.keyword_rank,
        fragment=view,
    )


async def _both(
    keyword: Coroutine[Any, Any, KeywordOutcome], semantic: Coroutine[Any, Any, _Outcome]
) -> tuple[KeywordOutcome, _Outcome]:
    """Run both required branches at the same time; the first failure cancels the other and fails the recall.

    Raises:
        StrataError: ``recall_branch_failed`` for a failure that is nobody's timeout or shutdown.
    """
    try:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(_required("keyword", keyword))
            second = group.create_task(_required("semantic", semantic))
    except* (StrataError, EmbedderUnavailable, SQLAlchemyError, OSError) as failures:
        raise _first(failures) from None
    return first.result(), second.result()


def _first(failures: BaseExceptionGroup[Exception]) -> Exception:
    failure: BaseException = failures
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    if not isinstance(failure, Exception):
        raise failure
    return failure


async def _required(name: str, branch: Coroutine[Any, Any, _Outcome]) -> _Outcome:
    try:
        return await branch
    except (StrataError, EmbedderUnavailable, SQLAlchemyError, OSError):
        _log.warning("recall_branch_failed", branch=name)
        raise
    except Exception as error:
        _log.exception("recall_branch_failed", branch=name)
        raise StrataError("recall_branch_failed", f"the {name} branch failed", retry_after=2) from error
