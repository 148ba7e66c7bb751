"""Counts of labels behind the bars and the heat map: by a slow count, and by the law of chance."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.findings.label_counts import (
    MOST_LEVELS,
    chance_deviations,
    label_counts,
    pair_counts,
)
from understudy.microdata.synthetic_files import read_synthetic


@pytest.fixture(scope="module")
def frames() -> list[pl.DataFrame]:
    """Make an original and three sets: 40 towns, some of them in the sets alone."""
    generator = np.random.default_rng(5)
    sex = [["f", "m"][code] for code in generator.integers(0, 2, 300)]

    def frame(n_towns: int) -> pl.DataFrame:
        towns = [f"t{code:02d}" for code in generator.integers(0, n_towns, 300)]
        return pl.DataFrame({"sex": sex, "town": towns})

    return [frame(40), *(frame(38) for _ in range(3))]


def sets_of(frames: list[pl.DataFrame]) -> tuple[us.Microdata, us.SyntheticSets]:
    data = us.read_microdata(frames[0], synthesize="town")
    return data, read_synthetic(data, frames[1:])


def test_labels_are_counted_as_by_hand(frames: list[pl.DataFrame]) -> None:
    (counted,) = label_counts(*sets_of(frames))
    original, *drawn = (Counter(frame["town"].to_list()) for frame in frames)
    assert len(counted.levels) == MOST_LEVELS
    for index, level in enumerate(counted.levels):
        counts = [counter[level] for counter in drawn]
        assert counted.original[index] == original[level]
        assert counted.synthetic[index] == pytest.approx(sum(counts) / 3, abs=1e-4)
        assert (counted.lowest[index], counted.highest[index]) == (min(counts), max(counts))
    assert list(counted.original) == sorted(counted.original, reverse=True)
    assert counted.n_others == len(original) - MOST_LEVELS
    assert sum(counted.original) + counted.others_original == 300
    assert sum(counted.synthetic) + counted.others_synthetic == pytest.approx(300, abs=0.01)


def test_pairs_are_counted_as_by_hand(frames: list[pl.DataFrame]) -> None:
    (counted,) = pair_counts(*sets_of(frames))
    original, *drawn = (Counter(frame.select("town", "sex").rows()) for frame in frames)
    assert (counted.name, counted.other, counted.other_levels) == ("town", "sex", ("f", "m"))
    for row, level in enumerate(counted.levels):
        for column, other in enumerate(counted.other_levels):
            mean = sum(counter[level, other] for counter in drawn) / 3
            assert counted.original[row][column] == original[level, other]
            assert counted.synthetic[row][column] == pytest.approx(mean, abs=1e-4)
    everywhere = set(original).union(*drawn)
    assert counted.n_cells == len(everywhere)
    counts = [(original[cell], sum(counter[cell] for counter in drawn) / 3) for cell in everywhere]
    far = (
        np.abs(
            chance_deviations([original for original, _ in counts], [mean for _, mean in counts], 3)
        )
        > 3
    )
    assert counted.n_far == far.sum()


def test_fully_synthetic_files_have_pairs_of_what_is_drawn(frames: list[pl.DataFrame]) -> None:
    data = us.read_microdata(frames[0], synthesize=["town", "sex"], keep=[])
    sets = read_synthetic(data, frames[1:])
    assert [counts.name for counts in label_counts(data, sets)] == list(data.synthesized)
    assert [(counts.name, counts.other) for counts in pair_counts(data, sets)] == [data.synthesized]


@pytest.mark.parametrize("n_sets", [1, 5])
def test_chance_gives_deviations_of_one(n_sets: int) -> None:
    """Counts with one expectation: mean 0, variance 1; false alarms below 1e-4 (4 errors)."""
    generator = np.random.default_rng(7)
    original = generator.poisson(50.0, 20_000)
    synthetic = generator.poisson(50.0, (n_sets, 20_000)).mean(axis=0)
    deviations = chance_deviations(original, synthetic, n_sets)
    assert abs(deviations.mean()) < 4 / np.sqrt(20_000)
    assert abs(deviations.var() - 1) < 4 * np.sqrt(2 / 20_000) + 0.01
    assert chance_deviations([0], [0.0], n_sets).tolist() == [0.0]
    assert chance_deviations([10], [30.0], n_sets)[0] > 0 > chance_deviations([9], [1.0], 2)[0]
