"""Drawings of table deviations: signed deviations of cells, and sums against the truth floor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.findings.schema import Findings, Histogram
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
from understudy.summaries import number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["density", "deviation_svg", "draw_deviations", "moments", "signed_svg"]

HUNDRED = 100.0
REACH = 0.995  # share of the cells that the axis has to show
MOST_BINS = 41


def deviation_svg(findings: Findings, styles: list[SeriesStyle], name: str) -> str:
    """Draw the sums of deviations by order, each with the truth floor across it."""
    with drawing(width=ALONE, height=0.85 + 0.28 * _n_bars(findings)) as (canvas, (axes,)):
        words = draw_deviations(axes, findings, styles)
        return svg_of(canvas, name, "Table deviations against the truth floor", words)


def _n_bars(findings: Findings) -> int:
    return sum(len(synthesizer.utility.tables.orders) for synthesizer in findings.synthesizers)


def draw_deviations(
    axes: Axes, findings: Findings, styles: list[SeriesStyle], digits: int = 3
) -> str:
    """Draw bars into axes, to so many digits; return what they show, in words."""
    orders = sorted(
        {
            order
            for synthesizer in findings.synthesizers
            for order in synthesizer.utility.tables.orders
        }
    )
    bar, ticks, words, most = 0.0, [], [], 0.0
    for order in orders:
        first = bar
        for synthesizer, style in zip(findings.synthesizers, styles, strict=True):
            tables = synthesizer.utility.tables
            if order not in tables.orders:
                continue
            at = tables.orders.index(order)
            mean = (tables.deviation[at].mean or 0.0) / HUNDRED
            floor = tables.truth_floor[at] / HUNDRED
            (patch,) = axes.barh(bar, mean, height=0.72, color=style.colour, linewidth=0)
            axes.plot([floor, floor], [bar - 0.46, bar + 0.46], color=LIGHT["max"], linewidth=2.2)
            label = f"{style.title} {number(mean, digits=digits)}"
            axes.annotate(label, (max(mean, floor), bar), xytext=(5, 0),
                          textcoords="offset points", va="center")  # fmt: skip
            words.append(
                f"{style.title}, {order}-way: {number(mean, digits=digits)} against "
                f"a floor of {number(floor, digits=digits)}"
            )
            valued(patch, words[-1])
            most = max(most, mean, floor)
            bar += 1
        ticks.append(((first + bar - 1) / 2, f"{order}-way"))
        bar += 0.5
    axes.set_yticks([at for at, _ in ticks], [words for _, words in ticks])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.invert_yaxis()
    axes.set_xlim(0, most * 1.45 or 1.0)
    axes.set_xlabel("sum of absolute deviations, hundreds")
    axes.set_title("Deviation of tables")
    name_series(axes, [("truth floor: the population known", LIGHT["max"])])
    return "; ".join(words) + "."


def signed_svg(findings: Findings, styles: list[SeriesStyle], order: int, name: str) -> str:
    """Draw the densities of signed deviations of one order, beside resampled sets."""
    series = []
    for synthesizer, style in zip(findings.synthesizers, styles, strict=True):
        tables = synthesizer.utility.tables
        if order in tables.orders:
            at = tables.orders.index(order)
            series.append((style, tables.signed[at]))
            floor = tables.signed_floor[at]
    reach = max(_reach(histogram) for _, histogram in [*series, (None, floor)])
    words = []
    with drawing() as (canvas, (axes,)):
        centres, shares, _ = density(floor, reach)
        axes.fill_between(centres, shares, color=LIGHT["max"], alpha=0.22, linewidth=0)
        axes.plot(centres, shares, color=LIGHT["max"], linewidth=0.9)
        names = [("resampled", LIGHT["max"])]
        for style, histogram in series:
            centres, shares, spread = density(histogram, reach)
            axes.plot(centres, shares, color=style.colour, linestyle=style.dashes)
            names.append((style.title, style.colour))
            words.append(f"{style.title}: standard deviation {number(spread)}")
        _, _, spread = density(floor, reach)
        words.append(f"resampled sets: {number(spread)}")
        axes.axvline(0, color=LIGHT["soft"], linewidth=0.6)
        axes.set_ylim(bottom=0)
        axes.set_xlim(-reach, reach)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_title(f"{order}-way tables")
        axes.set_xlabel("synthetic minus original count of a cell")
        named = [("resampled", floor), *((style.title, own) for style, own in series)]
        valued_strips(axes, *_shares_by_bin(named, reach))
        name_series(axes, names)
        return svg_of(
            canvas,
            name,
            f"Signed deviations of {order}-way tables",
            "Densities around zero; " + "; ".join(words) + ".",
        )


def _shares_by_bin(
    named: Sequence[tuple[str, Histogram]], reach: float
) -> tuple[list[float], list[str]]:
    """Edges of the bins of some densities, and the shares of cells in each, in words."""
    shares = [(title, *density(histogram, reach)[:2]) for title, histogram in named]
    centres = max((share[1] for share in shares), key=len)
    width = float(centres[1] - centres[0]) if len(centres) > 1 else 2 * reach
    words = [
        f"about {number(float(centre), digits=2)}: "
        + ", ".join(
            f"{title} {percent(float(np.interp(centre, at, height)) * width)}"
            for title, at, height in shares
        )
        for centre in centres
    ]
    return [*(centres - width / 2).tolist(), float(centres[-1] + width / 2)], words


def _reach(histogram: Histogram) -> float:
    """Half of the axis that shows nearly all cells."""
    edges = np.asarray(histogram.edges)
    counts = np.asarray(histogram.counts, dtype=float)
    if not counts.size or not counts.sum():
        return 1.5
    centres = np.abs((edges[:-1] + edges[1:]) / 2)
    order = np.argsort(centres)
    inside = np.cumsum(counts[order]) / counts.sum()
    return float(max(1.5, centres[order][np.searchsorted(inside, REACH)] + 0.5))


def density(
    histogram: Histogram, reach: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Turn counts of whole numbers into a density with few enough points to look at.

    Gives middles of bins, (bin,), their density, (bin,), and the standard deviation of all values.
    """
    edges = np.asarray(histogram.edges, dtype=float)
    counts = np.asarray(histogram.counts, dtype=float)
    if not counts.size or not counts.sum():
        return np.zeros(1), np.zeros(1), 0.0
    middle = (edges[:-1] + edges[1:]) / 2
    total = counts.sum()
    _, spread, _ = moments(histogram)
    own = float(edges[1] - edges[0])
    width = own * max(1, round(2 * reach / own / MOST_BINS))
    half = int(np.ceil(reach / width)) + 1
    bins = (np.arange(-half, half + 2) - 0.5) * width
    shares, _ = np.histogram(middle, bins, weights=counts)
    return (bins[:-1] + bins[1:]) / 2, shares / total / width, spread


def moments(histogram: Histogram) -> tuple[float, float, float]:
    """Mean and standard deviation of the values, and the share of those that are zero."""
    edges = np.asarray(histogram.edges, dtype=float)
    counts = np.asarray(histogram.counts, dtype=float)
    total = counts.sum()
    if not counts.size or not total:
        return 0.0, 0.0, 1.0
    middle = (edges[:-1] + edges[1:]) / 2
    mean = float(counts @ middle / total)
    spread = float(np.sqrt(counts @ (middle - mean) ** 2 / total))
    zero = (edges[:-1] < 0) & (edges[1:] > 0)
    return mean, spread, float(counts[zero].sum() / total)
