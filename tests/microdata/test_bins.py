"""Bins: quantiles and cut points, on distinct numbers with counts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bad_inputs.cases import accepted, refused
from tests.conftest import MakeFile
from understudy.errors import (
    SettingError,
)
from understudy.microdata.bins import Bins, bins_from

GOOD = "a,county\n1,x\n2,y\n1,y\n2,x\n"


def test_the_papers_groups() -> None:
    ages = [19, 20, 39, 40, 59, 60, 79, 80, 95]
    frame = pl.DataFrame({"age": ages, "county": list("xyxyxyxyx")})
    names = ["<20", "20-40", "40-60", "60-80", ">80"]
    data = accepted(frame, bins={"age": {"cuts": [20, 40, 60, 80], "names": names}})
    assert data.variable("age").levels == tuple(names)
    assert data.codes("age").tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4]
    default = accepted(frame, bins={"age": [20, 40, 60, 80]})
    assert default.variable("age").levels == ("<20", "20-40", "40-60", "60-80", ">=80")


def test_groups_that_nobody_is_in_are_levels_all_the_same() -> None:
    frame = pl.DataFrame({"age": [1, 2, 1, 2], "county": list("xyxy")})
    assert accepted(frame, bins={"age": [2, 100]}).variable("age").n_levels == 3


@given(
    numbers=st.lists(st.integers(-50, 50), min_size=4, max_size=200, unique=True),
    quantiles=st.integers(2, 4),
)
def test_quantiles_of_different_numbers_are_even(numbers: list[int], quantiles: int) -> None:
    groups = Bins(quantiles=quantiles).groups(
        np.array(numbers, float), np.ones(len(numbers), np.int64)
    )
    sizes = np.bincount(groups, minlength=quantiles)
    assert sizes.max() - sizes.min() <= 1
    order = np.argsort(numbers)
    assert (np.diff(groups[order]) >= 0).all()


@given(counts=st.lists(st.integers(1, 30), min_size=2, max_size=30), quantiles=st.integers(2, 5))
def test_equal_numbers_share_a_group_of_their_middle_rank(
    counts: list[int], quantiles: int
) -> None:
    numbers = np.arange(len(counts), dtype=float)
    groups = Bins(quantiles=quantiles).groups(numbers, np.array(counts))
    ranks = np.repeat(numbers, counts)
    slow = [
        min(quantiles - 1, int(np.mean(np.flatnonzero(ranks == number)) / len(ranks) * quantiles))
        for number in numbers
    ]
    assert groups.tolist() == slow


def test_words_for_quantiles() -> None:
    given_bins = bins_from({"a": "quartiles", "b": 3, "c": Bins(cuts=(1.5,)), "d": "deciles"})
    assert [bins.n_groups for bins in given_bins.values()] == [4, 3, 2, 10]
    assert given_bins["a"].group_names == ("Q1", "Q2", "Q3", "Q4")
    assert given_bins["c"].group_names == ("<1.5", ">=1.5")
    assert bins_from(None) == {}


@pytest.mark.parametrize("text", ["1_000", "nan", "inf", "", "1,5", "0x10"])
def test_texts_that_are_no_numbers(text: str) -> None:
    frame = pl.DataFrame({"a": ["1", text, "2"], "county": list("xyx")})
    with pytest.raises(ValueError, match="1 record with something else"):
        accepted(frame, bins={"a": 2})


def test_names_of_cut_points() -> None:
    assert Bins(cuts=(1234567.1, 1234567.2)).group_names[1] == "1234567.1-1234567.2"
    assert Bins(cuts=(-5.0, -2.0)).group_names == ("<-5", "-5 to -2", ">=-2")
    assert Bins(cuts=(0.1, 20.0)).group_names == ("<0.1", "0.1-20", ">=20")


def test_bins_take_numpy_and_are_strict(make_file: MakeFile) -> None:
    path = make_file(GOOD)
    assert accepted(path, bins={"a": np.int64(2)}).variable("a").n_levels == 2
    assert accepted(path, bins={"a": np.array([2])}).variable("a").levels == ("<2", ">=2")
    refused(None, SettingError, "quantiles", path, bins={"a": {"quantiles": "4"}})
    wrong = {"a": {"cuts": [2], "names": ["lo", "(missing)"]}}
    refused(None, SettingError, "missing values", path, bins=wrong)
    book = {"variables": {"county": {"levels": ["x", "y", "(missing)"]}}}
    refused(None, SettingError, "missing values", path, codebook=book)


def test_bad_bins(make_file: MakeFile) -> None:
    path = make_file(GOOD)
    refused(None, SettingError, "mapping", path, bins=[1])
    refused(None, SettingError, 'nearest: "quartiles"', path, bins={"a": "quartils"})
    refused(None, SettingError, "type float", path, bins={"a": 2.5})
    refused(None, SettingError, "increase", path, bins={"a": [3, 2]})
    refused(None, SettingError, "finite", path, bins={"a": []})
    refused(None, SettingError, "from 2 to 100", path, bins={"a": 1})
    refused(None, SettingError, "either", path, bins={"a": {"cuts": [1], "quantiles": 3}})
    refused(None, SettingError, "2 entries", path, bins={"a": {"cuts": [1], "names": ["x"]}})
    refused(None, SettingError, "different", path, bins={"a": {"cuts": [1], "names": ["x", "x"]}})
    refused(None, SettingError, 'nearest: "cuts"', path, bins={"a": {"cut": [1]}})
    refused(None, SettingError, "type str", path, bins={"a": "zzzzz"})
    refused(None, SettingError, "bins for", path, bins={"b": 4})
    assert accepted(path, bins={"a": 2}).variable("a").levels == ("Q1", "Q2")
