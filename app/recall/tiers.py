"""Effective tiers: which kind of memory comes first. Pure functions (Dense-Mem, July 2026).

``0.5`` every fragment of a question for its source; ``0.75`` a fragment that holds a ranking anchor, unless the question
asks for authority; ``1`` an active fact; ``1.25`` a fact under an overlay or in conflict; ``1.5`` a validated claim; ``2``
any other fragment. The public tier of a fragment is always ``2``.

With ``typed_keep_place`` (``strata-v1``) a fragment rises to ``0.75`` only when no fact or claim holds the anchors that
it holds: a statement is not placed below its own source.
"""

from typing import Final

from app.recall.cues import QueryIntent

EVIDENCE: Final = 0.5
ANCHORED: Final = 0.75
FACT: Final = 1.0
CONTESTED_FACT: Final = 1.25
CLAIM: Final = 1.5
FRAGMENT: Final = 2.0
PUBLIC_FRAGMENT: Final = "2"


def of_fragment(
    intent: QueryIntent, held: tuple[str, ...], *, typed_anchors: frozenset[str] = frozenset()
) -> float:
    """Effective tier of a fragment.

    Args:
        intent: what the question is after.
        held: the ranking anchors of the question that the fragment holds.
        typed_anchors: the anchors that facts and claims of this recall hold; empty for the documented rule.
    """
    if intent.evidence_source:
        return EVIDENCE
    if held and not intent.authority and not typed_anchors.issuperset(held):
        return ANCHORED
    return FRAGMENT


def of_fact(authority_state: str) -> float:
    """Effective tier of an active fact."""
    return FACT if authority_state == "authoritative" else CONTESTED_FACT


def public(tier: float) -> str:
    """The tier as it is told: the overrides of fragments are internal."""
    return PUBLIC_FRAGMENT if tier in {EVIDENCE, ANCHORED, FRAGMENT} else f"{tier:g}"
