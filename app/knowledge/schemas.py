"""Request and response bodies of claims, facts, clarifications and lineage."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from app.http.fields import PREDICATE_PATTERN, TEXT_PATTERN, IdempotencyKey, Instant, Labels, Source
from app.knowledge.policies import KINDS
from app.memory.schemas import Classification, FragmentView

Subject = Annotated[str, Meta(min_length=1, max_length=256, pattern=TEXT_PATTERN)]
Predicate = Annotated[str, Meta(min_length=1, max_length=128, pattern=PREDICATE_PATTERN)]
Object = Annotated[str, Meta(min_length=1, max_length=1_024, pattern=TEXT_PATTERN)]
Confidence = Annotated[float, Meta(ge=0, le=1)]
Offset = Annotated[int, Meta(ge=0, le=65_536)]
Modality = Literal["assertion", "question", "proposal", "speculation", "quoted"]
Polarity = Literal["+", "-"]
# Checked by the service, so that an unknown kind is told by a code of its own.
PolicyKind = Annotated[str, Meta(max_length=64, extra_json_schema={"enum": list(KINDS)})]
ClaimStatus = Literal["candidate", "validated", "disputed", "rejected", "superseded"]
FactStatus = Literal["active", "superseded", "retracted", "needs_revalidation"]
Decision = Literal["accept_claim", "keep_existing", "reject_claim"]
MAX_EVIDENCE = 20


class EvidenceInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A fragment that a claim cites; ``span_start`` and ``span_end`` (exclusive) are characters of its content."""

    fragment_id: UUID
    span_start: Offset | None = None
    span_end: Offset | None = None
    speaker: Source | None = None


class StatementInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a claim says, and how surely it was extracted (``extract_conf``) and resolved (``resolution_conf``)."""

    subject: Subject
    predicate: Predicate
    object: Object
    modality: Modality = "assertion"
    polarity: Polarity = "+"
    speaker: Source | None = None
    span_start: Offset | None = None
    span_end: Offset | None = None
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    recorded_at: Instant | None = None
    extract_conf: Confidence = 0.75
    resolution_conf: Confidence = 0.75
    labels: Labels = []
    # The least of each; a default value here would be documented as that of every classification.
    classification: Classification = msgspec.field(
        default_factory=lambda: Classification(confidentiality="public", retention="ephemeral")
    )
    extraction_model: Source | None = None
    idempotency_key: IdempotencyKey | None = None


class ClaimInput(StatementInput, kw_only=True):
    """A claim with its evidence: ids in ``supported_by``, or ``evidence`` where spans or speakers are known.

    ``span_start`` and ``span_end`` of the claim itself apply to the ids in ``supported_by``. The classification is
    raised to the strictest of the evidence.
    """

    supported_by: Annotated[list[UUID], Meta(max_length=MAX_EVIDENCE)] = []
    evidence: Annotated[list[EvidenceInput], Meta(max_length=MAX_EVIDENCE)] = []


class ClaimCreated(msgspec.Struct, kw_only=True):
    """The claim's id; ``duplicate`` when it was there before (new evidence is added to an open one)."""

    id: UUID
    duplicate: bool
    status: str


class EvidenceView(msgspec.Struct, kw_only=True):
    """A cited fragment; ``verdict`` is null until it was verified, ``available`` false once it is retracted or gone."""

    fragment_id: UUID
    span_start: int | None
    span_end: int | None
    speaker: str | None
    authority: str
    verdict: str | None
    reasons: list[str]
    confidence: float | None
    verifier: str | None
    verified_at: datetime | None
    available: bool


class ClaimView(msgspec.Struct, kw_only=True):
    """A claim as it stands."""

    id: UUID
    profile_id: UUID
    subject: str
    predicate: str
    object: str
    modality: str
    polarity: str
    speaker: str | None
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime
    recorded_to: datetime | None
    extract_conf: float
    resolution_conf: float
    source_quality: float
    labels: list[str]
    extraction_model: str | None
    classification: Classification
    status: str
    verdict: str
    verifier: str | None
    verified_at: datetime | None
    fact_id: UUID | None
    idempotency_key: str | None
    created_at: datetime
    updated_at: datetime
    evidence: list[EvidenceView] = []


class FactView(msgspec.Struct, kw_only=True):
    """A fact as it stands, or, when times were asked for, as it was believed then."""

    id: UUID
    profile_id: UUID
    subject: str
    predicate: str
    object: str
    polarity: str
    kind: str
    status: str
    authority_state: str
    truth_score: float
    source_quality: float
    labels: list[str]
    classification: Classification
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime
    recorded_to: datetime | None
    retracted_at: datetime | None
    last_confirmed_at: datetime | None
    promoted_from_claim_id: UUID
    superseded_by: UUID | None
    created_at: datetime
    updated_at: datetime


class FactVersionView(msgspec.Struct, kw_only=True):
    """What was believed of a fact from ``recorded_at`` until the next version."""

    version: int
    reason: str
    status: str
    truth_score: float
    authority_state: str
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime


class FactHistory(msgspec.Struct, kw_only=True):
    """A fact and its versions, oldest first."""

    fact: FactView
    versions: list[FactVersionView]


class PromotionResult(msgspec.Struct, kw_only=True):
    """What became of a claim that was let through: ``promoted``, ``confirmed``, ``past`` or ``already_promoted``."""

    outcome: str
    claim_id: UUID
    claim_status: str
    fact: FactView
    superseded: list[UUID] = []


class ConfirmInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A decision about a disputed claim.

    ``conflicting_facts``, when given, are the facts that the decision was made about: should others conflict by now,
    nothing is changed and the answer is 409.
    """

    decision: Decision
    conflicting_facts: Annotated[list[UUID], Meta(max_length=100)] | None = None


class SupersedeInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The active fact that takes another's place; ``valid_to``: when that one ended, if not where ``by`` begins."""

    by: UUID
    valid_to: Instant | None = None


class ConfirmResult(msgspec.Struct, kw_only=True):
    """What the decision did."""

    decision: str
    claim_id: UUID
    claim_status: str
    outcome: str
    fact: FactView | None = None
    superseded: list[UUID] = []


class Triple(msgspec.Struct, kw_only=True):
    """A statement."""

    subject: str
    predicate: str
    object: str
    polarity: str


class Clarification(msgspec.Struct, kw_only=True):
    """An open question between a disputed claim and the facts that it collides with."""

    id: str
    type: str
    question: str
    claim_id: UUID
    candidate: Triple
    conflicting_facts: list[FactView]
    options: list[str]


class PolicyInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A predicate policy of the team's own."""

    predicate: Predicate
    kind: PolicyKind
    min_extract: Confidence = 0.75
    min_resolution: Confidence = 0.65
    requires_assertion: bool = True
    requires_entailed: bool = True
    min_sources: Annotated[int, Meta(ge=1, le=100)] = 1
    min_quality: Confidence | None = None


class PolicyView(msgspec.Struct, kw_only=True):
    """A predicate policy; ``built_in`` ones are the same in every team."""

    predicate: str
    kind: str
    min_extract: float
    min_resolution: float
    requires_assertion: bool
    requires_entailed: bool
    min_sources: int
    min_quality: float | None
    built_in: bool


class PolicyList(msgspec.Struct, kw_only=True):
    """Every policy that applies in the team, by predicate."""

    items: list[PolicyView]


class RelatedView(msgspec.Struct, kw_only=True):
    """Something that a trace leads to."""

    relation: str
    type: Literal["fact", "claim"]
    id: UUID
    statement: Triple
    status: str


class Edge(msgspec.Struct, kw_only=True):
    """One step of a trace."""

    relation: str
    source: UUID
    target: UUID


class Trace(msgspec.Struct, kw_only=True):
    """Where a fact or claim comes from, and what stands against it or replaced it."""

    type: Literal["fact", "claim"]
    fact: FactView | None = None
    claim: ClaimView | None = None
    promoted_from_claim: ClaimView | None = None
    supporting_claims: list[ClaimView] = []
    supporting_fragments: list[FragmentView] = []
    related: list[RelatedView] = []
    edges: list[Edge] = []
    missing_fragment_ids: list[UUID] = []
    truncated: bool = False
