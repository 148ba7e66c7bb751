"""One sweep of the DP-areal sampler, and its chains: starts, sweeps, what is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.synthesis.areal.clusters import (
    draw_concentration,
    draw_log_weights,
    draw_members,
    swapped_order,
)
from understudy.synthesis.areal.covariance import move_covariance, slope_precision
from understudy.synthesis.areal.effects import cluster_means, draw_centre, draw_effects
from understudy.synthesis.areal.poisson_lognormal import (
    Pieces,
    draw_table,
    log_probabilities,
    marginal,
    new_pieces,
    sum_log_rates,
)
from understudy.synthesis.areal.problem import Problem
from understudy.synthesis.areal.slices import slice_draw
from understudy.synthesis.contract import Observation
from understudy.synthesis.label_cells import KeptCells

__all__ = ["ArealChain", "Priors", "State", "init", "step"]

STARTS = (1, 5, 20, 50)  # clusters that chains start from, one after another
PRECISIONS = (1e-6, 1e8)  # a log rate precision outside counts as impossible


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
    centre[0] = np.log((problem.pair_count * problem.pair_size).sum() / problem.n_cells)
    return State(
        members=members,
        log_weights=np.full(n_clusters, -np.log(n_clusters)),
        effects=centre + 0.5 * generator.standard_normal((n_clusters, size)),
        centre=centre,
        log_scales=np.full(size - 1, -1.0),
        bound=np.zeros(max(0, (size - 1) * (size - 2) // 2)),
        log_rate_precision=1.0,
        intercept_precision=1.0,
        mean_precision=1.0,
        slope_mean_precision=1.0,
        concentration=1.0,
    )


def _draw_precision(
    generator: np.random.Generator, prior: tuple[float, float], n: int, squares: float
) -> float:
    """Draw a precision given the sum of squares of `n` normal numbers."""
    return float(generator.standard_gamma(prior[0] + 0.5 * n) / (prior[1] + 0.5 * squares))


def by_effects(
    generator: np.random.Generator,
    problem: Problem,
    state: State,
    priors: Priors,  # noqa: ARG001
) -> State:
    """Draw log rates given clusters, then the effects of all clusters given them."""
    means = cluster_means(problem.design, state.effects)  # (cluster, pattern)
    sizes, sums, squares = (np.empty(means.shape) for _ in range(3))  # (cluster, pattern)
    precision = state.log_rate_precision
    sum_log_rates(generator, problem, state.members, means, precision, sizes, sums, squares)
    effects = np.empty_like(state.effects)
    prior = effect_precision(state)
    draw_effects(generator, problem.design, sizes, sums, precision, state.centre, prior, effects)
    return state._replace(effects=effects)


def by_centre(
    generator: np.random.Generator, problem: Problem, state: State, priors: Priors
) -> State:
    """Draw centre, covariance and precisions given occupied clusters; empty ones from them."""
    occupied = state.members.sum(axis=0) > 0  # (cluster,)
    used = state.effects[occupied]  # (occupied cluster, effect)
    centre = np.empty_like(state.centre)
    log_scales, bound = state.log_scales.copy(), state.bound.copy()
    own = np.full(centre.size, state.slope_mean_precision)  # (effect,)
    own[0] = state.mean_precision
    draw_centre(generator, state.effects, occupied, effect_precision(state), own, centre)
    if centre.size > 1:
        apart = np.ascontiguousarray(used[:, 1:] - centre[1:])  # (occupied cluster, slope)
        move_covariance(
            generator,
            apart,
            log_scales,
            bound,
            priors.correlation_shape,
            priors.scale_degrees,
            priors.scale,
        )
    state = state._replace(
        centre=centre,
        log_scales=log_scales,
        bound=bound,
        intercept_precision=_draw_precision(
            generator,
            priors.intercept_precision,
            used.shape[0],
            float(((used[:, 0] - centre[0]) ** 2).sum()),
        ),
        mean_precision=_draw_precision(generator, priors.mean_precision, 1, float(centre[0] ** 2)),
        slope_mean_precision=_draw_precision(
            generator, priors.slope_mean_precision, centre.size - 1, float((centre[1:] ** 2).sum())
        ),
    )
    nothing = np.zeros((int((~occupied).sum()), problem.n_patterns))  # (empty cluster, pattern)
    fresh = np.empty((nothing.shape[0], centre.size))  # (empty cluster, effect)
    prior = effect_precision(state)
    draw_effects(generator, problem.design, nothing, nothing, 1.0, centre, prior, fresh)
    effects = state.effects.copy()
    effects[~occupied] = fresh
    return state._replace(effects=effects)


def by_precision(
    generator: np.random.Generator, problem: Problem, state: State, priors: Priors, pieces: Pieces
) -> State:
    """Move the log rate precision, log rates and clusters integrated out, by a slice."""
    means = cluster_means(problem.design, state.effects)  # (cluster, pattern)
    slopes, shares = np.empty(means.shape), np.empty(means.shape[0])
    shape, rate = priors.log_rate_precision

    def log_density(log_precision: float) -> float:
        precision = np.exp(log_precision)
        if not PRECISIONS[0] < precision < PRECISIONS[1]:
            return -np.inf
        found = marginal(problem, pieces, means, precision, state.log_weights, slopes, shares)
        return float(found + shape * log_precision - rate * precision)

    drawn, _ = slice_draw(generator, log_density, np.log(state.log_rate_precision), 0.3)
    return state._replace(log_rate_precision=float(np.exp(drawn)))


def by_clusters(
    generator: np.random.Generator, problem: Problem, state: State, priors: Priors, pieces: Pieces
) -> State:
    """Draw the clusters of all cells, log rates integrated out; then concentration and weights."""
    means = cluster_means(problem.design, state.effects)  # (cluster, pattern)
    log_p = np.empty(state.members.shape)  # (pair, cluster)
    log_probabilities(problem, pieces, means, state.log_rate_precision, log_p)
    members = np.empty_like(state.members)
    draw_members(generator, problem.pair_size, state.log_weights, log_p, members)
    sizes = members.sum(axis=0)  # (cluster,)
    effects = state.effects
    if priors.by_sticks:
        order = swapped_order(generator, sizes, state.concentration)
        members, effects = np.ascontiguousarray(members[:, order]), effects[order]
        sizes = sizes[order]
    concentration = draw_concentration(
        generator, sizes, state.concentration, priors.concentration, priors.by_sticks
    )
    log_weights = draw_log_weights(generator, sizes, concentration, priors.by_sticks)
    return state._replace(
        members=members, effects=effects, concentration=concentration, log_weights=log_weights
    )


def step(
    generator: np.random.Generator, problem: Problem, state: State, priors: Priors, pieces: Pieces
) -> State:
    """One sweep."""
    state = by_effects(generator, problem, state, priors)
    state = by_centre(generator, problem, state, priors)
    state = by_precision(generator, problem, state, priors, pieces)
    return by_clusters(generator, problem, state, priors, pieces)


@dataclass(frozen=True, eq=False)
class ArealChain:
    """Chains of the DP-areal sampler."""

    problem: Problem
    cells: KeptCells
    priors: Priors
    n_clusters: int
    warmup: int
    state_type = State

    def describe(self) -> dict[str, Any]:
        """Settings of the moves."""
        return {"sampler": "areal", "starts": list(STARTS)}

    def start(self, generator: np.random.Generator, chain: int) -> State:
        """Start from one cluster, few or many."""
        started = min(STARTS[chain % len(STARTS)], self.n_clusters)
        return init(generator, self.problem, self.n_clusters, started)

    def advance(self, generator: np.random.Generator, state: State, n_sweeps: int) -> State:
        """Make sweeps."""
        pieces = new_pieces(self.problem)
        for _ in range(n_sweeps):
            state = step(generator, self.problem, state, self.priors, pieces)
        return state

    def observe(self, generator: np.random.Generator, state: State) -> Observation:
        """Draw clusters and log rates anew given everything else; tabulate label probabilities."""
        problem, precision = self.problem, state.log_rate_precision
        pieces = new_pieces(problem)
        means = cluster_means(problem.design, state.effects)  # (cluster, pattern)
        log_p = np.empty((problem.pair_size.size, self.n_clusters))  # (pair, cluster)
        log_probabilities(problem, pieces, means, precision, log_p)
        members = np.empty(log_p.shape, dtype=np.int64)  # (pair, cluster)
        draw_members(generator, problem.pair_size, state.log_weights, log_p, members)
        log_rates = draw_table(generator, problem, members, means, precision)  # (cell,)
        table = log_rates.reshape(problem.n_patterns, -1)  # (pattern, label)
        rates = np.exp(table - table.max(axis=1, keepdims=True))
        probabilities = rates / rates.sum(axis=1, keepdims=True)
        slopes, shares = np.empty(means.shape), np.empty(self.n_clusters)
        likelihood = marginal(problem, pieces, means, precision, state.log_weights, slopes, shares)
        scalars = {
            "concentration": float(state.concentration),
            "occupied_clusters": float(np.count_nonzero(members.sum(axis=0))),
            "log_rate_precision": float(precision),
            "log_likelihood": float(likelihood),
        }
        kept = probabilities[self.cells.patterns, self.cells.labels].astype(np.float32)
        return Observation(scalars, kept, {"probabilities": probabilities})
