"""Propensity scores against statsmodels on stacked records, and the nulls against simulation."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.naive import utility as naive
from tests.utility.example_surveys import (
    data_from,
    drawn_from_population,
    perfect_sets,
    rows_of,
    some_data,
    uniform_sets,
)

import understudy as us
from understudy.errors import SettingError
from understudy.utility.propensity import _design

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import statsmodels.api as sm


@pytest.mark.parametrize("pairs", [False, True])
def test_pmse_is_that_of_stacked_records(pairs: bool) -> None:
    data = some_data(31, n=600, labels=4)
    sets = uniform_sets(data, 2)
    utility = us.propensity_utility(data, sets, pairs=pairs, repeats=1, seed=1)
    columns = _design(data, None, pairs).columns
    for number, frame in enumerate(sets):
        rows = [*rows_of(data.frame()), *rows_of(frame)]
        matrix = sm.add_constant(naive.indicator_matrix(columns, rows))
        synthetic = np.repeat([0, 1], data.n_records)
        chance = sm.Logit(synthetic, matrix).fit(disp=False, tol=1e-12).predict()
        row = utility.per_set.row(number, named=True)
        assert row["pmse"] == pytest.approx(np.mean((chance - 0.5) ** 2), rel=1e-6)
        drawn = sum("town[" in column for column in columns)
        assert row["parameters"] == drawn
    assert utility.null_by_parameters == pytest.approx(drawn / (16 * data.n_records))


def test_parameters_that_are_not_identified_do_not_count() -> None:
    # town "c" occurs with one sex only, and "sex" says what "again" says.
    data = data_from(
        {
            "sex": ["f", "m", "f", "m", "f", "f"] * 20,
            "again": ["f", "m", "f", "m", "f", "f"] * 20,
            "town": ["a", "a", "b", "b", "c", "c"] * 20,
        },
        ["town"],
    )
    utility = us.propensity_utility(data, [data.frame()] * 2, repeats=1, seed=1)
    # Five cells of town by sex are filled; sex alone takes two of them: three are left.
    assert utility.per_set["parameters"].to_list() == [3, 3]
    assert utility.pmse.mean == pytest.approx(0, abs=1e-20)


def test_perfect_sets_have_ratios_near_one() -> None:
    # Mean of 40 sets: each has about 45 parameters, so that its ratio has a standard deviation
    # of about 0.2 and the mean of 0.03. A band of 0.2 is six of them: false alarm below 1e-8.
    # (The model has main effects and pairs, and three variables: patterns are its only surplus.)
    data = some_data(32, n=2000)
    utility = us.propensity_utility(data, perfect_sets(data, 40, seed=5), repeats=40, seed=1)
    assert 0.8 < utility.ratio_to_perfect < 1.2
    assert 0.8 < utility.ratio_to_parameters < 1.2
    assert utility.null_by_perfect.files == 40
    assert utility.null_by_truth.mean is not None
    assert utility.null_by_perfect.mean is not None
    assert 1.8 < utility.null_by_truth.mean / utility.null_by_perfect.mean < 2.2
    skewed = us.load_ce_like()
    poor = us.propensity_utility(
        skewed, uniform_sets(skewed, 2), names=["county", "income"], repeats=2, seed=1
    )
    assert poor.ratio_to_perfect > 2


def test_a_synthesizer_that_knows_the_population_has_ratio_one() -> None:
    # 60 samples of 1,500, one set each; pMSE has about 36 parameters, so that a ratio has a
    # standard deviation of about 0.25 and the mean of 60, over means of 20 pairs, one of 0.04:
    # a band of 0.2 is five of them. False alarm below 1e-6.
    ratios = []
    for seed in range(60):
        data, sets = drawn_from_population(seed, n=1500, n_sets=1)
        ratios.append(us.propensity_utility(data, sets, repeats=20, seed=seed).ratio_to_truth)
    assert 0.8 < np.mean(ratios) < 1.2


def test_names_choose_the_variables() -> None:
    data = some_data(33)
    sets = uniform_sets(data, 1)
    alone = us.propensity_utility(data, sets, names=["town"], repeats=1, seed=1)
    table = us.table_utility(data, sets, orders=(1,), seed=1).tables
    # A saturated model gives the table's own propensities.
    assert alone.pmse.mean == pytest.approx(table["pmse"][0], rel=1e-6)
    with pytest.raises(SettingError, match="synthesized variable"):
        us.propensity_utility(data, sets, names=["sex"])


def test_models_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = some_data(34)
    monkeypatch.setattr("understudy.utility.propensity.MOST_PARAMETERS", 5)
    with pytest.raises(SettingError, match="at most 5 parameters"):
        us.propensity_utility(data, uniform_sets(data, 1))


def test_print_out() -> None:
    data = some_data(35)
    text = repr(us.propensity_utility(data, uniform_sets(data, 2), repeats=1, seed=1))
    assert "null, by perfect sets" in text
    assert "t3" not in text
