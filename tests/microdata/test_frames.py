"""Data frames of pandas, Polars and pyarrow, and Parquet files: their columns become levels."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.bad_inputs.cases import SECRET, accepted, refused, warned
from tests.conftest import Command
from understudy.errors import (
    ColumnError,
    FormatError,
    InputError,
    LevelError,
)

COUNTY = ["x", "y", "x", "y"]


def test_repeated_names_in_an_arrow_table_show_no_values() -> None:
    column = pa.array([SECRET, "other"] * 6)
    refused(None, ColumnError, '"a" more than once', pa.table([column, column], names=["a", "a"]))


def test_a_frame_that_cannot_be_computed_shows_no_values() -> None:
    lazy = pl.LazyFrame({"a": [SECRET, "b"], "county": ["x", "y"]})
    refused(None, FormatError, "computation fails", lazy.with_columns(pl.col("a").cast(pl.Int64)))
    refused(None, InputError, "plan fails", lazy.select("nowhere"))


def test_damaged_pages_of_a_parquet_file(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    values = [f"{SECRET}{n % 97}" for n in range(5000)]
    pl.DataFrame({"a": ["p", "q"] * 2500, "county": values}).write_parquet(path)
    content = bytearray(path.read_bytes())
    content[200:400] = b"\xff" * 200
    path.write_bytes(content)
    refused(command, FormatError, "damaged", path)


@pytest.mark.parametrize(
    "values",
    [
        pd.array([1, 2, None, 1], dtype="Int64"),
        pd.array([1, 2, None, 1], dtype="UInt64"),
        pd.array([1, 2, None, 1], dtype=pd.ArrowDtype(pa.int64())),
        pd.array([1, 2, np.nan, 1], dtype="float64"),
        pd.array([1, 2, None, 1], dtype="Float64"),
        pd.array(["1", "2", None, "1"], dtype="string"),
        pd.Categorical([1, 2, None, 1]),
        pd.array(
            ["1", "2", None, "1"], dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
        ),
        np.array([1, "2", None, "1"], dtype=object),
    ],
    ids=lambda column: str(column.dtype),
)
def test_pandas_columns_with_gaps(values: Any) -> None:
    frame = pd.DataFrame({"a": values, "county": COUNTY}, index=[7, 5, 3, 1])
    data = accepted(frame, missing="level")
    assert data.frame("polars")["a"].to_list() == ["1", "2", None, "1"]


def test_more_pandas_columns() -> None:
    truth = pd.array([True, False, None, True], dtype="boolean")
    data = accepted(pd.DataFrame({"a": truth, "county": COUNTY}), missing="level")
    assert data.variable("a").present_levels == ("false", "true")
    days = pd.to_datetime(["2020-01-01", None, "2020-01-03", "2020-01-04"])
    frame = pd.DataFrame({"a": days, "county": COUNTY})
    refused(None, ColumnError, "dates or times", frame)
    assert accepted(frame, ignore="a").kept == ()
    mixed = pd.DataFrame({"a": pd.Categorical([1, "1", 1, "1"]), "county": COUNTY})
    with pytest.warns(UserWarning, match="single level"):
        assert accepted(mixed).frame("polars")["a"].to_list() == ["1"] * 4
    cut = pd.DataFrame({"a": pd.cut(pd.Series([1, 5, 1, 5]), [0, 3, 9]), "county": COUNTY})
    with pytest.warns(UserWarning, match="unordered"):
        assert accepted(cut).variable("a").levels == ("(0, 3]", "(3, 9]")


def test_whole_numbers_stored_as_others(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0, 10.0, None], "county": COUNTY})
    frame.write_parquet(tmp_path / "a.parquet")
    levels = accepted(tmp_path / "a.parquet", missing="level").variable("a").present_levels
    assert levels == ("1", "10", "2")
    exact = pl.DataFrame({"a": [Decimal(2**60 + 1), Decimal(2)] * 2, "county": COUNTY})
    exact = exact.cast({"a": pl.Decimal(38, 0)})
    assert accepted(exact).variable("a").levels == (str(2**60 + 1), "2")


def test_an_unused_level_error_is_a_level_error() -> None:
    frame = pl.DataFrame(
        {"a": ["p"] * 4, "county": pl.Series(COUNTY, dtype=pl.Enum(["x", "y", "z"]))}
    )
    refused(None, LevelError, "unused_levels", frame)


def test_ordered_note_is_only_a_note() -> None:
    ordered = pd.DataFrame(
        {"a": pd.Categorical(["l", "h", "l"], ["l", "h"], ordered=True), "county": list("xyx")}
    )
    assert warned("unordered", ordered).n_records == 3
