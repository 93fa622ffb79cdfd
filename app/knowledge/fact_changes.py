"""Use cases that change a fact without a new claim: revalidate, retract, supersede. What writes does not commit."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa

from app.db.unit_of_work import Database, UnitOfWork
from app.errors import StrataError
from app.indexing.models import Kind
from app.knowledge import claims_repository, facts_repository, promotion, views
from app.knowledge.decisions import Prepared, Refused, fact_not_found
from app.knowledge.index import KnowledgeIndex
from app.knowledge.policies import PredicatePolicy
from app.knowledge.predicates import policy_of
from app.knowledge.promotion import Candidate, Refusal, Standing
from app.knowledge.schemas import FactView, SupersedeInput
from app.knowledge.scope import Scope
from app.knowledge.statements import StatementText
from app.knowledge.support import NO_SUPPORT
from app.tenancy import audit


class FactChangeService:
    """Revalidates, retracts and supersedes facts."""

    def __init__(self, database: Database, index: KnowledgeIndex) -> None:
        self._database = database
        self._index = index

    async def prepare(self, scope: Scope, fact_id: UUID) -> Prepared:
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
        """Give a fact that waits for revalidation its state back, if its support passes by now.

        A fact that was active is active again; one that had been superseded is superseded again.

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
        rows = await facts_repository.lock_facts(unit, [prepared.id])
        if not rows:
            raise fact_not_found()
        fact = rows[0]
        if fact["status"] != "needs_revalidation":
            raise StrataError("conflict", f"the fact is {fact['status']}, it does not wait for revalidation")
        policy = await policy_of(unit, fact["predicate"])
        support = (await facts_repository.support_of(unit, [fact["id"]])).get(fact["id"], NO_SUPPORT)
        if not support.passes(policy):
            refusal = Refusal("support", promotion.support_message(policy, support))
            return Refused("gate_rejected", fact["promoted_from_claim_id"], "superseded", (refusal,))
        at = await facts_repository.instant(unit)
        if fact["superseded_by"] is not None:
            await facts_repository.change_fact(unit, fact, "revalidated", at, status="superseded")
        else:
            _check_free(policy, fact, standing)
            await facts_repository.change_fact(
                unit, fact, "revalidated", at, status="active", last_confirmed_at=at
            )
            await self._index.add(unit, Kind.FACT, fact, prepared.vectors, scope.text_search_config)
        await audit.record(unit, scope.actor, "fact.revalidate", "fact", fact["id"])
        return await _read(unit, fact["id"])

    async def retract(self, unit: UnitOfWork, scope: Scope, fact_id: UUID) -> FactView:
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
            await claims_repository.end_conflicts_with(unit, fact_id)
            await self._index.remove(unit, fact_id)
            await audit.record(unit, scope.actor, "fact.retract", "fact", fact_id)
        return await _read(unit, fact_id)

    async def supersede(
        self, unit: UnitOfWork, scope: Scope, fact_id: UUID, data: SupersedeInput
    ) -> FactView:
        """Let an active fact of the same profile take the place of another, whatever their predicates.

        Raises:
            StrataError: ``self_supersession``, ``fact_not_found`` for either, ``conflict`` when the one is past already
                or the other is not active.
        """
        if data.by == fact_id:
            raise StrataError("self_supersession", "a fact cannot be superseded by itself")
        rows = {row["id"]: row for row in await facts_repository.lock_facts(unit, [fact_id, data.by])}
        if len(rows) < 2:  # noqa: PLR2004 - the one and the other
            raise fact_not_found()
        fact, successor = rows[fact_id], rows[data.by]
        if fact["status"] not in ("active", "needs_revalidation") or fact["superseded_by"] is not None:
            raise StrataError("conflict", "the fact is past already")
        if successor["status"] != "active":
            raise StrataError("conflict", f"the fact that is to replace it is {successor['status']}")
        at = await facts_repository.instant(unit)
        begins = data.valid_to or successor["valid_from"]
        await supersede_fact(unit, scope, self._index, fact, successor["id"], begins, at)
        return await _read(unit, fact_id)


async def supersede_fact(  # noqa: PLR0917 - one step of a decision
    unit: UnitOfWork,
    scope: Scope,
    index: KnowledgeIndex,
    fact: sa.RowMapping,
    successor: UUID,
    begins: datetime | None,
    at: datetime,
) -> None:
    """Make a locked fact past: valid until its successor ``begins``, believed until ``at``.

    One that waits for revalidation is past too, and goes on waiting: nothing supports that it ever was so.
    """
    end = promotion.closed_validity(fact["valid_from"], fact["valid_to"], begins, at)
    await facts_repository.change_fact(
        unit,
        fact,
        "superseded",
        at,
        status="superseded" if fact["status"] == "active" else fact["status"],
        superseded_by=successor,
        valid_to=end,
        recorded_to=max(at, fact["recorded_at"]),
    )
    await claims_repository.end_conflicts_with(unit, fact["id"])
    await index.remove(unit, fact["id"])
    await audit.record(unit, scope.actor, "fact.supersede", "fact", fact["id"], by=str(successor))


async def _read(unit: UnitOfWork, fact_id: UUID) -> FactView:
    [stored] = await facts_repository.get_facts(unit, [fact_id])
    return views.fact_view(stored)


def _check_free(policy: PredicatePolicy, fact: sa.RowMapping, standing: Sequence[sa.RowMapping]) -> None:
    """Refuse to revive a fact beside an active one with which it cannot be active."""
    names = ("subject", "predicate", "object", "polarity", "valid_from", "valid_to")
    as_claim = Candidate(
        **{name: fact[name] for name in names},
        modality="assertion",
        verdict="entailed",
        extract_conf=0,
        resolution_conf=0,
        support=NO_SUPPORT,
    )
    for row in standing:
        if (
            row["status"] == "active"
            and promotion.relation(policy, as_claim, Standing.of(row)) != "unrelated"
        ):
            raise StrataError("conflict", "an active fact excludes this one")
