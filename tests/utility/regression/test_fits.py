"""The fits of the three families against statsmodels and slow twins."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from tests.naive import utility as naive
from tests.utility.example_surveys import (
    data_from,
    fit_of_records,
    income_survey,
    rows_of,
)

import understudy as us
from understudy.microdata.table import SyntheticSets
from understudy.utility.regression.design import Indicators, make_design
from understudy.utility.regression.formula import read_formula
from understudy.utility.regression.linear import fit_linear
from understudy.utility.regression.logistic import event_probability, fit_logistic
from understudy.utility.regression.ordered_logit import (
    _Likelihood,
    category_probabilities,
    fit_ordered_logit,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import statsmodels.api as sm
    from statsmodels.miscmodels.ordinal_model import OrderedModel


@pytest.mark.parametrize("text", ["income ~ town + age + sex", "income ~ age * sex"])
def test_ordered_logit_is_that_of_statsmodels(text: str) -> None:
    fit, matrix, response = fit_of_records(income_survey(1, 300, 4), text, fit_ordered_logit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = OrderedModel(response, matrix, distr="logit")
        other = model.fit(method="newton", disp=False, maxiter=200, tol=1e-12)
    size = matrix.shape[1]
    np.testing.assert_allclose(fit.coefficients, other.params[:size], atol=1e-6)
    # statsmodels takes its second derivatives by differences: no more digits to compare.
    np.testing.assert_allclose(fit.standard_errors, other.bse[:size], rtol=1e-4)
    cuts = model.transform_threshold_params(other.params)[1:-1]
    np.testing.assert_allclose(fit.intercepts, cuts, atol=1e-6)
    assert fit.log_likelihood == pytest.approx(other.llf, abs=1e-8)
    predicted = category_probabilities(fit, matrix @ fit.coefficients)
    np.testing.assert_allclose(predicted, other.predict(), atol=1e-6)


@pytest.mark.parametrize("text", ["sex ~ town + age + income", "sex ~ town * age"])
def test_logistic_is_that_of_statsmodels(text: str) -> None:
    fit, matrix, response = fit_of_records(income_survey(), text, fit_logistic)
    other = sm.Logit(response, sm.add_constant(matrix)).fit(disp=False, tol=1e-12)
    np.testing.assert_allclose(fit.intercepts[0], other.params[0], atol=1e-6)
    np.testing.assert_allclose(fit.coefficients, other.params[1:], atol=1e-6)
    np.testing.assert_allclose(fit.standard_errors, other.bse[1:], rtol=1e-5)
    np.testing.assert_allclose(
        event_probability(fit, matrix @ fit.coefficients), other.predict(), atol=1e-7
    )


def test_linear_is_that_of_statsmodels() -> None:
    fit, matrix, response = fit_of_records(
        income_survey(), "income ~ town + age:sex + age + sex", fit_linear
    )
    other = sm.OLS(response, sm.add_constant(matrix)).fit()
    np.testing.assert_allclose(fit.intercepts[0], other.params[0], atol=1e-9)
    np.testing.assert_allclose(fit.coefficients, other.params[1:], atol=1e-9)
    np.testing.assert_allclose(fit.standard_errors, other.bse[1:], rtol=1e-9)
    assert fit.degrees_of_freedom == other.df_resid
    assert fit.log_likelihood == pytest.approx(other.llf)


@pytest.mark.parametrize("scale", [1, 7, 100_003])
def test_a_linear_fit_without_residual_is_called_exact(scale: int) -> None:
    x, z = ["p", "q", "r"] * 40, ["k", "l"] * 60
    worth = {"p": 1, "q": 2, "r": 4, "k": 0, "l": 8}
    y = [str(scale * (worth[level] + worth[other])) for level, other in zip(x, z, strict=True)]
    data = data_from({"x": x, "z": z, "y": y}, ["x"])
    same = [data.frame()] * 2
    utility = us.regression_utility(data, same, "y ~ x + z", "linear", train=90, repeats=1, seed=1)
    assert utility.per_set["status"].to_list() == ["exact fit"] * 6
    note = "exact fit in the original; exact fit in 2 of 2 sets"
    assert utility.coefficients["note"].to_list() == [note] * 3
    assert utility.coefficients["original_standard_error"].null_count() == 3
    truth = data.frame("polars")["y"].cast(pl.String).cast(pl.Float64).to_numpy()
    told = utility.predictions.filter(pl.col("source") == "original")
    np.testing.assert_allclose(told["prediction"], truth[told["record"]], rtol=1e-9)
    near = [str(scale * (worth[level] + worth[other])) for level, other in zip(x, z, strict=True)]
    near[0] = str(int(near[0]) + 1)
    rough = data_from({"x": x, "z": z, "y": near}, ["x"])
    utility = us.regression_utility(
        rough, [rough.frame()] * 2, "y ~ x + z", "linear", train=None, repeats=1
    )
    assert utility.per_set["status"].to_list() == ["estimated"] * 6


def test_derivatives_are_those_of_differences() -> None:
    data = income_survey(2, 60)
    formula = read_formula("income ~ age + sex", data)
    design = make_design(data, formula)
    rows = design.indicators(np.column_stack([data.codes(name) for name in formula.names]))
    category = data.codes("income").astype(np.int64)
    model = _Likelihood(rows, category, np.ones(60), 3, np.ones(3, dtype=bool))
    point = np.array([-1.0, 0.2, 1.5, 0.3, -0.2, 0.5])
    value, gradient, information = model.evaluate(point)
    matrix = naive.indicator_matrix(design.columns, rows_of(data.frame()))
    twin = naive.ordered_log_likelihood(point[:3], point[3:], matrix, category)
    assert value == pytest.approx(twin, rel=1e-12)
    step = 1e-5
    for place_, unit in enumerate(np.eye(6) * step):
        above, below = model.evaluate(point + unit), model.evaluate(point - unit)
        assert gradient[place_] == pytest.approx((above[0] - below[0]) / (2 * step), abs=1e-6)
        second = (below[1] - above[1]) / (2 * step)
        np.testing.assert_allclose(information[place_], second, atol=1e-5)
    assert model.evaluate(point[[1, 0, 2, 3, 4, 5]])[0] == -np.inf


def test_grouped_rows_are_the_records() -> None:
    data = income_survey(3)
    grouped = us.regression_utility(
        data, [data.frame()] * 2, "income ~ town + sex", train=None, repeats=1, seed=1
    )
    fit, _, _ = fit_of_records(data, "income ~ town + sex", fit_ordered_logit)
    np.testing.assert_allclose(grouped.coefficients["original"].to_numpy(), fit.coefficients)


def test_absent_and_aliased_columns_are_told() -> None:
    columns = {
        "y": ["0", "1", "0", "1", "1", "0"] * 10,
        "a": ["p", "p", "q", "q", "r", "r"] * 10,
        "b": ["x", "x", "z", "z", "z", "z"] * 10,
    }
    data = data_from(columns, ["a"])
    fit, _, _ = fit_of_records(data, "y ~ a + b", fit_logistic)
    assert sorted(fit.status) == ["aliased", "estimated", "estimated"]
    assert np.isnan(fit.coefficients).sum() == 1
    # The reference level does not occur in a set: its intercept must stay, another column goes.
    codes = data.codes("a").copy()
    codes[codes == 0] = 1
    sets = SyntheticSets(data, np.stack([codes, codes])[:, :, None])
    utility = us.regression_utility(data, sets, "y ~ a", "logistic", train=None, repeats=1, seed=1)
    assert utility.per_set["status"].to_list() == ["estimated", "aliased"] * 2
    assert utility.coefficients["note"].to_list() == [None, "aliased in 2 of 2 sets"]
    lost = SyntheticSets(data, np.where(codes == 2, 1, data.codes("a"))[None, :, None].repeat(2, 0))
    utility = us.regression_utility(data, lost, "y ~ a", "logistic", train=None, repeats=1, seed=1)
    assert utility.per_set["status"].to_list() == ["estimated", "absent"] * 2


def test_design_without_columns_still_has_an_intercept() -> None:
    rows = Indicators(np.zeros((4, 1), dtype=np.int64), (0,), np.zeros(0, dtype=np.int64))
    fit = fit_logistic(rows, np.array([0, 1, 1, 1]), np.ones(4))
    assert fit.intercepts[0] == pytest.approx(np.log(3))
