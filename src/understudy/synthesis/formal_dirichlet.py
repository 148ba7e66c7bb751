"""The formal Dirichlet: labels with a guarantee, to show what one would cost.

In every pattern the labels are multinomial with a Dirichlet prior whose counts are fixed before any
label is looked at: they depend on the sizes of the patterns only, which are published anyway. That
makes the sets differentially private in the label, the kept variables being public. It is the only
synthesizer of this package that is; all others are judged by what is measured.

Why. Neighbouring data differ in the label of one record, g in one and h in the other. The chance of
a set in which its pattern of n records has z_g labels g and z_h labels h changes by the factor
(1 + z_g / a_g) / (1 + z_h / a_h), where a is the prior count plus the other records with the label.
The largest is 1 + n / prior count, reached where nobody else has label g and the whole pattern gets
it. Sets are independent given the data, so m of them have

    epsilon = m · max over patterns of log(1 + n / prior count).

A prior count of n / (exp(epsilon / m) - 1) in a pattern of n records makes all patterns equal.
Labels that the codebook calls impossible in a pattern have no prior count: it is public, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import xlogy

from understudy.checks import check_positive, check_whole
from understudy.errors import SettingError
from understudy.microdata.label_table import (
    LabelTable,
    check_table_size,
    label_counts,
)
from understudy.microdata.structural_zeros import impossible_labels
from understudy.microdata.table import Microdata
from understudy.synthesis.checkpoints import Arrays
from understudy.synthesis.contract import Observation
from understudy.synthesis.run_fit import FitOptions, Prepared, SampledModel
from understudy.synthesis.sampled_fit import SampledFit
from understudy.synthesis.set_drawing import SetDrawing
from understudy.synthesis.stored_probabilities import KeptCells, choose_cells

__all__ = ["FormalDirichlet", "FormalDirichletFit", "epsilon_spent", "prior_counts"]

MOST_PER_SET = 500.0  # epsilon of one set beyond which prior counts are no longer numbers


class State(NamedTuple):
    """Label probabilities of one draw."""

    probabilities: NDArray[np.float64]  # (pattern, label)


def prior_counts(sizes: NDArray[np.integer], epsilon: float, sets: int) -> NDArray[np.float64]:
    """Give the prior count of every label in patterns of these sizes: float64 (pattern,)."""
    counts: NDArray[np.float64] = sizes / np.expm1(epsilon / sets)
    return counts


def epsilon_spent(sizes: NDArray[np.integer], counts: NDArray[np.float64], sets: int) -> float:
    """Give the epsilon of so many sets: sets · max over patterns of log(1 + size / count)."""
    return float(sets * np.log1p(sizes / counts).max())


@dataclass(frozen=True, eq=False)
class FormalChain:
    """Exact and independent draws: a chain without memory."""

    concentrations: NDArray[np.float64]  # (pattern, label): prior counts and records
    counts: NDArray[np.float64]  # (pattern, label)
    cells: KeptCells
    state_type = State

    def describe(self) -> dict[str, Any]:
        """Name the sampler."""
        return {"sampler": "exact"}

    def start(self, generator: Generator, chain: int) -> State:  # noqa: ARG002  (no memory)
        """Draw the first table."""
        return _drawn(generator, self.concentrations)

    def advance(self, generator: Generator, state: State, n_sweeps: int) -> State:
        """Draw a table at every sweep."""
        for _ in range(n_sweeps):
            state = _drawn(generator, self.concentrations)
        return state

    def observe(self, generator: Generator, state: State) -> Observation:  # noqa: ARG002
        """Keep the table."""
        table = state.probabilities
        scalars = {"log_likelihood": float(xlogy(self.counts, np.maximum(table, 1e-300)).sum())}
        kept = table[self.cells.patterns, self.cells.labels].astype(np.float32)
        return Observation(scalars, kept, {"probabilities": table})


def _drawn(generator: Generator, concentrations: NDArray[np.float64]) -> State:
    shares = generator.standard_gamma(concentrations)
    return State(shares / shares.sum(axis=1, keepdims=True))


@dataclass(frozen=True, repr=False, eq=False)
class FormalDirichletFit(SampledFit):
    """Independent draws from the posterior of a formal Dirichlet.

    ``draws["posterior"]`` has log_likelihood with axes (chain, draw), and label_probability with
    axes (chain, draw, pattern, label).

    Attributes
    ----------
    settings : FormalDirichlet
        What was fitted.
    data : Microdata
        To what.
    plan : Plan
        How many draws, from which seed. The guarantee needs the seed to stay secret.
    """

    settings: FormalDirichlet

    def _sampler(self) -> str:
        return "exact"

    def _tabulated(self, snapshot: Arrays) -> LabelTable:
        return LabelTable(snapshot["probabilities"], self.data.patterns.of_combination)

    def epsilon(self, m: int) -> float:
        """Give the epsilon of `m` sets drawn at once.

        Parameters
        ----------
        m : int
            Number of sets.
        """
        sizes = self.data.patterns.sizes
        counts = prior_counts(sizes, self.settings.epsilon, self.settings.sets)
        return epsilon_spent(sizes, counts, m)

    def drawing(self, m: int = 20, seed: int | None = None) -> SetDrawing:
        """Settle how `m` sets are drawn, no more than epsilon was declared for.

        Sets of a second call with another seed add their own epsilon to that of the first.
        """
        if check_whole("m", m, 1) > self.settings.sets:
            raise SettingError(
                expected=f"at most {self.settings.sets:,} sets, which epsilon was declared for",
                came=f"{m:,}",
                do="ask for fewer, or declare sets=... when you make the model: every set costs",
            )
        return super().drawing(m, seed)


@dataclass(frozen=True)
class FormalDirichlet(SampledModel[FormalDirichletFit], warmup=0, draws=500, thin=1):
    """A Dirichlet-multinomial in every pattern, differentially private in the label.

    The guarantee: whatever else somebody knows, a person's own label changes the chance of any
    release of `sets` files by at most the factor exp(epsilon). It holds for labels (the kept
    variables are public), for levels that a codebook declares, for sets drawn once from a seed that
    stays secret; it does not cover numbers that are measured on the data and published beside.

    Parameters
    ----------
    epsilon : float
        Of all sets together.
    sets : int
        How many sets it is spent on; each gets an equal share.

    References
    ----------
    Machanavajjhala, A., Kifer, D., Abowd, J., Gehrke, J. and Vilhuber, L. (2008), "Privacy: theory
    meets practice on the map", ICDE, doi:10.1109/ICDE.2008.4497436.

    Examples
    --------
    >>> from understudy.synthesis.formal_dirichlet import FormalDirichlet
    >>> FormalDirichlet(epsilon=4.0, sets=1)
    FormalDirichlet(epsilon=4.0, sets=1)
    """

    no_weights: ClassVar[str] = "weights that come from the labels would break its guarantee"
    epsilon: float = 1.0
    sets: int = 20

    def __post_init__(self) -> None:
        """Check all settings."""
        check_positive("epsilon", self.epsilon)
        check_whole("sets", self.sets, 1)
        if self.epsilon / self.sets > MOST_PER_SET:
            raise SettingError(
                expected=f"an epsilon of at most {MOST_PER_SET:g} for every set",
                came=f"{self.epsilon / self.sets:g}",
                do="give a smaller epsilon; such a large one promises nothing",
            )

    def _prepared(self, data: Microdata, options: FitOptions) -> Prepared:
        if options.until is not None:
            raise SettingError(
                expected="a fixed number of draws: to stop by what the labels look like would "
                "break the guarantee",
                came="until=",
                do="leave it out; the draws are exact and independent",
            )
        check_table_size(data)
        counts = label_counts(data)  # (pattern, label)
        prior = prior_counts(data.patterns.sizes, self.epsilon, self.sets)  # (pattern,)
        cells = choose_cells(data, options.most_cells)
        concentrations = counts + prior[:, np.newaxis]
        if data.impossible:
            concentrations[impossible_labels(data)] = 0.0
        chain = FormalChain(concentrations, counts, cells)
        return Prepared(chain, cells, counts.nbytes)
