"""Cells: the groups that some of the variables divide the records into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import quoted_list

__all__ = ["Cells"]


@dataclass(frozen=True, repr=False)
class Cells:
    """Distinct rows of codes over some variables, with their sizes.

    Attributes
    ----------
    names : tuple of str
        The variables.
    codes : int32 (cell, variable)
        In lexicographic order.
    sizes : int64 (cell,)
        Records in each cell; none is empty.
    of_combination : int32 (combination,)
        The cell that each combination of the data lies in.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int32]
    sizes: NDArray[np.int64]
    of_combination: NDArray[np.int32]

    def __len__(self) -> int:
        """Count the cells."""
        return self.sizes.size

    def __repr__(self) -> str:
        """Show the shape only."""
        return f"Cells({len(self)} of {quoted_list(self.names)})"
