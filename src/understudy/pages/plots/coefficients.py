"""Drawings of a regression: densities of predictions, and intervals of coefficients as a forest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.findings.schema import Coefficient, Histogram, Regression
from understudy.pages.plots.canvas import ALONE, LIGHT, SeriesStyle, drawing, name_series, svg_of
from understudy.summaries import number, percent, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["forest_svg", "interval_limits", "predictions_svg", "select_coefficients", "smoothed"]

SMOOTH = 1.6  # bins: width of the kernel
FEW_LEVELS = 12  # terms with fewer coefficients are all shown
MOST_SHOWN = 36


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
        return svg_of(
            canvas,
            name,
            "Densities of predictions",
            "Predictions from the original and from the synthetic sets; " + "; ".join(words) + ".",
        )


def smoothed(histogram: Histogram) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smooth a histogram with a small Gaussian kernel: centres and density, both (bin,)."""
    edges = np.asarray(histogram.edges)
    counts = np.asarray(histogram.counts, dtype=float)
    reach = np.arange(-5, 6)
    kernel = np.exp(-0.5 * (reach / SMOOTH) ** 2)
    shares = np.convolve(counts, kernel / kernel.sum(), mode="same")
    total = shares.sum() * (edges[1] - edges[0])
    return (edges[:-1] + edges[1:]) / 2, shares / (total or 1.0)


def select_coefficients(fitted: list[tuple[SeriesStyle, Regression]]) -> list[str]:
    """Select coefficients to draw: those of short terms, and of long ones the best and the worst.

    The paper shows a few of many. Here every term with few levels is shown whole; of a long one,
    coefficients with the least, the median and the largest overlap with the first synthesizer.
    """
    rows = [row for row in fitted[0][1].coefficients if row.original is not None]
    terms: dict[str, list[Coefficient]] = {}
    for row in rows:
        terms.setdefault(row.name.split("[", 1)[0], []).append(row)
    left = MOST_SHOWN - sum(len(term) for term in terms.values() if len(term) <= FEW_LEVELS)
    long = [term for term in terms.values() if len(term) > FEW_LEVELS]
    each = max(4, left // max(1, len(long)))
    names = []
    for term in terms.values():
        shown = term if len(term) <= FEW_LEVELS else _spread_by_overlap(term, each)
        names += [row.name for row in shown]
    return names[: 2 * MOST_SHOWN]


def _spread_by_overlap(term: list[Coefficient], count: int) -> list[Coefficient]:
    known = sorted(
        (row for row in term if row.overlap is not None),
        key=lambda row: (row.overlap or 0.0, row.name),
    )
    if not known:
        return term[:count]
    ranks = np.unique(np.linspace(0, len(known) - 1, min(count, len(known))).round().astype(int))
    return [known[rank] for rank in ranks.tolist()]


def forest_svg(
    fitted: list[tuple[SeriesStyle, Regression]],
    selected: list[str],
    name: str,
    limits: tuple[float, float],
) -> str:
    """Draw intervals of the selected coefficients: the original's and every synthesizer's."""
    by_name = [(style, {row.name: row for row in each.coefficients}) for style, each in fitted]
    step = 0.8 / (len(fitted) + 1)
    with drawing(height=0.65 + 0.3 * len(selected)) as (canvas, (axes,)):
        for line, key in enumerate(selected):
            first = by_name[0][1].get(key)
            if first is not None:
                _interval(axes, line - 0.4 + step / 2, LIGHT["original"], "s", first.original,
                          first.original_lower, first.original_upper)  # fmt: skip
            for series, (style, rows) in enumerate(by_name, start=1):
                row = rows.get(key)
                if row is not None:
                    _interval(axes, line - 0.4 + step * (series + 0.5), style.colour, style.marker,
                              row.combined, row.combined_lower, row.combined_upper)  # fmt: skip
        axes.axvline(0, color=LIGHT["soft"], linewidth=0.6)
        axes.set_yticks(range(len(selected)), [short(key, 22) for key in selected])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(selected) - 0.4, -0.6)
        axes.set_xlim(*limits)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("coefficient, 95 % interval")
        return svg_of(canvas, name, "Intervals of coefficients", _forest_words(by_name, selected))


def interval_limits(
    fitted: list[tuple[SeriesStyle, Regression]], selected: list[str]
) -> tuple[float, float]:
    """Ends of the horizontal axis that all selected intervals fit into."""
    wanted = set(selected)
    ends = [0.0]
    for _, regression in fitted:
        for row in regression.coefficients:
            if row.name in wanted:
                ends += [
                    end
                    for end in (row.original_lower, row.original_upper, row.combined_lower,
                                row.combined_upper)
                    if end is not None
                ]  # fmt: skip
    low, high = min(ends), max(ends)
    pad = 0.04 * (high - low) or 1.0
    return low - pad, high + pad


def _interval(axes: Axes, at: float, colour: str, marker: str, middle: float | None,
              low: float | None, high: float | None) -> None:  # fmt: skip
    if middle is None:
        return
    if low is not None and high is not None:
        axes.plot([low, high], [at, at], color=colour, linewidth=1.2, solid_capstyle="butt")
    axes.plot([middle], [at], color=colour, marker=marker, markersize=2.6)


def _forest_words(
    by_name: list[tuple[SeriesStyle, dict[str, Coefficient]]], selected: list[str]
) -> str:
    words = []
    for style, rows in by_name:
        overlaps = [rows[key].overlap for key in selected if key in rows]
        known = [overlap for overlap in overlaps if overlap is not None]
        if known:
            words.append(
                f"{style.title}: overlaps from {percent(min(known))} to {percent(max(known))}"
            )
    return f"{len(selected)} coefficients; " + "; ".join(words) + ". All numbers are in the table."
