"""The four baselines as synthesizers: `Uniform`, `Marginal`, `Others` and `Perfect`.

They need no model, so their risk is a scale for that of any model:

- `Uniform` draws every label alike: what nothing known would give (the paper's Min).
- `Marginal` draws from the label's overall distribution: what totals alone give.
- `Others` draws from the labels of the *other* records of the pattern: what everybody else's
  records tell about a person. A record that is alone in its pattern draws from all other records.
- `Perfect` draws from the labels of the pattern, the record's own included: what publishing the
  exact table gives (the paper's Max).

They are baselines, not bounds: a synthesizer may lie outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from understudy.checks import check_whole
from understudy.display.described import Described
from understudy.display.frame_kinds import Kind
from understudy.display.panels import Panel
from understudy.display.result import Shown
from understudy.microdata.given_data import given_data
from understudy.microdata.label_table import (
    LabelTable,
    empirical_labels,
    marginal_labels,
    normalized,
    others_labels,
    true_labels,
    uniform_labels,
)
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.public_errors import only_our_errors
from understudy.randomness import check_seed
from understudy.synthesis.checkpoints import Arrays
from understudy.synthesis.diagnostics import SCHEMA
from understudy.synthesis.fit_panels import labels_panel
from understudy.synthesis.set_drawing import Drawer, draw_set, table_drawer

__all__ = ["Marginal", "Others", "Perfect", "ReferenceFit", "Uniform"]


class _Baseline:
    """A synthesizer without a model."""

    _tabulate: ClassVar[staticmethod[..., LabelTable]]

    @only_our_errors
    def fit(
        self, data: Any, *, synthesize: Sequence[str] | str | None = None, **reading: Any
    ) -> ReferenceFit:
        """Tabulate the labels of the data, at once.

        Parameters
        ----------
        data : Microdata, frame or path
            The confidential records.
        synthesize : str or sequence of str, optional
            Columns to synthesize, where the records are a frame or a path.
        **reading
            Options of `read_microdata`, where the records are a frame or a path.
        """
        known = given_data(data, synthesize, reading)
        return ReferenceFit(known, self._tabulate(known), type(self).__name__)


@dataclass(frozen=True)
class Uniform(_Baseline):
    """Every label alike, the paper's Min."""

    _tabulate = staticmethod(uniform_labels)


@dataclass(frozen=True)
class Marginal(_Baseline):
    """Labels from their overall distribution, whatever the kept variables say."""

    _tabulate = staticmethod(marginal_labels)


@dataclass(frozen=True)
class Others(_Baseline):
    """Labels from the other records of the record's pattern, its own left out."""

    _tabulate = staticmethod(others_labels)


@dataclass(frozen=True)
class Perfect(_Baseline):
    """Labels from the distribution of the record's pattern, the paper's Max."""

    _tabulate = staticmethod(empirical_labels)


@dataclass(frozen=True, repr=False, eq=False)
class ReferenceFit(Shown):
    """One table of label probabilities, known exactly.

    Attributes
    ----------
    data : Microdata
        The records.
    table : LabelTable
        Probabilities that every set is drawn from.
    name : {"Uniform", "Marginal", "Others", "Perfect"}
        The baseline.
    """

    _frames: ClassVar[tuple[str, ...]] = ("diagnostics",)
    data: Microdata
    table: LabelTable
    name: str
    converged: bool = True

    def drawer(self, snapshot: Arrays) -> Drawer:  # noqa: ARG002
        """Prepare to draw from the table."""
        return table_drawer(self.data, self.table)

    def label_tables(self) -> list[LabelTable]:
        """Give the one table that every set is drawn from."""
        return [self.table]

    def pattern_table(self) -> LabelTable:
        """What the labels of a record's pattern are drawn from on average."""
        return empirical_labels(self.data) if self.name == "Others" else self.table

    def left_out_table(self) -> LabelTable:
        """What a record's label would be drawn from, had its own label been left out."""
        if self.name == "Marginal":
            return _marginal_left_out(self.data)
        return others_labels(self.data) if self.name == "Perfect" else self.table

    def left_out_pattern_table(self) -> LabelTable:
        """What its pattern's labels would be drawn from on average, had it been left out.

        For `Others` that is not `left_out_table` alone: the rows of the other people of the
        pattern are drawn from tables that hold the record's label.
        """
        return others_labels(self.data) if self.name == "Others" else self.left_out_table()

    @only_our_errors
    def diagnostics(self) -> pl.DataFrame:
        """Give an empty table: nothing was sampled, so nothing can fail to converge."""
        return pl.DataFrame(schema=SCHEMA)

    @only_our_errors
    def synthesize(self, m: int = 20, seed: int | None = None) -> SyntheticSets:
        """Draw synthetic sets.

        Parameters
        ----------
        m : int
            Number of sets.
        seed : int, optional
            Makes the sets repeatable; the operating system's entropy otherwise.

        Returns
        -------
        SyntheticSets
            Row i of every set stands in for record i.
        """
        check_whole("m", m, 1)
        known = check_seed(seed)
        sets = [np.concatenate(list(draw_set(self, {}, known, index))) for index in range(m)]
        codes = np.stack(sets)  # (set, record, synthesized variable)
        return SyntheticSets(self.data, codes, fully_synthetic=not self.data.kept)

    def _described(self) -> Described:
        """Show shapes only."""
        rows, labels = self.table.probabilities.shape
        return Described(
            f"ReferenceFit of {self.name}: {rows:,} rows of {labels:,} label probabilities"
        )

    def _panels(self) -> Mapping[str, Panel]:
        return {"labels": labels_panel(self.data, self.table)}

    def _users_kind(self) -> Kind:
        return self.data.backend


def _marginal_left_out(data: Microdata) -> LabelTable:
    """The overall distribution without one record of each label; a row per label that occurs."""
    labels, row = np.unique(true_labels(data), return_inverse=True)
    counts = np.bincount(labels[row], weights=data.counts, minlength=data.n_labels)
    table = np.tile(counts.astype(np.float64), (labels.size, 1))  # (label that occurs, label)
    table[np.arange(labels.size), labels] -= 1.0
    return LabelTable(normalized(data, table), row.astype(np.int32))
