"""Risk against utility on one map, with the zones of the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.pages.plots.canvas import ALONE, LIGHT, drawing, svg_of, valued
from understudy.pages.plots.strips import ERRORS, limit_ticks, tick_words, zone_of
from understudy.summaries import number
from understudy.verdict.thresholds import Thresholds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MapPoint", "zone_map_svg"]

TICKS = (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
FAINT = 0.13
CLOSE = 0.06  # share of the upward axis that two ticks are apart, for their numbers to fit
Box = tuple[float, float, float, float]  # left, bottom, right, top


@dataclass(frozen=True)
class MapPoint:
    """One synthesizer or baseline on the map."""

    words: str
    colour: str  # a variable of the page
    marker: str
    loss: float  # worst tables, over what a synthesizer that knew the population scores
    position: float  # worst own-record effect
    error: float = 0.0  # of the position


def zone_map_svg(points: Sequence[MapPoint], limits: Thresholds, name: str) -> str | None:
    """Draw the map; None without points."""
    if not points:
        return None
    zones = ((limits.table_deviation_pass, limits.table_deviation_review),
             (limits.own_record_pass, limits.own_record_review))  # fmt: skip
    with drawing(width=ALONE, height=3.6) as (canvas, (axes,)):
        _set_axes(axes, points, zones)
        _shade(axes, *zones)
        for point in points:
            bars = axes.errorbar([point.loss], [point.position],
                                 yerr=[ERRORS * point.error] if point.error else None,
                                 color=LIGHT[point.colour], marker=point.marker, markersize=7,
                                 linewidth=1.2)  # fmt: skip
            valued(bars[0], _in_words(point, zones))
        canvas.draw_without_rendering()  # lays out the axes, for the names to keep apart
        _name_points(axes, points)
        description = "; ".join(_in_words(point, zones) for point in points) + "."
        return svg_of(canvas, name, "Risk and utility", description)


def _set_axes(axes: Axes, points: Sequence[MapPoint], zones: Sequence[tuple[float, float]]) -> None:
    losses = [point.loss for point in points]
    ends = [point.position + sign * ERRORS * point.error for point in points for sign in (-1, 1)]
    (passing_loss, review_loss), (passing, review) = zones
    axes.set_xscale("log")
    axes.set_xlim(0.93 * min(0.7, *losses), 1.25 * max(1.25 * review_loss, *losses))
    axes.set_ylim(min(-0.06, *ends) - 0.06, 1.08 * max(1.2 * review, *ends))
    low, high = axes.get_xlim()
    ticks = sorted({*(tick for tick in TICKS if low <= tick <= high), passing_loss, review_loss})
    axes.set_xticks([tick for tick in ticks if tick > 0],
                    [f"{tick:g}" for tick in ticks if tick > 0])  # fmt: skip
    axes.minorticks_off()
    shown = limit_ticks((passing, review, 0.0), *axes.get_ylim(), CLOSE)
    axes.set_yticks(shown, tick_words(shown))
    axes.set_xlabel("worst tables: deviation, 1 = population known")
    axes.set_ylabel("worst attack: own-record effect, 1 = exact table")


def _shade(axes: Axes, losses: tuple[float, float], positions: tuple[float, float]) -> None:
    """Shade where both pass, where the worse of both goes to review, and where it fails."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    ends = {"pass": (losses[0], positions[0]), "review": (losses[1], positions[1]),
            "fail": (right, top)}  # fmt: skip
    inner_x, inner_y = left, bottom
    for zone, (most_x, most_y) in ends.items():
        x, y = min(most_x, right), min(most_y, top)
        across = [left, x, x, inner_x, inner_x, left]
        up = [y, y, bottom, bottom, inner_y, inner_y]
        axes.fill(across, up, color=LIGHT[zone], alpha=FAINT, linewidth=0, zorder=0)
        if x > left and y > bottom:
            axes.annotate(zone, (x, bottom), xytext=(-4, 3), textcoords="offset points",
                          ha="right", va="bottom", color=LIGHT[zone])  # fmt: skip
        inner_x, inner_y = max(x, inner_x), max(y, inner_y)


def _in_words(point: MapPoint, zones: Sequence[tuple[float, float]]) -> str:
    zone = max(
        (zone_of(at, *ends) for at, ends in zip((point.loss, point.position), zones, strict=True)),
        key=("pass", "review", "fail").index,
    )
    return (
        f"{point.words}: own-record effect {round(point.position, 2) + 0.0:.2f}, tables "
        f"{number(point.loss)} times those of the population known ({zone})"
    )


def _name_points(axes: Axes, points: Sequence[MapPoint]) -> None:
    """Write names beside points, each on the side that keeps it clear of points and names."""
    scale = 72.0 / axes.get_figure(root=True).dpi  # type: ignore[union-attr]
    start, end = (axes.transData.transform((at, 0.0))[0] * scale for at in axes.get_xlim())
    at = [axes.transData.transform((point.loss, point.position)) * scale for point in points]
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y in at]
    for point, (x, y) in zip(points, at, strict=True):
        wide = 5.3 * len(point.words)
        sides = [
            ((x + across, y + low, x + across + wide, y + low + 10), across, low)
            for low in (-3.5, 5.0, -14.0, 16.0, -25.0)
            for across in (8.0, -8.0 - wide)
        ]
        inside = [side for side in sides if side[0][0] >= start - 2 and side[0][2] <= end + 2]
        box, across, low = min(
            inside or sides, key=lambda side: sum(_overlap(side[0], other) for other in taken)
        )
        taken.append(box)
        axes.annotate(point.words, (point.loss, point.position), xytext=(across, low),
                      textcoords="offset points", color=LIGHT[point.colour])  # fmt: skip


def _overlap(first: Box, other: Box) -> float:
    """Area that two boxes share."""
    across = min(first[2], other[2]) - max(first[0], other[0])
    up = min(first[3], other[3]) - max(first[1], other[1])
    return max(0.0, float(across)) * max(0.0, float(up))
