"""Ranking policies: named, versioned, frozen sets of rules and weights."""

from dataclasses import dataclass, field
from typing import Final

from app.errors import invalid
from app.recall.bm25 import Caps


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingPolicy:
    """Everything that decides the order of a recall's results.

    Attributes:
        name: Stable name with a version.
        overfetch: Candidates of each branch for each wanted result.
        depth: Fixed candidates of each branch; when set, ``overfetch`` does not apply, and the first of a short list
            equals the first of a long one.
        identifier_branch: Fetch memories that hold an identifier of the query, however low they rank otherwise.
        drop_question_words: Search by the words that say what is asked for, where there are any.
        adaptive_b: Set BM25's length normalisation by the profile's mean length instead of ``b``.
        adaptive_fusion: Weigh the branches by what the query tells of their worth; else plain RRF.
        rrf_k: Constant of reciprocal rank fusion.
        k1: BM25 term saturation.
        b: BM25 length normalisation.
        caps: Bounds of the keyword branch.
    """

    name: str
    overfetch: int = 10
    depth: int | None = None
    identifier_branch: bool = False
    drop_question_words: bool = False
    adaptive_b: bool = False
    adaptive_fusion: bool = False
    rrf_k: int = 60
    k1: float = 1.2
    b: float = 0.75
    caps: Caps = field(default_factory=Caps)

    def branch_depth(self, limit: int) -> int:
        """Candidates that each branch is asked for."""
        return self.depth if self.depth is not None else self.overfetch * limit


DOCUMENTED_V1: Final = RankingPolicy(name="documented-v1")
STRATA_V1: Final = RankingPolicy(
    name="strata-v1",
    depth=100,
    identifier_branch=True,
    drop_question_words=True,
    adaptive_b=True,
    adaptive_fusion=True,
)
POLICIES: Final = {policy.name: policy for policy in (STRATA_V1, DOCUMENTED_V1)}
DEFAULT_POLICY: Final = STRATA_V1.name


def get_policy(name: str | None) -> RankingPolicy:
    """Policy by name; the default for ``None``.

    Raises:
        StrataError: ``validation_failed`` for an unknown name.
    """
    try:
        return POLICIES[name or DEFAULT_POLICY]
    except KeyError:
        raise invalid("policy", f"must be one of {', '.join(POLICIES)}") from None
