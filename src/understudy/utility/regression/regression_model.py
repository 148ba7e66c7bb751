"""A regression that is fitted to the original and to every set, and predicts held-out records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.checks import check_one_of
from understudy.errors import InputError, SettingError, quoted
from understudy.microdata.coding import regroup
from understudy.microdata.survey_design import SurveyDesign
from understudy.microdata.table import Microdata
from understudy.utility.estimates import Estimates
from understudy.utility.regression.design import Design, Indicators, make_design
from understudy.utility.regression.design_based import with_design_errors
from understudy.utility.regression.fitted_regression import ABSENT, UNFITTED, Fit
from understudy.utility.regression.formula import read_formula
from understudy.utility.regression.linear import fit_linear
from understudy.utility.regression.logistic import event_probability, fit_logistic
from understudy.utility.regression.ordered_logit import category_probabilities, fit_ordered_logit

__all__ = ["RegressionModel", "SetFit"]

Numbers = NDArray[np.float64]
FAMILIES = ("ordered-logit", "logistic", "linear")


@dataclass(frozen=True, repr=False, eq=False)
class SetFit:
    """What one data set gave: estimates, and predictions (held-out record,)."""

    estimates: Estimates
    predictions: Numbers


@dataclass(frozen=True, repr=False, eq=False)
class RegressionModel:
    """A regression that is ready to be fitted to the original and to every set."""

    data: Microdata
    design: Design
    family: str
    scores: Numbers  # (level,) the response's levels as numbers

    @classmethod
    def make(
        cls, data: Microdata, formula: str, family: str, reference: Mapping[str, str] | str | None
    ) -> RegressionModel:
        """Check the family and read the formula."""
        check_one_of("family", family, FAMILIES)
        design = make_design(data, read_formula(formula, data), reference)
        return cls(data, design, family, _scores(data, design, family))

    @property
    def names(self) -> tuple[str, ...]:
        """Variables on the right, then the response."""
        return (*self.design.formula.names, self.design.formula.response)

    def study(
        self,
        drawn: NDArray[np.integer] | None,
        train: NDArray[np.int64],
        held: NDArray[np.int64],
    ) -> SetFit:
        """Fit on the training records and predict the held-out ones, by their indices.

        Codes of a set are (record, synthesized variable); None is the original, which must have a
        fit.
        """
        codes = self._codes(drawn)
        try:
            fit = self.fit(codes[train], train)
        except InputError:
            if drawn is None:
                raise
            nothing = np.full(len(self.design.columns), np.nan)
            status = (UNFITTED,) * nothing.size
            return SetFit(Estimates(nothing, nothing, status), np.full(held.size, np.nan))
        estimates = Estimates(
            fit.coefficients, fit.standard_errors, fit.status, fit.degrees_of_freedom
        )
        return SetFit(estimates, self.predict(fit, codes[held]))

    def _codes(self, drawn: NDArray[np.integer] | None) -> NDArray[np.int32]:
        """Codes (record, variable) of the original, or with a set's synthesized variables."""
        synthesized = self.data.synthesized
        columns = [
            drawn[:, synthesized.index(name)]
            if drawn is not None and name in synthesized
            else self.data.codes(name)
            for name in self.names
        ]
        return np.column_stack(columns).astype(np.int32)

    def fit(self, codes: NDArray[np.int32], records: NDArray[np.int64]) -> Fit:
        """Fit to codes (record, variable) of some records, grouped into distinct rows first.

        Where the data have survey weights the fit is weighted, and its errors are design-based.
        """
        if self.data.survey is not None:
            return self._weighted_fit(codes, records, self.data.survey)
        levels = [self.data.variable(name).n_levels for name in self.names]
        ones = np.ones(len(codes), dtype=np.int64)
        distinct, counts, _ = regroup(codes, ones, np.arange(len(codes), dtype=np.int32), levels)
        rows = self.design.indicators(distinct[:, :-1])
        return self._maximum(rows, self._response(distinct[:, -1]), counts.astype(np.float64))

    def _response(self, codes: NDArray[np.int32]) -> Numbers:
        """The response as the family needs it: scores, events, or codes."""
        return codes.astype(np.float64) if self.family == "ordered-logit" else self.scores[codes]

    def _maximum(self, rows: Indicators, response: Numbers, weights: Numbers) -> Fit:
        """Fit the family."""
        if self.family == "linear":
            return fit_linear(rows, response, weights)
        whole = response.astype(np.int64)
        fit = fit_logistic if self.family == "logistic" else fit_ordered_logit
        return fit(rows, whole, weights)

    def _weighted_fit(
        self, codes: NDArray[np.int32], records: NDArray[np.int64], survey: SurveyDesign
    ) -> Fit:
        """Maximize the weighted likelihood of the records that have a weight above zero."""
        weighted = survey.weights[records] > 0
        codes, records = codes[weighted], records[weighted]
        weights = survey.weights[records]
        weights = weights * (weights.size / weights.sum())
        rows = self.design.indicators(codes[:, :-1])
        response = self._response(codes[:, -1])
        fit = self._maximum(rows, response, weights)
        return with_design_errors(fit, rows, response, weights, survey, records, self.family)

    def predict(self, fit: Fit, codes: NDArray[np.int32]) -> Numbers:
        """Predict rows; nan where a row has a column that could not be fitted."""
        rows = self.design.indicators(codes[:, :-1])
        unknown = np.isnan(fit.coefficients)
        predictor = rows.linear(np.where(unknown, 0.0, fit.coefficients))
        if self.family == "linear":
            prediction = fit.intercepts[0] + predictor
        elif self.family == "logistic":
            prediction = event_probability(fit, predictor)
        else:
            prediction = category_probabilities(fit, predictor) @ (1.0 + fit.categories)
        absent = np.array([word == ABSENT for word in fit.status], dtype=np.float64)
        return np.where(rows.linear(absent) > 0, np.nan, prediction)


def _scores(data: Microdata, design: Design, family: str) -> Numbers:
    """The response's levels as numbers, by the needs of the family: (level,)."""
    formula = design.formula
    levels = data.variable(formula.response).levels
    if family == "logistic":
        if formula.event is None and len(levels) != 2:
            raise SettingError(
                expected="a response with two levels for a logistic regression",
                came=f"{len(levels)} levels of {quoted(formula.response)}",
                do="write the level that counts as yes on the left, as in income == Q4 ~ ...",
            )
        event = formula.event if formula.event is not None else levels[1]
        return np.array([float(level == event) for level in levels])
    if formula.event is not None:
        raise SettingError(
            expected="a plain variable as the response",
            came="a level after ==, which belongs to a logistic regression",
            do='leave it out, or give family="logistic"',
        )
    try:
        numbers = np.array([float(level) for level in levels])
    except ValueError:
        numbers = np.full(len(levels), np.nan)
    positions = np.arange(1, len(levels) + 1, dtype=np.float64)
    return numbers if np.isfinite(numbers).all() else positions
