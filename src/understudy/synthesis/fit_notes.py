"""What a fit tells whoever called it: how long it will take, and what has not converged."""

from __future__ import annotations

from typing import Any

from understudy.errors import ConvergenceWarning, UnderstudyWarning, warn_user
from understudy.synthesis.diagnostics import count_failed
from understudy.synthesis.sampled_fit import SampledFit

__all__ = ["note", "note_time", "warn_convergence", "warn_of_chains"]


def note_time(seconds: float, options: Any, limit: float) -> None:
    """Say before a fit starts that it takes longer than the limit of one that goes on, or is vain.

    A sweep takes so many processor seconds; the limit is in processor seconds, too.
    """
    n_sweeps = options.warmup + options.draws * options.thin
    needed = seconds * n_sweeps * options.chains
    if needed > limit:
        least = "about" if options.until is None else "at least about"
        note(
            f"this fit takes {least} {needed / 60:,.0f} processor minutes: {n_sweeps:,} sweeps of "
            f"{options.chains} chains; fewer sweeps and coarser or fewer variables take less, and "
            "mostly the back-off tree"
        )
    until = options.until
    if until is not None and options.chains * until.most_draws < until.ess:
        note(
            f"this fit can hardly converge: its limit of {until.most_draws:,} draws of each of "
            f"{options.chains} chains is below the effective sample size of {until.ess:g} that is "
            "asked for; give draws, coarser or fewer variables, or take the back-off tree"
        )


def warn_of_chains(fit: SampledFit) -> None:
    """Warn of one chain, or of what has not converged."""
    if fit.plan.chains == 1:
        warn_convergence("one chain has no R-hat: convergence cannot be judged")
    elif not fit.converged:
        table = fit.diagnostics()
        n_judged = int(table["judged"].sum())
        warn_convergence(
            f"{count_failed(table):,} of {n_judged:,} judged quantities miss a target (R-hat below "
            f"{fit.targets.rhat:g}, effective sample size at least {fit.targets.ess:g}; less "
            "strict for each of many of a kind): run longer, or set until"
        )


def note(text: str) -> None:
    """Point something out to whoever called `fit`."""
    warn_user(text, UnderstudyWarning)


def warn_convergence(text: str) -> None:
    """Warn whoever called `fit` of chains that cannot be trusted."""
    warn_user(text, ConvergenceWarning)
