"""The picture of a frontier: utility against the worst own-record effect, every point a link."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.findings.frontier_schema import FrontierFindings, FrontierPoint
from understudy.pages.plots.canvas import LIGHT, drawing, name_series, svg_of, valued
from understudy.pages.plots.strips import ERRORS, draw_zones
from understudy.summaries import short
from understudy.synthesis.registry import MODELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["StudyMark", "anchor", "frontier_svg"]

SIZE = (6.4, 4.3)  # inches
FAINT = 0.3
BASELINE_COLOURS = {
    "uniform": "min", "marginal": "marginal", "others": "others", "perfect": "max"
}  # fmt: skip
TICKS = (0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 1.6, 2.0, 3.0, 5.0, 10.0, 30.0)
WIDENED = 10.0  # how much wider the scale is at 1, near which useful points lie
APART = 0.11  # of the axis, between points that are named
TINY = 1e-6  # ratio, for error bars that reach below
PAD = 0.06  # of the axis, around what is drawn


@dataclass(frozen=True)
class StudyMark:
    """A study's own synthesizer on the picture."""

    title: str
    position: float
    ratio: float


def anchor(point: FrontierPoint) -> str:
    """Name the numbers of a point within the page."""
    return "point-" + re.sub(r"[^a-z0-9]+", "-", point.name.lower())


def frontier_svg(
    findings: FrontierFindings, name: str, studies: Sequence[StudyMark] = (), linked: bool = True
) -> str | None:
    """Draw a frontier, studies on top; None where no point has both coordinates.

    Where points are `linked`, a click or the enter key leads to ``#NAME-ANCHOR``.
    """
    points = [point for point in findings.points if point.drawable]
    landmarks = [point for point in findings.landmarks if point.drawable]
    beside = [point for point in findings.beside if point.drawable]
    if not points:
        return None
    with drawing(*SIZE) as (canvas, (axes,)):
        _set_axes(axes, [*points, *landmarks, *beside], studies)
        draw_zones(axes, findings.own_record_pass, findings.own_record_review)
        axes.axhline(1.0, color=LIGHT["rule"], linewidth=1.0, zorder=0)
        _draw_frontier(axes, points)
        _draw_formal(axes, points)
        for point in points:
            _draw_point(axes, point, linked)
        _mark_above(axes, points)
        for point in landmarks:
            _landmark(axes, point, linked)
        axes.plot([0], [1], marker="*", markersize=11, color=LIGHT["original"], linestyle="")
        _label(axes, 0.0, 1.0, "the truth, known", "original", (7, -11))
        for point in beside:
            _draw_beside(axes, point, linked)
        for mark in studies:
            (drawn,) = axes.plot([mark.position], [mark.ratio], marker="P", markersize=10,
                                 color=LIGHT["ink"])  # fmt: skip
            valued(drawn, _study_words(mark))
            _label(axes, mark.position, mark.ratio, short(mark.title), "ink", (8, 6))
        _mark_points(axes, findings)
        _name_some(axes, findings, points)
        kinds = dict.fromkeys(point.measured.kind for point in points)
        name_series(axes, [(MODELS[kind].title, LIGHT[kind]) for kind in kinds if kind in MODELS])
        axes.set_title("Utility against what people's own records give away")
        return _led(svg_of(canvas, name, "The frontier", _words(findings, studies)))


def _led(svg: str) -> str:
    """Let the page's script lead to a point's numbers: links in a picture have no name to read."""
    return re.sub(r'<a href="#([^"]+)">', r'<g data-go="\1">', svg).replace("</a>", "</g>")


def _at(point: FrontierPoint) -> tuple[float, float]:
    return point.position or 0.0, point.measured.ratio or 0.0


def _set_axes(axes: Axes, points: Sequence[FrontierPoint], studies: Sequence[StudyMark]) -> None:
    right = [_at(point)[0] + ERRORS * (point.position_error or 0.0) for point in points]
    left = [_at(point)[0] - ERRORS * (point.position_error or 0.0) for point in points]
    across = [*left, *right, 0.0, 1.0, *(mark.position for mark in studies)]
    up = [*(_at(point)[1] for point in points), 0.95, *(mark.ratio for mark in studies)]
    pad = PAD * (max(across) - min(across))
    axes.set_xlim(min(across) - pad, max(across) + 1.5 * pad)
    axes.set_yscale("function", functions=(_height, _ratio))
    low, high = (float(_ratio(end)) for end in (_height(min(up)) - 0.15, _height(max(up)) + 0.6))
    axes.set_ylim(low, high)
    ticks = [tick for tick in TICKS if low <= tick <= high]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.set_xlabel("worst own-record effect (0: nobody's own record matters, 1: the exact table)")
    axes.set_ylabel("deviation of the worst tables (1: population known)")


def _height(ratio: Any) -> Any:
    """Place a ratio of deviations: logarithms, wider the nearer to 1 they are."""
    logarithm = np.log(np.maximum(ratio, TINY))
    return np.sign(logarithm) * np.log1p(WIDENED * np.abs(logarithm))


def _ratio(height: Any) -> Any:
    """Turn `_height` round."""
    return np.exp(np.sign(height) * np.expm1(np.abs(height)) / WIDENED)


def _draw_frontier(axes: Axes, points: Sequence[FrontierPoint]) -> None:
    """Join the points that no other dominates, by steps."""
    best = sorted(_at(point) for point in points if not point.dominated)
    axes.step([x for x, _ in best], [y for _, y in best], where="post", color=LIGHT["soft"],
              linewidth=1.0, zorder=1)  # fmt: skip


def _draw_formal(axes: Axes, points: Sequence[FrontierPoint]) -> None:
    """Join the points with a formal guarantee by a dashed line, with their epsilon."""
    formal = sorted(
        (point.measured.m, point.measured.epsilon, *_at(point), point.measured.kind)
        for point in points
        if point.measured.epsilon is not None
    )
    for m in dict.fromkeys(entry[0] for entry in formal):
        line = [entry for entry in formal if entry[0] == m]
        axes.plot([entry[2] for entry in line], [entry[3] for entry in line],
                  color=LIGHT[line[0][4]], linewidth=0.9, linestyle=(0, (3, 2)),
                  zorder=1)  # fmt: skip
        for _, epsilon, x, y, kind in line:
            _label(axes, x, y, f"ε {epsilon:g}", kind, (5, -11))


def _draw_point(axes: Axes, point: FrontierPoint, linked: bool) -> None:
    colour = LIGHT[point.measured.kind if point.measured.kind in MODELS else "ink"]
    hollow = point.measured.converged is False
    _with_bars(
        axes, point, linked, color=colour, marker="o", markersize=5.5,
        alpha=FAINT if point.dominated else 1.0,
        markerfacecolor=LIGHT["paper"] if hollow else colour,
    )  # fmt: skip


def _with_bars(axes: Axes, point: FrontierPoint, linked: bool, **style: Any) -> None:
    """Draw a point with two standard errors either way, as a link to its numbers."""
    x, y = _at(point)
    bars = axes.errorbar(
        [x],
        [y],
        xerr=[ERRORS * (point.position_error or 0.0)],
        yerr=[ERRORS * (point.measured.ratio_error or 0.0)],
        linewidth=0.8,
        **style,
    )
    valued(bars[0], _point_words(point))
    if linked:
        bars[0].set_url(f"#{anchor(point)}")


def _mark_above(axes: Axes, points: Sequence[FrontierPoint]) -> None:
    """Outline the points that pass above the limit, and say so once for those close together."""
    left, right = axes.get_xlim()
    named: list[float] = []
    for x, y in sorted(_at(point) for point in points if point.above and not point.dominated):
        axes.plot([x], [y], marker="o", markersize=7.5, markerfacecolor="none", linestyle="",
                  markeredgecolor=LIGHT["pass"], markeredgewidth=1.4)  # fmt: skip
        if not any(abs(x - other) < APART * (right - left) for other in named):
            axes.annotate("passes", (x, y), xytext=(2, 8), textcoords="offset points",
                          color=LIGHT["pass"], ha="right", annotation_clip=True)  # fmt: skip
            named.append(x)


def _name_some(axes: Axes, findings: FrontierFindings, points: Sequence[FrontierPoint]) -> None:
    """Write dials beside points of the frontier, as far as they do not run into each other."""
    left, right = axes.get_xlim()
    named = [
        _at(point)[0]
        for point in (findings.point(findings.recommended), findings.point(findings.chosen))
        if point is not None
    ]
    for point in sorted(points, key=_at):
        x, y = _at(point)
        near = any(abs(x - other) < APART * (right - left) for other in named)
        near |= any(_are_near(axes, _at(point), _at(landmark)) for landmark in findings.landmarks)
        if point.dominated or near or point.measured.epsilon is not None:
            continue
        words = ", ".join(f"{dial} {value}" for dial, value in point.measured.dials.items())
        _label(axes, x, y, short(words.replace("_", " "), 24), point.measured.kind, (5, -10))
        named.append(x)


def _are_near(axes: Axes, first: tuple[float, float], second: tuple[float, float]) -> bool:
    """Whether names to the right of two positions would run into each other."""
    if min(first[1], second[1]) <= 0:
        return False
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    across = abs(first[0] - second[0]) / (right - left)
    up = abs(_height(first[1]) - _height(second[1])) / (_height(high) - _height(low))
    return bool(across < 2 * APART and up < APART / 2)


def _landmark(axes: Axes, point: FrontierPoint, linked: bool) -> None:
    x, y = _at(point)
    colour = BASELINE_COLOURS[point.measured.kind]
    _with_bars(
        axes, point, linked, color=LIGHT[colour], marker="x", markersize=7, markeredgewidth=1.8
    )
    low = point.measured.kind == "perfect"
    _label(axes, x, y, point.measured.title, colour, (7, -10 if low else 4))


def _draw_beside(axes: Axes, point: FrontierPoint, linked: bool) -> None:
    x, y = _at(point)
    _with_bars(axes, point, linked, color=LIGHT["ink"], marker="D", markersize=6)
    _label(axes, x, y, short(point.measured.title), "ink", (7, -3))


def _mark_points(axes: Axes, findings: FrontierFindings) -> None:
    """Ring the recommended point, and frame the one that was picked in its place."""
    recommended, chosen = findings.point(findings.recommended), findings.point(findings.chosen)
    if recommended is not None and recommended.drawable:
        _ring(axes, recommended, "o", "recommended", (0, 11))
    if chosen is not None and chosen.drawable and chosen is not recommended:
        _ring(axes, chosen, "s", "chosen", (0, -18))


def _ring(
    axes: Axes, point: FrontierPoint, marker: str, words: str, offset: tuple[int, int]
) -> None:
    x, y = _at(point)
    axes.plot([x], [y], marker=marker, markersize=14, markerfacecolor="none",
              markeredgecolor=LIGHT["pass"], markeredgewidth=1.8)  # fmt: skip
    axes.annotate(f"{words}: {short(point.name, 40)}", (x, y), xytext=offset,
                  textcoords="offset points", color=LIGHT["pass"], weight="bold",
                  ha="left")  # fmt: skip


def _label(
    axes: Axes, x: float, y: float, words: str, colour: str, offset: tuple[int, int]
) -> None:
    axes.annotate(words, (x, y), xytext=offset, textcoords="offset points", color=LIGHT[colour],
                  annotation_clip=True)  # fmt: skip


def _point_words(point: FrontierPoint) -> str:
    return (
        f"{point.measured.title if point.measured.group != 'point' else point.name}: own-record "
        f"effect {_at(point)[0]:.2f}{', passes' if point.above else ''}, tables {_at(point)[1]:.2f}"
    )


def _study_words(mark: StudyMark) -> str:
    return (
        f"this study, {mark.title}: own-record effect {mark.position:.2f}, tables {mark.ratio:.2f}"
    )


def _words(findings: FrontierFindings, studies: Sequence[StudyMark]) -> str:
    every = [*findings.points, *findings.landmarks, *findings.beside]
    words = [_point_words(point) for point in every if point.drawable]
    words += map(_study_words, studies)
    return f"Recommended: {findings.recommended or 'none'}. " + "; ".join(words) + "."
