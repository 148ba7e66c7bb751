"""Wrong arguments are refused at once, in the grammar of all messages and without a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from tests.utility.example_surveys import data_from, some_data, uniform_sets

import understudy as us
from understudy.errors import InputError, SettingError

measures: list[Callable[..., Any]] = [
    us.table_utility,
    us.within_pattern_utility,
    us.propensity_utility,
    lambda data, sets: us.regression_utility(data, sets, "town ~ sex"),
    lambda data, sets: us.count_utility(data, sets, ["town"]),
    lambda data, sets: us.analysis_utility(data, sets, lambda _: (1.0, 1.0)),
]


@pytest.mark.parametrize("measure", measures)
@pytest.mark.parametrize("wrong", [pl.DataFrame({"town": ["SECRET"]}), None, "data.csv", 3])
def test_data_must_be_microdata(measure: Callable[..., Any], wrong: Any) -> None:
    sets = uniform_sets(some_data(1), 2)
    with pytest.raises(InputError, match="as Microdata") as caught:
        measure(wrong, sets)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("names", [3, [3], ["town", None], [["town"]], 2.5])
def test_names_must_be_texts(names: Any) -> None:
    data = some_data(2)
    sets = uniform_sets(data, 2)
    for ask in (
        lambda: us.count_utility(data, sets, names),
        lambda: us.propensity_utility(data, sets, names=names),
        lambda: us.analysis_utility(data, sets, lambda _: (1.0, 1.0), names=names),
    ):
        with pytest.raises(SettingError, match="list of texts"):
            ask()
    with pytest.raises(SettingError, match="names of variables"):
        us.count_utility(data, sets, None)  # type: ignore[arg-type]
    alone = us.analysis_utility(data, sets, lambda _: (1.0, 1.0), names="mean")
    assert alone.estimates["quantity"].to_list() == ["mean"]
    again = us.propensity_utility(data, sets, names=["town", "town"], repeats=1, seed=1)
    assert again.pmse == us.propensity_utility(data, sets, names="town", repeats=1, seed=1).pmse


@pytest.mark.parametrize("analysis", [None, 3, "mean", (1.0, 1.0)])
def test_an_analysis_must_be_callable(analysis: Any) -> None:
    data = some_data(3)
    with pytest.raises(SettingError, match="a function of a data frame"):
        us.analysis_utility(data, uniform_sets(data, 2), analysis)


def test_an_analysis_that_fails_on_the_original_is_told_by_its_kind() -> None:
    data = some_data(4)

    def leaky(frame: Any) -> Any:
        raise KeyError("SECRET")

    with pytest.raises(InputError, match="an error of type KeyError") as caught:
        us.analysis_utility(data, uniform_sets(data, 2), leaky)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_usual_orders_may_exceed_the_variables() -> None:
    data = data_from({"sex": ["f", "f", "m", "m"], "town": ["a", "b", "a", "a"]}, ["town"])
    sets = uniform_sets(data, 2)
    assert list(us.table_utility(data, sets, seed=1).deviation) == [1, 2]
    with pytest.raises(SettingError, match="from 1 to 2"):
        us.table_utility(data, sets, orders=(1, 2, 3), seed=1)


def test_a_family_must_be_a_text() -> None:
    data = some_data(5)
    with pytest.raises(SettingError, match="family"):
        us.regression_utility(data, uniform_sets(data, 2), "town ~ sex", ["linear"])  # type: ignore[arg-type]
