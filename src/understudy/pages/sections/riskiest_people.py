"""The section on the patterns and records that carry the risk."""

from __future__ import annotations

from understudy.findings.schema import (
    Findings,
    IdentificationFindings,
    IntruderFindings,
    SynthesizerFindings,
)
from understudy.pages.blocks import (
    Block,
    Paragraph,
    Section,
    Table,
    name_cell,
    number_cell,
    percent_cell,
    topic,
)
from understudy.pages.plots.risk_plots import riskiest_svg
from understudy.pages.sections.section_words import identified, known_words, styled
from understudy.pages.sections.within_pattern_section import level_names
from understudy.summaries import percent, shown

__all__ = ["riskiest_section"]

READING = (
    "Each point is one of the patterns that contribute most to the expected match risk. On the "
    "line, a pattern's share of the risk equals its share of the records; far above it, few "
    "people carry much of the risk. Before release, look again at any record that is matched in "
    "most sets."
)


def riskiest_section(findings: Findings) -> Section | None:
    """List the patterns and records that carry the risk."""
    blocks: list[Block] = []
    for index, intruder in enumerate(findings.intruders):
        blocks += _riskiest(findings, intruder, index, "As above." if blocks else READING)
    if not blocks:
        return None
    lead = Paragraph(
        "The most confidential part: rows of the confidential file, and what these people have in "
        "common."
    )
    return Section("riskiest", "Who carries the risk", [lead, *blocks])


def _riskiest(
    findings: Findings, intruder: IntruderFindings, index: int, reading: str
) -> list[Block]:
    judged = [
        (synthesizer, style, risk)
        for synthesizer, style in styled(findings)
        if (risk := identified(synthesizer, intruder)) is not None
    ]
    if not judged:
        return []
    return topic(
        title=f"Known: {known_words(intruder.known)} and the true label",
        reading=reading,
        figures=[
            riskiest_svg(findings, style, risk, f"riskiest-{index}-{series}")
            for series, (_, style, risk) in enumerate(judged)
        ],
        remarks=[
            f"{shown(synthesizer.title)}: the 1 % of records with the highest risk carry "
            f"{percent(risk.share_of_top_percent)} of the expected match risk."
            for synthesizer, _, risk in judged
            if risk.share_of_top_percent is not None
        ],
        tables=[
            table(findings, synthesizer, risk)
            for synthesizer, _, risk in judged
            for table in (_pattern_table, _record_table)
        ],
    )


def _pattern_table(
    findings: Findings, synthesizer: SynthesizerFindings, risk: IdentificationFindings
) -> Table:
    total = risk.measures["expected_match_risk"].mean or 0.0
    kept = known_words(findings.data.kept)
    return Table(
        f"{shown(synthesizer.title)}: the {len(risk.patterns)} riskiest patterns ({kept})",
        ["Pattern", "Records", "Match risk", "Share of it", "True labels"],
        [
            [
                name_cell(", ".join(level_names(findings, row.levels)), 44),
                number_cell(row.records),
                number_cell(row.expected_match_risk),
                percent_cell(row.expected_match_risk / total if total else None),
                number_cell(row.attribute_matches),
            ]
            for row in risk.patterns
        ],
        folded=True,
    )


def _record_table(
    findings: Findings, synthesizer: SynthesizerFindings, risk: IdentificationFindings
) -> Table:
    return Table(
        f"{shown(synthesizer.title)}: the {len(risk.records)} riskiest records",
        ["Row of the file", "Pattern", "Match probability", "Label true, share of sets"],
        [
            [
                number_cell(row.row),
                name_cell(", ".join(level_names(findings, row.levels)), 44),
                number_cell(row.match_probability),
                percent_cell(row.label_right),
            ]
            for row in risk.records
        ],
        text_columns=(1,),
        folded=True,
    )
