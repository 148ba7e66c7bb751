from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import xlogy

import understudy as us
from understudy.checks import check_positive
from understudy.microdata.label_table import LabelTable, empirical_labels
from understudy.synthesis.checkpoints import Arrays
from understudy.synthesis.contract import Observation
from understudy.synthesis.run_fit import FitOptions, Prepared, SampledModel
from understudy.synthesis.sampled_fit import SampledFit
from understudy.synthesis.stored_probabilities import KeptCells, choose_cells


class State(NamedTuple):  # arrays and numbers: all that the next sweep needs
    probabilities: NDArray[np.float64]  # (pattern, label)


@dataclass(frozen=True, eq=False)
class SmoothedChain:  # keeps the promise of contract.ChainSampler
    counts: NDArray[np.float64]  # (pattern, label)
    cells: KeptCells
    prior_count: float
    state_type = State

    def describe(self) -> dict[str, Any]:  # what decides the draws: saved runs must agree
        return {"sampler": "smoothed"}

    def start(self, generator: Generator, chain: int) -> State:  # chains start far apart
        spread = (0.1, 1.0, 10.0, 100.0)[chain % 4]  # from one label a pattern to all alike
        return _drawn(generator, np.full(self.counts.shape, spread))

    def advance(self, generator: Generator, state: State, n_sweeps: int) -> State:
        for _ in range(n_sweeps):
            state = _drawn(generator, self.counts + self.prior_count)
        return state

    def observe(self, generator: Generator, state: State) -> Observation:
        table = state.probabilities
        scalars = {"log_likelihood": float(xlogy(self.counts, table).sum())}
        kept = table[self.cells.patterns, self.cells.labels].astype(np.float32)
        return Observation(scalars, kept, {"probabilities": table})


def _drawn(generator: Generator, counts: NDArray[np.float64]) -> State:
    shares = generator.standard_gamma(counts)
    return State(shares / shares.sum(axis=1, keepdims=True))


@dataclass(frozen=True, repr=False, eq=False)
class SmoothedFit(SampledFit):
    settings: Smoothed

    def _sampler(self) -> str:
        return "smoothed"

    def _tabulated(self, snapshot: Arrays) -> LabelTable:  # from what `observe` kept
        return LabelTable(snapshot["probabilities"], self.data.patterns.of_combination)


@dataclass(frozen=True)
class Smoothed(SampledModel[SmoothedFit], warmup=100, draws=1000, thin=1):
    prior_count: float = 1.0

    def __post_init__(self) -> None:
        check_positive("prior_count", self.prior_count)

    def _prepared(self, data: us.Microdata, options: FitOptions) -> Prepared:
        counts = empirical_labels(data).probabilities * data.patterns.sizes[:, np.newaxis]
        cells = choose_cells(data, options.most_cells)
        chain = SmoothedChain(counts, cells, self.prior_count)
        return Prepared(chain, cells, counts.nbytes)  # bytes of one snapshot
