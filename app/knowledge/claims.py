"""Use cases of claims: create, read, verify, delete."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import msgspec
import sqlalchemy as sa
from uuid_utils.compat import uuid7

from app.db.unit_of_work import Database, Tenant, UnitOfWork
from app.errors import StrataError, invalid, not_found
from app.http.cursors import Page, page_of
from app.indexing.models import Kind
from app.knowledge import claims_repository as repository
from app.knowledge import views
from app.knowledge.index import KnowledgeIndex, Vectors
from app.knowledge.models import OPEN_STATUSES
from app.knowledge.schemas import ClaimCreated, ClaimInput, ClaimView, EvidenceInput
from app.knowledge.scope import Scope
from app.knowledge.statements import claim_hash, term_key
from app.knowledge.support import SupportKeeper, active_verdict
from app.knowledge.verification import ClaimText, EvidenceText, Judgement
from app.knowledge.verifiers import Verifier
from app.memory.preparation import CLASSIFICATION_ORDERS
from app.tenancy import audit

_SAID: Final = (
    "subject", "predicate", "object", "modality", "polarity", "speaker", "valid_from", "valid_to", "extract_conf",
    "resolution_conf", "labels", "extraction_model", "idempotency_key",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verified:
    """Judgements on the evidence of a claim, by fragment, and the vectors of its statement."""

    claim_id: UUID
    judgements: Mapping[UUID, Judgement]
    vectors: Vectors


class ClaimService:
    """Creates, reads, verifies and deletes claims. What writes takes a unit of work and does not commit."""

    def __init__(
        self, database: Database, index: KnowledgeIndex, verifier: Verifier, support: SupportKeeper
    ) -> None:
        self._database = database
        self._index = index
        self._verifier = verifier
        self._support = support

    async def create(self, unit: UnitOfWork, scope: Scope, data: ClaimInput) -> ClaimCreated:
        """Store a claim as a candidate, or add its evidence to the open claim that says the same.

        A claim that was rejected, or that has become a fact, is returned as it is when it brings no new evidence;
        with new evidence it is a new claim.

        Raises:
            StrataError: ``validation_failed``, ``supporting_fragment_missing``, ``idempotency_key_reused``.
        """
        cited = _cited(data)
        _check_times(data)
        fragments = await repository.lock_fragments(unit, sorted(cited))
        _check_evidence(cited, fragments)
        said = claim_hash(data, data.modality, data.valid_from)
        known = await repository.find_claim(unit, said, data.idempotency_key)
        if known is None or await self._is_closed_without(unit, known, data, cited):
            claim_id = uuid7()
            values = _values(data, said, [fragments[ref] for ref in cited])
            if await repository.insert_claim(unit, {"id": claim_id, **values}):
                await self._cite(unit, claim_id, cited, fragments)
                await audit.record(unit, scope.actor, "claim.create", "claim", claim_id, evidence=len(cited))
                return ClaimCreated(id=claim_id, duplicate=False, status="candidate")
            known = await repository.find_claim(unit, said, data.idempotency_key)
            if known is None:
                raise _changed_meanwhile()
        return await self._merged(unit, scope, known, data, cited, fragments, said)

    async def _is_closed_without(
        self, unit: UnitOfWork, known: sa.RowMapping, data: ClaimInput, cited: Mapping[UUID, Any]
    ) -> bool:
        """Whether a stored claim is closed and does not rest on the cited evidence."""
        by_key = data.idempotency_key is not None and known["idempotency_key"] == data.idempotency_key
        if by_key or known["status"] in OPEN_STATUSES:
            return False
        evidence = await repository.get_evidence(unit, [known["id"]])
        return not set(cited) <= {row["fragment_id"] for row in evidence}

    async def _merged(  # noqa: PLR0917 - one step of create
        self,
        unit: UnitOfWork,
        scope: Scope,
        known: sa.RowMapping,
        data: ClaimInput,
        cited: Mapping[UUID, EvidenceInput],
        fragments: Mapping[UUID, sa.RowMapping],
        said: bytes,
    ) -> ClaimCreated:
        if known["content_hash"] != said:
            raise StrataError("idempotency_key_reused", "this idempotency_key belongs to another claim")
        rows = await repository.lock_claims(unit, [known["id"]])
        if not rows:
            raise _changed_meanwhile()
        claim = rows[0]
        if claim["status"] in OPEN_STATUSES:
            added = await self._cite(unit, claim["id"], cited, fragments)
            sources = [fragments[ref] for ref in cited]
            await repository.update_claim(
                unit,
                claim["id"],
                source_quality=max(claim["source_quality"], *(row["source_quality"] for row in sources)),
                extract_conf=max(claim["extract_conf"], data.extract_conf),
                resolution_conf=max(claim["resolution_conf"], data.resolution_conf),
                **_strictest([claim, *sources], data),
            )
            if added:
                await audit.record(unit, scope.actor, "claim.support", "claim", claim["id"], evidence=added)
        return ClaimCreated(id=claim["id"], duplicate=True, status=claim["status"])

    async def _cite(
        self,
        unit: UnitOfWork,
        claim_id: UUID,
        cited: Mapping[UUID, EvidenceInput],
        fragments: Mapping[UUID, sa.RowMapping],
    ) -> int:
        rows = [
            {
                "fragment_id": ref,
                "span_start": item.span_start,
                "span_end": item.span_end,
                "speaker": item.speaker,
                "authority": fragments[ref]["authority"],
            }
            for ref, item in sorted(cited.items())
        ]
        return await repository.add_evidence(unit, claim_id, rows)

    async def get(self, tenant: Tenant, claim_id: UUID) -> ClaimView:
        """One claim with its evidence.

        Raises:
            StrataError: ``claim_not_found``.
        """
        async with self._database.tenant(tenant) as unit:
            return await self.read(unit, claim_id)

    async def read(self, unit: UnitOfWork, claim_id: UUID) -> ClaimView:
        """The same inside a transaction."""
        rows = await repository.get_claims(unit, [claim_id])
        if not rows:
            raise claim_not_found()
        return views.claim_view(rows[0], await repository.get_evidence(unit, [claim_id]))

    async def list_page(
        self,
        tenant: Tenant,
        *,
        after: UUID | None,
        limit: int,
        status: str | None,
        subject: str | None,
        predicate: str | None,
    ) -> Page[ClaimView]:
        """Claims with their evidence, oldest first."""
        async with self._database.tenant(tenant) as unit:
            rows = await repository.list_claims(
                unit,
                after=after,
                limit=limit + 1,
                status=status,
                subject_key=None if subject is None else term_key(subject),
                predicate=predicate,
            )
            evidence = views.by_claim(await repository.get_evidence(unit, [row["id"] for row in rows]))
        listed = [views.claim_view(row, evidence.get(row["id"], ())) for row in rows]
        return page_of(listed, limit, lambda claim: claim.id)

    async def prepare_verification(self, scope: Scope, claim_id: UUID) -> Verified:
        """Ask the verifier; holds no connection while it is asked.

        Raises:
            StrataError: ``claim_not_found``, or what the verifier raises; nothing has changed then.
            EmbedderUnavailable: the statement could not be embedded.
        """
        self._index.check_space(scope.space_id)
        async with self._database.tenant(scope.tenant) as unit:
            rows = await repository.get_claims(unit, [claim_id])
            if not rows:
                raise claim_not_found()
            evidence = await repository.get_evidence(unit, [claim_id])
        usable = [item for item in evidence if item["fragment_status"] == "active"]
        claim = claim_text(rows[0])
        judgements = await self._verifier.verify(claim, [_evidence_text(item) for item in usable])
        by_fragment = {
            item["fragment_id"]: judgement for item, judgement in zip(usable, judgements, strict=True)
        }
        return Verified(claim_id, by_fragment, await self._index.embed(claim))

    async def store_verification(self, unit: UnitOfWork, scope: Scope, verified: Verified) -> ClaimView:
        """Store what the verifier said, and move the claim: entailed to validated, contradicted to disputed.

        A claim that has become a fact keeps its state; its evidence is judged anew, for the fact's revalidation.

        Raises:
            StrataError: ``claim_not_found``, ``conflict`` for a rejected claim.
        """
        await repository.lock_evidence_of(unit, [verified.claim_id])
        rows = await repository.lock_claims(unit, [verified.claim_id])
        if not rows:
            raise claim_not_found()
        claim = rows[0]
        if claim["status"] == "rejected":
            raise StrataError("conflict", "a rejected claim is not verified again")
        for fragment_id, judgement in sorted(verified.judgements.items()):
            await repository.judge_evidence(
                unit,
                claim["id"],
                fragment_id,
                verdict=judgement.verdict,
                confidence=judgement.confidence,
                reasons=list(judgement.reasons),
                verifier=self._verifier.name,
            )
        verdict = active_verdict(await repository.get_evidence(unit, [claim["id"]]))
        status = await self._next_status(unit, claim, verdict)
        await repository.update_claim(
            unit,
            claim["id"],
            status=status,
            verdict=verdict,
            verifier=self._verifier.name,
            verified_at=sa.func.now(),
        )
        if status == "validated" != claim["status"]:
            await self._index.add(unit, Kind.CLAIM, claim, verified.vectors, scope.text_search_config)
        elif claim["status"] == "validated" != status:
            await self._index.remove(unit, claim["id"])
        await audit.record(
            unit, scope.actor, "claim.verify", "claim", claim["id"], verdict=verdict, status=status
        )
        if claim["status"] == "superseded":
            await self._support.recheck_facts_of(unit, scope.actor, [claim["id"]])
        return await self.read(unit, claim["id"])

    async def _next_status(self, unit: UnitOfWork, claim: sa.RowMapping, verdict: str) -> str:
        status: str = claim["status"]
        if status not in OPEN_STATUSES:
            return status
        if status == "disputed" and await repository.open_conflicts(unit, [claim["id"]]):
            return status
        if verdict == "entailed":
            return "validated"
        return "disputed" if verdict == "contradicted" else "candidate"

    async def delete(self, unit: UnitOfWork, scope: Scope, claim_id: UUID) -> None:
        """Delete a claim for good; facts that rested on it are checked again.

        Raises:
            StrataError: ``claim_not_found``.
        """
        await repository.lock_evidence_of(unit, [claim_id])
        if not await repository.lock_claims(unit, [claim_id]):
            raise claim_not_found()
        facts = await self._support.facts_of(unit, [claim_id])
        await repository.delete_claim(unit, claim_id)
        await self._index.remove(unit, claim_id)
        await audit.record(unit, scope.actor, "claim.delete", "claim", claim_id)
        await self._support.recheck_facts(unit, scope.actor, facts)


def claim_not_found() -> StrataError:
    """No such claim, or another profile's."""
    return StrataError("claim_not_found", not_found("claim").detail)


def _changed_meanwhile() -> StrataError:
    return StrataError("conflict", "the claim changed while it was being stored; repeat the request")


def claim_text(row: Any) -> ClaimText:
    """What a stored claim says."""
    return ClaimText(**{name: row[name] for name in ClaimText.__dataclass_fields__})


def _evidence_text(row: Any) -> EvidenceText:
    span = None if row["span_start"] is None else (row["span_start"], row["span_end"])
    times = (row["fragment_valid_from"], row["fragment_valid_to"], row["fragment_recorded_at"])
    return EvidenceText(
        content=row["fragment_content"],
        span=span,
        speaker=row["speaker"],
        times=tuple(moment for moment in times if moment is not None),
    )


def _cited(data: ClaimInput) -> dict[UUID, EvidenceInput]:
    cited = {
        ref: EvidenceInput(
            fragment_id=ref, span_start=data.span_start, span_end=data.span_end, speaker=data.speaker
        )
        for ref in data.supported_by
    }
    cited.update((item.fragment_id, item) for item in data.evidence)
    if not cited:
        raise invalid("supported_by", "must name at least one fragment")
    return cited


def _check_times(data: ClaimInput) -> None:
    if data.valid_from is not None and data.valid_to is not None and data.valid_to <= data.valid_from:
        raise invalid("valid_to", "must be after valid_from")
    if data.recorded_at is not None and data.recorded_at > datetime.now(UTC):
        raise invalid("recorded_at", "must not be in the future")


def _check_evidence(cited: Mapping[UUID, EvidenceInput], fragments: Mapping[UUID, sa.RowMapping]) -> None:
    missing = [ref for ref in cited if ref not in fragments or fragments[ref]["status"] != "active"]
    if missing:
        raise StrataError(
            "supporting_fragment_missing", f"{len(missing)} cited fragments are not there or retracted"
        )
    for ref, item in cited.items():
        start, end = item.span_start, item.span_end
        if (start is None) != (end is None):
            raise invalid("span_end", "and span_start must both be given or both be left out")
        if start is not None and end is not None and not start < end <= fragments[ref]["characters"]:
            raise invalid("span_end", "must be after span_start and within the fragment's content")


def _values(data: ClaimInput, said: bytes, fragments: Sequence[sa.RowMapping]) -> dict[str, Any]:
    values = {name: getattr(data, name) for name in _SAID}
    if data.recorded_at is not None:
        values["recorded_at"] = data.recorded_at
    return {
        **values,
        "content_hash": said,
        "subject_key": term_key(data.subject),
        "source_quality": max(row["source_quality"] for row in fragments),
        "source_type": fragments[0]["source_type"],
        **_strictest(fragments, data),
    }


def _strictest(rows: Sequence[sa.RowMapping], data: ClaimInput) -> dict[str, str]:
    """Each dimension of the classification at its strictest."""
    given = msgspec.structs.asdict(data.classification)
    return {
        name: max((given[name], *(row[name] for row in rows)), key=order.index)
        for name, order in CLASSIFICATION_ORDERS.items()
    }
