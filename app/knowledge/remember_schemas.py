"""Request and response bodies of remember and import."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from app.errors import FieldError
from app.knowledge.extractors import ExtractorName
from app.knowledge.schemas import StatementInput
from app.memory.schemas import Authority, BatchItem, FragmentInput, ItemError, SourceType

MAX_ITEMS = 500
Position = Annotated[int, Meta(ge=0, lt=MAX_ITEMS)]
Raws = Annotated[list[msgspec.Raw], Meta(max_length=MAX_ITEMS)]


class RememberedEvidence(FragmentInput, kw_only=True):
    """Evidence out of a conversation, unless it says otherwise."""

    source_type: SourceType = "conversation"
    authority: Authority = "primary"


class ImportedEvidence(FragmentInput, kw_only=True):
    """Evidence out of a summarised document, unless it says otherwise."""

    source_type: SourceType = "document"
    authority: Authority = "secondary"


class RememberedClaim(StatementInput, kw_only=True):
    """A typed claim; ``evidence`` are positions in the list of evidence of the same body."""

    evidence: Annotated[list[Position], Meta(min_length=1, max_length=20)]


class RememberInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Evidence with or without typed claims; each item is judged by itself.

    ``extraction`` reads claims out of evidence that no typed claim cites. ``auto_promote`` verifies every claim and
    promotes what its gates let through; without it claims are verified and no more.
    """

    evidence: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=MAX_ITEMS)]
    claims: Raws = []
    auto_promote: bool = True
    extraction: ExtractorName = "rules"


class ImportInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Summarised documents; nothing is promoted unless it is asked for."""

    evidence: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=MAX_ITEMS)]
    claims: Raws = []
    auto_promote: bool = False
    extraction: ExtractorName = "rules"


class ClaimOutcome(msgspec.Struct, kw_only=True):
    """What became of one claim.

    ``outcome``: ``promoted``, ``confirmed``, ``past``, ``already_promoted``, ``validated``, ``candidate``, ``disputed``,
    ``gate_rejected``, ``rejected_weaker``, ``clarification_required``, ``predicate_not_supported``, ``rejected``,
    ``superseded``, ``invalid`` or ``claim_error``.
    """

    index: int | None
    evidence: list[int]
    origin: Literal["typed", "extracted"]
    outcome: str
    claim_id: UUID | None = None
    fact_id: UUID | None = None
    reasons: list[FieldError] = []
    error: ItemError | None = None


class RememberResult(msgspec.Struct, kw_only=True):
    """A run: ``queued``, ``processing`` or ``completed``, and the outcome of each item so far."""

    run_id: UUID
    status: str
    evidence: list[BatchItem] = []
    claims: list[ClaimOutcome] = []
    created_at: datetime | None = None
    completed_at: datetime | None = None


class RunRequest(msgspec.Struct, kw_only=True):
    """What a run was asked for, as it is kept until the run is completed."""

    form: Literal["remember", "import"]
    evidence: list[msgspec.Raw]
    claims: list[msgspec.Raw]
    auto_promote: bool
    extraction: ExtractorName
