"""One Hamiltonian move of almost everything, log rates and clusters integrated out.

Clusters overlap so much that a cell says little about its own, and a sampler that moves effects
given clusters and clusters given effects creeps. With both log rates and clusters integrated out
the posterior is a smooth density of a few hundred free numbers, whose slopes cost as much as one
draw of the clusters (`poisson_lognormal.marginal`).

Free numbers, in this order, every one of them unbounded:

- standardized effects u (cluster, effect): effects are centre + F u, with F the square root of
  their covariance, so that prior and scales do not have to be crossed together;
- the centre (effect,), log scales (slope,), log intercept precision, log rate precision;
- weights by sticks: e (cluster - 1,) with log(1 - V) = -exp(e) / concentration, so that exp(e) is
  exponential whatever the concentration, and the log concentration;
- weights from a Dirichlet distribution: logs of gamma variables (cluster,), whose sum is drawn
  afresh; the concentration stays.

Correlations and the precisions of the centre stay as they are, and in most trajectories the log
rate precision too, because integrals that are known then serve the whole of one. Steps are scaled
by the mean square of each slope during warm-up (of the steepest cluster's: any place may hold a
heavy cluster later on), the step size by the acceptance, and both are fixed afterwards.

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
from understudy.synthesis.areal.poisson_lognormal import Pieces, marginal
from understudy.synthesis.areal.problem import Problem
from understudy.synthesis.areal.state import PRECISIONS, Priors, State, n_free

__all__ = ["Frame", "frame_of", "free_numbers", "log_density", "most_steps", "move", "state_of"]

FEWEST_STEPS, MOST_STEPS = 4, 75  # most steps of a trajectory, for small and for large tables
WITH_PRECISION = 0.25  # share of trajectories that move the log rate precision too; they cost more
TREMBLE = 0.2  # the step size is drawn evenly around its value
ACCEPTED = 0.75  # what the step size is tuned to
FORGET = 100  # trajectories over which slopes are averaged in warm-up
SOFTEST = 0.2  # least mean square of a slope
FARTHEST = 500.0  # effects beyond are refused, as are free numbers above


class Frame(NamedTuple):
    """What stays as it is during a move."""

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


def frame_of(state: State, priors: Priors) -> Frame:
    """Take out of a state what stays."""
    own = np.full(state.centre.size, state.slope_mean_precision)  # (effect,)
    own[0] = state.mean_precision
    n_clusters = state.log_weights.size
    return Frame(
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
    """Fill the standardized effects (cluster * effect,)."""
    n_effects = centre.size
    for one in range(effects.shape[0]):
        first = one * n_effects
        free[first] = (effects[one, 0] - centre[0]) * np.exp(0.5 * log_precision)
        for row in range(n_effects - 1):
            rest = (effects[one, row + 1] - centre[row + 1]) * np.exp(-log_scales[row])
            for inner in range(row):
                rest -= factor[row, inner] * free[first + 1 + inner]
            free[first + 1 + row] = rest / factor[row, row]


@compiled
def _free_sticks(log_weights, log_concentration, free):  # type: ignore[no-untyped-def]
    """Fill e (cluster - 1,) from log weights, from the back, where nothing is lost."""
    log_rest = log_weights[-1]
    for one in range(log_weights.size - 2, -1, -1):
        odds = np.exp(log_weights[one] - log_rest)  # V / (1 - V)
        free[one] = np.log(max(np.log1p(odds), 1e-300)) + log_concentration
        larger = max(log_rest, log_weights[one])
        log_rest = larger + np.log(np.exp(log_rest - larger) + np.exp(log_weights[one] - larger))


def free_numbers(generator: np.random.Generator, frame: Frame, state: State) -> NDArray[np.float64]:
    """Write a state as free numbers; a sum of gamma variables is drawn, where there is one."""
    size = state.centre.size
    n_clusters = frame.n_clusters
    free = np.empty(n_free(n_clusters, size))
    log_precision = float(np.log(state.intercept_precision))
    cut = n_clusters * size
    _free_effects(
        state.effects, state.centre, state.log_scales, log_precision, frame.factor, free[:cut]
    )
    free[cut : cut + size] = state.centre
    free[cut + size : cut + 2 * size - 1] = state.log_scales
    cut += 2 * size - 1
    free[cut : cut + 2] = log_precision, np.log(state.log_rate_precision)
    if frame.by_sticks:
        free[-1] = np.log(state.concentration)
        _free_sticks(state.log_weights, free[-1], free[cut + 2 : -1])
    else:
        shape = frame.share * n_clusters
        log_sum = np.log(generator.standard_gamma(shape + 1.0))
        log_sum += np.log(1.0 - generator.random()) / shape
        free[cut + 2 :] = state.log_weights + log_sum
    return free


@compiled
def _place(frame, free, effects, log_weights):  # type: ignore[no-untyped-def]
    """Fill effects (cluster, effect) and log weights (cluster,) from free numbers."""
    n_clusters, n_effects = effects.shape
    cut = n_clusters * n_effects
    centre = free[cut : cut + n_effects]
    scales = np.exp(free[cut + n_effects : cut + 2 * n_effects - 1])
    width = np.exp(-0.5 * free[cut + 2 * n_effects - 1])
    for one in range(n_clusters):
        first = one * n_effects
        effects[one, 0] = centre[0] + free[first] * width
        for row in range(n_effects - 1):
            along = 0.0
            for inner in range(row + 1):
                along += frame.factor[row, inner] * free[first + 1 + inner]
            effects[one, row + 1] = centre[row + 1] + scales[row] * along
    rest = free[cut + 2 * n_effects + 1 :]
    if frame.by_sticks:
        log_rest = 0.0
        for one in range(n_clusters - 1):
            taken = np.exp(rest[one] - rest[-1])  # -log(1 - V)
            log_weights[one] = log_rest + np.log(max(-np.expm1(-taken), 1e-300))
            log_rest -= taken
        log_weights[n_clusters - 1] = log_rest
    else:
        highest = rest.max()
        log_weights[:] = rest - highest - np.log(np.exp(rest - highest).sum())


@compiled
def _gather(frame, free, on_effects, shares, on_log_precision, slopes):  # type: ignore[no-untyped-def]
    """Add the log prior of the free numbers, and fill all slopes.

    `on_effects` (cluster, effect), `shares` (cluster,) and `on_log_precision` are the slopes of the
    log-likelihood in effects, log weights and log rate precision.
    """
    n_clusters, n_effects = on_effects.shape
    size = n_effects - 1
    cut = n_clusters * n_effects
    at_scales, at_intercept = cut + n_effects, cut + 2 * n_effects - 1
    width = np.exp(-0.5 * free[at_intercept])
    scales = np.exp(free[at_scales:at_intercept])
    total = 0.0
    slopes[cut:] = 0.0
    for one in range(n_clusters):
        first = one * n_effects
        slopes[first] = on_effects[one, 0] * width - free[first]
        slopes[cut] += on_effects[one, 0]
        slopes[at_intercept] -= 0.5 * on_effects[one, 0] * free[first] * width
        total -= 0.5 * free[first] * free[first]
        for row in range(size):
            slopes[first + 1 + row] = -free[first + 1 + row]
            total -= 0.5 * free[first + 1 + row] * free[first + 1 + row]
        for row in range(size):
            pull = on_effects[one, row + 1]
            slopes[cut + 1 + row] += pull
            pull *= scales[row]
            along = 0.0
            for inner in range(row + 1):
                along += frame.factor[row, inner] * free[first + 1 + inner]
                slopes[first + 1 + inner] += frame.factor[row, inner] * pull
            slopes[at_scales + row] += pull * along
    for effect in range(n_effects):
        weight = frame.centre_precision[effect]
        total -= 0.5 * weight * free[cut + effect] * free[cut + effect]
        slopes[cut + effect] -= weight * free[cut + effect]
    for row in range(size):
        square = (scales[row] / frame.scale) ** 2 / frame.scale_degrees
        total += free[at_scales + row] - 0.5 * (frame.scale_degrees + 1.0) * np.log1p(square)
        slopes[at_scales + row] += 1.0 - (frame.scale_degrees + 1.0) * square / (1.0 + square)
    slopes[at_intercept + 1] = on_log_precision
    for turn in range(2):
        shape, rate = frame.intercept_precision if turn == 0 else frame.log_rate_precision
        value = free[at_intercept + turn]
        total += shape * value - rate * np.exp(value)
        slopes[at_intercept + turn] += shape - rate * np.exp(value)
    first = at_intercept + 2
    if frame.by_sticks:
        last = free.size - 1
        behind = shares[n_clusters - 1]
        for one in range(n_clusters - 2, -1, -1):
            value = free[first + one]
            taken = np.exp(value - free[last])
            pull = -behind * taken
            if taken < 1e-8:
                pull += shares[one]
            else:
                pull += shares[one] * taken / np.expm1(taken)
            slopes[first + one] = pull + 1.0 - np.exp(value)
            slopes[last] -= pull
            total += value - np.exp(value)
            behind += shares[one]
        shape, rate = frame.concentration
        total += shape * free[last] - rate * np.exp(free[last])
        slopes[last] += shape - rate * np.exp(free[last])
    else:
        n_cells = shares.sum()
        largest = free[first:].max()
        rest = np.exp(free[first:] - largest)
        rest /= rest.sum()
        for one in range(n_clusters):
            value = free[first + one]
            slopes[first + one] = shares[one] - n_cells * rest[one] + frame.share - np.exp(value)
            total += frame.share * value - np.exp(value)
    return total


def log_density(
    problem: Problem, pieces: Pieces, frame: Frame, free: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Log density of the free numbers given the table, and its slopes (free number,)."""
    slopes = np.zeros_like(free)
    n_effects = frame.centre_precision.size
    effects = np.empty((frame.n_clusters, n_effects))
    log_weights = np.empty(frame.n_clusters)
    at_precision = frame.n_clusters * n_effects + 2 * n_effects
    if not free[at_precision - n_effects :].max() < FARTHEST:
        return -np.inf, slopes
    _place(frame, free, effects, log_weights)
    if not np.abs(effects).max() < FARTHEST:
        return -np.inf, slopes
    precision = float(np.exp(free[at_precision]))
    if not PRECISIONS[0] < precision < PRECISIONS[1]:
        return -np.inf, slopes
    means = cluster_means(problem.design, effects)  # (cluster, pattern)
    on_means, shares = np.empty(means.shape), np.empty(frame.n_clusters)
    found, on_log_precision = marginal(
        problem, pieces, means, precision, log_weights, on_means, shares
    )
    on_effects = effect_slopes(problem.design, on_means)  # (cluster, effect)
    prior = _gather(frame, free, on_effects, shares, on_log_precision, slopes)
    return float(found + prior), slopes


def state_of(frame: Frame, free: NDArray[np.float64], state: State) -> State:
    """Put free numbers back into a state; its clusters are left behind and must be drawn next."""
    size = state.centre.size
    effects, log_weights = np.empty_like(state.effects), np.empty_like(state.log_weights)
    _place(frame, free, effects, log_weights)
    cut = frame.n_clusters * size
    log_intercept, log_rate = free[cut + 2 * size - 1 : cut + 2 * size + 1]
    return state._replace(
        effects=effects,
        log_weights=log_weights,
        centre=free[cut : cut + size].copy(),
        log_scales=free[cut + size : cut + 2 * size - 1].copy(),
        intercept_precision=float(np.exp(log_intercept)),
        log_rate_precision=float(np.exp(log_rate)),
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
    """Follow one trajectory; accept or refuse its end. In warm-up, tune steps by the way."""
    frame = frame_of(state, priors)
    free = free_numbers(generator, frame, state)
    height, slopes = log_density(problem, pieces, frame, free)
    if tuning and np.isfinite(height):
        state = _soften(state, slopes, frame)
    step = np.exp(state.log_step) / np.sqrt(state.stiffness + SOFTEST)  # (free number,)
    step *= 1.0 + TREMBLE * (2.0 * generator.random() - 1.0)
    if generator.random() >= WITH_PRECISION:
        step[frame.n_clusters * state.centre.size + 2 * state.centre.size] = 0.0
    n_steps = 1 + int(most_steps(problem) * generator.random())
    momentum = generator.standard_normal(free.size)
    energy = height - 0.5 * float((momentum**2).sum())
    there = free
    with np.errstate(over="ignore", invalid="ignore"):  # a trajectory may leave; it is refused then
        for _ in range(n_steps):
            momentum += 0.5 * step * slopes
            there = there + step * momentum
            height, slopes = log_density(problem, pieces, frame, there)
            if height == -np.inf:
                break
            momentum += 0.5 * step * slopes
        gain = height - 0.5 * float((momentum**2).sum()) - energy
    probability = float(np.exp(min(0.0, gain))) if np.isfinite(gain) else 0.0
    if generator.random() < probability:
        state = state_of(frame, there, state)
    if tuning:
        change = (probability - ACCEPTED) / (1.0 + state.n_tuned) ** 0.6
        state = state._replace(log_step=state.log_step + change, n_tuned=state.n_tuned + 1)
    return state


def _soften(state: State, slopes: NDArray[np.float64], frame: Frame) -> State:
    """Average the squares of the slopes.

    Any place may hold a heavy cluster later on, so that the effects of all clusters have the steps
    of the steepest; so have weights that are not made from sticks.
    """
    squares = slopes**2  # (free number,)
    cut = frame.n_clusters * state.centre.size
    effects = squares[:cut].reshape(frame.n_clusters, -1)  # (cluster, effect)
    effects[:] = effects.max(axis=0)
    if not frame.by_sticks:
        squares[-frame.n_clusters :] = squares[-frame.n_clusters :].max()
    weight = 1.0 / min(state.n_tuned + 1, FORGET)
    return state._replace(stiffness=state.stiffness + weight * (squares - state.stiffness))
