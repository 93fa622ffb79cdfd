"""Predicate policies: what a claim must bring before it may become a fact. Data, and nothing of the data's use.

The built-in table and its figures are Dense-Mem's. A predicate without a policy is never promoted.
"""

from dataclasses import dataclass
from typing import Final

KINDS: Final = ("single_current", "multi_valued", "versioned", "append_only")


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicatePolicy:
    """Gates of one predicate.

    Attributes:
        kind: ``single_current`` and ``versioned``: one active value for a subject, where a version gives way to the
            next without a contest; ``multi_valued``: one active fact for each value; ``append_only``: every
            promotion adds one.
        min_extract: Least extraction confidence, 0 to 1; ``min_resolution`` likewise.
        min_sources: Least number of active fragments that entail the claim.
        min_quality: Source quality (0 to 1) of one fragment that stands for the number; None when only it counts.
    """

    predicate: str
    kind: str
    min_extract: float
    min_resolution: float
    requires_assertion: bool = True
    requires_entailed: bool = True
    min_sources: int = 1
    min_quality: float | None = None


def _policy(
    predicate: str,
    kind: str,
    extract: float,
    resolution: float,
    *,
    assertion: bool = True,
    sources: int = 1,
    quality: float | None = None,
) -> PredicatePolicy:
    return PredicatePolicy(
        predicate=predicate,
        kind=kind,
        min_extract=extract,
        min_resolution=resolution,
        requires_assertion=assertion,
        min_sources=sources,
        min_quality=quality,
    )


BUILT_IN: Final = {
    policy.predicate: policy
    for policy in (
        _policy("born_on", "single_current", 0.90, 0.80, quality=0.95),
        _policy("died_on", "single_current", 0.90, 0.80, quality=0.95),
        _policy("works_at", "single_current", 0.85, 0.75, sources=2, quality=0.95),
        _policy("identity_is", "single_current", 0.85, 0.75, quality=0.95),
        _policy("profile_fact", "single_current", 0.85, 0.75, quality=0.95),
        _policy("likes", "multi_valued", 0.70, 0.60, assertion=False),
        _policy("prefers", "multi_valued", 0.70, 0.60, assertion=False),
        _policy("uses", "multi_valued", 0.70, 0.60, assertion=False),
        _policy("knows", "multi_valued", 0.75, 0.60),
        _policy("has_skill", "multi_valued", 0.80, 0.60),
        _policy("works_on", "multi_valued", 0.75, 0.65),
        _policy("has_goal", "multi_valued", 0.75, 0.65),
        _policy("relationship_to", "multi_valued", 0.75, 0.65),
        _policy("corrected", "append_only", 0.80, 0.70),
    )
}
