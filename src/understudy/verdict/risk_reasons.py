"""What is judged about the risk of one synthesizer's sets, for every intruder."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.errors import quoted_list
from understudy.findings.schema import (
    IdentificationFindings,
    IntruderFindings,
    Spread,
    SynthesizerFindings,
)
from understudy.summaries import number, percent
from understudy.verdict.grading import (
    ERRORS,
    Outcome,
    Reason,
    graded,
    level_figure,
    risk_position,
    standard_deviation,
)
from understudy.verdict.thresholds import Thresholds

__all__ = ["risk_reasons"]

MEASURES = {  # by name of the limits: the measure, and what it counts
    "attribute_risk": ("attribute_matches", "true labels"),
    "match_risk": ("expected_match_risk", "expected right matches"),
}


def risk_reasons(
    synthesizer: SynthesizerFindings, intruders: Sequence[IntruderFindings], limits: Thresholds
) -> list[Reason]:
    """Judge alignment, matches of every intruder, and true labels."""
    reasons = _alignment(synthesizer)
    for risk in synthesizer.risk.identification:
        intruder = next((other for other in intruders if other.known == risk.known), None)
        who = f"an intruder who knows {quoted_list(risk.known)}"
        one_file = risk.measures["expected_match_risk"]
        all_files = risk.joint.get("expected_match_risk")
        reasons += [
            _by_position(synthesizer, limits, "match_risk", one_file, intruder, who),
            _by_position(synthesizer, limits, "joint_match_risk", all_files, intruder, who),
            _true_match_rate(risk, limits, who),
        ]
    attribute = synthesizer.risk.attribute
    if attribute is not None:
        first = intruders[0] if intruders else None  # the label's baselines are the same for all
        who = "an intruder who knows which row is whose"
        reasons += [
            _by_position(synthesizer, limits, "attribute_risk", attribute.matches, first, who),
            _by_position(
                synthesizer, limits, "joint_attribute_risk", attribute.joint_matches, first, who
            ),
        ]
    return [reason.model_copy(update={"synthesizer": synthesizer.name}) for reason in reasons]


def _alignment(synthesizer: SynthesizerFindings) -> list[Reason]:
    """Rows that are paired with records at random make every risk look small."""
    risks = synthesizer.risk.identification
    if not risks or "looks random" not in risks[0].alignment:
        return []
    words = (
        "The rows look paired with the records at random, so that every risk looks smaller than "
        f"it is ({risks[0].alignment}). Put the rows into the order of the records."
    )
    return [Reason(subject="alignment", outcome="fail", words=words)]


def _true_match_rate(risk: IdentificationFindings, limits: Thresholds, who: str) -> Reason:
    """Share of the records that are a single and right match: an absolute limit."""
    rate = risk.measures["true_match_rate"]
    words = (
        f"For {who}, {percent(rate.mean)} of the records are a single and right match in one "
        f"file; the pass limit is {percent(limits.true_match_rate_pass)}."
    )
    return Reason(
        subject="true match rate",
        outcome=graded(rate.mean, limits, "true_match_rate", rate.standard_error),
        words=words,
        found=rate.mean,
        limit=limits.true_match_rate_pass,
    )


def _by_position(
    synthesizer: SynthesizerFindings,
    limits: Thresholds,
    name: str,
    risk: Spread | float | None,
    intruder: IntruderFindings | None,
    who: str,
) -> Reason:
    """Judge a risk by its position between the baselines of the same intruder.

    The one value of all files together has no standard error of its own; it is given the standard
    deviation of Max.
    """
    joint = name.startswith("joint")
    measure, counted = MEASURES[name.removeprefix("joint_")]
    subject = name.replace("_", " ")
    subject = subject if "attribute" in name or joint else f"expected {subject}"
    value = risk.mean if isinstance(risk, Spread) else risk
    low = high = error = position = None
    if intruder is not None:
        low = level_figure(intruder.minimum, measure, joint)
        high = level_figure(intruder.maximum, measure, joint)
        error = standard_deviation(intruder.maximum.joint.get(measure))
        position = risk_position(value, intruder, measure, joint)
    if isinstance(risk, Spread):
        error = risk.standard_error
    passing: float = getattr(limits, f"{name}_pass")
    files = f"all {synthesizer.m} files give" if joint else "one file gives"
    words = f"For {who}, {files} {number(value)} {counted}"
    if position is None or low is None or high is None:
        words += (
            f". The baselines Min ({number(low)}) and Max ({number(high)}) are too close together "
            "for a position between them"
        )
        outcome, ending = _against_max(value, high, error, passing)
    else:
        outcome = graded(position, limits, name, (error or 0.0) / (high - low))
        words += (
            f": position {_written(position)} between Min ({number(low)}) and Max "
            f"({number(high)}); the pass limit is {_written(passing)}"
        )
        ending = _beyond(position, outcome)
    return Reason(
        subject=subject, outcome=outcome, words=f"{words}{ending}.", found=position, limit=passing
    )


def _against_max(
    value: float | None, high: float | None, error: float | None, passing: float
) -> tuple[Outcome, str]:
    """Judge a risk whose baselines coincide: it passes up to Max; chance sends it to review."""
    if value is None or high is None:
        return "review", ""
    if value <= high:
        return "pass" if passing > 0 or value == 0 else "review", ", and it is not above Max"
    if value <= high + ERRORS * (error or 0.0):
        return "review", ", and it is above Max, perhaps by chance"
    return "fail", ", and it is above Max by more than chance"


def _written(position: float) -> str:
    return f"{round(position, 2) + 0.0:.2f}".replace("-", "−")


def _beyond(position: float, outcome: Outcome) -> str:
    if outcome == "pass":
        return ""
    if outcome == "fail":
        return ". It is above the review limit by more than chance explains"
    return ". It is at Max, within chance" if position > 1 else ". It is above that"
