"""The data as the DP-areal kernels see them: a table of counts, patterns by labels.

Every pattern that occurs has a row, every conceivable label a column, and the cells that nobody is
in are part of the data. Cells that the codebook calls impossible are not in it: nobody can be
counted there, so that they tell nothing of rates. Cells of one pattern with the same count are
interchangeable to the model, so its kernels work on distinct pairs (pattern, count) and how many
cells each of them has.

Where the likelihood of a cell has a power b, a cell is a count and a power. Log rates integrated
out, its likelihood is, but for a constant, that of the count b c with log b added to the mean:

    integral of  Poisson(c; e^y)^b Normal(y; m, 1/tau)  over y
        = c!^-b b^(-b c) Gamma(b c + 1)  PLN(b c | m + log b, tau).

So "count" below is b c, and `shift` is log b. An empty cell has no records and so no power of its
own: it gets the mean of those of its pattern's records. A power of 0 has the shift `NEVER`, with
which no rate can be told from another.

The table's size is worked out first, with Python's integers, so that too many combined labels are
refused before anything is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.microdata.label_table import combined_labels, true_labels
from understudy.microdata.structural_zeros import impossible_labels
from understudy.microdata.table import Microdata

__all__ = ["MOST_CELLS", "Problem", "count_table", "make_problem", "problem_of_counts"]

MOST_CELLS = 20_000_000  # of the table, the empty ones included
POWERS = 16  # powers are whole multiples of 1 / POWERS: cells with the same are interchangeable
NEVER = -60.0
BLOCK = 1 << 18  # cells that are grouped into pairs together
MOST_COUNTS = 4_000  # different ones: integrals that are remembered take 0.15 MB each and chain


class Problem(NamedTuple):
    """What a kernel needs to know of the table. Pairs are in the order of patterns, then counts."""

    pair_start: NDArray[np.int64]  # (pattern + 1,) first pair of each pattern
    pair_count: NDArray[Any]  # (pair,) the count that its cells have
    pair_size: NDArray[np.int64]  # (pair,) cells of the pair
    pair_index: NDArray[np.int64]  # (pair,) index of its count among the distinct counts
    distinct: NDArray[Any]  # (distinct count,) ascending
    design: NDArray[np.float64]  # (pattern, effect) ones, then indicators of all levels
    pair_of_cell: NDArray[np.int32]  # (cell,) numbered pattern by pattern; -1: impossible
    shift: NDArray[np.float64]  # (distinct count,) added to means; zero without powers
    n_records: int

    @property
    def n_cells(self) -> int:
        """Number of possible cells of the table, the empty ones included."""
        return int(self.pair_size.sum())

    @property
    def n_patterns(self) -> int:
        """Number of patterns."""
        return int(self.design.shape[0])


def count_table(data: Microdata) -> NDArray[np.int64]:
    """Count the records of every cell: (pattern, label).

    Raises
    ------
    InputError
        When there are more cells than a run could go through.
    """
    n_cells = len(data.patterns) * data.n_labels  # Python integers: no overflow
    if n_cells > MOST_CELLS:
        raise InputError(
            expected=f"a table of at most {MOST_CELLS:,} cells, patterns by labels, for the "
            "DP-areal model, which goes through all of them, the empty ones too",
            came=f"{n_cells:,}: {len(data.patterns):,} patterns by {data.n_labels:,} labels",
            do="synthesize fewer variables together, group their levels or those of kept "
            "variables, or use the DPMPM, whose cost does not grow with empty cells",
        )
    columns = [data.names.index(name) for name in data.synthesized]
    labels = combined_labels(data, data.combinations[:, columns])  # (combination,)
    table = np.zeros((len(data.patterns), data.n_labels), dtype=np.int64)  # (pattern, label)
    np.add.at(table, (data.patterns.of_combination, labels), data.counts)
    occupied = table[table > 0]
    different = np.unique(occupied).size + int(occupied.size < table.size)
    if different > MOST_COUNTS:
        raise InputError(
            expected=f"a table with at most {MOST_COUNTS:,} different counts for the DP-areal "
            "model, which remembers integrals for each",
            came=f"{different:,} different counts",
            do="fit a part of the records, or use the DPMPM",
        )
    return table


def design_of(data: Microdata) -> NDArray[np.float64]:
    """Make the regressors of every pattern: a one, then an indicator of every kept level.

    Kept variables with a single level tell nothing and are left out.
    """
    columns = [np.ones((len(data.patterns), 1))]
    for name in data.predictors:
        codes = data.patterns.codes[:, data.kept.index(name)]  # (pattern,)
        columns.append(np.eye(data.variable(name).n_levels)[codes])
    return np.hstack(columns)  # (pattern, effect)


def powers_of_cells(data: Microdata, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the power of every cell, rounded: (pattern, label), weights (combination,)."""
    patterns, sizes = data.patterns.of_combination, data.patterns.sizes
    means = np.bincount(patterns, weights * data.counts, minlength=len(sizes)) / sizes  # (pattern,)
    powers = np.repeat(means[:, None], data.n_labels, axis=1)  # (pattern, label)
    powers[patterns, true_labels(data)] = weights
    powers *= POWERS
    np.rint(powers, out=powers)
    powers /= POWERS
    return powers


def make_problem(data: Microdata, weights: NDArray[np.float64] | None = None) -> Problem:
    """Bring the data into the form of the kernels, with weights (combination,) or without."""
    powers = None if weights is None else powers_of_cells(data, weights)
    impossible = impossible_labels(data) if data.impossible else None
    return problem_of_counts(count_table(data), design_of(data), powers, impossible)


def problem_of_counts(
    table: NDArray[np.int64],
    design: NDArray[np.float64],
    powers: NDArray[np.float64] | None = None,
    impossible: NDArray[np.bool_] | None = None,
) -> Problem:
    """Group cells of a table (pattern, label) into pairs.

    Regressors are (pattern, effect), powers (pattern, label); `impossible` is bool (pattern, label)
    and says which cells are left out.
    """
    n_patterns, n_labels = table.shape
    inside = np.ones(table.shape, dtype=bool) if impossible is None else ~impossible
    if powers is not None and np.all(powers == 1.0, where=inside):
        powers = None
    rows = max(1, BLOCK // n_labels)  # what is worked out for all cells at once takes much memory
    blocks = [slice(first, first + rows) for first in range(0, n_patterns, rows)]
    kinds = (_kinds(table[block], powers, block)[inside[block]] for block in blocks)
    distinct = _distinct_counts(table, inside) if powers is None else _distinct_kinds(kinds)
    listed, counted = [], []  # pairs, pattern times distinct counts plus index; cells of each
    of_cell = np.full(table.shape, -1, dtype=np.int32)  # (pattern, label)
    n_pairs = 0
    for block in blocks:
        within = inside[block]
        firsts = np.arange(n_patterns)[block] * distinct.size  # (pattern,)
        keys = np.repeat(firsts, within.sum(axis=1))  # (possible cell,)
        keys += np.searchsorted(distinct, _kinds(table[block], powers, block)[within])
        pairs, of_possible, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        of_cell[block][within] = n_pairs + of_possible.ravel()
        n_pairs += pairs.size
        listed.append(pairs)
        counted.append(sizes)
    patterns, indices = np.divmod(np.concatenate(listed), distinct.size)  # (pair,), (pair,)
    counts, shift = distinct, np.zeros(distinct.size)  # (distinct count,)
    if powers is not None:
        counts = np.ascontiguousarray(distinct.real)
        with np.errstate(divide="ignore"):
            shift = np.maximum(np.log(distinct.imag), NEVER)
    return Problem(
        pair_start=np.searchsorted(patterns, np.arange(n_patterns + 1)).astype(np.int64),
        pair_count=counts[indices],
        pair_size=np.concatenate(counted).astype(np.int64),
        pair_index=indices.astype(np.int64),
        distinct=counts,
        design=np.ascontiguousarray(design, dtype=np.float64),
        pair_of_cell=of_cell.ravel(),
        shift=shift,
        n_records=int(table.sum()),
    )


def _distinct_counts(table: NDArray[np.int64], inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Give the distinct counts of the possible cells, ascending, without sorting the empty ones."""
    occupied = np.unique(table[(table > 0) & inside])
    empty = bool(((table == 0) & inside).any())
    return np.append(np.zeros(int(empty), dtype=np.int64), occupied)


def _kinds(
    counts: NDArray[np.int64], powers: NDArray[np.float64] | None, block: slice
) -> NDArray[Any]:
    """Give what decides a cell's pair, for a block of patterns: (pattern, label).

    Without powers that is the count; else a complex number, count times power and power, in whose
    order NumPy sorts.
    """
    if powers is None:
        return counts
    kinds = np.empty(counts.shape, dtype=np.complex128)
    kinds.real, kinds.imag = powers[block] * counts, powers[block]
    return kinds


def _distinct_kinds(kinds: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Give the distinct kinds of the cells of all blocks, ascending."""
    distinct: NDArray[Any] = np.empty(0, dtype=np.complex128)
    for of_block in kinds:
        distinct = np.union1d(distinct, of_block)
    if len(distinct) > MOST_COUNTS:
        raise InputError(
            expected=f"a table with at most {MOST_COUNTS:,} different counts and weights for the "
            "DP-areal model, which remembers integrals for each",
            came=f"{len(distinct):,} different ones",
            do="fit a part of the records, use fewer different weights, or use the DPMPM",
        )
    return distinct
