"""Durations to figures. Pure functions."""

from collections.abc import Sequence
from typing import Self

import msgspec
import numpy as np


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """A distribution of durations, in milliseconds.

    Attributes:
        count: Durations measured.
        mean: Their arithmetic mean.
        p50: Median; percentiles are interpolated between the neighbouring ranks.
        p95: 95th percentile.
        p99: 99th percentile.
        longest: The longest.
    """

    count: int
    mean: float
    p50: float
    p95: float
    p99: float
    longest: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Self:
        """Figures of durations in seconds.

        Raises:
            ValueError: there is none.
        """
        if not seconds:
            raise ValueError("no duration was measured")
        milliseconds = np.asarray(seconds, dtype=np.float64) * 1_000
        p50, p95, p99 = np.percentile(milliseconds, [50, 95, 99])
        return cls(
            count=len(seconds),
            mean=float(milliseconds.mean()),
            p50=float(p50),
            p95=float(p95),
            p99=float(p99),
            longest=float(milliseconds.max()),
        )


def recall_at(found: Sequence[object], wanted: Sequence[object]) -> float:
    """Share of ``wanted`` that is in ``found``; 1 when nothing is wanted."""
    return len(set(found) & set(wanted)) / len(set(wanted)) if wanted else 1.0


def ratio(part: float, whole: float) -> float | None:
    """``part / whole``; ``None`` for a whole of zero."""
    return part / whole if whole else None
