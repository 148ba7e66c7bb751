"""Rows 31 to 43: types of values."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.bad_inputs.cases import SECRET, accepted, covers, refused, warned
from tests.conftest import Command, MakeFile
from understudy.errors import ColumnError, InputError, LevelError, MissingValuesError, SettingError

COUNTY = ["x", "y", "x", "y"]


@covers(31)
def test_mixed_numbers_and_text() -> None:
    frame = pd.DataFrame({"a": pd.Series(["1", 1, "01", True], dtype=object), "county": COUNTY})
    assert accepted(frame).variable("a").levels == ("01", "1", "true")


@covers(32)
def test_leading_zeros(make_file: MakeFile) -> None:
    data = accepted(make_file("a,county\n1,01001\n2,1001\n1,01001\n"))
    assert data.variable("county").levels == ("01001", "1001")


@covers(33)
def test_large_whole_numbers(make_file: MakeFile, tmp_path: Path) -> None:
    big = [2**53 + 1, 2**53, 2**62 + 1, 2**53]
    texts = sorted({str(number) for number in big})
    frame = pl.DataFrame({"a": big, "county": COUNTY})
    assert accepted(frame).variable("a").levels == tuple(texts)
    frame.write_parquet(tmp_path / "big.parquet")
    assert accepted(tmp_path / "big.parquet").variable("a").levels == tuple(texts)
    assert set(accepted(make_file(frame.write_csv())).variable("a").levels) == set(texts)


@covers(34)
def test_decimal_numbers(command: Command, make_file: MakeFile, tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1.5, 2.5, 3.5, 4.5], "county": COUNTY})
    frame.write_parquet(tmp_path / "a.parquet")
    refused(command, ColumnError, "bin them first", tmp_path / "a.parquet")
    assert accepted(frame, bins={"a": "median"}).variable("a").levels == ("Q1", "Q2")
    rows = "".join(f"{number / 7:.6f},{'xy'[number % 2]}\n" for number in range(60))
    path = make_file("a,county\n" + rows)
    refused(command, ColumnError, r"bin them first.*--bins", path)
    assert accepted(path, bins={"a": [2, 5]}).variable("a").levels == ("<2", "2-5", ">=5")
    few = make_file("a,county\n1.5,x\n2.5,y\n1.5,y\n2.5,x\n")
    assert accepted(few).variable("a").levels == ("1.5", "2.5")


@covers(34)
def test_decimal_codes_may_be_declared(make_file: MakeFile) -> None:
    codes = [f"{number}.{number % 10}" for number in range(40)]
    rows = "".join(f"{code},{'xy'[number % 2]}\n" for number, code in enumerate(codes * 2))
    path = make_file("a,county\n" + rows)
    refused(None, ColumnError, "declare them in a codebook", path)
    assert accepted(path, codebook={"variables": {"a": {"levels": codes}}}).n_records == 80


@covers(35)
def test_true_and_false(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [True, False, True, False], "county": COUNTY})
    frame.write_parquet(tmp_path / "a.parquet")
    for source in (frame, frame.to_pandas(), frame.to_arrow(), tmp_path / "a.parquet"):
        assert accepted(source).variable("a").levels == ("false", "true")


@covers(36)
def test_dates(command: Command, tmp_path: Path) -> None:
    days = [dt.date(2020, 1, day) for day in (1, 2, 3, 4)]
    frame = pl.DataFrame({"a": days, "county": COUNTY})
    frame.write_parquet(tmp_path / "a.parquet")
    refused(command, ColumnError, "dates or times.*groups", tmp_path / "a.parquet")
    refused(None, ColumnError, "dates or times", frame.to_pandas().astype({"a": "datetime64[ns]"}))
    assert accepted(frame, ignore="a").kept == ()


@covers(37)
def test_declared_levels_that_nobody_has(command: Command, tmp_path: Path) -> None:
    levels = ["z", "y", "x"]
    categories = pd.Categorical(COUNTY, categories=levels)
    frame = pd.DataFrame({"a": list("pqqp"), "county": categories})
    refused(None, LevelError, "1 declared level.*unused_levels", frame)
    assert accepted(frame, unused_levels="keep").variable("county").levels == ("z", "y", "x")
    assert accepted(frame, unused_levels="drop").variable("county").levels == ("y", "x")
    book = {"variables": {"county": {"levels": ["x", "y", "z"]}}}
    assert accepted(frame, codebook=book).variable("county").levels == ("x", "y", "z")
    path = tmp_path / "a.parquet"
    pl.DataFrame(
        {"a": list("pqqp"), "county": pl.Series(COUNTY, dtype=pl.Enum(levels))}
    ).write_parquet(path)
    refused(command, LevelError, "unused_levels", path)
    assert command("check", path, "--synthesize", "county", "--unused-levels", "keep").code == 0
    with pytest.raises(SettingError, match="unused_levels"):
        accepted(path, unused_levels="maybe")


@covers(38)
def test_ordered_categories() -> None:
    ordered = pd.Categorical(["lo", "hi", "lo", "hi"], categories=["lo", "hi"], ordered=True)
    data = warned("unordered", pd.DataFrame({"a": ordered, "county": COUNTY}))
    assert data.variable("a").levels == ("lo", "hi")


@covers(39)
def test_lists_in_cells(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"a": pd.Series([[1], [2], [3], [SECRET]], dtype=object), "county": COUNTY}
    )
    refused(None, ColumnError, "type list", frame)
    assert accepted(frame, ignore="a").kept == ()
    nested = pl.DataFrame({"a": [[1], [2], [3], [4]], "county": COUNTY})
    refused(None, ColumnError, "List", nested)
    refused(None, ColumnError, "List", pa.table(nested.to_arrow()))
    refused(None, InputError, "type int", 5)
    broken = pd.DataFrame(
        {"a": pd.Series(["\ud800", "b", "c", "d"], dtype=object), "county": COUNTY}
    )
    refused(None, ColumnError, "broken characters", broken)


@covers(40)
def test_words_that_look_like_missing(make_file: MakeFile) -> None:
    path = make_file('a,county\n1,NA\n2,None\n1,null\n2,""\n1,""\n2,NaN\n')
    data = accepted(path)
    assert data.variable("county").levels == ("", "NA", "NaN", "None", "null")
    assert data.frame()["county"].null_count() == 0
    refused(None, MissingValuesError, r'"county" \(3\)', path, na=["NA", ""])


@covers(40, 118)
def test_empty_cells_mean_the_same_everywhere(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    """A field in which nothing is written is missing, like null; quoted empty text is a level."""
    rows = [("1", "x"), ("2", None), ("1", "x"), ("2", "y"), ("1", ""), ("2", "")]
    frame = pl.DataFrame(rows, schema=["a", "county"], orient="row")
    text = make_file('a,county\n1,x\n2,\n1,x\n2,y\n1,""\n2,""\n')
    frame.write_csv(tmp_path / "polars.csv")
    assert (tmp_path / "polars.csv").read_bytes() == text.read_bytes()
    frame.write_parquet(tmp_path / "a.parquet")
    sources: list[Any] = [text, frame, frame.to_pandas(), tmp_path / "a.parquet"]
    for source in sources:
        refused(command, MissingValuesError, r'"county" \(1\)', source)
        level = accepted(source, missing="level")
        assert level.variable("county").levels == ("", "x", "y", "(missing)")
        assert level.codes("county").tolist() == [1, 3, 1, 2, 0, 0]
        declared = accepted(source, codebook={"variables": {"county": {"levels": ["", "x", "y"]}}})
        assert declared.codes("county").tolist() == [1, 0, 1, 2, 0, 0]
    back = level.write(tmp_path / "back.parquet")
    assert accepted(back, missing="level").codes("county").tolist() == [1, 3, 1, 2, 0, 0]
    refused(None, MissingValuesError, r'"county" \(1\)', make_file("a,county\n1,x\n2,\n", "b.csv"))


@covers(40)
def test_missing_codes_on_the_command_line(command: Command, make_file: MakeFile) -> None:
    path = make_file("a,county\n1,NA\n2,x\n1,y\n2,x\n")
    assert command("check", path, "--synthesize", "county").code == 0
    refused(command, MissingValuesError, "missing values", path, "--na", "NA", na=["NA"])
    options = ("--na", "NA", "--missing", "level")
    assert command("check", path, "--synthesize", "county", *options).code == 0
    refused(None, SettingError, "that mean missing", path, na=[1])


@covers(41, 42)
def test_missing_values(command: Command, tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["p", None, "q", "p"], "county": ["x", "y", None, "x"]})
    frame.write_parquet(tmp_path / "a.parquet")
    refused(command, MissingValuesError, r'"a" \(1\), "county" \(1\)', tmp_path / "a.parquet")
    refused(None, SettingError, "missing as one of", frame, missing="impute")
    level = accepted(frame, missing="level")
    assert level.variable("county").levels == ("x", "y", "(missing)")
    assert level.frame().equals(frame.cast(level.frame().schema))
    refused(None, LevelError, "nothing to synthesize", frame, missing="drop")
    more = pl.concat([frame, pl.DataFrame({"a": ["q"], "county": ["z"]})])
    dropped = warned("2 of 5 records were left out", more, missing="drop")
    assert (dropped.n_records, dropped.n_dropped) == (3, 2)
    assert dropped.variable("county").levels == ("x", "z")
    nobody = pl.DataFrame({"a": ["p", None], "county": [None, "x"]})
    refused(None, MissingValuesError, "every one of 2 records", nobody, missing="drop")


@covers(41)
def test_not_a_number_and_infinity() -> None:
    frame = pl.DataFrame({"a": [1.0, float("nan"), 2.0, 3.0], "county": COUNTY})
    refused(None, MissingValuesError, r'"a" \(1\)', frame, bins={"a": "median"})
    infinite = pl.DataFrame({"a": [1.0, float("inf"), 2.0, -float("inf")], "county": COUNTY})
    refused(None, ColumnError, "2 of them infinite", infinite)
    refused(None, ColumnError, "2 records with something else", infinite, bins={"a": "median"})


@covers(41)
def test_the_word_for_missing_is_taken(make_file: MakeFile) -> None:
    path = make_file("a,county\n1,(missing)\n2,x\n")
    refused(None, LevelError, "stands for missing", path)


@covers(43)
def test_near_duplicates(command: Command, make_file: MakeFile) -> None:
    path = make_file("a,county\n1,Kent\n2,kent\n1,Kent \n2,Fyn\n1,\u00c5rhus\n2,A\u030arhus\n")
    data = warned("5 levels that differ", path)
    assert data.variable("county").n_levels == 6
    answer = command("check", path, "--synthesize", "county")
    assert answer.code == 0
    assert "5 levels that differ" in " ".join(answer.out.split())
    assert "Kent" not in answer.out
