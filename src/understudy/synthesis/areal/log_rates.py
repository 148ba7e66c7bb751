"""Log rates of the cells given their counts and clusters: exact draws.

They are drawn where they are needed and never kept: whatever integrates them out next would make
them stale. Where a cell's likelihood has a power b, y + log b is drawn, whose density is that of
the count b c.

Kernels share these arguments: `generator` (Generator), `problem` (Problem), `members` int64 (pair,
cluster), `centres` float64 (pair, cluster), `means` float64 (cluster, pattern), `precision` float.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.areal.poisson_lognormal import modes
from understudy.synthesis.areal.problem import Problem

__all__ = ["draw_table", "sum_log_rates"]

Sums = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


@compiled
def _draw_log_rate(generator, mode, precision):  # type: ignore[no-untyped-def]
    """Draw y from its density given the count, exactly, by rejection.

    With the mode known, either of the two parts is replaced by its tangent at the mode: what is
    left is a normal distribution, or that of the logarithm of a gamma variable, whichever is
    narrower, and the other part is the probability of acceptance, at least 0.7 on average.
    """
    rate = np.exp(mode)
    while True:
        if rate < precision:
            away = generator.standard_normal() / np.sqrt(precision)
            accepted = rate * (1.0 + away - np.exp(away))
        else:
            away = np.log(generator.standard_gamma(rate)) - mode
            accepted = -0.5 * precision * away * away
        if generator.random() < np.exp(accepted):
            return mode + away


@compiled
def _sum_log_rates(generator, problem, members, centres, means, precision, sizes, sums, squares):  # type: ignore[no-untyped-def]
    """Fill sizes, sums and squares (cluster, pattern); see `sum_log_rates`."""
    sizes[:] = 0.0
    sums[:] = 0.0
    squares[:] = 0.0
    for pattern in range(problem.pair_start.size - 1):
        for pair in range(problem.pair_start[pattern], problem.pair_start[pattern + 1]):
            for cluster in range(means.shape[0]):
                if members[pair, cluster] == 0:
                    continue
                mean = means[cluster, pattern]
                shift = problem.shift[problem.pair_index[pair]]
                for _ in range(members[pair, cluster]):
                    drawn = _draw_log_rate(generator, centres[pair, cluster], precision) - shift
                    sums[cluster, pattern] += drawn
                    squares[cluster, pattern] += (drawn - mean) ** 2
                sizes[cluster, pattern] += members[pair, cluster]


@compiled
def _draw_table(generator, problem, members, centres, precision):  # type: ignore[no-untyped-def]
    """Draw log rates (cell,), given their modes `centres` (pair, cluster); see `draw_table`."""
    left = members.copy()  # (pair, cluster)
    waiting = problem.pair_size.copy()  # (pair,)
    n_cells = problem.pair_of_cell.size
    log_rates = np.empty(n_cells)  # (cell,)
    for cell in range(n_cells):
        pair = problem.pair_of_cell[cell]
        if pair < 0:
            log_rates[cell] = -np.inf  # impossible
            continue
        ticket = int(generator.random() * waiting[pair])
        cluster = 0
        while ticket >= left[pair, cluster]:
            ticket -= left[pair, cluster]
            cluster += 1
        left[pair, cluster] -= 1
        waiting[pair] -= 1
        drawn = _draw_log_rate(generator, centres[pair, cluster], precision)
        log_rates[cell] = drawn - problem.shift[problem.pair_index[pair]]
    return log_rates


def sum_log_rates(
    generator: np.random.Generator,
    problem: Problem,
    members: NDArray[np.int64],
    means: NDArray[np.float64],
    precision: float,
) -> Sums:
    """Draw the log rates of all cells given their clusters, and add them up.

    Given members (pair, cluster) and means (cluster, pattern). Gives numbers of cells, sums, and
    sums of squared deviations from the mean, (cluster, pattern) each.
    """
    sizes, sums, squares = (np.empty(means.shape) for _ in range(3))  # (cluster, pattern)
    centres = modes(problem, members, means, precision)  # (pair, cluster)
    _sum_log_rates(generator, problem, members, centres, means, precision, sizes, sums, squares)
    return sizes, sums, squares


def draw_table(
    generator: np.random.Generator,
    problem: Problem,
    members: NDArray[np.int64],
    means: NDArray[np.float64],
    precision: float,
) -> NDArray[np.float64]:
    """Draw the log rate of every cell (cell,), given how many cells of its pair each cluster has.

    Which cells of a pair those are is drawn too: cell by cell, without replacement. Impossible
    cells have a rate of zero.
    """
    centres = modes(problem, members, means, precision)  # (pair, cluster)
    return np.asarray(_draw_table(generator, problem, members, centres, precision))
