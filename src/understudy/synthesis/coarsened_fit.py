"""A fit whose files show larger levels: labels are drawn as fitted, and merged afterwards.

The probability of a larger level is the sum of those that it merges. The likelihood, by which a
record is left out, stays that of the levels that were fitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.coarsening import Coarsening
from understudy.microdata.label_table import LabelTable
from understudy.synthesis.contract import DrawnSets
from understudy.synthesis.set_drawing import SetDrawing

__all__ = ["CoarsenedFit"]


@dataclass(frozen=True, repr=False, eq=False)
class CoarsenedFit:
    """A fit of fine data as the files of the coarse data see it.

    Attributes
    ----------
    fit : SampledFit
        Of the fine data.
    coarsening : Coarsening
        What is merged.
    """

    fit: Any
    coarsening: Coarsening

    @property
    def local_sensitivity(self) -> float:
        """That of the fit: merging what was drawn adds nothing to it."""
        return float(self.fit.local_sensitivity)

    def label_tables(self) -> Iterator[LabelTable]:
        """Give what sets are drawn from: (row, coarse label), a row of each fine combination."""
        for table in self.fit.label_tables():
            yield LabelTable(self.coarsening.merge(table.probabilities), table.row_of_combination)

    def predictive_tables(self) -> Iterator[NDArray[np.float64]]:
        """Give p(coarse label | fine pattern), (fine pattern, coarse label)."""
        yield from map(self.coarsening.merge, self.fit.predictive_tables())

    def left_out_weights_tables(self) -> Iterator[NDArray[np.float64]]:
        """Give what a record contributes to the likelihood, (fine pattern, fine label)."""
        yield from self.fit.left_out_weights_tables()

    def synthesize(self, m: int = 20, seed: int | None = None) -> DrawnSets:
        """Draw coarse sets; see `SampledFit.synthesize`."""
        return self.drawing(m, seed).all()

    def drawing(self, m: int = 20, seed: int | None = None) -> SetDrawing:
        """Settle how `m` coarse sets are drawn: those of the fit, levels merged."""
        fine: SetDrawing = self.fit.drawing(m, seed)
        return replace(
            fine,
            data=self.coarsening.coarse,
            draw_codes=lambda number: map(self.coarsening.merge_codes, fine.draw_codes(number)),
        )
