"""Logistic regression: an ordered logit with two categories, its intercept the other way round."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from understudy.utility.regression.arrow_matrix import BORDER, Arrow, ArrowMatrix, ArrowProducts
from understudy.utility.regression.design import Indicators
from understudy.utility.regression.fitted_regression import Fit
from understudy.utility.regression.ordered_logit import category_probabilities, fit_ordered_logit

__all__ = ["BinaryLikelihood", "event_probability", "fit_logistic"]

Numbers = NDArray[np.float64]


def fit_logistic(rows: Indicators, event: NDArray[np.integer], weights: Numbers) -> Fit:
    """Fit a logistic regression of events, 1 or 0, (row,), with records as weights, (row,)."""
    fit = fit_ordered_logit(rows, event, weights)
    return replace(fit, intercepts=-fit.intercepts)


def event_probability(fit: Fit, predictor: Numbers) -> Numbers:
    """Probability of the event, from a linear predictor without the intercept: (row,)."""
    return category_probabilities(replace(fit, intercepts=-fit.intercepts), predictor)[:, 1]


class BinaryLikelihood:
    """The log-likelihood of grouped trials, for large designs: some columns, then the intercept.

    Parameters
    ----------
    rows : Indicators
        The design, one row per group.
    events, trials : float64 (row,)
        How many trials each group has, and in how many the event occurred.
    columns : bool (column,)
        Columns that take part.
    """

    def __init__(
        self, rows: Indicators, events: Numbers, trials: Numbers, columns: NDArray[np.bool_]
    ) -> None:
        self.rows, self.events, self.trials, self.columns = rows, events, trials, columns
        self.shape = Arrow(np.append(rows.block[columns], BORDER))
        self._products = ArrowProducts(self.shape, self._parameters())

    def _parameters(self) -> NDArray[np.int64]:
        """Parameters with an indicator in each row, the intercept's last: (row, term and one)."""
        n_columns = int(self.columns.sum())
        of_column = np.full(self.columns.size, -1, dtype=np.int64)
        of_column[self.columns] = np.arange(n_columns)
        parameters = np.full((len(self.rows.index), len(self.rows.widths) + 1), n_columns)
        for term, width in enumerate(self.rows.widths):
            start = self.rows.starts[term]
            own = np.append(of_column[start : start + width], -1)
            parameters[:, term] = own[self.rows.index[:, term]]
        return parameters

    def predictor(self, parameters: Numbers) -> Numbers:
        """Intercept plus linear predictor: (row,)."""
        full = np.zeros(self.rows.n_columns)
        full[self.columns] = parameters[:-1]
        shifted: Numbers = parameters[-1] + self.rows.linear(full)
        return shifted

    def probability(self, parameters: Numbers) -> Numbers:
        """Chance of the event in each group: (row,)."""
        chance: Numbers = 0.5 * (1 + np.tanh(0.5 * self.predictor(parameters)))
        return chance

    def evaluate(self, parameters: Numbers) -> tuple[float, Numbers, ArrowMatrix]:
        """Value, gradient and information."""
        predictor = self.predictor(parameters)
        chance = 0.5 * (1 + np.tanh(0.5 * predictor))
        value = self.events @ predictor - self.trials @ np.logaddexp(0, predictor)
        residual = self.events - self.trials * chance
        gradient = np.append(self.rows.sums(residual)[self.columns], residual.sum())
        return float(value), gradient, self._products.of(self.trials * chance * (1 - chance))
