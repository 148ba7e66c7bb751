"""Weighted likelihoods of the DPMPM: both samplers against enumerated pseudo posteriors.

Where the likelihood of a record has a power, data have no distribution to be drawn from, so joint
tests do not apply; enumeration does. Seeds are fixed; false-alarm rates are how likely a correct
program was to fail when they were chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from math import lgamma
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import kstest
from tests.naive import dpmpm as naive
from tests.statistics import tiny

from understudy.randomness import stream
from understudy.synthesis.dpmpm import blocked, collapsed
from understudy.synthesis.dpmpm import level_prior_strengths as strengths
from understudy.synthesis.dpmpm.problem import Problem
from understudy.synthesis.dpmpm.weighted_classes import draw_weighted_classes

FALSE_ALARM = tiny.FALSE_ALARM
DRAWS = 6_000
POWERS: dict[str, naive.Powers] = {
    "fractions": {(0, 0): 0.25, (0, 1): 0.625, (1, 2): 0.9375},
    "nothing and all": {(0, 0): 0.0, (0, 1): 1.0, (1, 2): 0.5},
    "nothing": dict.fromkeys(sorted(set(tiny.ROWS)), 0.0),
}

Move = Callable[[np.random.Generator, Problem, collapsed.State], collapsed.State]


def weighted_problem(powers: naive.Powers, rows: naive.Rows = tiny.ROWS) -> Problem:
    """Bring rows with powers into the form of the kernels."""
    weights = np.array([powers[row] for row in sorted(set(rows))])
    return tiny.problem_of(rows, tiny.PRIORS)._replace(weights=weights)


def normalized(weights: dict[Any, float]) -> dict[Any, float]:
    total = sum(weights.values())
    return {key: value / total for key, value in weights.items()}


def whole_sweep(
    generator: np.random.Generator, problem: Problem, state: collapsed.State
) -> collapsed.State:
    after, _ = collapsed.step(generator, problem, state, (tiny.SHAPE, tiny.RATE), 1)
    return tiny.split_merge_move(generator, problem, after)


MOVES: list[Move] = [tiny.all_records, tiny.split_merge_move, whole_sweep]


def test_the_twin_is_the_integral_of_powers() -> None:
    """One variable of two levels, by quadrature."""
    powers: naive.Powers = {(0,): 0.3, (1,): 0.85}
    weighted = naive.weighted_log_marginal([(0,), (1,), (0,)], powers, [[0.7, 1.4]])

    def density(p: float) -> float:
        prior = p**-0.3 * (1 - p) ** 0.4 / np.exp(gammaln(0.7) + gammaln(1.4) - gammaln(2.1))
        return float(prior * p**0.6 * (1 - p) ** 0.85)

    assert np.exp(weighted) == pytest.approx(quad(density, 0, 1)[0], rel=1e-8)


@pytest.mark.parametrize("named", list(POWERS))
@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
def test_move_leaves_the_pseudo_posterior_unchanged(move: Move, named: str) -> None:
    """Partitions and concentration from exact draws; false-alarm rate 1e-4 each, per case."""
    rows, powers = tiny.ROWS, POWERS[named]
    problem = weighted_problem(powers)
    exact = normalized(naive.weighted_partitions(rows, powers, tiny.PRIORS, tiny.SHAPE, tiny.RATE))
    generator = stream(20270, "weighted", move.__name__, named)
    keys = list(exact)
    quantile = {
        k: tiny.concentration_sampler(k, len(rows), tiny.SHAPE, tiny.RATE)
        for k in range(1, len(rows) + 1)
    }
    seen: Counter[Hashable] = Counter()
    levels = np.empty(DRAWS)  # (draw,)
    for draw, chosen in enumerate(generator.choice(len(keys), DRAWS, p=list(exact.values()))):
        key = keys[chosen]
        concentration = float(quantile[len(key)][0](np.array(generator.random())))
        state = tiny.state_of_key(key, rows, problem, concentration)
        for _ in range(3):
            state = move(generator, problem, state)
        kept = collapsed.with_members(problem, state.members, 1.0).level_count
        assert np.array_equal(state.level_count, kept)  # sums of weights are exact
        seen[tiny.key_of_state(state, rows)] += 1
        levels[draw] = quantile[collapsed.n_occupied(state)][1](np.array(state.concentration))
    assert tiny.chi_square_p(seen, exact) > FALSE_ALARM
    assert kstest(levels, "uniform").pvalue > FALSE_ALARM


def by_members(key: Hashable, problem: Problem) -> Hashable:
    """Name a partition by the weighted level counts of its classes."""
    rows: Any = key
    distinct = sorted(set(tiny.ROWS))
    members = np.zeros((len(distinct), len(rows)), dtype=np.int64)  # (combination, class)
    for k, of_class in enumerate(rows):
        for row in of_class:
            members[distinct.index(row), k] += 1
    return tiny.counts_key(np.rint(16 * problem.level_counts(members)).astype(np.int64).T)


def test_blocked_sampler_has_the_truncated_pseudo_posterior() -> None:
    """Runs from one class and from three, thinned; false-alarm rate 1e-4 each."""
    powers = POWERS["fractions"]
    problem = weighted_problem(powers)
    truncated = naive.weighted_truncated(tiny.ROWS, powers, tiny.PRIORS, tiny.SHAPE, tiny.RATE, 3)
    exact: dict[Hashable, float] = {}
    for key, probability in normalized(truncated).items():
        counts = by_members(key, problem)
        exact[counts] = exact.get(counts, 0.0) + probability
    for started in (1, 3):
        generator = stream(20271, "blocked", started)
        seen: Counter[Hashable] = Counter()
        state = blocked.init(generator, problem, 3, started)
        for draw in range(12 * 4_000 + 200):
            state = blocked.step(generator, problem, state, (tiny.SHAPE, tiny.RATE))
            if draw >= 200 and draw % 12 == 0:
                sixteenths = np.rint(16 * state.level_count.T).astype(np.int64)
                seen[tiny.counts_key(sixteenths)] += 1
        assert tiny.chi_square_p(seen, exact) > FALSE_ALARM


def test_blocked_sampler_with_powers_of_zero_draws_from_the_prior() -> None:
    """Level probabilities and the sizes of classes; false-alarm rate 1e-4 each."""
    problem = weighted_problem(POWERS["nothing"])
    generator = stream(20272, "prior")
    state = blocked.init(generator, problem, 3, 3)
    draws = 4_000
    first = np.empty(draws)  # (draw,) probability of a level in a class
    seen: Counter[Hashable] = Counter()
    for draw in range(12 * draws):
        state = blocked.step(generator, problem, state, (tiny.SHAPE, tiny.RATE))
        if draw % 12 == 0:
            first[draw // 12] = state.probabilities[0, 1]
            seen[tuple(state.class_size.tolist())] += 1
    exact: dict[Hashable, float] = {}
    for classes in naive.assignments(tiny.ROWS, 3):
        sizes = tuple(map(len, classes))
        weight = np.exp(naive.log_truncated_weight(sizes, tiny.SHAPE, tiny.RATE))
        exact[sizes] = exact.get(sizes, 0.0) + float(weight)
    assert tiny.chi_square_p(seen, normalized(exact)) > FALSE_ALARM
    assert kstest(first, "beta", args=(0.7, 1.3)).pvalue > FALSE_ALARM


def test_classes_of_many_records_are_multinomial() -> None:
    """Binomial draws, one after another; four standard errors: false-alarm rate 4e-4."""
    rows = [(0, 0)] * 40 + [(0, 1)] * 3 + [(1, 2)] * 25
    powers: naive.Powers = {(0, 0): 0.5, (0, 1): 0.25, (1, 2): 0.75}
    problem = weighted_problem(powers, rows)
    generator = stream(20273, "multinomial")
    weights = np.array([0.5, 0.3, 0.2])
    tables = np.array([[0.9, 0.5, 0.1], [0.1, 0.5, 0.9], *([[1 / 3] * 3] * 3)])  # (level, class)
    size, count = np.empty(3, np.int64), np.empty((5, 3))
    sums, squares, draws = np.zeros(3), np.zeros(3), 4_000
    for _ in range(draws):
        assert not draw_weighted_classes(generator, problem, np.log(weights), tables, size, count)
        assert size.sum() == len(rows)
        assert count[:2].sum() == count[2:].sum() == sum(powers[row] for row in rows)
        sums, squares = sums + count[0], squares + count[0] ** 2
    expected = np.zeros(3)
    for row in rows[:43]:
        joint = weights * (tables[row[0]] / 3) ** powers[row]
        expected += powers[row] * joint / joint.sum()
    error = np.sqrt((squares / draws - (sums / draws) ** 2) / draws)
    assert (np.abs(sums / draws - expected) < 4 * error).all()


def test_weights_of_one_move_records_as_no_weights_do() -> None:
    """The weighted kernels with ones, by the same random numbers; no false alarms."""
    plain = tiny.problem_of(tiny.ROWS * 3, tiny.PRIORS)
    ones = plain._replace(weights=np.ones(plain.counts.size))
    first, second = (collapsed.init(stream(5, "ones"), problem, 3) for problem in (plain, ones))
    generators = stream(6, "ones"), stream(6, "ones")
    for _ in range(200):
        first = whole_sweep(generators[0], plain, first)
        second = whole_sweep(generators[1], ones, second)
        assert np.array_equal(first.members, second.members)
        assert np.array_equal(first.level_count, second.level_count)


@pytest.mark.parametrize("power", [0.0, 0.25, 0.9375])
def test_class_weights_are_ratios_of_marginal_likelihoods(power: float) -> None:
    """Of the class with the record and without it; no false alarms."""
    powers: naive.Powers = {(0, 0): 0.5, (1, 1): 0.125, (0, 1): power}
    members: list[tuple[int, ...]] = [(0, 0), (0, 0), (1, 1)]
    count = np.array([1.0, 0.125, 1.0, 0.125, 0.0])
    priors = (np.concatenate(tiny.PRIORS), np.array([2.0, 3.5]), np.array([-1, -1]))
    weight = collapsed._class_weight(np.array([0, 3]), power, 3, 1.125, count, *priors)
    after = naive.weighted_log_marginal([*members, (0, 1)], powers, tiny.PRIORS)
    before = naive.weighted_log_marginal(members, powers, tiny.PRIORS)
    assert weight == pytest.approx(3 * np.exp(after - before), rel=1e-10)


def test_weights_next_to_one_have_nearly_the_class_weights_of_one() -> None:
    """Ratios of gamma functions go over into those of counts."""
    rows = np.array([0, 3])
    count = np.array([4, 2, 1, 5, 0])
    given = (6, 6, count, np.concatenate(tiny.PRIORS), np.array([2.0, 3.5]), np.array([-1, -1]))
    alone = collapsed._class_weight(rows, 1, *given)
    assert alone == pytest.approx(6 * (4.7 / 8.0) * (6.0 / 9.5), rel=1e-12)
    assert collapsed._class_weight(rows, 1 - 1e-9, *given) == pytest.approx(alone, rel=1e-7)


def weighted_strength_density(
    counts: NDArray[np.float64], at: NDArray[np.float64], mean: float, sd: float
) -> NDArray[np.float64]:
    """Log density of the log strength, from the definition: counts (class, level)."""
    total = -0.5 * ((at - mean) / sd) ** 2
    for row in counts:
        total = total + gammaln(row.size * np.exp(at)) - gammaln(row.size * np.exp(at) + row.sum())
        for count in row:
            total = total + gammaln(np.exp(at) + count) - gammaln(np.exp(at))
    return np.asarray(total)


def test_strengths_are_drawn_from_weighted_counts() -> None:
    """Exact draws stay exact, by their distribution function; false-alarm rate 1e-4."""
    counts = np.array([[0.5, 2.25, 0.0], [0.0, 0.0, 0.0], [0.125, 0.0, 6.75]])  # (class, level)
    problem = Problem(
        levels=np.zeros((0, 1), np.int32),
        counts=np.zeros(0, np.int64),
        level_start=np.array([0, 3]),
        prior=np.ones(3),
        prior_sum=np.array([3.0]),
        holes=np.array([-1]),
        sampled=np.array([0]),
        strength_prior=(-0.4, 1.1),
    )
    grid = np.linspace(-8.0, 8.0, 8_001)
    log_density = weighted_strength_density(counts, grid, -0.4, 1.1)
    kernel = [
        strengths.weighted_log_density(counts.sum(axis=1), counts[counts > 0], 3, -0.4, 1.1, at)
        for at in grid[::400]
    ]
    assert np.ptp(np.array(kernel) - log_density[::400]) < 1e-8
    cumulative = np.cumsum(np.exp(log_density - log_density.max()))
    cumulative /= cumulative[-1]
    generator = stream(20274, "strengths")
    ranked = np.empty(3_000)
    for draw in range(ranked.size):
        start = np.exp(np.interp(generator.random(1), cumulative, grid))
        end = strengths.draw_strengths(generator, problem, start, counts)
        ranked[draw] = np.interp(np.log(end[0]), grid, cumulative)
    assert kstest(ranked, "uniform").pvalue > FALSE_ALARM


GRID = np.linspace(-5.0, 4.0, 181)  # (point,) log strength


def test_partition_and_strength_have_their_pseudo_posterior_together() -> None:
    """Sweeps from exact draws, by partition and half of the strength; false-alarm rate 1e-4."""
    powers, (mean, sd) = POWERS["fractions"], (-0.4, 1.1)
    problem = weighted_problem(powers)._replace(sampled=np.array([1]), strength_prior=(mean, sd))
    table: dict[Any, NDArray[np.float64]] = {}
    for partition in naive.partitions(len(tiny.ROWS)):
        classes: list[list[tuple[int, ...]]] = [
            [tiny.ROWS[record] for record in part] for part in partition
        ]
        fixed = naive.log_process_weight(len(classes), len(tiny.ROWS), tiny.SHAPE, tiny.RATE)
        counts = np.zeros((len(classes), 3))  # (class, level) of the second variable
        for k, members in enumerate(classes):
            first: naive.Powers = {(row[0],): 0.0 for row in members}
            fixed += lgamma(len(members)) + naive.weighted_log_marginal(
                [(row[0],) for row in members], first, [tiny.PRIORS[0]]
            )
            sums = np.zeros(2)
            for row in members:
                sums[row[0]] += powers[row]
                counts[k, row[1]] += powers[row]
            prior = np.array(tiny.PRIORS[0])
            fixed += float((gammaln(prior + sums) - gammaln(prior)).sum())
            fixed += float(gammaln(prior.sum()) - gammaln(prior.sum() + sums.sum()))
        weights = np.exp(fixed + weighted_strength_density(counts, GRID, mean, sd))
        key = naive.key_of(classes)
        table[key] = table.get(key, 0.0) + weights
    keys, weights = list(table), np.array(list(table.values()))  # (partition, point)
    weights /= weights.sum()
    middle = int(np.searchsorted(np.cumsum(weights.sum(axis=0)), 0.5))
    exact: dict[Hashable, float] = {}
    for key, row in zip(keys, weights, strict=True):
        exact |= {(key, False): float(row[:middle].sum()), (key, True): float(row[middle:].sum())}
    generator = stream(20275, "together")
    quantile = {
        k: tiny.concentration_sampler(k, len(tiny.ROWS), tiny.SHAPE, tiny.RATE)[0]
        for k in range(1, len(tiny.ROWS) + 1)
    }
    step = GRID[1] - GRID[0]
    seen: Counter[Hashable] = Counter()
    for cell in generator.choice(weights.size, 5_000, p=weights.ravel()):
        key, point = keys[cell // GRID.size], cell % GRID.size
        start = np.exp([GRID[point] + (generator.random() - 0.5) * step])
        concentration = float(quantile[len(key)](np.array(generator.random())))
        state = tiny.state_of_key(key, tiny.ROWS, problem, concentration, strengths=start)
        for _ in range(2):
            state = whole_sweep(generator, problem, state)
        above = bool(np.log(state.strengths[0]) >= GRID[middle] - step / 2)
        seen[tiny.key_of_state(state, tiny.ROWS), above] += 1
    assert tiny.chi_square_p(seen, exact) > FALSE_ALARM
