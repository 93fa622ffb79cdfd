"""Reads of facts and clarifications."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from app.db.unit_of_work import Database, Tenant, UnitOfWork
from app.http.cursors import Page, page_of
from app.knowledge import claims_repository, facts_repository, views
from app.knowledge.decisions import fact_not_found
from app.knowledge.facts_repository import FactPage
from app.knowledge.schemas import Clarification, FactHistory, FactView, Triple
from app.knowledge.statements import StatementText, sentence_of, term_key

_SETTLED: Final = "What it conflicted with is no longer believed."


class FactService:
    """Answers what is, and was, believed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, tenant: Tenant, fact_id: UUID) -> FactView:
        """One fact as it stands.

        Raises:
            StrataError: ``fact_not_found``.
        """
        async with self._database.tenant(tenant) as unit:
            rows = await facts_repository.get_facts(unit, [fact_id])
        if not rows:
            raise fact_not_found()
        return views.fact_view(rows[0])

    async def history(
        self, tenant: Tenant, fact_id: UUID, *, valid_at: datetime | None, known_at: datetime | None
    ) -> FactHistory:
        """A fact as it stands, and its versions: those known by a time, those that say it held at a time.

        Raises:
            StrataError: ``fact_not_found``.
        """
        async with self._database.tenant(tenant) as unit:
            rows = await facts_repository.get_facts(unit, [fact_id])
            versions = await facts_repository.list_versions(
                unit, fact_id, valid_at=valid_at, known_at=known_at
            )
        if not rows:
            raise fact_not_found()
        return FactHistory(
            fact=views.fact_view(rows[0]), versions=[views.version_view(row) for row in versions]
        )

    async def list_page(
        self,
        tenant: Tenant,
        *,
        after: UUID | None,
        limit: int,
        status: str | None,
        subject: str | None,
        predicate: str | None,
        valid_at: datetime | None,
        known_at: datetime | None,
    ) -> Page[FactView]:
        """Facts by id; with a time, those believed at ``known_at`` to hold at ``valid_at`` (``status`` has no say)."""
        page = FactPage(
            subject_key=None if subject is None else term_key(subject),
            predicate=predicate,
            after=after,
            limit=limit + 1,
        )
        async with self._database.tenant(tenant) as unit:
            if valid_at is None and known_at is None:
                rows = await facts_repository.list_facts(unit, page, status=status)
            else:
                rows = await facts_repository.list_facts_as_of(
                    unit, page, valid_at=valid_at, known_at=known_at
                )
        return page_of([views.fact_view(row) for row in rows], limit, lambda fact: fact.id)

    async def clarifications(
        self,
        tenant: Tenant,
        *,
        after: UUID | None,
        limit: int,
        subject: str | None,
        predicate: str | None,
    ) -> Page[Clarification]:
        """Open questions, oldest first, about a subject or a predicate if one is named."""
        async with self._database.tenant(tenant) as unit:
            rows = await claims_repository.list_claims(
                unit,
                status="disputed",
                subject_key=None if subject is None else term_key(subject),
                predicate=predicate,
                after=after,
                limit=limit + 1,
            )
            listed = await _clarifications(unit, rows)
        return page_of(listed, limit, lambda item: item.claim_id)

    async def clarifications_about(
        self, tenant: Tenant, fact_ids: Collection[UUID], limit: int = 10
    ) -> list[Clarification]:
        """Open questions that some of these facts are part of: what a recall that found them should ask."""
        if not fact_ids:
            return []
        async with self._database.tenant(tenant) as unit:
            claim_ids = await claims_repository.disputing(unit, list(fact_ids), limit)
            return await _clarifications(unit, await claims_repository.get_claims(unit, claim_ids))


async def _clarifications(unit: UnitOfWork, claims: Sequence[Any]) -> list[Clarification]:
    conflicts: dict[UUID, list[UUID]] = {}
    for claim_id, fact_id in await claims_repository.open_conflicts(unit, [row["id"] for row in claims]):
        conflicts.setdefault(claim_id, []).append(fact_id)
    wanted = sorted({fact_id for ids in conflicts.values() for fact_id in ids})
    facts = {row["id"]: row for row in await facts_repository.get_facts(unit, wanted)}
    return [
        _clarification(row, [facts[ref] for ref in conflicts.get(row["id"], []) if ref in facts])
        for row in claims
    ]


def _clarification(claim: Any, facts: Sequence[Any]) -> Clarification:
    said = StatementText.of(claim)
    if facts:
        others = "; ".join(sentence_of(StatementText.of(row)) for row in facts)
        question = f"Which is so: {sentence_of(said)}, or {others}?"
    else:
        why = "Its evidence contradicts it." if claim["verdict"] == "contradicted" else _SETTLED
        question = f"Is it so: {sentence_of(said)}? {why}"
    return Clarification(
        id=f"clarify:{claim['id']}",
        type="memory_conflict",
        question=question,
        claim_id=claim["id"],
        candidate=Triple(
            subject=said.subject, predicate=said.predicate, object=said.object, polarity=said.polarity
        ),
        conflicting_facts=[views.fact_view(row) for row in facts],
        options=["accept_claim", "keep_existing", "reject_claim"],
    )
