"""Recall, top to bottom: parse, search both branches at once, fuse, hydrate, answer."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

import msgspec
import structlog
from sqlalchemy.exc import SQLAlchemyError

from app.db.unit_of_work import Database, Tenant
from app.embeddings.errors import EmbedderUnavailable
from app.embeddings.service import EmbeddingService
from app.errors import StrataError, first_failure
from app.indexing.models import Kind
from app.indexing.service import IndexingService
from app.knowledge.services import KnowledgeServices
from app.lexical.analysis import AnalyzedQuery, Analyzer
from app.memory.preparation import secondary_texts
from app.memory.schemas import FragmentView
from app.memory.service import FragmentService, RecalledFragment
from app.recall import abstention, branches, diversity, explain, ranking, sufficiency, tiers
from app.recall.adjustments import Passage
from app.recall.branches import KeywordOutcome
from app.recall.candidates import Candidate, Pool, fuse_by_evidence, fuse_by_rank
from app.recall.gating import Gate
from app.recall.policy import RankingPolicy, chosen_policy
from app.recall.ranking import Parsed
from app.recall.repository import Filters, Neighbours, SemanticQuery, read_vectors
from app.recall.schemas import Hit, RecallInput, RecallResult
from app.recall.selection import Group, Selection, similarity_of
from app.recall.statements import TypedMemories, TypedSearch, typed_hit
from app.recall.typed_ranking import RankedTyped

_Outcome = TypeVar("_Outcome")
# Named in ``degraded`` when this version does not know the policy that the team has pinned.
PINNED_POLICY = "pinned_policy"
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Question:
    """A parsed recall request."""

    tenant: Tenant
    space_id: int
    analyzed: AnalyzedQuery
    parsed: Parsed
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
        knowledge: KnowledgeServices | None = None,
    ) -> None:
        self._database = database
        self._embeddings = embeddings
        self._indexing = indexing
        self._fragments = fragments
        self._typed = None if knowledge is None else TypedMemories(database, fragments, knowledge)

    async def recall(
        self,
        tenant: Tenant,
        *,
        space_id: int,
        text_search_config: str,
        request: RecallInput,
        pinned_policy: str | None = None,
    ) -> RecallResult:
        """Ranked memories for a question.

        Args:
            tenant: Whose.
            space_id: The team's embedding space.
            text_search_config: The profile's.
            request: The question.
            pinned_policy: The team's ranking policy, for a request that names none.

        Raises:
            StrataError: a required branch failed (503), the policy is unknown, or the team's space is another one.
            EmbedderUnavailable: the question could not be embedded.
        """
        self._indexing.check_space(space_id)
        policy, pin_kept = chosen_policy(request.policy, pinned_policy)
        if (request.diversity or policy.diversity) != "collapse":
            policy = replace(policy, yielding=False)
        parsed = ranking.parse(policy, request.query)
        question = _Question(
            tenant=tenant,
            space_id=space_id,
            analyzed=Analyzer.for_config(text_search_config).query(request.query),
            parsed=parsed,
            policy=policy,
            filters=Filters(
                valid_at=request.valid_at,
                known_at=request.known_at,
                source_types=None if request.source_types is None else tuple(request.source_types),
                labels=None if request.labels is None else tuple(request.labels),
            ),
            depth=policy.branch_depth(request.limit, legacy_identifier=parsed.legacy),
        )
        keyword, semantic = await _both(self._keyword(question), self._semantic(question, request.query))
        pool = Pool.of(keyword, semantic)
        fusion: dict[str, float | str] = {"rule": "reciprocal rank", "k": policy.rrf_k}
        if policy.adaptive_fusion:
            letters = self._embeddings.token_statistics(request.query).letters_per_token
            candidates, fusion = fuse_by_evidence(
                policy, pool, keyword, semantic, letters, depth=question.depth
            )
        else:
            candidates = fuse_by_rank(policy, pool)
        gate = ranking.index_gate(policy, parsed, question.analyzed, keyword, pool)
        selection = Selection(
            limit=request.limit,
            diversity=request.diversity or policy.diversity,
            text_search_config=text_search_config,
        )
        read = await self._texts(question, candidates, gate, selection)
        now = datetime.now(UTC)
        typed, degraded = await self._facts_and_claims(question, keyword, semantic, gate, now)
        ranked = ranking.rank(
            policy,
            parsed,
            candidates,
            _passages(read, pool),
            gate,
            now=now,
            typed_anchors=frozenset(anchor for item in typed for anchor in item.anchors)
            if policy.typed_keep_place
            else frozenset(),
        )
        verdict = abstention.decide(
            sufficiency.evidence_of(question.analyzed, keyword, semantic, pool), policy.abstention
        )
        results = (
            []
            if request.abstain and verdict.abstained
            else await self._merged(question, ranked.kept, typed, read, selection)
        )
        results, clarifications = await self._completed(
            question, results, degraded, evidence=request.include_evidence
        )
        told = (
            explain.describe(
                question.analyzed, keyword, semantic, fusion, ranked, parsed=parsed, verdict=verdict
            )
            if request.explain
            else None
        )
        return RecallResult(
            results=results,
            policy=policy.name,
            clarifications=clarifications,
            unmatched_anchors=[
                anchor for anchor in ranked.unmatched if not any(anchor in item.anchors for item in typed)
            ],
            degraded=degraded if pin_kept else [*degraded, PINNED_POLICY],
            abstained=verdict.abstained,
            explain=told,
        )

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

    async def _texts(
        self, question: _Question, candidates: list[Candidate], gate: Gate | None, selection: Selection
    ) -> dict[UUID, RecalledFragment]:
        """Contents of the candidates that the rules must read; of an ordinary question only what may be shown."""
        policy = question.policy
        if not ranking.needs_passages(policy, question.parsed, gate):
            asked = ranking.read_first(policy, candidates, gate, selection.window)
        else:
            most = policy.adjusted_candidates if policy.scaled_adjustments else len(candidates)
            asked = [candidate.id for candidate in candidates[:most]]
        return await self._fragments.get_recalled(question.tenant, asked) if asked else {}

    async def _facts_and_claims(
        self,
        question: _Question,
        keyword: KeywordOutcome,
        semantic: Neighbours,
        gate: Gate | None,
        now: datetime,
    ) -> tuple[list[RankedTyped], list[str]]:
        """Facts and claims in order, and which of the two could not be searched; optional, unlike fragments."""
        kinds = [kind for kind in (Kind.FACT, Kind.CLAIM) if kind in keyword.other_kinds]
        if self._typed is None or not kinds:
            return [], []
        search = TypedSearch(
            tenant=question.tenant,
            space_id=question.space_id,
            analyzed=question.analyzed,
            parsed=question.parsed,
            policy=question.policy,
            filters=question.filters,
            depth=question.depth,
            vector=await self._embeddings.embed_query(question.parsed.text),
            best_similarity=semantic.hits[0][1] if semantic.hits else 0.0,
            unmatched=() if gate is None else gate.unmatched,
        )
        return await self._typed.found(search, kinds, now)

    async def _merged(
        self,
        question: _Question,
        ranked: list[Candidate],
        typed: list[RankedTyped],
        read: dict[UUID, RecalledFragment],
        selection: Selection,
    ) -> list[Hit]:
        """Fragments and statements by effective tier: the two never share one."""
        if not typed:
            return await self._selected(question, ranked, read, selection)
        above = [candidate for candidate in ranked if candidate.tier < tiers.FACT]
        below = [candidate for candidate in ranked if candidate.tier >= tiers.FACT]
        hits = await self._selected(question, above, read, selection)
        hits += [typed_hit(item) for item in typed[: selection.limit - len(hits)]]
        left = replace(selection, limit=selection.limit - len(hits))
        hits += await self._selected(question, below, read, left) if left.limit else []
        return [msgspec.structs.replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1)]

    async def _completed(
        self, question: _Question, hits: list[Hit], degraded: list[str], *, evidence: bool
    ) -> tuple[list[Hit], list[dict[str, Any]]]:
        """Hits with their evidence, and the open questions about the facts among them."""
        if self._typed is None or all(hit.kind == "fragment" for hit in hits):
            return hits, []
        if evidence:
            hits = await self._typed.with_evidence(question.tenant, hits, degraded)
        return hits, await self._typed.clarifications(question.tenant, hits, degraded)

    async def _selected(
        self,
        question: _Question,
        ranked: list[Candidate],
        known: dict[UUID, RecalledFragment],
        selection: Selection,
    ) -> list[Hit]:
        """The first ``limit`` candidates that are still there, with their contents and their near-duplicates."""
        if selection.diversity == "mmr" and ranked:
            ranked = await self._diversified(question, ranked)
        read, found, start = dict(known), list[Candidate](), 0
        groups: list[Group] = []
        while len(groups) < selection.limit and start < len(ranked):
            chosen = ranked[start : start + selection.window]
            start += selection.window
            missing = [candidate.id for candidate in chosen if candidate.id not in known]
            read |= await self._fragments.get_recalled(question.tenant, missing) if missing else {}
            found += [candidate for candidate in chosen if candidate.id in read]
            groups = selection.grouped(found, read)
            if not question.policy.refill:
                break
        return [
            _hit(leader, rank, read[leader.id].view, [copy.id for copy in copies])
            for rank, (leader, copies) in enumerate(groups[: selection.limit], start=1)
        ]

    async def _diversified(self, question: _Question, ranked: list[Candidate]) -> list[Candidate]:
        """Candidates by maximal marginal relevance; similarity of two is that of their closest windows."""
        policy = question.policy
        pool = ranked[: policy.mmr_pool]
        async with self._database.reading(question.tenant) as unit:
            vectors = await read_vectors(
                unit, Kind.FRAGMENT, question.space_id, [candidate.id for candidate in pool]
            )
        order = diversity.mmr(
            [candidate.final_score for candidate in ranked],
            similarity_of([vectors.get(candidate.id) for candidate in pool]),
            trade_off=policy.mmr_trade_off,
            pool=policy.mmr_pool,
        )
        return [ranked[place] for place in order]


def _passages(read: dict[UUID, RecalledFragment], pool: Pool) -> dict[UUID, Passage]:
    """What the rules read; what stands beside the content is known only where the keyword branch found it."""
    if not read:
        return {}
    by_words = {member.id for member in pool.members if member.hit is not None}
    return {
        ref: Passage(
            id=ref,
            content=view.content,
            recall_text="\n".join(
                [view.content, *secondary_texts(view.source, view.labels, view.metadata)]
                if ref in by_words
                else [view.content]
            ),
            time=view.recorded_at,
            authority=view.authority,
            valid_from=view.valid_from,
        )
        for ref, (view, _) in read.items()
    }


def _hit(candidate: Candidate, rank: int, view: FragmentView, duplicates: list[UUID]) -> Hit:
    return Hit(
        rank=rank,
        kind="fragment",
        id=candidate.id,
        tier=tiers.public(candidate.tier),
        score=candidate.final_score,
        final_score=candidate.final_score,
        semantic_rank=candidate.semantic_rank,
        keyword_rank=candidate.keyword_rank,
        fragment=view,
        duplicates=duplicates,
        yielded=list(candidate.yielded),
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
    except ExceptionGroup as failures:
        raise first_failure(failures) from None
    return first.result(), second.result()


async def _required(name: str, branch: Coroutine[Any, Any, _Outcome]) -> _Outcome:
    try:
        return await branch
    except (StrataError, EmbedderUnavailable, SQLAlchemyError, OSError):
        _log.warning("recall_branch_failed", branch=name)
        raise
    except Exception as error:
        _log.exception("recall_branch_failed", branch=name)
        raise StrataError("recall_branch_failed", f"the {name} branch failed", retry_after=2) from error
