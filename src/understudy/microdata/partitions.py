"""A data set in several Parquet files: a folder of them, here or wherever fsspec can read.

The rows are those of the files one below the other, in the sorted order of the files' names. Every
file is counted on its own, on a worker where there are any, and the counts are merged: memory grows
with distinct combinations, plus four bytes for each record. What comes out is what a single file
with the same rows gives.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import FileError, FormatError, quoted, quoted_list
from understudy.microdata.coding import (
    CodedColumn,
    CodedTable,
    CombinationStore,
    OpenTable,
    with_missing_last,
    with_whole_numbers,
)
from understudy.microdata.csv_reader import Progress
from understudy.microdata.file_format import (
    RemoteFile,
    SourceFile,
    is_remote,
    open_source,
    unreadable,
)
from understudy.microdata.parser_parent import count_foreign, described_parquet, foreign_values
from understudy.microdata.remote_files import list_remote, open_remote
from understudy.spreading import in_order

__all__ = ["TableMerge", "count_partition", "is_partitioned", "open_partitions", "partition_values"]

ENDINGS = (".parquet", ".pq")
ASIDE = ("_", ".")  # names that other programs give to what is no data: _SUCCESS, .crc
Task = tuple[str, int, tuple[str, ...]]  # address, bytes and wanted columns of a partition


def is_partitioned(source: object) -> bool:
    """Tell whether a source is a folder, or lies on a file system of another kind."""
    if not isinstance(source, str | os.PathLike):
        return False
    return is_remote(source) or (str(source) != "" and Path(source).is_dir())


def open_partitions(source: str | os.PathLike[str], progress: Progress | None) -> OpenTable:
    """Open a folder of Parquet files, or such files elsewhere; see `read_microdata`."""
    parts = _found(source)
    about = [described_parquet(part) for part in parts]
    for part, own in zip(parts[1:], about[1:], strict=True):
        _check_alike(parts[0].name, about[0], part.name, own)
    labels, declared = about[0]["labels"], about[0]["declared"]

    def tasks(columns: Sequence[str]) -> list[Task]:
        return [(part.address, part.n_bytes, tuple(columns)) for part in parts]

    def read(columns: Sequence[str]) -> CodedTable:
        merge, done = TableMerge(len(columns)), 0
        for part, table in zip(parts, in_order(count_partition, tasks(columns)), strict=True):
            merge.add(table)
            done += part.n_bytes
            if progress is not None:
                progress(done, sum(part.n_bytes for part in parts))
        _check_same(source, parts)
        described = [
            CodedColumn(
                column.name,
                levels,
                column.kind,
                labels.get(column.name, {}),
                tuple(declared[column.name]) if column.name in declared else None,
            )
            for column, levels in zip(table.columns, merge.levels(), strict=True)
        ]
        return with_whole_numbers(merge.table(described))

    def values(columns: Sequence[str]) -> pl.DataFrame:
        frames = list(in_order(partition_values, tasks(columns)))
        _check_same(source, parts)
        return pl.concat(frames)

    return OpenTable(tuple(about[0]["names"]), read, values=values)


class TableMerge:
    """Adds up tables of combinations whose levels are numbered each in its own way."""

    def __init__(self, n_columns: int) -> None:
        self._codes: list[dict[str | None, int]] = [{None: -1} for _ in range(n_columns)]
        self._combinations = CombinationStore(n_columns)

    def add(self, table: CodedTable) -> None:
        """Add the records of a table, below those of the tables before it."""
        codes = np.empty_like(table.codes)  # (combination, column)
        for index, column in enumerate(table.columns):
            codes[:, index] = self._new_codes(index, column.levels)[table.codes[:, index]]
        self._combinations.add_counted(codes, table.counts, table.of_record)

    def levels(self) -> list[tuple[str | None, ...]]:
        """List the levels of every column, None last."""
        return [(*(level for level in known if level is not None), None) for known in self._codes]

    def table(self, columns: Sequence[CodedColumn]) -> CodedTable:
        """Return what was added."""
        return with_missing_last(self._combinations.table(columns))

    def _new_codes(self, index: int, levels: Sequence[str | None]) -> NDArray[np.int32]:
        known = self._codes[index]
        new = [known.setdefault(level, len(known) - 1) for level in levels]
        return np.array(new, dtype=np.int32)


def count_partition(task: Task) -> CodedTable:
    """Count the combinations of one file, wherever this runs."""
    return count_foreign(_unchanged(task), None, task[2])


def partition_values(task: Task) -> pl.DataFrame:
    """Read columns of one file as they are, wherever this runs."""
    return foreign_values(_unchanged(task), None, task[2])


def _unchanged(task: Task) -> SourceFile | RemoteFile:
    """Open the file of a task, if it is the one that was asked for."""
    address, n_bytes, _ = task
    try:
        part = _opened(address)
    except FileError:
        part = None
    if part is None or part.n_bytes != n_bytes:
        raise FileError(
            expected=f"the file {quoted(address.rsplit('/', 1)[-1])} as it was when its folder "
            "was opened, on every machine that reads it",
            came="none, or another one",
            do="give a folder that all workers see, and write nothing to it meanwhile",
        )
    return part


def _opened(address: str) -> SourceFile | RemoteFile:
    return open_remote(address) if is_remote(address) else open_source(address)


def _found(source: str | os.PathLike[str]) -> list[SourceFile | RemoteFile]:
    """Open all files of a data set, in the sorted order of their names."""
    if not is_remote(source):
        entries = _listed(Path(source))
        return [open_source(entries[name]) for name in _names(entries, source)]
    addresses = list_remote(str(source))  # None for a single file
    if addresses is None:
        only = open_remote(str(source))
        if not str(source).lower().endswith(ENDINGS):
            raise FileError(
                expected="a Parquet file, or a folder of them, at an address",
                came="a file of another kind",
                do="copy it to this machine and give its path",
            )
        return [only]
    return [open_remote(addresses[name]) for name in _names(addresses, source)]


def _listed(folder: Path) -> dict[str, Path]:
    try:
        return {path.name: path for path in folder.iterdir()}
    except OSError as problem:
        raise unreadable(folder, problem) from None


def _names(entries: Mapping[str, Any], source: str | os.PathLike[str]) -> list[str]:
    """Sort the names of the Parquet files of a folder, and refuse one that holds other things."""
    folder = quoted(str(source).rstrip("/").rsplit("/", 1)[-1])
    names = sorted(name for name in entries if not name.startswith(ASIDE))
    parts = [name for name in names if name.lower().endswith(ENDINGS)]
    if not parts:
        raise FileError(
            expected=f"a file, or a folder of Parquet files, at {folder}",
            came="a directory with none that ends in .parquet",
            do="name a file inside it, or the folder that holds the Parquet files",
        )
    others = [name for name in names if name not in parts]
    if others:
        raise FileError(
            expected=f"Parquet files alone in the folder {folder}",
            came=f"{quoted_list(others)} beside them",
            do="move other files and folders elsewhere; what folders' names say must be a column",
        )
    return parts


def _check_same(source: str | os.PathLike[str], parts: Sequence[SourceFile | RemoteFile]) -> None:
    """Refuse to go on when files were added, removed or changed since the folder was opened."""
    if _found(source) != list(parts):
        raise FileError(
            expected="a folder that stays as it is while it is read",
            came="files that were added, removed or changed meanwhile",
            do="wait until nobody writes to it, then start again",
        )


def _check_alike(
    first: str, wanted: Mapping[str, Any], name: str, given: Mapping[str, Any]
) -> None:
    """Refuse a file whose columns are not those of the first one."""
    if given["names"] != wanted["names"]:
        absent = [column for column in wanted["names"] if column not in given["names"]]
        more = [column for column in given["names"] if column not in wanted["names"]]
        came = f"other columns: {quoted_list(absent)} absent, {quoted_list(more)} more"
        came = came if absent or more else "the same columns in another order"
    else:
        other = [
            column
            for column in wanted["names"]
            if any(
                of.get(column) != own.get(column)
                for of, own in (
                    (wanted[key], given[key]) for key in ("types", "declared", "labels")
                )
            )
        ]
        if not other:
            return
        kinds = [about["types"][other[0]] for about in (given, wanted)]
        came = f"another type of {quoted_list(other)}"
        if kinds[0] != kinds[1]:
            came += f" (of the first: {kinds[0]} here, {kinds[1]} there)"
    raise FormatError(
        expected=f"the columns of {quoted(first)} in the file {quoted(name)} beside it",
        came=came,
        do="write all files with the same columns, in one order and of the same types",
    )
