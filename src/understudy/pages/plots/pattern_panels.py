"""Drawings of labels within patterns: a small panel for each, and distances against sizes.

Panels are many and small, so they are written directly: one path for each series, on a square-root
scale, on which chance makes about the same wiggle wherever it happens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from understudy.findings.schema import Findings, PatternShares, SynthesizerFindings, WithinPattern
from understudy.pages.plots.canvas import DASHES as PLOT_DASHES
from understudy.pages.plots.canvas import LIGHT, SeriesStyle, drawing, name_series, svg_of, valued
from understudy.pages.plots.marks import rectangle, svg_opening, value
from understudy.summaries import counted, number, percent, short, shown

__all__ = ["distances_svg", "panel_grid_svg", "panel_svg", "svg_dashes"]

WIDE, HIGH = 240, 120  # pixels of a panel
LEFT, TOP, BOTTOM = 44, 6, 8
MOST_VALUED = 80  # patterns farthest above their floor, which show their numbers
POINTED = 12  # labels of a panel that show their numbers
DASHES = ("", "4 1.6", "1.3 1.5", "5 1.6 1.3 1.6")


def panel_svg(
    name: str,
    title: str,
    shares: Sequence[tuple[SeriesStyle, PatternShares]],
    n_labels: int,
    highest: float,
    names: Sequence[str] = (),
) -> str:
    """Draw one pattern: shares of labels, the original's falling from left to right.

    All panels share the number of labels and the highest share. Where the labels are given in
    `names`, the most frequent show their numbers, and the sets' spread is drawn.
    """
    first = shares[0][1]
    order = sorted(
        range(len(first.labels)), key=lambda index: (-first.original[index], first.labels[index])
    )
    rank = {first.labels[index]: at for at, index in enumerate(order)}
    for _, other in shares[1:]:
        for label in other.labels:
            rank.setdefault(label, len(rank))
    across = (WIDE - LEFT - 2) / max(n_labels, len(rank), 1)
    original = _steps([first.original[index] for index in order], across, highest)
    base = HIGH - BOTTOM
    parts = [
        f'<path d="{original}V{base}H{LEFT}z" fill="var(--original)" fill-opacity=".38"/>',
    ]
    words = []
    for style, own in shares:
        by_rank = [0.0] * len(rank)
        for label, share in zip(own.labels, own.synthetic, strict=True):
            by_rank[rank[label]] = share
        if names:
            ends = [
                [dict(zip(own.labels, side, strict=True)).get(first.labels[index], 0.0)
                 for index in order]
                for side in (own.lowest, own.highest)
            ]  # fmt: skip
            parts.append(
                f'<path d="{_band(ends[0], ends[1], across, highest)}" fill="var(--'
                f'{style.variable})" fill-opacity=".2"/>'
            )
        dashes = "" if names else svg_dashes(style)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        parts.append(
            f'<path d="{_line(by_rank, across, highest)}" fill="none" '
            f'stroke="var(--{style.variable})" stroke-width="1.1"{dashed}/>'
        )
        words.append(f"{style.title} up to {percent(max(own.synthetic, default=0.0))}")
    ticks = "".join(_tick(share, highest) for share in _ticks(highest))
    description = (
        f"Largest share of a label in the original {percent(max(first.original, default=0.0))}; "
        + "; ".join(words)
    )
    size = f'class="plot" viewBox="0 0 {WIDE} {HIGH}"'
    return (
        f"{svg_opening(size, name, title, description + '.')}{ticks}{''.join(parts)}"
        f'<path d="M{LEFT} {base}H{WIDE - 2}" stroke="var(--soft)" stroke-width=".6"/>'
        f"{_pointed(first, order[:POINTED], across, names)}</svg>"
    )


def _band(lowest: Sequence[float], highest: Sequence[float], across: float, top: float) -> str:
    """Path around the spread of the sets."""
    there, back = _line(highest, across, top), _line(lowest, across, top)
    return there + "L" + "L".join(reversed(back[1:].split("L"))) + "z"


def _pointed(own: PatternShares, order: Sequence[int], across: float, names: Sequence[str]) -> str:
    """Strips over the most frequent labels that show their numbers."""
    if not names:
        return ""
    return "".join(
        value(
            f"{names[index]}: original {percent(own.original[index])}, synthetic "
            f"{percent(own.synthetic[index])} ({percent(own.lowest[index])} to "
            f"{percent(own.highest[index])})",
            rectangle(LEFT + across * at, TOP, across, HIGH - TOP - BOTTOM, "paper", 0.0),
        )
        for at, index in enumerate(order)
    )


def panel_grid_svg(panels: Sequence[tuple[str, str]]) -> str:
    """Put panels, each a title and its SVG text, two by two into one drawing."""
    gap, title_height = 12, 16
    parts = []
    for index, (title, panel) in enumerate(panels):
        x, y = (index % 2) * (WIDE + gap), (index // 2) * (HIGH + title_height)
        parts.append(
            f'<text x="{x}" y="{y + 11}" font-size="10" fill="var(--ink)" '
            f'font-family="sans-serif">{escape(shown(title))}</text>'
        )
        size = f'width="{WIDE}" height="{HIGH}" font-size="9" fill="var(--soft)"'
        parts.append(panel.replace("<svg", f'<svg x="{x}" y="{y + title_height}" {size}', 1))
    wide, high = 2 * WIDE + gap, -(-len(panels) // 2) * (HIGH + title_height)
    return (
        f'<svg viewBox="0 0 {wide} {high}" width="{2 * wide}" role="group">{"".join(parts)}</svg>'
    )


def svg_dashes(style: SeriesStyle) -> str:
    """A synthesizer's dashes as SVG writes them."""
    return DASHES[PLOT_DASHES.index(style.dashes)]


def _height(share: float, highest: float) -> float:
    return (
        HIGH
        - BOTTOM
        - (HIGH - TOP - BOTTOM) * math.sqrt(min(share / highest, 1.0) if highest > 0 else 0.0)
    )


def _decimal(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _steps(values: Sequence[float], across: float, highest: float) -> str:
    """Path of a staircase, one stair for each run of equal values."""
    path, last = f"M{LEFT} {_decimal(HIGH - BOTTOM)}", None
    for index, share in enumerate(values):
        if share != last:
            here = "" if last is None else f"H{_decimal(LEFT + across * index)}"
            path += f"{here}V{_decimal(_height(share, highest))}"
            last = share
    return path + f"H{_decimal(LEFT + across * len(values))}"


def _line(values: Sequence[float], across: float, highest: float) -> str:
    points = [
        f"{_decimal(LEFT + across * (index + 0.5))} {_decimal(_height(value, highest))}"
        for index, value in enumerate(values)
    ]
    return "M" + "L".join(points)


def _ticks(highest: float) -> list[float]:
    return [share for share in (0.01, 0.05, 0.2, 0.5, 1.0) if share <= highest]


def _tick(share: float, highest: float) -> str:
    at = _decimal(_height(share, highest))
    return (
        f'<path d="M{LEFT} {at}H{WIDE - 2}" stroke="var(--rule)" stroke-width=".5"/>'
        f'<text x="{LEFT - 3}" y="{at}" dy=".34em" text-anchor="end" class="tick">'
        f"{share * 100:.0f} %</text>"
    )


def _distance_words(findings: Findings, within: WithinPattern, index: int) -> str:
    """Say which pattern it is, and its numbers."""
    pattern = findings.data.patterns[index]
    named = zip(findings.data.kept, pattern.levels, strict=True)
    title = ", ".join(f"{name} {level}" for name, level in named)
    return (
        f"{short(title, 60)}, {counted(pattern.records, 'record')}: distance "
        f"{number(within.distance[index])}, truth floor {number(within.truth_floor[index])}"
    )


def distances_svg(
    findings: Findings,
    synthesizer: SynthesizerFindings,
    style: SeriesStyle,
    highest: float,
    small: int,
    name: str,
) -> str:
    """Draw every pattern's distance against its size, with its truth floor."""
    sizes = np.array([pattern.records for pattern in findings.data.patterns])
    within = synthesizer.utility.within
    distance, floor = np.array(within.distance), np.array(within.truth_floor)  # (pattern,)
    order = np.argsort(sizes, kind="stable")
    with drawing() as (canvas, (axes,)):
        axes.plot(sizes[order], floor[order], color=LIGHT["max"], linestyle="none", marker="_",
                  markersize=5, markeredgewidth=1.4)  # fmt: skip
        marks: dict[str, Any] = {"color": style.colour, "linestyle": "none", "marker": style.marker}
        farthest = np.argsort(floor - distance, kind="stable")
        rest = farthest[MOST_VALUED:]
        axes.plot(sizes[rest], distance[rest], markersize=3.4, **marks)
        for index in farthest[:MOST_VALUED].tolist():
            (mark,) = axes.plot(sizes[index], distance[index], markersize=3.4, **marks)
            valued(mark, _distance_words(findings, within, index))
        axes.set_xscale("log")
        axes.minorticks_off()
        low, high = max(1, sizes.min()), max(2, sizes.max())
        ticks = [at for at in (1, 3, 10, 30, 100, 300, 1000, 10_000, 100_000) if low <= at <= high]
        if len(ticks) < 2:
            ticks = sorted({int(low), int(high)})
        axes.set_xticks(ticks, [f"{at:,}" for at in ticks])
        if low < small:
            axes.axvspan(low * 0.85, small, color=LIGHT["rule"], alpha=0.45, linewidth=0)
        axes.set_xlim(low * 0.85, high * 1.2)
        axes.set_ylim(0, highest * 1.1)
        axes.set_title(style.title)
        axes.set_xlabel("records in the pattern")
        axes.set_ylabel("distance")
        name_series(axes, [("distance", style.colour), ("truth floor", LIGHT["max"])])
        return svg_of(
            canvas,
            name,
            f"Distance within patterns, {style.title}",
            f"{sizes.size:,} patterns; mean over records {number(within.mean_distance)}, "
            f"truth floor {number(within.mean_truth_floor)}.",
        )
