"""Ranking measures over the grades of one ranking. Pure.

``grades`` is what came back, best first: the grade of each place, 0 for what is not relevant, each relevant item counted
once. ``ideal`` holds the grades of everything that is relevant. ``k`` is never cut to what came back. nDCG follows Järvelin
and Kekäläinen (2002) with the discount ``1 / log2(rank + 1)``; with linear gain, recall, reciprocal rank and nDCG equal
trec_eval's.
"""

from collections.abc import Sequence
from math import log2

from app.evaluation.formats.judged import Gain


def recall_at(grades: Sequence[int], total: int, k: int) -> float | None:
    """Share of ``total`` relevant items within the first ``k`` places; ``None`` when there are none."""
    return sum(grade > 0 for grade in grades[:k]) / total if total else None


def reciprocal_rank(grades: Sequence[int], k: int) -> float:
    """1 / rank of the first relevant place within ``k``, else 0."""
    rank = first_rank([grade > 0 for grade in grades[:k]])
    return 1 / rank if rank else 0.0


def ndcg_at(grades: Sequence[int], ideal: Sequence[int], k: int, gain: Gain) -> float | None:
    """Discounted gain within ``k`` places over the best that is possible; ``None`` when nothing can be gained."""
    best = _dcg(sorted(ideal, reverse=True)[:k], gain)
    return _dcg(grades[:k], gain) / best if best else None


def first_rank(hits: Sequence[bool]) -> int | None:
    """One-based place of the first hit."""
    return next((place for place, hit in enumerate(hits, start=1) if hit), None)


def _dcg(grades: Sequence[int], gain: Gain) -> float:
    return sum(_gain(grade, gain) / log2(place + 1) for place, grade in enumerate(grades, start=1))


def _gain(grade: int, gain: Gain) -> float:
    if grade <= 0:
        return 0.0
    return float(2**grade - 1 if gain == "exponential" else grade)
