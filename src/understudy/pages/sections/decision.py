"""The first thing on the page: the verdict in plain words, and its reasons in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.findings.schema import Findings
from understudy.summaries import number, shown
from understudy.verdict.grading import Outcome, Reason
from understudy.verdict.verdict import ORDER, Verdict

__all__ = ["Group", "Said", "grouped_reasons", "verdict_words"]


@dataclass(frozen=True)
class Said:
    """One reason as it is shown, for one or more intruders."""

    outcome: Outcome
    subject: str
    words: str


@dataclass(frozen=True)
class Group:
    """Reasons about the data, or about one synthesizer."""

    title: str
    outcome: Outcome
    recommended: bool
    open: Sequence[Said]  # what does not pass, the worst first
    passed: Sequence[Said]


def verdict_words(findings: Findings, verdict: Verdict) -> str:
    """Say what was decided, in one or two sentences."""
    titles = {one.name: shown(one.title) for one in findings.synthesizers}
    best = "" if verdict.recommended is None else titles[verdict.recommended]
    alike = [
        name
        for name, one in verdict.synthesizers.items()
        if one.outcome == verdict.outcome and name != verdict.recommended
    ]
    why = f" Of those with this outcome, {best} keeps the tables best." if alike else ""
    if verdict.outcome == "pass":
        return f"Everything that was judged passes for {best}: its sets may be released.{why}"
    if verdict.outcome == "review":
        return (
            f"The sets of {best} may be released if a person takes responsibility for the points "
            f"marked “review” and writes down why.{why}"
        )
    return "None of these sets may be released as they are. The points marked “fail” say why."


def grouped_reasons(findings: Findings, verdict: Verdict) -> list[Group]:
    """Put reasons into groups: the data, then the recommended synthesizer, then the others."""
    groups = []
    about_data = [one for one in verdict.reasons if one.synthesizer is None]
    if about_data:
        worst = max((one.outcome for one in about_data), key=ORDER.index)
        groups.append(_group("The data", worst, False, about_data))
    every = sorted(
        findings.synthesizers,
        key=lambda one: (
            one.name != verdict.recommended,
            ORDER.index(verdict.synthesizers[one.name].outcome),
        ),
    )
    for one in every:
        own = verdict.synthesizers[one.name]
        chosen = one.name == verdict.recommended
        groups.append(_group(shown(one.title), own.outcome, chosen, own.reasons))
    return groups


def _group(title: str, outcome: Outcome, recommended: bool, reasons: Sequence[Reason]) -> Group:
    said = _said(reasons)
    waiting = sorted(
        (one for one in said if one.outcome != "pass"),
        key=lambda one: -ORDER.index(one.outcome),
    )
    passed = [one for one in said if one.outcome == "pass"]
    return Group(title, outcome, recommended, waiting, passed)


def _said(reasons: Sequence[Reason]) -> list[Said]:
    """Put reasons with the same subject and outcome together, the largest figure first."""
    together: dict[tuple[str, Outcome], list[Reason]] = {}
    for one in reasons:
        together.setdefault((one.subject, one.outcome), []).append(one)
    found = []
    for (subject, outcome), alike in together.items():
        first, *others = sorted(alike, key=lambda one: -_far(one))
        words = subject[:1].upper() + subject[1:]
        found.append(Said(outcome, words, first.words + _others(others)))
    return found


def _others(reasons: Sequence[Reason]) -> str:
    """Say the same of others in one sentence: for other intruders, or other analyses."""
    if not reasons:
        return ""
    figures = [number(one.found, 0.1) for one in reasons if one.found is not None]
    listed = f" ({', '.join(figures)})" if figures else ""
    return f" The same holds for {len(reasons)} more{listed}."


def _far(one: Reason) -> float:
    return float("-inf") if one.found is None else one.found
