"""The chapter with utility and risk of everything on one map."""

from __future__ import annotations

from understudy.findings.schema import Findings, IntruderFindings, SynthesizerFindings
from understudy.pages.blocks import (
    Block,
    Cell,
    Column,
    Figure,
    Section,
    Table,
    number_cell,
    text_cell,
)
from understudy.pages.plots.canvas import series_styles
from understudy.pages.plots.risk_plots import map_svg
from understudy.pages.sections.risk_section import identified
from understudy.pages.sections.utility_section import unconverged
from understudy.summaries import short
from understudy.verdict.grading import level_figure, table_ratios

__all__ = ["map_section"]


def map_section(findings: Findings) -> Section | None:
    """Show utility and risk of everything at once: synthesizers, Min and Max."""
    if not findings.intruders or not findings.synthesizers:
        return None
    wanted = [
        (f"Match risk, known: {short(', '.join(one.known), 24)}", one, "expected_match_risk")
        for one in findings.intruders
    ]
    wanted.append(("True labels", findings.intruders[0], "attribute_matches"))
    figures: list[Figure] = []
    rows: list[list[Cell]] = []
    for place, (title, intruder, measure) in enumerate(wanted):
        drawn, told = _one_map(findings, title, intruder, measure, f"map-{place}")
        figures += drawn
        rows += told
    columns = [
        Column("Risk", numeric=False),
        Column("Who", numeric=False),
        Column("Deviation over floor"),
        Column("Figure"),
    ]
    return Section(
        key="map",
        title="Utility and risk on one map",
        blocks=[
            Block(
                reading="To the left the tables are kept, to the right they are lost; below little "
                "is given away, above much. Max is as useful as can be, at its own risk; Min has "
                "learned nothing. Good is low and to the left.",
                figures=figures,
                tables=[Table("Utility and risk", columns, rows, folded=True)],
                affected=unconverged(findings),
            )
        ],
    )


def _one_map(
    findings: Findings, title: str, intruder: IntruderFindings, measure: str, name: str
) -> tuple[list[Figure], list[list[Cell]]]:
    points = []
    for one, look in zip(findings.synthesizers, series_styles(findings), strict=True):
        risk, loss = _risk_of(one, intruder, measure), table_loss(one)
        if risk is not None and loss is not None:
            points.append((look, loss, risk))
    minimum = (_loss_of_min(findings), level_figure(intruder.minimum, measure))
    maximum = (1.0, level_figure(intruder.maximum, measure))
    marks = [(look.title, loss, risk) for look, loss, risk in points]
    rows = [
        [text_cell(title), text_cell(who), number_cell(loss), number_cell(risk)]
        for who, loss, risk in [("Min", *minimum), *marks, ("Max", *maximum)]
    ]
    figures = [Figure(map_svg(title, points, minimum, maximum, name))] if points else []
    return figures, rows


def _loss_of_min(findings: Findings) -> float | None:
    """Table deviation of the level Min over the noise floor, mean over orders."""
    for one in findings.synthesizers:
        tables = one.utility.tables
        if tables.minimum:
            pairs = zip(tables.minimum, tables.noise_floor, strict=True)
            return _mean([own / floor for own, floor in pairs if floor])
    return None


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def table_loss(one: SynthesizerFindings) -> float | None:
    """Table deviation over its noise floor, mean over orders."""
    return _mean([ratio for _, ratio in table_ratios(one) if ratio is not None])


def _risk_of(one: SynthesizerFindings, intruder: IntruderFindings, measure: str) -> float | None:
    if measure == "attribute_matches":
        return None if one.risk.attribute is None else one.risk.attribute.matches.mean
    found = identified(one, intruder)
    return None if found is None else found.measures[measure].mean
