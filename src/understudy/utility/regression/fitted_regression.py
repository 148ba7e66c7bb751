"""A fitted regression, and what may be said of each of its coefficients."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ABSENT",
    "ALIASED",
    "ESTIMATED",
    "EXACT",
    "SEPARATED",
    "UNFITTED",
    "Fit",
    "estimated",
]

Numbers = NDArray[np.float64]

ESTIMATED = "estimated"
SEPARATED = "separated"  # the likelihood rises for ever as the coefficient grows
ABSENT = "absent"  # no record has the level
ALIASED = "aliased"  # the column is a sum of others
EXACT = "exact fit"  # a linear regression leaves no residual: there is no error to report
UNFITTED = "no fit"  # the model as a whole could not be fitted


def estimated(status: Iterable[str]) -> NDArray[np.bool_]:
    """Which coefficients are estimated: (column,)."""
    return np.array([word == ESTIMATED for word in status], dtype=bool)


@dataclass(frozen=True, repr=False, eq=False)
class Fit:
    """A fitted regression.

    Attributes
    ----------
    coefficients : float64 (column,)
        nan where the column is absent or aliased; where it is separated, the value at which the
        likelihood has stopped rising, for prediction only.
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
