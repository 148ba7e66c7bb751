"""The section that shows utility and risk of everything on one map."""

from __future__ import annotations

from typing import Literal

from understudy.findings.schema import Findings, IntruderFindings, SynthesizerFindings
from understudy.pages.blocks import Cell, Section, Table, number_cell, topic
from understudy.pages.plots.risk_plots import map_svg
from understudy.pages.sections.section_words import identified, styled
from understudy.summaries import short
from understudy.verdict.grading import baseline_value, table_ratios

__all__ = ["map_section"]


def map_section(findings: Findings) -> Section | None:
    """Show utility and risk at once: synthesizers, Min and Max."""
    if not findings.intruders or not findings.synthesizers:
        return None
    wanted = [
        (f"Match risk, known: {short(', '.join(each.known), 24)}", each, "expected_match_risk")
        for each in findings.intruders
    ]
    wanted.append(("True labels", findings.intruders[0], "attribute_matches"))
    figures: list[str | None] = []
    rows: list[list[Cell | str]] = []
    for index, (title, intruder, measure) in enumerate(wanted):
        drawn, table_rows = _map(findings, title, intruder, measure, f"map-{index}")
        figures.append(drawn)
        rows += table_rows
    table = Table(
        "Utility and risk",
        ["Risk", "Who", "Deviation over floor", "Value"],
        rows,
        text_columns=(0, 1),
        folded=True,
    )
    blocks = topic(
        "Tables are preserved on the left and lost on the right; risk is low at the bottom and "
        "high at the top. Max is as useful as possible, at its own risk; Min has learned nothing. "
        "Low and to the left is best.",
        figures=figures,
        tables=[table],
    )
    return Section("map", "Utility and risk on one map", blocks)


def _map(
    findings: Findings, title: str, intruder: IntruderFindings, measure: str, name: str
) -> tuple[str | None, list[list[Cell | str]]]:
    points = []
    for synthesizer, style in styled(findings):
        risk, loss = _risk(synthesizer, intruder, measure), _table_loss(synthesizer)
        if risk is not None and loss is not None:
            points.append((style, loss, risk))
    minimum = (_loss_of(findings, "minimum"), baseline_value(intruder.minimum, measure))
    maximum = (_loss_of(findings, "noise_floor"), baseline_value(intruder.maximum, measure))
    marks = [(style.title, loss, risk) for style, loss, risk in points]
    rows: list[list[Cell | str]] = [
        [title, who, number_cell(loss), number_cell(risk)]
        for who, loss, risk in [("Min", *minimum), *marks, ("Max", *maximum)]
    ]
    return map_svg(title, points, minimum, maximum, name) if points else None, rows


def _loss_of(findings: Findings, baseline: Literal["minimum", "noise_floor"]) -> float | None:
    """Table deviation of Min, or of Max, over the truth floor, mean over orders."""
    for synthesizer in findings.synthesizers:
        tables = synthesizer.utility.tables
        deviations: tuple[float, ...] = getattr(tables, baseline)
        if deviations:
            pairs = zip(deviations, tables.truth_floor, strict=True)
            return _mean([own / floor for own, floor in pairs if floor])
    return None


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _table_loss(synthesizer: SynthesizerFindings) -> float | None:
    """Table deviation over its truth floor, mean over orders."""
    return _mean([ratio for _, ratio in table_ratios(synthesizer) if ratio is not None])


def _risk(
    synthesizer: SynthesizerFindings, intruder: IntruderFindings, measure: str
) -> float | None:
    if measure == "attribute_matches":
        attribute = synthesizer.risk.attribute
        return None if attribute is None else attribute.matches.mean
    risk = identified(synthesizer, intruder)
    return None if risk is None else risk.measures[measure].mean
