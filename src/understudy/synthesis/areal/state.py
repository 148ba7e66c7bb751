"""What a chain of the DP-areal sampler carries from sweep to sweep, and where it starts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.synthesis.areal.covariance import slope_precision
from understudy.synthesis.areal.problem import Problem

__all__ = ["PRECISIONS", "Priors", "State", "effect_precision", "init", "n_free"]

PRECISIONS = (1e-6, 1e8)  # a log rate precision outside counts as impossible
FIRST_STEP = 0.1  # of Hamiltonian moves, before tuning


class Priors(NamedTuple):
    """All priors of the model; pairs are shape and rate of gamma distributions."""

    by_sticks: bool  # the weights' prior: sticks, or a symmetric Dirichlet distribution
    concentration: tuple[float, float]
    log_rate_precision: tuple[float, float]
    intercept_precision: tuple[float, float]
    mean_precision: tuple[float, float]
    slope_mean_precision: tuple[float, float]
    correlation_shape: float
    scale_degrees: float
    scale: float


class State(NamedTuple):
    """Everything that is unknown but the log rates, which are drawn where they are needed."""

    members: NDArray[np.int64]  # (pair, cluster) cells of the pair in the cluster
    log_weights: NDArray[np.float64]  # (cluster,)
    effects: NDArray[np.float64]  # (cluster, effect) intercept, with the mean, and slopes
    centre: NDArray[np.float64]  # (effect,) the mean, and the slopes' means
    log_scales: NDArray[np.float64]  # (slope,) of the slopes' covariance
    bound: NDArray[np.float64]  # (pair of slopes,) free numbers behind the correlations
    log_rate_precision: float
    intercept_precision: float
    mean_precision: float
    slope_mean_precision: float
    concentration: float
    stiffness: NDArray[np.float64]  # (free number,) tuning of Hamiltonian moves
    log_step: float
    n_tuned: int


def n_free(n_clusters: int, n_effects: int) -> int:
    """Count the free numbers of a Hamiltonian move."""
    return n_clusters * n_effects + 2 * n_effects + 1 + n_clusters


def effect_precision(state: State) -> NDArray[np.float64]:
    """Precision of the effects around their centre: (effect, effect)."""
    size = state.centre.size
    prior = np.zeros((size, size))
    prior[0, 0] = state.intercept_precision
    if size > 1:
        prior[1:, 1:] = slope_precision(state.log_scales, state.bound)
    return prior


def init(
    generator: np.random.Generator, problem: Problem, n_clusters: int, n_started: int
) -> State:
    """Put every cell into one of the first `n_started` clusters at random."""
    even = np.full(n_started, 1.0 / n_started)  # (cluster,)
    members = np.zeros((problem.pair_size.size, n_clusters), dtype=np.int64)  # (pair, cluster)
    members[:, :n_started] = generator.multinomial(problem.pair_size, even)
    size = problem.design.shape[1]
    centre = np.zeros(size)  # (effect,)
    centre[0] = np.log(max(float(problem.n_records), 0.5) / problem.n_cells)
    log_weights = np.full(n_clusters, -20.0)  # (cluster,)
    log_weights[:n_started] = 0.0
    return State(
        members=members,
        log_weights=log_weights - np.log(np.exp(log_weights).sum()),
        effects=centre + 0.3 * generator.standard_normal((n_clusters, size)),
        centre=centre,
        log_scales=np.full(size - 1, -1.0),
        bound=np.zeros(max(0, (size - 1) * (size - 2) // 2)),
        log_rate_precision=1.0,
        intercept_precision=1.0,
        mean_precision=1.0,
        slope_mean_precision=1.0,
        concentration=1.0,
        stiffness=np.ones(n_free(n_clusters, size)),
        log_step=float(np.log(FIRST_STEP)),
        n_tuned=0,
    )
