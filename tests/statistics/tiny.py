"""Tiny data whose posterior can be enumerated, and the comparison of draws with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, chisquare, ks_2samp
from tests.naive import dpmpm as naive

from understudy.synthesis.dpmpm import blocked, collapsed, split_merge
from understudy.synthesis.dpmpm.problem import NO_HOLE, Problem

Key = tuple[tuple[tuple[int, ...], ...], ...]

# Five records, three combinations of two variables; unequal prior counts.
ROWS = [(0, 0), (0, 0), (0, 1), (1, 2), (1, 2)]
ROWS_WITH_HOLES = [(0, 0), (0, 3), (0, 1), (1, 2), (2, 2)]  # in records 2 and 5
PRIORS = [[0.7, 1.3], [0.5, 1.0, 2.0]]
SHAPE, RATE = 1.5, 0.8
FALSE_ALARM = 1e-4  # of every test against a distribution


def problem_of(rows: naive.Rows, priors: naive.Priors) -> Problem:
    """Bring rows into the form of the kernels; the number behind the last level is a hole."""
    distinct = sorted(set(rows))
    holes = [
        any(row[variable] == len(prior) for row in rows) for variable, prior in enumerate(priors)
    ]
    priors = [[*prior, 0.0] if hole else prior for prior, hole in zip(priors, holes, strict=True)]
    start = np.concatenate([[0], np.cumsum([len(prior) for prior in priors])]).astype(np.int64)
    levels = np.array(distinct, dtype=np.int32).reshape(len(distinct), len(priors))
    return Problem(
        levels=(levels + start[:-1].astype(np.int32)).astype(np.int32),
        counts=np.array([rows.count(row) for row in distinct], dtype=np.int64),
        level_start=start,
        prior=np.concatenate([np.asarray(prior, dtype=np.float64) for prior in priors]),
        prior_sum=np.array([sum(prior) for prior in priors], dtype=np.float64),
        holes=np.where(holes, start[1:] - 1, NO_HOLE).astype(np.int64),
    )


def key_of_state(state: collapsed.State, rows: naive.Rows) -> Key:
    """Name a collapsed state as the enumeration names partitions."""
    distinct = sorted(set(rows))
    classes = [
        [row for row, count in zip(distinct, column, strict=True) for _ in range(int(count))]
        for column in state.members.T
    ]
    return naive.key_of(classes)


def state_of_key(
    key: Key,
    rows: naive.Rows,
    problem: Problem,
    concentration: float,
    spare: int = 5,
    strengths: NDArray[np.float64] | None = None,
) -> collapsed.State:
    """Build a collapsed state with so many empty classes from the name of a partition."""
    distinct = sorted(set(rows))
    members = np.zeros((len(distinct), len(key) + spare), dtype=np.int32)  # (combination, class)
    for k, rows_of_class in enumerate(key):
        for row in rows_of_class:
            members[distinct.index(row), k] += 1
    return collapsed.with_members(problem, members, concentration, strengths)


def counts_key(level_count: NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    """Name a partition by the level counts of its classes: (class, level)."""
    return tuple(sorted(tuple(int(x) for x in row) for row in level_count if row.any()))


def counts_key_of(key: Key, priors: naive.Priors) -> tuple[tuple[int, ...], ...]:
    """Translate the name of a partition into level counts."""
    rows = [row for members in key for row in members]
    start = problem_of(rows, priors).level_start
    table = np.zeros((len(key), int(start[-1])), dtype=np.int64)
    for k, members in enumerate(key):
        for row in members:
            for variable, level in enumerate(row):
                table[k, start[variable] + level] += 1
    return counts_key(table)


def chi_square_p(seen: Counter[Any], exact: Mapping[Any, float]) -> float:
    """p-value of independent draws against exact probabilities; rare outcomes are pooled."""
    assert set(seen) <= set(exact), "an impossible outcome was drawn"
    total = sum(seen.values())
    statistic, cells, pooled_seen, pooled_expected = 0.0, 0, 0.0, 0.0
    for key, probability in exact.items():
        expected = probability * total
        if expected < 8:
            pooled_seen += seen[key]
            pooled_expected += expected
        else:
            statistic += (seen[key] - expected) ** 2 / expected
            cells += 1
    if pooled_expected > 0:
        statistic += (pooled_seen - pooled_expected) ** 2 / max(pooled_expected, 1.0)
        cells += 1
    return float(chi2.sf(statistic, cells - 1))


def check_same_distribution(before: NDArray[np.float64], after: NDArray[np.float64]) -> None:
    """Test each summary, (draw, summary), of independent draws from two distributions."""
    for number in range(before.shape[1]):
        assert ks_2samp(before[:, number], after[:, number]).pvalue > FALSE_ALARM, number


def check_uniform_ranks(rank_of_truth: NDArray[np.int64], most: int, bins: int) -> None:
    """Test that ranks from 0 to `most`, (simulation, quantity), are uniform."""
    for quantity in range(rank_of_truth.shape[1]):
        counts = np.bincount(rank_of_truth[:, quantity] * bins // (most + 1), minlength=bins)
        assert chisquare(counts).pvalue > FALSE_ALARM, quantity


def all_records(
    generator: np.random.Generator, problem: Problem, state: collapsed.State
) -> collapsed.State:
    """Draw the classes of all records of a combination, as often as there are records."""
    after: collapsed.State = collapsed.move_records(generator, problem, state, 10**9)[0]
    return after


def split_merge_move(
    generator: np.random.Generator, problem: Problem, state: collapsed.State
) -> collapsed.State:
    """Propose a split or a merge."""
    return split_merge.split_or_merge(generator, problem, state)[0]


def concentration_sampler(
    n_classes: int, n_records: int, shape: float, rate: float
) -> tuple[
    Callable[[NDArray[np.float64]], NDArray[np.float64]],
    Callable[[NDArray[np.float64]], NDArray[np.float64]],
]:
    """Quantiles and distribution function of the concentration given the number of classes."""
    grid = np.linspace(-40, 8, 60_001)
    density = np.exp(naive.concentration_log_density(grid, n_classes, n_records, shape, rate))
    cumulative = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    cumulative /= cumulative[-1]
    return (
        lambda uniform: np.exp(np.interp(uniform, cumulative, grid)),
        lambda value: np.interp(np.log(value), grid, cumulative),
    )


def blocked_key(state: blocked.State) -> tuple[tuple[int, ...], ...]:
    """Name the partition of a blocked state by its level counts."""
    return counts_key(state.level_count.T)
