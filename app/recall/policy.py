"""Ranking policies: named, versioned, frozen sets of rules and weights."""

from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from app.errors import invalid
from app.recall.abstention import AbstentionLimits
from app.recall.bm25 import Caps
from app.recall.evidence import Scaling
from app.recall.fusion import FusionConstants
from app.recall.siblings import SiblingRules

Diversity = Literal["collapse", "mmr", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingPolicy:
    """Everything that decides the order of a recall's results.

    Attributes:
        name: Stable name with a version.
        summary: What it is for, in one sentence.
        overfetch: Candidates of each branch for each wanted result.
        overfetch_floor: Least number of candidates when the question holds a legacy identifier.
        depth: Fixed candidates of each branch; when set, ``overfetch`` does not apply, and the first of a short list
            equals the first of a long one.
        identifier_branch: Fetch memories that hold an identifier of the query, however low they rank otherwise.
        drop_question_words: Search by the words that say what is asked for, where there are any.
        adaptive_b: Set BM25's length normalisation by the profile's mean length instead of ``b``.
        adaptive_fusion: Weigh the branches by what the query tells of their worth; else plain RRF.
        fusion: Constants of that fusion.
        rrf_k: Constant of reciprocal rank fusion.
        k1: BM25 term saturation.
        b: BM25 length normalisation.
        caps: Bounds of the keyword branch.
        cues: Version of the cue lists; negation and tense are read from ``strata-v1`` on.
        coverage_gate: Let evidence split over fragments pass together; else one must hold every hard anchor.
        indexed_anchors: Take anchors from the index, so that whatever branch found a fragment does not matter; else
            only what the keyword branch found is looked at beyond its content.
        strict_hex: A hexadecimal anchor needs a digit and a letter, or a word such as "commit" before it.
        bare_keys: ``KEY-123`` is an anchor where the profile holds it.
        common_anchor: Least number of memories from which an anchor may be too common to gate ...
        common_share: ... and the share of the profile; the larger of both counts.
        scaled_adjustments: Adjust in proportion to topical evidence; else by the documented amounts.
        scaling: Weights of scaled adjustments.
        adjusted_candidates: How many of the best are looked at when adjusting.
        yielding: Let memories that a better one on the same subject corrects, replaces or outmatches yield their slot
            (`app.recall.siblings`).
        siblings: Bounds of that.
        typed_by_gate: Admit facts and claims by the anchors that gate fragments; else by every broad token.
        typed_on_topic: Share of the nearest fragment's similarity that an admitted fact or claim must reach ...
        typed_by_meaning: ... and the share from which it needs no shared term.
        typed_by_topic: Within a tier, put facts and claims that are on topic first.
        typed_keep_place: Do not place a fact or claim below the fragments when it carries their anchors.
        claim_weight: Weight of a claim's extraction confidence.
        refill: Fill up a list when a memory has vanished meanwhile.
        diversity: What is done with near-duplicates unless the request says otherwise.
        mmr_trade_off: Relevance (1) against novelty (0) of ``mmr``.
        mmr_pool: How many of the first ``mmr`` reorders.
        abstention: Thresholds; ``None`` never abstains.
    """

    name: str
    summary: str = ""
    overfetch: int = 10
    overfetch_floor: int = 50
    depth: int | None = None
    identifier_branch: bool = False
    drop_question_words: bool = False
    adaptive_b: bool = False
    adaptive_fusion: bool = False
    fusion: FusionConstants = field(default_factory=FusionConstants)
    rrf_k: int = 60
    k1: float = 1.2
    b: float = 0.75
    caps: Caps = field(default_factory=Caps)
    cues: str = "documented-v1"
    coverage_gate: bool = False
    indexed_anchors: bool = False
    strict_hex: bool = False
    bare_keys: bool = False
    common_anchor: int = 20
    common_share: float = 0.05
    scaled_adjustments: bool = False
    scaling: Scaling = field(default_factory=Scaling)
    adjusted_candidates: int = 100
    yielding: bool = False
    siblings: SiblingRules = field(default_factory=SiblingRules)
    typed_by_gate: bool = False
    typed_on_topic: float = 0.6
    typed_by_meaning: float = 0.9
    typed_by_topic: bool = False
    typed_keep_place: bool = False
    claim_weight: float = 0.5
    refill: bool = False
    diversity: Diversity = "none"
    mmr_trade_off: float = 0.5
    mmr_pool: int = 50
    abstention: AbstentionLimits | None = None

    def branch_depth(self, limit: int, *, legacy_identifier: bool = False) -> int:
        """Candidates that each branch is asked for."""
        if self.depth is not None:
            return self.depth
        return max(self.overfetch * limit, self.overfetch_floor if legacy_identifier else 0)

    @property
    def description(self) -> dict[str, Any]:
        """Every switch and weight, as plain JSON values."""
        return asdict(self)


DOCUMENTED_V1: Final = RankingPolicy(
    name="documented-v1",
    summary="Dense-Mem's documented ranking of July 2026, limitations included: for comparison.",
)
STRATA_V1: Final = RankingPolicy(
    name="strata-v1",
    summary="The default: the same contract with its known faults cured.",
    depth=100,
    identifier_branch=True,
    drop_question_words=True,
    adaptive_b=True,
    adaptive_fusion=True,
    cues="strata-v1",
    coverage_gate=True,
    indexed_anchors=True,
    strict_hex=True,
    bare_keys=True,
    scaled_adjustments=True,
    yielding=True,
    typed_by_gate=True,
    typed_by_topic=True,
    typed_keep_place=True,
    refill=True,
    diversity="collapse",
    abstention=AbstentionLimits(closeness=1 / 3, prominence=6.0, coverage=0.3, agreed_coverage=0.25),
)
POLICIES: Final = {policy.name: policy for policy in (STRATA_V1, DOCUMENTED_V1)}
DEFAULT_POLICY: Final = STRATA_V1.name


def chosen_policy(named: str | None, pinned: str | None) -> tuple[RankingPolicy, bool]:
    """The policy of a request, and whether the team's pin could be kept.

    Args:
        named: What the request says; it goes first.
        pinned: What the team says; a name that this version does not know gives way to the default.

    Raises:
        StrataError: ``validation_failed`` for a request's unknown name.
    """
    kept = pinned is None or pinned in POLICIES
    return get_policy(named or (pinned if kept else None)), kept or named is not None


def get_policy(name: str | None) -> RankingPolicy:
    """Policy by name; the default for ``None``.

    Raises:
        StrataError: ``validation_failed`` for an unknown name.
    """
    try:
        return POLICIES[name or DEFAULT_POLICY]
    except KeyError:
        raise invalid("policy", f"must be one of {', '.join(POLICIES)}") from None
