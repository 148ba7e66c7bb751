"""Strips: one value on a scale with its zones, pass, review and fail, and its error.

The first screen has two of them, and the positions of all attacks are drawn on the same zones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.pages.plots.canvas import LIGHT, WIDTH, SeriesStyle, drawing, svg_of, valued
from understudy.pages.plots.marks import nice_ticks
from understudy.summaries import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ERRORS", "Strip", "draw_zones", "limit_ticks", "strip_svg", "tick_words", "zone_of"]

ERRORS = 2.0  # standard errors on either side of a value
CLOSE = 0.11  # share of the axis that two ticks of a strip are apart, for their numbers to fit
NARROW = 0.13  # share of the axis below which a zone has no name of its own


@dataclass(frozen=True)
class Strip:
    """One judged value.

    Attributes
    ----------
    title : str
        What it is.
    axis : str
        Its scale, in words.
    value : float
    error : float or None
        Its standard error.
    passing, review : float
        Up to where it passes, and up to where it goes to review.
    """

    title: str
    axis: str
    value: float
    error: float | None
    passing: float
    review: float


def strip_svg(strip: Strip, style: SeriesStyle, name: str) -> str:
    """Draw a value with its error bar on its zones."""
    reach = ERRORS * (strip.error or 0.0)
    left = min(0.0, 1.1 * (strip.value - reach))
    right = 1.12 * max(1.2 * strip.review, strip.value + reach, 1e-6)
    with drawing(width=WIDTH, height=1.25) as (canvas, (axes,)):
        axes.set_xlim(left, right)
        axes.set_ylim(0, 1)
        draw_zones(axes, strip.passing, strip.review)
        bars = axes.errorbar([strip.value], [0.36], xerr=[reach] if reach else None,
                             color=style.colour, marker=style.marker, markersize=8, capsize=4,
                             linewidth=1.6)  # fmt: skip
        valued(bars[0], _words(strip, style))
        axes.annotate(f"{strip.value:.2f}".replace("-", "−"), (strip.value, 0.36),
                      xytext=(0, 7), textcoords="offset points", ha="center", weight="bold",
                      size=10)  # fmt: skip
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="x", labelsize=9)
        axes.set_title(strip.title, pad=5, size=9.5)
        axes.set_xlabel(strip.axis, size=9)
        return svg_of(canvas, name, strip.title, _words(strip, style))


def draw_zones(axes: Axes, passing: float, review: float) -> None:
    """Shade the zones over the axes' own range, name them, and put ticks at their limits."""
    left, right = axes.get_xlim()
    ends = {"pass": (left, passing), "review": (passing, review), "fail": (review, right)}
    for zone, end in ends.items():
        low, high = (min(max(at, left), right) for at in end)  # a limit may lie beyond the axis
        if high <= low:
            continue
        axes.axvspan(low, high, color=LIGHT[zone], alpha=0.14, linewidth=0, zorder=0)
        if high - low >= NARROW * (right - left):
            axes.annotate(zone, ((low + high) / 2, 1), xycoords=("data", "axes fraction"),
                          xytext=(0, -3), textcoords="offset points", ha="center", va="top",
                          color=LIGHT[zone], size=9)  # fmt: skip
    ticks = limit_ticks((passing, review, 0.0), left, right, CLOSE)
    axes.set_xticks(ticks, tick_words(ticks))


def limit_ticks(limits: Sequence[float], low: float, high: float, close: float) -> list[float]:
    """Choose ticks whose numbers keep apart: limits, the first before others; else round numbers.

    No two are closer than `close`, a share of the axis from `low` to `high`. Round numbers are
    added where a limit had to go, because the axis reaches far beyond the limits.
    """
    kept: list[float] = []
    wanted = list(dict.fromkeys(limits))

    def keep(ticks: Sequence[float]) -> None:
        for tick in ticks:
            if low <= tick <= high and all(abs(tick - at) >= close * (high - low) for at in kept):
                kept.append(tick)

    keep(wanted)
    if len(kept) < len(wanted):
        keep(nice_ticks(low, high, 4))
    return sorted(kept)


def tick_words(ticks: Sequence[float]) -> list[str]:
    """Write the numbers of ticks, with a real minus."""
    return [f"{tick:g}".replace("-", "−") for tick in ticks]


def zone_of(value: float, passing: float, review: float) -> str:
    """Name the zone that a value lies in, whatever its error."""
    if value <= passing:
        return "pass"
    return "review" if value <= review else "fail"


def _words(strip: Strip, style: SeriesStyle) -> str:
    error = f", standard error {number(strip.error)}" if strip.error else ""
    return (
        f"{style.title}: {number(strip.value)}{error}, in the zone "
        f"“{zone_of(strip.value, strip.passing, strip.review)}”. Up to {strip.passing:g} passes, "
        f"up to {strip.review:g} goes to review, beyond that fails. Scale: {strip.axis}."
    )
