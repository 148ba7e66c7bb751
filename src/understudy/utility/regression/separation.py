"""Separation: finding coefficients for which the likelihood has no maximum.

Where all records of a level have the lowest category, the likelihood rises for ever as the
level's coefficient falls. Newton's method then stops at a huge number with a huger standard error,
which looks like an estimate. A direction in which no record's likelihood falls and some record's
rises is found by a linear program, and the coefficients that it moves are reported.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.utility.regression.design import Indicators

__all__ = ["separated_columns"]

TOLERANCE = 1e-7


def separated_columns(
    rows: Indicators,
    response: NDArray[np.int64],
    n_categories: int,
    usable: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Find the columns of a logistic or ordered logit whose coefficients run to infinity.

    Rows are distinct, each with a category from 0, (row,). Gives bool (column,), of usable columns.

    References
    ----------
    Albert, A. and Anderson, J. A. (1984). On the existence of maximum likelihood estimates in
    logistic regression models. Biometrika 71(1), 1-10. doi:10.1093/biomet/71.1.1
    """
    from scipy.optimize import linprog

    constraints = _constraints(rows, response, n_categories)
    n_cuts = n_categories - 1
    bounds = np.ones(n_cuts + rows.n_columns)
    bounds[n_cuts:][~usable] = 0.0
    moved = np.zeros(rows.n_columns, dtype=bool)
    while constraints.shape[0]:
        direction = linprog(
            -np.asarray(constraints.sum(axis=0)).reshape(-1),
            A_ub=-constraints,
            b_ub=np.zeros(constraints.shape[0]),
            bounds=np.column_stack([-bounds, bounds]),
            method="highs",
        )
        if direction.x is None or -direction.fun <= TOLERANCE:
            break
        moved |= np.abs(direction.x[n_cuts:]) > TOLERANCE
        # Rows whose likelihood already rises are left out; others may be hidden behind them.
        constraints = constraints[constraints @ direction.x <= TOLERANCE]
    return moved


def _constraints(rows: Indicators, response: NDArray[np.int64], n_categories: int) -> Any:
    """Rows of a sparse matrix whose product with a direction may not be negative."""
    from scipy.sparse import csr_array, hstack, vstack

    n_rows, n_cuts = len(response), n_categories - 1
    has_column = rows.index < np.array(rows.widths, dtype=np.int64)  # (row, term)
    owner, term = np.nonzero(has_column)
    column = rows.index[has_column] + np.array(rows.starts)[term]
    design = csr_array((np.ones(owner.size), (owner, column)), shape=(n_rows, rows.n_columns))
    upper = np.flatnonzero(response < n_cuts)  # the cutpoint above may not fall behind
    lower = np.flatnonzero(response > 0)  # nor the one below rise ahead
    above = csr_array(
        (np.ones(upper.size), (np.arange(upper.size), response[upper])), shape=(upper.size, n_cuts)
    )
    below = csr_array(
        (np.ones(lower.size), (np.arange(lower.size), response[lower] - 1)),
        shape=(lower.size, n_cuts),
    )
    return csr_array(
        vstack([hstack([above, -design[upper]]), hstack([-below, design[lower]])], format="csr")
    )
