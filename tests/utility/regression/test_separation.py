"""Separated coefficients are found, reported, and never averaged away."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from tests.utility.example_surveys import (
    data_from,
    fit_of_records,
    income_survey,
)

import understudy as us
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.utility.regression.design import make_design
from understudy.utility.regression.formula import read_formula
from understudy.utility.regression.logistic import fit_logistic
from understudy.utility.regression.ordered_logit import (
    fit_ordered_logit,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from statsmodels.miscmodels.ordinal_model import OrderedModel


def separated_data() -> Microdata:
    """A survey in which everybody in town t3 has the lowest and in t2 the highest income."""
    frame = income_survey(4, 300, 5).frame("polars").cast(pl.String)
    town, income = frame["town"].to_list(), frame["income"].to_list()
    fixed = {"t3": "1", "t2": "4"}
    columns = {
        "sex": frame["sex"].to_list(),
        "age": frame["age"].to_list(),
        "income": [fixed.get(level, own) for level, own in zip(town, income, strict=True)],
        "town": town,
    }
    return data_from(columns, ["town"])


def test_separation_is_found_per_coefficient() -> None:
    data = separated_data()
    fit, matrix, response = fit_of_records(data, "income ~ town + age + sex", fit_ordered_logit)
    design = make_design(data, read_formula("income ~ town + age + sex", data))
    bad = [name for name, status in zip(design.columns, fit.status, strict=True)
           if status == "separated"]  # fmt: skip
    assert bad == ["town[t2]", "town[t3]"]
    assert np.isnan(fit.standard_errors).sum() == 2
    # The others are what they are without the records of these towns.
    inside = ~matrix[:, [design.columns.index(name) for name in bad]].any(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        keep = [column for column, name in enumerate(design.columns) if name not in bad]
        model = OrderedModel(response[inside], matrix[inside][:, keep], distr="logit")
        other = model.fit(method="newton", disp=False, maxiter=200, tol=1e-12)
    np.testing.assert_allclose(fit.coefficients[keep], other.params[: len(keep)], atol=1e-5)
    np.testing.assert_allclose(fit.standard_errors[keep], other.bse[: len(keep)], rtol=1e-4)


def test_separation_that_no_single_level_shows() -> None:
    # y = 1 exactly where a and b are both "1" or c is "1": quasi-separated through combinations.
    columns = {
        "a": ["0", "0", "1", "1"] * 5,
        "b": ["0", "1", "0", "1"] * 5,
        "y": ["0", "0", "0", "1"] * 5,
    }
    data = data_from(columns, ["a"])
    fit, _, _ = fit_of_records(data, "y ~ a + b", fit_logistic)
    assert fit.status == ("separated", "separated")
    whole = data_from({**columns, "y": ["0", "1", "0", "1"] * 5}, ["a"])
    fit, _, _ = fit_of_records(whole, "y ~ a + b", fit_logistic)
    assert fit.status[1] == "separated"


def test_no_separation_is_claimed_where_there_is_none() -> None:
    # One dissenting record makes the estimate finite, however large.
    n = 400
    town = ["t0"] * n + ["t1"] * n
    income = ["0", "1"] * (n // 2) + ["1"] * (n - 1) + ["0"]
    data = data_from({"income": income, "town": town}, ["town"])
    fit, matrix, response = fit_of_records(data, "income ~ town", fit_logistic)
    assert fit.status == ("estimated",)
    assert fit.coefficients[0] == pytest.approx(np.log(n - 1), rel=1e-8)
    assert fit.standard_errors[0] == pytest.approx(np.sqrt(1 / (n - 1) + 1 + 4 / n), rel=1e-6)
    assert matrix.shape == (2 * n, 1)
    assert response.sum() == n // 2 + n - 1


def test_sets_that_separate_are_reported_and_not_averaged_away() -> None:
    data = income_survey(5)
    codes = np.repeat(data.codes("town")[None, :, None], 3, axis=0)
    highest = data.codes("income") == 3
    codes[1, (codes[1, :, 0] == 2) & ~highest, 0] = 3  # only the rich stay in t2, in one set
    utility = us.regression_utility(
        data, SyntheticSets(data, codes), "income ~ town", train=None, repeats=2, seed=1
    )
    row = utility.coefficients.filter(pl.col("coefficient") == "town[t2]").to_dicts()[0]
    assert row["combined"] is None
    assert row["overlap"] is None
    assert row["significance"] is None
    assert row["sets_failed"] == 1
    assert row["note"] == "separated in 1 of 3 sets"
    assert row["original"] is not None
    others = utility.coefficients.filter(pl.col("coefficient") != "town[t2]")
    assert others["combined"].null_count() == 0
    assert "1" in repr(utility)
