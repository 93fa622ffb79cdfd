"""Trace: from a fact or claim to the claims, fragments, contradictions and supersessions around it, bounded."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from app.db.unit_of_work import Database, Tenant, UnitOfWork
from app.knowledge import claims_repository, facts_repository, views
from app.knowledge.claims import claim_not_found
from app.knowledge.decisions import fact_not_found
from app.knowledge.schemas import ClaimView, Edge, RelatedView, Trace, Triple
from app.knowledge.statements import StatementText
from app.memory.service import FragmentService

MAX_FRAGMENTS: Final = 50


@dataclass(slots=True)
class _Collected:
    """What a trace has found so far."""

    related: list[RelatedView] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def add(self, relation: str, kind: str, row: Any, source: UUID, target: UUID) -> None:
        said = StatementText.of(row)
        triple = Triple(
            subject=said.subject, predicate=said.predicate, object=said.object, polarity=said.polarity
        )
        self.related.append(
            RelatedView(
                relation=relation,
                type="fact" if kind == "fact" else "claim",
                id=row["id"],
                statement=triple,
                status=row["status"],
            )
        )
        self.edges.append(Edge(relation=relation, source=source, target=target))


class LineageService:
    """Answers where a fact or claim comes from."""

    def __init__(self, database: Database, fragments: FragmentService) -> None:
        self._database = database
        self._fragments = fragments

    async def trace_fact(
        self, tenant: Tenant, fact_id: UUID, *, max_related: int, include_fragments: bool
    ) -> Trace:
        """Trace of a fact.

        Raises:
            StrataError: ``fact_not_found``.
        """
        collected = _Collected()
        async with self._database.tenant(tenant) as unit:
            rows = await facts_repository.get_facts(unit, [fact_id])
            if not rows:
                raise fact_not_found()
            fact = rows[0]
            behind = await facts_repository.claims_behind(unit, fact_id, max_related + 1)
            origin_id = fact["promoted_from_claim_id"]
            claims = await _claims(unit, list(dict.fromkeys([origin_id, *behind])))
            for claim in claims.values():
                collected.edges.append(Edge(relation="promotes_to", source=claim.id, target=fact_id))
            if fact["superseded_by"] is not None:
                for other in await facts_repository.get_facts(unit, [fact["superseded_by"]]):
                    collected.add("superseded_by_fact", "fact", other, fact_id, other["id"])
                    for claim_row in await claims_repository.get_claims(
                        unit, [other["promoted_from_claim_id"]]
                    ):
                        collected.add("superseded_by_claim", "claim", claim_row, fact_id, claim_row["id"])
            for other in await facts_repository.superseded_by(unit, fact_id, max_related + 1):
                collected.add("supersedes_fact", "fact", other, fact_id, other["id"])
            pairs = await claims_repository.conflicts_of(unit, fact_id=fact_id)
            for claim_row in await claims_repository.get_claims(unit, [claim for claim, _ in pairs]):
                collected.add("contradicted_by_claim", "claim", claim_row, claim_row["id"], fact_id)
        origin = claims.get(origin_id)
        listed = list(claims.values())
        return await self._trace(
            tenant,
            Trace(type="fact", fact=views.fact_view(fact), promoted_from_claim=origin),
            listed,
            collected,
            max_related=max_related,
            include_fragments=include_fragments,
        )

    async def trace_claim(
        self, tenant: Tenant, claim_id: UUID, *, max_related: int, include_fragments: bool
    ) -> Trace:
        """Trace of a claim.

        Raises:
            StrataError: ``claim_not_found``.
        """
        collected = _Collected()
        async with self._database.tenant(tenant) as unit:
            claims = await _claims(unit, [claim_id])
            if claim_id not in claims:
                raise claim_not_found()
            claim = claims[claim_id]
            if claim.fact_id is not None:
                for fact in await facts_repository.get_facts(unit, [claim.fact_id]):
                    collected.add("promotes_to_fact", "fact", fact, claim_id, fact["id"])
                for fact in await facts_repository.superseded_by(unit, claim.fact_id, max_related + 1):
                    collected.add("supersedes_fact", "fact", fact, claim_id, fact["id"])
            pairs = await claims_repository.conflicts_of(unit, claim_id=claim_id)
            for fact in await facts_repository.get_facts(unit, [fact for _, fact in pairs]):
                collected.add("contradicts_fact", "fact", fact, claim_id, fact["id"])
        return await self._trace(
            tenant,
            Trace(type="claim", claim=claim),
            [claim],
            collected,
            max_related=max_related,
            include_fragments=include_fragments,
        )

    async def _trace(
        self,
        tenant: Tenant,
        trace: Trace,
        claims: Sequence[ClaimView],
        collected: _Collected,
        *,
        max_related: int,
        include_fragments: bool,
    ) -> Trace:
        cited = list(dict.fromkeys(item.fragment_id for claim in claims for item in claim.evidence))
        edges = [
            Edge(relation="supported_by", source=claim.id, target=item.fragment_id)
            for claim in claims
            for item in claim.evidence
        ]
        chosen = cited[:MAX_FRAGMENTS]
        found = await self._fragments.get_stored(tenant, chosen)
        trace.supporting_claims = list(claims[:max_related]) if trace.type == "fact" else []
        trace.supporting_fragments = (
            [found[ref] for ref in chosen if ref in found] if include_fragments else []
        )
        trace.missing_fragment_ids = [ref for ref in chosen if ref not in found]
        trace.related = collected.related[:max_related]
        kept = {item.id for item in trace.related} | {claim.id for claim in claims}
        trace.edges = [
            edge for edge in (*edges, *collected.edges) if edge.source in kept or edge.target in kept
        ][: 4 * MAX_FRAGMENTS]
        trace.truncated = (
            len(cited) > len(chosen) or len(collected.related) > max_related or len(claims) > max_related
        )
        return trace


async def _claims(unit: UnitOfWork, ids: Sequence[UUID]) -> dict[UUID, ClaimView]:
    rows = await claims_repository.get_claims(unit, ids)
    evidence = views.by_claim(await claims_repository.get_evidence(unit, ids))
    return {row["id"]: views.claim_view(row, evidence.get(row["id"], ())) for row in rows}
