"""BM25 weights and the choice of candidates, as pure functions.

Score of a document: the sum over the query's terms of ``idf * tf / (tf + k1 * (1 - b + b * length / average))`` with
Lucene's ``idf = ln(1 + (N - df + 0.5) / (df + 0.5))``. Only documents that hold one of the *selecting* terms are
scored. A document without them scores less than the sum of the other terms' idf, because the fraction stays below 1
(MaxScore, Turtle and Flood 1995): once the k-th best candidate reaches that bound, no document outside can be among
the best k, and the ranking is the exhaustive one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Mode = Literal["any", "all", "none"]


@dataclass(frozen=True, slots=True)
class Caps:
    """Bounds of the work of one keyword search.

    Attributes:
        first: Candidates that the first attempt may select; at least the rarest term is used.
        most: Candidates that any attempt may select.
        terms: Terms that are scored; of a longer query the rarest are kept.
    """

    first: int = 2_000
    most: int = 20_000
    terms: int = 64


@dataclass(frozen=True, slots=True)
class TermWeight:
    """A term that is scored: its document frequency and its weight (idf times its count in the query)."""

    term: str
    documents: int
    weight: float


@dataclass(frozen=True, slots=True)
class Selection:
    """How candidates are found.

    Attributes:
        mode: ``any`` of the terms, ``all`` of them, or ``none`` (the branch abstains).
        terms: The selecting terms.
        bound: What a document outside the selection scores at the most; 0 when nothing is outside.
        reason: Why the branch abstains or narrows; empty when it does neither.
    """

    mode: Mode
    terms: tuple[str, ...]
    bound: float
    reason: str = ""


def idf(total: int, documents: int) -> float:
    """Lucene's inverse document frequency; positive for every ``0 <= documents <= total``."""
    return math.log1p((total - documents + 0.5) / (documents + 0.5))


def weigh(
    counts: Mapping[str, int], frequencies: Mapping[str, int], total: int, caps: Caps
) -> tuple[TermWeight, ...]:
    """Terms that some document holds, rarest first; ties by the term itself."""
    known = [
        TermWeight(term, frequencies[term], count * idf(total, frequencies[term]))
        for term, count in counts.items()
        if frequencies.get(term, 0) > 0
    ]
    return tuple(sorted(known, key=lambda weight: (weight.documents, weight.term))[: caps.terms])


def select(weights: Sequence[TermWeight], budget: int, caps: Caps) -> Selection:
    """Candidate selection within ``budget`` documents; ``weights`` rarest first."""
    if not weights:
        return Selection("none", (), 0.0, "no memory holds a word of the query")
    if weights[0].documents > caps.most:
        if len(weights) == 1:
            return Selection("none", (), 0.0, "the only word is in too many memories to tell them apart")
        return Selection(
            "all", tuple(w.term for w in weights), math.inf, "every word is common: memories with all of them"
        )
    chosen = 1
    total = weights[0].documents
    while chosen < len(weights) and total + weights[chosen].documents <= budget:
        total += weights[chosen].documents
        chosen += 1
    bound = math.fsum(weight.weight for weight in weights[chosen:])
    return Selection("any", tuple(w.term for w in weights[:chosen]), bound)


def asked_counts(counts: Mapping[str, int], asking: frozenset[str]) -> dict[str, int]:
    """The terms that say what is asked for: all but question words, unless there is nothing else."""
    kept = {term: count for term, count in counts.items() if term not in asking}
    return kept or dict(counts)


def length_normalisation(average_length: float) -> float:
    """BM25's ``b`` by the mean length of a profile's documents, in tokens: ``clip(mean / 50, 0.4, 0.75)``.

    Between chat turns of a dozen words, a longer one says more; between pages, it only says it longer. On eight sets
    (``make bench``) the rule is worth .017 nDCG@10 on chats and costs .001 at the most elsewhere.
    """
    return min(0.75, max(0.4, average_length / 50))


def is_exact(scores: Sequence[float], bound: float, depth: int) -> bool:
    """Whether the best ``depth`` of the descending ``scores`` are those of an exhaustive search."""
    return bound == 0 or (len(scores) >= depth and scores[depth - 1] >= bound)


EXACT_DEPTH: Final = 10
