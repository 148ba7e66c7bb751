"""The DPMPM as the user sees it: settings, checked once at the door, and `fit`."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numba
import numpy as np

import understudy
from understudy.errors import (
    ConvergenceWarning,
    LevelError,
    SettingError,
    UnderstudyWarning,
    quoted,
    quoted_list,
)
from understudy.microdata.table import Microdata
from understudy.randomness import check_seed
from understudy.synthesis.chains import Plan, Progress, default_threads, processors, run_chains
from understudy.synthesis.checkpoints import Checkpoint
from understudy.synthesis.diagnostics import Targets
from understudy.synthesis.dpmpm.fit import DPMPMFit
from understudy.synthesis.dpmpm.labels import CLASS_DRAWS, ClassDraw
from understudy.synthesis.dpmpm.problem import LevelPrior, Problem, make_problem
from understudy.synthesis.dpmpm.sampler import BlockedChain, CollapsedChain, crowded, label_cells

__all__ = ["DPMPM"]

TABLE_BYTES = 256 * 1024**2  # most bytes that the kept label probabilities take
SNAPSHOT_BYTES = 64 * 1024**2  # about as many bytes per chain for what synthesis needs
MOST_SNAPSHOTS = 250  # and no more of them per chain
FEWEST_SNAPSHOTS = 25
CROWDED_CLASSES = 100  # at least so many classes for the blocked sampler when size has chosen it
USUAL_CLASSES = 20  # classes that a snapshot of the collapsed sampler has, about


@dataclass(frozen=True)
class DPMPM:
    """Dirichlet-process mixture of products of multinomials.

    Records fall into classes; within a class the variables are independent. The classes' weights
    are a Dirichlet process.

    Parameters
    ----------
    n_classes : int
        Where the blocked sampler cuts the process off. The collapsed sampler has no such limit.
    concentration_prior : (float, float)
        Shape and rate of the gamma prior on the process's concentration.
    level_prior : float or mapping
        Dirichlet prior count of every level; or by variable a number, or one number per level.
    sampler : {"auto", "collapsed", "blocked"}
        The exact process, one record at a time; or the paper's truncated sampler. "auto" takes the
        collapsed one unless most records share their combination with so many others that it
        cannot visit them one by one (from about 150,000 records of the bundled kind on); then the
        blocked one, with at least 100 classes.
    class_draw : {"kept", "full", "prior"}
        Where a record's class comes from when its label is drawn; see `labels`.

    References
    ----------
    Hu, J. and Savitsky, T. D., "Bayesian Data Synthesis and Disclosure Risk Quantification: An
    Application to the Consumer Expenditure Surveys".
    Dunson, D. B. and Xing, C. (2009), "Nonparametric Bayes modeling of multivariate categorical
    data", Journal of the American Statistical Association 104, doi:10.1198/jasa.2009.tm08439.

    Examples
    --------
    >>> from understudy.synthesis.dpmpm import DPMPM
    >>> DPMPM(n_classes=30, sampler="blocked").n_classes
    30
    """

    n_classes: int = 40
    concentration_prior: tuple[float, float] = (0.25, 0.25)
    level_prior: LevelPrior = 1.0
    sampler: Literal["auto", "collapsed", "blocked"] = "auto"
    class_draw: ClassDraw = "kept"

    def __post_init__(self) -> None:
        """Check all settings."""
        _whole("n_classes", self.n_classes, 1)
        _one_of("sampler", self.sampler, ("auto", "collapsed", "blocked"))
        _one_of("class_draw", self.class_draw, CLASS_DRAWS)
        prior = self.concentration_prior
        if not isinstance(prior, tuple | list) or len(prior) != 2:
            raise SettingError(
                expected="concentration_prior as two numbers, shape and rate",
                came="something else",
                do="give for example concentration_prior=(0.25, 0.25)",
            )
        for number in prior:
            _positive("concentration_prior", number)
        object.__setattr__(self, "concentration_prior", (float(prior[0]), float(prior[1])))
        given = self.level_prior
        for counts in given.values() if isinstance(given, Mapping) else [given]:
            for number in np.asarray(counts, dtype=object).ravel():
                _positive("level_prior", number)

    def fit(
        self,
        data: Microdata,
        *,
        chains: int = 4,
        warmup: int = 4000,
        draws: int = 1000,
        thin: int = 15,
        seed: int | None = None,
        threads: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        until: Targets | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> DPMPMFit:
        """Run the sampler.

        Parameters
        ----------
        data : Microdata
            The confidential records.
        chains : int
            Independent chains, from starts of 1, 5, 40 and 100 classes (40, 60, 80 and 100 when
            there are more than 10,000 records). One chain has no R-hat and never counts as
            converged.
        warmup, draws, thin : int
            For each chain: sweeps that are thrown away, draws that are kept, sweeps from one kept
            draw to the next. On the bundled data a chain from one class needs 700 sweeps on
            average, and sometimes 2,000, until it has found all large classes.
        seed : int, optional
            Makes the run repeatable; the operating system's entropy otherwise.
        threads : int, optional
            That work at the same time; as many as there are processors when left out. Chains come
            first; what they leave idle shares the blocked sampler's sweeps. The draws do not
            depend on it.
        checkpoint : path, optional
            A folder of its own. The run is saved there as it goes; the same call goes on from it.
        until : Targets, optional
            Go on, `draws` at a time, until these targets are met or their limit is reached.
        progress : callable, optional
            Called with a `Progress` after every segment.

        Returns
        -------
        DPMPMFit

        Warns
        -----
        ConvergenceWarning
            When quantities have not converged, or the truncation is in the way.
        """
        _whole("chains", chains, 1)
        _whole("warmup", warmup, 0)
        _whole("draws", draws, 4)
        _whole("thin", thin, 1)
        if threads is not None:
            _whole("threads", threads, 1)
        settings = self._for_size(data)
        settings._check_data(data)
        problem = make_problem(data, self.level_prior)
        most_draws = max(draws, until.most_draws) if until is not None else draws
        cells = label_cells(data, problem, max(1, TABLE_BYTES // (4 * chains * most_draws)))
        chain = settings._chain(problem, cells, max(1, (threads or processors()) // chains))
        every = settings._snapshot_every(problem, draws)
        plan = Plan(
            chains=chains,
            warmup=warmup,
            draws=draws,
            thin=thin,
            seed=check_seed(0 if seed is None else seed),  # the saved or a fresh one comes below
            threads=threads or default_threads(chains),
            snapshot_every=every,
            until=until,
        )
        place = None
        if checkpoint is not None:
            place = Checkpoint(checkpoint, settings._identity(data, plan, seed, chain.describe()))
        try:
            known = place.identity["seed"] if place is not None else seed
            plan = replace(plan, seed=check_seed(known))
            if place is not None:
                place.remember_seed(plan.seed)
            found = run_chains(chain, plan, place, progress)
        finally:
            if place is not None:
                place.close()
        fit = DPMPMFit(settings, data, plan, cells, found)
        settings._warn(fit)
        return fit

    def _for_size(self, data: Microdata) -> DPMPM:
        """Settle "auto" by the size of the data."""
        if self.sampler != "auto":
            return self
        if not crowded(data.counts):
            return replace(self, sampler="collapsed")
        return replace(self, sampler="blocked", n_classes=max(self.n_classes, CROWDED_CLASSES))

    def _chain(self, problem: Problem, cells: Any, threads: int) -> CollapsedChain | BlockedChain:
        if self.sampler == "collapsed":
            return CollapsedChain(problem, cells, self.concentration_prior)
        return BlockedChain(problem, cells, self.concentration_prior, self.n_classes, threads)

    def _snapshot_every(self, problem: Problem, draws: int) -> int:
        classes = self.n_classes if self.sampler == "blocked" else USUAL_CLASSES
        room = SNAPSHOT_BYTES // (8 * classes * problem.prior.size)
        return math.ceil(draws / min(MOST_SNAPSHOTS, max(FEWEST_SNAPSHOTS, room)))

    def _identity(
        self, data: Microdata, plan: Plan, seed: int | None, sampler: dict[str, Any]
    ) -> dict[str, Any]:
        settings = asdict(self)
        del settings["class_draw"]  # it does not touch the draws
        return {
            "data": data.fingerprint(),
            "settings": settings,
            "moves": sampler,
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

    def _check_data(self, data: Microdata) -> None:
        for name in data.synthesized:
            if data.variable(name).n_levels < 2:
                raise LevelError(
                    expected=f"at least two levels in {quoted(name)}, which is to be synthesized",
                    came="one level: there is nothing to synthesize",
                    do="publish the column as it is, or declare further levels in a codebook",
                )
        if self.sampler == "collapsed" and self.n_classes == 1:
            _note("the collapsed sampler knows no limit on the classes: n_classes=1 has no effect")
        elif self.sampler == "blocked" and self.n_classes == 1:
            _note("with one class all variables are independent: no association is kept")
        elif self.sampler == "blocked" and self.n_classes > data.n_records:
            _note(f"there are more classes ({self.n_classes}) than records ({data.n_records})")

    def _warn(self, fit: DPMPMFit) -> None:
        table = fit.diagnostics()
        if fit.plan.chains == 1:
            _warn_convergence("one chain has no R-hat: convergence cannot be judged")
        elif not fit.converged:
            failed = int((~table["converged"]).sum())
            _warn_convergence(
                f"{failed} of {table.height} quantities have not met R-hat < {fit.targets.rhat:g} "
                f"and effective sample size >= {fit.targets.ess:g}: run longer, or with until="
            )
        if self.sampler == "blocked" and self.n_classes > 1:
            occupied = np.asarray(fit.draws["posterior"]["occupied_classes"])
            touching = int((occupied >= self.n_classes).sum())
            if touching:
                _warn_convergence(
                    f"in {touching} of {occupied.size} draws all {self.n_classes} classes are "
                    "occupied: give more classes, or use the collapsed sampler"
                )


def _note(text: str) -> None:
    warnings.warn(text, UnderstudyWarning, stacklevel=4)


def _warn_convergence(text: str) -> None:
    warnings.warn(text, ConvergenceWarning, stacklevel=4)


def _whole(name: str, value: object, least: int) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or int(value) < least:  # type: ignore[call-overload]
        raise SettingError(
            expected=f"{name} as a whole number of at least {least}",
            came=f"{int(value):,}" if whole else f"a value of type {type(value).__name__}",  # type: ignore[call-overload]
            do=f"give a larger {name}" if whole else f"give a whole number as {name}",
        )


def _positive(name: str, value: object) -> None:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0.0 < float(value) < math.inf:  # type: ignore[arg-type]
        raise SettingError(
            expected=f"{name} made of numbers above zero",
            came="a number that is zero, negative, infinite or none at all"
            if number
            else f"a value of type {type(value).__name__}",
            do="give numbers above zero",
        )


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SettingError(
            expected=f"{name} as one of {quoted_list(allowed)}",
            came=f"{quoted(value)}",
            do="use a name from the list",
        )
