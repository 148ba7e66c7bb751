"""What is judged about a synthesizer's chains: whether the sets are draws from one posterior.

Risk and utility are measured on the files: they are facts about the files whatever the chains did.
What chains that have not converged take away is the coverage of intervals from the combining rules,
and the repeatability of the study. So that means review, not fail. It fails where nothing can be
told: a single chain, chains that broke, or sets that are not independent draws.
"""

from __future__ import annotations

from understudy.findings.schema import LARGEST_RHAT, Convergence, SynthesizerFindings
from understudy.summaries import counted, number, rhat_number
from understudy.verdict.grading import Outcome, Reason

__all__ = ["CONVERGENCE", "convergence_reason"]

CONVERGENCE = "convergence"
DEPENDENT = 0.5  # correlation of neighbouring sets of a chain, in the worst of the judged sums


def convergence_reason(synthesizer: SynthesizerFindings) -> Reason:
    """Judge the chains of one synthesizer."""
    chains = synthesizer.convergence
    outcome: Outcome
    if not chains.chains:
        outcome, words = "pass", "There is nothing that has to converge."
    elif chains.chains < 2:
        outcome = "fail"
        words = "One chain cannot show whether it has converged. Run at least two."
    elif (chains.worst_rhat or 0.0) >= LARGEST_RHAT:
        outcome = "fail"
        words = "Some chains broke: they stay where they started. Run the study again."
    elif (chains.set_correlation or 0.0) > DEPENDENT:
        outcome = "fail"
        words = (
            "The sets depend on each other: neighbouring sets of a chain have a correlation of "
            f"{number(chains.set_correlation)}, above the limit of {DEPENDENT}. Keep more draws, "
            "or ask for fewer sets."
        )
    elif chains.converged:
        outcome, words = "pass", _met(chains)
    else:
        outcome, words = "review", _not_met(chains)
    return Reason(
        subject=CONVERGENCE,
        outcome=outcome,
        words=words,
        found=chains.worst_rhat,
        limit=chains.rhat_target,
        synthesizer=synthesizer.name,
    )


def _met(chains: Convergence) -> str:
    shown = len(chains.not_judged)
    aside = (
        f" {counted(shown, 'number')} about the model, which no file shows, "
        f"{'misses' if shown == 1 else 'miss'} the targets."
        if shown
        else ""
    )
    return (
        f"The chains have converged: all {chains.n_judged:,} quantities that reach the files meet "
        f"their targets (R-hat below {number(chains.rhat_target)}, effective sample size at least "
        f"{number(chains.ess_target)}).{aside}"
    )


def _not_met(chains: Convergence) -> str:
    return (
        f"The chains have not converged: {chains.n_failed:,} of {chains.n_judged:,} quantities "
        f"that reach the files miss a target (worst R-hat {rhat_number(chains.worst_rhat)}, least "
        f"effective sample size {number(chains.least_ess)}). Risk and utility hold for these "
        "files; but intervals from the combining rules may be too short, and another run may give "
        "other files. Run more draws, or write down why this is acceptable."
    )
