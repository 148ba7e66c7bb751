"""The chapter on the patterns and records that carry the risk."""

from __future__ import annotations

from understudy.findings.schema import Findings, IdentificationFindings, SynthesizerFindings
from understudy.pages.blocks import (
    Block,
    Column,
    Figure,
    Section,
    Table,
    name_cell,
    number_cell,
    percent_cell,
)
from understudy.pages.plots.canvas import SeriesStyle, series_styles
from understudy.pages.plots.risk_plots import riskiest_svg
from understudy.pages.sections.within_section import level_names
from understudy.summaries import percent, shown

__all__ = ["bearers_section"]


def bearers_section(findings: Findings) -> Section | None:
    """List the patterns and records that carry the risk."""
    styles = series_styles(findings)
    blocks = []
    for place, intruder in enumerate(findings.intruders):
        found = [
            (one, look, two)
            for one, look in zip(findings.synthesizers, styles, strict=True)
            for two in one.risk.identification
            if two.known == intruder.known
        ]
        if found:
            blocks.append(_bearers(findings, found, place))
    if not blocks:
        return None
    return Section(
        key="bearers",
        title="Who carries the risk",
        lead="The most confidential part: rows of the confidential file, and what their owners "
        "have in common.",
        blocks=blocks,
    )


def _bearers(
    findings: Findings,
    found: list[tuple[SynthesizerFindings, SeriesStyle, IdentificationFindings]],
    place: int,
) -> Block:
    figures = [
        riskiest_svg(findings, look, two, f"bearers-{place}-{number}")
        for number, (_, look, two) in enumerate(found)
    ]
    tables = []
    for one, _, two in found:
        tables += [_pattern_table(findings, one, two), _record_table(findings, one, two)]
    return Block(
        title=f"Known: {', '.join(map(shown, found[0][2].known))} and the true label",
        reading="As above."
        if place
        else "Every point is a pattern, of those that contribute most to the expected match risk. "
        "On the line a pattern carries as much of the risk as it has of the records; far above it, "
        "few people carry much. A record that is matched in most sets deserves a second look "
        "before release.",
        figures=[Figure(svg) for svg in figures if svg is not None],
        remarks=[
            f"{shown(one.title)}: the one record in a hundred with most of it carries "
            f"{percent(two.share_of_top_percent)} of the expected match risk."
            for one, _, two in found
            if two.share_of_top_percent is not None
        ],
        affected=[shown(one.title) for one, _, _ in found if not one.convergence.converged],
        tables=tables,
    )


def _pattern_table(
    findings: Findings, one: SynthesizerFindings, found: IdentificationFindings
) -> Table:
    total = found.measures["expected_match_risk"].mean or 0.0
    kept = ", ".join(shown(name) for name in findings.data.kept)
    return Table(
        f"{shown(one.title)}: the {len(found.patterns)} patterns ({kept}) that carry most",
        [
            Column("Pattern", numeric=False),
            Column("Records"),
            Column("Match risk"),
            Column("Share of it"),
            Column("True labels"),
        ],
        [
            [
                name_cell(", ".join(level_names(findings, row.levels)), 44),
                number_cell(row.records),
                number_cell(row.expected_match_risk),
                percent_cell(row.expected_match_risk / total if total else None),
                number_cell(row.attribute_matches),
            ]
            for row in found.patterns
        ],
        folded=True,
    )


def _record_table(
    findings: Findings, one: SynthesizerFindings, found: IdentificationFindings
) -> Table:
    return Table(
        f"{shown(one.title)}: the {len(found.records)} records that carry most",
        [
            Column("Row of the file"),
            Column("Pattern", numeric=False),
            Column("Match probability"),
            Column("Label true, share of sets"),
        ],
        [
            [
                number_cell(row.row),
                name_cell(", ".join(level_names(findings, row.levels)), 44),
                number_cell(row.match_probability),
                percent_cell(row.label_right),
            ]
            for row in found.records
        ],
        folded=True,
    )
