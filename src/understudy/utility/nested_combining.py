"""Combining rule for imputed and synthesized files: r synthetic sets of each of m imputations.

The sets of one imputation differ by the drawing of labels alone, imputations differ by the missing
values too. So the variance between imputations is inflated as in multiple imputation, and what the
drawing adds to it is taken off again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.checks import as_numbers, check_confidence
from understudy.errors import InputError
from understudy.public_errors import only_our_errors
from understudy.utility.combining import CombinedEstimates, quantile

__all__ = ["combine_nested_estimates"]


@only_our_errors
def combine_nested_estimates(
    estimates: Any, variances: Any, *, level: float = 0.95
) -> CombinedEstimates:
    """Combine the estimates from r synthetic sets of each of m imputations.

    With mean estimate q, mean variance u, variance b between the means of imputations and mean
    variance w within them: variance (1 + 1/m) b - w/r + u, t with

        1 / ( ((1 + 1/m) b)^2 / ((m - 1) T^2) + (w/r)^2 / (m (r - 1) T^2) )

    degrees of freedom. Where (1 + 1/m) b is below w/r, what the missing values add is lost in the
    noise of the drawing: then (1 + 1/m) b + u is taken, which is too large rather than too small,
    and a note says so.

    Parameters
    ----------
    estimates : array (imputation, set) or (imputation, set, quantity)
        One estimate per set, or a vector of them.
    variances : array of the same shape
        Squared standard errors.
    level : float
        Of the intervals.

    References
    ----------
    Reiter, J. P. (2004). Simultaneous use of multiple imputation for missing data and disclosure
    limitation. Survey Methodology 30(2), 235-242.

    Examples
    --------
    >>> combined = combine_nested_estimates([[1.0, 2.0], [3.0, 4.0]], [[0.5, 0.5], [0.5, 0.5]])
    >>> float(combined.estimate), float(combined.variance)
    (2.5, 3.25)
    """
    level = check_confidence(level)
    values, spreads = as_numbers(estimates), as_numbers(variances)
    if (
        values is None
        or spreads is None
        or values.ndim not in {2, 3}
        or values.shape != spreads.shape
        or min(values.shape[:2]) < 2
        or not (np.isfinite(values).all() and np.isfinite(spreads).all() and (spreads >= 0).all())
    ):
        raise InputError(
            expected="finite estimates and variances with axes (imputation, set) or (imputation, "
            "set, quantity), at least two imputations of at least two sets",
            came="others",
            do="give one estimate and its squared standard error for every set of every imputation",
        )
    n_imputations, n_sets = values.shape[:2]
    means = values.mean(axis=1)  # (imputation, quantity)
    within = spreads.mean(axis=(0, 1))
    between = means.var(axis=0, ddof=1)
    drawing = values.var(axis=1, ddof=1).mean(axis=0) / n_sets
    inflated = (1 + 1 / n_imputations) * between
    lost = inflated < drawing
    variance = np.where(lost, inflated, inflated - drawing) + within
    with np.errstate(divide="ignore"):
        freedom = variance**2 / (
            inflated**2 / (n_imputations - 1) + drawing**2 / (n_imputations * (n_sets - 1))
        )
    estimate, error = means.mean(axis=0), np.sqrt(variance)
    reach = quantile(freedom, level) * error
    return CombinedEstimates(
        estimate=estimate,
        variance=variance,
        standard_error=error,
        within=within,
        between=between,
        degrees_of_freedom=np.asarray(freedom),
        lower=estimate - reach,
        upper=estimate + reach,
        negative=np.zeros(within.shape, dtype=bool),
        covariance=None,
        rule="nested imputation and partial",
        level=level,
        sets=n_imputations * n_sets,
        note=f"in {lost.sum()} of {lost.size} sets of an imputation differ more than imputations "
        "do: the variance is an upper one"
        if lost.any()
        else None,
    )
