"""The first thing on the page: the verdict in plain words, and its reasons in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.findings.schema import Findings
from understudy.summaries import number, shown
from understudy.verdict.grading import Outcome, Reason
from understudy.verdict.verdict import ORDER, Verdict

__all__ = ["Point", "ReasonGroup", "grouped_reasons", "verdict_words"]


@dataclass(frozen=True)
class Point:
    """Reasons with the same subject and outcome, as they are shown."""

    outcome: Outcome
    subject: str
    words: str


@dataclass(frozen=True)
class ReasonGroup:
    """Points about the data, or about one synthesizer."""

    title: str
    outcome: Outcome
    recommended: bool
    open: Sequence[Point]  # what does not pass, the worst first
    passed: Sequence[Point]


def verdict_words(findings: Findings, verdict: Verdict) -> str:
    """Say what was decided, in one or two sentences."""
    titles = {each.name: shown(each.title) for each in findings.synthesizers}
    best = "" if verdict.recommended is None else titles[verdict.recommended]
    alike = [
        name
        for name, own in verdict.synthesizers.items()
        if own.outcome == verdict.outcome and name != verdict.recommended
    ]
    why = f" Of those with this outcome, {best} preserves the tables best." if alike else ""
    if verdict.outcome == "pass":
        return f"{best} passes every check: its sets may be released.{why}"
    if verdict.outcome == "review":
        return (
            f"The sets of {best} may be released if a person takes responsibility for the points "
            f"marked “review” and writes down why.{why}"
        )
    return "None of these sets may be released as they are. The points marked “fail” say why."


def grouped_reasons(findings: Findings, verdict: Verdict) -> list[ReasonGroup]:
    """Group the reasons: the data, then the recommended synthesizer, then the others."""
    groups = []
    about_data = [reason for reason in verdict.reasons if reason.synthesizer is None]
    if about_data:
        worst = max((reason.outcome for reason in about_data), key=ORDER.index)
        groups.append(_group("The data", worst, False, about_data))

    def rank(name: str) -> tuple[bool, int]:
        return name != verdict.recommended, ORDER.index(verdict.synthesizers[name].outcome)

    for synthesizer in sorted(findings.synthesizers, key=lambda each: rank(each.name)):
        own = verdict.synthesizers[synthesizer.name]
        recommended = synthesizer.name == verdict.recommended
        groups.append(_group(shown(synthesizer.title), own.outcome, recommended, own.reasons))
    return groups


def _group(
    title: str, outcome: Outcome, recommended: bool, reasons: Sequence[Reason]
) -> ReasonGroup:
    points = sorted(_points(reasons), key=lambda point: -ORDER.index(point.outcome))
    is_open = [point for point in points if point.outcome != "pass"]
    passed = [point for point in points if point.outcome == "pass"]
    return ReasonGroup(title, outcome, recommended, is_open, passed)


def _points(reasons: Sequence[Reason]) -> list[Point]:
    """Put reasons with the same subject and outcome together, the largest value first."""
    together: dict[tuple[str, Outcome], list[Reason]] = {}
    for reason in reasons:
        together.setdefault((reason.subject, reason.outcome), []).append(reason)
    points = []
    for (subject, outcome), alike in together.items():
        first, *others = sorted(alike, key=_value, reverse=True)
        points.append(
            Point(outcome, subject[:1].upper() + subject[1:], first.words + _others(others))
        )
    return points


def _others(reasons: Sequence[Reason]) -> str:
    """Say the same of other intruders or analyses in one sentence."""
    if not reasons:
        return ""
    values = [number(reason.found, 0.1) for reason in reasons if reason.found is not None]
    listed = f" ({', '.join(values)})" if values else ""
    return f" The same holds for {len(reasons)} more{listed}."


def _value(reason: Reason) -> float:
    return float("-inf") if reason.found is None else reason.found
