"""Sampled strengths of level priors: their conditional, enumeration with a grid, joint tests.

Calibration is in ``test_joint``. Seeds are fixed; false-alarm rates are how likely a correct
program was to fail when they were chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import lgamma
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest
from tests.naive import dpmpm as naive
from tests.statistics import test_joint as joint
from tests.statistics import tiny

from understudy.randomness import stream
from understudy.synthesis.dpmpm import blocked, collapsed
from understudy.synthesis.dpmpm.level_prior_strengths import (
    LIMIT,
    draw_strengths,
    log_density,
    tabulate,
)
from understudy.synthesis.dpmpm.problem import NO_HOLE, Problem, with_strengths

FALSE_ALARM = tiny.FALSE_ALARM
MEAN, SD = -0.4, 1.1
FIXED = [0.7, 1.3]  # prior counts of the first variable; that of the second is sampled
GRID = np.linspace(-6.0, 5.0, 551)  # (point,) log strength; mass outside below 1e-5
STEP = GRID[1] - GRID[0]
ROWS = [(0, 0), (0, 0), (0, 1), (1, 2), (1, 2)]
# Rows of some classes: small ones; many records of a level, so that gamma functions are needed.
CLASSES = {
    "small": [[(0,), (0,), (2,)], [(1,)], [(1,), (1,), (1,), (2,)]],
    "even": [[(level,) for level in range(4)] * 5],
    "large": [[(0,)] * 1_500 + [(1,)] * 20, [(3,)] * 700 + [(2,)] * 513 + [(0,)] * 512],
}


def problem_of(rows: naive.Rows) -> Problem:
    """Bring rows into the form of the kernels, the second variable's strength sampled."""
    return tiny.problem_of(rows, [FIXED, [1.0, 1.0, 1.0]])._replace(
        sampled=np.array([1]), strength_prior=(MEAN, SD)
    )


def counted(classes: Sequence[naive.Rows], n_levels: int) -> tuple[NDArray[np.int64], ...]:
    """Class sizes (class,) and level counts (class, level), an empty class among them."""
    count = np.zeros((len(classes) + 1, n_levels), dtype=np.int64)
    for k, rows in enumerate(classes):
        for (level,) in rows:
            count[k, level] += 1
    return count.sum(axis=1), count


@pytest.mark.parametrize("named", list(CLASSES))
def test_the_density_is_that_of_its_twin(named: str) -> None:
    """Up to a constant, over the whole range of strengths; no false alarms."""
    size, count = counted(CLASSES[named], 4)
    at = np.linspace(-12.0, 12.0, 25)
    tabulated = tabulate(size, count)
    by_class = tabulate(size, np.asfortranarray(count))
    kernel = np.array([log_density(tabulated, MEAN, SD, x) for x in at])
    twin = naive.strength_log_density(CLASSES[named], 0, 4, at, MEAN, SD)
    assert np.ptp(kernel - twin) < 1e-8 * max(1.0, np.abs(twin).max())
    assert [log_density(by_class, MEAN, SD, x) for x in at] == kernel.tolist()
    assert log_density(tabulated, MEAN, SD, LIMIT + 0.1) == -np.inf


@pytest.mark.parametrize("named", list(CLASSES))
def test_draws_leave_the_conditional_as_it_is(named: str) -> None:
    """Exact draws stay exact, by their distribution function; false-alarm rate 1e-4 each."""
    classes = CLASSES[named]
    _, count = counted(classes, 4)
    problem = Problem(
        levels=np.zeros((0, 1), np.int32),
        counts=np.zeros(0, np.int64),
        level_start=np.array([0, 4]),
        prior=np.ones(4),
        prior_sum=np.array([4.0]),
        holes=np.array([NO_HOLE]),
        sampled=np.array([0]),
        strength_prior=(MEAN, SD),
    )
    grid = np.linspace(-8.0, 8.0, 16_001)
    log_density = naive.strength_log_density(classes, 0, 4, grid, MEAN, SD)
    cumulative = np.cumsum(np.exp(log_density - log_density.max()))
    cumulative /= cumulative[-1]
    generator = stream(61, "conditional", named)
    ranked = np.empty(4_000)
    moved = 0
    for draw in range(ranked.size):
        start = np.exp(np.interp(generator.random(1), cumulative, grid))
        end = draw_strengths(generator, problem, start, count)
        moved += end[0] != start[0]
        ranked[draw] = np.interp(np.log(end[0]), grid, cumulative)
    assert moved == ranked.size
    assert kstest(ranked, "uniform").pvalue > FALSE_ALARM


def test_nothing_is_drawn_where_nothing_is_sampled() -> None:
    generator, twin = stream(62, "nothing"), stream(62, "nothing")
    _, count = counted(CLASSES["small"], 4)
    problem = tiny.problem_of(ROWS, tiny.PRIORS)
    assert draw_strengths(generator, problem, np.empty(0), count).size == 0
    assert with_strengths(problem, np.empty(0)) is problem
    assert generator.random() == twin.random()


def by_fifths(table: dict[Any, NDArray[np.float64]]) -> tuple[dict[Hashable, float], Any]:
    """Exact probabilities of (partition, fifth of the log strength), and each point's fifth."""
    total = sum(weights.sum() for weights in table.values())
    margin = np.sum(list(table.values()), axis=0).cumsum() / total
    fifth = np.searchsorted(np.arange(0.2, 1.0, 0.2), margin)  # (point,)
    exact: dict[Hashable, float] = {
        (key, part): float(weights[fifth == part].sum() / total)
        for key, weights in table.items()
        for part in range(5)
    }
    return exact, fifth


def collapsed_table(rows: naive.Rows) -> dict[Any, NDArray[np.float64]]:
    """Posterior weights of all partitions at all points of the grid: (point,) each."""
    table: dict[Any, NDArray[np.float64]] = {}
    for partition in naive.partitions(len(rows)):
        classes: list[naive.Rows] = [[rows[record] for record in part] for part in partition]
        fixed = naive.log_process_weight(len(classes), len(rows), tiny.SHAPE, tiny.RATE)
        for members in classes:
            first = [(row[0],) for row in members]
            fixed += lgamma(len(members)) + naive.log_marginal(first, [FIXED])
        weights = np.exp(fixed + naive.strength_log_density(classes, 1, 3, GRID, MEAN, SD))
        key = naive.key_of([list(members) for members in classes])
        table[key] = table.get(key, 0.0) + weights
    return table


def strengths_move(
    generator: np.random.Generator, problem: Problem, state: collapsed.State
) -> collapsed.State:
    drawn = draw_strengths(generator, problem, state.strengths, state.level_count)
    return state._replace(strengths=drawn)


def whole_sweep(
    generator: np.random.Generator, problem: Problem, state: collapsed.State
) -> collapsed.State:
    state, _ = collapsed.step(generator, problem, state, (tiny.SHAPE, tiny.RATE), 10**9)
    return tiny.split_merge_move(generator, problem, state)


Move = Callable[[np.random.Generator, Problem, collapsed.State], collapsed.State]
MOVES: list[Move] = [strengths_move, tiny.split_merge_move, whole_sweep]


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
def test_moves_leave_partition_and_strength_as_they_are_together(move: Move) -> None:
    """Partitions by fifths of the log strength, from exact draws; false-alarm rate 1e-4 each."""
    problem = problem_of(ROWS)
    table = collapsed_table(ROWS)
    exact, fifth = by_fifths(table)
    keys = list(table)
    weights = np.array(list(table.values()))  # (partition, point)
    quantile = {
        k: tiny.concentration_sampler(k, len(ROWS), tiny.SHAPE, tiny.RATE)[0]
        for k in range(1, len(ROWS) + 1)
    }
    generator = stream(63, "enumeration", move.__name__)
    seen: Counter[Hashable] = Counter()
    for cell in generator.choice(weights.size, 6_000, p=weights.ravel() / weights.sum()):
        key, point = keys[cell // GRID.size], cell % GRID.size
        concentration = float(quantile[len(key)](np.array(generator.random())))
        start = np.exp([GRID[point] + (generator.random() - 0.5) * STEP])
        state = tiny.state_of_key(key, ROWS, problem, concentration, strengths=start)
        for _ in range(3):
            state = move(generator, problem, state)
        seen[tiny.key_of_state(state, ROWS), _fifth_of(state.strengths, fifth)] += 1
    assert tiny.chi_square_p(seen, exact) > FALSE_ALARM


def _fifth_of(drawn: NDArray[np.float64], fifth: NDArray[np.int64]) -> int:
    nearest = np.rint((np.log(drawn[0]) - GRID[0]) / STEP)
    return int(fifth[int(np.clip(nearest, 0, GRID.size - 1))])


def test_blocked_sampler_has_the_exact_posterior_of_partition_and_strength() -> None:
    """Runs from one class and from three, thinned; false-alarm rate 1e-4 each."""
    table: dict[Any, NDArray[np.float64]] = {}
    for classes in naive.assignments(ROWS, 3):
        sizes = tuple(len(members) for members in classes)
        fixed = naive.log_truncated_weight(sizes, tiny.SHAPE, tiny.RATE)
        for members in classes:
            fixed += naive.log_marginal([(row[0],) for row in members], [FIXED])
        weights = np.exp(fixed + naive.strength_log_density(classes, 1, 3, GRID, MEAN, SD))
        key = tiny.counts_key_of(naive.key_of(classes), [FIXED, [1.0] * 3])
        table[key] = table.get(key, 0.0) + weights
    exact, fifth = by_fifths(table)
    problem = problem_of(ROWS)
    for started in (1, 3):
        generator = stream(64, "blocked", started)
        seen: Counter[Hashable] = Counter()
        state = blocked.init(generator, problem, 3, started)
        for draw in range(12 * 5_000 + 200):
            state = blocked.step(generator, problem, state, (tiny.SHAPE, tiny.RATE))
            if draw >= 200 and draw % 12 == 0:
                seen[tiny.blocked_key(state), _fifth_of(state.strengths, fifth)] += 1
        assert tiny.chi_square_p(seen, exact) > FALSE_ALARM


def test_collapsed_sweeps_keep_the_joint_distribution() -> None:
    """Seven summaries and both strengths, false-alarm rate 1e-4 each."""
    generator = stream(65, "joint")
    draws = 2_000
    before, after = np.empty((draws, 9)), np.empty((draws, 9))

    def fresh() -> tuple[float, joint.Classes, NDArray[np.float64], joint.Rows]:
        concentration = float(generator.gamma(joint.SHAPE) / joint.RATE)
        classes = joint.partition_from_prior(generator, concentration)
        drawn = joint.strengths_from_prior(generator)
        rows = joint.rows_given_classes(generator, classes, joint.priors_of(drawn))
        return concentration, classes, drawn, rows

    for draw in range(draws):
        concentration, classes, drawn, rows = fresh()
        before[draw] = [*joint.summary(classes, rows, concentration), *drawn]
        concentration, classes, drawn, rows = fresh()
        for _ in range(3):
            problem = joint.sampled_problem(rows)
            _, state = joint.state_of(classes, rows, concentration)
            state = joint.by_sweep(generator, problem, state._replace(strengths=drawn))
            concentration, drawn = float(state.concentration), state.strengths
            numbered = np.unique(joint.classes_of(state), return_inverse=True)[1]
            classes = [int(k) for k in numbered]
            rows = joint.rows_given_classes(generator, classes, joint.priors_of(drawn))
        after[draw] = [*joint.summary(classes, rows, concentration), *drawn]
    tiny.check_same_distribution(before, after)


def test_blocked_sweeps_keep_the_joint_distribution() -> None:
    """Concentration, weights, a cell of the table, data and both strengths; 1e-4 each."""
    generator = stream(66, "joint blocked")
    draws, n_classes = 2_000, 4

    def numbers(state: blocked.State, rows: joint.Rows) -> list[float]:
        weights, tables = np.exp(state.log_weights), state.probabilities
        return [
            state.concentration,
            float((weights**2).sum()),
            float((weights * tables[0] * tables[4]).sum()),
            float((weights * (tables[2:] ** 2).sum(axis=0)).sum()),
            sum(row == (0, 2) for row in rows) + 0.01 * state.concentration,
            *state.strengths,
        ]

    def fresh() -> tuple[blocked.State, joint.Rows]:
        drawn = joint.strengths_from_prior(generator)
        concentration, log_weights, tables = joint.blocked_prior(
            generator, n_classes, joint.priors_of(drawn)
        )
        size, count = np.zeros(n_classes, np.int64), np.zeros((5, n_classes), np.int64)
        tables = np.ascontiguousarray(tables)
        state = blocked.State(size, count, log_weights, tables, concentration, False, drawn)
        return state, joint.rows_given_weights(generator, log_weights, tables, joint.N_RECORDS)

    before, after = np.empty((draws, 7)), np.empty((draws, 7))
    for draw in range(draws):
        before[draw] = numbers(*fresh())
        state, rows = fresh()
        for _ in range(3):
            problem = joint.sampled_problem(rows)
            state = blocked.step(generator, problem, state, (joint.SHAPE, joint.RATE))
            rows = joint.rows_given_weights(
                generator, state.log_weights, state.probabilities, joint.N_RECORDS
            )
        after[draw] = numbers(state, rows)
    tiny.check_same_distribution(before, after)
