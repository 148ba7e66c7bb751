"""Small invented data for the tests of this room."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from understudy.errors import DataWarning
from understudy.microdata.reading import read_microdata
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.randomness import stream
from understudy.utility.noise_floors import perfect_codes


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
        "sex": [f"s{one}" for one in sex],
        "age": [f"a{one}" for one in age],
        "town": [f"t{one}" for one in town],
    }
    if second:
        columns["job"] = [f"j{one}" for one in (town + generator.integers(0, 2, n)) % 3]
    return data_from(columns, ["town", "job"] if second else ["town"])


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
