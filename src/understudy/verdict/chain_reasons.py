"""What is judged about a synthesizer's chains: whether they have converged."""

from __future__ import annotations

from understudy.findings.schema import SynthesizerFindings
from understudy.summaries import number, rhat_number
from understudy.verdict.grading import Outcome, Reason

__all__ = ["CONVERGENCE", "convergence_reason"]

CONVERGENCE = "convergence"


def convergence_reason(synthesizer: SynthesizerFindings) -> Reason:
    """Judge convergence: chains that have not converged fail, whatever else was measured."""
    chains = synthesizer.convergence
    targets = number(chains.rhat_target), number(chains.ess_target)
    worst = rhat_number(chains.worst_rhat), number(chains.least_ess)
    outcome: Outcome = "pass" if chains.converged else "fail"
    if not chains.converged:
        words = (
            "The chains have NOT converged: no figure about these sets can be relied on. "
            f"{chains.n_failed:,} of {chains.n_judged:,} quantities miss a target (R-hat below "
            f"{targets[0]}, effective sample size at least {targets[1]}); the worst R-hat is "
            f"{worst[0]}, the least effective sample size {worst[1]}. Run more draws, with at "
            "least two chains."
        )
    elif chains.worst_rhat is None:
        words = "There is nothing that has to converge."
    else:
        words = (
            f"The chains have converged: R-hat is at most {worst[0]} (required: below "
            f"{targets[0]}) and the least effective sample size is {worst[1]} (required: at least "
            f"{targets[1]})."
        )
    return Reason(
        subject=CONVERGENCE,
        outcome=outcome,
        words=words,
        found=chains.worst_rhat,
        limit=chains.rhat_target,
        synthesizer=synthesizer.name,
    )
