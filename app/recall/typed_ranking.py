"""Facts and claims on their way into the ranked list: admission, tier, order in time, score. Pure functions.

Documented (Dense-Mem, July 2026): found by keyword alone, admitted by terms or identifiers (`app.recall.admission`), ordered
by tier, for questions of currentness by time, then by truth score or weighted extraction confidence. ``strata-v1`` also
takes what is found by meaning, asks for topical evidence (a share of the best fragment's similarity), and within a tier
puts what is on topic first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from uuid import UUID

from app.indexing.models import Kind
from app.recall import admission, dates, temporal, tiers
from app.recall.anchors import AnchorText
from app.recall.policy import RankingPolicy
from app.recall.ranking import Parsed
from app.recall.typed import TypedCandidate


@dataclass(frozen=True, slots=True)
class RankedTyped:
    """A fact or claim with its place.

    Attributes:
        tier: effective and public tier.
        score: truth score of a fact, weighted extraction confidence of a claim.
        anchors: ranking anchors of the question that it holds.
        moment: what it is ordered by in time; ``None`` for none.
    """

    candidate: TypedCandidate
    tier: float
    score: float
    anchors: tuple[str, ...]
    moment: datetime | None


def admitted(
    policy: RankingPolicy,
    parsed: Parsed,
    candidates: Sequence[TypedCandidate],
    *,
    best_similarity: float,
    unmatched: Sequence[str],
) -> list[TypedCandidate]:
    """The facts and claims that may answer.

    Args:
        policy: the rules.
        parsed: the question.
        candidates: what the typed branches found.
        best_similarity: cosine of the nearest fragment.
        unmatched: anchors of the question that no fragment holds.
    """
    if not policy.typed_by_gate:
        return [
            candidate
            for candidate in candidates
            if candidate.keyword_rank and admission.documented(parsed.text, candidate.memory.text)
        ]
    known = [anchor for anchor in parsed.gating if anchor not in unmatched]
    return [
        candidate
        for candidate in candidates
        if _admitted(policy, parsed, candidate, best_similarity, gated=bool(known))
    ]


def needs_evidence(parsed: Parsed, candidates: Sequence[TypedCandidate]) -> list[UUID]:
    """Fragments whose dates may order what has none of its own; none unless the question is about time."""
    if not (parsed.intent.currentness or parsed.intent.past):
        return []
    memories = [candidate.memory for candidate in candidates]
    return list(dict.fromkeys(ref for m in memories if m.valid_from is None for ref in m.evidence_ids))


def ordered(
    policy: RankingPolicy,
    parsed: Parsed,
    candidates: Sequence[TypedCandidate],
    evidence: Mapping[UUID, str],
    *,
    now: datetime,
) -> list[RankedTyped]:
    """Admitted facts and claims, best first.

    Args:
        policy: the rules.
        parsed: the question.
        candidates: what was admitted.
        evidence: contents of supporting fragments, where they are needed.
        now: the time of the recall.
    """
    timed = parsed.intent.currentness or (parsed.intent.past and policy.scaled_adjustments)
    asked = dates.newest_content_date(parsed.text, now)
    as_of = now if asked is None else datetime.combine(asked, time(), UTC)
    ranked = [_placed(policy, parsed, item, evidence, as_of if timed else None) for item in candidates]
    best = max((item.similarity or 0.0 for item in candidates), default=0.0)

    def key(item: RankedTyped) -> tuple[float, bool, bool, float, float, UUID]:
        similarity = item.candidate.similarity
        off_topic = policy.typed_by_topic and similarity is not None and similarity < _CLOSE * best
        missing, moment = temporal.order_key(item.moment)
        moment = -moment if parsed.intent.past and not parsed.intent.currentness else moment
        score = -(similarity or 0.0) if policy.typed_by_topic and not timed else -item.score
        return (item.tier, off_topic, missing, moment, score, item.candidate.memory.id)

    return sorted(ranked, key=key)


_CLOSE = 0.8


def _admitted(
    policy: RankingPolicy,
    parsed: Parsed,
    candidate: TypedCandidate,
    best_similarity: float,
    *,
    gated: bool,
) -> bool:
    text = candidate.memory.text
    if parsed.gating and AnchorText(text).holds_any(parsed.gating):
        return True
    if gated:
        return False
    similarity = candidate.similarity
    if similarity is not None and similarity >= policy.typed_by_meaning * best_similarity > 0:
        return True
    near = similarity is None or similarity >= policy.typed_on_topic * best_similarity
    return near and admission.shares_terms(parsed.text, text)


def _placed(
    policy: RankingPolicy,
    parsed: Parsed,
    candidate: TypedCandidate,
    evidence: Mapping[UUID, str],
    as_of: datetime | None,
) -> RankedTyped:
    memory = candidate.memory
    is_fact = memory.kind is Kind.FACT
    text = AnchorText(memory.text) if parsed.ranking else None
    moment = None
    if as_of is not None:
        moment = temporal.typed_time(
            valid_from=memory.valid_from,
            valid_to=memory.valid_to,
            recorded_at=memory.recorded_at,
            triple=memory.text,
            evidence=[evidence[ref] for ref in memory.evidence_ids if ref in evidence],
            as_of=as_of,
        )
    return RankedTyped(
        candidate,
        tier=tiers.of_fact(memory.authority_state) if is_fact else tiers.CLAIM,
        score=memory.score if is_fact else memory.score * policy.claim_weight,
        anchors=() if text is None else tuple(anchor for anchor in parsed.ranking if text.holds(anchor)),
        moment=moment,
    )
