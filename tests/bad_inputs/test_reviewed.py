"""What careful readers found: each was once wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest

from tests.bad_inputs.cases import SECRET, accepted, refused
from tests.conftest import Command, MakeFile
from understudy import SyntheticSets, read_synthetic
from understudy.errors import (
    ColumnError,
    FormatError,
    InputError,
    LevelError,
    OutputError,
    SettingError,
)
from understudy.microdata.bins import Bins
from understudy.microdata.codebook import Codebook, VariableBook

COUNTY = ["x", "y", "x", "y"]
GOOD = "a,county\n1,x\n2,y\n1,y\n2,x\n"


def test_repeated_names_in_an_arrow_table_show_no_values() -> None:
    column = pa.array([SECRET, "other"] * 6)
    refused(None, ColumnError, '"a" more than once', pa.table([column, column], names=["a", "a"]))


@pytest.mark.parametrize(
    "first",
    [f"{SECRET},1971-03-04,Springfield", "1,2,3", "f,20-40,Springfield", "m,20-40,x"],
)
def test_a_file_without_a_header_shows_nothing(
    command: Command, make_file: MakeFile, tmp_path: Path, first: str
) -> None:
    path = make_file(f"{first}\nm,20-40,Springfield\nf,20-40,Shelbyville\n")
    says = "looks like a record"
    refused(command, FormatError, says, path, synthesize="town")
    assert SECRET not in command("init", path, "--out", tmp_path).err
    assert not (tmp_path / "plan.toml").exists()


def test_names_with_a_record_in_them_are_not_listed(command: Command, make_file: MakeFile) -> None:
    path = make_file(f'"a,b\n{SECRET},x\n",c\n1,x\n2,y\n')
    refused(command, ColumnError, "the 2 columns found", path, synthesize="town")


@pytest.mark.parametrize(
    "lost", [f'{SECRET} = "North"', f"[variables.county.labels]\n{SECRET} = 5"]
)
def test_levels_in_the_wrong_place_of_a_codebook(
    command: Command, make_file: MakeFile, lost: str
) -> None:
    book = make_file(f"[variables.county]\n{lost}\n", "book.toml")
    path = make_file(GOOD)
    refused(command, SettingError, "variables.county", path, "--codebook", book, codebook=book)


def test_a_codebook_prints_shapes_only() -> None:
    book = Codebook(variables={"county": VariableBook(levels=(SECRET,), labels={SECRET: SECRET})})
    assert SECRET not in f"{book!r} {book} {book.variables!r}"


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


def test_missing_text_comes_back_from_every_format(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["p", None] * 6, "county": COUNTY * 3})
    for source in (accepted(frame, missing="level"), _coded(tmp_path, frame)):
        for ending in (".parquet", ".dta", ".sav"):
            path = source.write(tmp_path / f"a{ending}", overwrite=True)
            again = accepted(path, missing="level")
            assert again.frame()["a"].to_list() == ["p", None] * 6, ending


def _coded(tmp_path: Path, frame: pl.DataFrame) -> Any:
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


def test_there_is_one_zero(tmp_path: Path) -> None:
    path = tmp_path / "a.dta"
    pyreadstat.write_dta(pl.DataFrame({"a": [0.0, -0.0, 1.0, 1.0], "county": COUNTY}), path)
    assert accepted(path).variable("a").levels == ("0", "1")


def test_names_of_cut_points() -> None:
    assert Bins(cuts=(1234567.1, 1234567.2)).group_names[1] == "1234567.1-1234567.2"
    assert Bins(cuts=(-5.0, -2.0)).group_names == ("<-5", "-5 to -2", ">=-2")
    assert Bins(cuts=(0.1, 20.0)).group_names == ("<0.1", "0.1-20", ">=20")


def test_bins_take_numpy_and_are_strict(make_file: MakeFile) -> None:
    path = make_file(GOOD)
    assert accepted(path, bins={"a": np.int64(2)}).variable("a").n_levels == 2
    assert accepted(path, bins={"a": np.array([2])}).variable("a").levels == ("<2", ">=2")
    refused(None, SettingError, "quantiles", path, bins={"a": {"quantiles": "4"}})
    wrong = {"a": {"cuts": [2], "names": ["lo", "(missing)"]}}
    refused(None, SettingError, "missing values", path, bins=wrong)
    book = {"variables": {"county": {"levels": ["x", "y", "(missing)"]}}}
    refused(None, SettingError, "missing values", path, codebook=book)


@pytest.mark.parametrize("delimiter", ["\n", '"', "0", "ab", "", "é", 5])
def test_delimiters_that_separate_nothing(
    make_file: MakeFile, tmp_path: Path, delimiter: Any
) -> None:
    data = accepted(make_file(GOOD))
    with pytest.raises(SettingError, match="delimiter"):
        data.write(tmp_path / "out.csv", delimiter=delimiter)
    with pytest.raises(SettingError, match="delimiter"):
        accepted(make_file(GOOD), delimiter=delimiter)


def test_files_that_were_cut_off(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["p", "q"] * 500, "county": COUNTY * 250})
    for ending, write in ((".xpt", pyreadstat.write_xport), (".dta", pyreadstat.write_dta)):
        path = tmp_path / f"a{ending}"
        write(frame, path)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2 + 1])
        with pytest.raises(FormatError, match="cut off"):
            accepted(path)


def test_labels_travel_in_parquet_and_their_loss_is_said(tmp_path: Path) -> None:
    book = {"variables": {"county": {"labels": {"x": "north"}}}}
    data = accepted(pl.DataFrame({"a": ["p", "q"] * 2, "county": COUNTY}), codebook=book)
    again = accepted(data.write(tmp_path / "a.parquet"))
    assert dict(again.variable("county").labels) == {"x": "north"}
    with pytest.warns(UserWarning, match="holds no labels"):
        data.write(tmp_path / "a.csv")


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
    ids=lambda one: str(one.dtype),
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


def test_missing_values_do_not_slow_the_count() -> None:
    """Rows that differ beside a missing value start their search in different places."""
    from understudy.microdata.scanning import _row_slot

    codes = np.array([[n, -1] for n in range(1000)], dtype=np.int32)
    assert len({int(_row_slot(codes, row, 1 << 20)) for row in range(1000)}) > 990


def test_init_keeps_how_the_file_was_read(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    path = make_file("a|county|_row\n1|Århus|1\n2|Fyn|1\n1|Fyn|1\n".encode("latin-1"))
    options = ("--encoding", "latin-1", "--delimiter", "|", "--ignore", "_row", "--out", tmp_path)
    assert command("init", path, "--synthesize", "county", *options).code == 0
    answer = command("check", tmp_path / "plan.toml")
    assert answer.code == 0, answer.err
    assert "No codebook" not in answer.out


def test_check_of_reserved_and_unknown_names(command: Command, make_file: MakeFile) -> None:
    path = make_file("_row,a,county\n1,1,x\n2,2,y\n1,1,x\n")
    assert command("check", path, "--ignore", "_row").code == 0
    assert command("check", path).code == 2
    assert command("check", path, "--ignore", "_row,zzz").code == 2
    kept = command("check", path, "--keep", "a")
    assert "county" not in kept.out.split("Ignored")[0]


def test_check_when_no_column_holds_categories(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"a": [[1], [2]], "b": [[3], [4]]}).write_parquet(path)
    answer = command("check", path, "--synthesize", "a")
    assert answer.code == 2
    assert "a column of categories" in answer.err
    assert '"b"' in answer.err


def test_check_counts_what_reading_would_keep(command: Command, make_file: MakeFile) -> None:
    path = make_file("a,county\n1,x\n2,y\nNA,y\n1,y\n2,x\n")
    answer = command("check", path, "--synthesize", "county", "--na", "NA", "--missing", "drop")
    assert answer.code == 0
    assert "2 patterns of the kept variables" in answer.out


def test_init_with_a_label_that_cannot_be_used(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    rows = "".join(f"{number / 7:.5f},{'ab'[number % 2]}\n" for number in range(40))
    path = make_file("county,a\n" + rows)
    answer = command("init", path, "--synthesize", "county", "--out", tmp_path)
    assert answer.code == 0
    assert "cannot be" in " ".join(answer.out.split())
    assert "[variables.a]" in (tmp_path / "codebook.toml").read_text()


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
    with pytest.raises(SettingError, match="kind of frame"):
        data.frame("bogus")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one synthetic"):
        read_synthetic(data, None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="from read_microdata"):
        read_synthetic(data.frame(), [data.frame()])
    for codes in ([[1]], np.full((1, 4, 1), 0.5)):
        with pytest.raises(InputError, match="whole numbers"):
            SyntheticSets(data, codes)  # type: ignore[arg-type]
    assert len(read_synthetic(data, data.frame())) == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\na,county\n1,x\n", "empty first line"),
        (b"sep=;\na;county\n1;x\n", "spreadsheet"),
        ("a,county\n1,x\n".encode("utf-32"), "UTF-32"),
        (b"ASCII SPSS PORT FILE" + b" " * 50, "portable file"),
    ],
)
def test_odd_first_lines(command: Command, make_file: MakeFile, content: bytes, says: str) -> None:
    refused(command, FormatError, says, make_file(content))


def test_wide_and_long_tables(make_file: MakeFile) -> None:
    wide = ",".join(f"v{n}" for n in range(5000)) + ",county\n"
    row = ",".join("1" for _ in range(5000))
    path = make_file(wide + f"{row},x\n{row},y\n")
    with pytest.warns(UserWarning, match="single level"):
        assert accepted(path, keep=["v1"]).n_records == 2
    long = make_file(f"note;county\n{'words, ' * 30_000};x\nshort;y\n")
    assert accepted(long, ignore="note").n_records == 2


def test_characters_that_are_none(make_file: MakeFile) -> None:
    path = make_file(b"a,county\n\\ud800,x\nb,y\n")
    refused(None, FormatError, "surrogates, not characters", path, encoding="unicode_escape")


def test_the_program_runs_where_nothing_can_be_cached(tmp_path: Path) -> None:
    """A locked-down server: neither the package nor the home folder may be written to."""
    code = (
        "import numba.core.caching as c\n"
        "c.CacheImpl._locator_classes = []\n"
        "import understudy as us\n"
        "print(us.load_ce_like().n_records)"
    )
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        check=False,
        timeout=300,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert ended.stdout.strip() == b"6208", ended.stderr[-500:]


def test_levels_are_sorted_the_same_from_every_source(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [9, 10, -1, 9], "county": COUNTY})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    prints = {accepted(tmp_path / name).fingerprint() for name in ("a.csv", "a.parquet")}
    prints.add(accepted(frame).fingerprint())
    assert len(prints) == 1


def test_labels_beyond_counting() -> None:
    from understudy.microdata.label_table import combined_labels

    frame = pl.DataFrame({f"v{n}": [str(k) for k in range(2000)] for n in range(6)})
    with pytest.warns(UserWarning, match="its own level"):
        data = _many(frame)
    with pytest.raises(InputError, match="machine number"):
        combined_labels(data, data.combinations)


def _many(frame: pl.DataFrame) -> Any:
    from understudy.microdata import plausibility

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plausibility, "LARGEST_TABLE", 10**40)
        return accepted(frame, synthesize=frame.columns)  # type: ignore[arg-type]


def test_an_unused_level_error_is_a_level_error() -> None:
    frame = pl.DataFrame(
        {"a": ["p"] * 4, "county": pl.Series(COUNTY, dtype=pl.Enum(["x", "y", "z"]))}
    )
    refused(None, LevelError, "unused_levels", frame)
