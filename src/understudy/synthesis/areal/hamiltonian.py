"""One Hamiltonian move of almost everything, log rates and clusters integrated out.

Clusters overlap so much that a cell says little about its own, and a sampler that moves effects
given clusters and clusters given effects creeps. With both log rates and clusters integrated out
the posterior is a smooth density of a few hundred free numbers.

The free numbers are one vector, every entry unbounded. K clusters have E effects each, an intercept
and E - 1 slopes (`Layout` has the positions)::

    0        E              KE         KE+E           KE+2E-1          KE+2E         KE+2E+1
    | u_1    | u_2 ... u_K  | centre   | log scales   | log precision  | log rate    | weights   |
    |        |              |          | of slopes    | of intercepts  | precision   |           |
      E        (K - 1) E      E          E - 1          1                1             K

- u (cluster, effect): effects are centre + F u, with F the square root of their covariance, so
  that prior and scales do not have to be crossed together;
- weights by sticks: e (cluster - 1,) with log(1 - V) = -exp(e) / concentration, so that exp(e) is
  exponential whatever the concentration, and the log concentration;
- weights from a Dirichlet distribution: logs of gamma variables (cluster,), whose sum is drawn
  afresh; the concentration stays.

Correlations and the precisions of the centre stay as they are, and in most trajectories the log
rate precision too, because integrals that are known then serve both ends. On its way a trajectory
is pushed by slopes from a coarse table (`trajectory`); the exact density is worked out at its ends
only, where it is accepted or rejected. Steps are scaled
by the mean square of each slope during warm-up (of the steepest cluster's: any cluster may become
heavy later on), the step size by the acceptance, and both are fixed afterwards.

Kernels have these arguments, arrays of float64: `effects` (cluster, effect), `centre` (effect,),
`log_scales` (slope,), `log_weights` (cluster,), and the floats `log_precision` (of the intercepts)
and `log_concentration`.

References
----------
Neal, R. M. (2011), "MCMC using Hamiltonian dynamics", Handbook of Markov Chain Monte Carlo,
doi:10.1201/b10905.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.areal.covariance import correlation_factor
from understudy.synthesis.areal.effects import cluster_means, effect_slopes
from understudy.synthesis.areal.leapfrog import (
    FARTHEST,
    fill_effects_and_weights,
    follow,
    gather,
)
from understudy.synthesis.areal.poisson_lognormal import Pieces, marginal, turn_forces
from understudy.synthesis.areal.problem import Problem
from understudy.synthesis.areal.state import PRECISIONS, Priors, State, n_free

__all__ = [
    "Frame",
    "Layout",
    "follow_trajectory",
    "frame_of",
    "free_numbers",
    "log_density",
    "most_steps",
    "move",
    "state_of",
]

FEWEST_STEPS, MOST_STEPS = 4, 75  # most steps of a trajectory, for small and for large tables
WITH_PRECISION = 0.25  # share of trajectories that move the log rate precision too; they cost more
TREMBLE = 0.2  # the step size is drawn evenly around its value
ACCEPTED = 0.75  # what the step size is tuned to
FORGET = 100  # trajectories over which slopes are averaged in warm-up
SOFTEST = 0.2  # least mean square of a slope


class Layout(NamedTuple):
    """Where the parts of the free vector begin."""

    centre: int  # standardized effects of all clusters lie before it
    scales: int
    intercept: int  # log precision of the intercepts
    rate: int  # log rate precision
    weights: int
    end: int


class Frame(NamedTuple):
    """What stays as it is during a move."""

    layout: Layout
    factor: NDArray[np.float64]  # (slope, slope) of the correlations
    centre_precision: NDArray[np.float64]  # (effect,)
    n_clusters: int
    by_sticks: bool
    share: float  # concentration / n_clusters: shape of the gamma variables, where they are used
    concentration: tuple[float, float]
    log_rate_precision: tuple[float, float]
    intercept_precision: tuple[float, float]
    scale_degrees: float
    scale: float


def most_steps(problem: Problem) -> int:
    """Most steps of a trajectory: the more cells, the shorter is a step beside the whole."""
    return int(np.clip(problem.n_cells**0.75 / 8.3, FEWEST_STEPS, MOST_STEPS))


def _layout(n_clusters: int, n_effects: int) -> Layout:
    centre = n_clusters * n_effects
    scales = centre + n_effects
    intercept = scales + n_effects - 1
    return Layout(
        centre, scales, intercept, intercept + 1, intercept + 2, n_free(n_clusters, n_effects)
    )


def frame_of(state: State, priors: Priors) -> Frame:
    """Take out of a state what stays."""
    own = np.full(state.centre.size, state.slope_mean_precision)  # (effect,)
    own[0] = state.mean_precision
    n_clusters = state.log_weights.size
    return Frame(
        layout=_layout(n_clusters, state.centre.size),
        factor=correlation_factor(state.bound, state.log_scales.size),
        centre_precision=own,
        n_clusters=n_clusters,
        by_sticks=priors.by_sticks,
        share=state.concentration / n_clusters,
        concentration=priors.concentration,
        log_rate_precision=priors.log_rate_precision,
        intercept_precision=priors.intercept_precision,
        scale_degrees=priors.scale_degrees,
        scale=priors.scale,
    )


@compiled
def _free_effects(effects, centre, log_scales, log_precision, factor, free):  # type: ignore[no-untyped-def]
    """Fill the standardized effects (cluster, effect), given effects of the same shape.

    Solves effects = centre + F u row by row: the intercept has a deviation of its own, the slopes
    have diag(exp(log_scales)) factor, with factor (slope, slope) lower triangular.
    """
    n_effects = centre.size
    for cluster in range(effects.shape[0]):
        own, u = effects[cluster], free[cluster]
        u[0] = (own[0] - centre[0]) * np.exp(0.5 * log_precision)
        for row in range(n_effects - 1):
            rest = (own[row + 1] - centre[row + 1]) * np.exp(-log_scales[row])
            for inner in range(row):
                rest -= factor[row, inner] * u[1 + inner]
            u[1 + row] = rest / factor[row, row]


@compiled
def _free_sticks(log_weights, log_concentration, free):  # type: ignore[no-untyped-def]
    """Fill e (cluster - 1,) from log weights, from the back, where nothing is lost."""
    log_rest = log_weights[-1]
    for cluster in range(log_weights.size - 2, -1, -1):
        here = log_weights[cluster]
        odds = np.exp(here - log_rest)  # V / (1 - V)
        free[cluster] = np.log(max(np.log1p(odds), 1e-300)) + log_concentration
        larger = max(log_rest, here)
        log_rest = larger + np.log(np.exp(log_rest - larger) + np.exp(here - larger))


def free_numbers(generator: np.random.Generator, frame: Frame, state: State) -> NDArray[np.float64]:
    """Write a state as free numbers; a sum of gamma variables is drawn, where there is one."""
    at = frame.layout
    free = np.empty(at.end)
    log_precision = float(np.log(state.intercept_precision))
    standardized = free[: at.centre].reshape(state.effects.shape)  # (cluster, effect), a view
    _free_effects(
        state.effects, state.centre, state.log_scales, log_precision, frame.factor, standardized
    )
    free[at.centre : at.scales] = state.centre
    free[at.scales : at.intercept] = state.log_scales
    free[at.intercept] = log_precision
    free[at.rate] = np.log(state.log_rate_precision)
    if frame.by_sticks:
        free[-1] = np.log(state.concentration)
        _free_sticks(state.log_weights, free[-1], free[at.weights : -1])
    else:
        shape = frame.share * frame.n_clusters
        log_sum = np.log(generator.standard_gamma(shape + 1.0))
        log_sum += np.log(1.0 - generator.random()) / shape
        free[at.weights :] = state.log_weights + log_sum
    return free


def log_density(
    problem: Problem, pieces: Pieces, frame: Frame, free: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Log density of the free numbers given the table, and its slopes (free number,)."""
    slopes = np.zeros_like(free)
    effects = np.empty((frame.n_clusters, frame.centre_precision.size))  # (cluster, effect)
    log_weights = np.empty(frame.n_clusters)  # (cluster,)
    if not free[frame.layout.scales :].max() < FARTHEST:
        return -np.inf, slopes
    fill_effects_and_weights(frame, free, effects, log_weights)
    if not np.abs(effects).max() < FARTHEST:
        return -np.inf, slopes
    precision = float(np.exp(free[frame.layout.rate]))
    if not PRECISIONS[0] < precision < PRECISIONS[1]:
        return -np.inf, slopes
    means = cluster_means(problem.design, effects)  # (cluster, pattern)
    on_means, shares = np.empty(means.shape), np.empty(frame.n_clusters)
    likelihood, on_log_precision = marginal(
        problem, pieces, means, precision, log_weights, on_means, shares
    )
    on_effects = effect_slopes(problem.design, on_means)  # (cluster, effect)
    prior = gather(frame, free, on_effects, shares, on_log_precision, slopes)
    return float(likelihood + prior), slopes


def state_of(frame: Frame, free: NDArray[np.float64], state: State) -> State:
    """Put free numbers back into a state; its clusters are left behind and must be drawn next."""
    at = frame.layout
    effects, log_weights = np.empty_like(state.effects), np.empty_like(state.log_weights)
    fill_effects_and_weights(frame, free, effects, log_weights)
    return state._replace(
        effects=effects,
        log_weights=log_weights,
        centre=free[at.centre : at.scales].copy(),
        log_scales=free[at.scales : at.intercept].copy(),
        intercept_precision=float(np.exp(free[at.intercept])),
        log_rate_precision=float(np.exp(free[at.rate])),
        concentration=float(np.exp(free[-1])) if frame.by_sticks else state.concentration,
    )


def move(
    generator: np.random.Generator,
    problem: Problem,
    state: State,
    priors: Priors,
    pieces: Pieces,
    tuning: bool = False,
) -> State:
    """Follow one trajectory; accept or reject its end. In warm-up, tune the steps too."""
    frame = frame_of(state, priors)
    free = free_numbers(generator, frame, state)
    height, slopes = log_density(problem, pieces, frame, free)
    if tuning and np.isfinite(height):
        state = _soften(state, slopes, frame)
    step = np.exp(state.log_step) / np.sqrt(state.stiffness + SOFTEST)  # (free number,)
    step *= 1.0 + TREMBLE * (2.0 * generator.random() - 1.0)
    if generator.random() >= WITH_PRECISION:
        step[frame.layout.rate] = 0.0
    n_steps = 1 + int(most_steps(problem) * generator.random())
    momentum = generator.standard_normal(free.size)
    energy = height - 0.5 * float((momentum**2).sum())
    arrived = follow_trajectory(problem, pieces, frame, step, n_steps, free, momentum)
    gain = -np.inf
    if arrived:
        height, _ = log_density(problem, pieces, frame, free)
        with np.errstate(over="ignore"):  # one that ran away has no chance
            gain = height - 0.5 * float((momentum**2).sum()) - energy
    probability = float(np.exp(min(0.0, gain))) if np.isfinite(gain) else 0.0
    if generator.random() < probability:
        state = state_of(frame, free, state)
    if tuning:
        change = (probability - ACCEPTED) / (1.0 + state.n_tuned) ** 0.6
        state = state._replace(log_step=state.log_step + change, n_tuned=state.n_tuned + 1)
    return state


def follow_trajectory(
    problem: Problem,
    pieces: Pieces,
    frame: Frame,
    step: NDArray[np.float64],
    n_steps: int,
    free: NDArray[np.float64],
    momentum: NDArray[np.float64],
) -> bool:
    """Make all steps, writing over `free` and `momentum` (free number,); False: it left."""
    done = 0
    while 0 <= done <= n_steps:
        log_precision = float(free[frame.layout.rate])
        if not np.log(PRECISIONS[0]) < log_precision < np.log(PRECISIONS[1]):
            return False
        turn_forces(problem, pieces, log_precision)
        done = follow(problem, pieces.forces, frame, step, n_steps, done, free, momentum)
    return done > 0


def _soften(state: State, slopes: NDArray[np.float64], frame: Frame) -> State:
    """Average the squares of the slopes.

    Any cluster may become heavy later on, so the effects of all clusters have the steps of the
    steepest; so have weights that are not made from sticks.
    """
    squares = slopes**2  # (free number,)
    effects = squares[: frame.layout.centre].reshape(frame.n_clusters, -1)  # (cluster, effect)
    effects[:] = effects.max(axis=0)
    if not frame.by_sticks:
        squares[-frame.n_clusters :] = squares[-frame.n_clusters :].max()
    weight = 1.0 / min(state.n_tuned + 1, FORGET)
    return state._replace(stiffness=state.stiffness + weight * (squares - state.stiffness))
