"""The data's own levels of risk as synthesizers: `Perfect` (Max) and `Uniform` (Min).

`Perfect` redraws every record's label from the labels of its own pattern, `Uniform` from all labels
alike. The first is what a model that knows the data by heart would do, the second what no model
at all would do. They are reference levels, not bounds: a synthesizer may lie outside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from understudy.checks import check_whole
from understudy.microdata.label_table import (
    LabelTable,
    empirical_labels,
    split_labels,
    uniform_labels,
)
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.randomness import check_seed, stream

__all__ = ["Perfect", "ReferenceFit", "Uniform"]


@dataclass(frozen=True)
class Perfect:
    """The Max level: labels from the empirical distribution of the record's pattern."""

    def fit(self, data: Microdata) -> ReferenceFit:
        """Tabulate the labels of every pattern of the data, at once."""
        return ReferenceFit(data, empirical_labels(data))


@dataclass(frozen=True)
class Uniform:
    """The Min level: all labels alike."""

    def fit(self, data: Microdata) -> ReferenceFit:
        """Count the labels that the data may have, at once."""
        return ReferenceFit(data, uniform_labels(data))


@dataclass(frozen=True, repr=False, eq=False)
class ReferenceFit:
    """One table of label probabilities, known exactly.

    Attributes
    ----------
    data : Microdata
        The records.
    table : LabelTable
        Probabilities that every set is drawn from.
    """

    data: Microdata
    table: LabelTable
    converged: bool = True

    def diagnostics(self) -> pl.DataFrame:
        """Give an empty table: nothing was sampled, so nothing can fail to converge."""
        return pl.DataFrame(
            schema={
                "quantity": pl.String,
                "rhat": pl.Float64,
                "ess_bulk": pl.Float64,
                "ess_tail": pl.Float64,
                "converged": pl.Boolean,
            }
        )

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
        codes = np.stack(
            [
                split_labels(
                    self.data, self.table.draw(stream(known, "synthesize", one), self.data)
                )
                for one in range(m)
            ]
        )  # (set, record, synthesized variable)
        return SyntheticSets(self.data, codes, fully_synthetic=not self.data.kept)

    def __repr__(self) -> str:
        """Show shapes only."""
        rows, labels = self.table.probabilities.shape
        return f"ReferenceFit: {rows:,} rows of {labels:,} label probabilities"
