"""Small invented surveys and synthetic sets for the tests of utility."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from tests.naive import utility as naive

from understudy.errors import DataWarning
from understudy.microdata.reading import read_microdata
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.randomness import stream
from understudy.utility.noise_floors import perfect_codes
from understudy.utility.regression.design import make_design
from understudy.utility.regression.fitted_regression import Fit
from understudy.utility.regression.formula import read_formula


def data_from(columns: Mapping[str, Sequence[str]], synthesize: Sequence[str]) -> Microdata:
    """Read columns of texts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # tiny data deserve every second look
        return read_microdata(pl.DataFrame(dict(columns)), synthesize=list(synthesize))


def some_data(seed: int, n: int = 300, labels: int = 7, second: bool = False) -> Microdata:
    """Make records with one or two synthesized labels that depend on two kept variables."""
    generator = stream(seed, "test", "data")
    sex = generator.integers(0, 2, n)
    age = generator.integers(0, 3, n)
    town = (generator.integers(0, labels, n) + sex * generator.integers(0, 2, n)) % labels
    columns = {
        "sex": [f"s{code}" for code in sex],
        "age": [f"a{code}" for code in age],
        "town": [f"t{code}" for code in town],
    }
    if second:
        columns["job"] = [f"j{code}" for code in (town + generator.integers(0, 2, n)) % 3]
    return data_from(columns, ["town", "job"] if second else ["town"])


def income_survey(seed: int = 1, n: int = 800, towns: int = 8) -> Microdata:
    """Records in which income depends on town, age and sex."""
    generator = stream(seed, "test", "survey")
    sex, age = generator.integers(0, 2, n), generator.integers(0, 3, n)
    town = generator.integers(0, towns, n)
    latent = 0.3 * town - 0.5 * sex + 0.4 * age + generator.logistic(size=n)
    income = np.digitize(latent, [0.5, 1.5, 2.5])
    return data_from(
        {
            "sex": [f"s{code}" for code in sex],
            "age": [f"a{code}" for code in age],
            "income": [str(code + 1) for code in income],
            "town": [f"t{code}" for code in town],
        },
        ["town"],
    )


def drawn_from_population(
    seed: int, n: int, n_sets: int, labels: int = 7
) -> tuple[Microdata, SyntheticSets]:
    """Draw a sample from a known population, and sets of a synthesizer that knows it.

    Two kept variables with 2 and 3 levels; the label's probabilities differ by pattern and are the
    same for every seed. Kept values are the same in the sample and the sets.
    """
    shares = stream(99, "test", "population").dirichlet(np.full(labels, 3.0), size=6)
    generator = stream(seed, "test", "sample")
    pattern = np.arange(n) % 6
    drawn = np.array(
        [
            (generator.random(n)[:, None] > np.cumsum(shares, axis=1)[pattern]).sum(axis=1)
            for _ in range(1 + n_sets)
        ]
    ).clip(max=labels - 1)  # (original and sets, record)
    columns = {
        "sex": [f"s{code}" for code in pattern // 3],
        "age": [f"a{code}" for code in pattern % 3],
        "town": [f"t{code}" for code in drawn[0]],
    }
    data = data_from(columns, ["town"])
    assert data.variable("town").levels == tuple(f"t{code}" for code in range(labels))
    return data, SyntheticSets(data, drawn[1:, :, None].astype(np.int32))


def perfect_sets(data: Microdata, number: int, seed: int = 0) -> SyntheticSets:
    """Sets of the perfect synthesizer."""
    generator = stream(seed, "test", "perfect")
    return SyntheticSets(data, np.stack([perfect_codes(generator, data) for _ in range(number)]))


def uniform_sets(data: Microdata, number: int, seed: int = 0) -> SyntheticSets:
    """Sets with labels drawn at random, which can leave the original's support."""
    generator = stream(seed, "test", "uniform")
    codes = [
        generator.integers(0, data.variable(name).n_levels, (number, data.n_records))
        for name in data.synthesized
    ]
    return SyntheticSets(data, np.stack(codes, axis=2).astype(np.int32))


def rows_of(frame: pl.DataFrame) -> list[dict[str, str]]:
    """Records as dictionaries of texts."""
    return frame.cast(pl.String).to_dicts()


def fit_of_records(data: Microdata, text: str, kind: Any) -> tuple[Fit, np.ndarray[Any, Any], Any]:
    """Fit record by record, and give the dense design and the response beside it."""
    formula = read_formula(text, data)
    design = make_design(data, formula)
    codes = np.column_stack([data.codes(name) for name in formula.names])
    response = data.codes(formula.response)
    rows = design.indicators(codes)
    fit = kind(rows, response, np.ones(len(response)))
    return fit, naive.indicator_matrix(design.columns, rows_of(data.frame())), response
