"""Folders of Parquet files: the same data as one file, and refusals that name the file."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import understudy as us
from tests.bad_inputs.cases import covers
from tests.studies import PLAN, files_of, plain_page, run_quietly, write_study
from understudy.errors import ColumnError, FileError, FormatError, UnderstudyError
from understudy.microdata import partitions
from understudy.microdata.screening import inspect_source
from understudy.pages import report
from understudy.randomness import stream
from understudy.spreading import spread_by

CANARY = "canary town"


def records(n: int = 900) -> pl.DataFrame:
    """Invent records: text, declared levels, numbers that are whole or not, and missing values."""
    draw = stream(1, "test partitions")
    towns = np.array(["north", "south", "east", CANARY, "01001"])
    return pl.DataFrame({
        "town": pl.Series(towns[draw.integers(0, 5, n)]),
        "sex": pl.Series(np.array(["m", "f"])[draw.integers(0, 2, n)], dtype=pl.Enum(["m", "f"])),
        "age": pl.Series([None if x > 7 else float(x) for x in draw.integers(0, 9, n)]),
        "weight": pl.Series(draw.random(n)),
    })  # fmt: skip


def folder_of(frame: pl.DataFrame, folder: Path, cuts: list[int], **options: Any) -> Path:
    """Write the rows into files whose names sort in the order of the rows."""
    folder.mkdir()
    for number, (first, last) in enumerate(itertools.pairwise(cuts)):
        frame[first:last].write_parquet(folder / f"part-{number}.parquet", **options)
    return folder


def read(source: Any, **options: Any) -> us.Microdata:
    return us.read_microdata(source, "town", missing="level", pass_through=["weight"], **options)


@pytest.mark.filterwarnings("ignore::understudy.errors.DataWarning")
@pytest.mark.parametrize("cuts", [[0, 900], [0, 1, 450, 450, 900], [0, 300, 600, 900]])
def test_the_same_microdata_as_one_file(tmp_path: Path, cuts: list[int]) -> None:
    frame = records()
    frame.write_parquet(tmp_path / "one.parquet")
    single, several = read(tmp_path / "one.parquet"), read(folder_of(frame, tmp_path / "f", cuts))
    assert several.fingerprint() == single.fingerprint()
    assert several.variables == single.variables
    assert [variable.numeric for variable in single.variables] == [False, False, True]
    drawn = [us.Marginal().fit(data).synthesize(2, seed=3).codes for data in (single, several)]
    assert np.array_equal(drawn[0], drawn[1])


@pytest.mark.filterwarnings("ignore::understudy.errors.DataWarning")
def test_rows_come_in_the_sorted_order_of_names(tmp_path: Path) -> None:
    frame = records(40)
    folder = folder_of(frame, tmp_path / "f", [0, 10, 20, 30, 40])
    (folder / "part-3.parquet").rename(folder / "a.parquet")
    moved = pl.concat([frame[30:], frame[:30]])
    moved.write_parquet(tmp_path / "one.parquet")
    for aside in ("_SUCCESS", ".part-0.parquet.crc"):
        (folder / aside).write_text("no data", encoding="ascii")
    assert read(folder).fingerprint() == read(tmp_path / "one.parquet").fingerprint()


def test_a_number_that_is_whole_in_one_file_only(tmp_path: Path) -> None:
    """Whether a column holds whole numbers is known when all files are."""
    frame = pl.DataFrame({"town": ["n", "s"] * 4, "size": [1.0] * 4 + [1.5] * 4})
    folder = folder_of(frame, tmp_path / "f", [0, 4, 8])
    table = us.microdata.reading.open_table(folder).read(["town", "size"])
    alone = us.microdata.reading.open_table(frame).read(["town", "size"])
    assert table.columns[1].levels == alone.columns[1].levels == ("1.0", "1.5", None)


def test_a_merge_adds_up_as_one_table_does() -> None:
    """Tables with their own numbers of levels, against the rows that they stand for."""
    draw = stream(2, "test partitions")
    merge, rows = partitions.TableMerge(2), []
    for _ in range(3):
        part = pl.DataFrame({name: draw.integers(0, 4, 50).astype(str) for name in "ab"})
        rows.append(part)
        merge.add(us.microdata.reading.open_table(part).read(["a", "b"]))
    columns = us.microdata.reading.open_table(rows[0]).read(["a", "b"]).columns
    table = merge.table(columns)
    values = [
        np.array(levels)[codes] for levels, codes in zip(merge.levels(), table.codes.T, strict=True)
    ]
    whole = pl.concat(rows)
    for name, column in zip("ab", values, strict=True):
        assert column[table.of_record].tolist() == whole[name].to_list()
    assert np.array_equal(np.bincount(table.of_record), table.counts)


@pytest.mark.filterwarnings("ignore::understudy.errors.DataWarning")
def test_reading_is_spread_and_merged_in_order(tmp_path: Path) -> None:
    """Combinations, and the columns that pass through; one file is read here."""
    folder = folder_of(records(), tmp_path / "f", [0, 300, 600, 900])
    alone = folder_of(records(), tmp_path / "one", [0, 900])
    asked: list[tuple[str, str]] = []

    def elsewhere(function: Callable[[Any], Any], tasks: Any) -> Any:
        asked.extend((function.__name__, Path(address).name) for address, _, _ in tasks)
        return iter([function(task) for task in reversed(tasks)][::-1])

    here = read(folder)
    with spread_by(elsewhere):
        there = [read(folder), read(alone)]
    names = ("part-0.parquet", "part-1.parquet", "part-2.parquet")
    read_there = ("count_partition", "partition_values")
    assert asked == [(function, name) for function in read_there for name in names]
    assert [data.fingerprint() for data in there] == [here.fingerprint()] * 2


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*:ResourceWarning")
@pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_workers_read_the_same(tmp_path: Path, number: int) -> None:
    """From a folder, and from an address of fsspec, which Dask needs itself."""
    pytest.importorskip("distributed", reason='needs "understudy[dask]"')
    from tests.clusters import threads_as_workers

    folder = folder_of(records(), tmp_path / "f", [0, 200, 400, 600, 900])
    here = read(folder)
    with threads_as_workers(number) as address, us.on_workers(cluster=address):
        for source in (folder, folder.as_uri()):
            assert read(source).fingerprint() == here.fingerprint()
        (folder / "part-1.parquet").write_bytes(b"PAR1" + bytes(400) + b"PAR1")
        with pytest.raises(FormatError, match=r'Parquet|parquet file "part-1\.parquet"'):
            read(folder)


@pytest.mark.filterwarnings("ignore::understudy.errors.DataWarning")
def test_addresses_that_fsspec_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    frame = records(60)
    here = read(folder_of(frame, tmp_path / "f", [0, 20, 60]))
    address = (tmp_path / "f").as_uri()
    assert read(address).fingerprint() == here.fingerprint()
    only = us.read_microdata(f"{address}/part-1.parquet", "town", missing="level", ignore="weight")
    assert only.n_records == 40
    refusals = {
        f"{tmp_path.as_uri()}/nothing": "FileNotFoundError",
        "nosuchthing://bucket/data": "package for nosuchthing",
        "https://example.org/data.parquet": "internet address",
    }
    (tmp_path / "some.csv").write_text("a,b\n1,2\n", encoding="ascii")
    refusals[(tmp_path / "some.csv").as_uri()] = "another kind"
    for wrong, words in refusals.items():
        with pytest.raises(FileError, match=words):
            read(wrong)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(FileError, match="no package fsspec"):
        read(address)


def _other_names(folder: Path) -> None:
    records(5).rename({"town": "city"}).write_parquet(folder / "part-1.parquet")


def _other_order(folder: Path) -> None:
    records(5).select(pl.all().shuffle(seed=1)).select(
        "sex", "town", "age", "weight"
    ).write_parquet(folder / "part-1.parquet")


def _other_type(folder: Path) -> None:
    records(5).with_columns(pl.col("age").cast(pl.Int64)).write_parquet(folder / "part-1.parquet")


def _other_levels(folder: Path) -> None:
    own = pl.col("sex").cast(pl.String).cast(pl.Enum(["m", "f", CANARY]))
    records(5).with_columns(own).write_parquet(folder / "part-1.parquet")


def _damaged(folder: Path) -> None:
    path = folder / "part-1.parquet"
    path.write_bytes(path.read_bytes()[:-9])


def _of_another_kind(folder: Path) -> None:
    (folder / "part-1.parquet").write_text("town,sex\n", encoding="ascii")


def _empty(folder: Path) -> None:
    (folder / "part-1.parquet").write_bytes(b"")


def _others_beside(folder: Path) -> None:
    (folder / "readme.txt").write_text(CANARY, encoding="ascii")


def _folders_inside(folder: Path) -> None:
    (folder / "year=2020").mkdir()


@covers(154)
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_other_names, r'"part-1.parquet".*"town" absent, "city" more'),
        (_other_order, r'"part-1.parquet".*another order'),
        (_other_type, r'"part-1.parquet".*another type of "age".*Int64 here, Float64 there'),
        (_other_levels, r'"part-1.parquet".*another type of "sex"'),
        (_damaged, r'"part-1.parquet".*damaged'),
        (_of_another_kind, r'"part-1.parquet"'),
        (_empty, r'"part-1.parquet".*0 bytes'),
        (_others_beside, '"readme.txt" beside them'),
        (_folders_inside, '"year=2020" beside them.*must be a column'),
    ],
)  # fmt: skip
def test_a_folder_that_is_no_data_set(
    tmp_path: Path, spoil: Callable[[Path], None], words: str
) -> None:
    folder = folder_of(records(60), tmp_path / "f", [0, 20, 60])
    spoil(folder)
    with pytest.raises((FileError, FormatError), match=words) as caught:
        us.read_microdata(folder, "town", missing="level", ignore="weight")
    assert CANARY not in str(caught.value)


def test_a_column_that_holds_no_categories_is_named(tmp_path: Path) -> None:
    frame = pl.DataFrame({"town": ["n", "s"] * 10, "day": pl.Series([1, 2] * 10).cast(pl.Date)})
    folder = folder_of(frame, tmp_path / "f", [0, 10, 20])
    with pytest.raises(ColumnError, match='column "day"'):
        us.read_microdata(folder, "town")
    assert [column.name for column in inspect_source(folder, "town").columns] == ["town", "day"]


@covers(154)
@pytest.mark.parametrize("event", ["added", "changed", "removed"])
def test_a_folder_that_changes_while_it_is_read(tmp_path: Path, event: str) -> None:
    folder = folder_of(records(60), tmp_path / "f", [0, 20, 60])
    table = us.microdata.reading.open_table(folder)
    if event == "added":
        records(5).write_parquet(folder / "part-2.parquet")
    elif event == "changed":
        os.utime(folder / "part-0.parquet", (1, 1))
    else:
        (folder / "part-1.parquet").unlink()
    with pytest.raises(UnderstudyError, match=r"changed meanwhile|another one"):
        table.read(["town", "sex"])


def test_a_study_of_a_folder_has_the_bytes_of_one_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "page", plain_page)
    plan = write_study(tmp_path)
    frame = pl.read_csv(tmp_path / "data.csv", infer_schema=False)
    frame.write_parquet(tmp_path / "one.parquet")
    folder_of(frame, tmp_path / "f", [0, 15, 40])
    made = []
    for source in ("one.parquet", "f"):
        text = PLAN.replace("{file}", source)
        plan.write_text(text, encoding="utf-8")
        run_quietly(plan, tmp_path / f"study of {source}")
        files = files_of(tmp_path / f"study of {source}")
        named = {"internal/plan.toml", "internal/study.json"}  # hold the name of the source
        made.append({name: digest for name, digest in files.items() if name not in named})
    assert "internal/sets/dpmpm/01.parquet" in made[0]
    assert made[0] == made[1]
