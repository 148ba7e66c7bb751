"""The DP-areal model as the user sees it: settings, checked once, and what a fit gives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.checks import (
    check_one_of,
    check_positive,
    check_shape_and_rate,
    check_whole,
)
from understudy.microdata.label_table import LabelTable
from understudy.microdata.table import Microdata
from understudy.synthesis.areal.problem import POWERS, Problem, make_problem, powers_of_cells
from understudy.synthesis.areal.sampler import ArealChain
from understudy.synthesis.areal.state import Priors
from understudy.synthesis.checkpoints import Arrays
from understudy.synthesis.contract import Observation
from understudy.synthesis.fit_notes import note, warn_convergence
from understudy.synthesis.registry import MODELS
from understudy.synthesis.risk_weights import check_dial
from understudy.synthesis.run_fit import (
    FitOptions,
    Prepared,
    SampledModel,
)
from understudy.synthesis.sampled_fit import SampledFit
from understudy.synthesis.stored_probabilities import choose_cells

__all__ = ["DPAreal", "DPArealFit"]

VARIANTS = ("text", "script")
CORRELATION_SHAPES = {"text": 2.0, "script": 4.0}
GAMMA_PRIORS = (
    "concentration_prior",
    "log_rate_precision_prior",
    "intercept_precision_prior",
    "mean_precision_prior",
    "slope_mean_precision_prior",
)


@dataclass(frozen=True, repr=False, eq=False)
class DPArealFit(SampledFit):
    """Draws from the posterior of a DP-areal model.

    ``draws["posterior"]`` has concentration, occupied_clusters, log_rate_precision and
    log_likelihood with axes (chain, draw), and label_probability with axes (chain, draw, pattern,
    label).

    Attributes
    ----------
    settings : DPAreal
        What was fitted.
    data : Microdata
        To what.
    plan : Plan
        How long, how many, from which seed. The seed is internal: it redraws everything.
    """

    settings: DPAreal

    def _sampler(self) -> str:
        return f"areal {self.settings.variant}"

    def _tabulated(self, snapshot: Arrays) -> LabelTable:
        return LabelTable(self._rates(snapshot)[0], self.data.patterns.of_combination)

    def _observed(self, seen: Observation) -> LabelTable:
        if seen.table is None:
            return self._tabulated(seen.snapshot)
        return LabelTable(seen.table, self.data.patterns.of_combination)

    def _predictive(self, snapshot: Arrays) -> NDArray[np.float64]:
        return self._rates(snapshot)[0]  # (pattern, label), and no copy of so large a table

    def _rates(self, snapshot: Arrays) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give label probabilities and sums of rates; a large table is drawn again, as it was."""
        if "probabilities" in snapshot:
            return snapshot["probabilities"], snapshot["pattern_rates"]
        last: Any = self._last_rates.get("last")
        if last is None or last[0] is not snapshot:
            self._last_rates.clear()
            last = self._last_rates["last"] = snapshot, self._chain.drawn_again(snapshot)
        rates: tuple[NDArray[np.float64], NDArray[np.float64]] = last[1]
        return rates

    @cached_property
    def _last_rates(self) -> dict[str, Any]:
        return {}

    @cached_property
    def _chain(self) -> ArealChain:
        """The sampler, which draws tables again."""
        problem, settings = make_problem(self.data, self.weights), self.settings
        return ArealChain(problem, self.cells, settings.priors(), settings.n_clusters, 0)

    def _left_out_weights(self, snapshot: Arrays) -> NDArray[np.float64]:
        """Give the Poisson rates: a count that loses one record loses this factor, or its power."""
        probabilities, of_pattern = self._rates(snapshot)
        rates: NDArray[np.float64] = probabilities * of_pattern[:, None]
        if self.weights is not None:
            rates **= powers_of_cells(self.data, self.weights)
        return rates


@dataclass(frozen=True)
class DPAreal(SampledModel[DPArealFit], warmup=1000, draws=None, thin=4):
    """Poisson-lognormal counts with a Dirichlet-process prior on the effects.

    The table of counts, patterns by labels with its empty cells, is the data. Cells fall into
    clusters; a cluster has an intercept and a slope for every kept level, and a cell's log rate is
    normal around what they give for its pattern. Labels are drawn in proportion to the rates of
    their pattern.

    Chains start from 1, 5, 20 and 50 clusters. For a first look, ``warmup=500, draws=250`` takes
    half of the least time that the default takes.

    Parameters
    ----------
    n_clusters : int
        Most clusters of cells.
    variant : {"text", "script"}
        The paper's text: weights by sticks, correlations from LKJ(2). Its script: weights from
        Dirichlet(concentration / n_clusters, ...), correlations from LKJ(4).
    concentration_prior : (float, float)
        Shape and rate of the gamma prior on the concentration.
    log_rate_precision_prior : (float, float)
        The same for the precision of log rates around what their cluster gives.
    intercept_precision_prior : (float, float)
        The same for the precision of the clusters' intercepts.
    mean_precision_prior : (float, float)
        The same for the precision of the overall mean around zero.
    slope_mean_precision_prior : (float, float)
        The same for the precision of the slopes' means around zero.
    correlation_shape : float, optional
        Shape of the LKJ prior on the correlations of the slopes; by default that of the variant.
    scale_prior : (float, float)
        Degrees of freedom and scale of the half-t prior on the slopes' standard deviations.
    risk_weighting : float
        How strongly a record's risk in a first fit lowers the weight of its cell's likelihood; see
        `risk_weights`. Weights are rounded to sixteenths; an empty cell has the mean weight of its
        pattern's records. 0: no weights, and no first fit.
    risk : {"own_record", "surprise"}
        Which risk that is.

    References
    ----------
    Hu, J. and Savitsky, T. D., "Bayesian Data Synthesis and Disclosure Risk Quantification: An
    Application to the Consumer Expenditure Surveys".

    Examples
    --------
    >>> from understudy.synthesis.areal.model import DPAreal
    >>> DPAreal(variant="script").n_clusters
    50
    """

    no_holes: ClassVar[str] = (
        "the DP-areal counts the records of every cell, and one with a missing value lies in none"
    )
    no_weights: ClassVar[str] = ""
    weight_steps: ClassVar[int] = POWERS
    n_clusters: int = 50
    variant: Literal["text", "script"] = "text"
    concentration_prior: tuple[float, float] = (1.0, 1.0)
    log_rate_precision_prior: tuple[float, float] = (1.0, 1.0)
    intercept_precision_prior: tuple[float, float] = (1.0, 1.0)
    mean_precision_prior: tuple[float, float] = (1.0, 1.0)
    slope_mean_precision_prior: tuple[float, float] = (1.0, 1.0)
    correlation_shape: float | None = None
    scale_prior: tuple[float, float] = (3.0, 1.0)
    risk_weighting: float = 0.0
    risk: Literal["own_record", "surprise"] = "own_record"

    def __post_init__(self) -> None:
        """Check all settings."""
        check_whole("n_clusters", self.n_clusters, 1)
        check_one_of("variant", self.variant, VARIANTS)
        for name in GAMMA_PRIORS:
            checked = check_shape_and_rate(name, getattr(self, name), "(1.0, 1.0)")
            object.__setattr__(self, name, checked)
        if self.correlation_shape is not None:
            check_positive("correlation_shape", self.correlation_shape)
            object.__setattr__(self, "correlation_shape", float(self.correlation_shape))
        scale = check_shape_and_rate("scale_prior", self.scale_prior, "(3.0, 1.0)")
        object.__setattr__(self, "scale_prior", scale)
        check_dial(self.risk_weighting, self.risk)
        object.__setattr__(self, "risk_weighting", float(self.risk_weighting))

    def _sweep_seconds(self, data: Microdata) -> float:
        """Say what a sweep takes, about."""
        return MODELS["areal"].seconds(data)

    def _prepared(self, data: Microdata, options: FitOptions) -> Prepared:
        problem = make_problem(data, options.weights)
        self._note(problem)
        cells = choose_cells(data, options.most_cells)
        chain = ArealChain(problem, cells, self.priors(), self.n_clusters, options.warmup)
        return Prepared(chain, cells, 8 * problem.n_cells)

    def priors(self) -> Priors:
        """Give all priors as the sampler takes them."""
        shape = self.correlation_shape
        return Priors(
            by_sticks=self.variant == "text",
            concentration=self.concentration_prior,
            log_rate_precision=self.log_rate_precision_prior,
            intercept_precision=self.intercept_precision_prior,
            mean_precision=self.mean_precision_prior,
            slope_mean_precision=self.slope_mean_precision_prior,
            correlation_shape=CORRELATION_SHAPES[self.variant] if shape is None else shape,
            scale_degrees=self.scale_prior[0],
            scale=self.scale_prior[1],
        )

    def _note(self, problem: Problem) -> None:
        if self.n_clusters == 1:
            note("with one cluster all labels of a pattern have the same distribution of rates")
        elif self.n_clusters > problem.n_cells:
            note(f"there are more clusters ({self.n_clusters}) than cells ({problem.n_cells})")

    def _warn_of_limits(self, fit: DPArealFit) -> None:
        occupied = np.asarray(fit.draws["posterior"]["occupied_clusters"])
        touching = int((occupied >= self.n_clusters).sum())
        if touching and self.n_clusters > 1:
            warn_convergence(
                f"in {touching} of {occupied.size} draws all {self.n_clusters} clusters are "
                "occupied: give more clusters"
            )
