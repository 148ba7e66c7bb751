"""Files of SAS, Stata and SPSS, with the labels of their values.

These programs store nearly every number as a floating-point number; a column whose numbers are all
whole is a column of codes, and its levels are written without a decimal point. Values that the
file itself marks as missing are missing here too, and so is empty text in Stata and SAS files,
which cannot mark text as missing otherwise.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from understudy.errors import FormatError, SettingError, quoted
from understudy.microdata.coding import CodedTable
from understudy.microdata.frames import ColumnCoder, Declared, count_codes, damaged, whole_numbers
from understudy.microdata.source_file import SourceFile, open_source

__all__ = ["StatisticalSource", "statistical_source"]

CHUNK = 1 << 19


@dataclass(frozen=True, repr=False)
class StatisticalSource:
    """A SAS, Stata or SPSS file whose metadata have been read, its records not yet."""

    source: SourceFile
    names: tuple[str, ...]
    labels: Mapping[str, Mapping[str, str]]
    descriptions: Mapping[str, str]
    encoding: str | None

    def read(self, columns: Sequence[str]) -> CodedTable:
        """Read and code the named columns."""
        chunks = self._chunks(columns)
        first = next(chunks)
        coders = {name: ColumnCoder.of(name, first.schema[name]) for name in columns}
        coded = (
            chunk.select([coder.expression for coder in coders.values()])
            for chunk in itertools.chain([first], chunks)
        )
        table = whole_numbers(count_codes(coded, coders, Declared({}, self.labels)))
        self.source.check_unchanged()
        return table

    def _chunks(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        schema: Mapping[str, Any] | None = None
        offset = 0
        while True:
            options = {"usecols": list(columns), "row_offset": offset, "row_limit": CHUNK}
            frame, _ = _read(self.source, self.encoding, **options)
            if schema is None:
                schema = {name: _settled(kind) for name, kind in frame.schema.items()}
            frame = frame.select(columns)
            if offset == 0 or frame.height:
                yield self._with_missing(frame.cast(schema))  # type: ignore[arg-type]
            offset += frame.height
            if frame.height < CHUNK:
                return

    def _with_missing(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Make empty text missing: Stata and SAS have no other missing text."""
        if self.source.kind == "spss":
            return frame
        return frame.with_columns(pl.col(pl.String).replace("", None))


def statistical_source(
    source: SourceFile, encoding: str | None, catalog: str | os.PathLike[str] | None
) -> StatisticalSource:
    """Read the metadata of a SAS, Stata or SPSS file; see `read_microdata` for the options."""
    _check_complete(source)
    _, about = _read(source, encoding, metadataonly=True)
    value_labels = dict(about.variable_value_labels)
    if catalog is not None:
        value_labels |= _catalog_labels(source, about, catalog, encoding)
    labels = {
        name: {_level_text(value): str(label) for value, label in mapping.items()}
        for name, mapping in value_labels.items()
    }
    descriptions = {
        name: text for name, text in about.column_names_to_labels.items() if text is not None
    }
    return StatisticalSource(source, tuple(about.column_names), labels, descriptions, encoding)


def _check_complete(source: SourceFile) -> None:
    """Refuse a file that was cut off where the library would not notice."""
    with source.path.open("rb") as handle:
        head = handle.read(11)
        handle.seek(max(0, source.n_bytes - 12))
        tail = handle.read()
    cut = source.kind == "xport" and source.n_bytes % 80
    if cut or (head == b"<stata_dta>" and tail != b"</stata_dta>"):
        raise damaged(source)


def _read(source: SourceFile, encoding: str | None, **options: Any) -> tuple[pl.DataFrame, Any]:
    import pyreadstat

    reader: Any = {
        "sas": pyreadstat.read_sas7bdat,
        "xport": pyreadstat.read_xport,
        "stata": pyreadstat.read_dta,
        "spss": pyreadstat.read_sav,
    }[source.kind]
    try:
        frame, about = reader(
            str(source.path), encoding=encoding, output_format="polars", **options
        )
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeError, ValueError):
        raise damaged(source) from None
    return frame, about


def _catalog_labels(
    source: SourceFile, about: Any, catalog: str | os.PathLike[str], encoding: str | None
) -> dict[str, Mapping[Any, str]]:
    import pyreadstat

    if source.kind != "sas":
        raise SettingError(
            expected="a catalog only beside a .sas7bdat file",
            came=f"one beside a file of kind {source.kind}",
            do="leave the catalog out",
        )
    path = open_source(catalog).path
    try:
        _, formats = pyreadstat.read_sas7bcat(str(path), encoding=encoding, output_format="polars")
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeError, ValueError):
        raise FormatError(
            expected=f"a SAS catalog of formats in {quoted(path.name)}",
            came="something else, or a damaged file",
            do="give the .sas7bcat file that belongs to the data",
        ) from None
    return {
        name: formats.value_labels[label_set]
        for name, label_set in about.variable_to_label.items()
        if label_set in formats.value_labels
    }


def _settled(kind: Any) -> Any:
    """Type that all chunks can share: numbers that are whole in the first may not be later."""
    return pl.Float64 if kind.is_numeric() else kind


def _level_text(value: object) -> str:
    if isinstance(value, int | float) and float(value).is_integer():
        return str(int(value))
    return str(value)
