"""The door of every sampled synthesizer: options checked, chains run, trouble said.

A model brings its settings and its `ChainSampler`; everything that does not depend on the model
happens here: checking the options, the identity of a saved run, its seed, the chains, and the
warning about what has not converged.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numba
import numpy as np

import understudy
from understudy.errors import ConvergenceWarning, LevelError, UnderstudyWarning, quoted
from understudy.microdata.table import Microdata
from understudy.randomness import check_seed
from understudy.synthesis.chains import ChainDraws, Plan, Progress, default_threads, run_chains
from understudy.synthesis.checkpoints import Checkpoint
from understudy.synthesis.contract import ChainSampler
from understudy.synthesis.diagnostics import Targets
from understudy.synthesis.sampled_fit import SampledFit
from understudy.synthesis.setting_checks import check_whole

__all__ = ["FitOptions", "check_labels", "note", "run_fit", "warn_convergence", "warn_of_chains"]

TABLE_BYTES = 256 * 1024**2  # most bytes that the kept label probabilities take
SNAPSHOT_BYTES = 64 * 1024**2  # about as many bytes per chain for what synthesis needs
MOST_SNAPSHOTS = 250  # and no more of them per chain and `draws`
FEWEST_SNAPSHOTS = 25
LEVELS_ABOVE = 4  # frames from a warning here up to the caller of `fit`


@dataclass(frozen=True)
class FitOptions:
    """What the user asked `fit` for, checked when it is made.

    Attributes
    ----------
    chains, warmup, draws, thin, seed, threads, checkpoint, until, progress
        The options of `fit`, under their own names.
    """

    chains: int
    warmup: int
    draws: int
    thin: int
    seed: int | None
    threads: int | None
    checkpoint: str | os.PathLike[str] | None
    until: Targets | None
    progress: Callable[[Progress], None] | None

    def __post_init__(self) -> None:
        """Check all numbers."""
        check_whole("chains", self.chains, 1)
        check_whole("warmup", self.warmup, 0)
        check_whole("draws", self.draws, 4)
        check_whole("thin", self.thin, 1)
        if self.threads is not None:
            check_whole("threads", self.threads, 1)

    @property
    def most_cells(self) -> int:
        """Count the label probabilities for which there is room."""
        most = max(self.draws, self.until.most_draws) if self.until is not None else self.draws
        return max(1, TABLE_BYTES // (4 * self.chains * most))

    def plan(self, snapshot_bytes: int) -> Plan:
        """Make the plan of the chains; its seed is still that of the user, or zero."""
        room = SNAPSHOT_BYTES // max(snapshot_bytes, 1)
        return Plan(
            chains=self.chains,
            warmup=self.warmup,
            draws=self.draws,
            thin=self.thin,
            seed=check_seed(0 if self.seed is None else self.seed),
            threads=self.threads or default_threads(self.chains),
            snapshot_every=math.ceil(self.draws / min(MOST_SNAPSHOTS, max(FEWEST_SNAPSHOTS, room))),
            until=self.until,
        )


def check_labels(data: Microdata) -> None:
    """Refuse synthesized variables that leave nothing to draw."""
    for name in data.synthesized:
        if data.variable(name).n_levels < 2:
            raise LevelError(
                expected=f"at least two levels in {quoted(name)}, which is to be synthesized",
                came="one level: there is nothing to synthesize",
                do="publish the column as it is, or declare further levels in a codebook",
            )


def run_fit(
    sampler: ChainSampler,
    data: Microdata,
    asked: FitOptions,
    settings: Mapping[str, Any],
    snapshot_bytes: int,
) -> tuple[Plan, ChainDraws]:
    """Run the chains that were asked for, saved or not.

    Parameters
    ----------
    sampler : ChainSampler
        The model's sampler.
    data : Microdata
        The confidential records.
    asked : FitOptions
        The options of `fit`.
    settings : mapping
        The settings that touch the draws, as JSON: a saved run must have the same.
    snapshot_bytes : int
        About how many bytes one draw of what synthesis needs takes.

    Returns
    -------
    Plan, ChainDraws
        The plan with the seed that was used, and all kept draws.
    """
    plan = asked.plan(snapshot_bytes)
    place = None
    if asked.checkpoint is not None:
        identity = _identity(data, plan, asked.seed, settings, sampler.describe())
        place = Checkpoint(asked.checkpoint, identity)
    try:
        known = place.identity["seed"] if place is not None else asked.seed
        plan = replace(plan, seed=check_seed(known))
        if place is not None:
            place.remember_seed(plan.seed)
        return plan, run_chains(sampler, plan, place, asked.progress)
    finally:
        if place is not None:
            place.close()


def _identity(
    data: Microdata,
    plan: Plan,
    seed: int | None,
    settings: Mapping[str, Any],
    moves: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        "data": data.fingerprint(),
        "settings": dict(settings),
        "moves": dict(moves),
        "chains": plan.chains,
        "warmup": plan.warmup,
        "draws": plan.draws,
        "thin": plan.thin,
        "snapshot_every": plan.snapshot_every,
        "until": asdict(plan.until) if plan.until is not None else None,
        "seed": None if seed is None else check_seed(seed),
        "versions": {
            "understudy": understudy.__version__,
            "numpy": np.__version__,
            "numba": numba.__version__,
        },
    }


def warn_of_chains(fit: SampledFit) -> None:
    """Warn of one chain, or of what has not converged. Called by `fit` itself."""
    if fit.plan.chains == 1:
        warn_convergence("one chain has no R-hat: convergence cannot be judged")
    elif not fit.converged:
        table = fit.diagnostics()
        failed = int((~table["converged"]).sum())
        warn_convergence(
            f"{failed} of {table.height} quantities have not met R-hat < {fit.targets.rhat:g} "
            f"and effective sample size >= {fit.targets.ess:g}: run longer, or with until="
        )


def note(text: str) -> None:
    """Point something out to whoever called `fit`."""
    warnings.warn(text, UnderstudyWarning, stacklevel=LEVELS_ABOVE)


def warn_convergence(text: str) -> None:
    """Warn whoever called `fit` of chains that cannot be trusted."""
    warnings.warn(text, ConvergenceWarning, stacklevel=LEVELS_ABOVE)
