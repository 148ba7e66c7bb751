"""Files of SAS, Stata and SPSS, with the labels of their values.

These programs store nearly every number as a floating-point number; a column whose numbers are all
whole is a column of codes, and its levels are written without a decimal point. Values that the
file itself marks as missing are missing here too, and so is empty text in Stata and SAS files,
which cannot mark text as missing otherwise. All of this runs in the parser process.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from understudy.microdata.column_coder import ColumnCoder

__all__ = ["catalog_labels", "code_statistical", "describe_statistical", "statistical_values"]


def describe_statistical(path: str, kind: str, encoding: str | None) -> dict[str, Any]:
    """Read the names of the columns, their descriptions, and the labels of their values."""
    options = {} if kind == "xport" else {"user_missing": True}  # which of the values are missing
    _, about = _read(path, kind, encoding, metadataonly=True, **options)
    descriptions = about.column_names_to_labels.items()
    return {
        "names": list(about.column_names),
        "labels": {name: _texts(labels) for name, labels in about.variable_value_labels.items()},
        "label_sets": dict(about.variable_to_label),
        "descriptions": {name: text for name, text in descriptions if text is not None},
        "missing": _missing_codes(about),
    }


def _missing_codes(about: Any) -> dict[str, list[str]]:
    """List the labelled values that the file calls missing, by column."""
    missing: dict[str, list[str]] = {}
    for name, labels in about.variable_value_labels.items():
        ranges = about.missing_ranges.get(name, ())  # of SPSS
        letters = about.missing_user_values.get(name, ())  # of Stata and SAS
        codes = [
            value
            for value in labels
            if value in letters or any(_within(value, limits) for limits in ranges)
        ]
        if codes:
            missing[name] = list(_texts(dict.fromkeys(codes, "")))
    return missing


def _within(value: Any, limits: Any) -> bool:
    low, high = limits["lo"], limits["hi"]
    if isinstance(value, str) or isinstance(low, str):
        return bool(value == low)
    return bool(low <= value <= high)


def catalog_labels(path: str, encoding: str | None) -> dict[str, dict[str, str]]:
    """Read the labels in a SAS catalog, by name of the set of labels."""
    import pyreadstat

    _, about = pyreadstat.read_sas7bcat(path, encoding=encoding, output_format="polars")
    return {name: _texts(labels) for name, labels in about.value_labels.items()}


def code_statistical(
    path: str, kind: str, encoding: str | None, columns: Sequence[str], n_rows: int
) -> tuple[list[ColumnCoder], Iterator[pl.DataFrame]]:
    """Make the coders of some columns, and frames of their codes with `n_rows` records each."""
    chunks = _chunks(path, kind, encoding, columns, n_rows)
    first = next(chunks)
    coders = [ColumnCoder.of(name, first.schema[name]) for name in columns]
    expressions = [coder.expression for coder in coders]
    return coders, (chunk.select(expressions) for chunk in itertools.chain([first], chunks))


def statistical_values(
    path: str, kind: str, encoding: str | None, columns: Sequence[str], n_rows: int
) -> Iterator[pl.DataFrame]:
    """Give columns as they are, for those that pass through; whole numbers as such."""
    frames = list(_chunks(path, kind, encoding, columns, n_rows))
    whole = [
        name
        for name, dtype in frames[0].schema.items()
        if dtype == pl.Float64
        and all(
            (values == values.round()).all() for values in (f[name].drop_nulls() for f in frames)
        )
    ]
    yield from (frame.with_columns(pl.col(whole).cast(pl.Int64)) for frame in frames)


def _chunks(
    path: str, kind: str, encoding: str | None, columns: Sequence[str], n_rows: int
) -> Iterator[pl.DataFrame]:
    schema: Any = None
    for offset in itertools.count(0, n_rows):
        frame, _ = _read(
            path, kind, encoding, usecols=list(columns), row_offset=offset, row_limit=n_rows
        )
        # Numbers that are whole in the first chunk may not be in a later one.
        schema = schema or {
            name: pl.Float64 if dtype.is_numeric() else dtype
            for name, dtype in frame.schema.items()
        }
        frame = frame.select(columns).cast(schema)
        if kind != "spss":  # Stata and SAS have no other missing text than the empty one
            frame = frame.with_columns(pl.col(pl.String).replace("", None))
        if offset == 0 or frame.height:
            yield frame
        if frame.height < n_rows:
            return


def _read(path: str, kind: str, encoding: str | None, **options: Any) -> tuple[pl.DataFrame, Any]:
    import pyreadstat

    reader: Any = {
        "sas": pyreadstat.read_sas7bdat,
        "xport": pyreadstat.read_xport,
        "stata": pyreadstat.read_dta,
        "spss": pyreadstat.read_sav,
    }[kind]
    frame, about = reader(path, encoding=encoding, output_format="polars", **options)
    return frame, about


def _texts(labels: Any) -> dict[str, str]:
    """Write values as levels: whole numbers without a decimal point."""
    return {
        str(int(value))
        if isinstance(value, int | float) and float(value).is_integer()
        else str(value): str(label)
        for value, label in labels.items()
    }
