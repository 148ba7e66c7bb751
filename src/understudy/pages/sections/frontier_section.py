"""The section that shows where a study lies on the last frontier of its data."""

from __future__ import annotations

from understudy.findings.frontier_schema import FrontierFindings
from understudy.findings.schema import Findings
from understudy.pages.blocks import Cell, Section, Table, number_cell, topic
from understudy.pages.plots.frontier_plot import StudyMark, frontier_svg
from understudy.pages.sections.risk_utility_map import map_point
from understudy.pages.sections.section_words import styled
from understudy.summaries import shown
from understudy.verdict.thresholds import Thresholds

__all__ = ["frontier_section"]


def frontier_section(
    findings: Findings, frontier: FrontierFindings | None, limits: Thresholds
) -> Section | None:
    """Show the study's synthesizers on the picture of a frontier; None without one."""
    if frontier is None:
        return None
    marks = [
        StudyMark(own.words, own.position, own.loss)
        for synthesizer, style in styled(findings)
        if (own := map_point(synthesizer, style, shown(synthesizer.title), limits)) is not None
    ]
    rows: list[list[Cell | str]] = [
        [
            f"This study: {mark.title}",
            number_cell(mark.position, 0.01),
            number_cell(mark.ratio, 0.01),
        ]
        for mark in marks
    ]
    for words, name in (("Recommended", frontier.recommended), ("Chosen", frontier.chosen)):
        point = frontier.point(name)
        if point is not None and (words, name) != ("Chosen", frontier.recommended):
            rows.append(
                [
                    f"{words} on the frontier: {point.name}",
                    number_cell(point.position, 0.01),
                    number_cell(point.measured.ratio, 0.01),
                ]
            )
    above = [
        f"{point.name} is right of the pass limit, and passes: {point.above}."
        for name in dict.fromkeys((frontier.recommended, frontier.chosen))
        if (point := frontier.point(name)) is not None and point.above
    ]
    because = (
        [f"The board picked {frontier.chosen}: {shown(frontier.choices[-1].because)}"]
        if frontier.choices
        else []
    )
    table = Table("This study and the frontier", ["Point", "Own-record effect", "Tables"], rows)
    blocks = topic(
        "The plus signs are this study's synthesizers among the points of the last frontier of the "
        "same data. Further left, people's own records matter less; further down, tables are "
        "nearer to the original's; the worst order counts.",
        figures=[frontier_svg(frontier, "frontier", marks, linked=False)],
        tables=[table],
        remarks=[*above, *because],
    )
    return Section("frontier", "Where this study lies on the frontier", blocks, short="Frontier")
