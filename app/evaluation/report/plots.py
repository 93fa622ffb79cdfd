"""Plots of a report, as SVG text that stands in the page."""

import io
import re
from collections.abc import Sequence
from typing import Any, Final

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from app.evaluation.comparison import Comparison
from app.evaluation.runner import RunResult
from app.evaluation.summary import CURVE_DEPTH

# Blue and orange can be told apart by everyone, and in grey print by their lightness.
COLOURS: Final = ("#1f5fa8", "#e08a2e", "#3a8f5c", "#8a5aa8")
_GREY: Final = "#6b7280"
_STYLE: Final[dict[Any, Any]] = {
    "font.family": "sans-serif",
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _GREY,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "grid.color": "#e5e7eb",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.fonttype": "none",
}
_METADATA: Final = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_WIDTH: Final = 4.4
_HEIGHT: Final = 2.8
_MOST_SLICES: Final = 24


def first_required(runs: Sequence[RunResult], salt: str) -> str:
    """Share of the cases whose first required item stands at each rank; the last bar: it did not come."""
    depth = max((score.axes["ranked"]["strict"].k for run in runs for score in run.scores), default=1)
    with mpl.rc_context(_STYLE | {"svg.hashsalt": salt}):
        figure, axes = _figure("Rank of the first required item")
        places = np.arange(depth + 1)
        width = 0.8 / len(runs)
        for number, run in enumerate(runs):
            ranks = [
                score.axes["ranked"]["strict"].first_required_rank
                for score in run.scores
                if score.axes["ranked"]["strict"].required_recall_at_k is not None
            ]
            counts = [sum(rank == place for rank in ranks) for place in range(1, depth + 1)]
            counts.append(len(ranks) - sum(counts))
            shares = [count / max(1, len(ranks)) for count in counts]
            offset = (number - (len(runs) - 1) / 2) * width
            axes.bar(places + offset, shares, width, color=COLOURS[number], label=run.config.policy)
        axes.set_xticks(places, [*map(str, range(1, depth + 1)), "missing"])
        axes.set_ylabel("share of cases")
        axes.set_ylim(0, 1)
        axes.grid(visible=False, axis="x")
        axes.legend()
        return _svg(figure)


def slice_deltas(comparison: Comparison, salt: str) -> str:
    """Change of nDCG@k in each slice, with its interval."""
    named = [
        (name, deltas["ndcg_at_k"]) for name, deltas in comparison.slices.items() if "ndcg_at_k" in deltas
    ]
    named = sorted(named, key=lambda item: abs(item[1].delta), reverse=True)[:_MOST_SLICES]
    named.sort(key=lambda item: item[1].delta)
    with mpl.rc_context(_STYLE | {"svg.hashsalt": salt}):
        height = max(1.6, 0.22 * len(named) + 1.0)
        figure, axes = _figure("Change of nDCG@k by category", height=height)
        places = np.arange(len(named))
        values = np.array([delta.delta for _, delta in named])
        reach = np.array(
            [
                [max(0.0, delta.delta - delta.low) for _, delta in named],
                [max(0.0, delta.high - delta.delta) for _, delta in named],
            ]
        )
        colours = [COLOURS[0] if value >= 0 else COLOURS[1] for value in values]
        axes.barh(
            places,
            values,
            color=colours,
            xerr=reach if named else None,
            error_kw={"ecolor": _GREY, "lw": 0.8},
        )
        axes.axvline(0, color=_GREY, lw=0.8)
        axes.set_yticks(places, [name for name, _ in named])
        axes.set_xlabel(f"{comparison.candidate.get('policy')} less {comparison.baseline.get('policy')}")
        axes.grid(visible=False, axis="y")
        return _svg(figure)


def latency(runs: Sequence[RunResult], salt: str) -> str:
    """Share of the recalls that were answered within a time."""
    with mpl.rc_context(_STYLE | {"svg.hashsalt": salt}):
        figure, axes = _figure("Latency of the primary recall")
        for number, run in enumerate(runs):
            times = np.sort([score.latency_ms for score in run.scores])
            axes.step(
                times,
                np.arange(1, len(times) + 1) / len(times),
                where="post",
                color=COLOURS[number],
                label=run.config.policy,
            )
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
        axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
        axes.set_xlabel("milliseconds (logarithmic)")
        axes.set_ylabel("share answered")
        axes.set_ylim(0, 1.02)
        axes.legend(loc="lower right")
        return _svg(figure)


def recall_curves(runs: Sequence[RunResult], salt: str) -> str:
    """Mean recall against depth: what was fused under each policy, and each branch alone."""
    with mpl.rc_context(_STYLE | {"svg.hashsalt": salt}):
        figure, axes = _figure("Recall against depth: fused, and each branch alone")
        depths = np.arange(1, CURVE_DEPTH + 1)
        for number, run in enumerate(runs):
            curves = run.summary.overall.recall_curves
            if "fused" in curves:
                axes.plot(
                    depths,
                    curves["fused"],
                    color=COLOURS[number],
                    label=f"{run.config.policy}, fused",
                    lw=1.8,
                )
        if runs:
            curves = runs[-1].summary.overall.recall_curves
            for name, dashes in (("keyword", "--"), ("semantic", ":")):
                if name in curves:
                    axes.plot(depths, curves[name], color=_GREY, ls=dashes, label=f"{name} alone", lw=1.4)
        axes.set_xscale("log")
        axes.set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
        axes.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        axes.set_xlabel("depth (logarithmic)")
        axes.set_ylabel("recall")
        axes.set_ylim(0, 1.02)
        axes.legend(loc="lower right")
        return _svg(figure)


def _figure(title: str, *, height: float = _HEIGHT) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title)
    return figure, axes


def _svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    # matplotlib's own description of the file says nothing to a reader of the page.
    return _METADATA.sub("", text[text.index("<svg") :])
