"""The chapter on the patterns and records that carry the risk."""

from __future__ import annotations

from understudy.errors import quoted_list
from understudy.report.findings import Findings, IdentificationFindings, SynthesizerFindings
from understudy.report.views import (
    Block,
    Column,
    Section,
    Table,
    name_cell,
    number_cell,
    percent_cell,
)
from understudy.report.words import percent, shown

__all__ = ["bearers_section"]


def bearers_section(findings: Findings) -> Section | None:
    """List the patterns and records that carry the risk."""
    blocks = [
        _bearers(findings, one, found)
        for one in findings.synthesizers
        for found in one.risk.identification
    ]
    if not blocks:
        return None
    return Section(
        key="bearers",
        title="Who carries the risk",
        lead="Confidential to the highest degree: rows of the confidential file and what their "
        "owners have in common.",
        blocks=blocks,
    )


def _bearers(findings: Findings, one: SynthesizerFindings, found: IdentificationFindings) -> Block:
    total = found.measures["expected_match_risk"].mean or 0.0
    kept = ", ".join(shown(name) for name in findings.data.kept)
    remarks = []
    if found.share_of_top_percent is not None:
        remarks.append(
            "The one record in a hundred with most of it carries "
            f"{percent(found.share_of_top_percent)} of the expected match risk."
        )
    return Block(
        title=f"{shown(one.title)}, known: {quoted_list(found.known)}",
        reading="Patterns and records that contribute most to the expected match risk. A "
        "pattern's share far above its share of records, or a record that is matched in most "
        "sets, deserves a second look before release.",
        remarks=remarks,
        affected=() if one.convergence.converged else (shown(one.title),),
        tables=[
            Table(
                f"Patterns ({kept}), the worst {len(found.patterns)}",
                [
                    Column("Pattern", numeric=False),
                    Column("Records"),
                    Column("Match risk"),
                    Column("Share of it"),
                    Column("True labels"),
                ],
                [
                    [
                        name_cell(", ".join(row.levels), 44),
                        number_cell(row.records),
                        number_cell(row.expected_match_risk),
                        percent_cell(row.expected_match_risk / total if total else None),
                        number_cell(row.attribute_matches),
                    ]
                    for row in found.patterns
                ],
                folded=True,
            ),
            Table(
                f"Records, the worst {len(found.records)}",
                [
                    Column("Row of the file"),
                    Column("Pattern", numeric=False),
                    Column("Match probability"),
                    Column("Label true in"),
                ],
                [
                    [
                        number_cell(row.row),
                        name_cell(", ".join(row.levels), 44),
                        number_cell(row.match_probability),
                        percent_cell(row.label_right),
                    ]
                    for row in found.records
                ],
                folded=True,
            ),
        ],
    )
