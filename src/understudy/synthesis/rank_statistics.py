"""Rank-normalized R-hat and effective sample sizes of many quantities at once, compiled.

A run has thousands of label probabilities, and every one of them has to be judged. arviz-stats
judges one at a time, in some milliseconds each; the same formulas compiled take a fraction of that,
but for chains of many thousand draws that are apart (``benchmarks/convergence.py``). In the tests
arviz-stats is the slow twin of everything here.

The formulas are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021),
"Rank-normalization, folding, and localization", Bayesian Analysis 16, doi:10.1214/20-BA1221. Chains
are cut in half throughout, so that one that drifts shows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from understudy.compiling import compiled
from understudy.interrupts import postponed_interrupts

__all__ = ["rank_statistics"]

TAIL = (0.05, 0.95)
OFFSET = 3 / 8  # Blom's, in normal scores
BLOCK = 16  # quantities that a thread takes at a time
ALIKE = 1e-15  # values that differ by less are one constant


def rank_statistics(
    values: NDArray[np.floating], threads: int = 1, effective: bool = True
) -> NDArray[np.float64]:
    """R-hat, bulk and tail effective sample size of every quantity.

    Parameters
    ----------
    values : float (chain, draw, quantity)
        Kept draws, at least four of each chain.
    threads : int
        How many blocks of quantities to work on at the same time.
    effective : bool
        Whether effective sample sizes are asked for; they take the most time where chains are long
        and apart.

    Returns
    -------
    float64 (quantity, 3)
        R-hat, bulk ESS, tail ESS; none (nan) of a constant. A quantity with values that are
        not finite has an infinite R-hat and no effective draws.
    """
    n_chains, n_draws, n_quantities = values.shape
    scores = _normal_scores(2 * n_chains * (n_draws // 2))
    statistics = np.full((n_quantities, 3), np.nan)  # (quantity, R-hat or bulk or tail)

    def judge(first: int) -> None:
        block = np.ascontiguousarray(
            values[:, :, first : first + BLOCK].transpose(2, 0, 1), dtype=np.float64
        )  # (quantity, chain, draw)
        with np.errstate(invalid="ignore"):  # values that are not finite; a thread has its own
            edges = np.quantile(block, TAIL, axis=(1, 2))  # (edge, quantity)
        _judge(block, edges, scores, effective, statistics[first : first + BLOCK])

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


@compiled
def _judge(block, edges, scores, effective, statistics):  # type: ignore[no-untyped-def]
    """Judge every quantity of a block (quantity, chain, draw); edges (edge, quantity)."""
    for quantity in range(block.shape[0]):
        values = block[quantity]  # (chain, draw)
        if not np.all(np.isfinite(values)):
            statistics[quantity] = 0.0
            statistics[quantity, 0] = np.inf
            continue
        if values.max() == values.min():
            statistics[quantity] = np.nan
            continue
        halves = _halves(values)
        by_size = np.argsort(halves.ravel())  # (value,)
        ranked = _scored(halves, by_size, scores)
        statistics[quantity, 0] = max(_rhat(ranked), _folded_rhat(halves, by_size, scores))
        if effective:
            statistics[quantity, 1] = _effective(ranked)
            below = _effective(np.where(halves <= edges[0, quantity], 1.0, 0.0))
            above = _effective(np.where(halves <= edges[1, quantity], 1.0, 0.0))
            statistics[quantity, 2] = min(below, above)


@compiled
def _halves(values):  # type: ignore[no-untyped-def]
    """Cut chains (chain, draw) into halves (half chain, draw); a draw in the middle is left out."""
    n_chains, n_draws = values.shape
    size = n_draws // 2
    halves = np.empty((2 * n_chains, size))
    for chain in range(n_chains):
        halves[2 * chain] = values[chain, :size]
        halves[2 * chain + 1] = values[chain, n_draws - size :]
    return halves


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
def _folded_rhat(halves, by_size, scores):  # type: ignore[no-untyped-def]
    """R-hat of the distances from the median: chains that differ in spread alone show in it."""
    values = halves.ravel()
    middle = values.size // 2  # the number of halves is even, and so is that of values
    median = values[by_size[middle - 1]] / 2 + values[by_size[middle]] / 2
    folded = np.abs(halves - median)
    if folded.max() == folded.min():  # two values, equally often: there is nothing to see
        return 0.0
    return _rhat(_scored(folded, np.argsort(folded.ravel()), scores))


@compiled
def _rhat(rows):  # type: ignore[no-untyped-def]
    """R-hat of rows (half chain, draw) as they are."""
    n_rows, size = rows.shape
    means, within = np.empty(n_rows), 0.0
    for row in range(n_rows):
        means[row] = rows[row].mean()
        within += ((rows[row] - means[row]) ** 2).sum() / (size - 1) / n_rows
    between = size * ((means - means.mean()) ** 2).sum() / (n_rows - 1)
    if within <= 0.0:
        return np.inf
    return np.sqrt((between / within + size - 1) / size)


@compiled
def _effective(rows):  # type: ignore[no-untyped-def]
    """Effective sample size of rows (half chain, draw): Geyer's initial monotone sequence."""
    if rows.max() - rows.min() < ALIKE:
        return float(rows.size)
    n_rows, size = rows.shape
    centred, means = np.empty(rows.shape), np.empty(n_rows)
    for row in range(n_rows):
        means[row] = rows[row].mean()
        centred[row] = rows[row] - means[row]
    variance = _covariance(centred, 0) * size / (size - 1)
    total = variance * (size - 1) / size + ((means - means.mean()) ** 2).sum() / (n_rows - 1)

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
    time = -1 + 2 * correlation[: last + 1].sum() + correlation[last + 1]
    return rows.size / max(time, 1 / np.log10(rows.size))


@compiled
def _covariance(centred, lag):  # type: ignore[no-untyped-def]
    """Autocovariance of centred rows (half chain, draw) at one lag, averaged over rows."""
    n_rows, size = centred.shape
    total = 0.0
    for row in range(n_rows):
        total += np.dot(centred[row, : size - lag], centred[row, lag:])
    return total / (size * n_rows)
