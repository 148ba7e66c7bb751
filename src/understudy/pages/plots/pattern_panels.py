"""Drawings of labels within patterns: a small panel for each, and distances against sizes.

Panels are many and small, so they are written directly: one path for each series, on a square-root
scale, on which chance makes about the same wiggle wherever it happens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from understudy.findings.schema import Findings, PatternShares, SynthesizerFindings
from understudy.pages.plots.canvas import DASHES as PLOT_DASHES
from understudy.pages.plots.canvas import LIGHT, SeriesStyle, drawing, name_series, svg_of
from understudy.summaries import number, percent, shown

__all__ = ["distances_svg", "panel_svg", "svg_dashes"]

WIDE, HIGH = 200, 92  # units of a panel
LEFT, TOP, BOTTOM = 24, 4, 12
DASHES = ("", "4 1.6", "1.3 1.5", "5 1.6 1.3 1.6")


def panel_svg(
    name: str,
    title: str,
    shares: Sequence[tuple[SeriesStyle, PatternShares]],
    n_labels: int,
    highest: float,
) -> str:
    """Draw one pattern: shares of labels, the original's falling from left to right.

    Parameters
    ----------
    name : str
        Word that no other drawing of the page has.
    title : str
        The pattern, in words.
    shares : sequence of (SeriesStyle, PatternShares)
        Every synthesizer's; the original is in each.
    n_labels : int
        Labels that the horizontal axis has room for, the same in all panels.
    highest : float
        Share at the top of the vertical axis, the same in all panels.
    """
    first = shares[0][1]
    order = sorted(
        range(len(first.labels)), key=lambda place: (-first.original[place], first.labels[place])
    )
    ranked = [first.labels[place] for place in order]
    rank = {label: place for place, label in enumerate(ranked)}
    for _, other in shares[1:]:
        for label in other.labels:
            rank.setdefault(label, len(rank))
    across = (WIDE - LEFT - 2) / max(n_labels, len(rank), 1)
    original = _steps([first.original[place] for place in order], across, highest)
    base = HIGH - BOTTOM
    parts = [
        f'<path d="{original}V{base}H{LEFT}z" fill="var(--original)" fill-opacity=".38"/>',
    ]
    said = []
    for look, one in shares:
        by_rank = [0.0] * len(rank)
        for label, share in zip(one.labels, one.synthetic, strict=True):
            by_rank[rank[label]] = share
        dashes = svg_dashes(look)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        parts.append(
            f'<path d="{_line(by_rank, across, highest)}" fill="none" '
            f'stroke="var(--{look.variable})" stroke-width="1.1"{dashed}/>'
        )
        said.append(f"{look.title} up to {percent(max(one.synthetic, default=0.0))}")
    ticks = "".join(_tick(share, highest) for share in _ticks(highest))
    description = (
        f"Largest share of a label in the original {percent(max(first.original, default=0.0))}; "
        + "; ".join(said)
    )
    return (
        f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">{escape(shown(title))}</title>'
        f'<desc id="{name}-d">{escape(description)}.</desc>'
        f"{ticks}{''.join(parts)}"
        f'<path d="M{LEFT} {base}H{WIDE - 2}" stroke="var(--soft)" stroke-width=".6"/></svg>'
    )


def svg_dashes(look: SeriesStyle) -> str:
    """A synthesizer's dashes as SVG writes them."""
    return DASHES[PLOT_DASHES.index(look.dashes)]


def _height(share: float, highest: float) -> float:
    room = HIGH - TOP - BOTTOM
    return HIGH - BOTTOM - room * math.sqrt(min(share / highest, 1.0) if highest > 0 else 0.0)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _steps(values: Sequence[float], across: float, highest: float) -> str:
    """Path of a staircase, one stair for each run of equal values."""
    path, last = f"M{LEFT} {_number(HIGH - BOTTOM)}", None
    for place, value in enumerate(values):
        if value != last:
            here = "" if last is None else f"H{_number(LEFT + across * place)}"
            path += f"{here}V{_number(_height(value, highest))}"
            last = value
    return path + f"H{_number(LEFT + across * len(values))}"


def _line(values: Sequence[float], across: float, highest: float) -> str:
    points = [
        f"{_number(LEFT + across * (place + 0.5))} {_number(_height(value, highest))}"
        for place, value in enumerate(values)
    ]
    return "M" + "L".join(points)


def _ticks(highest: float) -> list[float]:
    return [share for share in (0.01, 0.05, 0.2, 0.5, 1.0) if share <= highest]


def _tick(share: float, highest: float) -> str:
    at = _number(_height(share, highest))
    return (
        f'<path d="M{LEFT} {at}H{WIDE - 2}" stroke="var(--rule)" stroke-width=".5"/>'
        f'<text x="{LEFT - 3}" y="{at}" dy=".34em" text-anchor="end" class="tick">'
        f"{share * 100:.0f} %</text>"
    )


def distances_svg(
    findings: Findings,
    one: SynthesizerFindings,
    look: SeriesStyle,
    highest: float,
    small: int,
    name: str,
) -> str:
    """Draw every pattern's distance against its size, with its noise floor."""
    sizes = np.array([pattern.records for pattern in findings.data.patterns])
    distance = np.array(one.utility.within.distance)
    floor = np.array(one.utility.within.noise_floor)
    order = np.argsort(sizes, kind="stable")
    with drawing() as (canvas, (axes,)):
        axes.plot(sizes[order], floor[order], color=LIGHT["max"], linestyle="none", marker="_",
                  markersize=5, markeredgewidth=1.4)  # fmt: skip
        axes.plot(sizes, distance, color=look.colour, linestyle="none", marker=look.marker,
                  markersize=3.4)  # fmt: skip
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
        axes.set_title(look.title)
        axes.set_xlabel("records in the pattern")
        axes.set_ylabel("distance")
        name_series(axes, [("distance", look.colour), ("noise floor", LIGHT["max"])])
        return svg_of(
            canvas,
            name,
            f"Distance within patterns, {look.title}",
            f"{sizes.size:,} patterns; mean over records {number(one.utility.within.mean_distance)}"
            f", noise floor {number(one.utility.within.mean_floor)}.",
        )
