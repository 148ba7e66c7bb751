"""Drawings of a regression: densities of predictions, and intervals of coefficients as a forest."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.findings.schema import Coefficient, Histogram, Regression
from understudy.pages.plots.canvas import (
    ALONE,
    LIGHT,
    SeriesStyle,
    drawing,
    name_series,
    svg_of,
    valued,
    valued_strips,
)
from understudy.summaries import number, percent, short

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = [
    "by_disagreement",
    "changed_significances",
    "forest_svg",
    "interval_limits",
    "predictions_svg",
    "smoothed",
]

SMOOTH = 1.6  # bins: width of the kernel
STRETCH = 3  # bins whose shares are shown together to readers who point at them


def predictions_svg(
    fitted: list[tuple[SeriesStyle, Regression]], name: str, response: str
) -> str | None:
    """Draw densities of the predictions for held-out records, original and synthetic."""
    original = fitted[0][1].predictions_original
    if original is None:
        return None
    words = []
    with drawing(width=ALONE, height=2.6) as (canvas, (axes,)):
        centres, shares = smoothed(original)
        axes.fill_between(centres, shares, color=LIGHT["original"], alpha=0.3, linewidth=0)
        axes.plot(centres, shares, color=LIGHT["original"], linewidth=0.9)
        names = [("original", LIGHT["original"])]
        for style, regression in fitted:
            if regression.predictions_synthetic is None:
                continue
            centres, shares = smoothed(regression.predictions_synthetic)
            axes.plot(centres, shares, color=style.colour, linestyle=style.dashes)
            names.append((style.title, style.colour))
            if regression.distance is not None:
                words.append(
                    f"{style.title}: distance {number(regression.distance.mean)}, truth floor "
                    f"{number(regression.distance_truth_floor)}"
                )
        name_series(axes, names)
        axes.set_ylim(bottom=0)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_title("Predictions for held-out records")
        axes.set_xlabel(f"predicted {short(response, 30)}")
        _value_predictions(axes, fitted, original)
        return svg_of(
            canvas,
            name,
            "Densities of predictions",
            "Predictions from the original and from the synthetic sets; " + "; ".join(words) + ".",
        )


def _value_predictions(
    axes: Axes, fitted: Sequence[tuple[SeriesStyle, Regression]], original: Histogram
) -> None:
    """Let readers point at stretches of the predictions: the share of each series in them."""
    named = [("original", original)]
    for style, regression in fitted:
        if regression.predictions_synthetic is not None:
            named.append((style.title, regression.predictions_synthetic))
    edges = list(original.edges[::STRETCH])
    edges += [] if edges[-1] == original.edges[-1] else [original.edges[-1]]
    words = [
        f"{number(low)} to {number(high)}: "
        + ", ".join(
            f"{title} {percent(sum(bars.counts[at : at + STRETCH]) / (sum(bars.counts) or 1))}"
            for title, bars in named
        )
        for at, (low, high) in zip(count(0, STRETCH), pairwise(edges), strict=False)
    ]
    valued_strips(axes, edges, words)


def smoothed(histogram: Histogram) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smooth a histogram with a small Gaussian kernel: centres and density, both (bin,)."""
    edges = np.asarray(histogram.edges)
    counts = np.asarray(histogram.counts, dtype=float)
    reach = np.arange(-5, 6)
    kernel = np.exp(-0.5 * (reach / SMOOTH) ** 2)
    shares = np.convolve(counts, kernel / kernel.sum(), mode="same")
    total = shares.sum() * (edges[1] - edges[0])
    return (edges[:-1] + edges[1:]) / 2, shares / (total or 1.0)


def by_disagreement(regression: Regression, every: bool = False) -> list[Coefficient]:
    """Sort coefficients that both sides estimate, the least overlap first; or all of them."""

    def rank(row: Coefficient) -> tuple[float, float, str]:
        apart = abs((row.combined or 0.0) - (row.original or 0.0))
        return (2.0 if row.overlap is None else row.overlap), -apart, row.name

    rows = [
        row
        for row in regression.coefficients
        if every or (row.original is not None and row.combined is not None)
    ]
    return sorted(rows, key=rank)


def changed_significances(regression: Regression) -> tuple[int, int]:
    """Count coefficients whose interval excludes zero on one side only, of those with both."""
    both = [
        (_excludes_zero(row.original_lower, row.original_upper),
         _excludes_zero(row.combined_lower, row.combined_upper))
        for row in regression.coefficients
    ]  # fmt: skip
    known = [(first, second) for first, second in both if first is not None and second is not None]
    return sum(first != second for first, second in known), len(known)


def _excludes_zero(low: float | None, high: float | None) -> bool | None:
    return None if low is None or high is None else low > 0 or high < 0


def forest_svg(
    style: SeriesStyle, rows: Sequence[Coefficient], name: str, limits: tuple[float, float]
) -> str:
    """Draw intervals of coefficients: the original's, and the combined one below it."""
    with drawing(height=0.75 + 0.29 * len(rows)) as (canvas, (axes,)):
        for at, row in enumerate(rows):
            original = _interval(axes, at - 0.17, LIGHT["original"], "s", row.original,
                                 row.original_lower, row.original_upper)  # fmt: skip
            combined = _interval(axes, at + 0.17, style.colour, style.marker, row.combined,
                                 row.combined_lower, row.combined_upper)  # fmt: skip
            for mark in (original, combined):
                if mark is not None:
                    valued(mark, _coefficient_words(row))
        axes.axvline(0, color=LIGHT["soft"], linewidth=0.6)
        axes.set_yticks(range(len(rows)), [short(row.name, 20) for row in rows])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(*limits)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("coefficient, 95 % interval")
        name_series(axes, [("original", LIGHT["original"]), (style.title, style.colour)])
        words = "; ".join(map(_coefficient_words, rows))
        return svg_of(canvas, name, "Intervals of coefficients", words + ".")


def interval_limits(rows: Sequence[Coefficient]) -> tuple[float, float]:
    """Ends of the horizontal axis that all intervals fit into."""
    ends = [0.0]
    for row in rows:
        listed = (row.original_lower, row.original_upper, row.combined_lower, row.combined_upper)
        ends += [end for end in listed if end is not None]
    low, high = min(ends), max(ends)
    pad = 0.04 * (high - low) or 1.0
    return low - pad, high + pad


def _coefficient_words(row: Coefficient) -> str:
    return (
        f"{row.name}: original {number(row.original)}, synthetic {number(row.combined)}, overlap "
        f"{percent(row.overlap)}"
    )


def _interval(axes: Axes, at: float, colour: str, marker: str, middle: float | None,
              low: float | None, high: float | None) -> Artist | None:  # fmt: skip
    if middle is None:
        return None
    if low is not None and high is not None:
        axes.plot([low, high], [at, at], color=colour, linewidth=1.2, solid_capstyle="butt")
    return axes.plot([middle], [at], color=colour, marker=marker, markersize=3.4)[0]
