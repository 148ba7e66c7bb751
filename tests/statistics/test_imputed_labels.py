"""What imputed values tell about labels, against everything written down, on tiny data.

Three classes, two kept variables with holes, one without, a label of three levels: beliefs are
compared with sums over all classes, labels and values that imputations could have had.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import understudy as us
from understudy.errors import DataWarning, UnderstudyWarning
from understudy.randomness import stream
from understudy.synthesis.dpmpm.imputed_labels import imputed_effect, label_beliefs
from understudy.synthesis.dpmpm.parameters import Parameters

LEVELS = {"a": 2, "b": 3, "g": 2, "town": 3}
HOLES = ("a", "b")
ROWS: list[tuple[int | None, ...]] = [
    (None, 1, 0, 2), (0, None, 1, 0), (None, None, 0, 1), (1, 2, 1, 2), (0, 0, 0, 0), (1, 1, 1, 1),
    (None, 2, 0, None), (None, None, 1, 0),
]  # fmt: skip
HOLED = np.array([0, 1, 2, 7])  # records with a hole and a label; the last but one has none


@pytest.fixture(scope="module")
def data() -> us.Microdata:
    """Eight records, one of them without a label."""
    texts = [[None if code is None else f"{name}{code}" for name, code in
              zip(LEVELS, row, strict=True)] for row in ROWS]  # fmt: skip
    frame = pl.DataFrame(texts, schema=list(LEVELS), orient="row")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return us.read_microdata(frame, synthesize="town", missing="model")


def draws(number: int) -> list[Parameters]:
    """Make some draws of weights and level probabilities, holes of probability 1."""
    generator, several = stream(5, "imputed labels"), []
    for _ in range(number):
        parts: list[NDArray[np.float64]] = []
        for name, size in LEVELS.items():
            parts.append(generator.dirichlet(np.full(size, 0.5), 3))
            parts += [np.ones((3, 1))] if name != "g" else []
        several.append(Parameters(generator.dirichlet(np.ones(3)), np.hstack(parts)))
    return several


def chance(given: Parameters, row: dict[str, int]) -> float:
    """Probability of some variables' levels, the others and the class summed out."""
    first, total = 0, given.weights.copy()  # (class,)
    for name, size in LEVELS.items():
        if name in row:
            total = total * given.probabilities[:, first + row[name]]
        first += size + (name != "g")
    return float(total.sum())


def observed(record: int) -> dict[str, int]:
    """Kept values of a record that are there."""
    return {name: code for name, code in zip(LEVELS, ROWS[record], strict=True)
            if code is not None and name != "town"}  # fmt: skip


def values(record: int) -> Iterator[dict[str, int]]:
    """Go through all that the holes of a record may be."""
    names = [name for name in HOLES if name not in observed(record)]
    for codes in itertools.product(*(range(LEVELS[name]) for name in names)):
        yield dict(zip(names, codes, strict=True))


def believed(record: int, shown: list[dict[str, int]], given: list[Parameters]) -> Any:
    """Bayes' rule by hand: (label,)."""
    there = observed(record)
    beliefs = []
    for label in range(3):
        own = {**there, "town": label}
        prior = np.mean([chance(posterior, own) / chance(posterior, there) for posterior in given])
        likelihood = [chance(posterior, {**own, **value}) / chance(posterior, own)
                      for posterior, value in zip(given, shown, strict=True)]  # fmt: skip
        beliefs.append(prior * math.prod(likelihood))
    return np.array(beliefs) / np.sum(beliefs)


def filled(shown: dict[int, dict[str, int]]) -> dict[str, NDArray[np.int64]]:
    """Write values of records as codes of all records; those of no hole are not looked at."""
    return {name: np.array([shown.get(record, {}).get(name, row[axis] or 0)
                            for record, row in enumerate(ROWS)])
            for axis, name in enumerate(HOLES)}  # fmt: skip


@pytest.mark.parametrize("imputations", [1, 2, 3])
def test_beliefs_are_those_by_hand(data: us.Microdata, imputations: int) -> None:
    """Every value that each of several imputations could show, for one record at a time."""
    given = draws(imputations)
    for record in HOLED:
        for shown in itertools.product(values(record), repeat=imputations):
            fills = [filled({int(record): value}) for value in shown]
            before, after = label_beliefs(data, np.array([record]), zip(fills, given, strict=True))
            assert after[0, :3] == pytest.approx(believed(record, list(shown), given))
            assert before[0, :3] == pytest.approx(believed(record, [{}] * imputations, given))
            assert not after[:, 3:].any()


def expected(data: us.Microdata, record: int, given: Parameters, label: int | None) -> Any:
    """Mean belief over what one imputation could show, drawn with a label or without: (label,)."""
    there = observed(record) if label is None else {**observed(record), "town": label}
    total = np.zeros(3)
    for value in values(record):
        share = chance(given, {**there, **value}) / chance(given, there)
        fills = [(filled({record: value}), given)]
        total += share * label_beliefs(data, np.array([record]), fills)[1][0, :3]
    return total


def test_values_that_are_imputed_without_the_label_tell_nothing(data: us.Microdata) -> None:
    """On average over them beliefs are those with holes, exactly; with the label they are not.

    Then the belief in it is higher by p(label) times the chi-square divergence of the values.
    """
    (given,) = draws(1)
    for record in map(int, HOLED):
        there = observed(record)
        prior = believed(record, [{}], [given])
        assert expected(data, record, given, None) == pytest.approx(prior)
        for label in range(3):
            own = {**there, "town": label}
            ratio = sum(
                (chance(given, {**own, **value}) / chance(given, own)) ** 2
                / (chance(given, {**there, **value}) / chance(given, there))
                for value in values(record)
            )
            belief = expected(data, record, given, label)[label]
            assert belief == pytest.approx(prior[label] * ratio)
            assert belief > prior[label] + 1e-6


def test_sums_are_over_records_with_an_imputed_value_and_a_label(data: us.Microdata) -> None:
    given = draws(2)
    shown = [{int(record): next(values(int(record))) for record in HOLED} for _ in given]
    effect = imputed_effect(data, zip(map(filled, shown), given, strict=True))
    assert effect is not None
    assert (effect.records, effect.measured) == (4, 4)
    labels = [row[-1] for row in ROWS]
    own = [
        believed(r, [imputed[r] for imputed in shown], given)[labels[r]] for r in map(int, HOLED)
    ]
    without = [believed(r, [{}, {}], given)[labels[r]] for r in map(int, HOLED)]
    assert effect.with_values == pytest.approx(sum(own))
    assert effect.with_holes == pytest.approx(sum(without))
    error = np.std(np.subtract(own, without), ddof=1) * 2
    assert effect.standard_error == pytest.approx(error)


def test_nothing_to_measure_without_holes_in_kept_variables(data: us.Microdata) -> None:
    frame = data.frame("polars").with_columns(pl.col("a", "b").fill_null(strategy="max"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        whole = us.read_microdata(frame.cast(pl.String).with_columns(pl.col("a", "b").fill_null(
            "a0")), synthesize="town", missing="model")  # fmt: skip
    assert whole.with_holes == ("town",)
    assert imputed_effect(whole, []) is None


@pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")
def test_a_fit_measures_the_values_that_its_sets_show() -> None:
    """A value that all but repeats the label tells it; one that has nothing to do with it, hardly.

    The same seed fills the holes as the sets show them.
    """
    generator, n = stream(9, "what values tell"), 400
    town = generator.integers(0, 4, n)
    told = np.where(generator.random(n) < 0.9, town, generator.integers(0, 4, n))
    table = pl.DataFrame(
        {"sex": generator.choice(["f", "m"], n), "town": [f"t{code}" for code in town],
         "like": [f"v{code}" for code in told], "noise": generator.choice(["x", "y"], n)}
    ).with_row_index()  # fmt: skip
    for name, gain in (("like", True), ("noise", False)):
        holed = table.with_columns(pl.when(pl.col("index") % 8 > 0).then(name).alias(name))
        data = us.read_microdata(
            holed.drop("index"), synthesize="town", missing="model",
            keep=["sex", name],
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnderstudyWarning)
            fit = us.DPMPM().fit(data, chains=2, warmup=100, draws=100, seed=4)
        effect = fit.imputed_effect(5, 11)
        sets = fit.synthesize_imputed(imputations=5, sets=1, seed=11)
        shown = [
            ({name: sets.filled[name][number]}, fit._parameters(*position))
            for number, position in enumerate(fit._spread(5))
        ]
        assert effect is not None
        assert effect == imputed_effect(data, shown)
        assert effect.records == 50
        if gain:
            assert effect.with_values > effect.with_holes + 20
            assert effect.with_values > 40
        else:
            assert abs(effect.with_values - effect.with_holes) < 3
