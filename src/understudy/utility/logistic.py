"""Logistic regression: an ordered logit with two categories, its intercept the other way round."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from understudy.utility.design import Indicators
from understudy.utility.fitting import Fit
from understudy.utility.ordered_logit import category_probabilities, fit_ordered_logit

__all__ = ["event_probability", "fit_logistic"]

Numbers = NDArray[np.float64]


def fit_logistic(rows: Indicators, event: NDArray[np.integer], weights: Numbers) -> Fit:
    """Fit a logistic regression.

    Parameters
    ----------
    rows : Indicators
        The design.
    event : integer (row,)
        1 where the event occurred, else 0.
    weights : float64 (row,)
        Records with each row.

    Returns
    -------
    Fit
        ``intercepts`` holds the one intercept.
    """
    fit = fit_ordered_logit(rows, event, weights)
    return replace(fit, intercepts=-fit.intercepts)


def event_probability(fit: Fit, predictor: Numbers) -> Numbers:
    """Probability of the event, from a linear predictor without the intercept: (row,)."""
    return category_probabilities(replace(fit, intercepts=-fit.intercepts), predictor)[:, 1]
