"""What the regressions share: Newton's method, finding columns that say nothing new, a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ABSENT", "ALIASED", "ESTIMATED", "SEPARATED", "UNFITTED", "Fit", "Maximum",
           "independent_columns", "inverse_over", "newton"]  # fmt: skip

Numbers = NDArray[np.float64]
Evaluate = Callable[[Numbers], tuple[float, Numbers, Numbers]]

ESTIMATED = "estimated"
SEPARATED = "separated"  # the likelihood rises for ever as the coefficient grows
ABSENT = "absent"  # no record has the level
ALIASED = "aliased"  # the column is a sum of others
UNFITTED = "no fit"  # the model as a whole could not be fitted

ENOUGH = 1e-12  # twice what the log-likelihood can still gain
MOST_STEPS = 100
MOST_HALVINGS = 40


@dataclass(frozen=True, repr=False, eq=False)
class Fit:
    """A fitted regression.

    Attributes
    ----------
    coefficients : float64 (column,)
        nan where the column is absent or aliased; where it is separated, the value at which the
        likelihood has stopped rising, fit for prediction only.
    standard_errors : float64 (column,)
        nan unless the coefficient is estimated.
    status : tuple of str
        ``estimated``, ``separated``, ``absent`` or ``aliased``, by column.
    intercepts : float64
        Cutpoints of an ordered logit, else the one intercept.
    log_likelihood : float
        At the maximum.
    degrees_of_freedom : float
        For intervals: infinite unless the regression is linear.
    categories : int64
        Codes of the response's categories that occur, in order; scores for a linear regression.
    steps : int
        Of Newton's method.
    """

    coefficients: Numbers
    standard_errors: Numbers
    status: tuple[str, ...]
    intercepts: Numbers
    log_likelihood: float
    degrees_of_freedom: float
    categories: NDArray[np.int64]
    steps: int


@dataclass(frozen=True, repr=False, eq=False)
class Maximum:
    """Where Newton's method ended.

    Attributes
    ----------
    parameters : float64 (parameter,)
        The maximum.
    information : float64 (parameter, parameter)
        Minus the second derivatives there.
    last_step : float64 (parameter,)
        The step that would have come next: large where the maximum lies at infinity.
    value : float
        The log-likelihood.
    steps : int
        How many were taken.
    """

    parameters: Numbers
    information: Numbers
    last_step: Numbers
    value: float
    steps: int


def newton(evaluate: Evaluate, start: Numbers) -> Maximum:
    """Maximize a concave function, halving steps that do not lead upwards.

    Parameters
    ----------
    evaluate : callable
        Gives value, gradient and information (minus the second derivatives) at parameters; the
        value is minus infinity outside of the domain.
    start : float64 (parameter,)
        Inside of the domain.

    Returns
    -------
    Maximum
    """
    parameters = start.copy()
    value, gradient, information = evaluate(parameters)
    step = _solve(information, gradient)
    for number in range(MOST_STEPS):
        gain = float(gradient @ step)
        if gain < ENOUGH * (1 + abs(value) * 1e-6):
            return Maximum(parameters, information, step, value, number)
        length = 1.0
        for _ in range(MOST_HALVINGS):
            trial = parameters + length * step
            tried = evaluate(trial)
            if tried[0] >= value:
                break
            length /= 2
        else:
            return Maximum(parameters, information, step, value, number)
        parameters = trial
        value, gradient, information = tried
        step = _solve(information, gradient)
    return Maximum(parameters, information, step, value, MOST_STEPS)


def _solve(information: Numbers, gradient: Numbers) -> Numbers:
    """Newton's step; a touch is added to the diagonal where the information is singular."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    touch = 0.0
    scale = float(np.diagonal(information).max(initial=1e-300))
    while True:
        try:
            factor = cho_factor(information + touch * np.eye(len(gradient)), check_finite=False)
        except LinAlgError:
            touch = max(touch * 10, 1e-14 * scale)
            continue
        step: Numbers = cho_solve(factor, gradient, check_finite=False)
        return step


def independent_columns(
    products: Numbers, scale: Numbers, tolerance: float = 1e-9
) -> NDArray[np.bool_]:
    """Find columns that are not sums of columns before them.

    Parameters
    ----------
    products : float64 (column, column)
        Products of the columns with each other; symmetric, not negative.
    scale : float64 (column,)
        What a column's own product is measured by.
    tolerance : float
        The least share of `scale` that must be left of it when earlier columns are swept out.

    Returns
    -------
    bool (column,)
    """
    rest = products.copy()
    chosen = np.zeros(len(products), dtype=bool)
    for column in range(len(products)):
        pivot = rest[column, column]
        if pivot <= tolerance * max(scale[column], 1e-300):
            continue
        chosen[column] = True
        tail = slice(column + 1, None)
        across = rest[column, tail]
        hit = np.flatnonzero(across)  # indicator columns leave most products at zero
        if hit.size:
            places = hit + column + 1
            rest[np.ix_(places, places)] -= np.outer(across[hit], across[hit]) / pivot
    return chosen


def inverse_over(matrix: Numbers, chosen: NDArray[np.bool_]) -> Numbers:
    """Invert a matrix over the chosen rows and columns; nan elsewhere."""
    inverse = np.full(matrix.shape, np.nan)
    places = np.flatnonzero(chosen)
    if places.size:
        inverse[np.ix_(places, places)] = np.linalg.inv(matrix[np.ix_(places, places)])
    return inverse
