"""One sweep of the DP-areal sampler, and its chains: starts, sweeps, what is kept.

The order of a sweep is part of its proof. A move that integrates something out leaves it behind,
and it is drawn anew before anything looks at it: clusters right after the Hamiltonian move, weights
right after the swaps, log rates whenever they are needed and never kept.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.randomness import stream
from understudy.synthesis.areal import hamiltonian
from understudy.synthesis.areal.clusters import (
    draw_concentration,
    draw_log_weights,
    draw_members,
    swapped_order,
)
from understudy.synthesis.areal.covariance import covariance_factor, move_covariance
from understudy.synthesis.areal.effects import cluster_means, draw_centre, draw_effects
from understudy.synthesis.areal.log_rates import draw_table, sum_log_rates
from understudy.synthesis.areal.poisson_lognormal import (
    Pieces,
    joint_probabilities,
    marginal,
    new_pieces,
    turn_forces,
)
from understudy.synthesis.areal.problem import Problem
from understudy.synthesis.areal.split_merge import SMALLEST, Clusters, exchange
from understudy.synthesis.areal.state import Priors, State, effect_precision, init
from understudy.synthesis.checkpoints import generator_arrays, generator_from
from understudy.synthesis.contract import Observation
from understudy.synthesis.stored_probabilities import KeptCells

__all__ = ["ArealChain", "by_centre", "by_clusters", "by_exchange", "by_log_rates", "step"]

STARTS = (1, 5, 20, 50)  # clusters that chains start from, one after another
FEWEST_TRIES, MOST_TRIES = 16, 120  # exchanges tried in a sweep, for small and for large tables


def _draw_precision(
    generator: np.random.Generator, prior: tuple[float, float], n: int, squares: float
) -> float:
    """Draw a precision given the sum of squares of `n` normal numbers."""
    return float(generator.standard_gamma(prior[0] + 0.5 * n) / (prior[1] + 0.5 * squares))


def _n_tries(problem: Problem) -> int:
    """Count the exchanges to try in a sweep: the more cells, the rarer one succeeds."""
    return int(np.clip(1.65 * np.sqrt(problem.n_cells), FEWEST_TRIES, MOST_TRIES))


def by_exchange(
    generator: np.random.Generator, problem: Problem, state: State, priors: Priors, pieces: Pieces
) -> State:
    """Let pairs of clusters split and merge; cells' clusters are left behind and drawn next."""
    size = state.centre.size
    precision = state.log_rate_precision
    root = np.zeros((size, size))  # (effect, effect) of the effects' covariance
    root[0, 0] = 1.0 / np.sqrt(state.intercept_precision)
    root[1:, 1:] = covariance_factor(state.log_scales, state.bound)
    free = np.linalg.solve(root, (state.effects - state.centre).T).T  # (cluster, effect)
    weights = np.maximum(np.exp(state.log_weights), SMALLEST)  # (cluster,)
    clusters = Clusters(
        np.ascontiguousarray(free),
        weights,
        state.centre,
        root,
        state.concentration,
        priors.by_sticks,
    )
    slopes, shares = np.empty((weights.size, problem.n_patterns)), np.empty(weights.size)

    def likelihood(clusters: Clusters) -> float:
        means = cluster_means(problem.design, state.centre + clusters.free @ root.T)
        log_weights = np.log(clusters.weights)  # (cluster,)
        log_likelihood, _ = marginal(problem, pieces, means, precision, log_weights, slopes, shares)
        return float(log_likelihood)

    turn_forces(problem, pieces, float(np.log(precision)))
    exchange(generator, problem, pieces.forces, clusters, likelihood, _n_tries(problem))
    effects = state.centre + clusters.free @ root.T
    return state._replace(effects=effects, log_weights=np.log(clusters.weights))


def by_clusters(
    generator: np.random.Generator, problem: Problem, state: State, priors: Priors, pieces: Pieces
) -> State:
    """Draw the clusters of all cells, log rates integrated out; order, concentration, weights."""
    means = cluster_means(problem.design, state.effects)  # (cluster, pattern)
    precision = state.log_rate_precision
    joint = joint_probabilities(problem, pieces, means, precision, state.log_weights)
    members = np.empty_like(state.members)
    draw_members(generator, problem.pair_size, joint, members)
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


def by_log_rates(
    generator: np.random.Generator, problem: Problem, state: State, priors: Priors
) -> State:
    """Draw log rates given clusters; given them, the effects of all clusters and the precision."""
    before = cluster_means(problem.design, state.effects)  # (cluster, pattern)
    precision = state.log_rate_precision
    sizes, sums, squares = sum_log_rates(generator, problem, state.members, before, precision)
    effects = np.empty_like(state.effects)
    prior = effect_precision(state)
    draw_effects(generator, problem.design, sizes, sums, precision, state.centre, prior, effects)
    change = before - cluster_means(problem.design, effects)  # (cluster, pattern)
    moved = squares + 2.0 * change * (sums - sizes * before) + sizes * change**2
    drawn = _draw_precision(
        generator, priors.log_rate_precision, problem.n_cells, float(moved.sum())
    )
    return state._replace(effects=effects, log_rate_precision=drawn)


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
    apart = used - centre  # (occupied cluster, effect)
    if centre.size > 1:
        move_covariance(
            generator,
            np.ascontiguousarray(apart[:, 1:]),
            log_scales,
            bound,
            priors.correlation_shape,
            priors.scale_degrees,
            priors.scale,
        )
    intercept_precision = _draw_precision(
        generator, priors.intercept_precision, used.shape[0], float((apart[:, 0] ** 2).sum())
    )
    mean_precision = _draw_precision(generator, priors.mean_precision, 1, float(centre[0] ** 2))
    slope_mean_precision = _draw_precision(
        generator, priors.slope_mean_precision, centre.size - 1, float((centre[1:] ** 2).sum())
    )
    state = state._replace(
        centre=centre,
        log_scales=log_scales,
        bound=bound,
        intercept_precision=intercept_precision,
        mean_precision=mean_precision,
        slope_mean_precision=slope_mean_precision,
    )
    effects = state.effects.copy()
    fresh = np.empty((int((~occupied).sum()), centre.size))  # (empty cluster, effect)
    nothing = np.zeros((fresh.shape[0], problem.n_patterns))  # (empty cluster, pattern)
    prior = effect_precision(state)
    draw_effects(generator, problem.design, nothing, nothing, 1.0, centre, prior, fresh)
    effects[~occupied] = fresh
    return state._replace(effects=effects)


def step(
    generator: np.random.Generator,
    problem: Problem,
    state: State,
    priors: Priors,
    pieces: Pieces,
    tuning: bool = False,
) -> State:
    """One sweep."""
    # 1. almost everything at once, log rates and clusters integrated out
    state = hamiltonian.move(generator, problem, state, priors, pieces, tuning)
    # 2. pairs of clusters split and merge, log rates and clusters of cells integrated out
    if state.log_weights.size > 1:
        state = by_exchange(generator, problem, state, priors, pieces)
    # 3. clusters, log rates integrated out; order, sticks integrated out; concentration, weights
    state = by_clusters(generator, problem, state, priors, pieces)
    # 4. log rates given clusters; effects and log rate precision given them
    state = by_log_rates(generator, problem, state, priors)
    # 5. centre, covariance and precisions of the effects; effects of empty clusters
    return by_centre(generator, problem, state, priors)


MOST_KEPT = 1 << 18  # cells up to which the tables of kept draws are kept themselves


@dataclass(frozen=True, eq=False)
class ArealChain:
    """Chains of the DP-areal sampler."""

    problem: Problem
    cells: KeptCells
    priors: Priors
    n_clusters: int
    warmup: int
    memory: threading.local = field(default_factory=threading.local)
    state_type = State

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the memory behind where the sampler travels to another process."""
        return type(self), (self.problem, self.cells, self.priors, self.n_clusters, self.warmup)

    def describe(self) -> dict[str, Any]:
        """Settings of the moves."""
        return {
            "sampler": "areal, coarse table",
            "starts": list(STARTS),
            "steps": hamiltonian.most_steps(self.problem),
            "tuned": self.warmup,
            "keeps": "what tables are drawn from"
            if self.redraws
            else "probabilities, pattern rates",
        }

    def _pieces(self) -> Pieces:
        """Give this thread's memory of integrals; it never changes a result."""
        if not hasattr(self.memory, "pieces"):
            self.memory.pieces = new_pieces(self.problem)
        pieces: Pieces = self.memory.pieces
        return pieces

    def start(self, generator: np.random.Generator, chain: int) -> State:
        """Start from one cluster, few or many."""
        started = min(STARTS[chain % len(STARTS)], self.n_clusters)
        return init(generator, self.problem, self.n_clusters, started)

    def advance(self, generator: np.random.Generator, state: State, n_sweeps: int) -> State:
        """Make sweeps; the first ones, as many as are thrown away, tune the Hamiltonian moves."""
        for _ in range(n_sweeps):
            tuning = state.n_tuned < self.warmup
            state = step(generator, self.problem, state, self.priors, self._pieces(), tuning)
        return state

    def observe(self, generator: np.random.Generator, state: State) -> Observation:
        """Draw clusters and log rates anew given everything else; tabulate label probabilities."""
        problem, pieces, precision = self.problem, self._pieces(), state.log_rate_precision
        before = generator_arrays(generator) if self.redraws else {}
        members, probabilities, rates = self.draw_rates(
            generator, state.effects, state.log_weights, precision
        )
        means = cluster_means(problem.design, state.effects)  # (cluster, pattern)
        slopes, shares = np.empty(means.shape), np.empty(self.n_clusters)
        likelihood, _ = marginal(
            problem, pieces, means, precision, state.log_weights, slopes, shares
        )
        scalars = {
            "concentration": float(state.concentration),
            "occupied_clusters": float(np.count_nonzero(members.sum(axis=0))),
            "log_rate_precision": float(precision),
            "log_likelihood": float(likelihood),
        }
        kept = probabilities[self.cells.patterns, self.cells.labels].astype(np.float32)
        snapshot = {"probabilities": probabilities, "pattern_rates": rates}
        if self.redraws:
            snapshot = {
                "effects": state.effects.copy(),  # (cluster, effect)
                "log_weights": state.log_weights.copy(),  # (cluster,)
                "log_rate_precision": np.array(precision),
                **before,
            }
        return Observation(scalars, kept, snapshot, probabilities)

    @property
    def redraws(self) -> bool:
        """Whether tables are too large to be kept: then they are drawn again from a snapshot."""
        return self.problem.pair_of_cell.size > MOST_KEPT

    def draw_rates(
        self,
        generator: np.random.Generator,
        effects: NDArray[np.float64],
        log_weights: NDArray[np.float64],
        precision: float,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Draw clusters (pair, cluster) and rates, as label probabilities and sums by pattern."""
        problem = self.problem
        means = cluster_means(problem.design, effects)  # (cluster, pattern)
        joint = joint_probabilities(problem, self._pieces(), means, precision, log_weights)
        members = np.empty(joint.shape, dtype=np.int64)  # (pair, cluster)
        draw_members(generator, problem.pair_size, joint, members)
        log_rates = draw_table(generator, problem, members, means, precision)  # (cell,)
        table = log_rates.reshape(problem.n_patterns, -1)  # (pattern, label), written over
        largest = table.max(axis=1, keepdims=True)  # (pattern, 1)
        table -= largest
        np.exp(table, out=table)
        totals = table.sum(axis=1, keepdims=True)  # (pattern, 1)
        table /= totals
        return members, table, (totals * np.exp(largest))[:, 0]

    def drawn_again(
        self, snapshot: dict[str, NDArray[Any]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw the table of a snapshot again: label probabilities, and sums of rates by pattern."""
        generator = generator_from(snapshot, stream(0, "any"))
        given = (snapshot["effects"], snapshot["log_weights"])
        _, probabilities, rates = self.draw_rates(
            generator, *given, float(snapshot["log_rate_precision"])
        )
        return probabilities, rates
