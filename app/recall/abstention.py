"""Abstention: whether the evidence answers the question at all. Pure functions.

A raw score cannot tell: answerable and unanswerable questions overlap. Three independent signs are weighed, none of
which depends on a model's scale of similarities:

- **closeness**: how far the best cosine lies on the way from the question's mean cosine over the profile to 1, the cosine
  of a text with itself: ``(best - mean) / (1 - mean)``, so that a model whose unrelated texts are at .7 is read as one
  whose unrelated texts are at .05;
- **prominence**: the same distance in standard deviations of the question's own cosines;
- **coverage**: how much of the question's words, those unknown to the profile included, the best memory holds, each
  weighed by its rarity (an unknown word weighs as if one memory held it);
- **agreement**: whether the best by meaning and the best by words are the same memory, of which less is then asked.

The recall abstains when nothing is close, nothing stands out and little is covered. On HotMem's 48 questions
(all-MiniLM-L6-v2) that is 5 of the 6 without an answer (the sixth shares a rare name) and 1 of the 42 others.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class AbstentionLimits:
    """Thresholds.

    Attributes:
        closeness: from which a memory means much the same.
        prominence: standard deviations from which a memory stands out.
        coverage: share of the question from which enough of it is covered.
        agreed_coverage: the same where both arms agree on the best memory.
    """

    closeness: float
    prominence: float
    coverage: float
    agreed_coverage: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the decision is made of; all of the best memory."""

    closeness: float | None
    prominence: float | None
    coverage: float
    agreement: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the recall should abstain, and why."""

    abstained: bool
    evidence: Evidence
    reason: str

    @property
    def explanation(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"abstained": self.abstained, **asdict(self.evidence), "reason": self.reason}


def decide(evidence: Evidence, limits: AbstentionLimits | None) -> Verdict:
    """Weigh the evidence; without limits nobody abstains."""
    if limits is None:
        return Verdict(abstained=False, evidence=evidence, reason="the policy never abstains")
    if evidence.closeness is not None and evidence.closeness >= limits.closeness:
        return Verdict(abstained=False, evidence=evidence, reason="a memory means much the same")
    if evidence.prominence is not None and evidence.prominence >= limits.prominence:
        return Verdict(abstained=False, evidence=evidence, reason="a memory stands out by meaning")
    needed = limits.agreed_coverage if evidence.agreement else limits.coverage
    if evidence.coverage >= needed:
        return Verdict(abstained=False, evidence=evidence, reason="a memory holds the question's words")
    return Verdict(
        abstained=True,
        evidence=evidence,
        reason="no memory stands out by meaning or holds the question's words",
    )


def coverage(held: Sequence[float], known: Sequence[float], unknown: int, rarest: float) -> float:
    """Share of a question's weight that a memory holds.

    Args:
        held: weights of the question's terms that it holds.
        known: weights of all terms that the profile knows.
        unknown: number of terms that the profile does not know.
        rarest: weight of a term that one memory of the profile holds.
    """
    total = sum(known) + unknown * rarest
    return sum(held) / total if total > 0 else 0.0
