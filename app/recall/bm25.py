"""BM25 weights and the choice of candidates, as pure functions.

Score of a document: the sum over the query's terms of ``idf * tf / (tf + k1 * (1 - b + b * length / average))`` with
Lucene's ``idf = ln(1 + (N - df + 0.5) / (df + 0.5))``. Only documents that match a *selection* are scored:

1. First the documents with the rarest terms, or, where even the rarest is common, those with all terms.
2. The fraction stays below 1, so a document scores less than the sum of the idf of the terms that it holds (MaxScore,
   Turtle and Flood 1995). Let ``s`` be the tenth best score so far. Whatever could still reach it must hold a term of
   every set of terms without which the rest sums to less than ``s``. Those sets, joined by AND, select few documents,
   and the best ten among them and the first ones are those of an exhaustive search.

The second step is left out when the first is proven already, or when it would cost more than the work allowed; then
the ranking is called inexact.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Caps:
    """Bounds of the work of one keyword search.

    Attributes:
        first: Candidates that the rarest terms may select at first.
        work: Candidates times scored terms that any attempt may cost, by estimate.
        terms: Terms that are scored; of a longer query the rarest are kept. Against 32 it costs .001 nDCG@10 on questions
            of 54 terms (dialogues), nothing elsewhere, and saves a quarter of a long question's work.
    """

    first: int = 2_000
    work: int = 60_000
    terms: int = 24


@dataclass(frozen=True, slots=True)
class TermWeight:
    """A term that is scored: its document frequency and its weight (idf times its count in the query)."""

    term: str
    documents: int
    weight: float


@dataclass(frozen=True, slots=True)
class Selection:
    """Which documents are scored: those that hold a term of every group.

    Attributes:
        groups: Groups of terms; none when the branch abstains.
        bound: What a document outside can score at the most; 0 when none outside holds a term.
        estimate: Expected number of documents, were the terms independent.
        note: What a person should know about it; empty when there is nothing unusual.
    """

    groups: tuple[tuple[str, ...], ...]
    bound: float
    estimate: float
    note: str = ""


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


def select_first(weights: Sequence[TermWeight], total: int, caps: Caps) -> Selection:
    """Candidates of the first attempt; ``weights`` rarest first, ``total`` the number of documents."""
    if not weights:
        return Selection((), 0.0, 0.0, "no memory holds a word of the query")
    chosen, documents = 0, 0
    while chosen < len(weights) and documents + weights[chosen].documents <= caps.first:
        documents += weights[chosen].documents
        chosen += 1
    if chosen:
        bound = math.fsum(weight.weight for weight in weights[chosen:])
        return Selection((tuple(weight.term for weight in weights[:chosen]),), bound, float(documents))
    if len(weights) == 1:
        if weights[0].documents > caps.work:
            return Selection((), math.inf, 0.0, "the only word is in too many memories to tell them apart")
        return Selection(((weights[0].term,),), 0.0, float(weights[0].documents))
    groups = tuple((weight.term,) for weight in weights[: caps.terms])
    return Selection(
        groups,
        math.inf,
        _expected(groups, weights, total),
        "every word is common: memories with all of them came first",
    )


def select_rest(weights: Sequence[TermWeight], total: int, score: float, caps: Caps) -> Selection | None:
    """Candidates that could still reach ``score``; ``None`` when scoring them would cost too much."""
    everything = math.fsum(weight.weight for weight in weights)
    groups: dict[tuple[str, ...], None] = {}
    for start in range(len(weights)):
        outside = everything
        for end in range(start, len(weights)):
            outside -= weights[end].weight
            # The margin keeps rounding from dropping a document that just reaches the score.
            if outside < score * (1 - 1e-9):
                groups[tuple(weight.term for weight in weights[start : end + 1])] = None
                break
        if len(groups) >= MAX_GROUPS:
            break
    if not groups:
        groups = {tuple(weight.term for weight in weights): None}
    selected = tuple(groups)
    estimate = _expected(selected, weights, total)
    if estimate * len(weights) > caps.work:
        return None
    return Selection(selected, 0.0, estimate)


def _expected(groups: Sequence[Sequence[str]], weights: Sequence[TermWeight], total: int) -> float:
    """Upper estimate of the documents that match every group: the smallest group, thinned by one other."""
    shares = {weight.term: min(1.0, weight.documents / max(total, 1)) for weight in weights}
    sizes = sorted(min(1.0, math.fsum(shares[term] for term in group)) for group in groups)
    disjoint = len(sizes) > 1 and not set(groups[0]) & set(groups[-1])
    return total * sizes[0] * (sizes[-1] if disjoint else 1.0)


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
"""Depth to which a keyword ranking is proven to be the exhaustive one."""

MAX_GROUPS: Final = 4
