"""Files that show imputed values: which of them are of the same imputation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError

__all__ = ["check_imputations"]


def check_imputations(
    imputations: int, n_sets: int, filled: Mapping[str, NDArray[np.integer[Any]]]
) -> None:
    """Refuse a number of imputations that the sets are not of, one imputation after the other.

    `filled` has the codes (set, record) of the variables that are imputed.
    """
    sets, rest = divmod(n_sets, imputations) if imputations > 1 else (0, 0)
    firsts = None if sets < 2 or rest else np.arange(n_sets) // sets * sets  # (set,)
    if (
        firsts is None
        or not filled
        or any((codes != codes[firsts]).any() for codes in filled.values())
    ):
        raise InputError(
            expected=f"synthetic sets of {imputations:,} imputations, one imputation after the "
            "other: at least two of each, with the same values in place of the holes",
            came=f"{n_sets:,} sets that are not",
            do="give the number of imputations that the files were made from, in their order",
        )
