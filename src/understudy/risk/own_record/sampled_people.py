"""The people of some cells stand for all, where the data are too large to attack everybody.

The own-record effect looks at every pattern in every posterior draw, so its cost grows with pairs
of pattern and label. From some size on it is measured for the people of a simple random sample of
*cells*: groups that share all that every intruder of the study knows. An intruder looks for a
person within such a group, so a group that is drawn is attacked exactly as in the whole data.

With C cells, k of them drawn, a total is estimated as N times the mean per person of the drawn
cells, N being all records. Its sampling error is C sqrt((1 - k/C) s² / k), with s the standard
deviation over drawn cells of what a cell adds beyond the mean times its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.coarsening import Coarsening
from understudy.microdata.label_table import LabelTable, true_labels
from understudy.microdata.table import Microdata
from understudy.risk.own_record.refits import leave_out

__all__ = ["FitOfPeople", "SampledPeople", "refit_of_people", "sample_people"]

MOST_PAIRS = 1_000_000  # pairs of pattern and label that are measured
MOST_STEPS = 20_000_000  # and pairs of combination and label
FEWEST_CELLS = 100  # that stand for all

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class SampledPeople:
    """The people of the cells that were drawn.

    Attributes
    ----------
    whole, data : Microdata
        All records, and those of the drawn cells.
    combinations, patterns : int64 (combination of `data`,), int64 (pattern,)
        Which of the whole data's they are; the patterns are those that were fitted.
    cell : int64 (combination of `data`,)
        The drawn cell of each combination, from 0.
    n_cells : int
        Cells of the whole data.
    fitted : Microdata
        All records as the model sees them: `whole`, or finer.
    coarsening : Coarsening, optional
        Of the people of the drawn cells, where files show larger levels than were fitted.
    """

    whole: Microdata
    data: Microdata
    combinations: NDArray[np.int64]
    patterns: NDArray[np.int64]
    cell: NDArray[np.int64]
    n_cells: int
    fitted: Microdata
    coarsening: Coarsening | None = None

    @property
    def scale(self) -> float:
        """Number of people that each one stands for."""
        return self.whole.n_records / self.data.n_records

    @property
    def n_drawn(self) -> int:
        """Count the drawn cells."""
        return int(self.cell.max()) + 1

    @property
    def label_totals(self) -> Floats:
        """Records of the whole data by label, (label,)."""
        size = self.whole.n_labels
        return np.bincount(true_labels(self.whole), self.whole.counts, size).astype(np.float64)

    def error(self, chance: Floats) -> float:
        """Give the sampling error of the total of a chance, (combination,), over all people."""
        sizes = self._by_cell(np.ones(chance.size))
        sums = self._by_cell(chance)
        return self._error(sums - sums.sum() / sizes.sum() * sizes)

    def error_of_share(self, part: Floats, scale: Floats) -> float:
        """Give the sampling error of the ratio of two such totals."""
        parts, scales = self._by_cell(part), self._by_cell(scale)
        total = scales.sum()
        residuals = parts - parts.sum() / total * scales
        return self._error(residuals) / (self.scale * abs(float(total)))

    def on_all(self, chance: Floats) -> Floats:
        """Put a chance (combination,) among all combinations; NaN for people not measured."""
        every = np.full(self.whole.n_combinations, np.nan)
        every[self.combinations] = chance
        return every

    def _by_cell(self, chance: Floats) -> Floats:
        summed = np.bincount(self.cell, chance * self.data.counts, self.n_drawn)
        return summed.astype(np.float64)

    def _error(self, residuals: Floats) -> float:
        k = residuals.size
        variance = float(residuals @ residuals) / (k - 1)
        return self.n_cells * float(((1.0 - k / self.n_cells) * variance / k) ** 0.5)


def sample_people(
    generator: np.random.Generator,
    data: Microdata,
    knowledge: Sequence[Sequence[str]],
    coarsening: Coarsening | None = None,
) -> SampledPeople | None:
    """Draw cells whose people stand for all; None where everybody is measured.

    `knowledge` is what each intruder knows; `coarsening` has the finer data that labels are drawn
    for.
    """
    size, fitted = data.n_labels, data if coarsening is None else coarsening.fine
    share = min(
        MOST_PAIRS / (len(fitted.patterns) * size), MOST_STEPS / (data.n_combinations * size), 1.0
    )
    shared = [name for name in data.kept if all(name in known for known in knowledge)]
    cells = data.cells(shared)
    wanted = max(FEWEST_CELLS, int(share * len(cells)))
    if share == 1.0 or wanted >= len(cells):
        return None
    drawn = np.sort(generator.choice(len(cells), wanted, replace=False))
    number = np.full(len(cells), -1, dtype=np.int64)  # (cell,)
    number[drawn] = np.arange(wanted)
    cell = number[cells.of_combination]  # (combination,)
    combinations = np.flatnonzero(cell >= 0)
    people = _only(data, combinations)
    if coarsening is not None:
        fine = _only(coarsening.fine, combinations)
        coarsening = replace(coarsening, fine=fine, coarse=people)
    return SampledPeople(
        whole=data,
        data=people,
        combinations=combinations,
        patterns=np.unique(fitted.patterns.of_combination[combinations]).astype(np.int64),
        cell=cell[combinations],
        n_cells=len(cells),
        fitted=fitted,
        coarsening=coarsening,
    )


def _only(data: Microdata, combinations: NDArray[np.int64]) -> Microdata:
    """Give the records of some combinations."""
    number = np.full(data.n_combinations, -1, dtype=np.int32)  # (combination,)
    number[combinations] = np.arange(combinations.size, dtype=np.int32)
    of_record = number[data.of_record]
    return replace(
        data,
        combinations=data.combinations[combinations],
        counts=data.counts[combinations],
        of_record=of_record[of_record >= 0],
        passed=None,
        survey=None,
    )


@dataclass(frozen=True, repr=False, eq=False)
class FitOfPeople:
    """A fit of all data, as seen from the drawn cells; see `SampledFit` for what it gives."""

    fit: Any
    people: SampledPeople

    @cached_property
    def _part(self) -> Any:
        """The fit as seen from these people alone, where it can be; it saves whole tables."""
        people = self.people
        of_part = getattr(self.fit, "of_part", None)
        return None if of_part is None else of_part(people.data, people.combinations)

    def label_tables(self) -> Iterator[LabelTable]:
        """Give what the rows of these people are drawn from."""
        if self._part is not None:
            yield from self._part.label_tables()
            return
        combinations = self.people.combinations
        for table in self.fit.label_tables():
            rows, of_combination = np.unique(
                table.row_of_combination[combinations], return_inverse=True
            )
            yield LabelTable(table.probabilities[rows], of_combination.astype(np.int32))

    def predictive_tables(self) -> Iterator[Floats]:
        """Give the label's distribution given the kept variables."""
        if self._part is not None:
            yield from self._part.predictive_tables()
            return
        yield from (table[self.people.patterns] for table in self.fit.predictive_tables())

    def left_out_weights_tables(self) -> Iterator[Floats]:
        """Give what one record contributes to the likelihood."""
        if self._part is not None:
            yield from self._part.left_out_weights_tables()
            return
        yield from (table[self.people.patterns] for table in self.fit.left_out_weights_tables())


def refit_of_people(
    people: SampledPeople, refit: Callable[[Microdata], Any]
) -> Callable[[Microdata], FitOfPeople]:
    """Fit the whole data without those of the people who were left out of theirs.

    Of a combination of which one record is left out, that is the first of the whole data: they are
    alike. No pattern may have lost all its records.
    """
    measured = people.data if people.coarsening is None else people.coarsening.fine

    def refit_without(left: Microdata) -> FitOfPeople:
        row_of = {tuple(codes): row for row, codes in enumerate(measured.combinations.tolist())}
        rows = np.array([row_of[tuple(codes)] for codes in left.combinations.tolist()])
        missing = measured.counts.copy()  # (combination of the people,)
        missing[rows] -= left.counts
        first = np.zeros(people.fitted.n_combinations, dtype=np.int64)  # a record of each
        records = np.arange(people.fitted.n_records - 1, -1, -1)
        first[people.fitted.of_record[::-1]] = records
        whole = leave_out(people.fitted, first[people.combinations[missing > 0]])
        present = people.fitted.counts > 0  # (combination,)
        present[people.combinations[missing == measured.counts]] = False
        combinations = (np.cumsum(present) - 1)[people.combinations[rows]]
        seen = replace(
            people,
            whole=whole,
            data=left,
            combinations=combinations,
            patterns=np.unique(whole.patterns.of_combination[combinations]).astype(np.int64),
            cell=people.cell[rows],
        )
        return FitOfPeople(refit(whole), seen)

    return refit_without
