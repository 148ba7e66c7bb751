"""Ordered logistic regression, with its likelihood and both derivatives written out.

A record with linear predictor e has a category up to c with probability F(cut_c - e), F the
logistic distribution function. With a and b the cutpoints above and below its own category, less
e, and d = a - b, the probability of the category is F(a) (1 - F(b)) (1 - exp(-d)), a form that
loses no digits in the tails and has simple derivatives. The log-likelihood is concave in cutpoints
and coefficients together, so Newton's method finds its maximum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.utility.regression.aliasing import column_status, independent_columns
from understudy.utility.regression.arrow_matrix import BORDER, Arrow
from understudy.utility.regression.design import Indicators
from understudy.utility.regression.fitted_regression import SEPARATED, Fit, estimated
from understudy.utility.regression.newton import newton
from understudy.utility.regression.separation import separated_columns

__all__ = ["category_probabilities", "fit_ordered_logit", "information_and_scores"]

Numbers = NDArray[np.float64]
SUSPICIOUS = 1e-3  # a next step of this length, at the top of the likelihood, has no bottom
FLAT = 1e-6  # share of the information that is left of a coefficient that runs away


def fit_ordered_logit(rows: Indicators, response: NDArray[np.integer], weights: Numbers) -> Fit:
    """Fit an ordered logistic regression of codes, (row,), with records as weights, (row,).

    Rows are the distinct combinations of the formula's variables; intercepts are the cutpoints.

    References
    ----------
    McCullagh, P. (1980). Regression models for ordinal data. Journal of the Royal Statistical
    Society B 42(2), 109-142. doi:10.1111/j.2517-6161.1980.tb01109.x
    """
    categories, category = np.unique(response, return_inverse=True)
    category = category.reshape(-1).astype(np.int64)  # (row,)
    n_cuts = categories.size - 1
    if n_cuts < 1:
        raise InputError(
            expected="a response with at least two categories among the records of a regression",
            came=str(categories.size),
            do="use more records, or another response",
        )
    status = column_status(rows, weights)
    usable = estimated(status)
    model = _Likelihood(rows, category, weights, n_cuts, usable)
    block = np.concatenate([np.full(n_cuts, BORDER), rows.block[usable]])
    top = newton(model.evaluate, model.start(), Arrow(block))
    coefficients = np.full(rows.n_columns, np.nan)
    coefficients[usable] = top.parameters[n_cuts:]
    everywhere = np.concatenate([np.ones(n_cuts, dtype=bool), usable])
    informed = np.arange(top.parameters.size)  # parameters with a variance
    if np.abs(top.last_step).max(initial=0.0) > SUSPICIOUS:
        moved = separated_columns(rows, category, categories.size, usable)
        if not moved.any():  # no proof, and no estimate either: the search has not ended
            moved[usable] = np.abs(top.last_step[n_cuts:]) > SUSPICIOUS
        status = [SEPARATED if far else word for word, far in zip(status, moved, strict=True)]
        scale = model.scale()[everywhere]
        informed = independent_columns(top.information, scale, FLAT, Arrow(block).order())
    variances = np.full(everywhere.size, np.nan)
    variances[np.flatnonzero(everywhere)[informed]] = Arrow(block[informed]).inverse_diagonal(
        top.information[np.ix_(informed, informed)]
    )
    errors = np.where(estimated(status), np.sqrt(variances[n_cuts:]), np.nan)
    return Fit(
        coefficients=coefficients,
        standard_errors=errors,
        status=tuple(status),
        intercepts=top.parameters[:n_cuts],
        log_likelihood=top.value,
        degrees_of_freedom=np.inf,
        categories=categories.astype(np.int64),
        steps=top.steps,
    )


def category_probabilities(fit: Fit, predictor: Numbers) -> Numbers:
    """Probabilities of the fit's categories: (row, category) from a linear predictor (row,)."""
    cumulative = _logistic(fit.intercepts[None, :] - predictor[:, None])
    padded = np.pad(cumulative, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1)))
    return np.diff(padded, axis=1)


def information_and_scores(
    rows: Indicators,
    category: NDArray[np.int64],
    weights: Numbers,
    cuts: Numbers,
    coefficients: Numbers,
) -> tuple[Numbers, Numbers]:
    """Work out what a sandwich is made of, at the maximum.

    Categories from 0 and weights are (row,); coefficients, (column,), are nan where a column has
    none. Gives the weighted information (parameter, parameter), cutpoints first, and the
    derivatives (row, parameter) of each row's log-likelihood, without its weight.
    """
    usable = ~np.isnan(coefficients)
    model = _Likelihood(rows, category, weights, cuts.size, usable)
    _, _, information = model.evaluate(np.concatenate([cuts, coefficients[usable]]))
    predictor = rows.linear(np.where(usable, coefficients, 0.0))
    padded = np.concatenate([[-np.inf], cuts, [np.inf]])
    shrunk = np.exp(padded[category] - padded[category + 1])
    crowd = shrunk / (1 - shrunk)
    rise_above = _logistic(predictor - padded[category + 1]) + crowd
    rise_below = -_logistic(padded[category] - predictor) - crowd
    at_cut = np.zeros((category.size, cuts.size + 2))  # with one outer cutpoint at either end
    row = np.arange(category.size)
    at_cut[row, category + 1] = rise_above
    at_cut[row, category] = rise_below
    slopes = -(rise_above + rise_below)[:, None] * rows.dense(usable)
    return information, np.column_stack([at_cut[:, 1:-1], slopes])


class _Likelihood:
    """The log-likelihood of grouped rows in cutpoints and usable coefficients."""

    def __init__(
        self,
        rows: Indicators,
        category: NDArray[np.int64],
        weights: Numbers,
        n_cuts: int,
        usable: NDArray[np.bool_],
    ) -> None:
        self.rows, self.category, self.weights = rows, category, weights
        self.n_cuts, self.usable = n_cuts, usable

    def start(self) -> Numbers:
        """Cutpoints that fit the shares of the categories, coefficients of zero."""
        counts = np.bincount(self.category, weights=self.weights, minlength=self.n_cuts + 1)
        below = np.cumsum(counts)[:-1] / counts.sum()
        return np.concatenate([np.log(below / (1 - below)), np.zeros(int(self.usable.sum()))])

    def scale(self) -> Numbers:
        """How much information a parameter has when nothing runs away, roughly."""
        counts = np.bincount(self.category, weights=self.weights, minlength=self.n_cuts + 1)
        return np.concatenate([counts[:-1], self.rows.sums(self.weights)]) / 4

    def evaluate(self, parameters: Numbers) -> tuple[float, Numbers, Numbers]:
        """Value, gradient and information."""
        cuts = parameters[: self.n_cuts]
        size = parameters.size
        if np.any(np.diff(cuts) <= 0):
            return -np.inf, np.zeros(size), np.eye(size)
        full = np.zeros(self.rows.n_columns)
        full[self.usable] = parameters[self.n_cuts :]
        predictor = self.rows.linear(full)
        padded = np.concatenate([[-np.inf], cuts, [np.inf]])
        above = padded[self.category + 1] - predictor  # a
        below = padded[self.category] - predictor  # b
        shrunk = np.exp(padded[self.category] - padded[self.category + 1])  # exp(-d)
        value = self.weights @ (
            np.log1p(-shrunk) - np.logaddexp(0, -above) - np.logaddexp(0, below)
        )
        upper, lower = _logistic(above), _logistic(below)
        crowd = self.weights * shrunk / (1 - shrunk)
        rise_above = self.weights * _logistic(-above) + crowd  # derivative in a
        rise_below = -self.weights * lower - crowd  # derivative in b
        bend_above = self.weights * upper * _logistic(-above)  # logistic density at a
        bend_below = self.weights * lower * _logistic(-below)
        gradient = np.empty(size)
        gradient[: self.n_cuts] = self._per_cut(rise_above, rise_below)
        gradient[self.n_cuts :] = -self.rows.sums(rise_above + rise_below)[self.usable]
        return float(value), gradient, self._information(bend_above, bend_below, crowd, shrunk)

    def _per_cut(self, at_above: Numbers, at_below: Numbers) -> Numbers:
        """Add what rows say about the cutpoint above them and below them: (cut,)."""
        size = self.n_cuts + 2  # with one outer cutpoint at either end
        upper = np.bincount(self.category + 1, weights=at_above, minlength=size)
        lower = np.bincount(self.category, weights=at_below, minlength=size)
        return np.asarray((upper + lower)[1:-1], dtype=np.float64)

    def _information(
        self, bend_above: Numbers, bend_below: Numbers, crowd: Numbers, shrunk: Numbers
    ) -> Numbers:
        n_cuts = self.n_cuts
        size = n_cuts + int(self.usable.sum())
        tight = crowd / (1 - shrunk)  # minus the mixed derivative in a and b
        information = np.zeros((size, size))
        corner = information[:n_cuts, :n_cuts]
        np.fill_diagonal(corner, self._per_cut(bend_above + tight, bend_below + tight))
        between = np.bincount(self.category, weights=tight, minlength=n_cuts + 1)[1:-1]
        corner[np.arange(n_cuts - 1), np.arange(1, n_cuts)] = -between
        corner[np.arange(1, n_cuts), np.arange(n_cuts - 1)] = -between
        for cut in range(n_cuts):
            about = np.where(self.category == cut, bend_above, 0.0)
            about += np.where(self.category == cut + 1, bend_below, 0.0)
            information[cut, n_cuts:] = -self.rows.sums(about)[self.usable]
        information[n_cuts:, :n_cuts] = information[:n_cuts, n_cuts:].T
        products = self.rows.gram(bend_above + bend_below)
        information[n_cuts:, n_cuts:] = products[np.ix_(self.usable, self.usable)]
        return information


def _logistic(values: Numbers) -> Numbers:
    """Logistic distribution function, without overflow."""
    small = np.exp(-np.abs(values))
    shares: Numbers = np.where(values >= 0, 1.0, small) / (1 + small)
    return shares
