"""Drawings of risk: histograms of the levels with the synthesizers' lines, places, and the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.findings.schema import Findings, IdentificationFindings, Spread
from understudy.pages.plots.canvas import LIGHT, WIDTH, SeriesStyle, drawing, name_series, svg_of
from understudy.summaries import number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Positioned", "draw_positions", "level_svg", "map_svg", "positions_svg", "riskiest_svg"]

BINS = 24
SAME = 1e-9  # values that differ by less, relative to their size, are one


def level_svg(
    title: str,
    minimum: Spread | None,
    maximum: Spread | None,
    found: Sequence[tuple[SeriesStyle, Spread]],
    name: str,
    width: float = WIDTH,
) -> str | None:
    """Draw histograms of Min and Max, with least, mean and largest figure of every synthesizer.

    None where there is nothing to draw: no value at all, or the same one everywhere.
    """
    levels = [
        (words, LIGHT[key], _values(spread))
        for words, key, spread in (("Min", "min", minimum), ("Max", "max", maximum))
    ]
    shown = [(look, spread) for look, spread in found if spread.mean is not None]
    everything = [value for _, _, values in levels for value in values]
    for _, spread in shown:
        everything += [one for one in (spread.minimum, spread.maximum) if one is not None]
    if not everything:
        return None
    low, high = min(everything), max(everything)
    if high - low <= SAME * max(abs(low), abs(high)):
        return None  # one number: the table says it
    pad = 0.05 * (high - low)
    edges = np.linspace(low, high, BINS + 1)
    with drawing(width=width) as (canvas, (axes,)):
        most = _draw_levels(axes, levels, edges)
        for look, spread in shown:
            _draw_lines(axes, look, spread, 1.12 * most)
        axes.set_xlim(low - pad, high + pad)
        axes.set_ylim(0, 1.14 * most)
        axes.set_yticks([])
        axes.locator_params(axis="x", nbins=5)
        axes.spines["left"].set_visible(False)
        axes.set_title(title)
        names = [(words, colour) for words, colour, values in levels if values]
        name_series(axes, names + [(look.title, look.colour) for look, _ in shown])
        return svg_of(canvas, name, title, _words(levels, shown))


def _values(spread: Spread | None) -> list[float]:
    return [] if spread is None else [one for one in spread.values if one is not None]


def _draw_levels(
    axes: Axes, levels: Sequence[tuple[str, str, list[float]]], edges: np.ndarray
) -> float:
    most = 1.0
    for _, colour, values in levels:
        if not values:
            continue
        counts, _ = np.histogram(values, edges)
        axes.stairs(counts, edges, fill=True, color=colour, alpha=0.35, linewidth=0)
        axes.stairs(counts, edges, color=colour, linewidth=0.9)
        most = max(most, float(counts.max()))
    return most


def _draw_lines(axes: Axes, look: SeriesStyle, spread: Spread, top: float) -> None:
    for value, width in ((spread.minimum, 0.8), (spread.mean, 2.0), (spread.maximum, 0.8)):
        if value is not None:
            axes.plot([value, value], [0, top], color=look.colour, linewidth=width,
                      linestyle="-" if width > 1 else (0, (3, 1.5)))  # fmt: skip


def _words(
    levels: Sequence[tuple[str, str, list[float]]], shown: Sequence[tuple[SeriesStyle, Spread]]
) -> str:
    said = [
        f"{words}: from {number(min(values))} to {number(max(values))} over {len(values)} repeats"
        if values
        else f"{words}: undefined in every repeat"
        for words, _, values in levels
    ]
    said += [
        f"{look.title}: least {number(spread.minimum)}, mean {number(spread.mean)}, most "
        f"{number(spread.maximum)}"
        for look, spread in shown
    ]
    return "; ".join(said) + "."


@dataclass(frozen=True)
class Positioned:
    """One risk, and where every synthesizer lies between its Min (0) and Max (1)."""

    words: str
    places: Sequence[tuple[SeriesStyle, float | None]]


def positions_svg(
    title: str, rows: Sequence[Positioned], limit: float, name: str, width: float = WIDTH
) -> str | None:
    """Draw where every synthesizer lies between Min and Max, risk by risk, with the limit."""
    if not any(place is not None for row in rows for _, place in row.places):
        return None
    with drawing(width=width, height=0.8 + 0.34 * len(rows)) as (canvas, (axes,)):
        said = draw_positions(axes, rows, limit)
        axes.set_title(title)
        return svg_of(canvas, name, title, said)


def draw_positions(axes: Axes, rows: Sequence[Positioned], limit: float | None) -> str:
    """Draw places into axes; return what they show, in words."""
    said = []
    values = [place for row in rows for _, place in row.places if place is not None]
    for at, row in enumerate(rows):
        axes.plot([0, 1], [at, at], color=LIGHT["rule"], linewidth=1.0, zorder=0)
        for look, place in row.places:
            if place is None:
                continue
            axes.plot([place], [at], marker=look.marker, color=look.colour, markersize=5,
                      linestyle="none", label=look.title)  # fmt: skip
            said.append(f"{row.words}, {look.title}: {place:.2f}")
    names = {look.title: look.colour for row in rows for look, _ in row.places}
    name_series(axes, list(names.items()))
    axes.axvline(0, color=LIGHT["min"], linewidth=1.4)
    axes.axvline(1, color=LIGHT["max"], linewidth=1.4)
    ticks = {0.0: "Min", 1.0: "Max"}
    if limit is not None:
        axes.axvline(limit, color=LIGHT["soft"], linewidth=0.8, linestyle=(0, (2, 2)))
        ticks[limit] = f"{limit:g}"
    axes.set_yticks(range(len(rows)), [row.words for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(min(-0.1, *values) - 0.06, max(1.1, *values) + 0.06)
    axes.set_xticks(list(ticks), list(ticks.values()))
    return "Place between Min (0) and Max (1). " + "; ".join(said) + "."


def map_svg(
    title: str,
    points: Sequence[tuple[SeriesStyle, float, float]],
    minimum: tuple[float | None, float | None],
    maximum: tuple[float, float | None],
    name: str,
) -> str:
    """Draw risk against loss of utility: every synthesizer, Min and Max."""
    marks = [(look.title, look.colour, look.marker, loss, risk) for look, loss, risk in points]
    for words, key, (loss, risk) in (("Min", "min", minimum), ("Max", "max", maximum)):
        if loss is not None and risk is not None:
            marks.append((words, LIGHT[key], "X", loss, risk))
    with drawing() as (canvas, (axes,)):
        for _, colour, marker, loss, risk in marks:
            axes.plot([loss], [risk], marker=marker, color=colour, markersize=6, linestyle="none")
        axes.set_xscale("log")
        losses = [one[3] for one in marks]
        axes.set_xlim(min(0.9, *losses) * 0.97, max(losses) * 1.35)
        ticks = [one for one in (1, 1.5, 2, 3, 5, 10, 20, 50) if one <= max(losses) * 1.35]
        axes.set_xticks(ticks, [f"{one:g}" for one in ticks])
        axes.minorticks_off()
        axes.set_ylim(0, max(one[4] for one in marks) * 1.15 or 1.0)
        canvas.draw_without_rendering()  # places the axes, for the names to keep apart
        _name_points(axes, marks)
        axes.set_xlabel("table deviation over noise floor (1 = perfect)")
        axes.set_title(title, pad=6)
        said = "; ".join(
            f"{words}: deviation {number(loss)} times the floor, {number(risk)}"
            for words, _, _, loss, risk in marks
        )
        return svg_of(canvas, name, f"Utility and risk: {title}", said + ".")


def _name_points(axes: Axes, marks: Sequence[tuple[str, str, str, float, float]]) -> None:
    """Write names beside points, each on the side that keeps it clear of points and names."""
    scale = 72.0 / axes.get_figure(root=True).dpi  # type: ignore[union-attr]
    points = [axes.transData.transform((one[3], one[4])) * scale for one in marks]
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]  # left, bottom, right, top
    for (words, colour, _, loss, risk), (x, y) in zip(marks, points, strict=True):
        wide = sum(6.3 if one.isupper() else 4.6 for one in words)
        sides = [
            ((x + left, y + low, x + left + wide, y + low + 9), left, low)
            for low in (3.0, -11.0, -4.0)
            for left in (6.0, -6.0 - wide)
        ]
        box, left, low = min(sides, key=lambda side: sum(_overlap(side[0], one) for one in taken))
        taken.append(box)
        axes.annotate(words, (loss, risk), xytext=(left, low), textcoords="offset points",
                      color=colour)  # fmt: skip


def _overlap(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> float:
    """Area that two boxes share."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    up = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, float(across)) * max(0.0, float(up))


def riskiest_svg(
    findings: Findings, look: SeriesStyle, found: IdentificationFindings, name: str
) -> str | None:
    """Draw the patterns that carry most: their share of the risk against that of the records."""
    total = found.measures["expected_match_risk"].mean
    if not total or not found.patterns:
        return None
    sizes = np.array([row.records for row in found.patterns]) / findings.data.n_records
    risks = np.array([row.expected_match_risk for row in found.patterns]) / total
    most = 1.12 * max(float(sizes.max()), float(risks.max()))
    with drawing() as (canvas, (axes,)):
        axes.plot([0, most], [0, most], color=LIGHT["soft"], linewidth=0.7, linestyle="--")
        axes.plot(sizes, risks, color=look.colour, marker=look.marker, markersize=3.6,
                  linestyle="none", alpha=0.85)  # fmt: skip
        axes.set_xlim(0, most)
        axes.set_ylim(0, most)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(_ticks())
            axis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        axes.set_xlabel("share of the records")
        axes.set_ylabel("share of the match risk")
        axes.set_title(f"{look.title}: the {len(found.patterns)} patterns that carry most", pad=6)
        return svg_of(
            canvas,
            name,
            f"Patterns that carry the risk, {look.title}",
            f"The worst pattern has {percent(float(sizes[0]))} of the records and "
            f"{percent(float(risks[0]))} of the expected match risk; all {len(sizes)} together "
            f"have {percent(float(sizes.sum()))} and {percent(float(risks.sum()))}.",
        )


def _ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(5)
