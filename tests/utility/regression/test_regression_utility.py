"""Coefficients, predictions and their floors, set beside the original's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.naive import utility as naive
from tests.utility.example_surveys import (
    data_from,
    drawn_from_population,
    income_survey,
    perfect_sets,
    rows_of,
    uniform_sets,
)

import understudy as us
from understudy.errors import InputError, SettingError
from understudy.microdata.table import SyntheticSets
from understudy.randomness import stream
from understudy.utility.noise_floors import perfect_codes
from understudy.utility.regression.design import make_design
from understudy.utility.regression.formula import read_formula
from understudy.utility.regression.linear import fit_linear
from understudy.utility.regression.logistic import fit_logistic
from understudy.utility.regression.ordered_logit import (
    fit_ordered_logit,
)
from understudy.utility.regression.regression_utility import _usual_train, wasserstein

with warnings.catch_warnings():
    warnings.simplefilter("ignore")


def test_coefficients_are_combined_by_the_rule() -> None:
    data = income_survey(6)
    sets = perfect_sets(data, 4)
    utility = us.regression_utility(
        data, sets, "income ~ town + sex", train=None, repeats=2, seed=1
    )
    values = utility.per_set["estimate"].to_numpy().reshape(4, -1)
    errors = utility.per_set["standard_error"].to_numpy().reshape(4, -1)
    combined = us.combine_estimates(values, errors**2)
    frame = utility.coefficients
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
    data = income_survey(6)
    sets = perfect_sets(data, 3)
    utility = us.regression_utility(data, sets, "income ~ town", train=None, repeats=7, seed=9)
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
    frame = utility.coefficients
    np.testing.assert_allclose(frame["overlap_floor"].to_numpy(), twin.mean(axis=0))
    error = twin.std(axis=0, ddof=1) / np.sqrt(2)
    np.testing.assert_allclose(frame["overlap_floor_standard_error"].to_numpy(), error)
    assert utility.overlap_floor is not None
    assert utility.overlap_floor.files == 2
    assert utility.overlap_floor.mean == pytest.approx(twin.mean())
    assert utility.overlap_in_common == pytest.approx(utility.mean_overlap)
    assert "standard error" in repr(utility)


def test_overlap_of_perfect_sets_needs_two_sets_and_one_group() -> None:
    data = income_survey(6, 300)
    alone = us.regression_utility(data, perfect_sets(data, 1), "income ~ sex", repeats=4, seed=1)
    assert alone.overlap_floor is None
    assert alone.coefficients["overlap_floor"].to_list() == [None]
    assert "resampled floor" in repr(alone)
    few = us.regression_utility(data, perfect_sets(data, 3), "income ~ town", repeats=2, seed=1)
    assert few.overlap_floor is not None
    assert few.overlap_floor.standard_error is None
    assert few.coefficients["overlap_floor_standard_error"].null_count() == 7
    line = next(line for line in repr(few).splitlines() if "resampled floor" in line)
    assert "standard error" not in line
    assert few.overlap_truth_floor is not None
    assert few.overlap_truth_floor.files == 5


def test_a_synthesizer_that_knows_the_population_reaches_the_truth_floors() -> None:
    # 40 samples of 600 with 3 sets each from a known population. Mean overlaps of 6 coefficients
    # have a standard deviation of about 0.15, their floors (5 perfect sets in the original's role,
    # one group) about as much: means of 40 differ by 0.034, and 0.17 is five of that. Distances of
    # predictions vary by about half of their mean: means of 40 by 11 %, so that a factor of 1.6 is
    # more than five. False alarm below 1e-5. Resampled floors are farther away than that.
    measured = []
    for seed in range(40):
        data, sets = drawn_from_population(seed, n=600, n_sets=3)
        utility = us.regression_utility(
            data, sets, "sex ~ town", "logistic", train=480, repeats=3, seed=seed
        )
        assert utility.overlap_truth_floor is not None
        assert utility.truth_floor is not None
        assert utility.distance is not None
        assert utility.noise_floor is not None
        measured.append(
            [
                utility.overlap_in_common, utility.overlap_truth_floor.mean,
                utility.distance.mean, utility.truth_floor.mean, utility.noise_floor.mean,
            ]
        )  # fmt: skip
    overlap, overlap_floor, distance, floor, resampled = np.array(measured, float).mean(axis=0)
    assert abs(overlap - overlap_floor) < 0.17
    assert 1 / 1.6 < distance / floor < 1.6
    assert resampled < floor


def test_overlaps_are_compared_where_both_have_one() -> None:
    data = income_survey(5)
    codes = np.repeat(data.codes("town")[None, :, None], 3, axis=0)
    highest = data.codes("income") == 3
    codes[1, (codes[1, :, 0] == 2) & ~highest, 0] = 3  # t2 is separated in one set
    sets = SyntheticSets(data, codes)
    utility = us.regression_utility(data, sets, "income ~ town", repeats=6, seed=1)
    both = utility.coefficients.drop_nulls(["overlap", "overlap_floor"])
    assert both.height == utility.coefficients.height - 1 == utility.n_in_common
    assert utility.overlap_floor is not None
    assert utility.overlap_floor.mean == pytest.approx(both["overlap_floor"].mean())
    assert utility.overlap_in_common == pytest.approx(both["overlap"].mean())


def test_of_few_records_a_fifth_is_held_out_unless_told_otherwise() -> None:
    data = income_survey(7, 200)
    same = [data.frame()] * 2
    utility = us.regression_utility(data, same, "income ~ sex", repeats=1, seed=1)
    assert utility.train == 160
    assert utility.predictions.filter(pl.col("source") == "original").height == 40
    assert utility.distance is not None
    utility = us.regression_utility(data, same, "income ~ sex", train=None, repeats=1)
    assert utility.train == 200
    assert utility.predictions.height == 0
    number: Any = np.int64(150)
    utility = us.regression_utility(data, same, "income ~ sex", train=number, repeats=number // 75)
    assert utility.train == 150


@pytest.mark.parametrize(("records", "train"), [(4, None), (5, 4), (5000, 4000), (5001, 5000)])
def test_usual_number_of_training_records(records: int, train: int | None) -> None:
    assert _usual_train(records) == train


def test_one_set_has_estimates_but_no_combined_interval() -> None:
    data = income_survey(7)
    utility = us.regression_utility(data, [data.frame()], "income ~ sex", train=500, repeats=1)
    assert utility.coefficients["combined"].to_list() == [None]
    assert utility.coefficients["note"].to_list() == ["one set: no combining rule"]
    assert utility.distance is not None
    assert utility.distance.mean == 0.0
    assert utility.mean_overlap is None
    assert "Wasserstein" in repr(utility)


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
    data = income_survey(8, 300)
    sets = perfect_sets(data, 2)
    utility = us.regression_utility(data, sets, formula, family, train=250, repeats=2, seed=4)
    kinds: dict[str, Any] = {
        "ordered-logit": fit_ordered_logit,
        "logistic": fit_logistic,
        "linear": fit_linear,
    }
    parsed = read_formula(formula, data)
    design = make_design(data, parsed)
    held = utility.predictions.filter(pl.col("source") == "original")["record"].to_numpy()
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
        own = utility.predictions.filter(pl.col("set").eq_missing(number or None))
        np.testing.assert_allclose(own["prediction"].to_numpy(), expected, atol=1e-8)
    assert utility.distance is not None
    assert utility.noise_floor is not None
    assert utility.noise_floor.files == 2


def test_distance_sees_what_the_floor_does_not() -> None:
    # Labels at random lose the towns' effect: predictions shrink, far beyond the floor.
    data = income_survey(9)
    utility = us.regression_utility(
        data, uniform_sets(data, 3), "income ~ town", train=600, repeats=5, seed=2
    )
    assert utility.distance is not None
    assert utility.noise_floor is not None
    assert utility.distance.minimum is not None
    assert utility.noise_floor.mean is not None
    assert utility.noise_floor.maximum is not None
    assert utility.distance.minimum > 2 * utility.noise_floor.maximum
    fair = us.regression_utility(
        data, perfect_sets(data, 3), "income ~ town", train=600, repeats=5, seed=2
    )
    assert fair.distance is not None
    assert fair.distance.mean is not None
    assert fair.distance.mean < 2 * utility.noise_floor.mean


def test_unseen_level_has_no_prediction() -> None:
    town = ["t0", "t1"] * 20 + ["t2"]
    data = data_from({"y": ["0", "1", "1", "0"] * 10 + ["1"], "town": town}, ["town"])
    for seed in range(40):  # until the one record of t2 is held out
        utility = us.regression_utility(
            data, [data.frame()], "y ~ town", "logistic", train=30, repeats=1, seed=seed
        )
        last = utility.predictions.filter(pl.col("record") == 40)
        if last.height:
            assert last["prediction"].to_list() == [None, None]
            break
    else:
        pytest.fail("the record was never held out")


def test_same_seed_same_split() -> None:
    data = income_survey(10, 200)
    first, second = (
        us.regression_utility(data, [data.frame()] * 2, "income ~ sex", train=100, seed=3)
        for _ in range(2)
    )
    assert first.predictions.equals(second.predictions)
    assert first.noise_floor == second.noise_floor


@given(
    st.lists(st.floats(-10, 10), min_size=1, max_size=8),
    st.lists(st.floats(-10, 10), min_size=1, max_size=8),
)
def test_wasserstein_is_that_of_the_twin(first: list[float], second: list[float]) -> None:
    distance = wasserstein(np.array(first), np.array(second))
    assert distance == pytest.approx(naive.wasserstein(first, second), abs=1e-9)


def test_wrong_arguments_are_told() -> None:
    data = income_survey(12, 100)
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
    alone = data_from({"y": ["a"] * 6, "x": ["p", "q"] * 3}, ["x"])
    with pytest.raises(InputError, match="at least two categories"):
        us.regression_utility(alone, [alone.frame()], "y ~ x", train=None)
    few = data_from({"y": ["1", "2", "3"], "x": ["p", "q", "r"]}, ["x"])
    with pytest.raises(InputError, match="number of coefficients"):
        us.regression_utility(few, [few.frame()], "y ~ x", "linear", train=None)


def test_a_set_without_a_fit_is_reported() -> None:
    data = data_from({"x": ["p", "q"] * 10, "y": ["0", "1", "1", "0"] * 5}, ["y"])
    sets = SyntheticSets(data, np.zeros((2, 20, 1), dtype=np.int32))
    utility = us.regression_utility(data, sets, "y ~ x", "logistic", train=15, repeats=1, seed=1)
    assert utility.coefficients["note"].to_list() == ["no fit in 2 of 2 sets"]
    assert utility.distance is None
    assert utility.predictions.filter(pl.col("set") == 1)["prediction"].null_count() == 5


def test_print_out_shows_no_level() -> None:
    data = income_survey(13)
    text = repr(us.regression_utility(data, perfect_sets(data, 2), "income ~ town", train=700))
    assert "ordered-logit" in text
    assert "t3" not in text
