"""Writing: records back into a file, in the order and with the columns of the source.

A file appears whole or not at all (`storage.new_file`), for its owner only.
"""

from __future__ import annotations

import codecs
import gzip
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_path
from understudy.errors import DataWarning, OutputError, quoted, quoted_list, warn_user
from understudy.microdata.csv_reader import check_delimiter, check_encoding
from understudy.microdata.frames import Columns, enum_column, polars_column
from understudy.microdata.variable import LABELS_KEY, Variable
from understudy.storage import check_name, new_file

__all__ = ["WRITERS", "check_target", "write_table", "write_text"]

CHUNK = 1 << 19
LARGEST_EXACT = 2**53


def write_table(
    columns: Columns,
    path: str | os.PathLike[str],
    *,
    encoding: str | None = None,
    delimiter: str = ",",
    overwrite: bool = False,
) -> Path:
    """Write columns of categories, and columns that pass through, to a file.

    Parameters
    ----------
    columns : mapping of str to (Variable, codes (record,)), or to a Polars column
        What to write, by name of the column.
    path : str or path
        The ending decides on the format: ``.csv``, ``.csv.gz``, ``.tsv``, ``.parquet``, ``.dta``
        (Stata) or ``.sav`` (SPSS).
    encoding : str, optional
        Of a text file; UTF-8 when left out.
    delimiter : str
        Of a ``.csv`` file.
    overwrite : bool
        Whether a file that is already there may be replaced.

    Returns
    -------
    pathlib.Path
        Where the file lies.
    """
    target = check_target(path, overwrite=overwrite)
    name = target.name.lower()
    ending = next((ending for ending in WRITERS if name.endswith(ending)), None)
    if ending is None:
        raise OutputError(
            expected=f"a file name that ends in one of {', '.join(WRITERS)}",
            came=quoted(target.name),
            do="choose the ending of the format you want",
        )
    with new_file(target) as temporary:
        WRITERS[ending](columns, temporary, encoding, "\t" if ending == ".tsv" else delimiter)
    return target


def check_target(path: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """Refuse a path at which no file may or can be written; return it checked."""
    target = check_path("the path of a file to write", path)
    name = target.name
    check_name(name)
    if target.is_symlink():
        raise OutputError(
            expected=f"a path for the file {quoted(name)} that is not taken",
            came="a symbolic link, which may lead anywhere",
            do="name the file that the link points to, or remove the link",
        )
    if target.is_dir():
        raise OutputError(
            expected=f"a file at {quoted(name)}", came="a directory", do="name a file inside it"
        )
    if target.exists() and not overwrite:
        raise OutputError(
            expected=f"no file at {quoted(name)} yet",
            came="one that is already there",
            do="choose another name, or replace it (--overwrite; in Python overwrite=True)",
        )
    if not target.parent.is_dir():
        raise OutputError(
            expected="a folder that exists",
            came=f"a file name in the folder {quoted(target.parent)}, which does not",
            do="make the folder first",
        )
    return target


def write_text(
    columns: Columns, path: Path, encoding: str | None, delimiter: str, others: str = ""
) -> None:
    """Write a text file, packed where its name ends in ``.gz``.

    Fields with one of `others` get quotation marks too, because programs that guess the delimiter
    may take those signs for one.
    """
    codec = check_encoding(encoding) or "utf-8"
    with path.open("wb") as raw:
        if path.name.endswith(".gz"):
            with gzip.GzipFile(
                filename="", fileobj=raw, mode="wb", mtime=0, compresslevel=6
            ) as out:
                _write_records(columns, out, codec, delimiter, others)
        else:
            _write_records(columns, raw, codec, delimiter, others)


def _write_records(
    columns: Columns, out: IO[bytes] | gzip.GzipFile, codec: str, delimiter: str, others: str
) -> None:
    encoder = codecs.getincrementalencoder(codec)()
    check_delimiter(delimiter)
    _warn_of_lost_labels(columns)
    alone, signs = len(columns) == 1, delimiter + others
    header = delimiter.join(_quoted_field(name, signs, alone=alone) for name in columns) + "\n"
    fields = {
        name: _text_levels(variable, signs, alone=alone)
        for name, (variable, _) in _coded(columns).items()
    }
    n_records = len(next(iter(_coded(columns).values()))[1])
    try:
        out.write(encoder.encode(header))
        for start in range(0, n_records, CHUNK):
            frame = pl.DataFrame(
                {
                    name: _text_values(column.slice(start, CHUNK), signs)
                    if isinstance(column, pl.Series)
                    else fields[name].gather(pl.Series(column[1][start : start + CHUNK]))
                    for name, column in columns.items()
                }
            )
            text = frame.write_csv(include_header=False, separator=delimiter, quote_style="never")
            out.write(encoder.encode(text))
    except UnicodeEncodeError:
        raise OutputError(
            expected=f"text that the encoding {codec} can write",
            came="characters that it does not have",
            do="write the file in UTF-8",
        ) from None


def _coded(columns: Columns) -> dict[str, tuple[Variable, NDArray[Any]]]:
    """Give the columns of categories alone."""
    return {name: column for name, column in columns.items() if not isinstance(column, pl.Series)}


def _text_values(column: pl.Series, signs: str) -> pl.Series:
    """Write values that pass through as fields, with quotation marks where they are needed."""
    if column.dtype.is_temporal() and column.dtype != pl.Date:
        column = column.dt.strftime("%Y-%m-%dT%H:%M:%S%.f")
    texts = column.cast(pl.String)
    special = texts.str.contains_any([*signs, '"', "\r", "\n"]) | (texts == "")
    special |= texts.str.starts_with("\ufeff")
    inside = pl.Series(['"']) + texts.str.replace_all('"', '""', literal=True) + '"'
    return inside.zip_with(special.fill_null(value=False), texts.fill_null(""))


def _warn_of_lost_labels(columns: Columns) -> None:
    labelled = [name for name, (variable, _) in _coded(columns).items() if variable.labels]
    if labelled:
        warn_user(
            f"a text file holds no labels: those of {quoted_list(labelled)} are left out; keep the "
            "codebook beside it",
            DataWarning,
        )


def _text_levels(variable: Variable, signs: str, *, alone: bool) -> pl.Series:
    """Format every level once as a field of the file; records are looked up in the result."""
    fields = [_quoted_field(level, signs, alone=True) for level in variable.present_levels]
    if variable.has_missing:
        _check_missing_code(variable)
        fields.append(_quoted_field(variable.missing_code, signs, alone=alone))
    _check_storable(variable, "a text file", lambda level: "\x00" not in level)
    return pl.Series(fields, dtype=pl.String)


def _check_missing_code(variable: Variable) -> None:
    if variable.missing_code in variable.present_levels:
        raise OutputError(
            expected=f"a code for missing values of {quoted(variable.name)} that is not a level",
            came="the code of a level (the empty text is the code where none is declared)",
            do="declare another missing code in the codebook, or write a Parquet file",
        )


def _check_storable(variable: Variable, what: str, fits: Callable[[str], bool]) -> None:
    """Refuse to write levels that would come back as other ones."""
    wrong = sum(not fits(level) for level in variable.present_levels)
    if wrong:
        raise OutputError(
            expected=f"levels of {quoted(variable.name)} that {what} keeps as they are",
            came=f"{wrong:,} that it would change (NUL, spaces at the end, or empty text)",
            do="write a Parquet file instead",
        )


def _quoted_field(text: str, signs: str, *, alone: bool) -> str:
    """Put quotation marks around a field where they are needed, and around an empty level."""
    special = any(character in text for character in (*signs, '"', "\r", "\n"))
    if special or text.startswith("\ufeff") or (alone and not text):
        return '"' + text.replace('"', '""') + '"'
    return text


def _write_parquet(columns: Columns, path: Path, _encoding: str | None, _delimiter: str) -> None:
    frame = pl.DataFrame({name: polars_column(column) for name, column in columns.items()})
    labels = {
        name: dict(variable.labels)
        for name, (variable, _) in _coded(columns).items()
        if variable.labels
    }
    frame.write_parquet(path, metadata={LABELS_KEY: json.dumps(labels)} if labels else None)


def _write_stata(columns: Columns, path: Path, _encoding: str | None, _delimiter: str) -> None:
    import pyreadstat

    unlabelled = [
        name
        for name, (variable, _) in _coded(columns).items()
        if variable.labels and not _numbers(variable)
    ]
    if unlabelled:
        warn_user(
            f"Stata attaches labels to numbers only: the labels of {quoted(unlabelled[0])} and "
            f"{len(unlabelled) - 1} further text variables are left out",
            DataWarning,
        )
    for variable, _ in _coded(columns).values():
        # In Stata, empty text is missing text.
        _check_storable(variable, "a Stata file", lambda level: bool(level) and "\0" not in level)
    _write_statistical(columns, path, pyreadstat.write_dta, for_stata=True)


def _write_spss(columns: Columns, path: Path, _encoding: str | None, _delimiter: str) -> None:
    import pyreadstat

    absent: dict[str, list[Any]] = {}
    for name, (variable, _) in _coded(columns).items():
        _check_storable(
            variable, "an SPSS file", lambda level: level == level.rstrip(" ").replace("\0", "")
        )
        if variable.has_missing and not _numbers(variable):
            _check_missing_code(variable)
            absent[name] = [variable.missing_code]
    write = partial(pyreadstat.write_sav, missing_ranges=absent) if absent else pyreadstat.write_sav
    _write_statistical(columns, path, write, for_stata=False)


def _write_statistical(
    columns: Columns, path: Path, write: Callable[..., None], *, for_stata: bool
) -> None:
    from pyreadstat import PyreadstatError, ReadstatError

    frame = pl.DataFrame(
        {
            name: _stored_values(column)
            if isinstance(column, pl.Series)
            else _stored(*column, "" if for_stata else column[0].missing_code)
            for name, column in columns.items()
        }
    )
    labels = {
        name: {
            int(level) if _numbers(variable) else level: text
            for level, text in variable.labels.items()
        }
        for name, (variable, _) in _coded(columns).items()
        if variable.labels and (_numbers(variable) or not for_stata)
    }
    descriptions = {
        name: variable.description
        for name, (variable, _) in _coded(columns).items()
        if variable.description
    }
    try:
        write(frame, str(path), column_labels=descriptions, variable_value_labels=labels)
    except (PyreadstatError, ReadstatError, ValueError):
        raise OutputError(
            expected="names of columns, labels and levels that the statistical program can store",
            came="one that it cannot (a name with spaces or signs, or a text that is too long)",
            do="rename the columns to letters, digits and underscores, or write a CSV file",
        ) from None


def _numbers(variable: Variable) -> bool:
    """Tell whether a variable is stored as numbers in a statistical program."""
    whole = (*variable.present_levels, *variable.labels)
    return variable.numeric and all(
        level.lstrip("-").isdecimal() and abs(int(level)) <= LARGEST_EXACT for level in whole
    )


def _stored(variable: Variable, codes: NDArray[Any], missing_text: str) -> pl.Series:
    if not _numbers(variable):
        return enum_column(variable, codes).cast(pl.String).fill_null(missing_text)
    numbers = np.array([float(level) for level in variable.present_levels] + [np.nan])
    values = numbers[np.minimum(codes, len(numbers) - 1)]
    return pl.Series(values, nan_to_null=True)


def _stored_values(column: pl.Series) -> pl.Series:
    """Give values that pass through in a type that statistical programs have."""
    if column.dtype.is_temporal():
        return column
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.cast(pl.Float64)
    return column.cast(pl.String).fill_null("")


WRITERS: dict[str, Callable[[Columns, Path, str | None, str], None]] = {
    ".csv": write_text,
    ".csv.gz": write_text,
    ".tsv": write_text,
    ".parquet": _write_parquet,
    ".dta": _write_stata,
    ".sav": _write_spss,
}
