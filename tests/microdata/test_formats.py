"""Parquet, Stata, SPSS and SAS files: there and back, with labels."""

from __future__ import annotations

import gzip
import itertools
import stat
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyreadstat
import pytest

from tests.bad_inputs.cases import SECRET, accepted, warned
from tests.conftest import MakeFile
from understudy import SyntheticSets, load_ce_like
from understudy.errors import (
    AlignmentError,
    FormatError,
    InputError,
    MissingValuesError,
    OutputError,
)
from understudy.microdata import statistical_formats
from understudy.microdata.bundled import CODEBOOK
from understudy.microdata.synthetic_files import read_synthetic

FRAME = pl.DataFrame(
    {"sex": [1, 2, 2, 1, 9], "county": ["01", "02", "é", "01", "02"], "age": [3, 1, 2, 3, 1]}
)
SAS = Path(__file__).parent / "sas"
LABELS: dict[str, Any] = {"sex": {1: "man", 2: "woman", 3: "never seen"}}


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet", ".dta", ".sav"])
def test_bundled_data_come_back(tmp_path: Path, ending: str) -> None:
    data = load_ce_like()
    path = data.write(tmp_path / f"ce{ending}")
    assert accepted(path, codebook=CODEBOOK).fingerprint() == data.fingerprint()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


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
    monkeypatch.setattr(statistical_formats, "CHUNK", 2)
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
    with pytest.raises(OutputError, match="make room on the disk"):
        data.write(path, overwrite=True)
    assert path.read_bytes() == before
    monkeypatch.setattr("tempfile.mkstemp", full)
    with pytest.raises(OutputError, match="refuses"):
        data.write(tmp_path / "other.csv")
    assert [one.name for one in tmp_path.iterdir()] == ["out.csv"]


def test_nul_cannot_be_written_as_text(tmp_path: Path) -> None:
    data = accepted(pl.DataFrame({"a": ["p", "q"] * 2, "county": ["x\x00", "y"] * 2}))
    with pytest.raises(OutputError, match="NUL"):
        data.write(tmp_path / "out.csv")
    assert data.write(tmp_path / "out.parquet").exists()


def test_missing_values_are_written_as_their_code(tmp_path: Path, make_file: MakeFile) -> None:
    text = "a,county\n1,NA\n2,x\nNA,y\n"
    data = accepted(make_file(text), missing="level", na=["NA"])
    assert data.write(tmp_path / "out.csv").read_text() == text


def test_sets_are_written_and_read_again(tmp_path: Path) -> None:
    data = accepted(FRAME)
    codes = data.codes("county")[None, :, None].repeat(3, axis=0)
    codes[1] = 0
    sets = SyntheticSets(data, codes)
    for ending in (".csv", ".parquet", ".dta", ".sav"):
        folder = tmp_path / ending
        folder.mkdir()
        paths = sets.write(folder, ending)
        assert [path.name for path in paths] == [f"synthetic-0{n}{ending}" for n in (1, 2, 3)]
        again = read_synthetic(data, paths)
        assert (again.codes == codes).all()
    one = read_synthetic(data, paths[0])
    assert len(one) == 1


def test_synthetic_files_must_stand_beside_the_records(tmp_path: Path) -> None:
    data = accepted(FRAME)
    with pytest.raises(AlignmentError, match="in another order"):
        read_synthetic(data, [FRAME[[1, 0, 2, 3, 4]]])
    with pytest.raises(AlignmentError, match=r"5 records.*found 4"):
        read_synthetic(data, [FRAME[:4]])
    with pytest.raises(InputError, match="at least one synthetic"):
        read_synthetic(data, [])
    holes = FRAME.with_columns(pl.Series("county", ["01", None, "é", "01", "02"]))
    with pytest.raises(MissingValuesError, match="1 of 2 synthetic files"):
        read_synthetic(data, [FRAME, holes])
    with_missing = accepted(holes, missing="level")
    assert read_synthetic(with_missing, [holes]).codes[0, 1, 0] == 3
    assert read_synthetic(with_missing, [FRAME]).codes[0, 1, 0] == 1
    coded = FRAME.with_columns(pl.Series("county", ["01", "??", "é", "01", "02"]))
    assert read_synthetic(with_missing, [coded], na=["??"]).codes[0, 1, 0] == 3


def test_all_orders_of_columns_are_one_data_set() -> None:
    prints = set()
    for order in itertools.permutations(FRAME.columns):
        data = accepted(FRAME.select(order))
        assert data.names == order
        prints.add(tuple(sorted(map(tuple, data.frame().select(FRAME.columns).rows()))))
    assert len(prints) == 1


def test_ordered_note_is_only_a_note() -> None:
    ordered = pd.DataFrame(
        {"a": pd.Categorical(["l", "h", "l"], ["l", "h"], ordered=True), "county": list("xyx")}
    )
    assert warned("unordered", ordered).n_records == 3
