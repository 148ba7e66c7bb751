"""Distributions of labels of which only the labels that occur are written down.

A table of patterns by labels grows with their product, what occurs in it with the data alone. The
baselines `Perfect` and `Others` are such tables; drawn from here, a label is the same as from
`label_table`, number by number, which is their twin for data that are not large.

Arguments of `_draw`: `rows` (`LabelRows`), `row_of_combination` int32 (combination,), `of_record`
int32 (record,), `uniform` float64 (record,).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.microdata.label_table import true_labels
from understudy.microdata.table import Microdata

__all__ = [
    "LabelRows",
    "SparseTable",
    "dense_rows",
    "others_rows",
    "others_table",
    "perfect_rows",
    "perfect_table",
    "rows_of_pairs",
    "whole_table",
]


class LabelRows(NamedTuple):
    """Rows of counts of labels, which several may share, some with a record of one label less.

    Attributes
    ----------
    starts : int64 (source + 1,)
        Where the entries of each source begin.
    labels : int64 (entry,)
        Increasing within a source.
    counts : float64 (entry,)
        How often each occurs.
    source : int64 (row,)
        The source of each row.
    own : int64 (row,)
        A label of which a row has one less than its source; -1 for none.
    totals : float64 (row,)
        What a row's counts are divided by.
    """

    starts: NDArray[np.int64]
    labels: NDArray[np.int64]
    counts: NDArray[np.float64]
    source: NDArray[np.int64]
    own: NDArray[np.int64]
    totals: NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class SparseTable:
    """Rows of labels, and which combination draws from which row; compare `LabelTable`."""

    rows: LabelRows
    row_of_combination: NDArray[np.int32]

    def draw(self, generator: np.random.Generator, data: Microdata) -> NDArray[np.int32]:
        """Draw a label for every record, as `LabelTable.draw` does."""
        uniform = generator.random(data.n_records)  # (record,)
        labels: NDArray[np.int32] = _draw(
            self.rows, self.row_of_combination, data.of_record, uniform
        )
        return labels


def rows_of_pairs(
    keys: NDArray[np.int64], counts: NDArray[np.float64], n_rows: int, n_labels: int
) -> LabelRows:
    """Make rows of increasing keys, row times labels plus label; totals are their sums."""
    starts = np.searchsorted(keys, np.arange(n_rows + 1) * n_labels).astype(np.int64)
    sums = np.add.reduceat(np.append(counts, 0.0), starts[:-1]) if n_rows else np.empty(0)
    return LabelRows(
        starts=starts,
        labels=keys % n_labels,
        counts=counts,
        source=np.arange(n_rows),
        own=np.full(n_rows, -1),
        totals=np.where(np.diff(starts) > 0, sums, 0.0),
    )


def dense_rows(table: NDArray[np.float64]) -> LabelRows:
    """Write down what is not zero in a table (row, label) of shares."""
    keys = np.flatnonzero(table)
    rows = rows_of_pairs(keys, table.reshape(-1)[keys], *table.shape)
    return rows._replace(totals=np.ones(len(table)))


def whole_table(rows: LabelRows, n_labels: int) -> NDArray[np.float64]:
    """Write shares out as a table (row, label); rows without a total are zero."""
    table = np.zeros((rows.source.size, n_labels))
    lengths = np.diff(rows.starts)[rows.source]  # (row,)
    row = np.repeat(np.arange(rows.source.size), lengths)
    before = np.append(0, np.cumsum(lengths))[:-1]
    entry = np.arange(row.size) - before[row] + rows.starts[rows.source[row]]
    table[row, rows.labels[entry]] = rows.counts[entry]
    less = np.flatnonzero(rows.own >= 0)
    table[less, rows.own[less]] -= 1.0
    return np.divide(table, rows.totals[:, None], where=rows.totals[:, None] > 0, out=table)


def perfect_rows(data: Microdata) -> LabelRows:
    """List the labels of every pattern; none may have a hole."""
    return _with_all(data)[0]


def perfect_table(data: Microdata) -> SparseTable:
    """Tabulate the labels of every pattern: `label_table.empirical_labels`."""
    return SparseTable(perfect_rows(data), data.patterns.of_combination)


def others_rows(data: Microdata, row_of: NDArray[np.int64]) -> LabelRows:
    """List what the other records have of the patterns of some combinations.

    A record that is alone has those of all others; see `label_table.others_labels`. There have to
    be two records at least.
    """
    rows, everybody = _with_all(data)
    pattern = data.patterns.of_combination[row_of]
    alone = data.patterns.sizes[pattern] == 1
    labels = true_labels(data)
    every = np.bincount(labels, data.counts, data.n_labels)  # (label,)
    present = np.flatnonzero(every)
    return LabelRows(
        starts=np.append(rows.starts, rows.starts[-1] + present.size),
        labels=np.append(rows.labels, present),
        counts=np.append(rows.counts, every[present]),
        source=np.where(alone, everybody, pattern).astype(np.int64),
        own=labels[row_of],
        totals=np.where(alone, data.n_records, data.patterns.sizes[pattern]) - 1.0,
    )


def others_table(data: Microdata) -> SparseTable:
    """Tabulate what the other records of each record's pattern have, a row per combination."""
    rows = np.arange(data.n_combinations)
    return SparseTable(others_rows(data, rows), rows.astype(np.int32))


def _with_all(data: Microdata) -> tuple[LabelRows, int]:
    """Give the rows of all patterns, and the number that the next source would have."""
    size, pattern = data.n_labels, data.patterns.of_combination.astype(np.int64)
    keys, pair = np.unique(pattern * size + true_labels(data), return_inverse=True)
    counts = np.bincount(pair.reshape(-1), data.counts).astype(np.float64)
    return rows_of_pairs(keys, counts, len(data.patterns), size), len(data.patterns)


@compiled
def _draw(rows, row_of_combination, of_record, uniform):  # type: ignore[no-untyped-def]
    """Find the first label whose cumulative probability exceeds the number, (record,).

    Probabilities are added up as `numpy.cumsum` does.
    """
    # 1. The records of every row, one row after the other.
    begins = np.zeros(rows.source.size + 1, dtype=np.int64)
    for record in range(of_record.size):
        begins[row_of_combination[of_record[record]] + 1] += 1
    for row in range(rows.source.size):
        begins[row + 1] += begins[row]
    behind, order = begins[:-1].copy(), np.empty(of_record.size, dtype=np.int32)
    for record in range(of_record.size):
        row = row_of_combination[of_record[record]]
        order[behind[row]] = record
        behind[row] += 1
    # 2. Cumulative probabilities of a row, and by bisection the label of each of its records.
    drawn = np.empty(of_record.size, dtype=np.int32)
    cumulative = np.empty(np.max(rows.starts[1:] - rows.starts[:-1]))  # (entry of a row,)
    for row in range(rows.source.size):
        first, last = rows.starts[rows.source[row]], rows.starts[rows.source[row] + 1]
        whole = 0.0
        for entry in range(first, last):
            count = rows.counts[entry] - (rows.labels[entry] == rows.own[row])
            whole += count / rows.totals[row]
            cumulative[entry - first] = whole
        for index in range(begins[row], begins[row + 1]):
            record = order[index]
            low, high = 0, last - first - 1
            while low < high:
                middle = (low + high) >> 1
                if cumulative[middle] / whole > uniform[record]:
                    high = middle
                else:
                    low = middle + 1
            drawn[record] = rows.labels[first + low]
    return drawn
