"""Distances within patterns against the slow twin, and their floor against simulation."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.naive import utility as naive
from tests.utility.making import perfect_sets, rows_of, some_data, uniform_sets

import understudy as us


@pytest.mark.parametrize("second", [False, True])
def test_distance_is_that_of_the_twin(second: bool) -> None:
    data = some_data(21, second=second)
    sets = uniform_sets(data, 3)
    found = us.within_pattern_utility(data, sets)
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
        assert found.per_set[:, pattern].tolist() == pytest.approx(own)
        assert found.distance[pattern] == pytest.approx(np.mean(own))


def test_floor_is_exact_and_simulation_agrees() -> None:
    # Six patterns, means of 500 perfect sets at 5 standard errors: false alarm below 4e-6.
    data = some_data(22, n=200)
    found = us.within_pattern_utility(data, perfect_sets(data, 500, seed=3))
    error = found.per_set.std(axis=0, ddof=1) / np.sqrt(500)
    assert (np.abs(found.distance - found.noise_floor) < 5 * error).all()
    for pattern, size in enumerate(data.patterns.sizes.tolist()):
        inside = data.counts[data.patterns.of_combination == pattern].tolist()
        twin = sum(naive.expected_deviation([(size, count)]) for count in inside) / (2 * size)
        assert found.noise_floor[pattern] == pytest.approx(twin, rel=1e-9)


def test_patterns_come_worst_first() -> None:
    data = some_data(23)
    found = us.within_pattern_utility(data, uniform_sets(data, 2))
    excess = found.patterns["excess"].to_list()
    assert excess == sorted(excess, reverse=True)
    numbers = found.patterns["pattern"].to_numpy()
    np.testing.assert_allclose(excess, (found.distance - found.noise_floor)[numbers])
    assert found.patterns["records"].sum() == data.n_records
    order = found.distributions["pattern"].unique(maintain_order=True).to_list()
    assert order == found.patterns["pattern"].to_list()


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
        found = {tuple(row[name] for name in names): row["count"] for row in rows.to_dicts()}
        assert found == dict(naive.table(file, names))


def test_print_out_shows_no_level() -> None:
    data = some_data(25)
    text = repr(us.within_pattern_utility(data, uniform_sets(data, 2)))
    assert "of 6 patterns" in text
    assert not any(level in text.split() for name in data.names
                   for level in data.variable(name).levels)  # fmt: skip
