"""Finished studies side by side: one picture, one table."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.findings.schema import Findings
from understudy.pages.blocks import (
    Block,
    Cell,
    Heading,
    Paragraph,
    Table,
    number_cell,
    rate_cell,
    topic,
)
from understudy.pages.html import html_page, page_script
from understudy.pages.plots.canvas import series_styles
from understudy.pages.plots.zone_map import MapPoint, zone_map_svg
from understudy.pages.sections.risk_utility_map import map_point
from understudy.summaries import short, shown
from understudy.verdict.risk_reasons import OWN_RECORD
from understudy.verdict.thresholds import Thresholds
from understudy.verdict.verdict import Verdict

__all__ = ["comparison_page"]

TITLE = "Studies compared"
CONFIDENTIAL = "Confidential, like the studies. Not for release."
READING = (
    "Tables are preserved on the left and lost on the right. At the bottom nobody's own record "
    "matters; at 1 it matters as much as if the exact table were published. Low and left is best."
)


def comparison_page(studies: Sequence[tuple[str, Findings, Verdict]]) -> str:
    """Write the page about studies, each with its name, what it measured and what it decided."""
    points: list[MapPoint] = []
    rows: list[list[Cell | str]] = []
    limits = studies[0][2].thresholds if studies else Thresholds()
    for name, findings, verdict in studies:
        for synthesizer, style in zip(findings.synthesizers, series_styles(findings), strict=True):
            own = verdict.synthesizers[synthesizer.name]
            title = f"{short(name, 20)}: {shown(synthesizer.title)}"
            risk, loss = own.worst(OWN_RECORD), own.worst("table deviation")
            point = map_point(synthesizer, style, title, limits)
            points += [] if point is None else [point]
            rows.append(
                [
                    shown(name),
                    shown(synthesizer.title),
                    Cell(own.outcome, tone=own.outcome),
                    f"{findings.data.n_records:,}",
                    number_cell(risk, 0.1),
                    rate_cell(own.worst("true match rate")),
                    number_cell(loss, 0.1),
                    number_cell(own.worst("interval overlap"), 0.1),
                ]
            )
    drawn = zone_map_svg(points, limits, "risk-utility")
    table = Table(
        "The worst value of every point",
        ["Study", "Synthesizer", "Outcome", "Records", "Own record", "True matches", "Tables",
         "Overlap"],
        rows,
        text_columns=(0, 1, 2),
    )  # fmt: skip
    blocks: list[Block] = [Heading(TITLE, 1), Paragraph(CONFIDENTIAL)]
    return html_page(
        f"{TITLE} (confidential)",
        [*blocks, *topic(READING, figures=[drawn], tables=[table])],
        page_script(),
    )
