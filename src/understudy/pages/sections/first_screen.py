"""The first screen: the verdict in plain words, and its reasons in groups.

The strips below the words are in `verdict_strips`; title and the line under it in `pages.report`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from understudy.findings.schema import Findings, SynthesizerFindings
from understudy.summaries import counted, number, shown
from understudy.verdict.grading import Outcome, Reason
from understudy.verdict.verdict import ORDER, Verdict

__all__ = [
    "Point",
    "ReasonGroup",
    "action_words",
    "decision_words",
    "grouped_reasons",
    "ranked_synthesizers",
]


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
    folded: str = ""  # its reason in one line, where the rest is folded away


def decision_words(groups: Sequence[ReasonGroup], verdict: Verdict) -> str:
    """Say what is left to decide, in one sentence."""
    open_points = [point for group in groups if not group.folded for point in group.open]
    failed = [point for point in open_points if point.outcome == "fail"]
    if verdict.outcome == "pass":
        return "Every point passes: nothing is left for the board to decide."
    if verdict.outcome == "review":
        return f"The board decides {counted(len(open_points), 'point')}: {_named(open_points)}."
    return (
        f"No release. {counted(len(failed), 'point')} {'fails' if len(failed) == 1 else 'fail'}"
        f"{': ' + _named(failed) if failed else ''}."
    )


def _named(points: Sequence[Point]) -> str:
    *others, last = [point.subject[:1].lower() + point.subject[1:] for point in points]
    return f"{', '.join(others)} and {last}" if others else last


def action_words(findings: Findings, verdict: Verdict) -> str:
    """Say what to do, in one or two sentences."""
    titles = {synthesizer.name: shown(synthesizer.title) for synthesizer in findings.synthesizers}
    if verdict.recommended is None:
        return "Recommended: release none of these sets. Fix what fails and run again."
    best = titles[verdict.recommended]
    alike = [
        name
        for name, own in verdict.synthesizers.items()
        if own.outcome == verdict.outcome and name != verdict.recommended
    ]
    why = " Of those with this outcome, it preserves the tables best." if alike else ""
    condition = "" if verdict.outcome == "pass" else " if the board agrees and writes down why"
    return f"Recommended: {best}. Release its sets{condition}.{why}"


def grouped_reasons(findings: Findings, verdict: Verdict) -> list[ReasonGroup]:
    """Group the reasons: the data, then the recommended synthesizer, then the others."""
    groups = []
    about_data = [reason for reason in verdict.reasons if reason.synthesizer is None]
    if about_data:
        worst = max((reason.outcome for reason in about_data), key=ORDER.index)
        groups.append(_group("The data", worst, False, about_data))
    for index, synthesizer in enumerate(ranked_synthesizers(findings, verdict)):
        own = verdict.synthesizers[synthesizer.name]
        recommended = synthesizer.name == verdict.recommended
        group = _group(shown(synthesizer.title), own.outcome, recommended, own.reasons)
        groups.append(replace(group, folded=_one_line(group)) if index else group)
    return groups


def ranked_synthesizers(findings: Findings, verdict: Verdict) -> list[SynthesizerFindings]:
    """List the synthesizers: the recommended one first, then by outcome."""

    def rank(synthesizer: SynthesizerFindings) -> tuple[bool, int]:
        own = verdict.synthesizers[synthesizer.name]
        return synthesizer.name != verdict.recommended, ORDER.index(own.outcome)

    return sorted(findings.synthesizers, key=rank)


def _one_line(group: ReasonGroup) -> str:
    """Say why a synthesizer is not the recommended one."""
    worst = [point.subject.lower() for point in group.open if point.outcome == group.outcome]
    if group.outcome == "pass":
        return "preserves the tables less well"
    if not worst:
        less = "" if group.outcome == "fail" else ", but preserves the tables less well"
        return f"no points of its own{less}"
    return f"{'fails on' if group.outcome == 'fail' else 'for the board:'} {', '.join(worst)}"


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
