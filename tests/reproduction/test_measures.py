"""The measures behind the cells, against the rooms they come from and the definitions."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.reproduction.cell_comparison import mean_of
from understudy.reproduction.measures import (
    KNOWN,
    measure_baselines,
    measure_paired,
    measure_regression,
    measure_sets,
    measure_shuffled,
)
from understudy.reproduction.run import population


@pytest.fixture(scope="module")
def data() -> us.Microdata:
    return us.load_ce_like()


@pytest.fixture(scope="module")
def sets(data: us.Microdata) -> us.SyntheticSets:
    return us.Perfect().fit(data).synthesize(20, seed=5)


def test_cells_are_the_measures_of_sets(data: us.Microdata, sets: us.SyntheticSets) -> None:
    measured = measure_sets(data, sets, seed=1)
    risk = us.identification_risk(data, sets, known=["gender", "age"])
    assert mean_of(measured["expected_match_risk gender, age"]) == pytest.approx(
        risk.expected_match_risk
    )
    assert mean_of(measured["attribute_matches"]) == pytest.approx(
        us.attribute_risk(data, sets).matches
    )
    assert mean_of(measured["deviation 2"]) == pytest.approx(
        us.table_utility(data, sets, repeats=1, seed=1).deviation[2] / 100
    )


def test_shuffled_rows_give_random_linkage(data: us.Microdata, sets: us.SyntheticSets) -> None:
    """Means over 20 sets, within five standard errors: false alarm once in 10^6."""
    measured = measure_shuffled(data, sets, seed=3)
    for known in KNOWN:
        values = np.array(measured[f"expected_match_risk {', '.join(known)}"], dtype=float)
        expected = us.identification_risk(data, sets, known).random_linkage
        error = values.std(ddof=1) / np.sqrt(values.size)
        assert abs(values.mean() - expected) < 5 * error
        assert expected <= 1
    labels = np.bincount(data.codes("county"), minlength=133) / data.n_records
    chance = data.n_records * float((labels**2).sum())
    right = np.array(measured["attribute_matches"], dtype=float)
    assert abs(right.mean() - chance) < 5 * right.std(ddof=1) / np.sqrt(right.size)


def test_the_written_out_definition_agrees_with_the_risk_measures_on_aligned_rows(
    data: us.Microdata, sets: us.SyntheticSets
) -> None:
    in_place = [np.arange(data.n_records)] * len(sets)
    by_hand, by_room = measure_paired(data, sets, in_place), measure_sets(data, sets, seed=1)
    for measure, values in by_hand.items():
        assert values == pytest.approx(by_room[measure])


def test_levels_have_samples_and_closed_forms(data: us.Microdata) -> None:
    samples, exact = measure_baselines(data, repeats=3, seed=1)
    assert exact["Min"]["expected_match_risk gender"] == pytest.approx(2.0, abs=1e-6)
    assert exact["Min"]["attribute_matches"] == pytest.approx(6208 / 133)
    assert len(samples["Max"]["attribute_matches"]) == 3
    assert samples["Min"]["false_match_rate gender"] == [None, None, None]


def test_intervals_are_of_the_largest_counties(data: us.Microdata, sets: us.SyntheticSets) -> None:
    rows = measure_regression(data, us.SyntheticSets(data, sets.codes[:2]), seed=1)
    counts = data.frame()["county"].value_counts(sort=True)["county"].cast(pl.String).to_list()
    assert {row["coefficient"] for row in rows} == {f"county[{name}]" for name in counts[1:6]}


def test_populations_differ_and_the_first_is_bundled(data: us.Microdata) -> None:
    assert population(0).fingerprint() == data.fingerprint()
    first, again, second = population(1), population(1), population(2)
    assert first.fingerprint() == again.fingerprint() != second.fingerprint()
    assert list(first.patterns.sizes) == list(data.patterns.sizes)
    numbers = {population(number).fingerprint() for number in (16, 17, 18)}
    assert len(numbers | {data.fingerprint()}) == 4  # the bundled one's seed is left out
