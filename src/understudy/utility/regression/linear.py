"""Linear regression on indicator columns, by the normal equations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.utility.regression.arrow_matrix import BORDER, Arrow
from understudy.utility.regression.design import Indicators
from understudy.utility.regression.newton import ESTIMATED, EXACT, Fit
from understudy.utility.regression.ordered_logit import usable_columns

__all__ = ["fit_linear"]

Numbers = NDArray[np.float64]
NOTHING = 1e-12  # residuals, relative to the response, that are rounding alone


def fit_linear(rows: Indicators, score: Numbers, weights: Numbers) -> Fit:
    """Fit a linear regression by least squares.

    Parameters
    ----------
    rows : Indicators
        The design.
    score : float64 (row,)
        The response as a number.
    weights : float64 (row,)
        Records with each row.

    Returns
    -------
    Fit
        ``intercepts`` holds the one intercept; intervals use t with the residual degrees of
        freedom. Where the regression leaves no residual, the coefficients are called ``exact fit``
        and have no standard errors.
    """
    status = usable_columns(rows, weights)
    usable = np.array([one == ESTIMATED for one in status], dtype=bool)
    size = 1 + int(usable.sum())
    freedom = float(weights.sum()) - size
    if freedom <= 0:
        raise InputError(
            expected=f"more than {size:,} records, the number of coefficients",
            came=f"{int(weights.sum()):,}",
            do="use more records or fewer terms",
        )
    centre = float(weights @ score / weights.sum())
    centred = score - centre
    products = np.empty((size, size))
    products[0, 0] = weights.sum()
    products[0, 1:] = products[1:, 0] = rows.sums(weights)[usable]
    products[1:, 1:] = rows.gram(weights)[np.ix_(usable, usable)]
    target = np.concatenate([[weights @ centred], rows.sums(weights * centred)[usable]])
    shape = Arrow(np.concatenate([[BORDER], rows.block[usable]]))
    solution = shape.solve(products, target)
    full = np.zeros(rows.n_columns)
    full[usable] = solution[1:]
    residual = centred - solution[0] - rows.linear(full)
    left_over = float(weights @ residual**2)
    exact = left_over <= NOTHING**2 * float(weights @ score**2)
    variance = np.nan if exact else left_over / freedom
    coefficients = np.where(usable, full, np.nan)
    errors = np.full(rows.n_columns, np.nan)
    errors[usable] = np.sqrt(variance * shape.inverse_diagonal(products)[1:])
    total = float(weights.sum())
    spread = max(left_over / total, 1e-300)
    return Fit(
        coefficients=coefficients,
        standard_errors=errors,
        status=tuple(EXACT if exact and one == ESTIMATED else one for one in status),
        intercepts=np.array([solution[0] + centre]),
        log_likelihood=-0.5 * total * (np.log(2 * np.pi * spread) + 1),
        degrees_of_freedom=freedom,
        categories=np.zeros(0, dtype=np.int64),
        steps=1,
    )
