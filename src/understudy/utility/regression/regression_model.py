"""A regression that is fitted to the original and to every set, and predicts held-out records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from understudy.checks import check_one_of
from understudy.errors import InputError, SettingError, quoted, quoted_list
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
    whole: bool = False  # whether records with a hole are left out; otherwise it is a level

    @classmethod
    def make(
        cls,
        data: Microdata,
        formula: str,
        family: str,
        reference: Mapping[str, str] | str | None,
        *,
        whole: bool = False,
    ) -> RegressionModel:
        """Check the family and read the formula."""
        check_one_of("family", family, FAMILIES)
        read = read_formula(formula, data)
        shown = _without_holes(data, (*read.names, read.response)) if whole else data
        design = make_design(shown, read, reference)
        return cls(data, design, family, _scores(shown, design, family), whole)

    @property
    def names(self) -> tuple[str, ...]:
        """Variables on the right, then the response."""
        return (*self.design.formula.names, self.design.formula.response)

    def study(
        self,
        drawn: NDArray[np.integer] | None,
        train: NDArray[np.int64],
        held: NDArray[np.int64],
        filled: Mapping[str, NDArray[np.integer]] = MappingProxyType({}),
    ) -> SetFit:
        """Fit on the training records and predict the held-out ones, by their indices.

        Codes of a set are (record, synthesized variable); None is the original, which must have a
        fit. `filled` are a set's kept variables with imputed values, (record,) by name.
        """
        codes = self._codes(drawn, filled)
        if self.whole:
            present = [len(self.data.variable(name).present_levels) for name in self.names]
            there = np.asarray((codes < present).all(axis=1))  # (record,)
            train = train[there[train]]
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
        predictions = np.full(held.size, np.nan)  # of records with a hole there is none
        known = there[held] if self.whole else np.ones(held.size, dtype=bool)
        predictions[known] = self.predict(fit, codes[held[known]])
        return SetFit(estimates, predictions)

    def _codes(
        self, drawn: NDArray[np.integer] | None, filled: Mapping[str, NDArray[np.integer]]
    ) -> NDArray[np.int32]:
        """Codes (record, variable) of the original, or with what a set has in their place."""
        synthesized = self.data.synthesized
        columns = [
            drawn[:, synthesized.index(name)]
            if drawn is not None and name in synthesized
            else filled[name]
            if name in filled
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


def _without_holes(data: Microdata, names: Sequence[str]) -> Microdata:
    """Give the records without holes in some variables, and these without the level for one."""
    holed = [name for name in data.with_holes if name in names]
    columns = [data.names.index(name) for name in holed]
    sizes = [len(data.variable(name).present_levels) for name in holed]
    whole = np.asarray((data.combinations[:, columns] < sizes).all(axis=1))  # (combination,)
    if not whole.any():
        raise InputError(
            expected="a record with a value in each of the formula's variables",
            came="none",
            do=f"leave out some of {quoted_list(holed)}",
        )
    row = (np.cumsum(whole) - 1).astype(np.int32)
    return replace(
        data,
        variables=tuple(
            replace(variable, levels=variable.present_levels)
            if variable.name in holed
            else variable
            for variable in data.variables
        ),
        combinations=data.combinations[whole],
        counts=data.counts[whole],
        of_record=row[data.of_record[whole[data.of_record]]],
    )


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
    ranks = np.arange(1, len(levels) + 1, dtype=np.float64)
    return numbers if np.isfinite(numbers).all() else ranks
