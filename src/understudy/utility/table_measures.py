"""Standardized measures of how far apart two tables of counts are.

The names follow the R package synthpop (functions ``utility.tab`` and ``utility.gen``), so that
values can be compared; the definitions are those of Raab, Nowok and Dibben (2021), for two files
of the same size n.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Measures", "over_floor", "table_measures"]


@dataclass(frozen=True, repr=False, eq=False)
class Measures:
    """Measures of one table, one number per set; all arrays are float64 (set,).

    Attributes
    ----------
    deviation
        Sum of absolute differences of counts.
    total_variation
        Half the sum of absolute differences of shares: the deviation divided by 2 n.
    pmse
        Mean squared difference between the propensity of a record to be synthetic, given its cell,
        and one half (synthpop's pMSE).
    s_pmse
        pMSE over its expectation when the synthesizer is right and all variables are synthetic:
        cells - 1 degrees of freedom (synthpop's S_pMSE).
    s_pmse_partial
        The same with the margin of kept variables fixed, as it is in partly synthetic data:
        cells - kept cells degrees of freedom.
    freeman_tukey
        Four times the sum of squared differences of the counts' square roots (synthpop's FT).
    s_freeman_tukey, s_freeman_tukey_partial
        Freeman-Tukey over the same two numbers of degrees of freedom.
    """

    deviation: NDArray[np.float64]
    total_variation: NDArray[np.float64]
    pmse: NDArray[np.float64]
    s_pmse: NDArray[np.float64]
    s_pmse_partial: NDArray[np.float64]
    freeman_tukey: NDArray[np.float64]
    s_freeman_tukey: NDArray[np.float64]
    s_freeman_tukey_partial: NDArray[np.float64]


def table_measures(
    original: NDArray[np.integer],
    synthetic: NDArray[np.integer],
    kept_cell: NDArray[np.integer],
) -> Measures:
    """Compare one table of the original with the same table of every set, (set, cell).

    Counts of the original are (cell,), or (set, cell) where each set is compared with its own;
    cells that are empty in both do not count. Each cell lies in a cell of kept variables, (cell,).
    Where no degree of freedom is left, a standardized measure is nan.

    References
    ----------
    Raab, G. M., Nowok, B. and Dibben, C. (2021). Assessing, visualizing and improving the utility
    of synthetic data. arXiv:2109.12717.
    """
    n_records = int(np.atleast_2d(original)[0].sum())
    difference = synthetic - original  # (set, cell)
    both = synthetic + original
    occurs = both > 0
    voas_williamson = np.sum(2.0 * difference**2 / np.maximum(both, 1), axis=1)
    freeman_tukey = 4.0 * np.sum((np.sqrt(synthetic) - np.sqrt(original)) ** 2, axis=1)
    deviation = np.abs(difference).sum(axis=1).astype(np.float64)
    cells = occurs.sum(axis=1)
    kept = np.array([np.unique(kept_cell[row]).size for row in occurs], dtype=np.int64)
    return Measures(
        deviation=deviation,
        total_variation=deviation / (2 * n_records),
        pmse=voas_williamson / (16 * n_records),
        s_pmse=_standardized(voas_williamson, cells - 1),
        s_pmse_partial=_standardized(voas_williamson, cells - kept),
        freeman_tukey=freeman_tukey,
        s_freeman_tukey=_standardized(freeman_tukey, cells - 1),
        s_freeman_tukey_partial=_standardized(freeman_tukey, cells - kept),
    )


def _standardized(
    statistic: NDArray[np.float64], freedom: NDArray[np.integer]
) -> NDArray[np.float64]:
    return np.where(freedom > 0, statistic / np.maximum(freedom, 1), np.nan)


def over_floor(
    deviation: Mapping[int, float], floors: Mapping[int, float]
) -> dict[int, float | None]:
    """Divide deviations by floors, by the order of the tables; None over 0."""
    return {
        order: deviation[order] / floor if floor > 0 else None for order, floor in floors.items()
    }
