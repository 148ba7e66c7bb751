"""Joint tests of the DP-areal sampler: every move, the sweep, and calibration.

Parameters and a table are drawn from their joint distribution; then, several times, a move is made
given the table and the table is redrawn given the parameters. What comes out must have the joint
distribution it started from (Geweke 2004; Gandy and Scott 2020). Ranks of true values among
posterior draws must be uniform (Talts and others 2018); ``UNDERSTUDY_CALIBRATE=1000`` makes so many
simulations in place of 200.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ks_2samp
from tests.statistics import tiny_areal as tiny
from tests.statistics.tiny import check_uniform_ranks

from understudy.randomness import stream
from understudy.synthesis.areal import hamiltonian, sampler, split_merge
from understudy.synthesis.areal.effects import cluster_means
from understudy.synthesis.areal.log_rates import draw_table
from understudy.synthesis.areal.poisson_lognormal import Pieces, marginal, new_pieces, turn_forces
from understudy.synthesis.areal.problem import Problem
from understudy.synthesis.areal.sampler import ArealChain
from understudy.synthesis.areal.state import Priors, State, init
from understudy.synthesis.stored_probabilities import KeptCells

DRAWS = 1_500
FEWER = 600
N_LABELS = 4
FALSE_ALARM = 1e-4
SIMULATIONS = int(os.environ.get("UNDERSTUDY_CALIBRATE", "200"))

Move = Callable[[np.random.Generator, Problem, State, Priors, Pieces], State]


def by_log_rates(
    generator: np.random.Generator, problem: Problem, state: State, priors: Priors, pieces: Pieces
) -> State:
    return sampler.by_log_rates(generator, problem, state, priors)


def by_centre(
    generator: np.random.Generator, problem: Problem, state: State, priors: Priors, pieces: Pieces
) -> State:
    return sampler.by_centre(generator, problem, state, priors)


def by_hamiltonian(
    generator: np.random.Generator, problem: Problem, state: State, priors: Priors, pieces: Pieces
) -> State:
    """The move leaves clusters behind, so they are drawn next."""
    state = hamiltonian.move(generator, problem, state, priors, pieces)
    return sampler.by_clusters(generator, problem, state, priors, pieces)


def by_exchange(
    generator: np.random.Generator, problem: Problem, state: State, priors: Priors, pieces: Pieces
) -> State:
    """As does this one."""
    state = sampler.by_exchange(generator, problem, state, priors, pieces)
    return sampler.by_clusters(generator, problem, state, priors, pieces)


MOVES: list[Move] = [
    sampler.by_clusters,
    by_log_rates,
    by_centre,
    by_hamiltonian,
    by_exchange,
    sampler.step,
]


def summary(world: tiny.World) -> list[float]:
    """Numbers that depend on parameters, clusters and table."""
    state, cluster, table = world
    weights = np.exp(state.log_weights)
    means = np.einsum("be,bge->bg", tiny.DESIGN, state.effects[cluster])
    return [
        state.concentration,
        state.log_rate_precision,
        state.intercept_precision,
        state.mean_precision,
        state.slope_mean_precision,
        float(weights[0]),
        float((weights**2).sum()) + 1e-3 * state.concentration,
        float(state.centre[0]),
        float(state.centre[1]),
        float(state.log_scales[0]),
        float(state.bound[0]),
        float(state.effects[0, 0]),
        float(state.effects[:, 1].mean()),
        float((state.effects[:, 1] * state.effects[:, 2]).mean()),
        len(np.unique(cluster)) + 1e-3 * float(weights[0]),
        float((np.log1p(table) * means).sum()),
        float(((np.log1p(table) - means) ** 2).sum() * state.log_rate_precision),
        float(table.sum()) + 1e-3 * float(weights[0]),
    ]


def compare_joint(
    generator: np.random.Generator, move: Move, prior: Priors, n_draws: int, n_clusters: int
) -> list[float]:
    """P-values of all summaries: drawn from the joint distribution, and after moves."""
    before, after = [], []
    for _ in range(n_draws):
        before.append(summary(tiny.draw_world(generator, prior, N_LABELS, n_clusters)))
        world = tiny.draw_world(generator, prior, N_LABELS, n_clusters)
        for turn in range(2):
            if turn:  # the last table stays, so that a state that does not fit it shows
                table = tiny.draw_counts(generator, world.state, world.cluster, tiny.DESIGN)
                world = world._replace(table=table)
            problem, state = tiny.problem_and_state(world)
            state = move(generator, problem, state, prior, new_pieces(problem))
            cluster = tiny.clusters_of(problem, state, world.table.shape)
            world = tiny.World(state, cluster, world.table)
        after.append(summary(world))
    first, second = np.array(before), np.array(after)
    return [
        ks_2samp(first[:, quantity], second[:, quantity]).pvalue
        for quantity in range(first.shape[1])
    ]


@pytest.mark.parametrize("by_sticks", [True, False], ids=["text", "script"])
@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
def test_areal_moves_keep_the_joint_distribution(move: Move, by_sticks: bool) -> None:
    """Eighteen summaries, false-alarm rate 1e-4 each."""
    generator = stream(71, "areal joint", move.__name__, int(by_sticks))
    prior = tiny.priors(by_sticks)
    p_values = compare_joint(generator, move, prior, DRAWS, tiny.N_CLUSTERS)
    assert min(p_values) > FALSE_ALARM, dict(enumerate(p_values))


@pytest.mark.parametrize("n_clusters", [2, 4])
@pytest.mark.parametrize("by_sticks", [True, False], ids=["text", "script"])
def test_exchanges_reach_every_cluster(by_sticks: bool, n_clusters: int) -> None:
    """They keep the joint distribution, false-alarm rate 1e-4 each, and leave no cluster out.

    A move that never happens keeps every distribution, so that the effects of all clusters must
    also have changed; each does in more than a tenth of the sweeps.
    """
    moved = np.zeros(n_clusters)

    def count_moved(
        generator: np.random.Generator,
        problem: Problem,
        state: State,
        priors: Priors,
        pieces: Pieces,
    ) -> State:
        after = sampler.by_exchange(generator, problem, state, priors, pieces)
        moved[:] += np.abs(after.effects - state.effects).max(axis=1) > 1e-6
        return sampler.by_clusters(generator, problem, after, priors, pieces)

    generator = stream(74, "areal exchanges", n_clusters, int(by_sticks))
    p_values = compare_joint(generator, count_moved, tiny.priors(by_sticks), FEWER, n_clusters)
    assert min(p_values) > FALSE_ALARM, dict(enumerate(p_values))
    assert (moved > 0.1 * 2 * FEWER).all(), moved


def test_exchanges_are_accepted_by_what_the_coarse_table_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exact ratio over the table's, whatever both are; no false alarms.

    The table has judged already: to judge by the exact ratio alone would count it twice.
    """
    tried = split_merge._try_exchanges
    told: list[tuple[int, float, float]] = []

    def recorded(generator: np.random.Generator, *arguments: Any) -> tuple[int, float]:
        n_passed, gain = tried(generator, *arguments)
        told.append((n_passed, gain, copy.deepcopy(generator).random()))
        return n_passed, gain

    def exact(clusters: split_merge.Clusters) -> float:
        return told[-1][1] + missed if clusters is now else 0.0

    monkeypatch.setattr(split_merge, "_try_exchanges", recorded)
    generator = stream(75, "areal exchanges")
    world = tiny.draw_world(generator, tiny.priors(), N_LABELS, tiny.N_CLUSTERS)
    problem, state = tiny.problem_and_state(world)
    pieces = new_pieces(problem)
    turn_forces(problem, pieces, float(np.log(state.log_rate_precision)))
    outcomes = set()
    for missed in generator.normal(size=200):
        weights = np.full(tiny.N_CLUSTERS, 1 / tiny.N_CLUSTERS)
        free = generator.normal(size=state.effects.shape)
        now = split_merge.Clusters(free.copy(), weights, state.centre, np.eye(3), 1.0, False)
        accepted = split_merge.exchange(generator, problem, pieces.forces, now, exact, 4)
        n_passed, _, uniform = told[-1]
        assert accepted == (n_passed if np.log(1.0 - uniform) < missed else 0)
        assert np.array_equal(now.free, free) == (not accepted)
        outcomes.add((n_passed > 0, accepted > 0))
    assert outcomes == {(True, True), (True, False), (False, False)}


def true_values(
    generator: np.random.Generator, problem: Problem, world: tiny.World
) -> NDArray[np.float64]:
    """Concentration, precision, log-likelihood and three label probabilities of a world."""
    _, state = tiny.problem_and_state(world)
    means = cluster_means(problem.design, state.effects)
    slopes, shares = np.empty(means.shape), np.empty(means.shape[0])
    precision = state.log_rate_precision
    pieces = new_pieces(problem)
    density, _ = marginal(problem, pieces, means, precision, state.log_weights, slopes, shares)
    # the log rates behind the table are gone: they have the same law given table and clusters
    log_rates = draw_table(generator, problem, state.members, means, precision)
    rates = np.exp(log_rates.reshape(world.table.shape))
    chosen = (rates / rates.sum(axis=1, keepdims=True)).ravel()[[0, 1, 5]]
    return np.array([state.concentration, precision, density, *chosen])


def ranks(by_sticks: bool, kept: int) -> NDArray[np.int64]:
    """Ranks of the true values among thinned draws: (simulation, quantity)."""
    prior = tiny.priors(by_sticks)
    ranks = np.empty((SIMULATIONS, 6), dtype=np.int64)
    cells = KeptCells(np.array([0, 0, 1]), np.array([0, 1, 1]), complete=False)
    for simulation in range(SIMULATIONS):
        generator = stream(72, "areal calibration", int(by_sticks), simulation)
        world = tiny.draw_world(generator, prior, N_LABELS)
        problem, _ = tiny.problem_and_state(world)
        true = true_values(generator, problem, world)
        chain = ArealChain(problem, cells, prior, tiny.N_CLUSTERS, 20)
        state = chain.advance(generator, init(generator, problem, tiny.N_CLUSTERS, 1), 40)
        drawn = np.empty((kept, 6))
        for draw in range(kept):
            state = chain.advance(generator, state, 5)
            seen = chain.observe(generator, state)
            names = ("concentration", "log_rate_precision", "log_likelihood")
            drawn[draw] = [*(seen.scalars[name] for name in names), *seen.label_probability]
        ranks[simulation] = (drawn < true).sum(axis=0)
    return ranks


@pytest.mark.parametrize("by_sticks", [True, False], ids=["text", "script"])
def test_areal_ranks_of_true_values_are_uniform(by_sticks: bool) -> None:
    """Chi-square over ten ranks, six quantities, false-alarm rate 1e-4 each."""
    rank_of_truth = ranks(by_sticks, 9)
    check_uniform_ranks(rank_of_truth, 9, 10)
