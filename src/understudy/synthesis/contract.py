"""What every synthesizer promises, and what every model gives to the runner of chains.

Two promises. To the user: a `Synthesizer` holds settings, its `fit` gives a `Fit`, and a fit draws
synthetic sets. To the runner of chains: a model's `ChainSampler` can start a chain, advance it, and
observe it. Chains, checkpoints and diagnostics are written once against the second promise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.microdata.table import Microdata, SyntheticSets
from understudy.synthesis.workers import Workers

__all__ = [
    "ChainSampler",
    "CutSampler",
    "DrawnSets",
    "Fit",
    "Observation",
    "Synthesizer",
    "WarmingSampler",
]


class Synthesizer(Protocol):
    """Settings of a model of the labels."""

    def fit(self, data: Microdata) -> Fit:
        """Learn from the data."""
        ...


class Fit(Protocol):
    """What was learned, ready to draw synthetic sets."""

    def synthesize(self, m: int = 20, seed: int | None = None) -> SyntheticSets:
        """Draw `m` synthetic sets, row by row beside the records."""
        ...

    def diagnostics(self) -> pl.DataFrame:
        """One row per quantity that does not depend on the numbering of classes."""
        ...

    @property
    def converged(self) -> bool:
        """Whether all of them have met their targets."""
        ...


class Observation(NamedTuple):
    """What is kept of a chain's state at one draw."""

    scalars: dict[str, float]
    label_probability: NDArray[np.float32]  # (cell,)
    snapshot: dict[str, NDArray[Any]]  # what synthesis needs; arrays of any shape
    table: NDArray[np.float64] | None = None  # what the snapshot stands for, where it is known yet


class ChainSampler(Protocol):
    """A model's sampler, as the runner of chains sees it.

    A state is a NamedTuple of arrays and numbers. All methods but `describe` use no randomness
    other than the generator they are given, so a chain is a function of its generator alone.
    """

    def describe(self) -> dict[str, Any]:
        """Settings that decide what the sampler draws, as JSON: a saved run must have the same."""
        ...

    @property
    def state_type(self) -> Any:
        """The NamedTuple class of its states."""
        ...

    def start(self, generator: np.random.Generator, chain: int) -> Any:
        """Make the first state of a chain; chains start far apart."""
        ...

    def advance(self, generator: np.random.Generator, state: Any, n_sweeps: int) -> Any:
        """Make some sweeps."""
        ...

    def observe(self, generator: np.random.Generator, state: Any) -> Observation:
        """Work out what is kept of a state."""
        ...


@runtime_checkable
class CutSampler(Protocol):
    """A sampler whose sweeps can be cut into pieces for several workers."""

    def cut_over(self, workers: Workers, chains: int) -> ChainSampler | None:
        """Give a sampler that draws the same on workers; None where chains are better spread."""
        ...


@runtime_checkable
class WarmingSampler(Protocol):
    """A sampler whose warm-up has moves of its own, which need not leave the posterior as it is."""

    def warm_up(self, generator: np.random.Generator, state: Any, n_sweeps: int) -> Any:
        """Make some sweeps that nothing is kept of."""
        ...


@dataclass(frozen=True, repr=False, eq=False)
class DrawnSets(SyntheticSets):
    """Synthetic sets drawn from a fit, and how far apart the posterior draws behind them lie.

    Attributes
    ----------
    chain, draw : tuple of int
        Which kept draw of which chain each set comes from.
    spacing : float
        Kept draws between neighbouring sets of the same chain.
    autocorrelation_time : float
        Kept draws that make one independent draw, of the slowest label-free quantity.
    """

    chain: tuple[int, ...] = ()
    draw: tuple[int, ...] = ()
    spacing: float = float("inf")
    autocorrelation_time: float = 0.0

    def _chosen(self, which: slice) -> Self:
        return replace(super()._chosen(which), chain=self.chain[which], draw=self.draw[which])

    def __repr__(self) -> str:
        """Show shapes, and whether the draws can count as independent."""
        return (
            f"{super().__repr__()}, {self.spacing:.3g} draws apart "
            f"(autocorrelation time {self.autocorrelation_time:.3g})"
        )
