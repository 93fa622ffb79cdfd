"""Promotion: the gates in front of a fact, and what becomes of the facts already there. Pure functions.

Gates deny by default and each failure is told. What a claim meets behind them:

* nothing, or facts about other values: it becomes an active fact;
* the same statement over a time that overlaps: that fact is confirmed (one that waits for revalidation becomes
  active again);
* a statement that excludes it, over a time that overlaps: the one with the higher truth score stands; within
  ``COMPARABLE`` of each other a person decides;
* either over an earlier time: the claim succeeds it; over a later time: the claim is kept as past.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from app.knowledge.policies import PredicatePolicy
from app.knowledge.statements import digest, term_key

COMPARABLE: Final = 1e-6
_EXTRACT, _RESOLUTION, _SUPPORT, _QUALITY = 0.35, 0.35, 0.15, 0.15
ONE_VALUE: Final = ("single_current", "versioned")


@dataclass(frozen=True, slots=True)
class Support:
    """Active fragments that entail a claim: how many, and the best source quality among them (0 without any)."""

    sources: int
    quality: float

    def count_met(self, policy: PredicatePolicy) -> bool:
        """Whether there are enough of them."""
        return self.sources >= policy.min_sources

    def quality_met(self, policy: PredicatePolicy) -> bool:
        """Whether one of them is good enough to stand alone."""
        return self.sources > 0 and self.quality >= (policy.min_quality or 0.0)

    def passes(self, policy: PredicatePolicy) -> bool:
        """Enough of them, or, where the policy names a quality, one good enough. None at all never passes."""
        if self.sources == 0:
            return False
        return self.count_met(policy) or (policy.min_quality is not None and self.quality_met(policy))


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A claim in front of the gates."""

    subject: str
    predicate: str
    object: str
    polarity: str
    modality: str
    verdict: str
    extract_conf: float
    resolution_conf: float
    valid_from: datetime | None
    valid_to: datetime | None
    support: Support


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A fact that is active or waits for revalidation."""

    id: UUID
    object: str
    polarity: str
    status: str
    truth_score: float
    valid_from: datetime | None
    valid_to: datetime | None

    @classmethod
    def of(cls, row: Any) -> "Standing":
        """Fact of a row's columns by name."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class Refusal:
    """One gate that a claim did not pass."""

    gate: str
    message: str


def gate(policy: PredicatePolicy, claim: Candidate) -> list[Refusal]:
    """Every gate that the claim does not pass; none when it may become a fact."""
    refusals = []
    if claim.extract_conf < policy.min_extract:
        refusals.append(Refusal("extract_conf", f"is {claim.extract_conf:g}, needs {policy.min_extract:g}"))
    if claim.resolution_conf < policy.min_resolution:
        refusals.append(
            Refusal("resolution_conf", f"is {claim.resolution_conf:g}, needs {policy.min_resolution:g}")
        )
    if policy.requires_assertion and claim.modality != "assertion":
        refusals.append(Refusal("modality", f"is {claim.modality}, needs assertion"))
    if policy.requires_entailed and claim.verdict != "entailed":
        refusals.append(Refusal("entailment", f"is {claim.verdict}, needs entailed"))
    if not claim.support.passes(policy):
        refusals.append(Refusal("support", support_message(policy, claim.support)))
    return refusals


def support_message(policy: PredicatePolicy, support: Support) -> str:
    """What support there is and what the policy wants."""
    needed = f"{policy.min_sources} entailing source{'s' if policy.min_sources > 1 else ''}"
    if policy.min_quality is not None:
        needed += f" or one of quality {policy.min_quality:g}"
    return f"has {support.sources} of quality {support.quality:g}, needs {needed}"


def truth_score(policy: PredicatePolicy, claim: Candidate) -> float:
    """How well a claim is founded, 0 to 1."""
    return round(
        _EXTRACT * claim.extract_conf
        + _RESOLUTION * claim.resolution_conf
        + _SUPPORT * claim.support.count_met(policy)
        + _QUALITY * claim.support.quality_met(policy),
        9,
    )


def slot(policy: PredicatePolicy, object_text: str, polarity: str, fact_id: UUID) -> bytes:
    """What two active facts of one subject and predicate may not share; the database's unique index holds it."""
    if policy.kind == "append_only":
        return fact_id.bytes
    if policy.kind in ONE_VALUE and polarity == "+":
        return b""
    return digest(term_key(object_text))


Relation = Literal["unrelated", "same", "excludes", "succeeds", "precedes"]


def relation(policy: PredicatePolicy, claim: Candidate, fact: Standing) -> Relation:
    """How a claim stands to a fact of the same subject and predicate."""
    if policy.kind == "append_only":
        return "unrelated"
    same_object = term_key(claim.object) == term_key(fact.object)
    both_affirmed = claim.polarity == fact.polarity == "+"
    if not same_object and not (policy.kind in ONE_VALUE and both_affirmed):
        return "unrelated"
    if fact.valid_to is not None and claim.valid_from is not None and fact.valid_to <= claim.valid_from:
        return "succeeds"
    if claim.valid_to is not None and fact.valid_from is not None and claim.valid_to <= fact.valid_from:
        return "precedes"
    if same_object and claim.polarity == fact.polarity:
        return "same"
    return "succeeds" if policy.kind == "versioned" else "excludes"


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with a claim that passed the gates.

    Attributes:
        action: ``create`` an active fact; create it as ``past``; ``confirm`` the fact of the same statement;
            ``reject`` the claim as weaker; ``dispute`` it.
        facts: The fact to confirm, those that reject or dispute the claim, or the later one that makes it past.
        superseded: Facts that give way.
    """

    action: Literal["create", "past", "confirm", "reject", "dispute"]
    facts: tuple[UUID, ...] = ()
    superseded: tuple[UUID, ...] = ()


def rivals(policy: PredicatePolicy, claim: Candidate, facts: Sequence[Standing]) -> tuple[UUID, ...]:
    """Active facts that cannot be so if the claim is."""
    return tuple(
        fact.id for fact in facts if fact.status == "active" and relation(policy, claim, fact) == "excludes"
    )


def decide(
    policy: PredicatePolicy, claim: Candidate, facts: Sequence[Standing], *, accepted: bool = False
) -> Decision:
    """Decide against the facts of the claim's subject and predicate; ``accepted``: a person has preferred the claim."""
    by_relation: dict[str, list[Standing]] = {}
    for fact in facts:
        by_relation.setdefault(relation(policy, claim, fact), []).append(fact)
    excluded = by_relation.get("excludes", [])
    active = [fact for fact in excluded if fact.status == "active"]
    score = truth_score(policy, claim)
    if active and not accepted:
        if any(score < fact.truth_score - COMPARABLE for fact in active):
            stronger = tuple(fact.id for fact in active if score < fact.truth_score - COMPARABLE)
            return Decision("reject", stronger)
        comparable = tuple(fact.id for fact in active if score <= fact.truth_score + COMPARABLE)
        if comparable:
            return Decision("dispute", comparable)
    superseded = tuple(fact.id for fact in (*excluded, *by_relation.get("succeeds", [])))
    later = tuple(fact.id for fact in by_relation.get("precedes", []) if fact.status == "active")
    if same := by_relation.get("same"):
        confirmed = min(same, key=lambda fact: (fact.status != "active", fact.id))
        # A fact that waits is not revived beside an active one of a later time: one place, one active fact.
        if confirmed.status == "active" or not later:
            return Decision("confirm", (confirmed.id,), superseded)
    return Decision("past" if later else "create", later, superseded)


def closed_validity(
    fact_from: datetime | None, fact_to: datetime | None, successor_from: datetime | None, now: datetime
) -> datetime:
    """End of a superseded fact's validity: its successor's beginning, else now.

    Never later than it was, nor before its own beginning; a fact that ends where it begins was never true.
    """
    end = successor_from or now
    if fact_to is not None:
        end = min(end, fact_to)
    return end if fact_from is None else max(end, fact_from)
