"""Use cases that make facts out of claims, or refuse to; each decides under locks, in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from app.db.unit_of_work import Database, UnitOfWork
from app.errors import StrataError
from app.indexing.models import Kind
from app.knowledge import claims_repository, facts_repository, promotion, views
from app.knowledge.claims import claim_not_found, claim_text
from app.knowledge.decisions import Prepared, Refused
from app.knowledge.fact_changes import supersede_fact
from app.knowledge.index import KnowledgeIndex, Vectors
from app.knowledge.policies import PredicatePolicy
from app.knowledge.predicates import policy_of
from app.knowledge.promotion import Candidate, Decision, Standing
from app.knowledge.schemas import ConfirmInput, ConfirmResult, FactView, PromotionResult
from app.knowledge.scope import Scope
from app.knowledge.support import active_verdict, claim_support
from app.memory.preparation import CLASSIFICATION_ORDERS
from app.tenancy import audit

_COPIED: Final = (
    "subject", "predicate", "object", "polarity", "subject_key", "source_quality", "source_type", "labels",
    "confidentiality", "retention", "pii", "extract_conf", "valid_from", "valid_to",
)  # fmt: skip


_STATE_OF: Final = {"reject": ("rejected", "rejected_weaker"), "dispute": ("disputed", "comparable_disputed")}


@dataclass(frozen=True, slots=True)
class _Case:
    """A claim under decision, with everything that the decision rests on; rows are locked."""

    claim: sa.RowMapping
    candidate: Candidate
    policy: PredicatePolicy
    facts: Sequence[sa.RowMapping]

    @property
    def score(self) -> float:
        return promotion.truth_score(self.policy, self.candidate)


class PromotionService:
    """Promotes claims, and settles their disputes."""

    def __init__(self, database: Database, index: KnowledgeIndex) -> None:
        self._database = database
        self._index = index

    async def prepare(self, scope: Scope, claim_id: UUID) -> Prepared:
        """Embed the statement of a claim; holds no connection meanwhile.

        Raises:
            StrataError: ``claim_not_found``, ``embedding_space_mismatch``.
            EmbedderUnavailable: the statement could not be embedded.
        """
        self._index.check_space(scope.space_id)
        async with self._database.tenant(scope.tenant) as unit:
            rows = await claims_repository.get_claims(unit, [claim_id])
        if not rows:
            raise claim_not_found()
        return Prepared(claim_id, await self._index.embed(claim_text(rows[0])))

    async def promote(self, unit: UnitOfWork, scope: Scope, prepared: Prepared) -> PromotionResult | Refused:
        """Let a validated claim through the gates, or tell why not. Repeating it returns the same fact.

        Raises:
            StrataError: ``claim_not_found``, ``needs_claim_validated``, ``predicate_not_policed``.
        """
        claim = await _locked_claim(unit, prepared.id)
        if claim["status"] == "superseded" and claim["fact_id"] is not None:
            return await _known(unit, claim)
        if claim["status"] != "validated":
            raise StrataError("needs_claim_validated", f"the claim is {claim['status']}, not validated")
        return await self._decided(unit, scope, claim, prepared.vectors)

    async def confirm(
        self, unit: UnitOfWork, scope: Scope, prepared: Prepared, data: ConfirmInput
    ) -> ConfirmResult | Refused:
        """Decide about a disputed claim; compare-and-set: on any other state, or other facts, nothing changes.

        ``accept_claim`` settles the conflict, not the gates: those the claim still has to pass.

        Raises:
            StrataError: ``claim_not_found``, ``conflict``, ``predicate_not_policed``.
        """
        claim = await _locked_claim(unit, prepared.id)
        if claim["status"] != "disputed":
            raise StrataError("conflict", f"the claim is {claim['status']}, not disputed")
        await facts_repository.lock_key(unit, claim["predicate"], claim["subject_key"])
        conflicts = [fact for _, fact in await claims_repository.open_conflicts(unit, [claim["id"]])]
        if data.conflicting_facts is not None and set(data.conflicting_facts) != set(conflicts):
            raise StrataError(
                "conflict", "other facts conflict with the claim by now; read them and decide again"
            )
        if data.decision == "accept_claim":
            outcome = await self._decided(unit, scope, claim, prepared.vectors, accepted_over=conflicts)
            if isinstance(outcome, Refused):
                return outcome
            await claims_repository.resolve_conflicts(unit, claim["id"], data.decision)
            await audit.record(unit, scope.actor, "claim.accept", "claim", claim["id"])
            return ConfirmResult(
                decision=data.decision,
                claim_id=claim["id"],
                claim_status="superseded",
                outcome=outcome.outcome,
                fact=outcome.fact,
                superseded=outcome.superseded,
            )
        await claims_repository.resolve_conflicts(unit, claim["id"], data.decision)
        await claims_repository.update_claim(unit, claim["id"], status="rejected")
        kept = None
        if data.decision == "keep_existing":
            kept = await _kept(unit, conflicts)
        await audit.record(unit, scope.actor, "claim.reject", "claim", claim["id"], decision=data.decision)
        return ConfirmResult(
            decision=data.decision,
            claim_id=claim["id"],
            claim_status="rejected",
            outcome="rejected",
            fact=kept,
        )

    async def _decided(
        self,
        unit: UnitOfWork,
        scope: Scope,
        claim: sa.RowMapping,
        vectors: Vectors,
        *,
        accepted_over: Sequence[UUID] | None = None,
    ) -> PromotionResult | Refused:
        """Decide by the rules; ``accepted_over``: somebody has preferred the claim over these facts."""
        policy = await policy_of(unit, claim["predicate"])
        evidence = await claims_repository.get_evidence(unit, [claim["id"]])
        candidate = _candidate(claim, evidence)
        if refusals := promotion.gate(policy, candidate):
            return Refused("gate_rejected", claim["id"], claim["status"], tuple(refusals))
        await facts_repository.lock_key(unit, claim["predicate"], claim["subject_key"])
        facts = await facts_repository.lock_standing(unit, claim["predicate"], claim["subject_key"])
        case = _Case(claim, candidate, policy, facts)
        standing = [Standing.of(row) for row in facts]
        if accepted_over is not None:
            rivals = promotion.rivals(policy, candidate, standing)
            if unseen := tuple(ref for ref in rivals if ref not in accepted_over):
                await claims_repository.add_conflicts(unit, claim["id"], unseen)
                return Refused("conflict", claim["id"], claim["status"], facts=unseen)
        accepted = accepted_over is not None
        decision = promotion.decide(policy, candidate, standing, accepted=accepted)
        if decision.action in _STATE_OF:
            return await self._turned_down(unit, scope, case, decision)
        return await self._let_through(unit, scope, case, decision, vectors)

    async def _turned_down(self, unit: UnitOfWork, scope: Scope, case: _Case, decision: Decision) -> Refused:
        status, code = _STATE_OF[decision.action]
        claim_id = case.claim["id"]
        await claims_repository.add_conflicts(unit, claim_id, decision.facts)
        if status == "rejected":
            await claims_repository.resolve_conflicts(unit, claim_id, "keep_existing")
        await claims_repository.update_claim(unit, claim_id, status=status)
        await self._index.remove(unit, claim_id)
        await audit.record(unit, scope.actor, f"claim.{code}", "claim", claim_id)
        return Refused(code, claim_id, status, facts=decision.facts)

    async def _let_through(
        self, unit: UnitOfWork, scope: Scope, case: _Case, decision: Decision, vectors: Vectors
    ) -> PromotionResult:
        at = await facts_repository.instant(unit)
        fact_id = decision.facts[0] if decision.action == "confirm" else uuid7()
        # First away with the old, then in with the new: the unique index allows no moment with both.
        for row in case.facts:
            if row["id"] in decision.superseded:
                await claims_repository.add_conflicts(unit, case.claim["id"], [row["id"]])
                await claims_repository.resolve_conflicts(unit, case.claim["id"], "accept_claim")
                begins = case.claim["valid_from"]
                await supersede_fact(unit, scope, self._index, row, fact_id, begins, at)
        if decision.action == "confirm":
            outcome = "confirmed"
            [row] = [row for row in case.facts if row["id"] == fact_id]
            await self._reaffirm(unit, scope, row, case, vectors, at)
        else:
            outcome = "promoted" if decision.action == "create" else "past"
            later = decision.facts[0] if decision.action == "past" else None
            await self._create(unit, scope, case, fact_id, vectors, at, later=later)
        await facts_repository.support_fact(unit, fact_id, case.claim["id"])
        await claims_repository.update_claim(unit, case.claim["id"], status="superseded", fact_id=fact_id)
        await self._index.remove(unit, case.claim["id"])
        await audit.record(
            unit,
            scope.actor,
            f"fact.{outcome}",
            "fact",
            fact_id,
            claim=str(case.claim["id"]),
            superseded=len(decision.superseded),
        )
        [stored] = await facts_repository.get_facts(unit, [fact_id])
        return PromotionResult(
            outcome=outcome,
            claim_id=case.claim["id"],
            claim_status="superseded",
            fact=views.fact_view(stored),
            superseded=list(decision.superseded),
        )

    async def _create(  # noqa: PLR0917 - one step of a decision
        self,
        unit: UnitOfWork,
        scope: Scope,
        case: _Case,
        fact_id: UUID,
        vectors: Vectors,
        at: datetime,
        *,
        later: UUID | None,
    ) -> None:
        """Make the fact; ``later``: the active fact of a later time that makes it a past one."""
        claim = case.claim
        active = later is None
        early = claim["recorded_at"] < claim["created_at"]
        slot = promotion.slot(case.policy, claim["object"], claim["polarity"], fact_id)
        first = not await facts_repository.has_facts(
            unit,
            claim["predicate"],
            claim["subject_key"],
            # Several values stand beside each other; where there is one alone, any other was believed before.
            None if case.policy.kind in promotion.ONE_VALUE else slot,
        )
        values = {
            **{name: claim[name] for name in _COPIED},
            "id": fact_id,
            "kind": case.policy.kind,
            "slot": slot,
            "status": "active" if active else "superseded",
            "authority_state": "authoritative",
            "truth_score": case.score,
            # A fact is believed from its promotion on. What a claim says about an earlier time of knowledge, as an
            # import does, can be told only where nothing was believed before.
            "recorded_at": claim["recorded_at"] if first and early else at,
            "recorded_to": None,
            "superseded_by": later,
            "promoted_from_claim_id": claim["id"],
        }
        if not await facts_repository.insert_fact(unit, values, at):
            raise StrataError("conflict", "another fact took this place meanwhile; repeat the request")
        if active:
            await self._index.add(unit, Kind.FACT, values, vectors, scope.text_search_config)

    async def _reaffirm(  # noqa: PLR0917 - one step of a decision
        self,
        unit: UnitOfWork,
        scope: Scope,
        fact: sa.RowMapping,
        case: _Case,
        vectors: Vectors,
        at: datetime,
    ) -> None:
        changes: dict[str, Any] = {
            "last_confirmed_at": at,
            "truth_score": max(fact["truth_score"], case.score),
            "source_quality": max(fact["source_quality"], case.claim["source_quality"]),
            **{
                name: max(fact[name], case.claim[name], key=order.index)
                for name, order in CLASSIFICATION_ORDERS.items()
            },
        }
        revived = fact["status"] != "active"
        if revived:
            changes |= {"status": "active", "truth_score": case.score}
        await facts_repository.change_fact(
            unit, fact, "revalidated" if revived else "confirmed", at, **changes
        )
        if revived:
            await self._index.add(unit, Kind.FACT, fact, vectors, scope.text_search_config)


async def _locked_claim(unit: UnitOfWork, claim_id: UUID) -> sa.RowMapping:
    await claims_repository.lock_evidence_of(unit, [claim_id])
    rows = await claims_repository.lock_claims(unit, [claim_id])
    if not rows:
        raise claim_not_found()
    return rows[0]


async def _known(unit: UnitOfWork, claim: sa.RowMapping) -> PromotionResult:
    [fact] = await facts_repository.get_facts(unit, [claim["fact_id"]])
    return PromotionResult(
        outcome="already_promoted",
        claim_id=claim["id"],
        claim_status=claim["status"],
        fact=views.fact_view(fact),
    )


async def _kept(unit: UnitOfWork, fact_ids: Sequence[UUID]) -> FactView | None:
    """Confirm the facts that were kept; the first of them."""
    kept = None
    for fact in await facts_repository.lock_facts(unit, fact_ids):
        if fact["status"] == "active":
            at = await facts_repository.instant(unit)
            await facts_repository.change_fact(unit, fact, "confirmed", at, last_confirmed_at=at)
            [stored] = await facts_repository.get_facts(unit, [fact["id"]])
            kept = kept or views.fact_view(stored)
    return kept


def _candidate(claim: sa.RowMapping, evidence: Sequence[sa.RowMapping]) -> Candidate:
    support = claim_support(evidence)
    names = (
        "subject", "predicate", "object", "polarity", "modality", "extract_conf", "resolution_conf", "valid_from",
        "valid_to",
    )  # fmt: skip
    return Candidate(
        **{name: claim[name] for name in names}, verdict=active_verdict(evidence), support=support
    )
