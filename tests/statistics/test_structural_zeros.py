"""Impossible combinations in the DPMPM: the truncated posterior, exactly where it can be had.

The slow twins count impossible combinations one by one over the whole table, never by boxes. Seeds
are fixed; false-alarm rates are how likely a correct program was to fail when they were chosen.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable
from math import comb, lgamma, log

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest
from tests.naive import dpmpm as naive
from tests.statistics import test_holes as holes
from tests.statistics import test_joint as joint
from tests.statistics import tiny

from understudy.microdata.structural_zeros import disjoint_boxes
from understudy.randomness import stream
from understudy.synthesis.dpmpm import blocked
from understudy.synthesis.dpmpm.problem import Problem
from understudy.synthesis.dpmpm.structural_zeros import add_impossible, impossible_share

FALSE_ALARM = tiny.FALSE_ALARM
PRIORS, PRIOR = tiny.PRIORS, (tiny.SHAPE, tiny.RATE)
START = np.array([0, 2, 5])  # of a variable with two levels and one with three
BOX = np.array([[False, True, True, False, False]])  # level 1 of the first, 0 of the second
ROWS = [(0, 0), (0, 0), (1, 2)]


def problem_of(rows: naive.Rows, sampled: bool = False) -> Problem:
    """Bring rows into the form of the kernels, (1, 0) impossible."""
    if sampled:
        return tiny.problem_of(rows, joint.priors_of(np.ones(2)))._replace(
            sampled=np.array([0, 1]), strength_prior=joint.STRENGTH_PRIOR, impossible=BOX
        )
    return tiny.problem_of(rows, PRIORS)._replace(impossible=BOX)


def test_boxes_are_cut_into_disjoint_ones() -> None:
    """All combinations of three variables are covered as before, and none twice."""
    generator = stream(70, "boxes")
    start = np.array([0, 2, 5, 9])
    table = list(itertools.product(range(2), range(3), range(4)))
    for _ in range(200):
        rules = [
            [generator.random(size) < 0.6 for size in (2, 3, 4)]
            for _ in range(generator.integers(1, 6))
        ]
        rules = [rule for rule in rules if all(part.any() for part in rule)]
        boxes = disjoint_boxes([np.concatenate(rule) for rule in rules], start)
        for combination in table:
            broken = any(
                all(part[level] for part, level in zip(rule, combination, strict=True))
                for rule in rules
            )
            inside = boxes[:, np.array(combination) + start[:-1]].all(axis=1).sum()
            assert inside == broken


def naive_masses(
    rules: list[list[set[int]]], weights: NDArray[np.float64], tables: list[NDArray[np.float64]]
) -> dict[tuple[int, ...], NDArray[np.float64]]:
    """Probability of every impossible combination in every class, by combination."""
    masses = {}
    for combination in itertools.product(*(range(len(table)) for table in tables)):
        if any(all(level in part for level, part in zip(combination, rule, strict=True))
               for rule in rules):  # fmt: skip
            levels = [table[level] for table, level in zip(tables, combination, strict=True)]
            masses[combination] = weights * np.prod(levels, axis=0)
    return masses


def test_impossible_records_are_those_of_the_twin() -> None:
    """Means of 3,000 draws against n p / (1 - omega), within 5 standard errors; rules overlap."""
    generator = stream(71, "twin")
    start, n_records = np.array([0, 2, 5, 9]), 7
    rules = [[{1}, {0, 1}, {0, 1, 2, 3}], [{0, 1}, {1, 2}, {3}]]
    boxes = disjoint_boxes(
        [np.isin(np.arange(9), [2 * v + (v == 2) + level for v in range(3) for level in rule[v]])
         for rule in rules],
        start,
    )  # fmt: skip
    weights = np.array([0.6, 0.3, 0.1])
    tables = [generator.dirichlet(np.ones(size), 3).T for size in (2, 3, 4)]  # (level, class)
    masses = naive_masses(rules, weights, tables)
    omega = sum(mass.sum() for mass in masses.values())
    whole = np.vstack(tables)
    assert impossible_share(boxes, start, weights, whole) == pytest.approx(omega, rel=1e-12)
    draws = np.zeros((3_000, 1 + 5, 3))  # (draw, class size or level of the first two, class)
    for drawn in draws:
        size, count = np.zeros(3, np.int64), np.zeros((9, 3), np.int64)
        add_impossible(generator, n_records, boxes, start, np.log(weights), whole, size, count)
        drawn[0], drawn[1:] = size, count[:5]
    expected = np.zeros((1 + 5, 3))
    for (first, second, _), mass in masses.items():  # no box leaves one of these two free
        expected[[0, 1 + first, 3 + second]] += mass
    expected *= n_records / (1 - omega)
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - expected) <= 5 * error).all()


@pytest.mark.slow
def test_one_class_has_the_exact_truncated_posterior() -> None:
    """p(x) / (1 - p q), two binary variables, against a grid; KS, false-alarm rate 1e-4 each."""
    rows = [(0, 0)] * 3 + [(0, 1)] * 2 + [(1, 1)] * 3
    problem = tiny.problem_of(rows, [[1.0, 1.0], [0.5, 1.5]])._replace(
        impossible=np.array([[False, True, True, False]])
    )
    grid = (np.arange(1_500) + 0.5) / 1_500
    p, q = grid[:, None], grid[None, :]  # of level 1 of the first, and of 0 of the second
    log_density = 3 * np.log(p) + 5 * np.log1p(-p) + 2.5 * np.log(q) + 5.5 * np.log1p(-q)
    density = np.exp(log_density - len(rows) * np.log1p(-p * q))
    generator = stream(72, "one class")
    state = blocked.init(generator, problem, 1, 1)
    drawn = np.empty((2_000, 2))
    for draw in range(-20, len(drawn)):
        for _ in range(6):
            state = blocked.step(generator, problem, state, PRIOR)
        if draw >= 0:
            drawn[draw] = state.probabilities[[1, 2], 0]
    for axis in (0, 1):
        margin = np.cumsum(density.sum(axis=1 - axis))
        ranked = np.interp(drawn[:, axis], grid, margin / margin[-1])
        assert kstest(ranked, "uniform").pvalue > FALSE_ALARM


def exact_with_impossible(fillings: list[naive.Rows], most: int) -> dict[Hashable, float]:
    """Posterior of level counts of two classes, records of the one impossible cell included.

    `fillings` are the rows, in all ways that their holes may be filled.
    """
    exact: dict[Hashable, float] = {}
    n = len(fillings[0])
    for rows_of_all in fillings:
        for classes in naive.assignments(rows_of_all, 2):
            add_exact(exact, classes, n, most)
    total = sum(exact.values())
    return {key: weight / total for key, weight in exact.items()}


def add_exact(
    exact: dict[Hashable, float], classes: list[list[tuple[int, ...]]], n: int, most: int
) -> None:
    """Add the weights of two classes of `n` records with up to `most` impossible ones each."""
    for first, second in itertools.product(range(most), repeat=2):
        whole = [
            [*rows, *[(1, 0)] * added] for rows, added in zip(classes, (first, second), strict=True)
        ]
        added = first + second
        weight = log(comb(n + added - 1, added)) + log(comb(added, first))
        weight += naive.log_truncated_weight(tuple(map(len, whole)), *PRIOR)
        for rows in whole:
            weight += log_marginal(rows)
        key = tiny.counts_key_of(naive.key_of(whole), PRIORS)
        exact[key] = exact.get(key, 0.0) + np.exp(weight)


def log_marginal(rows: naive.Rows) -> float:
    """Log marginal likelihood of a class, by gamma functions: many rows are alike."""
    total = 0.0
    for variable, prior in enumerate(PRIORS):
        total += lgamma(sum(prior)) - lgamma(sum(prior) + len(rows))
        for level, count in enumerate(prior):
            n = sum(row[variable] == level for row in rows)
            total += lgamma(count + n) - lgamma(count)
    return total


@pytest.mark.slow
def test_sampler_has_the_exact_posterior_of_augmented_counts() -> None:
    """All assignments of three records, and 0 to 22 impossible ones in each of two classes.

    What was left out is added to the rare keys, which are pooled; false-alarm rate 1e-4.
    """
    exact = exact_with_impossible([ROWS], 23)
    problem = problem_of(ROWS)
    generator = stream(73, "augmented")
    state = blocked.init(generator, problem, 2, 1)
    seen: Counter[Hashable] = Counter()
    for draw in range(-10, 1_800):
        for _ in range(10):
            state = blocked.step(generator, problem, state, PRIOR)
        if draw >= 0:
            seen[tiny.blocked_key(state)] += 1
    outside = [key for key in seen if key not in exact]
    assert sum(seen[key] for key in outside) < 10
    for key in outside:
        exact[key] = 1e-9
    assert tiny.chi_square_p(seen, exact) > FALSE_ALARM


def possible_rows(
    generator: np.random.Generator,
    log_weights: NDArray[np.float64],
    tables: NDArray[np.float64],
    n_records: int,
) -> joint.Rows:
    """Rows of a mixture, those that are impossible thrown away."""
    rows: joint.Rows = []
    while len(rows) < n_records:
        rows += joint.rows_given_weights(generator, log_weights, tables, n_records)
        rows = [row for row in rows if row != (1, 0)]
    return rows[:n_records]


@pytest.mark.slow
def test_sweep_keeps_the_joint_distribution() -> None:
    """Strengths sampled; seven summaries, false-alarm rate 1e-4 each."""
    generator = stream(74, "joint")
    before, after = np.empty((400, 7)), np.empty((400, 7))
    for draw in range(len(before)):
        for table in (before, after):
            strengths = joint.strengths_from_prior(generator)
            priors = joint.priors_of(strengths)
            tables = joint.blocked_prior(generator, 4, priors)[2]
            concentration, log_weights = holes.reweighted(generator, 4)
            rows = possible_rows(generator, log_weights, tables, 6)
            for _ in range(0 if table is before else 3):
                state = blocked.State(
                    np.zeros(4, np.int64), np.zeros((5, 4), np.int64), log_weights,
                    np.ascontiguousarray(tables), concentration, False, strengths,
                )  # fmt: skip
                state = blocked.step(generator, problem_of(rows, sampled=True), state, PRIOR)
                concentration, log_weights = state.concentration, state.log_weights
                tables, strengths = state.probabilities, state.strengths
                rows = possible_rows(generator, log_weights, tables, 6)
            weights = np.exp(log_weights)
            table[draw] = [
                concentration, (weights**2).sum(), weights @ (tables[0] * tables[4]),
                weights @ (tables[1] * tables[2]),
                sum(row == (0, 2) for row in rows) + 0.01 * concentration, *strengths,
            ]  # fmt: skip
    tiny.check_same_distribution(before, after)


@pytest.mark.slow
def test_ranks_of_true_values_are_uniform() -> None:
    """60 simulations of 12 records, five bins; false-alarm rate 1e-4 per quantity."""
    rank_of_truth = np.empty((60, 3), dtype=np.int64)  # (simulation, quantity)
    for simulation in range(len(rank_of_truth)):
        generator = stream(75, "calibration", simulation)
        tables = np.vstack([generator.dirichlet(prior, 6).T for prior in PRIORS])
        concentration, log_weights = holes.reweighted(generator, 6)
        problem = problem_of(possible_rows(generator, log_weights, tables, 12))
        true = quantities(concentration, np.exp(log_weights), tables)
        state = blocked.init(generator, problem, 6, 1)
        drawn = np.empty((19, 3))  # (draw, quantity)
        for draw in range(-5, 19):
            for _ in range(10):
                state = blocked.step(generator, problem, state, PRIOR)
            if draw >= 0:
                weights = np.exp(state.log_weights)
                drawn[draw] = quantities(state.concentration, weights, state.probabilities)
        rank_of_truth[simulation] = (drawn < np.array(true)).sum(axis=0)
    tiny.check_uniform_ranks(rank_of_truth, 19, 5)


def quantities(
    concentration: float, weights: NDArray[np.float64], tables: NDArray[np.float64]
) -> list[float]:
    """Concentration, probability of what is impossible, p(label 2 | pattern 1, possible)."""
    share = float(weights @ (tables[1] * tables[2]))
    pattern = weights * tables[1]  # (class,)
    label = float(pattern @ tables[4] / (pattern @ (1.0 - tables[2])))
    return [concentration, share, label]
