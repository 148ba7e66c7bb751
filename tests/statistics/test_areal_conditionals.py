"""Every conditional of the DP-areal sampler against densities worked out from the definition.

Integrals against adaptive integration, exact draws against one-dimensional quadrature, log
densities against the twins in ``tests/naive/areal.py``, as differences between random points, with
changes of variables written out or done numerically. Seeds are fixed; stochastic tests state their
false-alarm rates.
"""

from __future__ import annotations

from collections import Counter
from math import exp, lgamma

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.special import logsumexp
from scipy.stats import beta, dirichlet, kstest, norm
from tests.naive import areal as naive
from tests.statistics import tiny_areal as tiny
from tests.statistics.tiny import chi_square_p

from understudy.randomness import stream
from understudy.synthesis.areal import clusters, covariance, effects, hamiltonian, log_rates
from understudy.synthesis.areal import poisson_lognormal as counts
from understudy.synthesis.areal.problem import problem_of_counts
from understudy.synthesis.areal.split_merge import log_prior_of_weights
from understudy.synthesis.areal.state import Priors, State, effect_precision
from understudy.synthesis.slice_sampling import slice_draw

FALSE_ALARM = 1e-4
PRECISIONS = (0.05, 0.4, 1.0, 2.5, 11.0, 300.0)
MEANS = (-9.0, -2.3, 0.0, 1.7, 4.0)
COUNTS = (0, 1, 2, 7, 51)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_integrals_are_those_of_adaptive_integration(precision: float) -> None:
    """To 1e-10, and both derivatives to what finite differences can tell; no false alarms."""
    for mean in MEANS:
        for count in COUNTS:
            integral, slope, bend = counts.poisson_lognormal(count, mean, precision)
            expected = naive.log_poisson_lognormal(count, mean, precision)
            assert integral == pytest.approx(expected, abs=1e-10, rel=1e-12)
            step = 1e-4
            up = counts.poisson_lognormal(count, mean + step, precision)
            down = counts.poisson_lognormal(count, mean - step, precision)
            assert slope == pytest.approx((up[0] - down[0]) / (2 * step), abs=1e-5, rel=1e-6)
            assert bend == pytest.approx((up[1] - down[1]) / (2 * step), abs=1e-5, rel=1e-6)


def test_probabilities_of_all_counts_add_up_to_one() -> None:
    total = sum(exp(counts.poisson_lognormal(count, 0.8, 2.0)[0]) for count in range(400))
    assert total == pytest.approx(1.0, abs=1e-9)


def test_remembered_integrals_are_the_integrals() -> None:
    """To 1e-9 where a count has any probability worth the name; inside and outside the lattice."""
    table = np.array([[0, 1, 2, 7, 15, 51]])
    problem = problem_of_counts(table, np.ones((1, 1)))
    means = np.concatenate([np.linspace(-13.0, 6.9, 61), [-40.0, 9.0]])[:, None]  # (cluster, 1)
    pieces = counts.new_pieces(problem)
    log_p = np.empty((6, means.size))  # (pair, cluster)
    for precision in (0.07, 0.9, 1.003, 2.5, 33.0, 0.07):  # and back to one that was forgotten
        counts.log_probabilities(problem, pieces, means, precision, log_p)
        for pair, count in enumerate(problem.pair_count):
            for cluster, mean in enumerate(means[:, 0]):
                expected = counts.poisson_lognormal(count, mean, precision)[0]
                assert log_p[pair, cluster] == pytest.approx(expected, abs=1e-9, rel=1e-8)


@pytest.mark.parametrize("by_sticks", [True, False], ids=["text", "script"])
def test_likelihood_of_a_table_is_that_of_its_twin(by_sticks: bool) -> None:
    """Also its slopes in log weights, means and log precision, by differences."""
    generator = stream(61, "likelihood", int(by_sticks))
    world = tiny.draw_world(generator, tiny.priors(by_sticks), 4)
    problem, state = tiny.problem_and_state(world)
    pieces = counts.new_pieces(problem)
    means = effects.cluster_means(problem.design, state.effects)
    slopes, shares = np.empty(means.shape), np.empty(means.shape[0])

    def likelihood(means: np.ndarray, log_precision: float, log_weights: np.ndarray) -> float:
        unused = np.empty(means.shape), np.empty(means.shape[0])
        precision = float(np.exp(log_precision))
        density = counts.marginal(problem, pieces, means, precision, log_weights, *unused)
        return float(density[0])

    at = float(np.log(state.log_rate_precision))
    log_likelihood, on_precision = counts.marginal(
        problem, pieces, means, state.log_rate_precision, state.log_weights, slopes, shares
    )
    assert log_likelihood == pytest.approx(
        naive.log_marginal(world.table, tiny.DESIGN, state), abs=1e-7
    )
    step = 1e-4
    weights = state.log_weights
    up, down = likelihood(means, at + step, weights), likelihood(means, at - step, weights)
    assert on_precision == pytest.approx((up - down) / (2 * step), abs=1e-5)
    for cluster in range(means.shape[0]):
        there = np.zeros(means.shape[0])
        there[cluster] = step
        up, down = likelihood(means, at, weights + there), likelihood(means, at, weights - there)
        assert shares[cluster] == pytest.approx((up - down) / (2 * step), abs=1e-5)
        for pattern in range(means.shape[1]):
            moved = np.zeros_like(means)
            moved[cluster, pattern] = step
            up, down = (
                likelihood(means + moved, at, weights),
                likelihood(means - moved, at, weights),
            )
            assert slopes[cluster, pattern] == pytest.approx((up - down) / (2 * step), abs=1e-5)


def test_clusters_that_are_passed_over_are_worth_nothing() -> None:
    """Weights from a half to 1e-19, in any order; some counts fit a light cluster only."""
    generator = stream(62, "passed over")
    table = np.array([[0, 0, 1, 2, 40, 0], [3, 0, 0, 1, 0, 250]])  # (pattern, label)
    problem = problem_of_counts(table, np.array([[1.0, 0.0], [1.0, 1.0]]))
    pieces = counts.new_pieces(problem)
    log_weights = generator.permutation(np.log(0.5) - 3.0 * np.arange(15))  # (cluster,)
    means = generator.normal(-1.0, 2.0, (15, 2))  # (cluster, pattern)
    slopes, shares = np.empty(means.shape), np.empty(15)
    density, _ = counts.marginal(problem, pieces, means, 1.7, log_weights, slopes, shares)
    log_p = np.empty((problem.pair_size.size, 15))  # (pair, cluster)
    counts.log_probabilities(problem, pieces, means, 1.7, log_p)
    joint = log_p + log_weights  # (pair, cluster)
    whole = logsumexp(joint, axis=1)  # (pair,)
    assert density == pytest.approx(float(problem.pair_size @ whole), abs=1e-7)
    expected = problem.pair_size @ np.exp(joint - whole[:, None])  # (cluster,)
    assert shares == pytest.approx(expected, abs=1e-7)
    assert (expected < 1e-9).sum() > 3  # there is something to pass over
    drawn_from = counts.joint_probabilities(problem, pieces, means, 1.7, log_weights)
    seen = np.isfinite(drawn_from)
    assert drawn_from[seen] == pytest.approx(joint[seen])
    left_out = np.where(seen, 0.0, np.exp(joint - whole[:, None])).sum(axis=1)  # (pair,)
    assert 0.0 < left_out.max() < 1e-8


@pytest.mark.parametrize(
    ("count", "mean", "precision"),
    [(0, -1.0, 2.0), (0, 2.0, 0.3), (3, 0.5, 1.5), (9, 1.0, 20.0), (51, 2.0, 0.8), (400, 5.0, 2.0)],
)
def test_log_rates_are_exact_draws(count: int, mean: float, precision: float) -> None:
    """Kolmogorov's test against quadrature, both envelopes; false-alarm rate 1e-4 each."""
    generator = stream(62, "log rates", count)
    problem = problem_of_counts(np.full((1, 20_000), count), np.ones((1, 1)))
    members = problem.pair_size[:, None].copy()  # (pair, cluster)
    drawn = log_rates.draw_table(generator, problem, members, np.array([[mean]]), precision)
    mode = naive.highest(count, mean, precision)
    wide = 12.0 / np.sqrt(precision)
    grid = np.linspace(mode - wide, mode + min(wide, 12.0), 40_001)
    heights = [naive.log_integrand(y, count, mean, precision) for y in grid]
    cumulative = cumulative_trapezoid(np.exp(np.array(heights) - max(heights)), grid, initial=0.0)
    p = kstest(drawn, lambda y: np.interp(y, grid, cumulative / cumulative[-1])).pvalue
    assert p > FALSE_ALARM


def test_sums_of_log_rates_are_those_of_the_table() -> None:
    """Means and mean squares of many cells, four standard errors: false-alarm rate 4e-4."""
    generator = stream(63, "sums")
    problem = problem_of_counts(np.tile([0, 0, 2], (2, 4_000)), tiny.DESIGN)
    means = np.array([[-0.5, 0.3], [0.8, 1.1]])  # (cluster, pattern)
    members = np.stack([problem.pair_size // 4, problem.pair_size - problem.pair_size // 4], axis=1)
    sizes, sums, squares = log_rates.sum_log_rates(generator, problem, members, means, 1.3)
    assert np.array_equal(sizes, [[3000, 3000], [9000, 9000]])
    for cluster in range(2):
        for pattern in range(2):
            first, second = 0.0, 0.0
            for pair in range(*problem.pair_start[pattern : pattern + 2]):
                count, mean = int(problem.pair_count[pair]), means[cluster, pattern]
                share = members[pair, cluster] / sizes[cluster, pattern]
                _, slope, bend = counts.poisson_lognormal(count, mean, 1.3)
                apart, spread = slope / 1.3, (bend / 1.3 + 1.0) / 1.3
                first += share * (mean + apart)
                second += share * (spread + apart**2)
            n = sizes[cluster, pattern]
            assert sums[cluster, pattern] / n == pytest.approx(first, abs=4 * 0.9 / np.sqrt(n))
            assert squares[cluster, pattern] / n == pytest.approx(second, abs=4 * 1.6 / np.sqrt(n))


@pytest.mark.parametrize("size", [3, 60])
def test_clusters_of_a_pair_are_multinomial(size: int) -> None:
    """Number of cells in the second of three clusters; false-alarm rate 1e-4 each."""
    from scipy.stats import binom

    generator = stream(64, "members", size)
    log_weights, log_p = np.log([0.5, 0.2, 0.3]), np.array([[-2.0, -1.0, -3.0]])
    members = np.empty((1, 3), dtype=np.int64)
    seen: Counter[int] = Counter()
    for _ in range(20_000):
        clusters.draw_members(generator, np.array([size]), log_weights + log_p, members)
        assert members.sum() == size
        seen[int(members[0, 1])] += 1
    joint = np.exp(log_weights + log_p[0])
    share = joint[1] / joint.sum()
    exact = {members: float(binom.pmf(members, size, share)) for members in range(size + 1)}
    assert chi_square_p(seen, exact) > FALSE_ALARM


@pytest.mark.parametrize("by_sticks", [True, False], ids=["text", "script"])
def test_concentration_is_drawn_from_its_conditional(by_sticks: bool) -> None:
    """Exact draws go through the slice and stay exact; false-alarm rate 1e-4 each.

    The probability of the sizes is summed over sticks, or taken from Polya's urn.
    """
    generator = stream(65, "concentration", int(by_sticks))
    sizes, prior = np.array([5, 0, 2]), (2.0, 1.5)
    grid = np.linspace(-9.0, 4.0, 8001)

    def urn(concentration: float) -> float:
        total = 0.0
        if by_sticks:  # integral of V^n (1 - V)^behind under Beta(1, concentration), stick by stick
            for here, behind in ((5, 2), (0, 2)):
                total += np.log(concentration) + lgamma(1 + here) + lgamma(concentration + behind)
                total -= lgamma(1 + here + concentration + behind)
            return total
        seen = 0
        for cluster, size in enumerate(sizes):
            for already in range(size):
                total += np.log(concentration / 3 + already) - np.log(concentration + seen)
                seen += 1
            assert cluster < 3
        return total

    log_density = np.array([urn(exp(x)) + 2.0 * x - 1.5 * exp(x) for x in grid])
    cumulative = cumulative_trapezoid(np.exp(log_density - log_density.max()), grid, initial=0.0)
    cumulative /= cumulative[-1]
    drawn = [
        clusters.draw_concentration(
            generator, sizes, exp(np.interp(generator.random(), cumulative, grid)), prior, by_sticks
        )
        for _ in range(8_000)
    ]
    p = kstest(np.log(drawn), lambda x: np.interp(x, grid, cumulative)).pvalue
    assert p > FALSE_ALARM


@pytest.mark.parametrize("by_sticks", [True, False], ids=["text", "script"])
def test_weights_follow_the_sizes(by_sticks: bool) -> None:
    """First and second weight against beta distributions; false-alarm rate 1e-4 each."""
    generator = stream(66, "weights", int(by_sticks))
    sizes, concentration = np.array([4, 0, 3]), 1.7
    drawn = np.exp(
        [
            clusters.draw_log_weights(generator, sizes, concentration, by_sticks)
            for _ in range(8_000)
        ]
    )
    assert np.allclose(drawn.sum(axis=1), 1.0)
    if by_sticks:
        first, second = beta(5.0, concentration + 3), beta(1.0, concentration + 3)
    else:
        share = concentration / 3
        first, second = beta(4 + share, 3 + 2 * share), beta(share, 3 + share)
    assert kstest(drawn[:, 0], first.cdf).pvalue > FALSE_ALARM
    assert kstest(drawn[:, 1] / (1 - drawn[:, 0]), second.cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("by_sticks", [True, False])
def test_density_of_the_weights_in_exchanges_is_that_of_its_twin(by_sticks: bool) -> None:
    """Differences between points of the simplex: sticks with their Jacobian, or Dirichlet."""
    generator = stream(61, "weights", int(by_sticks))

    def twin(weights: np.ndarray, concentration: float) -> float:
        if not by_sticks:
            return float(dirichlet.logpdf(weights, np.full(5, concentration / 5)))
        rests = 1.0 - np.concatenate([[0.0], np.cumsum(weights[:-2])])  # (cluster - 1,) dw / dV
        return naive.log_sticks(weights, concentration) - float(np.log(rests).sum())

    for concentration in (0.3, 1.0, 4.0):
        first, second = generator.dirichlet(np.full(5, 2.0), size=2)
        difference = log_prior_of_weights(second, concentration, by_sticks)
        difference -= log_prior_of_weights(first, concentration, by_sticks)
        assert difference == pytest.approx(
            twin(second, concentration) - twin(first, concentration), abs=1e-9
        )


def test_effects_and_centre_are_drawn_from_their_normal_conditionals() -> None:
    """Standardized by the joint density's own curvature; false-alarm rate 1e-4, fifteen times."""
    generator = stream(67, "effects")
    prior = tiny.priors()
    state = tiny.draw_state(generator, prior, 3, tiny.DESIGN)
    precision = 1.7
    log_rates = {0: [(0, 0.3), (0, 1.1), (1, -0.4)], 1: [(1, 2.0)], 2: []}  # cluster: (pattern, y)
    sizes, sums = np.zeros((3, 2)), np.zeros((3, 2))
    for cluster, cells in log_rates.items():
        for pattern, y in cells:
            sizes[cluster, pattern] += 1
            sums[cluster, pattern] += y
    inverse = np.linalg.inv(naive.effect_covariance(state))
    assert np.allclose(effect_precision(state), inverse)
    drawn = np.empty((6_000, 3, 3))
    centres = np.empty((6_000, 3))
    own = np.array([state.mean_precision, *2 * [state.slope_mean_precision]])
    occupied = np.array([True, True, False])
    for draw in range(drawn.shape[0]):
        effects.draw_effects(
            generator, tiny.DESIGN, sizes, sums, precision, state.centre, inverse, drawn[draw]
        )
        effects.draw_centre(generator, state.effects, occupied, inverse, own, centres[draw])

    def standard(values: np.ndarray, curvature: np.ndarray, moment: np.ndarray) -> None:
        root = np.linalg.cholesky(curvature)
        apart = (values - np.linalg.solve(curvature, moment)) @ root  # standard normal, independent
        for effect in range(3):
            assert kstest(apart[:, effect], norm.cdf).pvalue > FALSE_ALARM
        assert abs(np.corrcoef(apart.T)[0, 1]) < 0.06

    for cluster, cells in log_rates.items():
        curvature, moment = inverse.copy(), inverse @ state.centre
        for pattern, y in cells:
            row = tiny.DESIGN[pattern]
            curvature += precision * np.outer(row, row)
            moment = moment + precision * y * row
        standard(drawn[:, cluster], curvature, moment)
    used = state.effects[occupied]
    standard(centres, np.diag(own) + 2 * inverse, inverse @ used.sum(axis=0))


def test_density_of_the_covariance_is_that_of_its_twin() -> None:
    """Differences between random points, LKJ by its determinant; no false alarms."""
    generator = stream(68, "covariance")
    deviations = generator.standard_normal((5, 4))
    heights = []
    for _ in range(6):
        log_scales, bound = naive.draw_from_prior(generator, 4, 1.5, 3.0, 0.8)
        density = covariance.log_density(deviations, log_scales, bound, 1.5, 3.0, 0.8)
        scales = np.exp(log_scales)
        matrix = naive.correlation(bound, 4) * np.outer(scales, scales)
        factor = covariance.covariance_factor(log_scales, bound)
        assert np.allclose(factor @ factor.T, matrix)
        assert np.allclose(covariance.slope_precision(log_scales, bound) @ matrix, np.eye(4))
        expected = naive.log_covariance_prior(log_scales, bound, 1.5, 3.0, 0.8)
        expected += sum(naive.log_normal(row, np.zeros(4), matrix) for row in deviations)
        heights.append(density - expected)
    assert np.ptp(heights) < 1e-5


def test_a_moved_row_is_worked_out_without_its_neighbours_in_front() -> None:
    """One number after another changes; the density by rows is that of everything anew."""
    generator = stream(75, "rows")
    deviations = generator.standard_normal((6, 5))
    log_scales, bound = naive.draw_from_prior(generator, 5, 2.0, 3.0, 1.0)
    prior = (2.0, 3.0, 1.0)
    factor = covariance.correlation_factor(bound, 5)
    solved, heights = np.empty((6, 5)), np.empty(5)
    arrays = (factor, solved, heights)
    covariance._height_from(deviations, log_scales, bound, prior, 0, *arrays)
    rows = [*range(5), *(row for row in range(5) for _ in range(row))]  # of scales, correlations
    for number in generator.permutation(15):
        assert covariance._row_of(number, 5) == rows[number]
        values, index = (log_scales, number) if number < 5 else (bound, number - 5)
        values[index] += 0.3 * generator.standard_normal()
        height = covariance._height_from(
            deviations, log_scales, bound, prior, rows[number], *arrays
        )
        expected = covariance.log_density(deviations, log_scales, bound, *prior)
        assert height == pytest.approx(expected, abs=1e-10)


def test_covariance_without_data_stays_at_its_prior() -> None:
    """Correlations of LKJ(2) in three dimensions, half-t scales; false-alarm rate 1e-4 each."""
    from scipy.stats import t

    generator = stream(69, "prior")
    nothing = np.empty((0, 3))
    kept = []
    for _ in range(4_000):
        log_scales, bound = naive.draw_from_prior(generator, 3, 2.0, 3.0, 1.0)
        covariance.move_covariance(generator, nothing, log_scales, bound, 2.0, 3.0, 1.0)
        matrix = naive.correlation(bound, 3)
        kept.append([matrix[1, 0], matrix[2, 0], matrix[2, 1], *np.exp(log_scales)])
    drawn = np.array(kept)
    for index in range(3):  # each correlation of LKJ(s) in R dimensions: Beta(s + R / 2 - 1) twice
        assert kstest((drawn[:, index] + 1) / 2, beta(2.5, 2.5).cdf).pvalue > FALSE_ALARM
        assert kstest(drawn[:, 3 + index], lambda x: 2 * t(3).cdf(x) - 1).pvalue > FALSE_ALARM


@pytest.mark.parametrize("by_sticks", [True, False], ids=["text", "script"])
def test_density_of_the_free_numbers_is_that_of_its_twin(by_sticks: bool) -> None:
    """Differences between random points, with all changes of variables; slopes by differences."""
    generator = stream(70, "free", int(by_sticks))
    prior = tiny.priors(by_sticks)
    world = tiny.draw_world(generator, prior, 3)
    problem, state = tiny.problem_and_state(world)
    pieces = counts.new_pieces(problem)
    frame = hamiltonian.frame_of(state, prior)
    heights = []
    for _ in range(5):
        there = tiny.draw_state(generator, prior, tiny.N_CLUSTERS, tiny.DESIGN)._replace(
            members=state.members,
            bound=state.bound,
            mean_precision=state.mean_precision,
            slope_mean_precision=state.slope_mean_precision,
        )
        if not by_sticks:
            there = there._replace(concentration=state.concentration)
        free = hamiltonian.free_numbers(generator, frame, there)
        back = hamiltonian.state_of(frame, free, there)
        assert np.allclose(back.effects, there.effects)
        assert np.allclose(np.exp(back.log_weights), np.exp(there.log_weights))
        density, slopes = hamiltonian.log_density(problem, pieces, frame, free)
        for number in range(free.size):
            step = np.zeros(free.size)
            step[number] = 1e-5
            up = hamiltonian.log_density(problem, pieces, frame, free + step)[0]
            down = hamiltonian.log_density(problem, pieces, frame, free - step)[0]
            assert slopes[number] == pytest.approx((up - down) / 2e-5, abs=1e-4, rel=1e-4)
        heights.append(density - _log_joint(world.table, there, prior, free, by_sticks))
    assert np.ptp(heights) < 1e-6


def _log_joint(
    table: np.ndarray, state: State, prior: Priors, free: np.ndarray, by_sticks: bool
) -> float:
    """Log of likelihood and prior in the free numbers, changes of variables written out."""
    total = naive.log_marginal(table, tiny.DESIGN, state)
    matrix = naive.effect_covariance(state)
    for of_cluster in state.effects:
        total += naive.log_normal(of_cluster, state.centre, matrix)
        total += 0.5 * np.linalg.slogdet(matrix)[1]  # from effects to standardized effects
    own = np.array([state.mean_precision, *2 * [state.slope_mean_precision]])
    total += float(-0.5 * (own * state.centre**2).sum())
    scales = np.exp(state.log_scales) / prior.scale
    degrees = prior.scale_degrees
    total += float((-0.5 * (degrees + 1) * np.log1p(scales**2 / degrees)).sum())
    total += float(state.log_scales.sum())
    for value, numbers in (
        (state.intercept_precision, prior.intercept_precision),
        (state.log_rate_precision, prior.log_rate_precision),
    ):
        total += naive.log_gamma_density(value, numbers) + np.log(value)
    if by_sticks:
        weights = np.exp(state.log_weights)
        total += naive.log_sticks(weights, state.concentration)
        total += naive.log_gamma_density(state.concentration, prior.concentration)
        total += np.log(state.concentration)
        rest = 1.0
        for effects, weight in enumerate(weights[:-1]):  # V = 1 - exp(-exp(e) / concentration)
            stick = weight / rest
            total += np.log(1 - stick) + free[-3 + effects] - np.log(state.concentration)
            rest -= weight
        return float(total)
    share = state.concentration / 3
    return float(total + (share * free[-3:] - np.exp(free[-3:])).sum())


def test_slices_keep_a_density() -> None:
    """A density with two humps; exact draws stay exact; false-alarm rate 1e-4."""
    generator = stream(73, "slices")

    def log_density(x: float) -> float:
        return float(np.logaddexp(-0.5 * (x + 2) ** 2, np.log(0.5) - 2.0 * (x - 1.5) ** 2))

    drawn = []
    for _ in range(8_000):  # weights of the humps: 1 and 0.5 * 0.5
        if generator.random() < 0.8:
            here = generator.standard_normal() - 2.0
        else:
            here = 0.5 * generator.standard_normal() + 1.5
        drawn.append(slice_draw(generator, log_density, here, 1.0)[0])
    p = kstest(drawn, lambda x: 0.8 * norm.cdf(x + 2) + 0.2 * norm.cdf((x - 1.5) / 0.5)).pvalue
    assert p > FALSE_ALARM
