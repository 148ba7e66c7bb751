"""The m data files: allowed columns only, rows in an order that nobody can repeat.

A set comes in as the bytes that were hashed and goes out as codes of published levels, so that a
file can hold nothing but published levels in published columns. Statistical programs' files carry
the time at which they were written; it is overwritten with the same moment for all.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_one_of
from understudy.errors import (
    DataWarning,
    FileError,
    OutputError,
    ReleaseRefused,
    quoted,
    quoted_list,
)
from understudy.microdata.csv_reader import DELIMITERS
from understudy.microdata.frames import Columns
from understudy.microdata.variable import MISSING, Variable
from understudy.microdata.writing import WRITERS, write_text
from understudy.publishing.evidence import CodebookRecord
from understudy.randomness import unrepeatable_order

__all__ = [
    "Format",
    "check_format",
    "check_whole_columns",
    "data_file",
    "set_codes",
    "write_set",
]

Format = Literal["csv", "parquet", "stata", "spss"]
ENDINGS: dict[str, str] = {"csv": ".csv", "parquet": ".parquet", "stata": ".dta", "spss": ".sav"}
Codes = dict[str, NDArray[np.int32]]  # by variable: (record,)


def check_format(given: object) -> Format:
    """Check the format of the data files."""
    do = "choose one of them; csv is what everybody can read"
    return cast("Format", check_one_of("a format", given, ENDINGS, do))


def data_file(number: int, m: int, form: Format) -> str:
    """Name the file of a set, the first being number 1."""
    return f"synthetic-{number:0{max(2, len(str(m)))}d}{ENDINGS[form]}"


def set_codes(content: bytes, number: int, record: CodebookRecord, n_records: int | None) -> Codes:
    """Turn the bytes of a Parquet file into codes of the codebook's levels, or refuse them.

    `number` is that of the set, for messages; `n_records` is None where rows are not records. Gives
    codes (record,) by variable, the last level's code where a value is missing.
    """
    try:
        frame = pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, OSError):
        raise _unlike(number, "a file that cannot be read as a table") from None
    names = [variable.name for variable in record.variables]
    if sorted(frame.columns) != sorted(names):
        extra = quoted_list(sorted(set(frame.columns) ^ set(names)))
        raise _unlike(number, f"other columns than the codebook's ({extra})")
    if frame.height == 0 or n_records not in {None, frame.height}:
        raise _unlike(number, f"{frame.height:,} rows")
    codes = {
        variable.name: _codes(frame[variable.name], variable.levels, number)
        for variable in record.variables
    }
    _check_possible(codes, record, number)
    return codes


def check_whole_columns(codes: Codes, variables: Sequence[Variable], number: int) -> None:
    """Refuse a set with missing values of a variable that is published without any."""
    for variable in variables:
        if (codes[variable.name] >= variable.n_levels).any():
            raise _unlike(number, f"missing values of {quoted(variable.name)}")


def _codes(column: pl.Series, levels: Sequence[str], number: int) -> NDArray[np.int32]:
    has_missing = bool(levels) and levels[-1] == MISSING
    present = list(levels[:-1] if has_missing else levels)
    if column.dtype != pl.Enum(present):
        raise _unlike(number, f"levels of {quoted(column.name)} that are not the codebook's")
    codes = column.to_physical()
    if has_missing:
        codes = codes.cast(pl.UInt32).fill_null(len(present))
    if codes.null_count():
        raise _unlike(number, f"missing values of {quoted(column.name)}")
    return codes.to_numpy().astype(np.int32)


def _unlike(number: int, came: str) -> FileError:
    return FileError(
        expected=f"synthetic set {number} with the codebook's columns and levels, a row per record",
        came=came,
        do="run the study again, then release it",
    )


def _check_possible(codes: Codes, record: CodebookRecord, number: int) -> None:
    """Refuse a set in which a record has a combination that cannot be."""
    code_of = {
        variable.name: {level: code for code, level in enumerate(variable.levels)}
        for variable in record.variables
    }
    for rule in record.impossible:
        if not set(rule) <= set(codes):
            continue
        hit = np.logical_and.reduce(
            [
                np.isin(codes[name], [code_of[name].get(level, -1) for level in levels])
                for name, levels in rule.items()
            ]
        )
        if hit.any():
            raise ReleaseRefused(
                expected="synthetic records without combinations that the codebook calls "
                "impossible",
                came=f"{int(hit.sum()):,} in set {number} (a rule on {quoted_list(rule)})",
                do="use a synthesizer that keeps to the rules, or correct them, and run again",
            )


def write_set(
    codes: Codes,
    variables: Sequence[Variable],
    path: Path,
    passed: pl.DataFrame | None = None,
    order: Sequence[str] = (),
) -> None:
    """Write one set to a file, whose ending decides on the format, in a fresh random order.

    Where columns pass through, `passed` has a row per record, and `order` names all columns.
    """
    rows = unrepeatable_order(len(next(iter(codes.values()))))
    is_text = path.suffix == ".csv"
    columns: Columns = {
        variable.name: (
            replace(variable, labels={}) if is_text else variable,
            codes[variable.name][rows],
        )
        for variable in variables
    }
    if passed is not None:
        true = passed[rows]
        columns = {name: columns[name] if name in columns else true[name] for name in order}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the codebook with all labels lies beside it
        if is_text:
            write_text(columns, path, None, ",", others=DELIMITERS)
        else:
            WRITERS[path.suffix](columns, path, None, ",")
    if path.suffix in {".dta", ".sav"}:
        _forget_time(path)


def _forget_time(path: Path) -> None:
    """Overwrite the time at which a Stata or SPSS file was made."""
    with path.open("r+b") as file:
        head = file.read(4096)
        if path.suffix == ".dta":
            time = re.search(rb"<timestamp>\x11(.{17})</timestamp>", head, re.DOTALL)
            instead = b"01 Jan 1980 00:00"
        else:  # creation date and time have fixed positions in the header
            time = re.match(
                rb"\$FL[23].{88}([0-9]{2} [A-Za-z]{3} [0-9]{2}[0-9]{2}:[0-9]{2}:[0-9]{2})",
                head,
                re.DOTALL,
            )
            instead = b"01 Jan 8000:00:00"
        if time is None:
            raise OutputError(
                expected="a file whose time of writing can be taken out",
                came="one of a form that is not known",
                do="release the files as csv or parquet",
            )
        file.seek(time.start(1))
        file.write(instead)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a small file that must not exist yet; `target.move_in` forces all files to the disk."""
    with path.open("xb") as out:
        out.write(content)
