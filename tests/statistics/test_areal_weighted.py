"""Cells with powers in the DP-areal model: integrals, exact draws, and the whole pseudo posterior.

The posterior is checked against importance sampling from the prior, which shares with the sampler
the draws from the prior and nothing else. Seeds are fixed; false-alarm rates are stated.
"""

from __future__ import annotations

from math import lgamma, log

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid
from scipy.special import gammaln
from scipy.stats import kstest
from tests.naive import areal as naive
from tests.statistics import tiny_areal as tiny

from understudy.randomness import stream
from understudy.synthesis.areal import log_rates
from understudy.synthesis.areal import poisson_lognormal as counts
from understudy.synthesis.areal.problem import NEVER, problem_of_counts
from understudy.synthesis.areal.sampler import ArealChain
from understudy.synthesis.diagnostics import ess_bulk
from understudy.synthesis.stored_probabilities import KeptCells

TABLE = np.array([[0, 3, 1], [5, 0, 2]])  # (pattern, label)
POWERS = np.array([[0.75, 0.25, 0.75], [0.5, 0.125, 1.0]])  # (pattern, label)


def test_integrals_of_powers_are_those_of_the_definition() -> None:
    """From the pieces, the coarse table and directly; their constants worked out by hand."""
    problem = problem_of_counts(TABLE, tiny.DESIGN, POWERS)
    pieces = counts.new_pieces(problem)
    means = np.array([[-1.0, 0.4], [0.8, 1.9], [-14.0, 2.5]])  # (cluster, pattern)
    log_p = np.empty((problem.pair_size.size, 3))  # (pair, cluster)
    for precision in (0.8, 3.0):
        counts.log_probabilities(problem, pieces, means, precision, log_p)
        for cell, (count, power) in enumerate(zip(TABLE.ravel(), POWERS.ravel(), strict=True)):
            pair, pattern = problem.pair_of_cell[cell], cell // 3
            constant = -power * lgamma(count + 1.0) - power * count * log(power)
            constant += lgamma(power * count + 1.0)
            for cluster in range(3):
                mean = means[cluster, pattern]
                expected = naive.log_powered(int(count), float(power), float(mean), precision)
                assert log_p[pair, cluster] + constant == pytest.approx(expected, abs=1e-7)
    joint = counts.joint_probabilities(problem, pieces, means, 3.0, np.log(np.full(3, 1 / 3)))
    seen = np.isfinite(joint)
    assert joint[seen] == pytest.approx((log_p - log(3))[seen])


def test_a_power_of_zero_tells_nothing() -> None:
    problem = problem_of_counts(TABLE, tiny.DESIGN, np.zeros(TABLE.shape))
    assert (problem.shift == NEVER).all()
    means = np.array([[-1.0, 0.4], [3.0, 6.0]])
    log_p = np.empty((problem.pair_size.size, 2))
    counts.log_probabilities(problem, counts.new_pieces(problem), means, 1.3, log_p)
    assert np.abs(log_p).max() < 1e-12


def test_powers_of_one_are_no_powers() -> None:
    plain, ones = (
        problem_of_counts(TABLE, tiny.DESIGN, powers) for powers in (None, np.ones(TABLE.shape))
    )
    for first, second in zip(plain, ones, strict=True):
        assert np.array_equal(np.asarray(first), np.asarray(second))
        assert np.asarray(first).dtype == np.asarray(second).dtype


@pytest.mark.parametrize(("count", "power"), [(0, 0.25), (3, 0.5), (40, 0.125), (2, 0.0)])
def test_log_rates_are_exact_draws(count: int, power: float) -> None:
    """Kolmogorov's test against quadrature, and sums by cluster; false-alarm rate 1e-4 each."""
    generator, mean, precision = stream(81, "log rates", count), 0.6, 1.4
    shape = (1, 6_000)
    problem = problem_of_counts(np.full(shape, count), np.ones((1, 1)), np.full(shape, power))
    members = problem.pair_size[:, None].copy()  # (pair, cluster)
    drawn = log_rates.draw_table(generator, problem, members, np.array([[mean]]), precision)
    grid = np.linspace(mean - 12.0, mean + 12.0, 60_001)
    heights = power * (count * grid - np.exp(grid)) - 0.5 * precision * (grid - mean) ** 2
    cumulative = cumulative_trapezoid(np.exp(heights - heights.max()), grid, initial=0.0)
    share = cumulative / cumulative[-1]
    assert kstest(drawn, lambda y: np.interp(y, grid, share)).pvalue > 1e-4
    means = np.array([[mean]])
    sizes, sums, _ = log_rates.sum_log_rates(generator, problem, members, means, precision)
    spread = float(np.std(drawn))
    assert abs(sums[0, 0] / sizes[0, 0] - drawn.mean()) < 4 * spread * np.sqrt(2 / drawn.size)


def test_a_count_that_loses_a_record_loses_a_power_of_its_rate() -> None:
    """E[rate^-power] is the ratio of the integrals; four standard errors, false alarms 6e-5."""
    count, power, mean, precision = 3, 0.5, 0.4, 2.0
    shape = (1, 20_000)
    problem = problem_of_counts(np.full(shape, count), np.ones((1, 1)), np.full(shape, power))
    members = problem.pair_size[:, None].copy()
    drawn = log_rates.draw_table(
        stream(82, "left out"), problem, members, np.array([[mean]]), precision
    )
    lost = np.exp(-power * drawn)
    fewer = naive.log_powered(count - 1, power, mean, precision)
    expected = np.exp(fewer - naive.log_powered(count, power, mean, precision)) / count**power
    assert abs(lost.mean() - expected) < 4 * lost.std() / np.sqrt(lost.size)


def by_importance(
    generator: np.random.Generator, n_states: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights (state,) and numbers (state, number) of states drawn from the prior."""
    nodes, node_weights = np.polynomial.hermite_e.hermegauss(48)
    node_weights = node_weights / node_weights.sum()
    log_weights = np.empty(n_states)
    numbers = np.empty((n_states, 3 + TABLE.size))
    for index in range(n_states):
        state = tiny.draw_state(generator, tiny.priors(), tiny.N_CLUSTERS, tiny.DESIGN)
        means = tiny.DESIGN @ state.effects.T  # (pattern, cluster)
        rates = means[..., None] + nodes / np.sqrt(state.log_rate_precision)  # (.., node)
        weights = np.exp(state.log_weights)[:, None] * node_weights  # (cluster, node)
        raised = np.exp(np.minimum(rates, 700.0))[:, None]  # (pattern, 1, cluster, node)
        poisson = TABLE[:, :, None, None] * rates[:, None] - raised
        poisson -= gammaln(TABLE + 1.0)[:, :, None, None]
        terms = weights * np.exp(POWERS[:, :, None, None] * poisson)
        of_cell = terms.sum(axis=(2, 3))  # (pattern, label)
        log_weights[index] = np.log(of_cell).sum()
        expected = (terms * rates[:, None]).sum(axis=(2, 3)) / of_cell  # (pattern, label)
        scalars = (state.concentration, np.log(state.log_rate_precision), state.centre[0])
        numbers[index] = [*scalars, *expected.ravel()]
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum(), numbers


@pytest.mark.slow
def test_sampler_has_the_pseudo_posterior() -> None:
    """Nine means, 4.5 standard errors of the difference: false-alarm rate below 1e-4."""
    weights, numbers = by_importance(stream(83, "importance"), 8_000)
    expected = weights @ numbers
    error = np.sqrt(weights**2 @ (numbers - expected) ** 2)
    problem = problem_of_counts(TABLE, tiny.DESIGN, POWERS)
    cells = KeptCells(np.repeat([0, 1], 3), np.tile(np.arange(3), 2), True)
    chain = ArealChain(problem, cells, tiny.priors(), tiny.N_CLUSTERS, 200)
    drawn = np.empty((2, 1_500, numbers.shape[1]))  # (chain, draw, number)
    for number in range(2):
        generator = stream(84, "chain", number)
        state = chain.advance(generator, chain.start(generator, number), 300)
        for draw in range(drawn.shape[1]):
            state = chain.advance(generator, state, 2)
            snapshot = chain.observe(generator, state).snapshot
            rates = snapshot["probabilities"] * snapshot["pattern_rates"][:, None]
            scalars = (state.concentration, np.log(state.log_rate_precision), state.centre[0])
            drawn[number, draw] = [*scalars, *np.log(rates).ravel()]
    for number in range(numbers.shape[1]):
        ours = drawn[:, :, number]
        own = ours.std() / np.sqrt(ess_bulk(ours) or 1.0)
        assert own < 0.1 * numbers[:, number].std() + 0.05  # there is something to compare
        assert abs(ours.mean() - expected[number]) < 4.5 * np.hypot(own, error[number]), number
