"""Distances within patterns against the slow twin, and their floor against simulation."""

from __future__ import annotations

import numpy as np
import polars as pl
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
from understudy.microdata.table import SyntheticSets
from understudy.randomness import stream
from understudy.utility.noise_floors import perfect_counts


@pytest.mark.parametrize("second", [False, True])
def test_distance_is_that_of_the_twin(second: bool) -> None:
    data = some_data(21, second=second)
    sets = uniform_sets(data, 3)
    utility = us.within_pattern_utility(data, sets)
    original = rows_of(data.frame())
    twins = [
        naive.pattern_distance(original, rows_of(frame), data.kept, data.synthesized)
        for frame in sets
    ]
    for pattern, codes in enumerate(data.patterns.codes):
        levels = tuple(
            data.variable(name).levels[code] for name, code in zip(data.kept, codes, strict=True)
        )
        own = [twin[levels] for twin in twins]
        assert utility.per_set[:, pattern].tolist() == pytest.approx(own)
        assert utility.distance[pattern] == pytest.approx(np.mean(own))
    with pytest.MonkeyPatch.context() as patched:  # one set at a time
        patched.setattr("understudy.utility.within_pattern.LARGEST_BLOCK", 1)
        assert np.array_equal(us.within_pattern_utility(data, sets).per_set, utility.per_set)


def test_floor_is_exact_and_simulation_agrees() -> None:
    # Six patterns, means of 500 perfect sets at 5 standard errors: false alarm below 4e-6.
    data = some_data(22, n=200)
    utility = us.within_pattern_utility(data, perfect_sets(data, 500, seed=3), seed=0)
    error = utility.per_set.std(axis=0, ddof=1) / np.sqrt(500)
    assert (np.abs(utility.distance - utility.noise_floor) < 5 * error).all()
    for pattern, size in enumerate(data.patterns.sizes.tolist()):
        inside = data.counts[data.patterns.of_combination == pattern].tolist()
        twin = sum(naive.expected_deviation([(size, count)]) for count in inside) / (2 * size)
        assert utility.noise_floor[pattern] == pytest.approx(twin, rel=1e-9)


def test_spread_is_that_of_perfect_sets() -> None:
    # Six patterns; the standard deviation of 2,000 simulated perfect distances against that of
    # 2,000 others: each within about 1.6 % of the truth (kurtosis near 3), so that 12 % is more
    # than five standard errors of the difference; false alarm below 1e-5 for all six.
    data = some_data(22, n=200)
    utility = us.within_pattern_utility(
        data, perfect_sets(data, 2000, seed=3), repeats=2000, seed=5
    )
    np.testing.assert_allclose(utility.floor_spread, utility.per_set.std(axis=0), rtol=0.12)
    expected = (utility.distance - utility.truth_floor) / utility.truth_spread
    np.testing.assert_allclose(utility.spreads_above, expected)


def test_right_sets_are_hardly_ever_flagged_and_bad_ones_are() -> None:
    # 6 patterns of 900 records from a known population, 3 sets from the same population, 100 times:
    # 600 values. Half lie above the truth floor: between 40 and 60 % asked for, five standard
    # errors. Far above (3 s.d., which are themselves off by about 10 %) lies less than 0.5 % of a
    # value that is nearly normal: 9 or more of 600 have a probability below 1e-2 at 0.5 %.
    distances = []
    for seed in range(100):
        data, sets = drawn_from_population(seed, n=900, n_sets=3)
        distances.append(us.within_pattern_utility(data, sets, seed=0).spreads_above)
    above = np.concatenate(distances)
    assert 0.4 < (above > 0).mean() < 0.6
    assert (above > 3).sum() < 9
    codes = np.zeros((3, data.n_records, 1), dtype=np.int32)
    bad = us.within_pattern_utility(data, SyntheticSets(data, codes), seed=0)
    assert (bad.spreads_above > 3).all()
    assert "6 of 6 patterns more than 3 standard deviations above" in repr(bad)
    assert "about half" in repr(bad)


def test_truth_floor_and_spread_are_those_of_pairs_of_perfect_sets() -> None:
    # Six patterns. Each of 1,000 perfect sets plays the original for 3 others: means against the
    # exact floor at 5 standard errors (false alarm below 4e-6), standard deviations of the mean
    # over 3 sets within 15 %, six standard errors of the difference of two such estimates.
    data = some_data(22, n=200)
    generator = stream(4, "test", "pairs")
    drawn = perfect_counts(generator, data, 4000).reshape(1000, 4, -1)
    moved = np.abs(drawn[:, 1:] - drawn[:, :1]).mean(axis=1)  # (repeat, combination)
    sizes, pattern = data.patterns.sizes, data.patterns.of_combination
    distance = np.array([np.bincount(pattern, weights=row) for row in moved]) / (2 * sizes)
    utility = us.within_pattern_utility(data, perfect_sets(data, 3), repeats=2000, seed=5)
    error = distance.std(axis=0, ddof=1) / np.sqrt(1000)
    assert (np.abs(distance.mean(axis=0) - utility.truth_floor) < 5 * error).all()
    np.testing.assert_allclose(utility.truth_spread, distance.std(axis=0), rtol=0.15)
    for index, size in enumerate(sizes.tolist()):
        inside = data.counts[pattern == index].tolist()
        twin = sum(naive.deviation_of_two([(size, count)]) for count in inside) / (2 * size)
        assert utility.truth_floor[index] == pytest.approx(twin, rel=1e-9)


def test_a_pattern_of_one_label_has_no_spread() -> None:
    data = data_from({"sex": ["f"] * 4 + ["m"] * 4, "town": ["a"] * 4 + ["a", "b"] * 2}, ["town"])
    codes = data.codes("town").copy()
    same = us.within_pattern_utility(data, SyntheticSets(data, codes[None, :, None]))
    assert same.floor_spread[0] == 0
    assert same.spreads_above[0] == 0
    codes[0] = 1
    other = us.within_pattern_utility(data, SyntheticSets(data, codes[None, :, None]))
    assert other.spreads_above[0] == np.inf
    assert other.patterns["pattern"][0] == 0


def test_the_same_seed_gives_the_same_values_and_repeats_are_checked() -> None:
    data = some_data(23)
    sets = uniform_sets(data, 2)
    first, second = (us.within_pattern_utility(data, sets, seed=7).spreads_above for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert (us.within_pattern_utility(data, sets).spreads_above != first).any()
    for wrong in (1, 0, 2.5):
        with pytest.raises(SettingError, match="of at least 2"):
            us.within_pattern_utility(data, sets, repeats=wrong)  # type: ignore[arg-type]


def test_patterns_come_worst_first() -> None:
    data = some_data(23)
    utility = us.within_pattern_utility(data, uniform_sets(data, 2))
    above = utility.patterns["spreads_above"].to_list()
    assert above == sorted(above, reverse=True)
    numbers = utility.patterns["pattern"].to_numpy()
    excess = utility.patterns["excess"].to_numpy()
    np.testing.assert_allclose(excess, (utility.distance - utility.truth_floor)[numbers])
    assert utility.patterns["records"].sum() == data.n_records
    order = utility.distributions["pattern"].unique(maintain_order=True).to_list()
    assert order == utility.patterns["pattern"].to_list()


def test_distributions_are_the_counts() -> None:
    data = some_data(24, second=True)
    sets = uniform_sets(data, 2)
    frame = us.within_pattern_utility(data, sets).distributions
    shares = frame.group_by("pattern", "set").agg(pl.col("share").sum())
    assert shares["share"].to_list() == pytest.approx([1.0] * shares.height)
    names = [*data.kept, *data.synthesized]
    files = {None: rows_of(data.frame()), 1: rows_of(sets[0]), 2: rows_of(sets[1])}
    for number, file in files.items():
        rows = frame.filter(pl.col("set").eq_missing(number)).cast(dict.fromkeys(names, pl.String))
        counted = {tuple(row[name] for name in names): row["count"] for row in rows.to_dicts()}
        assert counted == dict(naive.table(file, names))


def test_print_out_names_patterns_and_shows_no_label() -> None:
    data = some_data(25)
    text = repr(us.within_pattern_utility(data, uniform_sets(data, 2)))
    assert "of 6 patterns" in text
    assert "s0, a2" in text
    assert not any(level in text.split() for level in data.variable("town").levels)
