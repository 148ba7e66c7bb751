"""Every conditional against the joint density, one at a time; kernels against their slow twins.

A conditional is right if its density is proportional to the joint density as the free part varies.
Draws of each kernel, everything else held still, are compared with the normalized joint density,
worked out by the twins in ``tests/naive``. Seeds are fixed; false-alarm rates are how likely a
correct program was to fail when they were chosen.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from math import lgamma, log

import numpy as np
import pytest
from scipy.stats import beta, binom, gamma, kstest
from tests.naive import dpmpm as naive
from tests.statistics import tiny

from understudy.randomness import stream
from understudy.synthesis.dpmpm import blocked, collapsed, parameters, split_merge
from understudy.synthesis.dpmpm.problem import Problem

FALSE_ALARM = 1e-4
PROBLEM = tiny.problem_of(tiny.ROWS, tiny.PRIORS)


def log_joint(classes: list[naive.Rows], concentration: float) -> float:
    """Log of the joint density of data and partition given the concentration."""
    used = [members for members in classes if members]
    total = len(used) * log(concentration)
    return total + sum(
        lgamma(len(members)) + naive.log_marginal(members, tiny.PRIORS) for members in used
    )


def test_one_record_joins_classes_in_proportion_to_the_joint_density() -> None:
    """Collapsed conditional of a single record; false-alarm rate 1e-4."""
    classes: list[naive.Rows] = [[(0, 0), (0, 1)], [(0, 0), (1, 2)], []]
    moving = (1, 2)
    distinct: list[tuple[int, ...]] = sorted(set(tiny.ROWS))
    concentration = 0.9
    weights = []
    for joining in range(3):
        joined = [
            [*members, moving] if here == joining else members
            for here, members in enumerate(classes)
        ]
        weights.append(np.exp(log_joint(joined, concentration)))
    exact = {class_: weight / sum(weights) for class_, weight in enumerate(weights)}
    generator = stream(31, "one record")
    seen: Counter[Hashable] = Counter()
    for _ in range(20_000):
        start = int(generator.integers(0, 3))
        members = np.zeros((3, 3), dtype=np.int32)
        for joining, rows in enumerate(classes):
            for row in rows:
                members[distinct.index(row), joining] += 1
        members[distinct.index(moving), start] += 1
        before = members.copy()
        state = collapsed.with_members(PROBLEM, members, concentration)
        after = _visit_only(generator, PROBLEM, state, distinct.index(moving), start)
        change = after - before
        change[distinct.index(moving), start] += 1
        seen[int(np.flatnonzero(change[distinct.index(moving)])[0])] += 1
    assert tiny.chi_square_p(seen, exact) > FALSE_ALARM


def _visit_only(
    generator: np.random.Generator,
    problem: Problem,
    state: collapsed.State,
    combination: int,
    start: int,
) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """Visit one record of a class, by giving it a combination of its own with the same levels."""
    levels = np.vstack([problem.levels, problem.levels[combination]])
    members = np.vstack([state.members, np.zeros_like(state.members[:1])])
    members[combination, start] -= 1
    members[-1, start] += 1
    counts = np.zeros(levels.shape[0], dtype=np.int64)
    counts[-1] = 1
    alone = problem._replace(levels=levels, counts=counts)
    moved = collapsed.move_records(
        generator, alone, collapsed.with_members(alone, members, state.concentration), 1
    )[0].members
    result = moved[:-1].copy()
    result[combination] += moved[-1]
    return np.asarray(result[:, :3])


def test_sweep_is_that_of_its_twin() -> None:
    """The same generator gives the same moves, at any number of visits; no false alarms."""
    rows = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]
    counts = [3, 1, 4, 2, 1]
    priors = [[0.7, 1.3], [0.5, 1.0, 2.0]]
    problem = tiny.problem_of(
        [row for row, n in zip(rows, counts, strict=True) for _ in range(n)], priors
    )
    for visits in (1, 2, 100):
        kernel, twin = stream(32, visits), stream(32, visits)
        state = collapsed.init(kernel, problem, 3, 1.7)
        collapsed.init(twin, problem, 3, 1.7)
        expected = state.members.tolist()
        for _ in range(40):
            expected = naive.move_records(twin, rows, counts, expected, priors, 1.7, visits)
            state, _ = collapsed.move_records(kernel, problem, state, visits)
            assert state.members.tolist() == expected
            assert np.array_equal(state.class_size, np.sum(expected, axis=0))


def test_a_state_grows_when_no_class_is_empty() -> None:
    """Counts stay those of the members through growth and shrinking; no false alarms."""
    generator = stream(33, "growth")
    rows = [(a, b) for a in range(2) for b in range(3) for _ in range(30)]
    problem = tiny.problem_of(rows, tiny.PRIORS)
    state = collapsed.init(generator, problem, 1, 1.0)
    widths = set()
    for concentration in (1.0, 500.0, 500.0, 0.01, 0.01, 0.01):
        state = state._replace(concentration=concentration)
        for _ in range(5):
            state, _ = collapsed.move_records(generator, problem, state, 10**9)
            state, _ = split_merge.split_or_merge(generator, problem, state)
            counted = collapsed.with_members(problem, state.members, concentration)
            assert np.array_equal(counted.class_size, state.class_size)
            assert np.array_equal(counted.level_count, state.level_count)
            assert np.array_equal(state.members.sum(axis=1), problem.counts)
        widths.add(state.class_size.size)
    assert len(widths) > 2


def test_marginal_likelihood_is_that_of_its_twin() -> None:
    rows = [(0, 0), (1, 2), (1, 1), (0, 0)]
    counts = np.zeros(5, dtype=np.int64)
    for a, b in rows:
        counts[a] += 1
        counts[2 + b] += 1
    density = split_merge.log_marginal(counts, 4, PROBLEM)
    assert density == pytest.approx(naive.log_marginal(rows, tiny.PRIORS), rel=1e-12)


def test_split_of_two_records_has_the_ratio_of_the_joint_densities() -> None:
    rows = [(0, 0), (1, 2)]
    problem = tiny.problem_of(rows, tiny.PRIORS)
    generator = stream(34, "ratio")
    for together in (True, False):
        members = np.array([[1, 0, 0], [1, 0, 0]] if together else [[1, 0, 0], [0, 1, 0]], np.int32)
        _, info = split_merge.split_or_merge(
            generator, problem, collapsed.with_members(problem, members, 0.6)
        )
        expected = log_joint([[rows[0]], [rows[1]]], 0.6) - log_joint([rows], 0.6)
        assert info.split == together
        assert info.log_ratio == pytest.approx(expected if together else -expected, rel=1e-10)


def test_sticks_are_beta() -> None:
    """Every stick given the counts; false-alarm rate 1e-4 each."""
    generator = stream(35, "sticks")
    sizes, concentration = np.array([3, 0, 5, 1]), 0.4
    drawn = np.empty((4_000, 4))
    for row in drawn:
        blocked.draw_sticks(generator, sizes, concentration, row)
    weights = np.exp(drawn)
    assert np.allclose(weights.sum(axis=1), 1.0)
    left = np.ones(4_000)
    for class_ in range(3):
        stick = weights[:, class_] / left
        expected = beta(1 + sizes[class_], concentration + sizes[class_ + 1 :].sum())
        assert kstest(stick, expected.cdf).pvalue > FALSE_ALARM
        left -= weights[:, class_]


def test_sticks_do_not_round_for_a_tiny_concentration() -> None:
    """log(1 - V) stays finite, so the concentration can grow again; no false alarms."""
    generator = stream(36, "tiny concentration")
    drawn = np.empty(6)
    for _ in range(200):
        blocked.draw_sticks(generator, np.array([50, 0, 0, 0, 0, 0]), 1e-4, drawn)
        assert np.isfinite(drawn).all()
        assert np.isfinite(blocked.draw_concentration(generator, drawn[-1], 6, 0.25, 0.25))


def test_level_probabilities_are_dirichlet() -> None:
    """Marginal beta distributions of both samplers' draws; false-alarm rate 1e-4 each."""
    generator = stream(37, "levels")
    count = np.array([[4, 0], [1, 0], [2, 0], [0, 0], [3, 0]])  # (level, class)
    size = np.array([5, 0])
    draws = 4_000
    drawn = np.empty((draws, 5, 2))
    for draw in range(draws):
        blocked.draw_levels(generator, PROBLEM, count, size, drawn[draw])
    for class_, level in itertools.product(range(2), range(5)):
        variable = 0 if level < 2 else 1
        first, last = PROBLEM.level_start[variable], PROBLEM.level_start[variable + 1]
        shape = PROBLEM.prior[level] + count[level, class_]
        total = PROBLEM.prior[first:last].sum() + count[first:last, class_].sum()
        expected = beta(shape, total - shape)
        assert kstest(drawn[:, level, class_], expected.cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("prior", [1e-3, 1e-5])
def test_tiny_level_priors_do_not_underflow_to_nothing(prior: float) -> None:
    generator = stream(38, "small prior")
    problem = PROBLEM._replace(prior=np.full(5, prior), prior_sum=np.array([2 * prior, 3 * prior]))
    means = np.empty((5, 3))
    for _ in range(100):
        blocked.draw_levels(
            generator, problem, np.zeros((5, 3), np.int64), np.zeros(3, np.int64), means
        )
        assert np.allclose(means[:2].sum(axis=0), 1.0)
        drawn = parameters.draw_parameters(
            generator, problem, np.zeros(1, np.int64), np.zeros((1, 5), np.int64), 0.5
        )
        assert np.allclose(drawn.probabilities[:, 2:].sum(axis=1), 1.0)


@pytest.mark.parametrize("n_classes", [1, 2, 7])
def test_blocked_concentration_is_gamma(n_classes: int) -> None:
    """Given the last weight; with one class the prior. False-alarm rate 1e-4 each."""
    generator = stream(39, n_classes)
    log_last = 0.0 if n_classes == 1 else -2.5
    drawn = [
        blocked.draw_concentration(generator, log_last, n_classes, 1.5, 0.8) for _ in range(4_000)
    ]
    expected = gamma(1.5 + n_classes - 1, scale=1 / (0.8 - log_last))
    assert kstest(drawn, expected.cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("count", [1, 30, 200])
def test_classes_of_a_combination_are_multinomial(count: int) -> None:
    """One draw per record and binomial draws alike; false-alarm rate 1e-4 per class."""
    generator = stream(40, count)
    problem = PROBLEM._replace(counts=np.array([count, 0, 2]))
    log_weights = np.log(np.array([0.2, 0.5, 0.0001, 0.2999]))
    probabilities = np.vstack(
        [generator.dirichlet(np.ones(2), 4).T, generator.dirichlet(np.ones(3), 4).T]
    )  # (level, class)
    first, second = problem.levels[0]
    joint = np.exp(log_weights) * probabilities[first] * probabilities[second]
    size, level_count = np.zeros(4, np.int64), np.zeros((5, 4), np.int64)
    seen = np.empty((4_000, 4), np.int64)
    for draw in range(4_000):
        blocked.draw_classes(generator, problem, log_weights, probabilities, size, level_count)
        assert size.sum() == count + 2
        assert np.array_equal(level_count[:2].sum(axis=0), size)
        seen[draw] = level_count[second]
    for class_ in range(4):
        expected = binom(count, joint[class_] / joint.sum())
        support = np.arange(count + 1)
        exact = {int(k): float(expected.pmf(k)) for k in support}
        counted: Counter[Hashable] = Counter(seen[:, class_].tolist())
        assert tiny.chi_square_p(counted, exact) > FALSE_ALARM


def log_order(order: tuple[int, ...], concentration: float) -> float:
    """Log probability of classes of these sizes in this order: one Beta integral a stick."""
    total = 0.0
    for index in range(len(order) - 1):
        behind = sum(order[index + 1 :])
        total += log(concentration) + lgamma(1 + order[index]) + lgamma(concentration + behind)
        total -= lgamma(1 + concentration + order[index] + behind)
    return total


def test_swaps_leave_the_order_of_classes_as_the_sticks_have_it() -> None:
    """All orders of three classes, from exact draws; false-alarm rate 1e-4."""
    sizes, concentration = (4, 1, 2), 0.7
    orders = list(itertools.permutations(sizes))
    weights = np.exp([log_order(order, concentration) for order in orders])
    exact = {order: float(w / weights.sum()) for order, w in zip(orders, weights, strict=True)}
    generator = stream(42, "swaps")
    seen: Counter[Hashable] = Counter()
    for _ in range(20_000):
        order = orders[generator.choice(len(orders), p=list(exact.values()))]
        size = np.array(order)
        count = np.vstack([size, 10 * size])  # (level, class): must travel with the sizes
        blocked.swap_neighbours(generator, size, count, concentration)
        assert np.array_equal(count, np.vstack([size, 10 * size]))
        seen[tuple(int(number) for number in size)] += 1
    assert tiny.chi_square_p(seen, exact) > FALSE_ALARM


@pytest.mark.parametrize("sizes", [(5, 1, 0, 2), (9, 3), (2, 1, 0)])
def test_moved_classes_leave_order_and_concentration_as_they_are_together(
    sizes: tuple[int, ...],
) -> None:
    """Orders by tenths of the log concentration, from exact draws; false-alarm rate 1e-4 each."""
    shape, rate = 1.4, 0.6
    grid = np.linspace(-9.0, 5.0, 2_801)  # (point,) log concentration; mass outside below 1e-5
    orders = sorted(set(itertools.permutations(sizes)))
    prior = shape * grid - rate * np.exp(grid)
    joint = np.exp(
        [[log_order(order, float(np.exp(at))) for at in grid] + prior for order in orders]
    )  # (order, point)
    joint /= joint.sum()
    edges = np.searchsorted(joint.sum(axis=0).cumsum(), np.arange(0.1, 1.0, 0.1))
    tenth = np.searchsorted(edges, np.arange(grid.size), side="right")  # (point,)
    exact = {
        (order, bin_): float(joint[index, tenth == bin_].sum())
        for index, order in enumerate(orders)
        for bin_ in range(10)
    }
    generator = stream(42, "moves", len(sizes))
    seen: Counter[Hashable] = Counter()
    moved = 0
    for cell in generator.choice(joint.size, 30_000, p=joint.ravel()):
        order, point = orders[cell // grid.size], cell % grid.size
        size = np.array(order)
        count = np.vstack([size, 10 * size])  # (level, class): must travel with the sizes
        within = grid[point] + (generator.random() - 0.5) * (grid[1] - grid[0])
        there = blocked.move_class(generator, size, count, np.exp(within), shape, rate)
        assert np.array_equal(count, np.vstack([size, 10 * size]))
        moved += not np.array_equal(size, order)
        nearest = int(np.clip(np.rint((np.log(there) - grid[0]) * 200), 0, grid.size - 1))
        seen[tuple(int(number) for number in size), int(tenth[nearest])] += 1
    assert moved > 3_000
    assert tiny.chi_square_p(seen, exact) > FALSE_ALARM


@pytest.mark.parametrize("log_concentration", [-690.0, -3.0, 0.0, 6.0])
def test_the_density_of_an_order_is_that_of_the_sticks(log_concentration: float) -> None:
    """Differences between orders, empty classes and a billion records among them."""
    concentration, shape, rate = float(np.exp(log_concentration)), 1.4, 0.6
    for sizes in [(9, 3), (5, 1, 0, 2), (0, 0, 4), (10**9, 7, 10**6)]:
        visited = []
        for order in itertools.permutations(sizes):
            mine = blocked._log_density_of_order(np.array(order), log_concentration, shape, rate)
            prior = shape * log_concentration - rate * concentration
            visited.append(mine - prior - log_order(order, concentration))
        assert np.ptp(visited) < (1e-4 if max(sizes) > 10**6 else 1e-9)
    for order in [(9, 3), (3, 9)]:  # and between concentrations
        there = [
            blocked._log_density_of_order(np.array(order), at, shape, rate)
            - (shape * at - rate * np.exp(at) + log_order(order, float(np.exp(at))))
            for at in (log_concentration, 0.5)
        ]
        assert abs(there[0] - there[1]) < 1e-9


def test_a_large_last_class_and_a_large_concentration_let_each_other_go() -> None:
    """Class sizes of a chain that swaps alone had caught for 38,000 sweeps; false-alarm rate 1e-4.

    With other seeds it took 32 rounds on average to let go, and 111 at most.
    """
    caught = [1012, 5, 4, 1575, 25, 0, 1037, 36, 7, 25, 1, 0, 14, 27, 9, 7, 13, 2, 19, 8, 0, 11, 0]
    caught += [5, 0, 20, 7, 9, 40, 13, 1, 23, 3, 4, 13, 0, 0, 5, 7, 2221]
    generator = stream(42, "caught")
    size, concentration = np.array(caught), 29.0
    count = size[None, :].copy()  # (level, class)
    for _ in range(2_000):
        blocked.swap_neighbours(generator, size, count, concentration)
    assert size[-1] > 1_000  # swaps cannot do it while the concentration is large
    for _ in range(1_000):
        blocked.swap_neighbours(generator, size, count, concentration)
        concentration = blocked.move_class(generator, size, count, concentration, 0.25, 0.25)
    assert size[-1] < 100
    assert concentration < 10
    assert sorted(size) == sorted(caught)


def test_one_class_is_the_exact_dirichlet_posterior() -> None:
    """Level probabilities of a single class, both samplers; false-alarm rate 1e-4 each."""
    generator = stream(43, "one class")
    rows = [(0, 0), (0, 1), (1, 2), (1, 2), (1, 0)]
    problem = tiny.problem_of(rows, tiny.PRIORS)
    state = collapsed.init(generator, problem, 1)
    held = blocked.init(generator, problem, 1, 1)
    sampled = np.empty((4_000, 2))
    for draw in range(4_000):
        drawn = parameters.draw_parameters(
            generator, problem, state.class_size, state.level_count, 0.5
        )
        sampled[draw, 0] = drawn.probabilities[0, 4]
        held = blocked.step(generator, problem, held, (1.0, 1.0))
        sampled[draw, 1] = held.probabilities[4, 0]
    expected = beta(2.0 + 2, 3.5 + 5 - 4.0)
    for sampler in range(2):
        assert kstest(sampled[:, sampler], expected.cdf).pvalue > FALSE_ALARM


def test_no_records_give_the_prior() -> None:
    """Concentration, first stick and level probabilities; false-alarm rate 1e-4 each."""
    generator = stream(44, "nothing")
    empty = tiny.problem_of([], tiny.PRIORS)
    state = collapsed.init(generator, empty, 1)
    held = blocked.init(generator, empty, 5, 1)
    draws = 4_000
    sampled = np.empty((draws, 4))
    for draw in range(draws):
        state, _ = collapsed.step(generator, empty, state, (1.5, 0.8), 10**9)
        state, _ = split_merge.split_or_merge(generator, empty, state)
        drawn = parameters.draw_parameters(
            generator, empty, state.class_size, state.level_count, 1.3
        )
        sampled[draw] = state.concentration, drawn.weights[0], drawn.probabilities[0, 0], 0.0
    assert collapsed.n_occupied(state) == 0
    assert kstest(sampled[:, 0], gamma(1.5, scale=1 / 0.8).cdf).pvalue > FALSE_ALARM
    assert kstest(sampled[:, 1], beta(1, 1.3).cdf).pvalue > FALSE_ALARM
    assert kstest(sampled[:, 2], beta(0.7, 1.3).cdf).pvalue > FALSE_ALARM
    thinned = []
    for draw in range(40_000):
        held = blocked.step(generator, empty, held, (1.5, 0.8))
        if draw % 20 == 0:
            thinned.append(held.concentration)
    assert kstest(thinned, gamma(1.5, scale=1 / 0.8).cdf).pvalue > FALSE_ALARM


def test_weights_are_dirichlet_with_the_concentration_as_remainder() -> None:
    """Weights of occupied classes, and their sum; false-alarm rate 1e-4 each."""
    generator = stream(45, "weights")
    size, count = np.array([3, 0, 2]), np.zeros((3, 5), np.int64)
    drawn = np.empty((4_000, 2))
    for row in drawn:
        weights = parameters.draw_parameters(generator, PROBLEM, size, count, 1.2).weights
        assert weights.sum() == pytest.approx(1.0)
        row[:] = weights[0], weights[2:].sum()
    assert kstest(drawn[:, 0], beta(3, 2 + 1.2).cdf).pvalue > FALSE_ALARM
    assert kstest(drawn[:, 1], beta(1.2, 5).cdf).pvalue > FALSE_ALARM


def test_quantities_are_those_of_their_twins() -> None:
    """Log-likelihood and label probabilities, and their invariance to levels and columns."""
    generator = stream(46, "quantities")
    weights = generator.dirichlet(np.ones(3))
    tables = [[generator.dirichlet(np.ones(size)).tolist() for size in (2, 3)] for _ in range(3)]
    flat = np.array([np.concatenate(table) for table in tables])  # (class, level)
    rows = sorted(set(tiny.ROWS))
    counts = [tiny.ROWS.count(row) for row in rows]
    likelihood = parameters.log_likelihood(PROBLEM.levels, PROBLEM.counts, weights, flat)
    expected = naive.mixture_log_likelihood(rows, counts, weights.tolist(), tables)
    assert likelihood == pytest.approx(expected, rel=1e-12)
    cells = np.array([(pattern, label) for pattern in range(2) for label in range(3)])
    kept, labels = np.array([[0], [1]]), np.array([[2], [3], [4]])
    table = parameters.label_probabilities(kept, labels, cells, weights, flat)
    for (pattern, label), value in zip(cells, table, strict=True):
        twin = naive.label_probability((pattern,), (label,), weights.tolist(), tables)
        assert value == pytest.approx(twin, rel=1e-6)
    order = np.array([1, 0, 4, 2, 3])  # other numbers for the levels
    new_code = np.argsort(order)
    again = parameters.log_likelihood(
        new_code[PROBLEM.levels].astype(np.int32), PROBLEM.counts, weights, flat[:, order]
    )
    assert again == pytest.approx(likelihood, rel=1e-12)
    columns = np.ascontiguousarray(PROBLEM.levels[:, ::-1])
    turned = parameters.log_likelihood(columns, PROBLEM.counts, weights, flat)
    assert turned == pytest.approx(likelihood, rel=1e-12)
    with ThreadPoolExecutor(2) as pool:
        spread = parameters.log_likelihood(PROBLEM.levels, PROBLEM.counts, weights, flat, pool, 3)
    assert spread == likelihood


@pytest.mark.parametrize(
    ("n_classes", "n_records", "shape", "rate"), [(3, 20, 0.25, 0.25), (1, 1, 0.5, 0.2)]
)
def test_concentration_given_the_number_of_classes(
    n_classes: int, n_records: int, shape: float, rate: float
) -> None:
    """Iterated draws end in the exact density, whatever the start; false-alarm rate 1e-4."""
    generator = stream(47, "concentration", n_classes)
    _, distribution = tiny.concentration_sampler(n_classes, n_records, shape, rate)
    drawn = []
    for _ in range(4_000):
        value = 1.0
        for _ in range(20):
            value = collapsed.draw_concentration(
                generator, value, n_classes, n_records, shape, rate
            )
        drawn.append(value)
    assert kstest(distribution(np.array(drawn)), "uniform").pvalue > FALSE_ALARM
