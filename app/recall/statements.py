"""Facts and claims in a recall: an optional part, so that its failures are told and change nothing else."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
import numpy as np
import numpy.typing as npt
import structlog
from prometheus_client import Counter
from sqlalchemy.exc import SQLAlchemyError

from app.db.unit_of_work import Database, Tenant
from app.errors import StrataError
from app.indexing.models import Kind
from app.knowledge.schemas import ClaimView, FactView
from app.knowledge.services import KnowledgeServices
from app.lexical.analysis import AnalyzedQuery
from app.memory.service import FragmentService
from app.recall import tiers, typed_ranking
from app.recall.policy import RankingPolicy
from app.recall.ranking import Parsed
from app.recall.repository import Filters
from app.recall.schemas import Hit
from app.recall.typed import TypedCandidate, typed_branch
from app.recall.typed_ranking import RankedTyped

_log = structlog.get_logger()
_FAILED = Counter("strata_recall_parts_failed", "Optional parts of recalls that failed, by part", ["part"])
_FAILURES = (StrataError, SQLAlchemyError, OSError)
_NAMES = {Kind.FACT: "facts", Kind.CLAIM: "claims"}
_EVIDENCE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedSearch:
    """A question as the typed branches ask it; similarities and anchors as `app.recall.typed_ranking` reads them."""

    tenant: Tenant
    space_id: int
    analyzed: AnalyzedQuery
    parsed: Parsed
    policy: RankingPolicy
    filters: Filters
    depth: int
    vector: npt.NDArray[np.float32]
    best_similarity: float
    unmatched: tuple[str, ...]


class TypedMemories:
    """Finds, orders and completes facts and claims."""

    def __init__(self, database: Database, fragments: FragmentService, knowledge: KnowledgeServices) -> None:
        self._database = database
        self._fragments = fragments
        self._knowledge = knowledge

    async def found(
        self, search: TypedSearch, kinds: Sequence[Kind], now: datetime
    ) -> tuple[list[RankedTyped], list[str]]:
        """Facts and claims that may answer, best first, and the names of the kinds that could not be searched."""
        outcomes = await asyncio.gather(*(self._branch(search, kind) for kind in kinds))
        degraded = [_NAMES[kind] for kind, outcome in zip(kinds, outcomes, strict=True) if outcome is None]
        candidates = typed_ranking.admitted(
            search.policy,
            search.parsed,
            [candidate for outcome in outcomes for candidate in outcome or ()],
            best_similarity=search.best_similarity,
            unmatched=search.unmatched,
        )
        contents: dict[UUID, str] = {}
        if wanted := typed_ranking.needs_evidence(search.parsed, candidates):
            try:
                views = await self._fragments.get_many(search.tenant, wanted)
                contents = {ref: view.content for ref, view in views.items()}
            except _FAILURES:
                _failed("evidence")
                degraded.append("evidence")
        ranked = typed_ranking.ordered(search.policy, search.parsed, candidates, contents, now=now)
        return ranked, degraded

    async def _branch(self, search: TypedSearch, kind: Kind) -> list[TypedCandidate] | None:
        try:
            return await typed_branch(
                self._database,
                self._knowledge.recalled,
                search.tenant,
                kind,
                search.analyzed,
                vector=search.vector,
                space_id=search.space_id,
                policy=search.policy,
                filters=search.filters,
                depth=search.depth,
            )
        except _FAILURES:
            _failed(_NAMES[kind])
            return None

    async def with_evidence(self, tenant: Tenant, hits: list[Hit], degraded: list[str]) -> list[Hit]:
        """Hits with up to five fragments that each fact or claim rests on."""
        kinds = [(Kind.FACT, "fact"), (Kind.CLAIM, "claim")]
        try:
            sources: dict[UUID, list[UUID]] = {}
            for kind, name in kinds:
                ids = [hit.id for hit in hits if hit.kind == name]
                memories = await self._knowledge.recalled.read(tenant, kind, ids)
                sources |= {ref: memory.evidence_ids[:_EVIDENCE] for ref, memory in memories.items()}
            views = await self._fragments.get_many(tenant, [ref for refs in sources.values() for ref in refs])
        except _FAILURES:
            _failed("evidence")
            degraded.append("evidence")
            return hits
        return [
            msgspec.structs.replace(
                hit, evidence_fragments=[views[ref] for ref in sources.get(hit.id, ()) if ref in views]
            )
            for hit in hits
        ]

    async def clarifications(
        self, tenant: Tenant, hits: list[Hit], degraded: list[str]
    ) -> list[dict[str, Any]]:
        """Open questions about the facts that were found."""
        try:
            found = await self._knowledge.facts.clarifications_about(
                tenant, [hit.id for hit in hits if hit.kind == "fact"]
            )
        except _FAILURES:
            _failed("clarifications")
            degraded.append("clarifications")
            return []
        return [msgspec.to_builtins(item, builtin_types=(UUID, datetime)) for item in found]


def _failed(part: str) -> None:
    """Log and count the failure that is being handled; the recall goes on without the part, and names it."""
    _FAILED.labels(part).inc()
    _log.warning("recall_part_failed", part=part, exc_info=True)


def typed_hit(item: RankedTyped) -> Hit:
    """A fact or claim as a result; its rank is set where it is placed."""
    candidate = item.candidate
    view = candidate.memory.view
    return Hit(
        rank=0,
        kind="fact" if candidate.memory.kind is Kind.FACT else "claim",
        id=candidate.memory.id,
        tier=tiers.public(item.tier),
        score=item.score,
        final_score=item.score,
        semantic_rank=candidate.semantic_rank,
        keyword_rank=candidate.keyword_rank,
        fact=view if isinstance(view, FactView) else None,
        claim=view if isinstance(view, ClaimView) else None,
    )
