"""Linear regression on indicator columns, by the normal equations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.utility.regression.aliasing import column_status
from understudy.utility.regression.arrow_matrix import BORDER, Arrow
from understudy.utility.regression.design import Indicators
from understudy.utility.regression.fitted_regression import EXACT, Fit, estimated

__all__ = ["fit_linear"]

Numbers = NDArray[np.float64]
NOTHING = 1e-12  # residuals, relative to the response, that are rounding alone


def fit_linear(rows: Indicators, score: Numbers, weights: Numbers) -> Fit:
    """Fit a linear regression by least squares of a score, (row,), with records as weights, (row,).

    There is one intercept; intervals use t with the residual degrees of freedom. Where the
    regression leaves no residual, the coefficients are called ``exact fit`` and have no standard
    errors.
    """
    status = column_status(rows, weights)
    usable = estimated(status)
    size, total = 1 + int(usable.sum()), float(weights.sum())
    freedom = total - size
    if freedom <= 0:
        raise InputError(
            expected=f"more than {size:,} records, the number of coefficients",
            came=f"{int(total):,}",
            do="use more records or fewer terms",
        )
    centre = float(weights @ score / total)
    centred = score - centre
    products = rows.gram_with_intercept(weights, usable)
    target = np.append(rows.sums(weights * centred)[usable], weights @ centred)
    shape = Arrow(np.append(rows.block[usable], BORDER))
    solution = shape.solve(products, target)  # the intercept last
    full = np.zeros(rows.n_columns)
    full[usable] = solution[:-1]
    residual = centred - solution[-1] - rows.linear(full)
    left_over = float(weights @ residual**2)
    exact = left_over <= NOTHING**2 * float(weights @ score**2)
    variance = np.nan if exact else left_over / freedom
    errors = np.full(rows.n_columns, np.nan)
    errors[usable] = np.sqrt(variance * shape.inverse_diagonal(products)[:-1])
    spread = max(left_over / total, 1e-300)
    return Fit(
        coefficients=np.where(usable, full, np.nan),
        standard_errors=errors,
        status=tuple(np.where(usable & exact, EXACT, status).tolist()),
        intercepts=np.array([solution[-1] + centre]),
        log_likelihood=-0.5 * total * (np.log(2 * np.pi * spread) + 1),
        degrees_of_freedom=freedom,
        categories=np.zeros(0, dtype=np.int64),
        steps=1,
    )
