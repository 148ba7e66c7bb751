"""Positions of risks: of own-record effects, and between the baselines Min and Max."""

from __future__ import annotations

from understudy.findings.schema import Findings, IntruderFindings, SynthesizerFindings
from understudy.pages.plots.canvas import SeriesStyle
from understudy.pages.plots.risk_plots import RiskPositions
from understudy.summaries import short
from understudy.verdict.grading import risk_position

__all__ = ["attack_positions", "risk_positions"]


def attack_positions(
    findings: Findings, styles: list[SeriesStyle], setting: str
) -> list[RiskPositions]:
    """List the position of every attack's own-record effect, as the verdict judges it.

    Parameters
    ----------
    findings : Findings
        What the study measured.
    styles : list of SeriesStyle
        One for each synthesizer.
    setting : {"worst case", "as released"}
        Rows aligned with the records, or shuffled.
    """
    rows: dict[str, list[tuple[SeriesStyle, float | None]]] = {}
    for synthesizer, style in zip(findings.synthesizers, styles, strict=True):
        own_record = synthesizer.risk.own_record
        for attack in own_record.attacks if own_record is not None else ():
            if attack.setting == setting:
                known = ": " + short(", ".join(attack.known), 20) if attack.known else ""
                label = attack.attack.replace("_", " ") + known
                rows.setdefault(label, []).append((style, attack.position))
    return [RiskPositions(label, positions) for label, positions in rows.items()]


def risk_positions(
    findings: Findings, styles: list[SeriesStyle], joint: bool = False
) -> list[RiskPositions]:
    """List the position of every risk: one row for each intruder, and one for labels.

    Parameters
    ----------
    findings : Findings
        What the study found.
    styles : list of SeriesStyle
        One for each synthesizer.
    joint : bool
        For an intruder who holds all files, rather than one.
    """
    pairs = list(zip(findings.synthesizers, styles, strict=True))
    rows = [
        RiskPositions(
            "match: " + short(", ".join(intruder.known), 20),
            [(style, _match_position(each, intruder, joint)) for each, style in pairs],
        )
        for intruder in findings.intruders
    ]
    for intruder in findings.intruders[:1]:  # the label's baselines are the same for all
        labels = [(style, _label_position(each, intruder, joint)) for each, style in pairs]
        rows.append(RiskPositions("label", labels))
    return rows


def _match_position(
    synthesizer: SynthesizerFindings, intruder: IntruderFindings, joint: bool
) -> float | None:
    measure = "expected_match_risk"
    for risk in synthesizer.risk.identification:
        if risk.known == intruder.known:
            value = risk.joint.get(measure) if joint else risk.measures[measure].mean
            return risk_position(value, intruder, measure, joint)
    return None


def _label_position(
    synthesizer: SynthesizerFindings, intruder: IntruderFindings, joint: bool
) -> float | None:
    risk = synthesizer.risk.attribute
    if risk is None:
        return None
    value = risk.joint_matches if joint else risk.matches.mean
    return risk_position(value, intruder, "attribute_matches", joint)
