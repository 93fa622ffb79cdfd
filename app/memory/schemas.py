"""Request and response bodies of fragments."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from app.errors import FieldError
from app.http.fields import Content, IdempotencyKey, Instant, Labels, Source

SourceType = Literal["conversation", "document", "observation", "manual"]
Authority = Literal["authoritative", "primary", "secondary", "inferred", "unknown"]
Confidentiality = Literal["public", "internal", "confidential", "restricted"]
Retention = Literal["ephemeral", "short_term", "long_term", "permanent"]
Pii = Literal["none", "non_sensitive", "sensitive"]
MAX_BATCH_ITEMS = 1_000


class Classification(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """How a memory must be handled; duplicates merge to the stricter value of each."""

    confidentiality: Confidentiality = "internal"
    retention: Retention = "long_term"
    pii: Pii = "none"


class FragmentInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Evidence to store. Times are RFC 3339 with an offset; validity is half-open: ``valid_from <= t < valid_to``."""

    content: Content
    source: Source | None = None
    source_type: SourceType = "manual"
    authority: Authority = "unknown"
    labels: Labels = []
    metadata: dict[str, Any] = {}
    classification: Classification = msgspec.field(default_factory=Classification)
    idempotency_key: IdempotencyKey | None = None
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    recorded_at: Instant | None = None
    recorded_to: Instant | None = None


class FragmentCreated(msgspec.Struct, kw_only=True):
    """The stored fragment's id; ``duplicate`` when it was there before."""

    id: UUID
    duplicate: bool


class BatchInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Up to 1,000 fragments, not looked into yet: each is judged by itself, as a ``FragmentInput``."""

    items: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=MAX_BATCH_ITEMS)]


class ItemError(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Why one item of a batch was refused."""

    code: str
    detail: str
    errors: list[FieldError] = []


class BatchItem(msgspec.Struct, kw_only=True):
    """Outcome of one item."""

    index: int
    status: Literal["created", "duplicate", "error"]
    id: UUID | None = None
    duplicate: bool = False
    error: ItemError | None = None


class BatchResult(msgspec.Struct, kw_only=True):
    """Outcomes in the order of the items."""

    results: list[BatchItem]


class FragmentView(msgspec.Struct, kw_only=True):
    """A fragment as it is stored."""

    id: UUID
    profile_id: UUID
    content: str
    source: str | None
    source_type: str
    authority: str
    source_quality: float
    labels: list[str]
    metadata: dict[str, Any]
    classification: Classification
    status: str
    idempotency_key: str | None
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime
    recorded_to: datetime | None
    created_at: datetime
    updated_at: datetime
    retracted_at: datetime | None
