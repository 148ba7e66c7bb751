"""Tables of label probabilities, and drawing labels from them.

The second of the three ideas that keep the program small: a synthesizer is a distribution of
labels given what it conditions on. One draw from its posterior is a table with a row of
probabilities per pattern, per combination, or just one row; the four baselines are such
tables too. The table lies below synthesis and risk, so that risk needs no synthesizer.

A label is a level of the synthesized variable. Several synthesized variables make one combined
label, numbered with the last variable running fastest. A label with a hole, a missing value that is
modelled, keeps its number, but nothing is drawn as missing: its probability is zero everywhere, and
records that have it are no evidence of a label.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.errors import InputError
from understudy.memory import check_fits
from understudy.microdata.table import Microdata

__all__ = [
    "LARGEST_TABLE",
    "LabelTable",
    "check_table_fits",
    "check_table_size",
    "combined_labels",
    "empirical_labels",
    "hole_labels",
    "label_counts",
    "marginal_labels",
    "normalized",
    "others_labels",
    "split_labels",
    "true_labels",
    "uniform_labels",
]

LARGEST_TABLE = 2**28  # probabilities of a table above which some measures are left out
TABLE_COPIES = 3  # of a table that are in memory together, about


@dataclass(frozen=True, repr=False, eq=False)
class LabelTable:
    """Probabilities of labels, and which combination draws from which row.

    Attributes
    ----------
    probabilities : float64 (row, label)
        Every row sums to one.
    row_of_combination : int32 (combination,)
        The row that the records of each combination draw their labels from.
    """

    probabilities: NDArray[np.float64]
    row_of_combination: NDArray[np.int32]

    def draw(
        self, generator: np.random.Generator, data: Microdata, rows: slice = slice(None)
    ) -> NDArray[np.int32]:
        """Draw a combined label for every record, (record,), by one uniform number each.

        `rows` says for which records; for all when left out.
        """
        of_record = data.of_record[rows]
        uniform = generator.random(of_record.size)  # (record,)
        labels: NDArray[np.int32] = _invert(
            self._cumulative, self.row_of_combination, of_record, uniform
        )
        return labels

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        """Cumulative probabilities, (row, label), kept for the next draw."""
        cumulative = np.cumsum(self.probabilities, axis=1)
        cumulative /= cumulative[:, -1:]
        return cumulative


@compiled
def _invert(cumulative, row_of_combination, of_record, uniform):  # type: ignore[no-untyped-def]
    """Find, by bisection, the first label whose cumulative probability exceeds the number.

    Parameters
    ----------
    cumulative : float64 (row, label)
        Increasing along each row, to one.
    row_of_combination, of_record : int32 (combination,), int32 (record,)
        Row of each combination; combination of each record.
    uniform : float64 (record,)
        Numbers in [0, 1).

    Returns
    -------
    int32 (record,)
    """
    labels = np.empty(of_record.size, dtype=np.int32)
    last = cumulative.shape[1] - 1
    for record in range(of_record.size):
        row = cumulative[row_of_combination[of_record[record]]]
        low, high = 0, last
        while low < high:
            middle = (low + high) >> 1
            if row[middle] > uniform[record]:
                high = middle
            else:
                low = middle + 1
        labels[record] = low
    return labels


def combined_labels(data: Microdata, codes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Make one label, (...), of the codes of several synthesized variables, (..., variable)."""
    if data.n_labels >= 2**63:
        raise InputError(
            expected="fewer combined labels than a machine number can count",
            came=f"{data.n_labels:,}",
            do="synthesize fewer variables together",
        )
    labels = np.zeros(codes.shape[:-1], dtype=np.int64)
    for axis, name in enumerate(data.synthesized):
        labels = labels * data.variable(name).n_levels + codes[..., axis].astype(np.int64)
    return labels


def split_labels(data: Microdata, labels: NDArray[np.integer]) -> NDArray[np.int32]:
    """Take combined labels apart again, (..., variable), the opposite of `combined_labels`."""
    codes = np.empty((*labels.shape, len(data.synthesized)), dtype=np.int32)
    rest = labels.astype(np.int64)
    for axis, name in reversed(list(enumerate(data.synthesized))):
        rest, codes[..., axis] = np.divmod(rest, data.variable(name).n_levels)
    return codes


def true_labels(data: Microdata) -> NDArray[np.int64]:
    """Combined true label of every combination, (combination,); see `combined_labels`."""
    columns = [data.names.index(name) for name in data.synthesized]
    return combined_labels(data, data.combinations[:, columns])


def hole_labels(data: Microdata) -> NDArray[np.int64]:
    """List the combined labels that have a hole: (label with a hole,)."""
    if not any(data.variable(name).has_holes for name in data.synthesized):
        return np.empty(0, dtype=np.int64)
    codes = split_labels(data, np.arange(data.n_labels))  # (label, synthesized variable)
    last = [
        data.variable(name).n_levels - 1 if data.variable(name).has_holes else -1
        for name in data.synthesized
    ]  # (synthesized variable,)
    return np.flatnonzero((codes == last).any(axis=1))


def check_table_fits(data: Microdata, row: str = "pattern") -> None:
    """Refuse a table with a row per pattern, or per combination, and a column per label."""
    rows = len(data.patterns) if row == "pattern" else data.n_combinations
    labels = " x ".join(f"{data.variable(name).n_levels:,}" for name in data.synthesized)
    check_fits(
        f"a table of {rows:,} {row}s and {labels} labels",
        TABLE_COPIES * 8 * rows * data.n_labels,
        "synthesize fewer or coarser variables, keep fewer ones, or take the back-off tree or the "
        "DPMPM, which need no such table",
    )


def check_table_size(data: Microdata, row: str = "pattern") -> None:
    """Refuse a table of more than `LARGEST_TABLE` pairs of pattern, or combination, and label."""
    rows = len(data.patterns) if row == "pattern" else data.n_combinations
    if rows * data.n_labels > LARGEST_TABLE:
        raise InputError(
            expected=f"at most {LARGEST_TABLE:,} pairs of {row} and label",
            came=f"{rows:,} {row}s and {data.n_labels:,} labels",
            do="synthesize fewer variables at once, or merge levels",
        )


def label_counts(data: Microdata) -> NDArray[np.float64]:
    """Count the records of every pattern by label, (pattern, label); holes are not counted."""
    check_table_fits(data)
    counts = np.zeros((len(data.patterns), data.n_labels))
    np.add.at(counts, (data.patterns.of_combination, true_labels(data)), data.counts)
    counts[:, hole_labels(data)] = 0.0
    return counts


def uniform_labels(data: Microdata) -> LabelTable:
    """Give all labels the same probability: the baseline `Uniform`, the paper's Min."""
    rows = np.zeros(data.n_combinations, dtype=np.int32)
    return LabelTable(normalized(data, np.ones((1, data.n_labels))), rows)


def marginal_labels(data: Microdata) -> LabelTable:
    """Tabulate the labels' overall distribution: the baseline `Marginal`."""
    counts = np.bincount(true_labels(data), weights=data.counts, minlength=data.n_labels)
    rows = np.zeros(data.n_combinations, dtype=np.int32)
    return LabelTable(normalized(data, counts[None].astype(np.float64)), rows)


def others_labels(data: Microdata, totals: NDArray[np.float64] | None = None) -> LabelTable:
    """Tabulate what the *other* records of each record's pattern have: the baseline `Others`.

    One row per combination: the counts of its pattern less the record itself. A record that is
    alone in its pattern takes the overall counts, again less itself; one that is alone in the data
    takes all labels alike. `totals` (label,) are the overall counts where `data` are a part only.
    """
    check_table_fits(data, "combination")
    counts, own = label_counts(data), true_labels(data)
    pattern = data.patterns.of_combination
    table = counts[pattern]  # (combination, label)
    present = np.isin(own, hole_labels(data), invert=True)  # (combination,)
    overall = counts.sum(axis=0) if totals is None else totals  # (label,)
    table[table.sum(axis=1) == present] = overall  # alone, or beside holes only
    table[np.flatnonzero(present), own[present]] -= 1.0
    rows = np.arange(own.size, dtype=np.int32)
    return LabelTable(normalized(data, table), rows)


def empirical_labels(data: Microdata) -> LabelTable:
    """Tabulate the labels of every pattern: the baseline `Perfect`, the paper's Max."""
    counts = label_counts(data)  # (pattern, label)
    counts[counts.sum(axis=1) == 0] = counts.sum(axis=0)  # nothing but holes: the overall one
    return LabelTable(normalized(data, counts), data.patterns.of_combination)


def normalized(data: Microdata, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn rows of counts (row, label) into probabilities; one without any has all labels alike."""
    holes = hole_labels(data)
    table[:, holes] = 0.0
    empty = table.sum(axis=1) == 0
    if empty.any():
        table[empty] = 1.0
        table[:, holes] = 0.0
    return np.asarray(table / table.sum(axis=1, keepdims=True))
