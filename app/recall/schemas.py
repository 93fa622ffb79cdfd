"""Request and response bodies of recall."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta

from app.http.fields import Instant, Label, Limit, PolicyName, QueryText
from app.knowledge.schemas import ClaimView, FactView
from app.memory.schemas import FragmentView, SourceType
from app.recall.policy import Diversity


class RecallInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A question. Times are RFC 3339 with an offset; a fragment without a bound passes that bound.

    ``diversity`` decides over near-duplicates: one slot for all (``collapse``), maximal marginal relevance (``mmr``) or
    nothing (``none``); else the policy's choice. With ``collapse``, what another memory corrects, replaces or outmatches has
    no slot of its own either: it is under ``yielded``. With ``abstain`` the list is empty when the evidence does not answer;
    else ``abstained`` only tells. ``include_evidence`` adds the fragments that a fact or claim rests on.
    """

    query: QueryText
    limit: Limit = 10
    valid_at: Instant | None = None
    known_at: Instant | None = None
    source_types: Annotated[list[SourceType], Meta(min_length=1, max_length=4)] | None = None
    labels: Annotated[list[Label], Meta(min_length=1, max_length=20)] | None = None
    include_evidence: bool = False
    policy: PolicyName | None = None
    diversity: Diversity | None = None
    abstain: bool = False
    explain: bool = False


class Hit(msgspec.Struct, kw_only=True):
    """One result. Ranks are one-based, 0 when the branch did not find it."""

    rank: int
    kind: str
    id: UUID
    tier: str
    score: float
    final_score: float
    semantic_rank: int
    keyword_rank: int
    fragment: FragmentView | None = None
    fact: FactView | None = None
    claim: ClaimView | None = None
    duplicates: list[UUID] = []
    yielded: list[UUID] = []
    evidence_fragments: list[FragmentView] = []


class RecallResult(msgspec.Struct, kw_only=True):
    """The ranked list and what the caller should know about it."""

    results: list[Hit]
    policy: str
    clarifications: list[dict[str, Any]] = msgspec.field(default_factory=list)
    related_dreams: list[dict[str, Any]] = msgspec.field(default_factory=list)
    recall_event: dict[str, Any] | None = None
    unmatched_anchors: list[str] = msgspec.field(default_factory=list)
    abstained: bool = False
    degraded: list[str] = msgspec.field(default_factory=list)
    explain: dict[str, Any] | None = None


class ContextInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A question whose recall is wanted as one text for a prompt; a limit of 0 means the default."""

    query: QueryText
    limit: Annotated[int, Meta(ge=0, le=10)] = 5
    max_chars: Annotated[int, Meta(ge=1_000, le=8_000)] = 4_000
    include_evidence: bool = True
    valid_at: Instant | None = None
    known_at: Instant | None = None
    policy: PolicyName | None = None
    abstain: bool = False


class ContextItem(msgspec.Struct, kw_only=True):
    """One memory of the block, in ranked order."""

    type: str
    id: UUID
    score: float
    fragment: FragmentView | None = None
    fact: FactView | None = None
    claim: ClaimView | None = None
    evidence_fragments: list[FragmentView] = []


class ContextResult(msgspec.Struct, kw_only=True):
    """The block and what it is made of; ``truncated`` when something was cut or left out."""

    query: str
    context_block: str
    items: list[ContextItem]
    policy: str
    clarifications: list[dict[str, Any]] = msgspec.field(default_factory=list)
    related_dreams: list[dict[str, Any]] = msgspec.field(default_factory=list)
    unmatched_anchors: list[str] = msgspec.field(default_factory=list)
    abstained: bool = False
    degraded: list[str] = msgspec.field(default_factory=list)
    truncated: bool = False


class PolicyView(msgspec.Struct, kw_only=True):
    """A ranking policy with every switch and weight; ``default`` for the one that ranks when a request names none."""

    name: str
    default: bool
    summary: str
    settings: dict[str, Any]


class PolicyList(msgspec.Struct, kw_only=True):
    """The policies that a request may name."""

    items: list[PolicyView]
