"""Fusion of the semantic and the keyword arm into one score per candidate.

Two rules. :func:`rrf` is reciprocal rank fusion, ``sum over arms of 1 / (k + rank)`` (Cormack, Clarke and Buettcher,
SIGIR 2009). :func:`fuse` is the rule of policy ``strata-v1``: both arms are turned into the same unit, *nats of
surprise*, ``-ln P(a document that has nothing to do with the question scores this high)``, and added with weights
that say how far each arm can be trusted for this question:

- **semantic evidence** ``s = -ln(1 - (1 - Q(x)) ** n)``: ``Q`` is the upper tail of the normal distribution, ``n`` the
  mean number of windows of the profile's memories, a memory's cosine the best of its windows', and ``x = mean of the
  maximum of n normal variables + their deviation * z`` with ``z`` the cosine's distance from the mean of the question's
  cosines over the profile, in standard deviations. For ``n = 1`` it is ``-ln Q(z)``. Memories of many windows have more
  chances of a good one: their best cosines are skewed, and the plain normal tail took 9 nats for 13;
- **keyword evidence** ``b = v / m**2 * h(m * t / v)``, ``h(u) = (1 + u) ln(1 + u) - u``: Bennett's bound (JASA 1962)
  on the chance that the question's words meet in one document by accident. For terms of weight ``w`` found in a share
  ``p`` of the documents, ``t`` is the BM25 score (times ``1 + k1``, so that one occurrence in a document of average
  length counts ``w``) above its mean ``sum(p * w)``, ``v = sum(p * (1 - p) * w**2)`` its variance, ``m = max(w)``.
  Unlike the plain sum it does not grow with the many common words of a long question;
- **strength** of the semantic arm, ``S = max(0, max(s) - ln N)``: the best of ``N`` unrelated documents reaches
  ``ln N`` by chance;
- **lead** of the keyword arm, ``B = max(0, b_1 - b_5 - ln 5)``: chance puts the best ``ln 5`` above the fifth;
- **readability**, 0 to 1 between 1.5 and 3 letters per token of the question: a model that has to spell has not
  learnt the language (all-MiniLM-L6-v2: English 3.6-5, English in exchanged letters 1.9, Cyrillic 1.0, Chinese 0.3);
- **coverage**: the share of the known query terms' idf that the best keyword hit holds, at least 0.5.

``score = 0.3 * readability * (3 + S) / (3 + B) * s + coverage * b``

A candidate that a full keyword list does not name may hold the question's words all the same, and scores what the last
one named scores at the most: it is credited with that (:attr:`FusionSignals.keyword_floor`), so that words tell apart
only those that the list tells apart.

Measured offline with this module, nDCG@10 (at most 400 queries of a set; all-MiniLM-L6-v2 in overlapping windows; BM25
k1 1.2, b .4-.75 by mean length, question words and pronouns dropped from the keyword query; 100 candidates of each arm;
mean and deviation from 256 documents):

==================== ===== ====== ===== ===== ===========
set                  BM25  cosine RRF   fuse  fuse - best
==================== ===== ====== ===== ===== ===========
SciFact              .698  .659   .712  .730  +.018
Cranfield            .382  .400   .431  .429  -.002
LoCoMo               .536  .270   .404  .549  +.013
LongMemEval (20)     .818  .615   .746  .813  -.005
MADial (dialogues)   .468  .539   .575  .606  +.031
CMRC 2018 (Chinese)  .980  .155   .532  .980  .000
GitBugs Hadoop       .605  .558   .616  .636  +.020
CoSQA (code)         .387  .588   .522  .584  -.004
mean                 .609  .473   .567  .666
==================== ===== ====== ===== ===== ===========

With ``n = 1`` throughout LongMemEval is at .766 and the mean at .662; without the credit for a full list CoSQA loses
.012; over the tenth instead of the fifth the mean loses .002. Order statistics of the best hundred in place of mean and
deviation cost .015, single windows' mean and deviation .009, with a correction for their number .008. Known to resist:
all LoCoMo chats in one profile (.433; BM25 .500), where names draw together a speaker's turns and the semantic arm looks
stronger than it is; and a semantic arm that is noise by more than its language (random vectors cost .04).
"""

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from operator import mul
from typing import Final, NamedTuple
from uuid import UUID

_NORMAL_TAIL_LIMIT: Final = 30.0
"""Standard deviations beyond which the tail is taken from its asymptotic series (``erfc`` underflows at 38)."""

_MIN_DEVIATION: Final = 0.01
"""Cosines of a profile spread by .09-.13; a smaller spread than this one is a sample of near-duplicates."""

_MIN_WEIGHT: Final = 1e-9
"""A term held by all of a hundred million documents weighs 5e-9; lighter ones are ignored."""

_KEYWORD_SLOPE: Final = 1e-3
"""Added per unit of ``score / m``, so that hits below the expected score keep their order."""


@dataclass(frozen=True, slots=True)
class FusionConstants:
    """The constants of :func:`fuse`; a change of one by a third costs .0065 of the mean nDCG@10 at the most.

    Attributes:
        semantic_weight: worth of a nat of semantic evidence beside one of keyword evidence, the arms being even.
        prior: nats added to both arms' strengths, so that small differences do not decide.
        crowd: the keyword arm's lead is measured over the candidate of this place.
        coverage_floor: least weight of the keyword arm; long questions are never covered whole.
        unreadable_letters: letters per model token at which the semantic arm is off ...
        readable_letters: ... and from which it is trusted fully.
        readability_floor: what is left of the semantic arm when it is off: an order where there are no words.
    """

    semantic_weight: float = 0.3
    prior: float = 3.0
    crowd: int = 5
    coverage_floor: float = 0.5
    unreadable_letters: float = 1.5
    readable_letters: float = 3.0
    readability_floor: float = 0.01


class QueryTerm(NamedTuple):
    """One distinct term of the keyword query.

    Attributes:
        weight: idf times the term's count in the question: what its occurrences in a document add at the most.
        documents: number of the profile's documents that hold the term; unknown terms (0) are ignored.
    """

    weight: float
    documents: int


@dataclass(frozen=True, slots=True)
class FusionSignals:
    """What the rule must know about the question and its profile.

    Attributes:
        documents: number of the profile's documents, ``N``.
        terms: the distinct terms that the keyword scores are made of.
        semantic_mean: mean cosine of the question with the profile's documents (a document's cosine is its best
            window's), from all or from a sample of some 200.
        semantic_deviation: standard deviation of the same cosines.
        windows: mean number of windows of the profile's documents, 1 or more.
        keyword_floor: keyword score that a candidate of the semantic arm is credited with at the least: the last one's
            of a full keyword list, 0 when the list holds all there is.
        letters_per_token: letters of the question divided by the model's tokens that hold a letter or are unknown;
            ``None`` for a model without a fixed vocabulary, which is then trusted.
        k1: BM25's saturation in the keyword scores, ``sum of weight * tf / (tf + k1 * (1 - b + b * length ratio))``.
    """

    documents: int
    terms: tuple[QueryTerm, ...] = ()
    semantic_mean: float = 0.0
    semantic_deviation: float = 0.0
    windows: float = 1.0
    keyword_floor: float = 0.0
    letters_per_token: float | None = None
    k1: float = 1.2


class FusionCandidate(NamedTuple):
    """One candidate of either arm, best with both scores.

    Attributes:
        semantic: cosine with the question, -1 to 1; ``None`` when it has no vector.
        keyword: BM25 score; ``None`` or 0 when it holds no term.
        coverage: share, 0 to 1, of the known query terms' idf that it holds.
    """

    semantic: float | None = None
    keyword: float | None = None
    coverage: float = 0.0


class FusedScore(NamedTuple):
    """A candidate's score and its parts before weighting, all in nats."""

    score: float
    semantic_evidence: float
    keyword_evidence: float


@dataclass(frozen=True, slots=True)
class Fusion:
    """Scores, aligned with the candidates given, and why the arms weigh what they do."""

    scores: tuple[FusedScore, ...]
    explanation: dict[str, float | str] = field(default_factory=dict)


def rrf(
    semantic_ranks: Mapping[UUID, int], keyword_ranks: Mapping[UUID, int], k: int = 60
) -> dict[UUID, float]:
    """Reciprocal rank fusion: for every ranked reference, ``1 / (k + rank)`` summed over the arms that rank it."""
    scores: dict[UUID, float] = {}
    for ranks in (semantic_ranks, keyword_ranks):
        for ref, rank in ranks.items():
            scores[ref] = scores.get(ref, 0.0) + 1 / (k + rank)
    return scores


def fuse(
    candidates: Sequence[FusionCandidate], signals: FusionSignals, constants: FusionConstants | None = None
) -> Fusion:
    """Score the union of both arms' candidates by the rule of ``strata-v1`` (see the module).

    Neither the candidates' order nor the size of the answer wanted matters; a candidate that is at least as good as
    another in both arms scores at least as high; with one arm empty the order is the other's. Equal scores are left
    to the caller.

    Args:
        candidates: the union of the two arms.
        signals: the question and its profile.
        constants: the policy's constants.
    """
    constants = constants or FusionConstants()
    semantic = [_semantic_evidence(candidate.semantic, signals) for candidate in candidates]
    keyword = _keyword_evidence(
        [max(candidate.keyword or 0.0, signals.keyword_floor) for candidate in candidates], signals
    )
    strength = max(0.0, max(semantic, default=0.0) - math.log(max(signals.documents, 1)))
    lead = _lead(keyword, constants.crowd)
    readable = readability(signals.letters_per_token, constants)
    coverage = _coverage(candidates, keyword)
    semantic_weight = (
        constants.semantic_weight
        * max(readable, constants.readability_floor)
        * (constants.prior + strength)
        / (constants.prior + lead)
    )
    keyword_weight = max(coverage, constants.coverage_floor)
    return Fusion(
        scores=tuple(
            FusedScore(semantic_weight * s + keyword_weight * b, s, b)
            for s, b in zip(semantic, keyword, strict=True)
        ),
        explanation={
            "semantic_weight": semantic_weight,
            "keyword_weight": keyword_weight,
            "semantic_strength": strength,
            "keyword_lead": lead,
            "readability": readable,
            "coverage": coverage,
            "reason": _reason(strength, lead, readable, coverage),
        },
    )


def normal_surprise(z: float) -> float:
    """``-ln`` of the chance that a standard normal variable exceeds ``z``; finite for every finite ``z``."""
    if z > _NORMAL_TAIL_LIMIT:
        return z * z / 2 + math.log(z) + math.log(2 * math.pi) / 2 - math.log1p(-(z**-2) + 3 * z**-4)
    if z < 0:
        return -math.log1p(-math.erfc(-z / math.sqrt(2)) / 2)
    return -math.log(math.erfc(z / math.sqrt(2)) / 2)


def best_of_surprise(z: float, count: float) -> float:
    """``-ln`` of the chance that the best of ``count`` normal variables lies ``z`` of its deviations above its mean.

    Finite for every finite ``z``; :func:`normal_surprise` for a count of 1.
    """
    if count <= 1:
        return normal_surprise(z)
    mean, deviation = _best_of(round(count, 1))
    x = mean + deviation * z
    if x > _NORMAL_TAIL_LIMIT:
        return normal_surprise(x) - math.log(count)
    return -math.log(-math.expm1(-count * normal_surprise(-x)))


@lru_cache(maxsize=1_024)
def _best_of(count: float) -> tuple[float, float]:
    """Mean and standard deviation of the best of ``count`` standard normal variables, to 6 digits."""
    points = [-8 + step / 200 for step in range(3_601)]
    below = [math.exp(-count * normal_surprise(-point)) for point in points]
    middles = [(low + high) / 2 for low, high in pairwise(points)]
    shares = [high - low for low, high in pairwise(below)]
    mean = math.fsum(map(mul, middles, shares))
    return mean, math.sqrt(
        math.fsum((middle - mean) ** 2 * share for middle, share in zip(middles, shares, strict=True))
    )


def readability(letters_per_token: float | None, constants: FusionConstants | None = None) -> float:
    """How far the model can read a question, 0 to 1, by the letters that each of its tokens spans."""
    constants = constants or FusionConstants()
    if letters_per_token is None:
        return 1.0
    span = constants.readable_letters - constants.unreadable_letters
    return min(1.0, max(0.0, (letters_per_token - constants.unreadable_letters) / span))


def _semantic_evidence(cosine: float | None, signals: FusionSignals) -> float:
    if cosine is None:
        return 0.0
    z = (cosine - signals.semantic_mean) / max(signals.semantic_deviation, _MIN_DEVIATION)
    return best_of_surprise(z, signals.windows)


def _keyword_evidence(scores: Sequence[float], signals: FusionSignals) -> list[float]:
    """Bennett's bound for each score, in nats."""
    known = [term for term in signals.terms if term.documents > 0 and term.weight > _MIN_WEIGHT]
    if not known:
        return [_KEYWORD_SLOPE * score for score in scores]
    documents = max(signals.documents, 1)
    largest = max(term.weight for term in known)
    expected = variance = 0.0
    for term in known:
        # A term that every document holds still varies a little: by how often.
        share = min(term.documents / documents, documents / (documents + 1))
        weight = term.weight / largest
        expected += share * weight
        variance += share * (1 - share) * weight**2
    # One occurrence in a document of average length counts its weight, in units of the largest.
    unit = (1 + signals.k1) / largest

    def evidence(score: float) -> float:
        u = max(score * unit - expected, 0.0) / variance
        return variance * ((1 + u) * math.log1p(u) - u) + _KEYWORD_SLOPE * score * unit

    return [evidence(score) for score in scores]


def _lead(evidence: Sequence[float], crowd: int) -> float:
    """How far the best stands above the one in place ``crowd`` (or the last), beyond what chance gives."""
    best = heapq.nlargest(crowd, evidence)
    return max(0.0, best[0] - best[-1] - math.log(len(best))) if best else 0.0


def _coverage(candidates: Sequence[FusionCandidate], evidence: Sequence[float]) -> float:
    """Coverage of the best keyword hit, the better one of equals; 0 without a hit."""
    best = max(evidence, default=0.0)
    if best <= 0:
        return 0.0
    return max(
        candidate.coverage for candidate, found in zip(candidates, evidence, strict=True) if found == best
    )


def _reason(strength: float, lead: float, readable: float, coverage: float) -> str:
    """One sentence for people, from the same figures as the weights."""
    if readable <= 0:
        return "the embedding model cannot read the question's language: words decide"
    if coverage <= 0:
        return "no document holds a word of the question: meaning decides"
    if strength > lead:
        return "the best match by meaning stands out more than the best by words"
    if lead > strength:
        return "the best match by words stands out more than the best by meaning"
    return "neither arm stands out from chance"
