"""The DPMPM as the user sees it: settings, checked once, and its sampler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from understudy.checks import (
    as_numbers,
    check_one_of,
    check_positive,
    check_shape_and_rate,
    check_whole,
    kind_of,
)
from understudy.errors import SettingError
from understudy.memory import check_fits
from understudy.microdata.label_table import check_table_size
from understudy.microdata.table import Microdata
from understudy.synthesis.chains import processors
from understudy.synthesis.dpmpm.costs import (
    blocked_pays,
    count_products,
    enough_classes,
    sweep_seconds,
)
from understudy.synthesis.dpmpm.fit import DPMPMFit
from understudy.synthesis.dpmpm.gpu_classes import GpuClasses
from understudy.synthesis.dpmpm.level_prior_strengths import LIMIT
from understudy.synthesis.dpmpm.problem import (
    LevelPrior,
    Problem,
    make_problem,
    model_variables,
    sampled_variables,
)
from understudy.synthesis.dpmpm.sampler import STARTS, BlockedChain, CollapsedChain, label_cells
from understudy.synthesis.dpmpm.synthetic_labels import CLASS_DRAWS, ClassDraw
from understudy.synthesis.fit_notes import note, warn_convergence
from understudy.synthesis.risk_weights import check_dial
from understudy.synthesis.run_fit import (
    FitOptions,
    Prepared,
    SampledModel,
)

__all__ = ["DPMPM"]

OF_START = 12 * max(STARTS)  # bytes of a combination where a collapsed chain starts
USUAL_CLASSES = 20  # classes that a snapshot of the collapsed sampler has, about


@dataclass(frozen=True)
class DPMPM(SampledModel[DPMPMFit], warmup=4000, draws=None, thin=60):
    """Dirichlet-process mixture of products of multinomials.

    Records fall into classes; within a class the variables are independent. The classes' weights
    are a Dirichlet process. Chains start from 1, 5, 40 and 100 classes. Where the number of draws
    is left to it, a fit goes on until what is judged has converged, or until a limit that the size
    of the data settles at the start, about ten minutes of two processors. Threads that chains leave
    idle share the blocked sampler's sweeps. Impossible combinations that the codebook declares are
    conditioned on; only the blocked sampler can.

    Parameters
    ----------
    n_classes : int
        Where the blocked sampler cuts the process off; with sampled level priors, until all
        classes are occupied: then a chain gets half as many more. The collapsed sampler has no
        such limit.
    concentration_prior : (float, float)
        Shape and rate of the gamma prior on the process's concentration.
    level_prior : float, "sampled" or mapping
        Dirichlet prior count of every level; or by variable a number, "sampled", or one number per
        level (1 for variables that are not named). "sampled" makes one number for all levels of a
        variable part of what is fitted: for all variables it takes in the synthesized ones, and
        kept ones of 10 levels or more, the others having 1. The paper has 1 everywhere.
    strength_prior : (float, float)
        Mean and standard deviation of the logarithm of sampled prior counts, a normal variable.
    sampler : {"auto", "collapsed", "blocked"}
        The exact process, one record at a time; or the paper's truncated sampler. "auto" goes by
        effective draws a second. With given level priors it takes the blocked one from some hundred
        records on; with sampled ones the collapsed one up to some thousand records, then the
        blocked one. Its classes are more the more records there are, and the weaker given priors.
    class_draw : {"kept", "full", "prior"}
        Where a record's class comes from when its label is drawn; see `synthetic_labels`.
    device : {"cpu", "gpu"}
        Where the blocked sampler draws classes. A CUDA GPU (extra ``understudy[gpu]``) pays from
        some hundred thousand distinct combinations on. It draws the same, but for rounding.
    risk_weighting : float
        How strongly a record's risk in a first fit lowers the weight of its likelihood; see
        `risk_weights`. 0: no weights, and no first fit.
    risk : {"own_record", "surprise"}
        Which risk that is.

    References
    ----------
    Hu, J. and Savitsky, T. D., "Bayesian Data Synthesis and Disclosure Risk Quantification: An
    Application to the Consumer Expenditure Surveys".
    Dunson, D. B. and Xing, C. (2009), "Nonparametric Bayes modeling of multivariate categorical
    data", Journal of the American Statistical Association 104, doi:10.1198/jasa.2009.tm08439.

    Examples
    --------
    >>> from understudy.synthesis.dpmpm.model import DPMPM
    >>> DPMPM(n_classes=30, sampler="blocked").n_classes
    30
    """

    whole_tables: ClassVar[bool] = False
    no_holes: ClassVar[str] = ""
    no_weights: ClassVar[str] = ""
    n_classes: int = 40
    concentration_prior: tuple[float, float] = (0.25, 0.25)
    level_prior: LevelPrior = "sampled"
    strength_prior: tuple[float, float] = (0.0, 1.5)
    sampler: Literal["auto", "collapsed", "blocked"] = "auto"
    class_draw: ClassDraw = "kept"
    risk_weighting: float = 0.0
    risk: Literal["own_record", "surprise"] = "own_record"
    device: Literal["cpu", "gpu"] = "cpu"

    def __post_init__(self) -> None:
        """Check all settings."""
        check_whole("n_classes", self.n_classes, 1)
        check_one_of("sampler", self.sampler, ("auto", "collapsed", "blocked"))
        check_one_of("class_draw", self.class_draw, CLASS_DRAWS)
        check_one_of("device", self.device, ("cpu", "gpu"))
        prior = check_shape_and_rate(
            "concentration_prior", self.concentration_prior, "(0.25, 0.25)"
        )
        object.__setattr__(self, "concentration_prior", prior)
        for counts in self._level_priors():
            if not (isinstance(counts, str) and counts == "sampled"):
                for number in np.asarray(counts, dtype=object).ravel():
                    check_positive("level_prior", number)
        object.__setattr__(self, "strength_prior", _checked_normal(self.strength_prior))
        check_dial(self.risk_weighting, self.risk)
        object.__setattr__(self, "risk_weighting", float(self.risk_weighting))
        if self.risk_weighting:
            self._check_class_draw()
        if self.device == "gpu":
            self._check_device(bool(self.risk_weighting))

    def _prepared(self, data: Microdata, options: FitOptions) -> Prepared:
        self._check_data(data)
        if options.weights is not None:
            self._check_class_draw()
        if self.device == "gpu":
            self._check_device(options.weights is not None)
        problem = make_problem(data, self.level_prior, self.strength_prior, options.weights)
        cells = label_cells(data, problem, options.most_cells)
        threads = -(-(options.threads or processors()) // options.chains)
        sampled = sampled_variables(data, self.level_prior)
        chain = self._chain(problem, cells, threads, sampled)
        return Prepared(chain, cells, self._bytes(problem))

    def settled(self, data: Microdata) -> Self:
        """Give the settings that a fit of these data has: "auto" settled by their size."""
        if self.sampler != "auto":
            return self
        n_classes = max(self.n_classes, enough_classes(data.n_records, self._weakest_prior()))
        sizes = (data.counts, _count_levels(data), n_classes)
        on_gpu = self.device == "gpu"
        if on_gpu or data.impossible or blocked_pays(*sizes, sampled=self._grows()):
            return replace(self, sampler="blocked", n_classes=n_classes)
        return replace(self, sampler="collapsed")

    def check_memory(self, data: Microdata) -> None:
        """Refuse data for which the model would need more memory than is allowed."""
        super().check_memory(data)
        if self.sampler == "collapsed":
            check_fits(
                f"classes of {data.n_combinations:,} combinations in the collapsed sampler",
                OF_START * data.n_combinations,
                'take the blocked sampler (sampler="blocked")',
            )

    def _sweep_seconds(self, data: Microdata) -> float:
        """Say what a sweep takes, about: by the sampler and its classes."""
        collapsed = self.sampler == "collapsed"
        classes = enough_classes(data.n_records) if collapsed else self.n_classes
        sampler: Literal["collapsed", "blocked"] = "collapsed" if collapsed else "blocked"
        columns = [data.names.index(name) for name in model_variables(data)]
        products = count_products(data.combinations[:, columns])
        sizes = (data.counts, _count_levels(data), classes)
        return sweep_seconds(sampler, *sizes, self.device, products)

    def _chain(
        self, problem: Problem, cells: Any, threads: int, sampled: tuple[str, ...]
    ) -> CollapsedChain | BlockedChain:
        shared = (problem, cells, self.concentration_prior)
        if self.sampler == "collapsed":
            return CollapsedChain(*shared, sampled=sampled)
        if self.device == "gpu" and problem.kinds.size:
            raise SettingError(
                expected='rules for impossible combinations about whole variables for device="gpu"',
                came="rules about variables with missing values that are modelled",
                do='use device="cpu"',
            )
        on_gpu = GpuClasses(problem) if self.device == "gpu" else None
        return BlockedChain(*shared, self.n_classes, threads, on_gpu, sampled=sampled)

    def _bytes(self, problem: Problem) -> int:
        """Bytes of one kept draw of weights and level probabilities, about."""
        classes = self.n_classes if self.sampler == "blocked" else USUAL_CLASSES
        return 8 * classes * problem.prior.size

    def _identity(self) -> dict[str, Any]:
        settings = super()._identity()
        if not self._grows():
            del settings["strength_prior"]  # nothing is sampled from it
        if self.device == "cpu":
            del settings["device"]
        return settings

    def _grows(self) -> bool:
        """Tell whether level priors are sampled; a blocked warm-up then adds classes."""
        return any(isinstance(counts, str) for counts in self._level_priors())

    def _weakest_prior(self) -> float:
        """Give the smallest prior count that is given, 1 where none is smaller."""
        given = (counts for counts in self._level_priors() if not isinstance(counts, str))
        return min([1.0, *(float(np.min(counts)) for counts in given)])

    def _level_priors(self) -> Iterable[Any]:
        given = self.level_prior
        return given.values() if isinstance(given, Mapping) else [given]

    def _check_class_draw(self) -> None:
        """Refuse a class draw that undoes weights."""
        if self.class_draw == "full":
            raise SettingError(
                expected='class_draw="kept" or "prior" for a weighted fit',
                came='"full", which lets every record\'s own label take part in its row at full '
                "weight, after the fit",
                do="leave the weights out, or draw classes given the kept variables",
            )

    def _check_device(self, weighted: bool) -> None:
        """Refuse what a GPU does not draw."""
        if self.sampler == "collapsed" or weighted:
            raise SettingError(
                expected='the blocked sampler without weights for device="gpu"',
                came="weights" if weighted else "the collapsed one",
                do='use device="cpu"',
            )

    def _check_data(self, data: Microdata) -> None:
        if self.sampler == "collapsed" and data.impossible:
            raise SettingError(
                expected="the blocked sampler for data with impossible combinations",
                came="the collapsed one, which integrates out the class weights that are needed to "
                "draw how many records would have been impossible",
                do='use sampler="blocked" or "auto"',
            )
        if data.impossible:
            check_table_size(data, "combination" if self.class_draw == "full" else "pattern")
        if self.sampler == "collapsed" and self.n_classes == 1:
            note("the collapsed sampler knows no limit on the classes: n_classes=1 has no effect")
        elif self.sampler == "blocked" and self.n_classes == 1:
            note("with one class all variables are independent: no association is kept")
        elif self.sampler == "blocked" and self.n_classes > data.n_records:
            note(f"there are more classes ({self.n_classes}) than records ({data.n_records})")

    def _warn_of_limits(self, fit: DPMPMFit) -> None:
        if self.sampler == "blocked" and self.n_classes > 1:
            occupied = np.asarray(fit.draws["posterior"]["occupied_classes"])  # (chain, draw)
            classes = np.array(
                [of_chain[0][1]["weights"].size for of_chain in fit.chain_draws.snapshots]
            )
            touching = int((occupied >= classes[:, None]).sum())
            if touching:
                warn_convergence(
                    f"in {touching} of {occupied.size} draws all {classes.max()} "
                    "classes are occupied: give more classes, or use the collapsed sampler"
                )


def _count_levels(data: Microdata) -> int:
    """Count the levels of all variables."""
    return sum(variable.n_levels for variable in data.variables)


def _checked_normal(given: Any) -> tuple[float, float]:
    """Check the mean and standard deviation of log strengths."""
    numbers = as_numbers(given)
    if numbers is None or numbers.shape != (2,) or not abs(numbers[0]) < LIMIT:
        raise SettingError(
            expected="strength_prior as two numbers, mean and standard deviation of a logarithm",
            came=kind_of(given),
            do="give for example strength_prior=(0.0, 1.5)",
        )
    check_positive("strength_prior", float(numbers[1]))
    return float(numbers[0]), float(numbers[1])
