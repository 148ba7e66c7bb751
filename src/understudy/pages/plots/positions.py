"""Positions of own-record effects: every attack on one scale, with the zones of the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.findings.schema import AttackFindings, Findings
from understudy.pages.plots.canvas import (
    LIGHT,
    SeriesStyle,
    drawing,
    name_series,
    svg_of,
    valued,
)
from understudy.pages.plots.strips import ERRORS, draw_zones
from understudy.summaries import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AttackPosition", "attack_positions", "draw_positions", "positions_svg"]

RELEASED = "as released"
LONGEST = 48  # letters of an attack
BROAD = 6.4  # inches


@dataclass(frozen=True)
class AttackPosition:
    """One attack on one synthesizer's sets.

    Its position is 0 if nobody's own record matters and 1 if it matters as much as in the exact
    table.
    """

    words: str
    style: SeriesStyle
    position: float
    error: float
    released: bool  # rows shuffled, or aligned with the records


def attack_positions(findings: Findings, styles: Sequence[SeriesStyle]) -> list[AttackPosition]:
    """List the position of every attack on every synthesizer's sets, in both settings."""
    attacks = [
        attack
        for synthesizer in findings.synthesizers
        if synthesizer.risk.own_record is not None
        for attack in synthesizer.risk.own_record.attacks
    ]
    several = len({attack.known for attack in attacks if attack.known}) > 1
    return [
        AttackPosition(
            _label(attack, several),
            style,
            attack.position,
            attack.position_error,
            attack.setting == RELEASED,
        )
        for synthesizer, style in zip(findings.synthesizers, styles, strict=True)
        if synthesizer.risk.own_record is not None
        for attack in synthesizer.risk.own_record.attacks
    ]


def _label(attack: AttackFindings, several: bool) -> str:
    """Name an attack, and with several intruders what this one knows."""
    known = ": " + short(", ".join(attack.known), 20) if several and attack.known else ""
    return short(attack.words, LONGEST) + known


def positions_svg(
    points: Sequence[AttackPosition], passing: float, review: float, name: str
) -> str | None:
    """Draw all positions; None where there are none."""
    if not points:
        return None
    n_rows = len({point.words for point in points})
    with drawing(width=BROAD, height=1.0 + 0.34 * n_rows) as (canvas, (axes,)):
        words = draw_positions(axes, points, (passing, review))
        axes.set_title("Own-record effect, 1 = the exact table")
        return svg_of(canvas, name, "Positions of all attacks", words)


def draw_positions(
    axes: Axes, points: Sequence[AttackPosition], zones: tuple[float, float] | None
) -> str:
    """Draw positions into axes, with or without zones; return what they show, in words."""
    rows = list(dict.fromkeys(point.words for point in points))
    order = list(dict.fromkeys(point.style.name for point in points))
    ends = [
        point.position + sign * ERRORS * point.error for point in points for sign in (-1.0, 1.0)
    ]
    axes.set_xlim(min(-0.04, *ends) - 0.04, max(1.1, *ends) + 0.06)
    axes.set_ylim(len(rows) - 0.4, -1.1)
    if zones is not None:
        draw_zones(axes, *zones)
    else:
        axes.set_xticks([0.0, 1.0], ["0", "exact table"])
        axes.axvline(1, color=LIGHT["max"], linewidth=1.4)
    axes.axvline(0, color=LIGHT["rule"], linewidth=1.0, zorder=0)
    for point in points:
        shift = 0.2 * (order.index(point.style.name) - (len(order) - 1) / 2)
        at = rows.index(point.words) + shift
        reach = [ERRORS * point.error] if point.error else None
        bars = axes.errorbar([point.position], [at], xerr=reach,
                             color=point.style.colour, marker=point.style.marker, markersize=5,
                             markerfacecolor=LIGHT["paper"] if point.released
                             else point.style.colour, linewidth=1.0)  # fmt: skip
        valued(bars[0], _in_words(point))
    names = {point.style.title: point.style.colour for point in points}
    name_series(axes, list(names.items()))
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    return "; ".join(_in_words(point) for point in points) + "."


def _in_words(point: AttackPosition) -> str:
    setting = RELEASED if point.released else "worst case"
    return f"{point.words}, {setting}, {point.style.title}: {point.position:.2f}"
