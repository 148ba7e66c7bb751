"""One Hamiltonian move of almost everything, log rates and clusters integrated out.

Clusters overlap so much that a cell says little about its own, and a sampler that moves effects
given clusters and clusters given effects creeps. With both log rates and clusters integrated out
the posterior is a smooth density of a few hundred free numbers, whose slopes cost as much as one
draw of the clusters (`poisson_lognormal.marginal`).

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
rate precision too, because integrals that are known then serve the whole of one. Steps are scaled
by the mean square of each slope during warm-up (of the steepest cluster's: any cluster may become
heavy later on), the step size by the acceptance, and both are fixed afterwards.

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

__all__ = [
    "Frame",
    "Layout",
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
FARTHEST = 500.0  # effects beyond are rejected, as are free numbers above


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


@compiled
def _fill_effects_and_weights(frame, free, effects, log_weights):  # type: ignore[no-untyped-def]
    """Fill effects (cluster, effect) and log weights (cluster,) from free numbers."""
    n_clusters, n_effects = effects.shape
    at = frame.layout
    centre = free[at.centre : at.scales]  # (effect,)
    scales = np.exp(free[at.scales : at.intercept])  # (slope,)
    width = np.exp(-0.5 * free[at.intercept])
    for cluster in range(n_clusters):
        first = cluster * n_effects
        effects[cluster, 0] = centre[0] + free[first] * width
        for row in range(n_effects - 1):
            along = 0.0
            for inner in range(row + 1):
                along += frame.factor[row, inner] * free[first + 1 + inner]
            effects[cluster, row + 1] = centre[row + 1] + scales[row] * along
    rest = free[at.weights :]  # (cluster,)
    if frame.by_sticks:
        log_rest = 0.0
        for cluster in range(n_clusters - 1):
            taken = np.exp(rest[cluster] - rest[-1])  # -log(1 - V)
            log_weights[cluster] = log_rest + np.log(max(-np.expm1(-taken), 1e-300))
            log_rest -= taken
        log_weights[n_clusters - 1] = log_rest
    else:
        highest = rest.max()
        log_weights[:] = rest - highest - np.log(np.exp(rest - highest).sum())


@compiled
def _gather(frame, free, on_effects, shares, on_log_precision, slopes):  # type: ignore[no-untyped-def]
    """Give the log prior of the free numbers, and fill the slopes (free number,) of everything.

    `on_effects` (cluster, effect), `shares` (cluster,) and `on_log_precision` are the slopes of the
    log-likelihood in effects, log weights and log rate precision. Each part adds to the log prior
    and to the slopes that it bears on.
    """
    slopes[frame.layout.centre :] = 0.0
    slopes[frame.layout.rate] = on_log_precision
    total = _gather_effects(frame, free, on_effects, slopes)
    total = _gather_centre_and_scales(frame, free, slopes, total)
    if frame.by_sticks:
        return _gather_sticks(frame, free, shares, slopes, total)
    return _gather_gammas(frame, free, shares, slopes, total)


@compiled
def _gather_effects(frame, free, on_effects, slopes):  # type: ignore[no-untyped-def]
    """Standardized effects: normal; the likelihood pulls at them, at the centre and the scales.

    effect_0 = centre_0 + width u_0; effect_r = centre_r + scale_r sum_i factor_ri u_i.
    """
    n_clusters, n_effects = on_effects.shape
    at = frame.layout
    width = np.exp(-0.5 * free[at.intercept])
    scales = np.exp(free[at.scales : at.intercept])  # (slope,)
    total = 0.0
    for cluster in range(n_clusters):
        first = cluster * n_effects
        slopes[first] = on_effects[cluster, 0] * width - free[first]
        slopes[at.centre] += on_effects[cluster, 0]
        slopes[at.intercept] -= 0.5 * on_effects[cluster, 0] * free[first] * width
        total -= 0.5 * free[first] * free[first]
        for row in range(n_effects - 1):
            slopes[first + 1 + row] = -free[first + 1 + row]
            total -= 0.5 * free[first + 1 + row] * free[first + 1 + row]
        for row in range(n_effects - 1):
            pull = on_effects[cluster, row + 1]
            slopes[at.centre + 1 + row] += pull
            pull *= scales[row]
            along = 0.0
            for inner in range(row + 1):
                along += frame.factor[row, inner] * free[first + 1 + inner]
                slopes[first + 1 + inner] += frame.factor[row, inner] * pull
            slopes[at.scales + row] += pull * along
    return total


@compiled
def _gather_centre_and_scales(frame, free, slopes, total):  # type: ignore[no-untyped-def]
    """Centre: normal; scales: half-t; both precisions: gamma. All but the first as logarithms."""
    at = frame.layout
    for effect in range(at.scales - at.centre):
        weight, value = frame.centre_precision[effect], free[at.centre + effect]
        total -= 0.5 * weight * value * value
        slopes[at.centre + effect] -= weight * value
    degrees = frame.scale_degrees
    for row in range(at.intercept - at.scales):
        value = free[at.scales + row]
        square = (np.exp(value) / frame.scale) ** 2 / degrees
        total += value - 0.5 * (degrees + 1.0) * np.log1p(square)
        slopes[at.scales + row] += 1.0 - (degrees + 1.0) * square / (1.0 + square)
    for position in (at.intercept, at.rate):
        shape, rate = frame.intercept_precision
        if position == at.rate:
            shape, rate = frame.log_rate_precision
        value = free[position]
        total += shape * value - rate * np.exp(value)
        slopes[position] += shape - rate * np.exp(value)
    return total


@compiled
def _gather_sticks(frame, free, shares, slopes, total):  # type: ignore[no-untyped-def]
    """Sticks: exp(e) exponential; concentration: gamma. A stick bears on all clusters behind it."""
    first, last = frame.layout.weights, frame.layout.end - 1
    behind = shares[frame.n_clusters - 1]
    for cluster in range(frame.n_clusters - 2, -1, -1):
        value = free[first + cluster]
        taken = np.exp(value - free[last])
        pull = -behind * taken
        if taken < 1e-8:
            pull += shares[cluster]
        else:
            pull += shares[cluster] * taken / np.expm1(taken)
        slopes[first + cluster] = pull + 1.0 - np.exp(value)
        slopes[last] -= pull
        total += value - np.exp(value)
        behind += shares[cluster]
    shape, rate = frame.concentration
    slopes[last] += shape - rate * np.exp(free[last])
    return total + (shape * free[last] - rate * np.exp(free[last]))


@compiled
def _gather_gammas(frame, free, shares, slopes, total):  # type: ignore[no-untyped-def]
    """Weights from a Dirichlet distribution: gamma variables, as logarithms."""
    first = frame.layout.weights
    n_cells = shares.sum()
    largest = free[first:].max()
    weights = np.exp(free[first:] - largest)  # (cluster,)
    weights /= weights.sum()
    for cluster in range(frame.n_clusters):
        value = free[first + cluster]
        pull = shares[cluster] - n_cells * weights[cluster]
        slopes[first + cluster] = pull + frame.share - np.exp(value)
        total += frame.share * value - np.exp(value)
    return total


def log_density(
    problem: Problem, pieces: Pieces, frame: Frame, free: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Log density of the free numbers given the table, and its slopes (free number,)."""
    slopes = np.zeros_like(free)
    effects = np.empty((frame.n_clusters, frame.centre_precision.size))  # (cluster, effect)
    log_weights = np.empty(frame.n_clusters)  # (cluster,)
    if not free[frame.layout.scales :].max() < FARTHEST:
        return -np.inf, slopes
    _fill_effects_and_weights(frame, free, effects, log_weights)
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
    prior = _gather(frame, free, on_effects, shares, on_log_precision, slopes)
    return float(likelihood + prior), slopes


def state_of(frame: Frame, free: NDArray[np.float64], state: State) -> State:
    """Put free numbers back into a state; its clusters are left behind and must be drawn next."""
    at = frame.layout
    effects, log_weights = np.empty_like(state.effects), np.empty_like(state.log_weights)
    _fill_effects_and_weights(frame, free, effects, log_weights)
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
    there = free
    with np.errstate(over="ignore", invalid="ignore"):  # one that leaves is rejected
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
