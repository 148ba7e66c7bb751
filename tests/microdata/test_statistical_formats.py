"""Stata, SPSS and SAS files: values, labels and missing codes as these programs mean them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyreadstat
import pytest

from tests.bad_inputs.cases import SECRET, accepted
from understudy.errors import (
    FormatError,
    InputError,
    MissingValuesError,
)
from understudy.microdata import parser_parent

FRAME = pl.DataFrame(
    {"sex": [1, 2, 2, 1, 9], "county": ["01", "02", "é", "01", "02"], "age": [3, 1, 2, 3, 1]}
)
SAS = Path(__file__).parent / "sas"
LABELS: dict[str, Any] = {"sex": {1: "man", 2: "woman", 3: "never seen"}}
COUNTY = ["x", "y", "x", "y"]


def test_stata_labels_and_numbers_come_back(tmp_path: Path) -> None:
    path = tmp_path / "in.dta"
    pyreadstat.write_dta(
        FRAME, path, variable_value_labels=LABELS, column_labels={"sex": "Sex of head"}
    )
    data = accepted(path)
    sex = data.variable("sex")
    assert sex.levels == ("1", "2", "9")
    assert dict(sex.labels) == {"1": "man", "2": "woman", "3": "never seen"}
    assert sex.description == "Sex of head"
    assert data.variable("county").levels == ("01", "02", "é")
    frame, about = pyreadstat.read_dta(data.write(tmp_path / "out.dta"), output_format="polars")
    assert frame.cast({"sex": pl.Int64, "age": pl.Int64}).equals(FRAME)
    assert about.variable_value_labels == LABELS
    assert about.column_names_to_labels["sex"] == "Sex of head"


def test_spss_labels_of_text_and_missing_ranges(tmp_path: Path) -> None:
    path = tmp_path / "in.sav"
    labels = {**LABELS, "county": {"01": "north"}}
    pyreadstat.write_sav(FRAME, path, variable_value_labels=labels, missing_ranges={"sex": [9]})
    with pytest.raises(MissingValuesError, match=r'"sex" \(1\)'):
        accepted(path)
    data = accepted(path, missing="level")
    assert data.variable("sex").levels == ("1", "2", "(missing)")
    frame, about = pyreadstat.read_sav(data.write(tmp_path / "out.sav"), output_format="polars")
    assert frame["sex"].to_list() == [1, 2, 2, 1, None]
    assert dict(about.variable_value_labels["county"].items()) == labels["county"]
    assert about.variable_value_labels["sex"] == LABELS["sex"]


def test_sas_transport(tmp_path: Path) -> None:
    path = tmp_path / "in.xpt"
    pyreadstat.write_xport(FRAME, path, file_format_version=8)
    assert accepted(path).frame()["sex"].cast(pl.String).to_list() == ["1", "2", "2", "1", "9"]


def sas_file(tmp_path: Path) -> Path:
    """Make a file that begins like a .sas7bdat file and ends soon after."""
    path = tmp_path / "in.sas7bdat"
    path.write_bytes(bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011"))
    return path


def unpacked(name: str, tmp_path: Path) -> Path:
    """Unpack one of the SAS files beside this test."""
    path = tmp_path / name
    path.write_bytes(gzip.decompress((SAS / f"{name}.gz").read_bytes()))
    return path


def test_sas_with_and_without_its_catalog(tmp_path: Path) -> None:
    people, catalog = (unpacked(name, tmp_path) for name in ("people.sas7bdat", "formats.sas7bcat"))
    bins = {"income": [10]}
    data = accepted(people, catalog=catalog, bins=bins, missing="level")
    assert data.frame()["county"].to_list() == ["01001", "1001", "Kent", "01001", "Kent", "1001"]
    assert data.frame()["sex"].to_list() == ["1", "2", "2", "1", "1", None]
    assert data.frame()["income"].to_list() == ["<10"] * 2 + [">=10"] * 4
    assert dict(data.variable("sex").labels) == {"1": "man", "2": "woman"}
    assert data.variable("sex").description == "Sex of the head"
    plain = accepted(people, bins=bins, missing="level")
    assert plain.variable("sex").labels == {}
    back, about = pyreadstat.read_sav(data.write(tmp_path / "out.sav"), output_format="polars")
    assert about.variable_value_labels == {"sex": {1: "man", 2: "woman"}}
    assert back["sex"].to_list() == [1, 2, 2, 1, 1, None]


def test_damaged_statistical_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="damaged"):
        accepted(sas_file(tmp_path))
    stata = tmp_path / "in.dta"
    pyreadstat.write_dta(FRAME, stata)
    cut = tmp_path / "cut.dta"
    cut.write_bytes(stata.read_bytes()[:300])
    with pytest.raises(FormatError, match="damaged"):
        accepted(cut)
    with pytest.raises(InputError, match=r"only beside a .sas7bdat"):
        accepted(stata, catalog=stata)
    parquet = tmp_path / "cut.parquet"
    parquet.write_bytes(b"PAR1" + SECRET.encode())
    with pytest.raises(FormatError, match="damaged") as caught:
        accepted(parquet)
    assert SECRET not in str(caught.value)


def test_wrong_catalog(tmp_path: Path) -> None:
    wrong = tmp_path / "formats.txt"
    wrong.write_text("x")
    with pytest.raises(FormatError, match="SAS catalog"):
        accepted(unpacked("people.sas7bdat", tmp_path), catalog=wrong)


def test_statistical_files_are_read_in_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column that is whole in the first chunk and not in the second is a column of numbers."""
    monkeypatch.setattr(parser_parent, "CHUNK", 2)
    path = tmp_path / "in.dta"
    pyreadstat.write_dta(FRAME, path)
    assert accepted(path).frame()["county"].to_list() == FRAME["county"].to_list()
    mixed = FRAME.with_columns(pl.Series("age", [1.0, 2.0, 3.0, 4.5, 5.0]))
    pyreadstat.write_dta(mixed, tmp_path / "mixed.dta")
    with pytest.raises(ValueError, match="bin them first"):
        accepted(tmp_path / "mixed.dta")
    assert accepted(tmp_path / "mixed.dta", bins={"age": [3]}).variable("age").levels == (
        "<3",
        ">=3",
    )


def test_dates_in_a_stata_file(tmp_path: Path) -> None:
    path = tmp_path / "in.dta"
    dates = pd.DataFrame({"county": list("xyx"), "day": pd.to_datetime(["2020-01-01"] * 3).date})
    pyreadstat.write_dta(dates, path)
    with pytest.raises(ValueError, match="dates or times"):
        accepted(path)
    assert accepted(path, ignore="day").n_records == 3


def test_there_is_one_zero(tmp_path: Path) -> None:
    path = tmp_path / "a.dta"
    pyreadstat.write_dta(pl.DataFrame({"a": [0.0, -0.0, 1.0, 1.0], "county": COUNTY}), path)
    assert accepted(path).variable("a").levels == ("0", "1")


def test_files_that_were_cut_off(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["p", "q"] * 500, "county": COUNTY * 250})
    for ending, write in ((".xpt", pyreadstat.write_xport), (".dta", pyreadstat.write_dta)):
        path = tmp_path / f"a{ending}"
        write(frame, path)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2 + 1])
        with pytest.raises(FormatError, match="cut off"):
            accepted(path)
