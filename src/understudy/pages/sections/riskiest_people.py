"""The section on the patterns and records that carry the risk."""

from __future__ import annotations

from understudy.findings.schema import (
    Findings,
    IdentificationFindings,
    SynthesizerFindings,
)
from understudy.pages.blocks import (
    Block,
    Fold,
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
    "line, a pattern's share of the risk equals its share of the records; far above it, few people "
    "carry much of the risk. Before release, look again at any record that most sets match."
)


def riskiest_section(findings: Findings) -> Section | None:
    """List the patterns and records that carry the risk, of the synthesizer that comes first."""
    blocks: list[Block] = []
    figures: list[str | None] = []
    for index, intruder in enumerate(findings.intruders):
        for series, (synthesizer, style) in enumerate(styled(findings)):
            risk = identified(synthesizer, intruder)
            if risk is None:
                continue
            if series == 0:
                figures.append(
                    riskiest_svg(findings, style, risk, _known(risk), f"riskiest-{index}-0")
                )
            blocks.append(_folded(findings, synthesizer, risk))
    if not blocks:
        return None
    lead = Paragraph(
        "The most confidential part: rows of the confidential file, and what these people have in "
        "common."
    )
    blocks = [lead, *topic(READING, figures=figures), *blocks]
    return Section("riskiest", "Who carries the risk", blocks)


def _known(risk: IdentificationFindings) -> str:
    return f"known: {known_words(risk.known)}"


def _folded(
    findings: Findings, synthesizer: SynthesizerFindings, risk: IdentificationFindings
) -> Fold:
    """Fold the tables of one synthesizer and intruder, with what they amount to."""
    summary = f"{shown(synthesizer.title)}, {_known(risk)}"
    if risk.share_of_top_percent is not None:
        summary += (
            f": the riskiest 1 % of the records carry {percent(risk.share_of_top_percent)} of the "
            "expected match risk"
        )
    tables = [
        _pattern_table(findings, synthesizer, risk),
        _record_table(findings, synthesizer, risk),
    ]
    return Fold(summary, tables)


def _pattern_table(
    findings: Findings, synthesizer: SynthesizerFindings, risk: IdentificationFindings
) -> Table:
    total = risk.measures["expected_match_risk"].mean or 0.0
    kept = known_words(findings.data.kept)
    return Table(
        f"The {len(risk.patterns)} riskiest patterns of {shown(synthesizer.title)} ({kept})",
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
    )


def _record_table(
    findings: Findings, synthesizer: SynthesizerFindings, risk: IdentificationFindings
) -> Table:
    return Table(
        f"The {len(risk.records)} riskiest records of {shown(synthesizer.title)}",
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
    )
