"""Writing: every format gives back what was written, or refuses to write it."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import polars as pl
import pyreadstat
import pytest

from tests.bad_inputs.cases import accepted
from tests.conftest import MakeFile
from understudy import load_ce_like
from understudy.errors import (
    OutputError,
)
from understudy.microdata.bundled import CODEBOOK

FRAME = pl.DataFrame(
    {"sex": [1, 2, 2, 1, 9], "county": ["01", "02", "é", "01", "02"], "age": [3, 1, 2, 3, 1]}
)
COUNTY = ["x", "y", "x", "y"]
GOOD = "a,county\n1,x\n2,y\n1,y\n2,x\n"


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet", ".dta", ".sav"])
def test_bundled_data_come_back(tmp_path: Path, ending: str) -> None:
    data = load_ce_like()
    path = data.write(tmp_path / f"ce{ending}")
    assert accepted(path, codebook=CODEBOOK).fingerprint() == data.fingerprint()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_stata_takes_no_labels_of_text(tmp_path: Path) -> None:
    book = {"variables": {"county": {"labels": {"01": "north"}}}}
    data = accepted(FRAME, codebook=book)
    with pytest.warns(UserWarning, match="numbers only"):
        data.write(tmp_path / "out.dta")


def test_names_that_a_statistical_program_cannot_store(tmp_path: Path) -> None:
    data = accepted(FRAME.rename({"sex": "sex of head!"}))
    with pytest.raises(OutputError, match="letters, digits"):
        data.write(tmp_path / "out.dta")
    assert not list(tmp_path.iterdir())


def test_whole_numbers_beyond_exactness_stay_text(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": [2**60, 2**60 + 1] * 3, "county": list("xyyxxy")})
    data = accepted(frame)
    back, _ = pyreadstat.read_dta(data.write(tmp_path / "out.dta"), output_format="polars")
    assert back["id"].to_list() == [str(2**60), str(2**60 + 1)] * 3


def test_refusals_to_write(
    tmp_path: Path, make_file: MakeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = accepted(FRAME)
    path = data.write(tmp_path / "out.csv")
    for wrong, says in (
        (path, "already there"),
        (tmp_path, "a directory"),
        (tmp_path / "nowhere" / "out.csv", "does not"),
        (tmp_path / "out.xlsx", "ends in one of"),
    ):
        with pytest.raises(OutputError, match=says):
            data.write(wrong)
    assert data.write(path, overwrite=True) == path

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    before = path.read_bytes()
    monkeypatch.setattr("understudy.microdata.writing._write_records", full)
    with pytest.raises(OutputError, match="free space on the disk"):
        data.write(path, overwrite=True)
    assert path.read_bytes() == before
    monkeypatch.setattr("tempfile.mkstemp", full)
    with pytest.raises(OutputError, match="refuses"):
        data.write(tmp_path / "other.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["out.csv"]


def test_nul_cannot_be_written_as_text(tmp_path: Path) -> None:
    data = accepted(pl.DataFrame({"a": ["p", "q"] * 2, "county": ["x\x00", "y"] * 2}))
    with pytest.raises(OutputError, match="NUL"):
        data.write(tmp_path / "out.csv")
    assert data.write(tmp_path / "out.parquet").exists()


def test_missing_values_are_written_as_their_code(tmp_path: Path, make_file: MakeFile) -> None:
    text = "a,county\n1,NA\n2,x\nNA,y\n"
    data = accepted(make_file(text), missing="level", na=["NA"])
    assert data.write(tmp_path / "out.csv").read_text() == text


def test_missing_text_comes_back_from_every_format(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["p", None] * 6, "county": COUNTY * 3})
    for source in (accepted(frame, missing="level"), read_coded(tmp_path, frame)):
        for ending in (".parquet", ".dta", ".sav"):
            path = source.write(tmp_path / f"a{ending}", overwrite=True)
            again = accepted(path, missing="level")
            assert again.frame()["a"].to_list() == ["p", None] * 6, ending


def read_coded(tmp_path: Path, frame: pl.DataFrame) -> Any:
    path = tmp_path / "coded.csv"
    path.write_text(frame.with_columns(pl.col("a").fill_null("NA")).write_csv())
    return accepted(path, missing="level", na=["NA"])


@pytest.mark.parametrize(
    ("level", "ending"),
    [("x ", ".sav"), ("x\0z", ".sav"), ("x\0z", ".dta"), ("", ".dta"), ("x\0z", ".csv")],
)
def test_levels_that_a_format_would_change(tmp_path: Path, level: str, ending: str) -> None:
    data = accepted(pl.DataFrame({"a": ["p", "q"] * 2, "county": ["y", level] * 2}))
    with pytest.raises(OutputError, match="keeps as they are"):
        data.write(tmp_path / f"a{ending}")
    assert not list(tmp_path.iterdir())
    assert accepted(data.write(tmp_path / "a.parquet")).fingerprint() == data.fingerprint()


def test_empty_text_and_missing_are_kept_apart(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["", None, "b", ""], "county": COUNTY})
    data = accepted(frame, missing="level")
    for ending in (".csv", ".sav"):
        with pytest.raises(OutputError, match="missing code"):
            data.write(tmp_path / f"a{ending}")
    again = accepted(data.write(tmp_path / "a.parquet"), missing="level")
    assert again.frame()["a"].to_list() == ["", None, "b", ""]


def test_labels_travel_in_parquet_and_their_loss_is_said(tmp_path: Path) -> None:
    book = {"variables": {"county": {"labels": {"x": "north"}}}}
    data = accepted(pl.DataFrame({"a": ["p", "q"] * 2, "county": COUNTY}), codebook=book)
    again = accepted(data.write(tmp_path / "a.parquet"))
    assert dict(again.variable("county").labels) == {"x": "north"}
    with pytest.warns(UserWarning, match="holds no labels"):
        data.write(tmp_path / "a.csv")
