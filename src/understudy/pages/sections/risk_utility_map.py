"""The section that shows risk and utility of everything: one map with zones, and one table."""

from __future__ import annotations

from typing import Literal

from understudy.findings.schema import Findings, SynthesizerFindings
from understudy.pages.blocks import Cell, Section, Table, number_cell, topic
from understudy.pages.plots.canvas import SeriesStyle
from understudy.pages.plots.zone_map import MapPoint, zone_map_svg
from understudy.pages.sections.section_words import styled
from understudy.summaries import position_text
from understudy.verdict.grading import table_ratios
from understudy.verdict.risk_reasons import judged_attack
from understudy.verdict.thresholds import Thresholds

__all__ = ["map_point", "map_section"]

READING = (
    "Left: tables are preserved. Bottom: nobody's own record matters. Low and left is best. Bars "
    "are two standard errors. Min draws all labels alike; Max, the exact table, lies at 1."
)


def map_section(findings: Findings, limits: Thresholds, overview: Table) -> Section | None:
    """Show utility and risk at once: synthesizers, Min and Max."""
    if not findings.synthesizers:
        return None
    points = [
        point
        for synthesizer, style in styled(findings)
        if (point := map_point(synthesizer, style, style.title, limits)) is not None
    ]
    if points:
        ends: tuple[tuple[str, str, Literal["minimum", "noise_floor"], float], ...] = (
            ("Min", "min", "minimum", 0.0),
            ("Max", "max", "noise_floor", 1.0),
        )
        for words, colour, baseline, position in ends:
            loss = _loss_of(findings, baseline)
            if loss is not None:
                points.append(MapPoint(words, colour, "X", loss, position))
    rows: list[list[Cell | str]] = [
        [
            point.words,
            Cell(position_text(point.position), sort=point.position),
            number_cell(point.loss),
        ]
        for point in points
    ]
    table = Table("Points of the map", ["Who", "Own-record effect", "Worst tables"], rows,
                  folded=True)  # fmt: skip
    drawn = zone_map_svg(points, limits, "risk-utility")
    tables = [table, overview] if points else [overview]
    blocks = topic(READING, figures=[drawn], tables=tables)
    return Section("map", "Risk and utility of all synthesizers", blocks, short="Risk and utility")


def map_point(
    synthesizer: SynthesizerFindings, style: SeriesStyle, words: str, limits: Thresholds
) -> MapPoint | None:
    """Find a synthesizer's point: its worst tables, and the attack that is judged."""
    own_record = synthesizer.risk.own_record
    ratios = [ratio for _, ratio in table_ratios(synthesizer) if ratio is not None]
    if own_record is None or not own_record.attacks or not ratios:
        return None
    attack = judged_attack(own_record, limits)
    return MapPoint(
        words, style.variable, style.marker, max(ratios), attack.position, attack.position_error
    )


def _loss_of(findings: Findings, baseline: Literal["minimum", "noise_floor"]) -> float | None:
    """Worst tables of Min, or of Max, over the truth floor."""
    for synthesizer in findings.synthesizers:
        tables = synthesizer.utility.tables
        deviations: tuple[float, ...] = getattr(tables, baseline)
        pairs = zip(deviations, tables.truth_floor, strict=False)
        ratios = [own / floor for own, floor in pairs if floor]
        if ratios:
            return max(ratios)
    return None
