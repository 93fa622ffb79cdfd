"""From fused candidates to a ranked list: adjustments, gate, tiers. Pure functions over what the pipeline fetched.

``documented-v1`` in the order of Dense-Mem (July 2026): identifier, currentness, selection, authority; fragments at or
below 0 leave when any is above; hard gate; effective tier, then score, then id. ``strata-v1`` gates by what the index
says of each candidate, so that no text is read unless the question has an intent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

from app.lexical.analysis import AnalyzedQuery
from app.recall import adjustments, anchors, evidence, gating, siblings, tiers
from app.recall.adjustments import Adjusted, Note, Passage
from app.recall.branches import KeywordOutcome
from app.recall.candidates import Candidate, Pool
from app.recall.cues import QueryIntent, clause_cues, phrase_cues
from app.recall.gating import Gate
from app.recall.policy import RankingPolicy


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a question's words ask of the ranking.

    Attributes:
        gating: anchors that gate fragments.
        ranking: anchors that count for score and tier.
        legacy: whether the legacy detector finds an identifier.
    """

    text: str
    intent: QueryIntent
    gating: tuple[str, ...]
    ranking: tuple[str, ...]
    legacy: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """A ranked list and what left it.

    Attributes:
        kept: best first.
        dropped: the others, each with its reason.
        unmatched: anchors of the question that no memory holds.
    """

    kept: list[Candidate]
    dropped: list[Candidate]
    unmatched: tuple[str, ...] = ()


def parse(policy: RankingPolicy, text: str) -> Parsed:
    """Intent and anchors of a question."""
    intent = phrase_cues().intent(text) if policy.cues == "documented-v1" else clause_cues().intent(text)
    legacy = bool(anchors.legacy(text))
    if policy.strict_hex or policy.bare_keys:
        found = anchors.exact(text, strict_hex=policy.strict_hex, bare_keys=policy.bare_keys)
        return Parsed(text, intent, found, found, legacy)
    return Parsed(text, intent, anchors.hard(text), anchors.ranking(text), legacy)


def needs_passages(policy: RankingPolicy, parsed: Parsed, gate: Gate | None) -> bool:
    """Whether the ranking must read texts before it can order: for an intent, or to tell drafts by their words."""
    return (
        parsed.intent.adjusts
        or (bool(parsed.ranking) and not policy.indexed_anchors)
        or _several_anchored(policy, parsed, gate)
    )


def _several_anchored(policy: RankingPolicy, parsed: Parsed, gate: Gate | None) -> bool:
    """Whether several memories hold the question's anchors, and it does not ask for a draft itself."""
    if not policy.scaled_adjustments or gate is None or gate.passed is None or len(gate.passed) <= 1:
        return False
    return any(gate.held.get(ref) for ref in gate.passed) and not clause_cues().asks_for_draft(parsed.text)


def rank(
    policy: RankingPolicy,
    parsed: Parsed,
    candidates: Sequence[Candidate],
    passages: Mapping[UUID, Passage],
    gate: Gate | None,
    *,
    now: datetime,
    typed_anchors: frozenset[str] = frozenset(),
) -> Ranking:
    """Order fragments.

    Args:
        policy: the rules.
        parsed: the question.
        candidates: fused, best first.
        passages: texts of the candidates that the rules may read; of all or none of the first ones.
        gate: the gate by the index, where the policy has one.
        now: the time of the recall.
        typed_anchors: anchors that facts and claims of this recall hold.
    """
    adjusted = not policy.scaled_adjustments or needs_passages(policy, parsed, gate)
    if not adjusted and gate is not None and gate.passed is None:
        ranking = Ranking(_in_tier(candidates, tiers.of_fragment(parsed.intent, ())), [], gate.unmatched)
        return yielded(policy, parsed, ranking, passages, now=now)
    if not adjusted:
        # The same ones whatever the limit.
        first = read_first(policy, candidates, gate, 0)
        passages = {ref: passages[ref] for ref in first if ref in passages}
    if policy.scaled_adjustments:
        results, refuted = _scaled(policy, parsed, candidates, passages if adjusted else {}, gate, now=now)
    else:
        results, refuted = _documented(parsed, candidates, passages, now=now)
    if gate is None:
        gate = _documented_gate(parsed, passages)
    kept: list[Candidate] = []
    dropped: list[Candidate] = []
    for candidate, result, bad in zip(candidates, results, refuted, strict=True):
        held = gate.held.get(candidate.id, ())
        reason = _reason(candidate, result, held, gate, parsed, refuted=bad)
        tier = candidate.tier
        if reason is None:
            told = _ranking_anchors(policy, parsed, candidate.id, held, passages)
            tier = tiers.of_fragment(parsed.intent, told, typed_anchors=typed_anchors)
        (kept if reason is None else dropped).append(
            candidate._replace(
                final_score=result.score,
                notes=tuple(result.notes),
                anchors=held,
                tier=tier,
                dropped=reason,
            )
        )
    _sort(policy, kept)
    return yielded(policy, parsed, Ranking(kept, dropped, gate.unmatched), passages, now=now)


def _sort(policy: RankingPolicy, kept: list[Candidate]) -> None:
    kept.sort(key=lambda c: (c.tier, -len(c.anchors) if policy.coverage_gate else 0, -c.final_score, c.id))


def read_first(
    policy: RankingPolicy, candidates: Sequence[Candidate], gate: Gate | None, most: int
) -> list[UUID]:
    """The candidates whose texts an ordinary question reads: those that may be shown or yield to one another."""
    if not policy.yielding:
        return []
    passing = (c.id for c in candidates if gate is None or gate.passes(c.id))
    return list(islice(passing, max(most, policy.siblings.candidates)))


def yielded(
    policy: RankingPolicy,
    parsed: Parsed,
    ranking: Ranking,
    passages: Mapping[UUID, Passage],
    *,
    now: datetime,
) -> Ranking:
    """The ranking without what yields its slot to a better memory, which takes the better one of both places.

    Args:
        policy: the rules.
        parsed: the question.
        ranking: ordered fragments.
        passages: texts of the first ones at least.
        now: the time of the recall.
    """
    if not policy.yielding or not passages:
        return ranking
    # Only among equals: an exact identifier is not outweighed by words.
    first = [candidate for candidate in ranking.kept if candidate.id in passages][
        : policy.siblings.candidates
    ]
    if not first:
        return ranking
    peers = [c for c in first if (c.tier, len(c.anchors)) == (first[0].tier, len(first[0].anchors))]
    found = siblings.yielding(
        parsed.text,
        parsed.intent,
        clause_cues(),
        [passages[candidate.id] for candidate in peers],
        [candidate.final_score for candidate in peers],
        coverage=[candidate.coverage or 0.0 for candidate in peers],
        rules=policy.siblings,
        now=now,
        anchors=peers[0].anchors,
    )
    if not found:
        return ranking
    changed = {candidate.id: candidate for candidate in peers}
    gone: list[Candidate] = []
    for one in found:
        own, rival = changed.pop(peers[one.place].id), changed[peers[one.rival].id]
        gone.append(own._replace(dropped=f"{one.rule}: {one.why}", yields_to=rival.id))
        raised = max(rival.final_score, own.final_score)
        notes = rival.notes
        if raised > rival.final_score:
            notes = (*notes, Note("stands in", raised - rival.final_score, f"takes the place of {own.id}"))
        changed[rival.id] = rival._replace(final_score=raised, notes=notes, yielded=(*rival.yielded, own.id))
    left = {candidate.id for candidate in gone}
    kept = [changed.get(c.id, c) for c in ranking.kept if c.id not in left]
    _sort(policy, kept)
    return Ranking(kept, [*ranking.dropped, *gone], ranking.unmatched)


def _in_tier(candidates: Sequence[Candidate], tier: float) -> list[Candidate]:
    """The candidates as they are: an ordinary question moves none, and copying all of them is dear."""
    if tier == tiers.FRAGMENT:
        return list(candidates)
    return [candidate._replace(tier=tier) for candidate in candidates]


def index_gate(
    policy: RankingPolicy, parsed: Parsed, question: AnalyzedQuery, keyword: KeywordOutcome, pool: Pool
) -> Gate | None:
    """The gate by what the index says of each candidate; ``None`` where the policy gates by texts."""
    if not policy.coverage_gate:
        return None
    if not parsed.gating:
        return Gate(None, {})
    terms = frozenset([*question.terms, *question.identifiers])
    spelled = gating.spellings(parsed.gating, terms, keyword.documents)
    wanted = frozenset().union(*spelled.values())
    places = [(place, w.term) for place, w in enumerate(keyword.weights) if w.term in wanted]
    held = {
        member.id: frozenset(term for place, term in places if member.hit.frequencies[place])
        if member.hit is not None
        else frozenset[str]()
        for member in pool.members
    }
    common = max(policy.common_anchor, int(policy.common_share * keyword.totals.documents))
    return gating.by_coverage(spelled, keyword.documents, held, common=common)


def _documented(
    parsed: Parsed, candidates: Sequence[Candidate], passages: Mapping[UUID, Passage], *, now: datetime
) -> tuple[list[Adjusted], list[bool]]:
    read = [passages[candidate.id] for candidate in candidates if candidate.id in passages]
    scores = [candidate.base_score for candidate in candidates if candidate.id in passages]
    found = adjustments.documented(parsed.text, parsed.intent, phrase_cues(), read, scores, now=now)
    by_id = {passage.id: result for passage, result in zip(read, found, strict=True)}
    results = [by_id.get(candidate.id) or Adjusted(candidate.base_score) for candidate in candidates]
    positive = any(result.score > 0 for result in results)
    return results, [positive and result.score <= 0 for result in results]


def _scaled(
    policy: RankingPolicy,
    parsed: Parsed,
    candidates: Sequence[Candidate],
    passages: Mapping[UUID, Passage],
    gate: Gate | None,
    *,
    now: datetime,
) -> tuple[list[Adjusted], list[bool]]:
    read = [
        candidate
        for candidate in candidates
        if candidate.id in passages and (gate is None or gate.passes(candidate.id))
    ]
    if not read:
        return [Adjusted(candidate.base_score) for candidate in candidates], [False] * len(candidates)
    found, refuted = evidence.adjust(
        parsed.text,
        parsed.intent,
        clause_cues(),
        [passages[candidate.id] for candidate in read],
        [candidate.base_score for candidate in read],
        now=now,
        scaling=policy.scaling,
        anchored=_several_anchored(policy, parsed, gate),
    )
    by_id = {c.id: (result, bad) for c, result, bad in zip(read, found, refuted, strict=True)}
    outcome = [by_id.get(c.id) or (Adjusted(c.base_score), False) for c in candidates]
    return [result for result, _ in outcome], [bad for _, bad in outcome]


def _documented_gate(parsed: Parsed, passages: Mapping[UUID, Passage]) -> Gate:
    return gating.all_anchors(
        parsed.gating, {passage.id: passage.recall_text for passage in passages.values()}
    )


def _reason(
    candidate: Candidate,
    result: Adjusted,
    held: tuple[str, ...],
    gate: Gate,
    parsed: Parsed,
    *,
    refuted: bool,
) -> str | None:
    """Why a candidate leaves the list, or ``None``."""
    if refuted:
        return "speaks against itself" if result.score > 0 else "no score left"
    if parsed.gating and not gate.passes(candidate.id):
        return f"lacks {', '.join(anchor for anchor in parsed.gating if anchor not in held)}"
    return None


def _ranking_anchors(
    policy: RankingPolicy,
    parsed: Parsed,
    ref: UUID,
    held: tuple[str, ...],
    passages: Mapping[UUID, Passage],
) -> tuple[str, ...]:
    """The ranking anchors that a fragment holds."""
    if policy.indexed_anchors or not parsed.ranking or ref not in passages:
        return held
    text = anchors.AnchorText(passages[ref].recall_text)
    return tuple(anchor for anchor in parsed.ranking if text.holds(anchor))
