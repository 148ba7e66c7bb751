"""Limits that a plan has loosened: such a study passes only by a person's written reason.

A plan may ask for less than the defaults, for good reasons or bad ones. Nobody should have to
compare lists to find out: whatever is laxer than its default is named in the verdict, with both
figures, and sends the study to review.
"""

from __future__ import annotations

from understudy.findings.schema import Convergence, SynthesizerFindings
from understudy.summaries import number
from understudy.verdict.grading import Reason
from understudy.verdict.thresholds import RISING, Thresholds

__all__ = ["LIMITS", "relaxed_targets", "relaxed_thresholds"]

LIMITS = "limits"
RHAT, ESS = 1.01, 400.0  # targets of a fit that asks for no others
MORE_IS_LAXER = (
    *(f"{name}_{kind}" for name in RISING for kind in ("pass", "review")),
    "small_pattern_share_review",
)
LESS_IS_LAXER = ("overlap_pass", "overlap_review", "smallest_pattern")
DECIDE = "Somebody has to write down why that is enough here."


def relaxed_thresholds(limits: Thresholds) -> list[Reason]:
    """Name every threshold that is laxer than its default, in one reason; none where none is."""
    default = Thresholds()
    laxer = [
        name
        for names, sign in ((MORE_IS_LAXER, 1), (LESS_IS_LAXER, -1))
        for name in names
        if sign * (getattr(limits, name) - getattr(default, name)) > 0
    ]
    told = [
        f"{name} is {number(getattr(limits, name))} (by default {number(getattr(default, name))})"
        for name in laxer
    ]
    if not limits.codebook_required:
        told.append("codebook_required is false (by default true)")
    return [_reason("Limits of this verdict", told)] if told else []


def relaxed_targets(one: SynthesizerFindings) -> list[Reason]:
    """Name the targets of a fit that are laxer than the defaults, in one reason."""
    told = _laxer_targets(one.convergence)
    if not told:
        return []
    return [_reason("Targets for the chains", told).model_copy(update={"synthesizer": one.name})]


def _laxer_targets(found: Convergence) -> list[str]:
    told = []
    if found.rhat_target > RHAT:
        told.append(f"R-hat has to be below {number(found.rhat_target)} (by default {RHAT})")
    if found.ess_target < ESS:
        told.append(
            f"the effective sample size has to reach {number(found.ess_target)} "
            f"(by default {number(ESS)})"
        )
    return told


def _reason(what: str, told: list[str]) -> Reason:
    words = f"{what} are laxer than the defaults: {'; '.join(told)}. {DECIDE}"
    return Reason(subject=LIMITS, outcome="review", words=words, found=None, limit=None)
