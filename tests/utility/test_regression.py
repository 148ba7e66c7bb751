"""Regressions against statsmodels and dense twins; separation; the comparison with the sets."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive import utility as naive
from tests.utility.making import data_from, perfect_sets, rows_of, some_data, uniform_sets

import understudy as us
from understudy.errors import InputError, SettingError
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.randomness import stream
from understudy.utility.noise_floors import perfect_codes
from understudy.utility.regression.arrow_matrix import BORDER, Arrow
from understudy.utility.regression.design import Indicators, make_design, read_formula
from understudy.utility.regression.linear import fit_linear
from understudy.utility.regression.logistic import event_probability, fit_logistic
from understudy.utility.regression.newton import Fit, independent_columns
from understudy.utility.regression.ordered_logit import (
    _Likelihood,
    category_probabilities,
    fit_ordered_logit,
)
from understudy.utility.regression.regression_utility import _usual_train, wasserstein

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import statsmodels.api as sm
    from statsmodels.miscmodels.ordinal_model import OrderedModel


def survey(seed: int = 1, n: int = 800, towns: int = 8) -> Microdata:
    """Records in which income depends on town, age and sex."""
    generator = stream(seed, "test", "survey")
    sex, age = generator.integers(0, 2, n), generator.integers(0, 3, n)
    town = generator.integers(0, towns, n)
    latent = 0.3 * town - 0.5 * sex + 0.4 * age + generator.logistic(size=n)
    income = np.digitize(latent, [0.5, 1.5, 2.5])
    return data_from(
        {
            "sex": [f"s{one}" for one in sex],
            "age": [f"a{one}" for one in age],
            "income": [str(one + 1) for one in income],
            "town": [f"t{one}" for one in town],
        },
        ["town"],
    )


def fit_of(data: Microdata, text: str, kind: Any) -> tuple[Fit, np.ndarray[Any, Any], Any]:
    """Fit record by record, and give the dense design and the response beside it."""
    formula = read_formula(text, data)
    design = make_design(data, formula)
    codes = np.column_stack([data.codes(name) for name in formula.names])
    response = data.codes(formula.response)
    rows = design.indicators(codes)
    fit = kind(rows, response, np.ones(len(response)))
    return fit, naive.indicator_matrix(design.columns, rows_of(data.frame())), response


@pytest.mark.parametrize("text", ["income ~ town + age + sex", "income ~ age * sex"])
def test_ordered_logit_is_that_of_statsmodels(text: str) -> None:
    fit, matrix, response = fit_of(survey(1, 300, 4), text, fit_ordered_logit)
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
    fit, matrix, response = fit_of(survey(), text, fit_logistic)
    other = sm.Logit(response, sm.add_constant(matrix)).fit(disp=False, tol=1e-12)
    np.testing.assert_allclose(fit.intercepts[0], other.params[0], atol=1e-6)
    np.testing.assert_allclose(fit.coefficients, other.params[1:], atol=1e-6)
    np.testing.assert_allclose(fit.standard_errors, other.bse[1:], rtol=1e-5)
    np.testing.assert_allclose(
        event_probability(fit, matrix @ fit.coefficients), other.predict(), atol=1e-7
    )


def test_linear_is_that_of_statsmodels() -> None:
    fit, matrix, response = fit_of(survey(), "income ~ town + age:sex + age + sex", fit_linear)
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
    y = [str(scale * (worth[one] + worth[other])) for one, other in zip(x, z, strict=True)]
    data = data_from({"x": x, "z": z, "y": y}, ["x"])
    same = [data.frame()] * 2
    found = us.regression_utility(data, same, "y ~ x + z", "linear", train=90, repeats=1, seed=1)
    assert found.per_set["status"].to_list() == ["exact fit"] * 6
    note = "exact fit in the original; exact fit in 2 of 2 sets"
    assert found.coefficients["note"].to_list() == [note] * 3
    assert found.coefficients["original_standard_error"].null_count() == 3
    truth = data.frame("polars")["y"].cast(pl.String).cast(pl.Float64).to_numpy()
    told = found.predictions.filter(pl.col("source") == "original")
    np.testing.assert_allclose(told["prediction"], truth[told["record"]], rtol=1e-9)
    near = [str(scale * (worth[one] + worth[other])) for one, other in zip(x, z, strict=True)]
    near[0] = str(int(near[0]) + 1)
    rough = data_from({"x": x, "z": z, "y": near}, ["x"])
    found = us.regression_utility(
        rough, [rough.frame()] * 2, "y ~ x + z", "linear", train=None, repeats=1
    )
    assert found.per_set["status"].to_list() == ["estimated"] * 6


def test_derivatives_are_those_of_differences() -> None:
    data = survey(2, 60)
    formula = read_formula("income ~ age + sex", data)
    design = make_design(data, formula)
    rows = design.indicators(np.column_stack([data.codes(name) for name in formula.names]))
    place = data.codes("income").astype(np.int64)
    model = _Likelihood(rows, place, np.ones(60), 3, np.ones(3, dtype=bool))
    point = np.array([-1.0, 0.2, 1.5, 0.3, -0.2, 0.5])
    value, gradient, information = model.evaluate(point)
    matrix = naive.indicator_matrix(design.columns, rows_of(data.frame()))
    twin = naive.ordered_log_likelihood(point[:3], point[3:], matrix, place)
    assert value == pytest.approx(twin, rel=1e-12)
    step = 1e-5
    for place_, unit in enumerate(np.eye(6) * step):
        above, below = model.evaluate(point + unit), model.evaluate(point - unit)
        assert gradient[place_] == pytest.approx((above[0] - below[0]) / (2 * step), abs=1e-6)
        second = (below[1] - above[1]) / (2 * step)
        np.testing.assert_allclose(information[place_], second, atol=1e-5)
    assert model.evaluate(point[[1, 0, 2, 3, 4, 5]])[0] == -np.inf


def test_grouped_rows_are_the_records() -> None:
    data = survey(3)
    grouped = us.regression_utility(
        data, [data.frame()] * 2, "income ~ town + sex", train=None, repeats=1, seed=1
    )
    fit, _, _ = fit_of(data, "income ~ town + sex", fit_ordered_logit)
    np.testing.assert_allclose(grouped.coefficients["original"].to_numpy(), fit.coefficients)


def separated_data() -> Microdata:
    """A survey in which everybody in town t3 has the lowest and in t2 the highest income."""
    frame = survey(4, 300, 5).frame("polars").cast(pl.String)
    town, income = frame["town"].to_list(), frame["income"].to_list()
    fixed = {"t3": "1", "t2": "4"}
    columns = {
        "sex": frame["sex"].to_list(),
        "age": frame["age"].to_list(),
        "income": [fixed.get(one, own) for one, own in zip(town, income, strict=True)],
        "town": town,
    }
    return data_from(columns, ["town"])


def test_separation_is_found_per_coefficient() -> None:
    data = separated_data()
    fit, matrix, response = fit_of(data, "income ~ town + age + sex", fit_ordered_logit)
    design = make_design(data, read_formula("income ~ town + age + sex", data))
    bad = [name for name, one in zip(design.columns, fit.status, strict=True)
           if one == "separated"]  # fmt: skip
    assert bad == ["town[t2]", "town[t3]"]
    assert np.isnan(fit.standard_errors).sum() == 2
    # The others are what they are without the records of these towns.
    inside = ~matrix[:, [design.columns.index(name) for name in bad]].any(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        keep = [place for place, name in enumerate(design.columns) if name not in bad]
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
    fit, _, _ = fit_of(data, "y ~ a + b", fit_logistic)
    assert fit.status == ("separated", "separated")
    whole = data_from({**columns, "y": ["0", "1", "0", "1"] * 5}, ["a"])
    fit, _, _ = fit_of(whole, "y ~ a + b", fit_logistic)
    assert fit.status[1] == "separated"


def test_no_separation_is_claimed_where_there_is_none() -> None:
    # One dissenting record makes the estimate finite, however large.
    n = 400
    town = ["t0"] * n + ["t1"] * n
    income = ["0", "1"] * (n // 2) + ["1"] * (n - 1) + ["0"]
    data = data_from({"income": income, "town": town}, ["town"])
    fit, matrix, response = fit_of(data, "income ~ town", fit_logistic)
    assert fit.status == ("estimated",)
    assert fit.coefficients[0] == pytest.approx(np.log(n - 1), rel=1e-8)
    assert fit.standard_errors[0] == pytest.approx(np.sqrt(1 / (n - 1) + 1 + 4 / n), rel=1e-6)
    assert matrix.shape == (2 * n, 1)
    assert response.sum() == n // 2 + n - 1


def test_absent_and_aliased_columns_are_told() -> None:
    columns = {
        "y": ["0", "1", "0", "1", "1", "0"] * 10,
        "a": ["p", "p", "q", "q", "r", "r"] * 10,
        "b": ["x", "x", "z", "z", "z", "z"] * 10,
    }
    data = data_from(columns, ["a"])
    fit, _, _ = fit_of(data, "y ~ a + b", fit_logistic)
    assert sorted(fit.status) == ["aliased", "estimated", "estimated"]
    assert np.isnan(fit.coefficients).sum() == 1
    # The reference level does not occur in a set: its intercept must stay, another column goes.
    codes = data.codes("a").copy()
    codes[codes == 0] = 1
    sets = SyntheticSets(data, np.stack([codes, codes])[:, :, None])
    found = us.regression_utility(data, sets, "y ~ a", "logistic", train=None, repeats=1, seed=1)
    assert found.per_set["status"].to_list() == ["estimated", "aliased"] * 2
    assert found.coefficients["note"].to_list() == [None, "aliased in 2 of 2 sets"]
    lost = SyntheticSets(data, np.where(codes == 2, 1, data.codes("a"))[None, :, None].repeat(2, 0))
    found = us.regression_utility(data, lost, "y ~ a", "logistic", train=None, repeats=1, seed=1)
    assert found.per_set["status"].to_list() == ["estimated", "absent"] * 2


def test_sets_that_separate_are_reported_and_not_averaged_away() -> None:
    data = survey(5)
    codes = np.repeat(data.codes("town")[None, :, None], 3, axis=0)
    highest = data.codes("income") == 3
    codes[1, (codes[1, :, 0] == 2) & ~highest, 0] = 3  # only the rich stay in t2, in one set
    found = us.regression_utility(
        data, SyntheticSets(data, codes), "income ~ town", train=None, repeats=2, seed=1
    )
    row = found.coefficients.filter(pl.col("coefficient") == "town[t2]").to_dicts()[0]
    assert row["combined"] is None
    assert row["overlap"] is None
    assert row["significance"] is None
    assert row["sets_failed"] == 1
    assert row["note"] == "separated in 1 of 3 sets"
    assert row["original"] is not None
    others = found.coefficients.filter(pl.col("coefficient") != "town[t2]")
    assert others["combined"].null_count() == 0
    assert "1" in repr(found)


def test_coefficients_are_combined_by_the_rule() -> None:
    data = survey(6)
    sets = perfect_sets(data, 4)
    found = us.regression_utility(data, sets, "income ~ town + sex", train=None, repeats=2, seed=1)
    values = found.per_set["estimate"].to_numpy().reshape(4, -1)
    errors = found.per_set["standard_error"].to_numpy().reshape(4, -1)
    combined = us.combine_estimates(values, errors**2)
    frame = found.coefficients
    np.testing.assert_allclose(frame["combined"].to_numpy(), combined.estimate)
    np.testing.assert_allclose(frame["combined_lower"].to_numpy(), combined.lower)
    np.testing.assert_allclose(frame["combined_upper"].to_numpy(), combined.upper)
    reach = 1.959964 * frame["original_standard_error"].to_numpy()
    np.testing.assert_allclose(
        frame["original_upper"].to_numpy(), frame["original"].to_numpy() + reach, rtol=1e-6
    )
    assert frame["overlap_floor"].null_count() == 0
    assert set(frame["significance"].to_list()) <= {"kept", "lost", "gained", "none", "reversed"}


def test_overlap_of_perfect_sets_combines_as_many_as_there_are_sets() -> None:
    data = survey(6)
    sets = perfect_sets(data, 3)
    found = us.regression_utility(data, sets, "income ~ town", train=None, repeats=7, seed=9)
    drawn = [
        perfect_codes(stream(9, "utility", "regression", "perfect", number), data)
        for number in range(6)
    ]  # two groups of three; the seventh perfect set is left over
    overlaps = []
    for group in (drawn[:3], drawn[3:]):
        alone = us.regression_utility(
            data, SyntheticSets(data, np.stack(group)), "income ~ town", train=None, repeats=1
        )
        overlaps.append(alone.coefficients["overlap"].to_numpy())
    twin = np.array(overlaps)
    frame = found.coefficients
    np.testing.assert_allclose(frame["overlap_floor"].to_numpy(), twin.mean(axis=0))
    error = twin.std(axis=0, ddof=1) / np.sqrt(2)
    np.testing.assert_allclose(frame["overlap_floor_standard_error"].to_numpy(), error)
    assert found.overlap_floor is not None
    assert found.overlap_floor.files == 2
    assert found.overlap_floor.mean == pytest.approx(twin.mean())
    assert found.overlap_in_common == pytest.approx(found.mean_overlap)
    assert "standard error" in repr(found)


def test_overlap_of_perfect_sets_needs_two_sets_and_one_group() -> None:
    data = survey(6, 300)
    one = us.regression_utility(data, perfect_sets(data, 1), "income ~ sex", repeats=4, seed=1)
    assert one.overlap_floor is None
    assert one.coefficients["overlap_floor"].to_list() == [None]
    assert "of perfect sets there" in repr(one)
    few = us.regression_utility(data, perfect_sets(data, 3), "income ~ town", repeats=2, seed=1)
    assert few.overlap_floor is not None
    assert few.overlap_floor.standard_error is None
    assert few.coefficients["overlap_floor_standard_error"].null_count() == 7
    assert "standard error" not in repr(few)


def test_overlaps_are_compared_where_both_have_one() -> None:
    data = survey(5)
    codes = np.repeat(data.codes("town")[None, :, None], 3, axis=0)
    highest = data.codes("income") == 3
    codes[1, (codes[1, :, 0] == 2) & ~highest, 0] = 3  # t2 is separated in one set
    sets = SyntheticSets(data, codes)
    found = us.regression_utility(data, sets, "income ~ town", repeats=6, seed=1)
    both = found.coefficients.drop_nulls(["overlap", "overlap_floor"])
    assert both.height == found.coefficients.height - 1 == found.n_in_common
    assert found.overlap_floor is not None
    assert found.overlap_floor.mean == pytest.approx(both["overlap_floor"].mean())
    assert found.overlap_in_common == pytest.approx(both["overlap"].mean())


def test_of_few_records_a_fifth_is_held_out_unless_told_otherwise() -> None:
    data = survey(7, 200)
    same = [data.frame()] * 2
    found = us.regression_utility(data, same, "income ~ sex", repeats=1, seed=1)
    assert found.train == 160
    assert found.predictions.filter(pl.col("source") == "original").height == 40
    assert found.distance is not None
    found = us.regression_utility(data, same, "income ~ sex", train=None, repeats=1)
    assert found.train == 200
    assert found.predictions.height == 0
    number: Any = np.int64(150)
    found = us.regression_utility(data, same, "income ~ sex", train=number, repeats=number // 75)
    assert found.train == 150


@pytest.mark.parametrize(("records", "train"), [(4, None), (5, 4), (5000, 4000), (5001, 5000)])
def test_usual_number_of_training_records(records: int, train: int | None) -> None:
    assert _usual_train(records) == train


def test_one_set_has_estimates_but_no_combined_interval() -> None:
    data = survey(7)
    found = us.regression_utility(data, [data.frame()], "income ~ sex", train=500, repeats=1)
    assert found.coefficients["combined"].to_list() == [None]
    assert found.coefficients["note"].to_list() == ["one set: no combining rule"]
    assert found.distance is not None
    assert found.distance.mean == 0.0
    assert found.mean_overlap is None
    assert "Wasserstein" in repr(found)


@pytest.mark.parametrize(
    ("formula", "family"),
    [
        ("income ~ town + age", "ordered-logit"),
        ("sex ~ town + age", "logistic"),
        ("income == 4 ~ town", "logistic"),
        ("income ~ town * sex", "linear"),
    ],
)
def test_predictions_are_those_of_a_dense_twin(formula: str, family: str) -> None:
    data = survey(8, 300)
    sets = perfect_sets(data, 2)
    found = us.regression_utility(data, sets, formula, family, train=250, repeats=2, seed=4)
    kinds: dict[str, Any] = {
        "ordered-logit": fit_ordered_logit,
        "logistic": fit_logistic,
        "linear": fit_linear,
    }
    parsed = read_formula(formula, data)
    design = make_design(data, parsed)
    held = found.predictions.filter(pl.col("source") == "original")["record"].to_numpy()
    assert held.size == 50
    training = np.setdiff1d(np.arange(300), held)
    for number, frame in enumerate([data.frame(), *sets]):
        rows = rows_of(frame)
        matrix = naive.indicator_matrix(design.columns, rows)
        levels = data.variable(parsed.response).levels
        response = np.array([levels.index(row[parsed.response]) for row in rows])
        target: Any = response
        if parsed.event is not None:
            target = (response == levels.index(parsed.event)).astype(np.int64)
        if family == "linear":
            target = response + 1.0  # the levels are the numbers 1 to 4
        codes = [[data.variable(name).levels.index(row[name]) for name in parsed.names]
                 for row in rows]  # fmt: skip
        fit = kinds[family](
            design.indicators(np.array(codes)[training]), target[training], np.ones(250)
        )
        predictor = matrix[held] @ np.nan_to_num(fit.coefficients)
        if family == "linear":
            expected = predictor + fit.intercepts[0]
        elif family == "logistic":
            expected = 1 / (1 + np.exp(-predictor - fit.intercepts[0]))
        else:
            below = 1 / (1 + np.exp(predictor[:, None] - fit.intercepts[None, :]))
            expected = 4 - below.sum(axis=1)  # sum of c P(c) by parts
        own = found.predictions.filter(pl.col("set").eq_missing(number or None))
        np.testing.assert_allclose(own["prediction"].to_numpy(), expected, atol=1e-8)
    assert found.distance is not None
    assert found.noise_floor is not None
    assert found.noise_floor.files == 2


def test_distance_sees_what_the_floor_does_not() -> None:
    # Labels at random lose the towns' effect: predictions shrink, far beyond the floor.
    data = survey(9)
    found = us.regression_utility(
        data, uniform_sets(data, 3), "income ~ town", train=600, repeats=5, seed=2
    )
    assert found.distance is not None
    assert found.noise_floor is not None
    assert found.distance.minimum is not None
    assert found.noise_floor.mean is not None
    assert found.noise_floor.maximum is not None
    assert found.distance.minimum > 2 * found.noise_floor.maximum
    fair = us.regression_utility(
        data, perfect_sets(data, 3), "income ~ town", train=600, repeats=5, seed=2
    )
    assert fair.distance is not None
    assert fair.distance.mean is not None
    assert fair.distance.mean < 2 * found.noise_floor.mean


def test_unseen_level_has_no_prediction() -> None:
    town = ["t0", "t1"] * 20 + ["t2"]
    data = data_from({"y": ["0", "1", "1", "0"] * 10 + ["1"], "town": town}, ["town"])
    for seed in range(40):  # until the one record of t2 is held out
        found = us.regression_utility(
            data, [data.frame()], "y ~ town", "logistic", train=30, repeats=1, seed=seed
        )
        last = found.predictions.filter(pl.col("record") == 40)
        if last.height:
            assert last["prediction"].to_list() == [None, None]
            break
    else:
        pytest.fail("the record was never held out")


def test_same_seed_same_split() -> None:
    data = survey(10, 200)
    one, two = (
        us.regression_utility(data, [data.frame()] * 2, "income ~ sex", train=100, seed=3)
        for _ in range(2)
    )
    assert one.predictions.equals(two.predictions)
    assert one.noise_floor == two.noise_floor


@given(
    st.lists(st.floats(-10, 10), min_size=1, max_size=8),
    st.lists(st.floats(-10, 10), min_size=1, max_size=8),
)
def test_wasserstein_is_that_of_the_twin(first: list[float], second: list[float]) -> None:
    found = wasserstein(np.array(first), np.array(second))
    assert found == pytest.approx(naive.wasserstein(first, second), abs=1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_products_with_a_design_are_those_of_a_matrix(seed: int) -> None:
    data = some_data(seed, n=40, labels=4)
    formula = read_formula("sex ~ town * age", data)
    design = make_design(data, formula)
    rows = design.indicators(np.column_stack([data.codes(name) for name in formula.names]))
    matrix = naive.indicator_matrix(design.columns, rows_of(data.frame()))
    generator = stream(seed, "test", "products")
    weights = generator.random(40)
    slopes: Any = generator.normal(size=matrix.shape[1])
    np.testing.assert_allclose(rows.linear(slopes), matrix @ slopes)
    np.testing.assert_allclose(rows.sums(weights), matrix.T @ weights)
    gram = rows.gram(weights)
    np.testing.assert_allclose(gram, matrix.T @ (weights[:, None] * matrix))
    between = rows.block[:, None] != rows.block[None, :]
    inside = (rows.block[:, None] != BORDER) & (rows.block[None, :] != BORDER)
    assert not gram[between & inside].any()
    chosen = independent_columns(gram, np.diagonal(gram))
    assert chosen.size == np.linalg.matrix_rank(matrix)
    shape = Arrow(rows.block)
    other = independent_columns(gram, np.diagonal(gram), order=shape.order())
    assert other.size == chosen.size
    positive = gram + np.eye(len(gram))
    right = generator.normal(size=len(gram))
    np.testing.assert_allclose(shape.solve(positive, right), np.linalg.solve(positive, right))
    np.testing.assert_allclose(
        shape.inverse_diagonal(positive), np.diagonal(np.linalg.inv(positive))
    )


def test_formulas() -> None:
    data = data_from(
        {"y": ["0", "1"], "my town": ["a", "b"], "x+": ["p", "q"], "w": ["k", "l"]}, ["my town"]
    )
    read = read_formula("y ~ `my town`*w + `x+`", data)
    assert read.terms == (("my town",), ("w",), ("x+",), ("my town", "w"))
    assert read_formula("y == 1 ~ my town", data).event == "1"
    assert read_formula("y~w+my town+w:my town", data).terms[2] == ("my town", "w")
    for text in ("y", "y ~ ", "y ~ w +", "~ w", "y ~ w ~ w", "y ~ z", "y ~ w:my town", "y ~ y",
                 "y == 7 ~ w", "y ~ w = 1", "y ~ w == k", "y ~ w w2", "", "y ~ `w"):  # fmt: skip
        with pytest.raises(SettingError, match="Expected"):
            read_formula(text, data)
    with pytest.raises(SettingError, match="Expected"):
        read_formula(3, data)  # type: ignore[arg-type]


def test_reference_levels() -> None:
    data = survey(11)
    named = us.regression_utility(
        data, [data.frame()] * 2, "income ~ age", train=None, repeats=1, reference={"age": "a1"}
    )
    assert named.coefficients["coefficient"].to_list() == ["age[a0]", "age[a2]"]
    largest = make_design(data, read_formula("income ~ age", data), "largest")
    counts = np.bincount(data.codes("age"))
    assert f"age[a{counts.argmax()}]" not in largest.columns
    for reference in ({"age": "b"}, {"sex": "s0"}, "smallest"):
        with pytest.raises(SettingError, match="reference"):
            make_design(data, read_formula("income ~ age", data), reference)


def test_wrong_arguments_are_told() -> None:
    data = survey(12, 100)
    same = [data.frame()] * 2
    with pytest.raises(SettingError, match="family"):
        us.regression_utility(data, same, "income ~ sex", "probit")
    with pytest.raises(SettingError, match="training records"):
        us.regression_utility(data, same, "income ~ sex", train=5000)  # of 100
    with pytest.raises(SettingError, match="training records"):
        us.regression_utility(data, same, "income ~ sex", train=0.5)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="two levels"):
        us.regression_utility(data, same, "income ~ sex", "logistic", train=None)
    with pytest.raises(SettingError, match="plain variable"):
        us.regression_utility(data, same, "income == 4 ~ sex", train=None)
    one = data_from({"y": ["a"] * 6, "x": ["p", "q"] * 3}, ["x"])
    with pytest.raises(InputError, match="at least two categories"):
        us.regression_utility(one, [one.frame()], "y ~ x", train=None)
    few = data_from({"y": ["1", "2", "3"], "x": ["p", "q", "r"]}, ["x"])
    with pytest.raises(InputError, match="number of coefficients"):
        us.regression_utility(few, [few.frame()], "y ~ x", "linear", train=None)


def test_a_set_without_a_fit_is_reported() -> None:
    data = data_from({"x": ["p", "q"] * 10, "y": ["0", "1", "1", "0"] * 5}, ["y"])
    sets = SyntheticSets(data, np.zeros((2, 20, 1), dtype=np.int32))
    found = us.regression_utility(data, sets, "y ~ x", "logistic", train=15, repeats=1, seed=1)
    assert found.coefficients["note"].to_list() == ["no fit in 2 of 2 sets"]
    assert found.distance is None
    assert found.predictions.filter(pl.col("set") == 1)["prediction"].null_count() == 5


def test_design_without_columns_still_has_an_intercept() -> None:
    rows = Indicators(np.zeros((4, 1), dtype=np.int64), (0,), np.zeros(0, dtype=np.int64))
    fit = fit_logistic(rows, np.array([0, 1, 1, 1]), np.ones(4))
    assert fit.intercepts[0] == pytest.approx(np.log(3))


def test_print_out_shows_no_level() -> None:
    data = survey(13)
    text = repr(us.regression_utility(data, perfect_sets(data, 2), "income ~ town", train=700))
    assert "ordered-logit" in text
    assert "t3" not in text
