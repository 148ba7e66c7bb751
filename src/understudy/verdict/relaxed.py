"""Limits that a plan has relaxed, and repeated runs: such a study needs a written reason.

A plan may ask for less than the defaults, for good reasons or bad ones. Whatever is laxer than its
default is named in the verdict, with both values, and sends the study to review.
"""

from __future__ import annotations

from understudy.findings.schema import Findings, SynthesizerFindings
from understudy.summaries import counted, number
from understudy.synthesis.registry import ESS_TARGET, RHAT_TARGET
from understudy.verdict.grading import Reason
from understudy.verdict.thresholds import RISING, Thresholds

__all__ = [
    "LIMITS",
    "RUNS",
    "relaxed_targets",
    "relaxed_thresholds",
    "repeated_runs",
    "weaker_intruders",
]

LIMITS = "limits"
RUNS = "runs"
MORE_IS_LAXER = (
    *(f"{name}_{kind}" for name in RISING for kind in ("pass", "review")),
    "own_record_least",
    "small_pattern_share_review",
)
LESS_IS_LAXER = ("overlap_pass", "overlap_review", "smallest_pattern")
DECIDE = "Write down why that is enough here."


def relaxed_thresholds(limits: Thresholds) -> list[Reason]:
    """Name every threshold that is laxer than its default, in one reason."""
    default = Thresholds()
    laxer = [
        name
        for names, sign in ((MORE_IS_LAXER, 1), (LESS_IS_LAXER, -1))
        for name in names
        if sign * (getattr(limits, name) - getattr(default, name)) > 0
    ]
    named = [
        f"{name} is {number(getattr(limits, name))} (by default {number(getattr(default, name))})"
        for name in laxer
    ]
    if not limits.codebook_required:
        named.append("codebook_required is false (by default true)")
    return [_reason("Limits of this verdict", named)] if named else []


def weaker_intruders(findings: Findings) -> list[Reason]:
    """Say where no intruder knows all kept variables, which the data allow for."""
    kept = set(findings.data.kept)
    if not kept or any(kept <= set(intruder.known) for intruder in findings.intruders):
        return []
    words = (
        "No intruder of the plan knows all kept variables: matches are measured for weaker "
        f"intruders only. {DECIDE}"
    )
    return [Reason(subject="intruders", outcome="review", words=words)]


def repeated_runs(findings: Findings) -> list[Reason]:
    """Say how often the same people were synthesized, where a register knows."""
    if findings.runs is None:
        return []
    data = findings.runs_of_data or findings.runs
    late = (
        " This study had begun before it was entered there: runs before it may be missing."
        if findings.registered_late
        else ""
    )
    if data < 2 and not late:
        words = "The register has this run of the same people and no other."
        return [Reason(subject=RUNS, outcome="pass", words=words, found=1.0, limit=1.0)]
    runs = f"{data:,} runs" if data > 1 else "1 run"
    if findings.frontier_points:
        tried = counted(findings.frontier_points, "point")
        late = f" Frontiers among them measured {tried}.{late}"
    words = (
        f"The register has {runs} of the same people, {findings.runs:,} of them with this plan, "
        f"each with a seed of its own.{late} Files that were chosen because they passed are "
        f"riskier than their values say. {DECIDE}"
    )
    return [Reason(subject=RUNS, outcome="review", words=words, found=float(data), limit=1.0)]


def relaxed_targets(synthesizer: SynthesizerFindings) -> list[Reason]:
    """Name the targets of a fit that are laxer than the defaults, in one reason."""
    chains, named = synthesizer.convergence, []
    if chains.rhat_target > RHAT_TARGET:
        named.append(
            f"R-hat has to be below {number(chains.rhat_target)} (by default {RHAT_TARGET})"
        )
    if chains.ess_target < ESS_TARGET:
        named.append(
            f"the effective sample size has to reach {number(chains.ess_target)} "
            f"(by default {number(ESS_TARGET)})"
        )
    if not named:
        return []
    reason = _reason("Targets for the chains", named)
    return [reason.model_copy(update={"synthesizer": synthesizer.name})]


def _reason(what: str, named: list[str]) -> Reason:
    words = f"{what} are laxer than the defaults: {'; '.join(named)}. {DECIDE}"
    return Reason(subject=LIMITS, outcome="review", words=words)
