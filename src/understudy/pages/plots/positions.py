"""Where risks lie between Min and Max, as the verdict sees them."""

from __future__ import annotations

from understudy.findings.schema import Findings, IntruderFindings, SynthesizerFindings
from understudy.pages.plots.canvas import SeriesStyle
from understudy.pages.plots.risk_plots import Positioned
from understudy.summaries import short
from understudy.verdict.grading import risk_position

__all__ = ["risk_positions"]


def risk_positions(
    findings: Findings, looks: list[SeriesStyle], joint: bool = False
) -> list[Positioned]:
    """List the place of every risk: one row for each intruder, and one for labels.

    Parameters
    ----------
    findings : Findings
        What the study found.
    looks : list of SeriesStyle
        One for each synthesizer.
    joint : bool
        For an intruder who holds all files, rather than one.
    """
    pairs = list(zip(findings.synthesizers, looks, strict=True))
    rows = [
        Positioned(
            "match: " + short(", ".join(intruder.known), 20),
            [(look, _match_place(one, intruder, joint)) for one, look in pairs],
        )
        for intruder in findings.intruders
    ]
    if findings.intruders:
        first = findings.intruders[0]
        rows.append(
            Positioned("label", [(look, _label_place(one, first, joint)) for one, look in pairs])
        )
    return rows


def _match_place(one: SynthesizerFindings, intruder: IntruderFindings, joint: bool) -> float | None:
    for found in one.risk.identification:
        if found.known == intruder.known:
            own = found.measures["expected_match_risk"].mean
            value = found.joint.get("expected_match_risk") if joint else own
            return risk_position(value, intruder, "expected_match_risk", joint)
    return None


def _label_place(one: SynthesizerFindings, intruder: IntruderFindings, joint: bool) -> float | None:
    found = one.risk.attribute
    if found is None:
        return None
    value = found.joint_matches if joint else found.matches.mean
    return risk_position(value, intruder, "attribute_matches", joint)
