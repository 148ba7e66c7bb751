"""Rank-normalized R-hat and effective sample sizes of many quantities at once, compiled.

A run has thousands of label probabilities, and every one of them has to be judged. arviz-stats
judges one at a time, in some milliseconds each; the same formulas compiled take a fraction of that,
but for chains of many thousand draws that are apart (``benchmarks/convergence.py``). In the tests
arviz-stats is the slow twin of everything here.

The formulas are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021),
"Rank-normalization, folding, and localization", Bayesian Analysis 16, doi:10.1214/20-BA1221. Chains
are cut in half throughout, so that one that drifts shows.

Kernels share these arguments: `halves` float64 (half chain, draw), of one quantity or (quantity,
half chain, draw), `by_size` and `folded_by_size` int64, the order of its values, `scores` float64
(half rank,), `values` float64 (draw,).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from understudy.compiling import compiled
from understudy.interrupts import postponed_interrupts

__all__ = ["rhat_and_ess"]

TAIL = (0.05, 0.95)
OFFSET = 3 / 8  # Blom's, in normal scores
BLOCK = 16  # quantities that a thread takes at a time
ALIKE = 1e-15  # values that differ by less are one constant


def rhat_and_ess(
    values: NDArray[np.floating], threads: int = 1, effective: bool = True
) -> NDArray[np.float64]:
    """R-hat, bulk and tail effective sample size, (quantity, 3), of draws (chain, draw, quantity).

    Each chain has at least four draws. Effective sample sizes take the most time where chains are
    long and apart, and may be left out. A constant has none of the three (nan). A quantity with
    values that are not finite has an infinite R-hat and no effective draws.
    """
    n_chains, n_draws, n_quantities = values.shape
    scores = _normal_scores(2 * n_chains * (n_draws // 2))
    statistics = np.full((n_quantities, 3), np.nan)  # (quantity, R-hat or bulk or tail)

    def judge(first: int) -> None:
        block = np.ascontiguousarray(
            values[:, :, first : first + BLOCK].transpose(2, 0, 1), dtype=np.float64
        )  # (quantity, chain, draw)
        finite = np.isfinite(block).all(axis=(1, 2))  # (quantity,)
        changing = block.max(axis=(1, 2)) != block.min(axis=(1, 2))  # (quantity,)
        of_block = statistics[first : first + BLOCK]
        of_block[~finite] = np.inf, 0.0, 0.0
        which = np.flatnonzero(finite & changing)
        if not which.size:
            return
        block = block[which]
        edges = np.quantile(block, TAIL, axis=(1, 2))  # (edge, quantity)
        halves = _halves(block)
        judged = np.full((which.size, 3), np.nan)  # (quantity, R-hat or bulk or tail)
        _judge(*_ordered(halves), *_ordered(_folded(halves)), edges, scores, effective, judged)
        of_block[which] = judged

    with postponed_interrupts() as interrupts, ThreadPoolExecutor(threads) as pool:
        try:
            for _ in pool.map(judge, range(0, n_quantities, BLOCK)):
                interrupts.raise_postponed()
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    return statistics


def _normal_scores(n_values: int) -> NDArray[np.float64]:
    """Normal scores (half rank,) of the ranks 1, 1.5, 2, ..., n: tied values share their mean."""
    ranks = np.arange(2, 2 * n_values + 1) / 2
    scores: NDArray[np.float64] = ndtri((ranks - OFFSET) / (n_values - 2 * OFFSET + 1))
    return scores


# Sorting is left to NumPy: to compile it takes longer than most runs have quantities to judge.


def _halves(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cut chains (quantity, chain, draw) into halves (quantity, half chain, draw).

    A draw in the middle is left out.
    """
    n_quantities, n_chains, n_draws = block.shape
    size = n_draws // 2
    halves = np.stack([block[:, :, :size], block[:, :, n_draws - size :]], axis=2)
    return halves.reshape(n_quantities, 2 * n_chains, size)


def _folded(halves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give distances from the median: chains that differ in spread alone show in them."""
    ordered = np.sort(halves.reshape(halves.shape[0], -1), axis=1)  # (quantity, value)
    middle = ordered.shape[1] // 2  # the number of halves is even, and so is that of values
    median = ordered[:, middle - 1] / 2 + ordered[:, middle] / 2  # (quantity,)
    folded: NDArray[np.float64] = np.abs(halves - median[:, np.newaxis, np.newaxis])
    return folded


def _ordered(halves: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Give the values beside the order of their sizes: (quantity, value)."""
    return halves, np.argsort(halves.reshape(halves.shape[0], -1), axis=1)


@compiled
def _judge(  # type: ignore[no-untyped-def]
    halves, by_size, folded, folded_by_size, edges, scores, effective, statistics
):
    """Judge every quantity of a block; `halves` and `folded` (quantity, half chain, draw).

    `by_size` int64 (quantity, value) are the orders of their values, `edges` float64 (edge,
    quantity); `statistics` float64 (quantity, 3) is filled.
    """
    for quantity in range(halves.shape[0]):
        rows = halves[quantity]  # (half chain, draw)
        ranked = _scored(rows, by_size[quantity], scores)
        statistics[quantity, 0] = _rhat(ranked)
        distances, order = folded[quantity].ravel(), folded_by_size[quantity]
        if distances[order[0]] < distances[order[-1]]:  # else two values, equally often
            of_folded = _rhat(_scored(folded[quantity], order, scores))
            statistics[quantity, 0] = max(statistics[quantity, 0], of_folded)
        if effective:
            statistics[quantity, 1] = _effective(ranked)
            below = _effective(_not_above(rows, edges[0, quantity]))
            above = _effective(_not_above(rows, edges[1, quantity]))
            statistics[quantity, 2] = min(below, above)


@compiled
def _not_above(rows, edge):  # type: ignore[no-untyped-def]
    """Mark the values of rows (half chain, draw) up to an edge by 1, the others by 0."""
    marked = np.zeros(rows.shape)
    for row in range(rows.shape[0]):
        for draw in range(rows.shape[1]):
            if rows[row, draw] <= edge:
                marked[row, draw] = 1.0
    return marked


@compiled
def _scored(halves, by_size, scores):  # type: ignore[no-untyped-def]
    """Replace every value by the normal score of its rank."""
    values = halves.ravel()
    scored = np.empty(values.size)
    first = 0
    while first < values.size:
        last = first
        while last + 1 < values.size and values[by_size[last + 1]] == values[by_size[first]]:
            last += 1
        for rank in range(first, last + 1):
            scored[by_size[rank]] = scores[first + last]
        first = last + 1
    return scored.reshape(halves.shape)


@compiled
def _mean(values):  # type: ignore[no-untyped-def]
    """Mean of some numbers."""
    total = 0.0
    for value in values:
        total += value
    return total / values.size


@compiled
def _squares(values):  # type: ignore[no-untyped-def]
    """Sum of squared distances from the mean."""
    mean, total = _mean(values), 0.0
    for value in values:
        total += (value - mean) ** 2
    return total


@compiled
def _rhat(rows):  # type: ignore[no-untyped-def]
    """R-hat of rows (half chain, draw) as they are."""
    n_rows, size = rows.shape
    means, within = np.empty(n_rows), 0.0
    for row in range(n_rows):
        means[row] = _mean(rows[row])
        within += _squares(rows[row]) / (size - 1) / n_rows
    between = size * _squares(means) / (n_rows - 1)
    if within <= 0.0:
        return np.inf
    return np.sqrt((between / within + size - 1) / size)


@compiled
def _effective(rows):  # type: ignore[no-untyped-def]
    """Effective sample size of rows (half chain, draw): Geyer's initial monotone sequence."""
    n_rows, size = rows.shape
    least = most = rows[0, 0]
    centred, means = np.empty(rows.shape), np.empty(n_rows)
    for row in range(n_rows):
        means[row] = _mean(rows[row])
        for draw in range(size):
            centred[row, draw] = rows[row, draw] - means[row]
            least, most = min(least, rows[row, draw]), max(most, rows[row, draw])
    if most - least < ALIKE:
        return float(rows.size)
    variance = _covariance(centred, 0) * size / (size - 1)
    total = variance * (size - 1) / size + _squares(means) / (n_rows - 1)

    correlation = np.zeros(size)  # (lag,)
    correlation[0] = even = 1.0
    correlation[1] = odd = 1 - (variance - _covariance(centred, 1)) / total
    lag = 1
    while lag < size - 3 and even + odd > 0:
        even = 1 - (variance - _covariance(centred, lag + 1)) / total
        odd = 1 - (variance - _covariance(centred, lag + 2)) / total
        if even + odd >= 0:
            correlation[lag + 1], correlation[lag + 2] = even, odd
        lag += 2
    last = lag - 2
    if even > 0:
        correlation[last + 1] = even
    for pair in range(1, last - 1, 2):
        before = correlation[pair - 1] + correlation[pair]
        if correlation[pair + 1] + correlation[pair + 2] > before:
            correlation[pair + 1] = correlation[pair + 2] = before / 2
    time = -1 + correlation[last + 1]
    for before in range(last + 1):
        time += 2 * correlation[before]
    return rows.size / max(time, 1 / np.log10(rows.size))


@compiled
def _covariance(centred, lag):  # type: ignore[no-untyped-def]
    """Autocovariance of centred rows (half chain, draw) at one lag, averaged over rows."""
    n_rows, size = centred.shape
    total = 0.0
    for row in range(n_rows):
        total += np.dot(centred[row, : size - lag], centred[row, lag:])
    return total / (size * n_rows)
