"""Reading as a whole: arguments, and the same data from every kind of source."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.bad_inputs.cases import accepted, refused
from tests.conftest import MakeFile
from understudy import SyntheticSets, read_synthetic
from understudy.errors import (
    InputError,
    OutputError,
    SettingError,
)

GOOD = "a,county\n1,x\n2,y\n1,y\n2,x\n"
COUNTY = ["x", "y", "x", "y"]
FRAME = pl.DataFrame(
    {"sex": [1, 2, 2, 1, 9], "county": ["01", "02", "é", "01", "02"], "age": [3, 1, 2, 3, 1]}
)


def test_wrong_types_of_arguments(make_file: MakeFile, tmp_path: Path) -> None:
    path = make_file(GOOD)
    for wrong in ({"keep": 5}, {"ignore": 5}, {"na": None}, {"na": 5}, {"encoding": 5}):
        refused(None, SettingError, "Expected", path, **wrong)
    for synthesize in (None, 5, {"county": 1}, b"county"):
        refused(None, SettingError, "names of columns", path, synthesize=synthesize)  # type: ignore[arg-type]
    refused(None, SettingError, "keys are text", path, codebook={("a", 1): 2})
    data = accepted(path)
    for target in (5, "a\0.csv"):
        with pytest.raises(OutputError, match="path of a file"):
            data.write(target)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="list of names"):
        data.known(5)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="kind of frame as one of"):
        data.frame("bogus")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one synthetic"):
        read_synthetic(data, None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="from read_microdata"):
        read_synthetic(data.frame(), [data.frame()])
    for codes in ([[1]], np.full((1, 4, 1), 0.5)):
        with pytest.raises(InputError, match="whole numbers"):
            SyntheticSets(data, codes)  # type: ignore[arg-type]
    assert len(read_synthetic(data, data.frame())) == 1


def test_levels_are_sorted_the_same_from_every_source(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [9, 10, -1, 9], "county": COUNTY})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    prints = {accepted(tmp_path / name).fingerprint() for name in ("a.csv", "a.parquet")}
    prints.add(accepted(frame).fingerprint())
    assert len(prints) == 1


def test_all_orders_of_columns_are_one_data_set() -> None:
    prints = set()
    for order in itertools.permutations(FRAME.columns):
        data = accepted(FRAME.select(order))
        assert data.names == order
        prints.add(tuple(sorted(map(tuple, data.frame().select(FRAME.columns).rows()))))
    assert len(prints) == 1
