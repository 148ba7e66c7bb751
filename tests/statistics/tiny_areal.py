"""Tiny tables for the DP-areal model: draws from its prior, and states from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.naive.areal import draw_from_prior

from understudy.synthesis.areal import covariance
from understudy.synthesis.areal.problem import Problem, problem_of_counts
from understudy.synthesis.areal.state import Priors, State, n_free

# Two patterns of one kept variable with two levels.
DESIGN = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])  # (pattern, effect)
N_CLUSTERS = 3


def priors(by_sticks: bool = True) -> Priors:
    """Priors that keep rates small enough for Poisson draws."""
    return Priors(
        by_sticks=by_sticks,
        concentration=(3.0, 2.0),
        log_rate_precision=(6.0, 2.0),
        intercept_precision=(8.0, 3.0),
        mean_precision=(8.0, 4.0),
        slope_mean_precision=(9.0, 3.0),
        correlation_shape=1.5,
        scale_degrees=6.0,
        scale=0.5,
    )


class World(NamedTuple):
    """A state, the cluster of every cell, and the table: (pattern, label) both."""

    state: State
    cluster: NDArray[np.int64]
    table: NDArray[np.int64]


def draw_state(
    generator: np.random.Generator, prior: Priors, n_clusters: int, design: NDArray[np.float64]
) -> State:
    """Draw all parameters from their prior; no cells yet."""
    size = design.shape[1]
    concentration, rate, intercept, mean, slope = (
        float(generator.gamma(shape) / by) for shape, by in prior[1:6]
    )
    if prior.by_sticks:
        sticks = np.append(generator.beta(1.0, concentration, n_clusters - 1), 1.0)
        weights = sticks * np.append(1.0, np.cumprod(1.0 - sticks[:-1]))
    else:
        weights = generator.dirichlet(np.full(n_clusters, concentration / n_clusters))
    log_scales, bound = draw_from_prior(
        generator, size - 1, prior.correlation_shape, prior.scale_degrees, prior.scale
    )
    own = np.full(size, slope)
    own[0] = mean
    centre = generator.standard_normal(size) / np.sqrt(own)
    effects = np.empty((n_clusters, size))
    effects[:, 0] = centre[0] + generator.standard_normal(n_clusters) / np.sqrt(intercept)
    factor = covariance.covariance_factor(log_scales, bound)
    effects[:, 1:] = centre[1:] + generator.standard_normal((n_clusters, size - 1)) @ factor.T
    return State(
        members=np.zeros((0, n_clusters), dtype=np.int64),
        log_weights=np.log(np.maximum(weights, 1e-300)),
        effects=effects,
        centre=centre,
        log_scales=log_scales,
        bound=bound,
        log_rate_precision=rate,
        intercept_precision=intercept,
        mean_precision=mean,
        slope_mean_precision=slope,
        concentration=concentration,
        stiffness=np.full(n_free(n_clusters, size), 1.0),
        log_step=float(np.log(0.25)),
        n_tuned=0,
    )


def draw_clusters(
    generator: np.random.Generator, state: State, shape: tuple[int, int]
) -> NDArray[np.int64]:
    """Draw the cluster of every cell from the weights."""
    weights = np.exp(state.log_weights)
    return np.asarray(generator.choice(weights.size, size=shape, p=weights / weights.sum()))


def draw_counts(
    generator: np.random.Generator,
    state: State,
    cluster: NDArray[np.int64],
    design: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Draw log rates, then counts, of every cell given its cluster."""
    means = np.einsum("be,bge->bg", design, state.effects[cluster])  # (pattern, label)
    log_rates = means + generator.standard_normal(means.shape) / np.sqrt(state.log_rate_precision)
    return np.asarray(generator.poisson(np.exp(np.minimum(log_rates, 12.0))))


def draw_world(
    generator: np.random.Generator,
    prior: Priors,
    n_labels: int,
    n_clusters: int = N_CLUSTERS,
    design: NDArray[np.float64] = DESIGN,
) -> World:
    """Draw parameters and data from their joint distribution."""
    state = draw_state(generator, prior, n_clusters, design)
    cluster = draw_clusters(generator, state, (design.shape[0], n_labels))
    return World(state, cluster, draw_counts(generator, state, cluster, design))


def problem_and_state(world: World, design: NDArray[np.float64] = DESIGN) -> tuple[Problem, State]:
    """Bring a world into the form of the sampler."""
    problem = problem_of_counts(world.table, design)
    members = np.zeros((problem.pair_size.size, world.state.log_weights.size), dtype=np.int64)
    np.add.at(members, (problem.pair_of_cell, world.cluster.ravel()), 1)
    return problem, world.state._replace(members=members)


def clusters_of(problem: Problem, state: State, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Give every cell a cluster, as many of each pair as the state says; cells are exchangeable."""
    left = [np.repeat(np.arange(row.size), row).tolist() for row in state.members]
    return np.array([left[pair].pop() for pair in problem.pair_of_cell]).reshape(shape)
