"""Noise floors: what chance alone scores, by simulation and exactly.

The perfect synthesizer redraws every record's label from the labels of its own pattern (METHOD's
Perfect). Its sets differ from the original by chance alone, so a measure can be read only beside
its value for such sets. There are two floors:

- *resampled* (`noise_floor`): a perfect set against the original. The original is its own truth
  here, so only the set varies.
- *truth-knowing* (`truth_floor`): what a synthesizer that knew the population would score. Then
  the original varies too, by as much as the set. Two independent perfect sets against each other
  stand for the two: sqrt(2) times the resampled floor for large counts, 2 times for squares.

Redrawing inside a pattern is a multinomial draw over the combinations of that pattern, so sets are
simulated as counts, at a cost that grows with combinations.

The expected absolute deviation of a cell needs no simulation. The cell's count is a sum of
independent binomial counts, one per pattern, whose mean is the original count. For a whole number
k, (1 - cos kt) / (1 - cos t) has the mean |k| over a period of t, and it is a trigonometric
polynomial of degree below |k|; so the mean over M equally spaced points is exact for all
|k| <= M, and taking expectations turns cos kt into the characteristic function. That of the
difference between two independent counts is the squared length of the one count's.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.table import Microdata
from understudy.utility.tabulation import LARGEST_KEY

__all__ = [
    "PerfectDraws",
    "expected_cell_deviation",
    "expected_deviation",
    "perfect_codes",
    "perfect_counts",
]

SPREADS = 9.0  # standard deviations that the points must reach; what is beyond has mass < 1e-15
REST = 20.0  # and as many counts more, for the long tail of small counts
LADDER = 4  # numbers of points from one power of two to the next
NEGLIGIBLE = -45.0  # logarithm of a characteristic function that no longer counts


class PerfectDraws:
    """Draws sets of the perfect synthesizer, as counts of combinations.

    A pattern's records are shared out over its combinations, one combination of every pattern at a
    time; which these are is found once.

    Parameters
    ----------
    data : Microdata
        Every pattern keeps its size in every set.
    """

    def __init__(self, data: Microdata) -> None:
        self._data = data
        of_combination = data.patterns.of_combination
        order = np.argsort(of_combination, kind="stable")  # combinations, pattern by pattern
        first = np.searchsorted(of_combination[order], np.arange(len(data.patterns)))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - first[of_combination[order]]  # within the pattern
        by_rank = np.argsort(rank, kind="stable")
        self._of_rank = np.split(by_rank, np.cumsum(np.bincount(rank))[:-1])  # combinations each

    def counts(self, generator: np.random.Generator, repeats: int) -> NDArray[np.int32]:
        """Draw sets, (repeat, combination)."""
        data = self._data
        drawn = np.zeros((repeats, data.n_combinations), dtype=np.int32)
        left = np.repeat(
            data.patterns.sizes[None, :], repeats, axis=0
        )  # (repeat, pattern) records still to draw
        mass = data.patterns.sizes.copy()  # (pattern,) original records not yet passed
        for current in self._of_rank:  # one combination of every pattern that has so many
            patterns = data.patterns.of_combination[current]
            share = data.counts[current] / mass[patterns]
            drawn[:, current] = generator.binomial(left[:, patterns], share)
            left[:, patterns] -= drawn[:, current]
            mass[patterns] -= data.counts[current]
        return drawn


def perfect_counts(
    generator: np.random.Generator, data: Microdata, repeats: int
) -> NDArray[np.int32]:
    """Draw sets of the perfect synthesizer, as counts (repeat, combination) of the data."""
    return PerfectDraws(data).counts(generator, repeats)


def perfect_codes(generator: np.random.Generator, data: Microdata) -> NDArray[np.int32]:
    """Draw one set of the perfect synthesizer, (record, synthesized variable), record by record.

    Every record takes the synthesized levels of a record picked at random from its pattern.
    """
    pattern = data.patterns.of_combination[data.of_record]  # (record,)
    by_pattern = np.argsort(pattern, kind="stable")
    first = np.concatenate([[0], np.cumsum(data.patterns.sizes)[:-1]])
    picked = by_pattern[first[pattern] + generator.integers(0, data.patterns.sizes[pattern])]
    columns = [data.names.index(name) for name in data.synthesized]
    return data.combinations[:, columns][data.of_record[picked]]


def expected_cell_deviation(
    data: Microdata,
    names: tuple[str, ...],
    of_combination: NDArray[np.integer],
    n_cells: int,
    *,
    between_two: bool = False,
) -> NDArray[np.float64]:
    """Expected absolute deviation of every cell of a table under the perfect synthesizer, exact.

    It is that of a perfect set from the original, or `between_two` perfect sets. Each combination
    has a cell, (combination,), of the table of `names`.
    """
    drawn = [name for name in data.synthesized if name in names]
    groups = data.cells((*data.kept, *drawn))  # what one pattern adds to one cell
    pattern_of_group = np.zeros(len(groups), dtype=np.int64)
    pattern_of_group[groups.of_combination] = data.patterns.of_combination
    cell_of_group = np.zeros(len(groups), dtype=np.int64)
    cell_of_group[groups.of_combination] = of_combination
    trials = data.patterns.sizes[pattern_of_group]
    return expected_deviation(trials, groups.sizes, cell_of_group, n_cells, between_two=between_two)


def expected_deviation(
    trials: NDArray[np.int64],
    means: NDArray[np.int64],
    cell: NDArray[np.int64],
    n_cells: int,
    *,
    between_two: bool = False,
) -> NDArray[np.float64]:
    """Mean absolute deviation, (cell,), of sums of independent binomial counts, exact.

    Each part has its trials, a mean that is a whole number (the probability is ``means / trials``),
    and the cell that it is added to. The deviation is from the mean or, `between_two`, from an
    independent sum of the same kind.
    """
    from scipy.sparse import csr_array

    varies = (means > 0) & (means < trials)
    trials, means, cell = trials[varies], means[varies], cell[varies]
    size, share = trials.astype(np.float64), means / trials
    if between_two:
        size *= 2  # twice the variance, and the square of the characteristic function's length
    weights = size * share * (1 - share)
    variance = np.bincount(cell, weights=weights, minlength=n_cells).astype(np.float64)
    points = _points(variance)
    first, kind = _kinds(trials, means, points[cell])  # parts of a kind have the same curve
    size, share, points_of_kind = size[first], share[first], points[cell[first]]  # (kind,)
    parts = csr_array((np.ones(kind.size), (cell, kind)), shape=(n_cells, first.size))
    active = variance > 0
    total = np.where(active, points / 2.0, 0.0)
    for step in range(int(points.max(initial=0)) // 2):
        active &= step < points // 2
        if not active.any():
            break
        here = (2 * np.minimum(step, points_of_kind // 2 - 1) + 1) * np.pi / points_of_kind
        curve = -4 * share * (1 - share) * np.sin(here / 2) ** 2
        length = parts @ (0.5 * size * np.log1p(curve))  # (cell,)
        angle = (2 * step + 1) * np.pi / points  # (cell,)
        term = np.exp(length) / np.sin(angle / 2) ** 2
        if not between_two:  # the difference of two equal sums is symmetric: no angle
            turn = np.arctan2(share * np.sin(here), 1 - share + share * np.cos(here)) - share * here
            term *= np.cos(parts @ (size * turn))
        total[active] -= (term / points)[active]
        active &= length > NEGLIGIBLE
    return np.maximum(total, 0.0)


def _points(variance: NDArray[np.float64]) -> NDArray[np.int64]:
    """Points that reach far enough, (cell,); few different numbers, so that cells share curves."""
    least = (SPREADS * np.sqrt(variance) + REST) / 2
    half = np.exp2(np.ceil(LADDER * np.log2(least)) / LADDER)
    points: NDArray[np.int64] = 2 * np.ceil(half).astype(np.int64)
    return points


def _kinds(
    trials: NDArray[np.int64], means: NDArray[np.int64], points: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group parts (part,) that are alike: the first of each kind (kind,), and kinds (part,)."""
    sizes = tuple(int(values.max(initial=0)) + 1 for values in (trials, means, points))
    if math.prod(sizes) >= LARGEST_KEY:
        every = np.arange(trials.size)
        return every, every
    keys = np.ravel_multi_index((trials, means, points), sizes)
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    return first, kind
