"""Tables and their measures against slow twins, and the noise floor against enumeration.

Tests that simulate use fixed seeds, so they cannot fail by chance from run to run; the false-alarm
rates say how likely a correct program was to fail when the seed was chosen.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive import utility as naive
from tests.utility.example_surveys import data_from, perfect_sets, rows_of, some_data, uniform_sets

import understudy as us
from understudy.errors import InputError, SettingError
from understudy.microdata.table import SyntheticSets
from understudy.utility import tabulation
from understudy.utility.table_measures import table_measures
from understudy.utility.tabulation import count_sets, tabulate

MEASURES = [
    *("deviation", "total_variation", "pmse", "s_pmse", "s_pmse_partial"),
    *("freeman_tukey", "s_freeman_tukey", "s_freeman_tukey_partial"),
]


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("dense", [1 << 22, 1])
@pytest.mark.parametrize("largest_key", [1 << 62, 1])
def test_deviations_are_those_of_the_twin(
    second: bool, dense: int, largest_key: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tabulation, "LARGEST_DENSE", dense)
    monkeypatch.setattr(tabulation, "LARGEST_KEY", largest_key)
    data = some_data(1, second=second)
    sets = uniform_sets(data, 3)
    utility = us.table_utility(data, sets, seed=1, repeats=2)
    original = rows_of(data.frame())
    files = [rows_of(frame) for frame in sets]
    for order in (1, 2, 3):
        names = naive.tables_of(data.synthesized, data.kept, order)
        per_set = [sum(naive.deviation(original, file, name) for name in names) for file in files]
        assert utility.deviation[order] == pytest.approx(np.mean(per_set), rel=1e-12)
        assert utility.spread[order].minimum == min(per_set)
        assert utility.spread[order].maximum == max(per_set)
        rows = utility.per_set.filter(pl.col("order") == order)
        assert rows["deviation"].to_list() == per_set
        assert utility.tables.filter(pl.col("order") == order).height == len(names)


@pytest.mark.parametrize("second", [False, True])
def test_every_measure_is_that_of_the_twin(second: bool) -> None:
    data = some_data(2, second=second)
    sets = uniform_sets(data, 2)
    utility = us.table_utility(data, sets, seed=1, repeats=1)
    original = rows_of(data.frame())
    files = [rows_of(frame) for frame in sets]
    for row in utility.tables.iter_rows(named=True):
        names = row["table"].split(" by ")
        twins = [naive.measures(original, file, names, data.kept) for file in files]
        for measure in MEASURES:
            mean = np.mean([twin[measure] for twin in twins])
            assert row[measure] == pytest.approx(mean, rel=1e-10), (row["table"], measure)


def test_measures_worked_by_hand() -> None:
    # Two cells in one kept cell: 30 and 10 against 20 and 20, of 40 records.
    measures = table_measures(np.array([30, 10]), np.array([[20, 20]]), np.array([0, 0]))
    assert measures.deviation.tolist() == [20.0]
    assert measures.total_variation.tolist() == [0.25]
    # propensities 20/50 and 20/30: (50 (0.1)^2 + 30 (1/6)^2) / 80
    assert measures.pmse[0] == pytest.approx((50 * 0.01 + 30 / 36) / 80)
    assert measures.s_pmse[0] == pytest.approx(measures.pmse[0] * 16 * 40)
    tukey = 4 * ((math.sqrt(30) - math.sqrt(20)) ** 2 + (math.sqrt(20) - math.sqrt(10)) ** 2)
    assert measures.freeman_tukey[0] == pytest.approx(tukey)


def test_no_degree_of_freedom_is_no_number() -> None:
    measures = table_measures(np.array([5, 6]), np.array([[5, 6]]), np.array([0, 1]))
    assert math.isnan(measures.s_pmse_partial[0])
    data = data_from({"sex": ["f", "m", "f", "m"], "town": ["a", "b", "a", "b"]}, ["town"])
    tables = us.table_utility(data, [data.frame()], seed=1).tables
    assert tables["s_pmse_partial"].to_list() == [0.0, None]
    assert tables["s_pmse"].to_list() == [0.0, 0.0]


def test_signed_deviations_add_up() -> None:
    data = some_data(3)
    sets = uniform_sets(data, 2)
    utility = us.table_utility(data, sets, orders=(1, 2), seed=1)
    totals = utility.signed.group_by("order", "set").agg(pl.col("deviation").abs().sum())
    expected = utility.per_set.with_columns(pl.col("deviation").cast(pl.Int64))
    assert (
        totals.sort("order", "set").rows()
        == expected.select(totals.columns).sort("order", "set").rows()
    )
    assert utility.signed.group_by("table", "set").agg(pl.col("deviation").sum())[
        "deviation"
    ].to_list() == [0] * (3 * 2)


def test_cells_are_those_of_the_twin() -> None:
    data = some_data(4, second=True)
    sets = uniform_sets(data, 3)
    utility = us.table_utility(data, sets, seed=1).cells(["age", "town"])
    original = naive.table(rows_of(data.frame()), ["town", "age"])
    counts = [naive.table(rows_of(frame), ["town", "age"]) for frame in sets]
    for row in utility.iter_rows(named=True):
        cell = (row["town"], row["age"])
        assert row["original"] == original[cell]
        assert row["mean"] == pytest.approx(np.mean([count[cell] for count in counts]))
        assert row["maximum"] == max(count[cell] for count in counts)
    with pytest.raises(SettingError, match="kept variables only"):
        us.table_utility(data, sets, orders=(1,), seed=1).cells("sex")


@st.composite
def _small_sets(draw: st.DrawFn) -> SyntheticSets:
    n = draw(st.integers(2, 25))
    column = st.lists(st.sampled_from("abc"), min_size=n, max_size=n)
    names = draw(st.sampled_from([("x",), ("x", "y"), ("x", "y", "z")]))
    kept = {name: draw(column) for name in names}
    several = column.filter(lambda levels: len(set(levels)) > 1)
    drawn = {name: draw(several) for name in draw(st.sampled_from([("u",), ("u", "v")]))}
    data = data_from({**kept, **drawn}, list(drawn))
    sizes = [data.variable(name).n_levels for name in data.synthesized]
    codes = [
        [[draw(st.integers(0, size - 1)) for size in sizes] for _ in range(n)]
        for _ in range(draw(st.integers(1, 2)))
    ]
    return SyntheticSets(data, np.array(codes, dtype=np.int32))


@given(_small_sets())
@settings(max_examples=40, deadline=None)
def test_tables_of_any_data(sets: SyntheticSets) -> None:
    data = sets.data
    original = rows_of(data.frame("polars"))
    files = [rows_of(sets.frame(number, "polars")) for number in range(len(sets))]
    counted = count_sets(sets)
    for order in (1, 2, 3):
        for names in naive.tables_of(data.synthesized, data.kept, order):
            table = tabulate(counted, names)
            assert table.original.sum() == data.n_records
            for file, counts in zip(files, table.synthetic, strict=True):
                moved = np.abs(counts - table.original).sum()
                assert moved == naive.deviation(original, file, names)
                # A finer table never deviates less than the tables it holds.
                assert moved % 2 == 0
                if order > 1:
                    coarser = tabulate(counted, names[:-1])
                    deviation = np.abs(coarser.synthetic - coarser.original).sum(axis=1)
                    assert moved >= deviation[files.index(file)]


def test_frames_and_files_are_sets_too(tmp_path: object) -> None:
    data = some_data(8)
    sets = uniform_sets(data, 2)
    direct = us.table_utility(data, sets, seed=3)
    paths = sets.write(str(tmp_path))
    assert us.table_utility(data, list(sets), seed=3).deviation == direct.deviation
    assert us.table_utility(data, paths, seed=3).deviation == direct.deviation
    alone = us.table_utility(data, sets[0], seed=3).deviation
    assert alone == us.table_utility(data, str(paths[0]), seed=3).deviation


def test_same_seed_same_values() -> None:
    data = some_data(9)
    sets = uniform_sets(data, 2)
    first, second = (us.table_utility(data, sets, seed=5) for _ in range(2))
    assert first.tables.equals(second.tables)
    other = us.table_utility(data, sets, seed=6)
    assert other.noise_floor == first.noise_floor
    assert other.simulated_floor != first.simulated_floor


def test_wrong_arguments_are_told() -> None:
    data, other = some_data(10), some_data(11)
    sets = uniform_sets(data, 1)
    with pytest.raises(InputError, match="other data"):
        us.table_utility(other, sets)
    with pytest.raises(InputError, match="of type int"):
        us.table_utility(data, 3)
    with pytest.raises(InputError, match="at least one synthetic"):
        us.table_utility(data, SyntheticSets(data, sets.codes[:0]))
    with pytest.raises(InputError, match="at least one synthetic"):
        us.table_utility(data, [])
    for orders in ((), (0,), (9,), (True,), ("1",), None, 2.5, (1, 7), "12", [None]):
        with pytest.raises(SettingError, match="orders of tables"):
            us.table_utility(data, sets, orders=orders)  # type: ignore[arg-type]
    for repeats in (0, True, 1.5):
        with pytest.raises(SettingError, match="repeats"):
            us.table_utility(data, sets, repeats=repeats)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="seed"):
        us.table_utility(data, sets, seed=-1)
    # Orders beyond the number of variables make no table; a single one may be given.
    assert list(us.table_utility(data, sets, orders=np.array([2, 1]), seed=1).deviation) == [1, 2]  # type: ignore[arg-type]
    assert list(us.table_utility(data, sets, orders=2, seed=1).deviation) == [2]  # type: ignore[arg-type]


def test_sets_of_the_same_data_read_again_are_fine() -> None:
    data, again = some_data(12), some_data(12)
    assert us.table_utility(again, uniform_sets(data, 1), seed=1).deviation[1] > 0


def test_print_out_shows_no_level() -> None:
    data = some_data(13)
    text = repr(us.table_utility(data, perfect_sets(data, 2), seed=1))
    assert "1-way" in text
    assert "noise floor" in text
    assert not any(level in text for level in data.variable("town").levels)


def test_a_variable_called_like_a_column_keeps_its_name_apart() -> None:
    data = data_from({"set": ["f", "m", "f", "m"], "count": ["a", "b", "a", "a"]}, ["count"])
    sets = uniform_sets(data, 2)
    utility = us.within_pattern_utility(data, sets)
    assert "set (variable)" in utility.patterns.columns
    assert {"count", "count (variable)"} <= set(utility.distributions.columns)
    assert "count (variable)" in us.table_utility(data, sets, seed=1).cells("count").columns


def test_nothing_kept_is_one_pattern() -> None:
    data = data_from({"town": ["a", "b", "a", "a", "b"]}, ["town"])
    utility = us.table_utility(data, uniform_sets(data, 2), seed=1)
    assert utility.noise_floor[1] == pytest.approx(2 * naive.expected_deviation([(5, 3)]))
