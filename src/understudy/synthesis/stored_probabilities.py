"""Which label probabilities are kept of every draw: all of them, or an even sample.

A cell is a pattern with a label: where the table of label probabilities has one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.table import Microdata
from understudy.synthesis.diagnostics import spread_cells

__all__ = ["KeptCells", "choose_cells"]


@dataclass(frozen=True, eq=False)
class KeptCells:
    """The cells (pattern, label) whose probabilities are kept.

    Attributes
    ----------
    patterns : int64 (cell,)
        The pattern of each cell.
    labels : int64 (cell,)
        The combined label of each cell.
    complete : bool
        Whether these are all cells, patterns first.
    """

    patterns: NDArray[np.int64]
    labels: NDArray[np.int64]
    complete: bool


def choose_cells(data: Microdata, most_cells: int) -> KeptCells:
    """Choose cells (pattern, label), all if there are no more than so many, else evenly spread."""
    size = data.n_labels
    total = len(data.patterns) * size
    kept = spread_cells(total, most_cells)  # (cell,)
    return KeptCells(kept // size, kept % size, complete=kept.size == total)
