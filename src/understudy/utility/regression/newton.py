"""What the regressions share: Newton's method, finding columns that say nothing new, a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.utility.regression.arrow_matrix import Arrow

__all__ = ["ABSENT", "ALIASED", "ESTIMATED", "EXACT", "SEPARATED", "UNFITTED", "Fit", "Maximum",
           "independent_columns", "newton"]  # fmt: skip

Numbers = NDArray[np.float64]
Evaluate = Callable[[Numbers], tuple[float, Numbers, Numbers]]

ESTIMATED = "estimated"
SEPARATED = "separated"  # the likelihood rises for ever as the coefficient grows
ABSENT = "absent"  # no record has the level
ALIASED = "aliased"  # the column is a sum of others
EXACT = "exact fit"  # a linear regression leaves no residual: there is no error to tell
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
        ``estimated``, ``separated``, ``absent``, ``aliased`` or ``exact fit``, by column.
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


def newton(evaluate: Evaluate, start: Numbers, shape: Arrow, enough: float = ENOUGH) -> Maximum:
    """Maximize a concave function, halving steps that do not lead upwards.

    Parameters
    ----------
    evaluate : callable
        Gives value, gradient and information (minus the second derivatives) at parameters; the
        value is minus infinity outside of the domain.
    start : float64 (parameter,)
        Inside of the domain.
    shape : Arrow
        Of the information.
    enough : float
        Twice the gain in value at which the search ends.

    Returns
    -------
    Maximum
    """
    parameters = start.copy()
    value, gradient, information = evaluate(parameters)
    step = shape.solve(information, gradient)
    for number in range(MOST_STEPS):
        gain = float(gradient @ step)
        if gain < enough * (1 + abs(value) * 1e-6):
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
        step = shape.solve(information, gradient)
    return Maximum(parameters, information, step, value, MOST_STEPS)


def independent_columns(
    products: Numbers,
    scale: Numbers,
    tolerance: float = 1e-9,
    order: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Find columns that are not sums of columns before them.

    Parameters
    ----------
    products : float64 (column, column)
        Products of the columns with each other; symmetric, not negative.
    scale : float64 (column,)
        What a column's own product is measured by.
    tolerance : float
        The least share of `scale` that must be left of it when earlier columns are swept out.
    order : int64 (column,), optional
        Which columns come before which; as they stand when left out.

    Returns
    -------
    int64 (chosen,)
        Numbers of the columns, rising.
    """
    order = np.arange(len(products)) if order is None else order
    rest = products[np.ix_(order, order)]  # a copy, to be swept
    least = tolerance * np.maximum(scale[order], 1e-300)
    chosen = []
    for column in range(len(order)):
        pivot = rest[column, column]
        if pivot <= least[column]:
            continue
        chosen.append(order[column])
        places = column + 1 + np.flatnonzero(rest[column, column + 1 :])  # most are zero
        if places.size:
            across = rest[column, places]
            rest[places[:, None], places] -= across[:, None] * (across / pivot)
    return np.sort(np.array(chosen, dtype=np.int64))
