"""Where risks lie between Min and Max, as the verdict sees them."""

from __future__ import annotations

from understudy.report.figures.canvas import Look
from understudy.report.figures.risk import Placed
from understudy.report.findings import Findings, IntruderFindings, SynthesizerFindings
from understudy.report.reasons import risk_place
from understudy.report.words import short

__all__ = ["risk_places"]


def risk_places(findings: Findings, looks: list[Look], joint: bool = False) -> list[Placed]:
    """List the place of every risk: one row for each intruder, and one for labels.

    Parameters
    ----------
    findings : Findings
        What the study found.
    looks : list of Look
        One for each synthesizer.
    joint : bool
        For an intruder who holds all files, rather than one.
    """
    pairs = list(zip(findings.synthesizers, looks, strict=True))
    rows = [
        Placed(
            "match: " + short(", ".join(intruder.known), 20),
            [(look, _match_place(one, intruder, joint)) for one, look in pairs],
        )
        for intruder in findings.intruders
    ]
    if findings.intruders:
        first = findings.intruders[0]
        rows.append(
            Placed("label", [(look, _label_place(one, first, joint)) for one, look in pairs])
        )
    return rows


def _match_place(one: SynthesizerFindings, intruder: IntruderFindings, joint: bool) -> float | None:
    for found in one.risk.identification:
        if found.known == intruder.known:
            own = found.measures["expected_match_risk"].mean
            value = found.joint.get("expected_match_risk") if joint else own
            return risk_place(value, intruder, "expected_match_risk", joint)
    return None


def _label_place(one: SynthesizerFindings, intruder: IntruderFindings, joint: bool) -> float | None:
    found = one.risk.attribute
    if found is None:
        return None
    value = found.joint_matches if joint else found.matches.mean
    return risk_place(value, intruder, "attribute_matches", joint)
