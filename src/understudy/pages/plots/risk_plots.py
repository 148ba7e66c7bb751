"""Drawings of risk: the paper's histograms of baselines, and the riskiest patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.findings.schema import Findings, IdentificationFindings, SpreadFindings
from understudy.pages.plots.canvas import (
    LIGHT,
    WIDTH,
    SeriesStyle,
    drawing,
    name_series,
    svg_of,
    valued,
)
from understudy.summaries import number, percent, short, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "baseline_svg",
    "riskiest_svg",
]

BINS = 24
SAME = 1e-9  # values that differ by less, relative to their size, are one


def baseline_svg(
    title: str,
    minimum: SpreadFindings | None,
    maximum: SpreadFindings | None,
    series: Sequence[tuple[SeriesStyle, SpreadFindings]],
    name: str,
    width: float = WIDTH,
) -> str | None:
    """Draw histograms of Min and Max, and every synthesizer's smallest, mean and largest value.

    None where there is nothing to draw: no value at all, or the same one everywhere.
    """
    baselines = [
        (words, LIGHT[key], _values(spread))
        for words, key, spread in (("Min", "min", minimum), ("Max", "max", maximum))
    ]
    shown = [(style, spread) for style, spread in series if spread.mean is not None]
    everything = [value for _, _, values in baselines for value in values]
    for _, spread in shown:
        everything += [end for end in (spread.minimum, spread.maximum) if end is not None]
    if not everything:
        return None
    low, high = min(everything), max(everything)
    if high - low <= SAME * max(abs(low), abs(high)):
        return None  # one number: the table says it
    pad = 0.05 * (high - low)
    edges = np.linspace(low, high, BINS + 1)
    with drawing(width=width) as (canvas, (axes,)):
        most = _draw_baselines(axes, baselines, edges)
        for style, spread in shown:
            _draw_lines(axes, style, spread, 1.12 * most)
        axes.set_xlim(low - pad, high + pad)
        axes.set_ylim(0, 1.14 * most)
        axes.set_yticks([])
        axes.locator_params(axis="x", nbins=5)
        axes.spines["left"].set_visible(False)
        axes.set_title(title)
        names = [(words, colour) for words, colour, values in baselines if values]
        name_series(axes, names + [(style.title, style.colour) for style, _ in shown])
        return svg_of(canvas, name, title, _words(baselines, shown))


def _values(spread: SpreadFindings | None) -> list[float]:
    return [] if spread is None else [value for value in spread.values if value is not None]


def _draw_baselines(
    axes: Axes, baselines: Sequence[tuple[str, str, list[float]]], edges: np.ndarray
) -> float:
    most = 1.0
    for _, colour, values in baselines:
        if not values:
            continue
        counts, _ = np.histogram(values, edges)
        axes.stairs(counts, edges, fill=True, color=colour, alpha=0.35, linewidth=0)
        axes.stairs(counts, edges, color=colour, linewidth=0.9)
        most = max(most, float(counts.max()))
    return most


def _draw_lines(axes: Axes, style: SeriesStyle, spread: SpreadFindings, top: float) -> None:
    for value, width in ((spread.minimum, 0.8), (spread.mean, 2.0), (spread.maximum, 0.8)):
        if value is not None:
            axes.plot([value, value], [0, top], color=style.colour, linewidth=width,
                      linestyle="-" if width > 1 else (0, (3, 1.5)))  # fmt: skip


def _words(
    baselines: Sequence[tuple[str, str, list[float]]],
    shown: Sequence[tuple[SeriesStyle, SpreadFindings]],
) -> str:
    words = [
        f"{words}: from {number(min(values))} to {number(max(values))} over {len(values)} repeats"
        if values
        else f"{words}: undefined in every repeat"
        for words, _, values in baselines
    ]
    words += [
        f"{style.title}: from {number(spread.minimum)} to "
        f"{number(spread.maximum)}, mean {number(spread.mean)}"
        for style, spread in shown
    ]
    return "; ".join(words) + "."


def riskiest_svg(
    findings: Findings, style: SeriesStyle, risk: IdentificationFindings, known: str, name: str
) -> str | None:
    """Draw the riskiest patterns: their share of the risk against that of the records."""
    total = risk.measures["expected_match_risk"].mean
    if not total or not risk.patterns:
        return None
    sizes = np.array([row.records for row in risk.patterns]) / findings.data.n_records
    risks = np.array([row.expected_match_risk for row in risk.patterns]) / total
    most = 1.12 * max(float(sizes.max()), float(risks.max()))
    with drawing() as (canvas, (axes,)):
        axes.plot([0, most], [0, most], color=LIGHT["soft"], linewidth=0.7, linestyle="--")
        for row, size, share in zip(risk.patterns, sizes.tolist(), risks.tolist(), strict=True):
            (mark,) = axes.plot([size], [share], color=style.colour, marker=style.marker,
                                markersize=4.5, linestyle="none", alpha=0.85)  # fmt: skip
            valued(mark, f"{', '.join(map(shown, row.levels))}: {percent(size)} of the records, "
                         f"{percent(share)} of the match risk")  # fmt: skip
        axes.set_xlim(0, most)
        axes.set_ylim(0, most)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(_ticks())
            axis.set_major_formatter(lambda value, _: f"{100 * value:.6g} %")
        axes.set_xlabel("share of the records")
        axes.set_ylabel("share of the match risk")
        axes.set_title(f"{style.title}, {short(known, 28)}", pad=6)
        return svg_of(
            canvas,
            name,
            f"Patterns that carry the risk, {style.title}",
            f"The worst pattern has {percent(float(sizes[0]))} of the records and "
            f"{percent(float(risks[0]))} of the expected match risk; all {len(sizes)} together "
            f"have {percent(float(sizes.sum()))} and {percent(float(risks.sum()))}.",
        )


def _ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(5, steps=[1, 2, 5, 10])
