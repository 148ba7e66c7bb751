"""Tables of label probabilities, and drawing labels from them.

The second of the three ideas that keep the program small: a synthesizer is a distribution of
labels given what it conditions on. One draw from its posterior is a table with a row of
probabilities per pattern, per combination, or just one row; the data's own Max and Min levels are
such tables too. The table lies in this room, below synthesis and risk, so that risk needs no
synthesizer.

A label is a level of the synthesized variable. Several synthesized variables make one combined
label, numbered with the last variable running fastest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.errors import InputError
from understudy.microdata.table import Microdata

__all__ = [
    "LabelTable",
    "combined_labels",
    "empirical_labels",
    "split_labels",
    "uniform_labels",
]


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

    def draw(self, generator: np.random.Generator, data: Microdata) -> NDArray[np.int32]:
        """Draw a label for every record, independently.

        Parameters
        ----------
        generator : numpy.random.Generator
            Gives one uniform number per record, in the order of the records.
        data : Microdata
            The records.

        Returns
        -------
        int32 (record,)
            Combined labels, in the order of the data's records.
        """
        cumulative = np.cumsum(self.probabilities, axis=1)  # (row, label)
        cumulative /= cumulative[:, -1:]
        uniform = generator.random(data.n_records)  # (record,)
        labels: NDArray[np.int32] = _invert(
            cumulative, self.row_of_combination, data.of_record, uniform
        )
        return labels


@compiled
def _invert(cumulative, row_of_combination, of_record, uniform):  # type: ignore[no-untyped-def]
    """Find, by bisection, the first label whose cumulative probability exceeds the number."""
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
    """Make one label of the codes of several synthesized variables.

    Parameters
    ----------
    data : Microdata
        For its synthesized variables.
    codes : integer (..., synthesized variable)
        In the order of ``data.synthesized``.

    Returns
    -------
    int64 (...)
        Combined labels.
    """
    if data.n_labels >= 2**63:
        raise InputError(
            expected="fewer combined labels than a machine number can count",
            came=f"{data.n_labels:,}",
            do="synthesize fewer variables together",
        )
    labels = np.zeros(codes.shape[:-1], dtype=np.int64)
    for place, name in enumerate(data.synthesized):
        labels = labels * data.variable(name).n_levels + codes[..., place].astype(np.int64)
    return labels


def split_labels(data: Microdata, labels: NDArray[np.integer]) -> NDArray[np.int32]:
    """Take combined labels apart again, the opposite of `combined_labels`.

    Returns
    -------
    int32 (..., synthesized variable)
    """
    codes = np.empty((*labels.shape, len(data.synthesized)), dtype=np.int32)
    rest = labels.astype(np.int64)
    for place in range(len(data.synthesized) - 1, -1, -1):
        levels = data.variable(data.synthesized[place]).n_levels
        codes[..., place] = rest % levels
        rest = rest // levels
    return codes


def empirical_labels(data: Microdata) -> LabelTable:
    """Tabulate the labels' own distribution in every pattern: the "perfect" synthesizer (Max)."""
    places = [data.names.index(name) for name in data.synthesized]
    labels = combined_labels(data, data.combinations[:, places])  # (combination,)
    table = np.zeros((len(data.patterns), data.n_labels))  # (pattern, label)
    np.add.at(table, (data.patterns.of_combination, labels), data.counts)
    return LabelTable(table / table.sum(axis=1, keepdims=True), data.patterns.of_combination)


def uniform_labels(data: Microdata) -> LabelTable:
    """Give all labels the same probability, whatever the record: the Min level."""
    size = data.n_labels
    rows = np.zeros(data.n_combinations, dtype=np.int32)
    return LabelTable(np.full((1, size), 1.0 / size), rows)
