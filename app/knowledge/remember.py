"""Use case remember: evidence first and for good, then claims, each in transactions of its own.

A claim that fails costs neither its evidence nor the other claims. Every step may be repeated: fragments are recognised
by content, claims by what they say, promotion by its claim; so a run that was cut off is simply run again.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from app.db.unit_of_work import Database, Tenant, UnitOfWork
from app.embeddings.errors import EmbedderUnavailable
from app.errors import CODES, FieldError, StrataError, invalid, not_found
from app.http.bodies import decode_raw
from app.knowledge.claims import ClaimService
from app.knowledge.decisions import Refused
from app.knowledge.extractors import Extractor, Found
from app.knowledge.models import RememberRun
from app.knowledge.promotions import PromotionService
from app.knowledge.remember_schemas import (
    ClaimOutcome,
    ImportedEvidence,
    RememberedClaim,
    RememberedEvidence,
    RememberResult,
    RunRequest,
)
from app.knowledge.schemas import ClaimCreated, ClaimInput, ClaimView, EvidenceInput, PromotionResult
from app.knowledge.scope import Scope
from app.memory.schemas import BatchItem, ItemError
from app.memory.service import FragmentService, PreparedFragments
from app.tenancy.idempotency import WriteExecutor

LARGE_ITEMS: Final = 20
LARGE_BYTES: Final = 65_536
_OUTCOMES: Final = {
    "comparable_disputed": "clarification_required",
    "predicate_not_policed": "predicate_not_supported",
}
_CLIENT_ERRORS: Final = range(400, 500)


class RememberService:
    """Remembers evidence and what it says."""

    def __init__(
        self,
        *,
        database: Database,
        writes: WriteExecutor,
        fragments: FragmentService,
        claims: ClaimService,
        promotions: PromotionService,
        extractors: Mapping[str, Extractor],
    ) -> None:
        self._database = database
        self._writes = writes
        self._fragments = fragments
        self._claims = claims
        self._promotions = promotions
        self._extractors = extractors

    def check(self, request: RunRequest) -> None:
        """Refuse what this process cannot do.

        Raises:
            StrataError: ``validation_failed``: an extractor that is not configured.
        """
        if request.extraction != "none" and request.extraction not in self._extractors:
            raise invalid("extraction", f"{request.extraction} is not configured on this server")

    async def enqueue(self, unit: UnitOfWork, request: RunRequest, run_id: UUID) -> RememberResult:
        """Keep a large request until a worker takes it."""
        await self._save(unit, run_id, "queued", request, RememberResult(run_id=run_id, status="queued"))
        return RememberResult(run_id=run_id, status="queued")

    async def prepare(self, scope: Scope, request: RunRequest) -> PreparedFragments:
        """Decode and embed the evidence; holds no connection while it embeds.

        Raises:
            EmbedderUnavailable: the embedder is down, overloaded or too slow; nothing is stored.
        """
        return await self._fragments.prepare(scope.tenant, scope.space_id, _evidence(request))

    async def store(
        self,
        unit: UnitOfWork,
        scope: Scope,
        request: RunRequest,
        prepared: PreparedFragments,
        run_id: UUID,
    ) -> RememberResult:
        """Store the evidence and the run; from here on neither is lost."""
        stored = await self._fragments.store(unit, scope.actor, scope.text_search_config, prepared)
        items = [
            BatchItem(
                index=index,
                status="error" if item.error is not None else "duplicate" if item.duplicate else "created",
                id=item.id,
                duplicate=item.duplicate,
                error=None if item.error is None else _item_error(item.error),
            )
            for index, item in enumerate(stored)
        ]
        result = RememberResult(run_id=run_id, status="processing", evidence=items)
        await self._save(unit, result.run_id, "processing", request, result)
        return result

    async def process(self, scope: Scope, request: RunRequest, result: RememberResult) -> RememberResult:
        """Work through the claims of a run whose evidence is stored, and complete it."""
        known = await self.get(scope.tenant, result.run_id)
        if known.status == "completed":
            return known
        fragments = {item.index: item.id for item in result.evidence if item.id is not None}
        outcomes: list[ClaimOutcome] = []
        cited: set[int] = set()
        for index, raw in enumerate(request.claims):
            data = decode_raw(raw, RememberedClaim, f"claims[{index}]")
            if isinstance(data, StrataError):
                outcomes.append(_failed(index, [], "typed", data))
                continue
            cited |= set(data.evidence)
            outcomes.append(await self._typed(scope, request, index, data, fragments))
        outcomes += await self._extracted(scope, request, fragments, cited)
        result = msgspec.structs.replace(result, status="completed", claims=outcomes)
        async with self._database.tenant(scope.tenant) as unit:
            await unit.execute(
                sa.update(RememberRun)
                # Who completes a run first has told its outcome; a repetition under way changes nothing.
                .where(*_is(unit, result.run_id), RememberRun.status != "completed")
                .values(status="completed", request=None, result=_stored(result), completed_at=sa.func.now())
            )
        return await self.get(scope.tenant, result.run_id)

    async def resume(self, scope: Scope, run_id: UUID) -> RememberResult:
        """Run a queued or cut-off run from where its durable state is; a completed one is returned.

        Raises:
            StrataError: ``not_found``.
        """
        row = await self._row(scope.tenant, run_id)
        if row.status == "completed":
            return _view(row)
        request = msgspec.json.decode(row.request, type=RunRequest)
        result = _view(row)
        if row.status == "queued":
            result = await self._writes.run(
                scope.tenant,
                None,
                RememberResult,
                prepare=lambda: self.prepare(scope, request),
                store=lambda unit, prepared: self.store(unit, scope, request, prepared, run_id),
            )
        return await self.process(scope, request, result)

    async def get(self, tenant: Tenant, run_id: UUID) -> RememberResult:
        """A run with the outcomes so far.

        Raises:
            StrataError: ``not_found``.
        """
        return _view(await self._row(tenant, run_id))

    async def _row(self, tenant: Tenant, run_id: UUID) -> sa.Row[Any]:
        async with self._database.tenant(tenant) as unit:
            row = (
                await unit.execute(sa.select(*RememberRun.__table__.c).where(*_is(unit, run_id)))
            ).one_or_none()
        if row is None:
            raise not_found("run")
        return row

    async def _save(
        self, unit: UnitOfWork, run_id: UUID, status: str, request: RunRequest, result: RememberResult
    ) -> None:
        values = {
            "status": status,
            "request": msgspec.json.encode(request),
            "result": _stored(result),
        }
        statement = pg.insert(RememberRun).values(
            team_id=unit.tenant.team_id, profile_id=unit.tenant.profile, id=run_id, **values
        )
        await unit.execute(statement.on_conflict_do_update(index_elements=["team_id", "id"], set_=values))

    async def _typed(
        self,
        scope: Scope,
        request: RunRequest,
        index: int,
        data: RememberedClaim,
        fragments: Mapping[int, UUID],
    ) -> ClaimOutcome:
        missing = [position for position in data.evidence if position not in fragments]
        if missing:
            error = invalid(f"claims[{index}].evidence", "names evidence that was not stored")
            return _failed(index, data.evidence, "typed", error)
        refs = [
            EvidenceInput(
                fragment_id=fragments[position],
                span_start=data.span_start,
                span_end=data.span_end,
                speaker=data.speaker,
            )
            for position in dict.fromkeys(data.evidence)
        ]
        fields = {
            name: getattr(data, name)
            for name in RememberedClaim.__struct_fields__
            if name not in ("evidence", "span_start", "span_end")
        }
        claim = ClaimInput(**fields, evidence=refs)
        return await self._worked(scope, request, ClaimOutcome(
            index=index, evidence=data.evidence, origin="typed", outcome="candidate"
        ), claim)  # fmt: skip

    async def _extracted(
        self, scope: Scope, request: RunRequest, fragments: Mapping[int, UUID], cited: set[int]
    ) -> list[ClaimOutcome]:
        if request.extraction == "none":
            return []
        extractor = self._extractors[request.extraction]
        outcomes = []
        for position, item in enumerate(_evidence(request)):
            if position in cited or position not in fragments or isinstance(item, StrataError):
                continue
            try:
                found = await extractor.extract(item.content)
            except StrataError as error:
                outcomes.append(_failed(None, [position], "extracted", error))
                continue
            for read in found:
                claim = _claim_of(read, fragments[position])
                if isinstance(claim, StrataError):
                    outcomes.append(_failed(None, [position], "extracted", claim))
                    continue
                base = ClaimOutcome(index=None, evidence=[position], origin="extracted", outcome="candidate")
                outcomes.append(await self._worked(scope, request, base, claim))
        return outcomes

    async def _worked(
        self, scope: Scope, request: RunRequest, outcome: ClaimOutcome, data: ClaimInput
    ) -> ClaimOutcome:
        """Create, verify and, if asked for, promote one claim; how far it came is its outcome."""
        try:
            created = await self._writes.run(
                scope.tenant,
                None,
                ClaimCreated,
                prepare=_nothing,
                store=lambda unit, _: self._claims.create(unit, scope, data),
            )
            outcome.claim_id = created.id
            outcome.outcome = created.status
            if outcome.outcome in ("rejected", "superseded"):
                return await self._as_known(scope, outcome, created.id)
            verified = await self._writes.run(
                scope.tenant,
                None,
                ClaimView,
                prepare=lambda: self._claims.prepare_verification(scope, created.id),
                store=lambda unit, judged: self._claims.store_verification(unit, scope, judged),
            )
            outcome.outcome = verified.status
            if request.auto_promote and outcome.outcome == "validated":
                await self._promoted(scope, outcome, created.id)
        except (StrataError, EmbedderUnavailable) as error:
            _note(outcome, error)
        return outcome

    async def _as_known(self, scope: Scope, outcome: ClaimOutcome, claim_id: UUID) -> ClaimOutcome:
        claim = await self._claims.get(scope.tenant, claim_id)
        outcome.fact_id = claim.fact_id
        if claim.fact_id is not None:
            outcome.outcome = "already_promoted"
        return outcome

    async def _promoted(self, scope: Scope, outcome: ClaimOutcome, claim_id: UUID) -> None:
        done = await self._writes.run(
            scope.tenant,
            None,
            object,
            prepare=lambda: self._promotions.prepare(scope, claim_id),
            store=lambda unit, prepared: self._promotions.promote(unit, scope, prepared),
        )
        if isinstance(done, Refused):
            outcome.outcome = _OUTCOMES.get(done.code, done.code)
            outcome.reasons = [FieldError(reason.gate, reason.message) for reason in done.reasons]
        elif isinstance(done, PromotionResult):
            outcome.outcome = done.outcome
            outcome.fact_id = done.fact.id


async def _nothing() -> None:
    """Preparation of a write that needs none."""


def _evidence(request: RunRequest) -> Sequence[RememberedEvidence | ImportedEvidence | StrataError]:
    kind: Any = RememberedEvidence if request.form == "remember" else ImportedEvidence
    return [decode_raw(raw, kind, f"evidence[{index}]") for index, raw in enumerate(request.evidence)]


def _claim_of(read: Found, fragment_id: UUID) -> ClaimInput | StrataError:
    """What was read as a claim's body, held to the same limits as one that was sent."""
    body = ClaimInput(**read.fields, evidence=[read.cited(fragment_id, None)])
    return decode_raw(msgspec.Raw(msgspec.json.encode(body)), ClaimInput, "claim")


def _note(outcome: ClaimOutcome, error: StrataError | EmbedderUnavailable) -> None:
    if isinstance(error, EmbedderUnavailable):
        error = StrataError("embedder_unavailable", "the embedder did not answer; repeat the request")
    status = CODES[error.code].status
    failed = (
        "invalid" if status in _CLIENT_ERRORS and status != HTTPStatus.TOO_MANY_REQUESTS else "claim_error"
    )
    outcome.outcome = _OUTCOMES.get(error.code, failed)
    outcome.error = _item_error(error)


def _failed(index: int | None, evidence: list[int], origin: Any, error: StrataError) -> ClaimOutcome:
    outcome = ClaimOutcome(index=index, evidence=evidence, origin=origin, outcome="invalid")
    _note(outcome, error)
    return outcome


def _item_error(error: StrataError) -> ItemError:
    return ItemError(code=error.code, detail=error.detail, errors=list(error.errors))


def _is(unit: UnitOfWork, run_id: UUID) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        RememberRun.team_id == unit.tenant.team_id,
        RememberRun.profile_id == unit.tenant.profile,
        RememberRun.id == run_id,
    )


class _Kept(msgspec.Struct):
    """What is stored of a result."""

    evidence: list[BatchItem]
    claims: list[ClaimOutcome]


def _stored(result: RememberResult) -> bytes:
    return msgspec.json.encode(_Kept(result.evidence, result.claims))


def _view(row: sa.Row[Any]) -> RememberResult:
    kept = msgspec.json.decode(row.result, type=_Kept)
    return RememberResult(
        run_id=row.id,
        status=row.status,
        evidence=kept.evidence,
        claims=kept.claims,
        created_at=row.created_at,
        completed_at=row.completed_at,
    )
