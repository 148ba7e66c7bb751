"""What reaches a release, in a few numbers per kept draw: sums in which small shifts add up.

Sets are drawn from a table of label probabilities. Thousands of them may each be a little off, all
to the same side, and none of them shows it: their sums do. So convergence is judged on these sums,
and on the margins of the synthesized variables, beside the label probabilities themselves
(`diagnostics`). They are worked out from the whole table at every kept draw, also where only some
label probabilities are kept in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.label_table import (
    LabelTable,
    combined_labels,
    split_labels,
    true_labels,
)
from understudy.microdata.table import Microdata

__all__ = ["KnownCells", "ReleasedSums", "SumsOfDraw", "known_cells", "released_sums"]

MOST_PROBABILITIES = 2**23  # of a table that is summed at every kept draw, some 50 ms each
SMALLEST = 1e-300  # probability, where its logarithm is taken
BLOCK = 1 << 18  # probabilities that are worked on together, beside the table


class SumsOfDraw(NamedTuple):
    """The sums at one kept draw."""

    sums: dict[str, float]
    margins: NDArray[np.float64]  # (level of a synthesized variable,) expected records


@dataclass(frozen=True, eq=False)
class ReleasedSums:
    """The confidential counts that the sums need.

    Attributes
    ----------
    counts : int64 (combination,)
        Records of every combination.
    labels : int64 (combination,)
        Its combined label.
    patterns : int32 (combination,)
        Its pattern.
    pattern_sizes : int64 (pattern,)
        Records of every pattern.
    label_levels : int64 (label, synthesized variable)
        The level of each combined label, numbered through all synthesized variables.
    observed_margins : float64 (level,)
        Records with each of these levels.
    """

    counts: NDArray[np.int64]
    labels: NDArray[np.int64]
    patterns: NDArray[np.int32]
    pattern_sizes: NDArray[np.int64]
    label_levels: NDArray[np.int64]
    observed_margins: NDArray[np.float64]

    def of(self, table: LabelTable) -> SumsOfDraw:
        """Work out the sums of one draw, from the table that its sets are drawn from.

        With n_c records in combination c, of pattern b and label g, whose records draw their label
        with the probabilities p_c, and q_b the average of p_c over the records of a pattern:

        - expected_matches: sum_c n_c p_c(g), labels that come out right (attribute disclosure);
        - expected_match_risk: sum_c n_c p_c(g) (1 - (1 - q_b(g))^{n_b}) / (n_b q_b(g)), of the
          intruder who knows all kept variables; exact where a pattern draws alike (p_c = q_b);
        - log_score: sum_c n_c log p_c(g);
        - repeat_probability: sum_c n_c sum_g p_c(g)^2, how concentrated the labels are;
        - margin_deviation: sum over levels of |expected - observed| records.
        """
        rows = table.row_of_combination
        own = table.probabilities[rows, self.labels]  # (combination,)
        sizes = np.bincount(rows, self.counts, table.probabilities.shape[0])  # (row,)
        expected = sizes @ table.probabilities  # (label,)
        margins = np.zeros_like(self.observed_margins)  # (level,)
        for levels in self.label_levels.T:
            margins += np.bincount(levels, expected, margins.size)
        n_alike = self.pattern_sizes[self.patterns]  # (combination,)
        matched = _share_of_matches(self._pattern_average(table, own), n_alike)  # (combination,)
        sums = {
            "expected_matches": self.counts @ own,
            "expected_match_risk": self.counts @ (own * matched),
            "log_score": self.counts @ np.log(np.maximum(own, SMALLEST)),
            "repeat_probability": sizes @ _sums_of_squares(table.probabilities),
            "margin_deviation": np.abs(margins - self.observed_margins).sum(),
        }
        return SumsOfDraw({name: float(value) for name, value in sums.items()}, margins)

    def label_probability(
        self, table: LabelTable, patterns: NDArray[np.int64], labels: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Average probability of cells (pattern, label) in the sets' records of these patterns.

        The table is what sets are drawn from.
        """
        by_pattern = self._average_table(table)  # (pattern, label)
        return by_pattern[patterns, labels].astype(np.float32)

    def _pattern_average(self, table: LabelTable, own: NDArray[np.float64]) -> NDArray[np.float64]:
        """Average the probability of each combination's label over its pattern: (combination,)."""
        if table.probabilities.shape[0] <= self.pattern_sizes.size:
            return own  # rows depend on kept variables only
        return self._average_table(table)[self.patterns, self.labels]

    def _average_table(self, table: LabelTable) -> NDArray[np.float64]:
        """Average the rows of the records of every pattern: (pattern, label)."""
        averages = np.zeros((self.pattern_sizes.size, table.probabilities.shape[1]))
        order = np.argsort(self.patterns, kind="stable")  # (combination,)
        starts = np.searchsorted(self.patterns[order], np.arange(self.pattern_sizes.size))
        for pattern, members in enumerate(np.split(order, starts[1:])):
            weights = self.counts[members] / self.pattern_sizes[pattern]  # (member,)
            averages[pattern] = weights @ table.probabilities[table.row_of_combination[members]]
        return averages


@dataclass(frozen=True, eq=False)
class KnownCells:
    """What an intruder who knows some kept variables sees: which records look alike to her.

    Attributes
    ----------
    counts, labels, cells : int64 (combination,)
        Records of every combination, its combined label, and its cell of the known variables.
    sizes : int64 (cell,)
        Records of every cell.
    """

    counts: NDArray[np.int64]
    labels: NDArray[np.int64]
    cells: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def match_risk(self, table: LabelTable) -> float:
        """Work out her expected match risk in sets drawn from a table, with a cell's average.

        As `ReleasedSums.of` does for all kept variables, with q the average probability of the
        label over the records of the cell.
        """
        rows = table.row_of_combination
        order = np.lexsort((rows, self.cells))
        pairs = np.stack([self.cells[order], rows[order]])  # (cell and row, combination)
        starts = np.flatnonzero(np.append(True, (np.diff(pairs) != 0).any(axis=0)))
        weights = np.add.reduceat(self.counts[order], starts)  # records of each cell and row
        firsts = np.searchsorted(pairs[0, starts], np.arange(self.sizes.size))
        average = np.empty(self.labels.size)  # (combination,) of its label over its cell
        n_labels, width = table.probabilities.shape[1], max(1, BLOCK // starts.size)
        for first in range(0, n_labels, width):
            some = table.probabilities[:, first : first + width][pairs[1, starts]]
            some *= weights[:, None]  # (cell and row, label)
            here = np.flatnonzero((self.labels >= first) & (self.labels < first + width))
            sums = np.add.reduceat(some, firsts, axis=0)  # (cell, label)
            average[here] = sums[self.cells[here], self.labels[here] - first]
        average /= self.sizes[self.cells]
        own = table.probabilities[rows, self.labels]  # (combination,)
        matched = _share_of_matches(average, self.sizes[self.cells])
        return float(self.counts @ (own * matched))


def known_cells(data: Microdata, known: Sequence[str]) -> KnownCells:
    """Group the records as an intruder who knows these variables sees them."""
    cells = data.cells(known)
    labels = true_labels(data)
    return KnownCells(data.counts, labels, cells.of_combination.astype(np.int64), cells.sizes)


def released_sums(data: Microdata, table_rows: int) -> ReleasedSums | None:
    """Prepare the sums of a fit; None where the table of label probabilities is too large."""
    if table_rows * data.n_labels > MOST_PROBABILITIES:
        return None
    columns = [data.names.index(name) for name in data.synthesized]
    codes = data.combinations[:, columns]  # (combination, synthesized variable)
    sizes = [data.variable(name).n_levels for name in data.synthesized]
    starts = np.cumsum([0, *sizes[:-1]])  # (synthesized variable,)
    observed = np.zeros(sum(sizes))  # (level,)
    for levels in (codes + starts).T:
        np.add.at(observed, levels, data.counts)
    return ReleasedSums(
        counts=data.counts,
        labels=combined_labels(data, codes),
        patterns=data.patterns.of_combination,
        pattern_sizes=data.patterns.sizes,
        label_levels=split_labels(data, np.arange(data.n_labels)) + starts,
        observed_margins=observed,
    )


def _sums_of_squares(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up the squares of every row: (row,)."""
    rows = max(1, BLOCK // probabilities.shape[1])
    starts = range(0, len(probabilities), rows)
    return np.concatenate(
        [np.square(probabilities[first : first + rows]).sum(axis=1) for first in starts]
    )


def _share_of_matches(
    probability: NDArray[np.float64], n_alike: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Give (1 - (1 - q)^n) / (n q), the expected share of a record among those that match it."""
    probability = np.clip(probability, SMALLEST, 1.0)
    with np.errstate(divide="ignore"):  # log(0) where a label is certain: its power is zero
        none = np.exp(n_alike * np.log1p(-probability))
    return np.where(none < 1.0, (1.0 - none) / (n_alike * probability), 1.0)
