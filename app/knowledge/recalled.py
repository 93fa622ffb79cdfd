"""Facts and claims as recall ranks them: active and validated ones only, checked again where they are stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from app.db.unit_of_work import Database, ReadUnit, Statement, Tenant
from app.indexing.models import Kind
from app.knowledge import facts_repository, views
from app.knowledge.models import Claim
from app.knowledge.schemas import ClaimView, FactView
from app.knowledge.statements import StatementText, sentence_of

_CLAIM_COLUMNS: Final = tuple(column.name for column in Claim.__table__.c)
READ_VALIDATED: Final = (
    f"SELECT {', '.join(_CLAIM_COLUMNS)}, "  # noqa: S608 - names of our own columns
    "ARRAY(SELECT e.fragment_id FROM claim_evidence e WHERE e.team_id = claims.team_id AND e.claim_id = claims.id"
    " ORDER BY 1 LIMIT 50) AS evidence_ids"
    " FROM claims WHERE team_id = %s AND profile_id = %s AND id = ANY (%s)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledMemory:
    """An active fact or a validated claim.

    Attributes:
        text: The statement as a sentence, and the labels: what anchors and terms are looked for in.
        authority_state: ``authoritative`` or what keeps a fact from being that; empty for a claim.
        score: Truth score of a fact, extraction confidence of a claim; 0 to 1.
        evidence_ids: Fragments that it rests on, at most 50.
        view: The whole of it; evidence is left out.
    """

    kind: Kind
    id: UUID
    text: str
    status: str
    authority_state: str
    score: float
    labels: list[str]
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime
    recorded_to: datetime | None
    evidence_ids: list[UUID]
    view: FactView | ClaimView

    def holds(self, valid_at: datetime | None, known_at: datetime | None) -> bool:
        """Whether it holds at a time, and was known at a time; half-open, and a bound that is missing passes."""
        return _within(valid_at, self.valid_from, self.valid_to) and _within(
            known_at, self.recorded_at, self.recorded_to
        )


class RecalledService:
    """Reads what the typed branches of recall found."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, tenant: Tenant, kind: Kind, ids: Sequence[UUID]) -> dict[UUID, RecalledMemory]:
        """Facts or claims by id; those that are gone, or no longer active or validated, are left out."""
        if not ids:
            return {}
        async with self._database.reading(tenant) as unit:
            if kind is Kind.FACT:
                rows = await facts_repository.read_active(unit, ids)
                return {row["id"]: _fact(row) for row in rows}
            return {row["id"]: _claim(row) for row in await _read_validated(unit, ids)}


async def _read_validated(unit: ReadUnit, ids: Sequence[UUID]) -> list[dict[str, Any]]:
    parameters = (unit.tenant.team_id, unit.tenant.profile, list(ids))
    rows = await unit.fetch(Statement(READ_VALIDATED, parameters))
    claims = [dict(zip((*_CLAIM_COLUMNS, "evidence_ids"), row, strict=True)) for row in rows]
    return [claim for claim in claims if claim["status"] == "validated"]


def _fact(row: dict[str, Any]) -> RecalledMemory:
    return _memory(
        Kind.FACT, row, views.fact_view(row), authority=row["authority_state"], score=row["truth_score"]
    )


def _claim(row: dict[str, Any]) -> RecalledMemory:
    return _memory(Kind.CLAIM, row, views.claim_view(row), authority="", score=row["extract_conf"])


def _memory(
    kind: Kind, row: dict[str, Any], view: FactView | ClaimView, *, authority: str, score: float
) -> RecalledMemory:
    names = ("id", "status", "labels", "valid_from", "valid_to", "recorded_at", "recorded_to", "evidence_ids")
    return RecalledMemory(
        kind=kind,
        text=" ".join([sentence_of(StatementText.of(row)), *row["labels"]]),
        authority_state=authority,
        score=score,
        view=view,
        **{name: row[name] for name in names},
    )


def _within(at: datetime | None, start: datetime | None, end: datetime | None) -> bool:
    return at is None or ((start is None or start <= at) and (end is None or end > at))
