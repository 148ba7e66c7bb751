"""Class counts of combinations: fast draws from the exact distribution, whatever the threads.

Seeds are fixed; false-alarm rates are how likely a correct program was to fail when they were
chosen.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, multinomial
from tests.naive import dpmpm as naive
from tests.statistics import tiny

from understudy.randomness import stream
from understudy.synthesis.dpmpm import class_counts
from understudy.synthesis.dpmpm.problem import NO_HOLE, Problem
from understudy.synthesis.dpmpm.sampler import BlockedChain

FALSE_ALARM = 1e-4
BINOMIALS = [
    (1, 0.3), (7, 0.5), (16, 0.02), (40, 0.2), (99, 0.1), (25, 0.4), (161, 0.07), (161, 0.3),
    (400, 0.025), (400, 0.5), (400, 0.93), (5_000, 0.002), (5_000, 0.4), (200_000, 0.3),
    (10**7, 1e-6), (10**9, 2e-8), (10**9, 0.5),
]  # fmt: skip


def sfc64(*path: str | int) -> NDArray[np.uint64]:
    """Give the state of a small generator."""
    words: Any = stream(80, *path).bit_generator.random_raw(3)
    return np.array([*words, 1], dtype=np.uint64)


def test_random_bits_are_those_of_numpy() -> None:
    """SFC64 word by word against NumPy's; no false alarms."""
    reference = np.random.SFC64(5)
    words: Any = reference.state["state"]
    state = words["state"].copy()
    expected: Any = reference.random_raw(1000)
    assert [int(class_counts.draw_word(state)) for _ in range(1000)] == expected.tolist()


@pytest.mark.parametrize(("count", "p"), BINOMIALS)
def test_binomial_draws(count: int, p: float) -> None:
    """Inversion and rejection, near the mode and far from it; false-alarm rate 1e-4 each."""
    random = sfc64("binomial", count, repr(p))
    drawn = np.array([class_counts.draw_binomial(random, count, p) for _ in range(40_000)])
    exact = binom(count, p)
    edges = np.unique(exact.ppf(np.linspace(0.0, 1.0, 102)[1:-1]))  # about a hundred bins
    cumulative = np.concatenate([[0.0], exact.cdf(edges), [1.0]])
    cells = {cell: float(width) for cell, width in enumerate(np.diff(cumulative))}
    seen: Counter[Hashable] = Counter(np.searchsorted(edges, drawn).tolist())
    assert drawn.min() >= 0
    assert drawn.max() <= count
    assert tiny.chi_square_p(seen, cells) > FALSE_ALARM


def test_certain_and_impossible_binomial_draws() -> None:
    random = sfc64("certain")
    for count in (0, 1, 50, 10**6):
        assert class_counts.draw_binomial(random, count, 0.0) == 0
        assert class_counts.draw_binomial(random, count, 1.0) == count


# Weights of the classes, and how probable each makes the combination that is looked at. In a survey
# of 20,000 records, classes of less than 5e-6 are the tail.
CASES = {
    "plain": ([0.4, 0.3, 0.2, 0.1], [0.5, 0.2, 0.9, 0.1]),
    "light tail": ([0.5, 0.3, 0.2, 1e-7, 2e-8], [0.3, 0.5, 0.1, 0.9, 0.5]),
    "tail now and then": ([0.6, 0.4, 4e-6, 3e-6], [1e-3, 2e-3, 0.9, 0.3]),
    "tail that matters": ([0.6, 0.4, 4e-6, 3e-6], [1e-5, 2e-5, 0.9, 0.3]),
    "nothing but tail": ([0.9, 0.1, 2e-6, 1e-6], [1e-300, 1e-300, 0.5, 0.9]),
    "many small": ([0.3] + [0.7 / 9] * 9, [0.9] + [0.02] * 9),
}


def problem_alone(count: int, given: list[float]) -> tuple[Problem, NDArray[np.float64]]:
    """One combination of two variables, and level probabilities that give it these products."""
    problem = Problem(
        levels=np.array([[0, 2]], dtype=np.int32),
        counts=np.array([count]),
        level_start=np.array([0, 2, 4]),
        prior=np.ones(4),
        prior_sum=np.array([2.0, 2.0]),
        holes=np.array([NO_HOLE, NO_HOLE]),
    )
    root = np.sqrt(given)
    return problem, np.array([root, 1 - root, root, 1 - root])  # (level, class)


@pytest.mark.parametrize("named", list(CASES))
@pytest.mark.parametrize("count", [1, 9, 16, 60, 3_000])
def test_every_class_of_a_combination(named: str, count: int) -> None:
    """Binomial margins of the multinomial; false-alarm rate 1e-4 per class."""
    weights, given = CASES[named]
    problem, probabilities = problem_alone(count, given)
    # the tail is that of a survey of 20,000 records: other combinations have the rest
    problem = problem._replace(
        levels=np.array([[0, 2], [1, 3]], dtype=np.int32), counts=np.array([count, 20_000])
    )
    exact = naive.class_probabilities([0, 2], weights, probabilities.tolist())
    size, level_count = np.zeros(len(weights), np.int64), np.zeros((4, len(weights)), np.int64)
    generator = stream(81, named, count)
    seen = np.empty((6_000, len(weights)), np.int64)
    for row in seen:
        failed = class_counts.draw_classes(
            generator, problem, np.log(weights), probabilities, size, level_count
        )
        assert not failed
        assert size.sum() == count + 20_000
        assert np.array_equal(level_count[:2].sum(axis=0), size)
        row[:] = level_count[2]
    assert (seen.sum(axis=1) == count).all()
    for class_, p in enumerate(exact):
        margin = binom(count, p)
        edges = np.unique(margin.ppf(np.linspace(0.0, 1.0, 52)[1:-1]))
        cumulative = np.concatenate([[0.0], margin.cdf(edges), [1.0]])
        cells = {cell: float(width) for cell, width in enumerate(np.diff(cumulative))}
        if max(cells.values()) > 1.0 - 1e-12:
            assert np.unique(seen[:, class_]).tolist() == [round(count * p)]
            continue
        counted: Counter[Hashable] = Counter(np.searchsorted(edges, seen[:, class_]).tolist())
        assert tiny.chi_square_p(counted, cells) > FALSE_ALARM, class_


@pytest.mark.parametrize("count", [3, 17])
def test_all_classes_of_a_combination_together(count: int) -> None:
    """All outcomes of the multinomial, one by one and together; false-alarm rate 1e-4 each."""
    weights, given = CASES["plain"]
    problem, probabilities = problem_alone(count, given)
    exact_one = naive.class_probabilities([0, 2], weights, probabilities.tolist())
    outcomes = [
        outcome
        for outcome in itertools.product(range(count + 1), repeat=4)
        if sum(outcome) == count
    ]
    chances = multinomial(count, exact_one).pmf(outcomes)
    exact = {outcome: float(chance) for outcome, chance in zip(outcomes, chances, strict=True)}
    size, level_count = np.zeros(4, np.int64), np.zeros((4, 4), np.int64)
    generator = stream(82, count)
    seen: Counter[Hashable] = Counter()
    for _ in range(20_000):
        class_counts.draw_classes(
            generator, problem, np.log(weights), probabilities, size, level_count
        )
        seen[tuple(int(number) for number in level_count[2])] += 1
    assert tiny.chi_square_p(seen, exact) > FALSE_ALARM


def many_combinations(n_first: int, n_second: int) -> tuple[Problem, Any, Any]:
    """A table of combinations with counts from 0 to 40, six classes, and where counts go."""
    generator = stream(83, n_first)
    levels = np.array(
        [(a, n_first + b) for a in range(n_first) for b in range(n_second)], dtype=np.int32
    )
    problem = Problem(
        levels=levels,
        counts=generator.integers(0, 40, len(levels)),
        level_start=np.array([0, n_first, n_first + n_second]),
        prior=np.ones(n_first + n_second),
        prior_sum=np.array([n_first, n_second], dtype=np.float64),
        holes=np.array([NO_HOLE, NO_HOLE]),
    )
    tables = [generator.dirichlet(np.ones(size), 6).T for size in (n_first, n_second)]
    return problem, np.log([0.4, 0.3, 0.2, 0.1 - 1e-6, 9e-7, 1e-7]), np.vstack(tables)


def test_level_counts_are_those_of_the_twin() -> None:
    """Means and spreads of all level counts, 400 sweeps each; false-alarm rate below 1e-4."""
    problem, log_weights, probabilities = many_combinations(4, 5)
    generator = stream(84, "twin")
    size, level_count = np.zeros(6, np.int64), np.zeros(probabilities.shape, np.int64)
    arguments = (np.exp(log_weights).tolist(), probabilities.tolist())
    rows, counts = problem.levels.tolist(), problem.counts.tolist()
    ours, theirs = np.empty((400, 9, 6)), np.empty((400, 9, 6))
    for draw in range(400):
        class_counts.draw_classes(generator, problem, log_weights, probabilities, size, level_count)
        ours[draw] = level_count
        theirs[draw] = naive.draw_classes(generator, rows, counts, *arguments)
    assert np.array_equal(ours.sum(axis=2), theirs.sum(axis=2))
    spread = np.sqrt(ours.var(axis=0) + theirs.var(axis=0)) / 20 + 0.02
    # 54 normal variables: beyond 5.2 once in 100,000 tables
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) / spread).max() < 5.2
    large = theirs.var(axis=0) > 4
    ratio = np.log(ours.var(axis=0)[large] / theirs.var(axis=0)[large])
    assert np.abs(ratio).max() < 5.2 * np.sqrt(4 / 400)


def test_same_bytes_for_one_two_and_three_threads() -> None:
    """Four slices of combinations, drawn by as many threads as there are; no false alarms."""
    problem, log_weights, probabilities = many_combinations(120, 130)
    assert class_counts.n_slices(problem.counts.size) == 4
    outcomes = []
    for threads in (1, 2, 3, 7):
        size, level_count = np.zeros(6, np.int64), np.zeros(probabilities.shape, np.int64)
        generator = stream(85, "threads")
        with ThreadPoolExecutor(threads) as pool:
            for _ in range(3):
                class_counts.draw_classes(
                    generator, problem, log_weights, probabilities, size, level_count,
                    pool if threads > 1 else None, threads,
                )  # fmt: skip
        assert size.sum() == problem.counts.sum()
        outcomes.append(size.tobytes() + level_count.tobytes() + generator.bytes(8))
    assert len(set(outcomes)) == 1


def test_sweeps_of_a_chain_do_not_depend_on_its_threads() -> None:
    """Whole sweeps of a chain that has one, two and three threads to itself; no false alarms."""
    problem, _, _ = many_combinations(120, 130)
    nothing: Any = None
    outcomes = []
    for threads in (1, 2, 3):
        chain = BlockedChain(problem, nothing, (0.25, 0.25), 6, threads)
        generator = stream(88)
        state = chain.advance(generator, chain.start(generator, 1), 4)
        outcomes.append(b"".join(np.asarray(part).tobytes() for part in state))
    assert len(set(outcomes)) == 1


def test_slices_have_random_numbers_of_their_own() -> None:
    """The same combinations in two slices get different draws; no false alarms."""
    problem, log_weights, probabilities = many_combinations(2, class_counts.SLICE)
    half = problem.counts[: class_counts.SLICE]
    tables = probabilities.copy()
    tables[:2] = 0.5
    problem = problem._replace(counts=np.concatenate([half, half]))
    size, level_count = np.zeros(6, np.int64), np.zeros(tables.shape, np.int64)
    class_counts.draw_classes(stream(87), problem, log_weights, tables, size, level_count)
    assert level_count[0].sum() == level_count[1].sum() == half.sum()
    assert not np.array_equal(level_count[0], level_count[1])


def test_vanished_weights_are_noticed() -> None:
    problem, _ = problem_alone(20, [0.5, 0.5])
    size, level_count = np.zeros(2, np.int64), np.zeros((4, 2), np.int64)
    for bad in (0.0, np.nan):
        probabilities = np.full((4, 2), bad)
        assert class_counts.draw_classes(
            stream(86), problem, np.log([0.5, 0.5]), probabilities, size, level_count
        )
        assert size.sum() == 20
