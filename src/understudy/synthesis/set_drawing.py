"""Sets that are drawn one by one, so that a large one can be written before the next is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.table import Microdata
from understudy.synthesis.contract import DrawnSets

__all__ = ["SetDrawing"]


@dataclass(frozen=True, repr=False, eq=False)
class SetDrawing:
    """Synthetic sets that a fit will draw, each from a posterior draw of its own.

    Attributes
    ----------
    data : Microdata
        The confidential data.
    draw_codes : callable
        Takes the number of a set and draws its codes, int32 (record, synthesized variable); again
        and again the same.
    chain, draw, spacing, autocorrelation_time
        As in `DrawnSets`.
    """

    data: Microdata
    draw_codes: Callable[[int], NDArray[np.int32]]
    chain: tuple[int, ...]
    draw: tuple[int, ...]
    spacing: float
    autocorrelation_time: float

    def __len__(self) -> int:
        """Count the sets."""
        return len(self.chain)

    def one_by_one(self) -> Iterator[DrawnSets]:
        """Draw one set after the other and keep none."""
        return (self._drawn([number]) for number in range(len(self)))

    def all(self) -> DrawnSets:
        """Draw all sets into memory."""
        return self._drawn(range(len(self)))

    def _drawn(self, numbers: range | list[int]) -> DrawnSets:
        shape = (len(numbers), self.data.n_records, len(self.data.synthesized))
        codes = np.empty(shape, dtype=np.int32)  # (set, record, synthesized variable)
        for index, number in enumerate(numbers):
            codes[index] = self.draw_codes(number)
        return DrawnSets(
            data=self.data,
            codes=codes,
            fully_synthetic=not self.data.kept,
            chain=tuple(self.chain[number] for number in numbers),
            draw=tuple(self.draw[number] for number in numbers),
            spacing=self.spacing,
            autocorrelation_time=self.autocorrelation_time,
        )
