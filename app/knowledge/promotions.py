"""Use cases that make, confirm, supersede and revive facts; each decides under locks, in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from uuid_utils.compat import uuid7

from app.db.unit_of_work import Database, UnitOfWork
from app.errors import FieldError, StrataError, not_found
from app.indexing.models import Kind
from app.knowledge import claims_repository, facts_repository, promotion, views
from app.knowledge.claims import claim_not_found, claim_text
from app.knowledge.index import KnowledgeIndex, Vectors
from app.knowledge.policies import PredicatePolicy
from app.knowledge.predicates import policy_of
from app.knowledge.promotion import Candidate, Decision, Refusal, Standing
from app.knowledge.schemas import ConfirmInput, ConfirmResult, FactView, PromotionResult
from app.knowledge.scope import Scope
from app.knowledge.statements import StatementText
from app.knowledge.support import NO_SUPPORT, active_verdict, claim_support
from app.tenancy import audit

_COPIED: Final = (
    "subject", "predicate", "object", "polarity", "subject_key", "source_quality", "source_type", "labels",
    "confidentiality", "retention", "pii", "extract_conf", "valid_from", "valid_to",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prepared:
    """A claim or fact that is to be decided about, and the vectors of its statement."""

    id: UUID
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class Refused:
    """A claim that was not promoted: the problem code, why, and what that made of the claim.

    An outcome, not an exception: ``rejected_weaker`` and ``comparable_disputed`` change the claim, and the change is
    to be committed.
    """

    code: str
    claim_id: UUID
    claim_status: str
    reasons: tuple[Refusal, ...] = ()
    facts: tuple[UUID, ...] = ()

    def error(self) -> StrataError:
        """The problem that the caller is answered with."""
        errors = [FieldError(reason.gate, reason.message) for reason in self.reasons]
        errors += [FieldError("fact", str(fact)) for fact in self.facts]
        detail = (
            "; ".join(f"{reason.gate} {reason.message}" for reason in self.reasons) or _DETAILS[self.code]
        )
        return StrataError(self.code, detail, errors=tuple(errors))


_DETAILS: Final = {
    "rejected_weaker": "an active fact that excludes this claim has a higher truth score; the claim is rejected",
    "comparable_disputed": "an active fact that excludes this claim is about as well founded; the claim is disputed"
    " until somebody confirms one of them",
    "gate_rejected": "a gate refuses the claim",
}
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
    """Promotes and confirms claims, retracts and revalidates facts."""

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
        return await self._decided(unit, scope, claim, prepared.vectors, accepted=False)

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
        conflicts = [fact for _, fact in await claims_repository.open_conflicts(unit, [claim["id"]])]
        if data.conflicting_facts is not None and set(data.conflicting_facts) != set(conflicts):
            raise StrataError(
                "conflict", "other facts conflict with the claim by now; read them and decide again"
            )
        if data.decision == "accept_claim":
            outcome = await self._decided(unit, scope, claim, prepared.vectors, accepted=True)
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
        self, unit: UnitOfWork, scope: Scope, claim: sa.RowMapping, vectors: Vectors, *, accepted: bool
    ) -> PromotionResult | Refused:
        policy = await policy_of(unit, claim["predicate"])
        evidence = await claims_repository.get_evidence(unit, [claim["id"]])
        candidate = _candidate(claim, evidence)
        if refusals := promotion.gate(policy, candidate):
            return Refused("gate_rejected", claim["id"], claim["status"], tuple(refusals))
        await facts_repository.lock_key(unit, claim["predicate"], claim["subject_key"])
        facts = await facts_repository.lock_standing(unit, claim["predicate"], claim["subject_key"])
        case = _Case(claim, candidate, policy, facts)
        decision = promotion.decide(policy, candidate, [_standing(row) for row in facts], accepted=accepted)
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
                await self._supersede(unit, scope, row, fact_id, case.claim, at)
        if decision.action == "confirm":
            outcome = "confirmed"
            [row] = [row for row in case.facts if row["id"] == fact_id]
            await self._reaffirm(unit, scope, row, case, vectors, at)
        else:
            outcome = "promoted" if decision.action == "create" else "past"
            await self._create(unit, scope, case, fact_id, vectors, at, active=decision.action == "create")
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
        active: bool,
    ) -> None:
        claim = case.claim
        first = not await facts_repository.has_facts(unit, claim["predicate"], claim["subject_key"])
        values = {
            **{name: claim[name] for name in _COPIED},
            "id": fact_id,
            "kind": case.policy.kind,
            "slot": promotion.slot(case.policy, claim["object"], claim["polarity"], fact_id),
            "status": "active" if active else "superseded",
            "authority_state": "authoritative",
            "truth_score": case.score,
            # Knowledge of an earlier time can be told only where nothing was believed before.
            "recorded_at": min(at, claim["recorded_at"]) if first else at,
            "recorded_to": None,
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
        }
        revived = fact["status"] != "active"
        if revived:
            changes |= {"status": "active", "truth_score": case.score}
        await facts_repository.change_fact(
            unit, fact, "revalidated" if revived else "confirmed", at, **changes
        )
        if revived:
            await self._index.add(unit, Kind.FACT, fact, vectors, scope.text_search_config)

    async def _supersede(  # noqa: PLR0917 - one step of a decision
        self,
        unit: UnitOfWork,
        scope: Scope,
        fact: sa.RowMapping,
        successor: UUID,
        claim: sa.RowMapping,
        at: datetime,
    ) -> None:
        end = promotion.closed_validity(fact["valid_from"], fact["valid_to"], claim["valid_from"], at)
        await facts_repository.change_fact(
            unit,
            fact,
            "superseded",
            at,
            status="superseded",
            superseded_by=successor,
            valid_to=end,
            recorded_to=max(at, fact["recorded_at"]),
        )
        await claims_repository.add_conflicts(unit, claim["id"], [fact["id"]])
        await claims_repository.resolve_conflicts(unit, claim["id"], "accept_claim")
        await self._index.remove(unit, fact["id"])
        await audit.record(unit, scope.actor, "fact.supersede", "fact", fact["id"], by=str(successor))

    async def prepare_fact(self, scope: Scope, fact_id: UUID) -> Prepared:
        """Embed the statement of a fact; holds no connection meanwhile.

        Raises:
            StrataError: ``fact_not_found``, ``embedding_space_mismatch``.
            EmbedderUnavailable: the statement could not be embedded.
        """
        self._index.check_space(scope.space_id)
        async with self._database.tenant(scope.tenant) as unit:
            rows = await facts_repository.get_facts(unit, [fact_id])
        if not rows:
            raise fact_not_found()
        return Prepared(fact_id, await self._index.embed(StatementText.of(rows[0])))

    async def revalidate(self, unit: UnitOfWork, scope: Scope, prepared: Prepared) -> FactView | Refused:
        """Make a fact that waits for revalidation active again, if its support passes by now.

        Raises:
            StrataError: ``fact_not_found``, ``conflict`` for any other state or when an active fact excludes it.
        """
        found = await facts_repository.get_facts(unit, [prepared.id])
        if not found:
            raise fact_not_found()
        claims = await facts_repository.claims_behind(unit, prepared.id)
        await claims_repository.lock_evidence_of(unit, claims)
        await claims_repository.lock_claims(unit, claims)
        await facts_repository.lock_key(unit, found[0]["predicate"], found[0]["subject_key"])
        standing = await facts_repository.lock_standing(unit, found[0]["predicate"], found[0]["subject_key"])
        by_id = {row["id"]: row for row in standing}
        fact = by_id.get(prepared.id)
        if fact is None or fact["status"] != "needs_revalidation":
            raise StrataError("conflict", "the fact does not wait for revalidation")
        policy = await policy_of(unit, fact["predicate"])
        support = (await facts_repository.support_of(unit, [fact["id"]])).get(fact["id"], NO_SUPPORT)
        if not support.passes(policy):
            return Refused(
                "gate_rejected",
                fact["promoted_from_claim_id"],
                "superseded",
                (support_refusal(policy, support),),
            )
        if any(_excludes(policy, fact, row) for row in standing if row["status"] == "active"):
            raise StrataError("conflict", "an active fact excludes this one")
        at = await facts_repository.instant(unit)
        await facts_repository.change_fact(
            unit, fact, "revalidated", at, status="active", last_confirmed_at=at
        )
        await self._index.add(unit, Kind.FACT, fact, prepared.vectors, scope.text_search_config)
        await audit.record(unit, scope.actor, "fact.revalidate", "fact", fact["id"])
        [stored] = await facts_repository.get_facts(unit, [fact["id"]])
        return views.fact_view(stored)

    async def retract_fact(self, unit: UnitOfWork, scope: Scope, fact_id: UUID) -> FactView:
        """Withdraw a fact: its history stays, and it is never recalled again. Repeating it changes nothing.

        Raises:
            StrataError: ``fact_not_found``, ``conflict`` for a superseded fact.
        """
        rows = await facts_repository.lock_facts(unit, [fact_id])
        if not rows:
            raise fact_not_found()
        fact = rows[0]
        if fact["status"] == "superseded":
            raise StrataError("conflict", "a superseded fact is past already")
        if fact["status"] != "retracted":
            at = await facts_repository.instant(unit)
            ends = max(at, fact["recorded_at"])
            await facts_repository.change_fact(
                unit, fact, "retracted", at, status="retracted", retracted_at=at, recorded_to=ends
            )
            await self._index.remove(unit, fact_id)
            await audit.record(unit, scope.actor, "fact.retract", "fact", fact_id)
        [stored] = await facts_repository.get_facts(unit, [fact_id])
        return views.fact_view(stored)


def fact_not_found() -> StrataError:
    """No such fact, or another profile's."""
    return StrataError("fact_not_found", not_found("fact").detail)


def support_refusal(policy: PredicatePolicy, support: promotion.Support) -> Refusal:
    """The refusal of the support gate."""
    return Refusal("support", promotion.support_message(policy, support))


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


def _standing(fact: sa.RowMapping) -> Standing:
    return Standing(**{name: fact[name] for name in Standing.__dataclass_fields__})


def _excludes(policy: PredicatePolicy, fact: sa.RowMapping, other: sa.RowMapping) -> bool:
    """Whether two facts of one subject and predicate cannot both be active."""
    as_claim = Candidate(
        **{
            name: fact[name]
            for name in ("subject", "predicate", "object", "polarity", "valid_from", "valid_to")
        },
        modality="assertion",
        verdict="entailed",
        extract_conf=0,
        resolution_conf=0,
        support=NO_SUPPORT,
    )
    return promotion.relation(policy, as_claim, _standing(other)) != "unrelated"
