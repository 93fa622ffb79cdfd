"""Durations to figures."""

import pytest

from app.bench.figures import Latency, ratio, recall_at


def test_percentiles_are_interpolated_and_in_milliseconds() -> None:
    figures = Latency.of([second / 1_000 for second in range(1, 101)])
    assert figures.count == 100
    assert figures.mean == pytest.approx(50.5)
    assert figures.p50 == pytest.approx(50.5)
    assert figures.p95 == pytest.approx(95.05)
    assert figures.p99 == pytest.approx(99.01)
    assert figures.longest == pytest.approx(100.0)


def test_one_duration_is_every_percentile() -> None:
    figures = Latency.of([0.25])
    assert (figures.p50, figures.p95, figures.p99, figures.longest) == (250.0, 250.0, 250.0, 250.0)


def test_no_duration_is_no_distribution() -> None:
    with pytest.raises(ValueError, match="no duration"):
        Latency.of([])


def test_recall_counts_what_was_wanted() -> None:
    assert recall_at(["a", "b", "x"], ["a", "b", "c", "d"]) == 0.5
    assert recall_at([], ["a"]) == 0.0
    assert recall_at(["a"], []) == 1.0


def test_ratio_of_nothing_is_nothing() -> None:
    assert ratio(1.0, 4.0) == 0.25
    assert ratio(1.0, 0.0) is None
