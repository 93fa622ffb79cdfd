"""What happens to claims and facts when their evidence goes: in the same transaction, before anybody can look."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from app.db.unit_of_work import UnitOfWork
from app.knowledge import claims_repository, facts_repository
from app.knowledge.index import KnowledgeIndex
from app.knowledge.predicates import policy_of
from app.knowledge.promotion import Support
from app.knowledge.verification import combined
from app.tenancy import audit
from app.tenancy.audit import Actor

NO_SUPPORT = Support(0, 0.0)


def is_active(evidence: Any) -> bool:
    """Whether a piece of evidence still counts: its fragment is there and not retracted."""
    return bool(evidence["fragment_status"] == "active")


def active_verdict(evidence: Sequence[Any]) -> str:
    """Verdict of a claim out of its active evidence that was verified."""
    return combined([row["verdict"] for row in evidence if is_active(row) and row["verdict"] is not None])


def claim_support(evidence: Sequence[Any]) -> Support:
    """Active evidence that entails a claim."""
    entailing = [row for row in evidence if is_active(row) and row["verdict"] == "entailed"]
    return Support(len(entailing), max((row["fragment_quality"] for row in entailing), default=0.0))


class SupportKeeper:
    """Sees to it that no fact outside ``needs_revalidation`` lacks the support that its predicate wants."""

    def __init__(self, index: KnowledgeIndex) -> None:
        self._index = index

    async def fragment_withdrawn(self, unit: UnitOfWork, actor: Actor, fragment_id: UUID) -> None:
        """A fragment was retracted or deleted in this transaction: judge again everything that rests on it."""
        claim_ids = await claims_repository.claims_citing(unit, fragment_id)
        if not claim_ids:
            return
        claims = await claims_repository.lock_claims(unit, claim_ids)
        evidence: dict[UUID, list[Any]] = {}
        for row in await claims_repository.get_evidence(unit, claim_ids):
            evidence.setdefault(row["claim_id"], []).append(row)
        for claim in claims:
            rows = evidence.get(claim["id"], [])
            verdict = active_verdict(rows)
            qualities = [row["fragment_quality"] for row in rows if is_active(row)]
            values: dict[str, Any] = {"verdict": verdict, "source_quality": max(qualities, default=0.0)}
            if claim["status"] == "validated" and verdict != "entailed":
                values["status"] = "disputed" if verdict == "contradicted" else "candidate"
                await self._index.remove(unit, claim["id"])
                await audit.record(
                    unit, actor, "claim.lost_support", "claim", claim["id"], status=values["status"]
                )
            await claims_repository.update_claim(unit, claim["id"], **values)
        await self.recheck_facts_of(unit, actor, claim_ids)

    async def facts_of(self, unit: UnitOfWork, claim_ids: Sequence[UUID]) -> list[UUID]:
        """Facts that claims stand behind."""
        return await facts_repository.facts_resting_on(unit, claim_ids)

    async def recheck_facts_of(self, unit: UnitOfWork, actor: Actor, claim_ids: Sequence[UUID]) -> None:
        """Check the facts that claims stand behind."""
        await self.recheck_facts(unit, actor, await self.facts_of(unit, claim_ids))

    async def recheck_facts(self, unit: UnitOfWork, actor: Actor, fact_ids: Sequence[UUID]) -> None:
        """Turn facts whose remaining support does not pass into ``needs_revalidation``, past ones too."""
        if not fact_ids:
            return
        facts = await facts_repository.lock_facts(unit, fact_ids)
        support = await facts_repository.support_of(unit, fact_ids)
        for fact in facts:
            if fact["status"] not in ("active", "superseded"):
                continue
            policy = await policy_of(unit, fact["predicate"])
            if support.get(fact["id"], NO_SUPPORT).passes(policy):
                continue
            at = await facts_repository.instant(unit)
            await facts_repository.change_fact(unit, fact, "support_lost", at, status="needs_revalidation")
            await self._index.remove(unit, fact["id"])
            await audit.record(unit, actor, "fact.needs_revalidation", "fact", fact["id"])
