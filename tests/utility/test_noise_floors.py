"""Noise floors: exact against convolution and simulation."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive import utility as naive
from tests.utility.example_surveys import drawn_from_population, rows_of, some_data, uniform_sets

import understudy as us
from understudy.microdata.label_table import combined_labels, empirical_labels
from understudy.randomness import stream
from understudy.utility.noise_floors import (
    expected_deviation,
    perfect_codes,
    perfect_counts,
)
from understudy.utility.tabulation import count_sets, tabulate

MEASURES = [
    *("deviation", "total_variation", "pmse", "s_pmse", "s_pmse_partial"),
    *("freeman_tukey", "s_freeman_tukey", "s_freeman_tukey_partial"),
]


@pytest.mark.parametrize("second", [False, True])
def test_exact_floor_is_that_of_convolution(second: bool) -> None:
    data = some_data(5, n=120, labels=4, second=second)
    utility = us.table_utility(data, [data.frame()], seed=1)
    original = rows_of(data.frame())
    for row in utility.tables.iter_rows(named=True):
        names = row["table"].split(" by ")
        twin = naive.table_floor(original, names, data.kept, data.synthesized)
        assert row["noise_floor"] == pytest.approx(twin, rel=1e-10)
        twin = naive.table_floor(
            original, names, data.kept, data.synthesized, naive.deviation_of_two
        )
        assert row["truth_floor"] == pytest.approx(twin, rel=1e-10)
    for order in (1, 2, 3):
        assert utility.deviation[order] == 0
        rows = utility.tables.filter(pl.col("order") == order)
        assert utility.noise_floor[order] == pytest.approx(rows["noise_floor"].sum())
        assert utility.truth_floor[order] == pytest.approx(rows["truth_floor"].sum())


@given(
    st.lists(
        st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=150, deadline=None)
def test_expected_deviation_of_any_sum(parts: list[tuple[int, int]]) -> None:
    trials, means = np.array(parts).T
    floor = expected_deviation(trials, means, np.zeros(len(parts), dtype=np.int64), 1)
    assert floor[0] == pytest.approx(naive.expected_deviation(parts), rel=1e-9, abs=1e-9)
    cell = np.zeros(len(parts), dtype=np.int64)
    of_two = expected_deviation(trials, means, cell, 1, between_two=True)
    assert of_two[0] == pytest.approx(naive.deviation_of_two(parts), rel=1e-9, abs=1e-9)


def test_expected_deviation_of_large_counts() -> None:
    # One binomial has a closed form, whatever its size.
    trials = np.array([1, 2, 10, 1000, 10**6, 10**9, 7])
    means = np.array([0, 1, 9, 1, 3 * 10**5, 5 * 10**8, 7])
    floor = expected_deviation(trials, means, np.arange(trials.size), trials.size)
    twin = [naive.binomial_deviation(int(n), int(k)) for n, k in zip(trials, means, strict=True)]
    twin[5] = math.sqrt(10**9 / 4 * 2 / math.pi)  # normal, where the closed form loses digits
    np.testing.assert_allclose(floor, twin, rtol=2e-9, atol=1e-9)


def test_two_perfect_sets_lie_the_root_of_two_apart_for_large_counts() -> None:
    trials, means = np.array([10**6, 10**9]), np.array([3 * 10**5, 5 * 10**8])
    kinds = np.arange(2)
    floor = expected_deviation(trials, means, kinds, 2)
    of_two = expected_deviation(trials, means, kinds, 2, between_two=True)
    np.testing.assert_allclose(of_two / floor, math.sqrt(2), rtol=2e-6)
    # Two trials with chance one half: of 16 equally likely pairs, 8 are 1 apart and 2 are 2 apart.
    pair = expected_deviation(np.array([2]), np.array([1]), kinds[:1], 1, between_two=True)
    assert pair[0] == pytest.approx((8 * 1 + 2 * 2) / 16)


def test_truth_floors_are_those_of_simulated_pairs() -> None:
    # Deviations of 2,000 pairs of perfect sets for three orders, at 5 standard errors: false alarm
    # below 3e-6. pMSE and Freeman-Tukey of 400 pairs against 400 others: 6 standard errors.
    data = some_data(6, n=500)
    utility = us.table_utility(data, [data.frame()], seed=11, repeats=400)
    other = us.table_utility(data, [data.frame()], seed=12, repeats=400)
    first, second = (perfect_counts(stream(seed, "test", "pair"), data, 2000) for seed in range(2))
    counted = count_sets(uniform_sets(data, 1))
    for row in utility.tables.iter_rows(named=True):
        table = tabulate(counted, row["table"].split(" by "))
        apart = np.abs(table.counts_of(first) - table.counts_of(second)).sum(axis=1)
        error = apart.std(ddof=1) / math.sqrt(2000)
        assert abs(apart.mean() - row["truth_floor"]) < 5 * error
    for measure in ("pmse", "s_pmse_partial", "freeman_tukey"):
        np.testing.assert_allclose(
            utility.tables[f"{measure}_truth_floor"],
            other.tables[f"{measure}_truth_floor"],
            rtol=0.2,
        )
        ratio = utility.tables[f"{measure}_truth_floor"] / utility.tables[f"{measure}_floor"]
        assert ratio.is_between(1.6, 2.4).all()  # twice, for large counts


def test_a_synthesizer_that_knows_the_population_has_ratio_one() -> None:
    # Samples of 3,000 from a population (70 records a cell and more), 2 sets each, 150 times: mean
    # ratios within 5 of their standard errors, which are below 0.025, and the floor's own bias of
    # less than 1 % for such counts. False alarm below 1e-5. Against the resampled floor the ratio
    # is 1.4, more than 15 standard errors above 1.
    ratios, old = [], []
    for seed in range(150):
        data, sets = drawn_from_population(seed, n=3000, n_sets=2)
        utility = us.table_utility(data, sets, repeats=1, seed=1)
        ratios.append(
            [utility.deviation[order] / utility.truth_floor[order] for order in (1, 2, 3)]
        )
        assert list(utility.ratio.values()) == ratios[-1]
        old.append([utility.deviation[order] / utility.noise_floor[order] for order in (1, 2, 3)])
    mean, error = np.mean(ratios, axis=0), np.std(ratios, axis=0, ddof=1) / math.sqrt(150)
    assert (error < 0.025).all()
    assert (np.abs(mean - 1) < 5 * error + 0.01).all()
    assert (np.mean(old, axis=0) > 1 + 15 * error).all()


def test_the_truth_floor_is_too_low_for_sparse_tables() -> None:
    # 120 records in 6 patterns and 7 labels, about 3 a cell: the sample's own shares are more
    # uneven than the population's, and two sets drawn from them are closer. Mean ratio of the
    # finest tables over 300 samples, standard error below 0.02: between 1.03 and 1.2.
    ratios = []
    for seed in range(300):
        data, sets = drawn_from_population(seed, n=120, n_sets=1)
        utility = us.table_utility(data, sets, orders=(3,), repeats=1, seed=1)
        ratios.append(utility.deviation[3] / utility.truth_floor[3])
    assert np.std(ratios, ddof=1) / math.sqrt(300) < 0.02
    assert 1.03 < np.mean(ratios) < 1.2


def test_simulated_floor_agrees_with_exact() -> None:
    # Three means of 400 repeats against their expectation at 5 standard errors: false alarm
    # below 3 * 1e-6.
    data = some_data(6, n=500)
    utility = us.table_utility(data, [data.frame()], seed=11, repeats=400)
    for order in (1, 2, 3):
        spread = utility.simulated_floor[order]
        assert spread.mean is not None
        assert spread.minimum is not None
        assert spread.maximum is not None
        assert spread.standard_error is not None
        assert abs(spread.mean - utility.noise_floor[order]) < 5 * spread.standard_error
        assert spread.minimum < utility.noise_floor[order] < spread.maximum


def test_floor_of_the_bundled_data_is_known() -> None:
    # METHOD gives 6.7 / 34 / 55, in hundreds, for data made like these; and for pairs of perfect
    # sets 9.37 / 48.2 / 76.6, by simulation.
    data = us.load_ce_like()
    utility = us.table_utility(data, [data.frame()], seed=1, repeats=1)
    assert [round(utility.noise_floor[order] / 100) for order in (1, 2, 3)] == [7, 34, 54]
    assert list(utility.truth_floor.values()) == pytest.approx([937, 4820, 7660], rel=0.004)


@pytest.mark.parametrize("second", [False, True])
def test_both_ways_to_draw_perfect_sets_agree(second: bool) -> None:
    # Means of 300 sets by counts, by records and by the label table, each combination against
    # its count at 6 standard errors: false alarm below 3 * 40 * 2e-9.
    data = some_data(7, n=200, labels=4, second=second)
    repeats = 300
    drawn = perfect_counts(stream(1, "a"), data, repeats)
    assert (np.bincount(data.patterns.of_combination, weights=drawn[0])
            == data.patterns.sizes).all()  # fmt: skip
    generator = stream(2, "b")
    places = [data.names.index(name) for name in data.synthesized]
    labels = combined_labels(data, data.combinations[:, places])
    key = {
        (int(pattern), int(label)): combination
        for combination, (pattern, label) in enumerate(
            zip(data.patterns.of_combination, labels, strict=True)
        )
    }
    pattern = data.patterns.of_combination[data.of_record].tolist()
    by_record = np.zeros((2, data.n_combinations))
    for _ in range(repeats):
        picked = combined_labels(data, perfect_codes(generator, data)).tolist()
        table = empirical_labels(data).draw(generator, data).tolist()
        for source, chosen in enumerate((picked, table)):
            for pair, count in Counter(zip(pattern, chosen, strict=True)).items():
                by_record[source, key[pair]] += count / repeats
    sizes = data.patterns.sizes[data.patterns.of_combination]
    error = np.sqrt(data.counts * (1 - data.counts / sizes) / repeats)
    for mean in (drawn.mean(axis=0), *by_record):
        assert (np.abs(mean - data.counts) <= 6 * error + 1e-9).all()
