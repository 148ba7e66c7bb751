"""Fully synthetic files: guesses from all files, and records that are repeated verbatim."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.bad_inputs.cases import covers
from tests.risk.example_surveys import microdata

import understudy as us
from understudy.errors import InputError
from understudy.microdata.table import SyntheticSets
from understudy.randomness import stream

Pairs = list[tuple[int, int]]


def people(n: int, seed: int) -> us.Microdata:
    """Three related variables, none kept."""
    generator = stream(seed, "people")
    first = generator.integers(0, 4, n)
    second = np.where(generator.random(n) < 0.7, first, generator.integers(0, 4, n))
    third = np.where(generator.random(n) < 0.5, second, generator.integers(0, 9, n))
    columns = {"a": first.tolist(), "b": second.tolist(), "c": third.tolist()}
    return microdata({}, columns, {"a": 4, "b": 4, "c": 9})


def files(others: list[us.Microdata]) -> list[Any]:
    return [other.frame() for other in others]


def guess(keys: Pairs, values: list[int], key: tuple[int, int], value: int) -> Fraction:
    """Chance that the most frequent value of the rows with this key is this one."""
    votes = Counter(v for k, v in zip(keys, values, strict=True) if k == key) or Counter(values)
    best = [vote for vote in votes if votes[vote] == max(votes.values())]
    return Fraction(value in best, len(best))


def sum_of(chances: Iterator[Fraction]) -> Fraction:
    return sum(chances, Fraction(0))


def test_guesses_agree_with_counting_by_hand() -> None:
    data, made = people(60, 1), [people(40, 2), people(50, 3)]
    risk = us.fully_synthetic_risk(data, files(made), ["a", "b"], "c")
    keys = list(zip(data.codes("a").tolist(), data.codes("b").tolist(), strict=True))
    values = data.codes("c").tolist()
    new_keys = [
        k for m in made for k in zip(m.codes("a").tolist(), m.codes("b").tolist(), strict=True)
    ]
    new_values = [v for m in made for v in m.codes("c").tolist()]
    success = sum_of(guess(new_keys, new_values, k, v) for k, v in zip(keys, values, strict=True))
    perfect = sum_of(guess(keys, values, k, v) for k, v in zip(keys, values, strict=True))
    others = sum_of(
        guess(keys[:i] + keys[i + 1 :], values[:i] + values[i + 1 :], keys[i], values[i])
        for i in range(60)
    )
    row = risk.guesses.row(0, named=True)
    assert np.isclose(row["success"], float(success))
    assert np.isclose(row["perfect"], float(perfect))
    assert np.isclose(row["others"], float(others))
    assert row["marginal"] == max(Counter(values).values())
    assert np.isclose(
        row["position"], float((success - others) / max(perfect - others, Fraction(1)))
    )


def test_new_people_are_repeated_by_chance_and_copies_are_not() -> None:
    """Draws from the truth repeat about as many uniques as Good and Turing say.

    Within 4 standard errors: false-alarm rate below 1e-4 at a seed that is not chosen.
    """
    data = people(400, 1)
    fair = us.fully_synthetic_risk(data, files([people(400, s) for s in range(2, 8)]))
    copy = us.fully_synthetic_risk(data, files([data, data]))
    chance = fair.expected_repeats["new people"]
    assert abs(fair.repeated - chance) < 4 * fair.uniques**0.5  # N1 and N2 are counts themselves
    assert fair.guesses["target"].to_list() == ["a", "b", "c"]
    assert fair.position < 1.5
    assert copy.repeated == copy.repeated_somewhere == copy.uniques
    assert copy.guesses["position"].to_list() == [1.0, 1.0, 1.0]
    assert "verbatim" in str(copy)
    assert "secret" not in str(copy)
    assert copy.repeated_excess <= copy.repeated


def test_chance_of_single_rows_by_hand() -> None:
    """Two variables of two records each unlike the other: nothing else tells about either."""
    data = microdata({}, {"a": [0, 1], "b": [0, 1]}, {"a": 2, "b": 2})
    sets = SyntheticSets(data, np.array([[[0, 0], [0, 1]]]), fully_synthetic=True)
    risk = us.fully_synthetic_risk(data, sets)
    assert (risk.uniques, risk.repeated, risk.repeated_somewhere) == (2, 1.0, 1)
    assert risk.expected_repeats == {"Marginal": 0.0, "Others": 0.0, "new people": 0.0}
    assert risk.repeated_everywhere == 1  # there is one file


def test_kept_variables_are_refused() -> None:
    data = microdata({"sex": [0, 1]}, {"town": [0, 1]}, {"sex": 2, "town": 2})
    sets = SyntheticSets(data, np.array([[[0], [1]]]))
    with pytest.raises(InputError, match="own_record_effect"):
        us.fully_synthetic_risk(data, sets)


def rows_of(data: us.Microdata) -> NDArray[np.int64]:
    """All records as codes, (record, variable)."""
    return np.stack([data.codes(name) for name in data.names], axis=1).astype(np.int64)


@covers(148)
def test_copies_of_the_original_are_no_chance() -> None:
    """Files that are the original do not excuse each other by repeating each other."""
    data = people(300, 1)
    rows = rows_of(data)
    mixed = stream(4, "mixed").permutation(rows)
    risk = us.fully_synthetic_risk(data, SyntheticSets(data, np.stack([rows, mixed, rows])))
    assert risk.copies == 3
    assert risk.repeated == risk.uniques
    assert risk.repeated_everywhere == risk.uniques
    assert max(risk.expected_repeats.values()) < risk.uniques
    changed = rows.copy()
    changed[0, 2] = (changed[0, 2] + 1) % 9
    assert us.fully_synthetic_risk(data, SyntheticSets(data, np.stack([rows, changed]))).copies == 1


def test_samples_of_the_original_do_not_excuse_each_other() -> None:
    """Sparse records: new people would repeat few of them, samples of the records repeat 63 %."""
    generator = stream(6, "sparse")
    first = generator.integers(0, 30, 300)
    columns = {"a": first.tolist(), "b": generator.integers(0, 30, 300).tolist()}
    data = microdata({}, columns, {"a": 30, "b": 30})
    rows = rows_of(data)
    drawn = np.stack([rows[generator.integers(0, 300, 300)] for _ in range(5)])
    risk = us.fully_synthetic_risk(data, SyntheticSets(data, drawn))
    assert max(risk.expected_repeats.values()) < 0.75 * risk.repeated
    assert risk.repeated_everywhere > 2 * risk.expected_everywhere + 2


def test_rows_drawn_from_the_records_repeat_as_many_as_is_said() -> None:
    """Mean of 40 files within three standard errors: false-alarm rate 0.3 %."""
    data, generator = people(300, 1), stream(5, "drawn again")
    rows = rows_of(data)
    drawn = np.stack([rows[generator.integers(0, 300, 300)] for _ in range(40)])
    risk = us.fully_synthetic_risk(data, SyntheticSets(data, drawn))
    assert risk.copies == 0
    assert risk.perfect_repeats == pytest.approx(risk.uniques * (1.0 - (299 / 300) ** 300))
    share = risk.perfect_repeats / risk.uniques
    error = (risk.uniques * share * (1.0 - share) / 40) ** 0.5
    assert abs(risk.repeated - risk.perfect_repeats) < 3.0 * error
