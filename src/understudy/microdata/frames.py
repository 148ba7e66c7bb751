"""Data frames and Parquet files: their columns become codes batch by batch.

Polars does the hashing of values; what comes out is the same `CodedTable` as from a text file. A
value becomes the text that a CSV export of it would show: whole numbers without a decimal point,
``true`` and ``false``. Dates, lists and other things that are no categories are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures.thread import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from understudy.errors import ColumnError, FormatError, InputError, quoted
from understudy.microdata.coding import CodedColumn, CodedTable, CombinationStore, Kind
from understudy.microdata.files import SourceFile
from understudy.microdata.roles import check_names

__all__ = ["ColumnCoder", "FrameSource", "count_codes", "damaged", "frame_source", "parquet_source"]

BATCH = 1 << 18
NO_VALUE = 2**32 - 1


@dataclass(frozen=True, repr=False)
class FrameSource:
    """A frame whose columns are known and whose values are looked at when they are asked for."""

    names: tuple[str, ...]
    chosen: Callable[[Sequence[str]], pl.LazyFrame]
    declared: Mapping[str, tuple[str, ...]]
    ordered: frozenset[str]

    def read(self, columns: Sequence[str]) -> CodedTable:
        """Read and code the named columns, batch by batch while Polars reads ahead."""
        frame = self.chosen(columns)
        schema = frame.collect_schema()
        coders = {name: ColumnCoder.of(name, schema[name]) for name in columns}
        coded = frame.select([coder.expression for coder in coders.values()])
        batches = coded.collect_batches(chunk_size=BATCH, maintain_order=True)
        return count_codes(batches, coders, self.declared, labels={})


@dataclass(frozen=True, repr=False, eq=False)
class ColumnCoder:
    """How one column becomes codes: an expression, and the values it has met so far."""

    name: str
    kind: Kind
    known: pl.Categories
    anchor: pl.Series  # Polars forgets categories that no column uses

    @classmethod
    def of(cls, name: str, dtype: Any) -> ColumnCoder:
        """Make the coder of a column of this type, or say that it holds no categories."""
        known = pl.Categories.random()
        return cls(name, _kind(dtype, name), known, pl.Series(dtype=pl.Categorical(known)))

    @property
    def expression(self) -> pl.Expr:
        """Code of each value: its place among the known, the largest number for a missing one."""
        value = pl.col(self.name)
        if self.kind == "real":
            value = value.cast(pl.Float64).fill_nan(None)
        text = value.cast(pl.String).cast(pl.Categorical(self.known))
        return text.to_physical().fill_null(pl.lit(NO_VALUE, dtype=pl.UInt32)).alias(self.name)

    @property
    def levels(self) -> tuple[str | None, ...]:
        """The values met so far by code, and None last, which stands for missing."""
        return (*self.known.to_series().to_list(), None)


def parquet_source(source: SourceFile) -> FrameSource:
    """Open a Parquet file."""
    try:
        frame = pl.scan_parquet(source.path, glob=False, hive_partitioning=False)
        schema = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError):
        raise damaged(source) from None
    return _from_polars(frame, schema)


def damaged(source: SourceFile) -> FormatError:
    """Say that a file's content does not hold together."""
    return FormatError(
        expected=f"a complete {source.kind} file {quoted(source.path.name)}",
        came="a damaged or cut off file",
        do="copy or export the file again",
    )


def frame_source(native: object) -> FrameSource:
    """Take a pandas, Polars or pyarrow frame.

    Parameters
    ----------
    native : frame
        Anything that narwhals knows as an eager frame, or a Polars LazyFrame.

    Returns
    -------
    FrameSource
    """
    if isinstance(native, pl.LazyFrame):
        return _from_polars(native, native.collect_schema())
    try:
        frame = nw.from_native(native, eager_only=True)  # type: ignore[call-overload]
    except nw.exceptions.DuplicateError:
        check_names([str(name) for name in native.columns])  # type: ignore[attr-defined]
        raise
    except TypeError:
        raise InputError(
            expected="the path of a file, or a pandas, Polars or pyarrow data frame",
            came=f"an object of type {type(native).__name__}",
            do="give one of these",
        ) from None
    if frame.implementation.is_pandas_like():
        return _from_pandas(frame)
    polars = frame.to_polars()
    return _from_polars(polars.lazy(), polars.schema)


def _from_polars(frame: pl.LazyFrame, schema: Mapping[str, Any]) -> FrameSource:
    declared = {
        name: tuple(kind.categories.to_list())
        for name, kind in schema.items()
        if isinstance(kind, pl.Enum)
    }
    return FrameSource(tuple(schema), frame.select, declared, frozenset())


def _from_pandas(frame: Any) -> FrameSource:
    """Convert the chosen columns only: columns of mixed objects fit no other frame as they are."""
    names = [str(name) for name in frame.to_native().columns]
    check_names(names)
    columns = dict(zip(names, frame.iter_columns(), strict=True))
    declared = {
        name: tuple(_object_text(value, name) or "" for value in column.cat.get_categories())
        for name, column in columns.items()
        if isinstance(column.dtype, nw.Categorical | nw.Enum)
    }
    ordered = frozenset(name for name, one in columns.items() if isinstance(one.dtype, nw.Enum))

    def chosen(wanted: Sequence[str]) -> pl.LazyFrame:
        return pl.DataFrame([_polars_column(name, columns[name]) for name in wanted]).lazy()

    return FrameSource(tuple(names), chosen, declared, ordered)


def _polars_column(name: str, column: Any) -> pl.Series:
    if isinstance(column.dtype, nw.Object | nw.String | nw.Categorical | nw.Enum | nw.Unknown):
        values = [_object_text(value, name) for value in column.to_list()]
        return pl.Series(name, values, dtype=pl.String)
    return pl.Series(name, column.to_list(), strict=False, nan_to_null=True)


def _object_text(value: object, column: str) -> str | None:
    """Turn one cell of a column of Python objects into its category."""
    if (
        value is None
        or (isinstance(value, float) and np.isnan(value))
        or type(value).__name__ in {"NAType", "NaTType"}
    ):
        return None
    if isinstance(value, str):
        return _checked_text(value, column)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    raise _no_category(column, f"values of type {type(value).__name__} among its cells")


def _checked_text(value: str, column: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _no_category(column, "text with broken characters (lone surrogates)") from None
    return value


def _no_category(column: str, came: str) -> ColumnError:
    return ColumnError(
        expected=f"categories (text, whole numbers or true/false) in column {quoted(column)}",
        came=came,
        do="turn the column into text or groups first, or leave it out (ignore it)",
    ).about(column)


def count_codes(
    batches: Iterable[pl.DataFrame],
    coders: Mapping[str, ColumnCoder],
    declared: Mapping[str, tuple[str, ...]],
    labels: Mapping[str, Mapping[str, str]],
) -> CodedTable:
    """Count the combinations in frames of codes that come one after another.

    Parameters
    ----------
    batches : iterable of polars.DataFrame
        Codes, in the order of the records, from the coders' expressions.
    coders : mapping of str to ColumnCoder
        By column, in the order of the batches' columns.
    declared, labels : mapping
        Levels that a column declares, and labels of its levels, where there are any.

    Returns
    -------
    CodedTable
    """
    combinations = CombinationStore(len(coders))
    with ThreadPoolExecutor(1) as counting:  # one batch is counted while the next is read
        counted = None
        for batch in batches:
            codes = np.ascontiguousarray(batch.to_numpy(order="c"), dtype=np.uint32)
            if counted is not None:
                counted.result()
            counted = counting.submit(combinations.add, codes.view(np.int32), batch.height)
        if counted is not None:
            counted.result()
    table = combinations.table(
        [
            CodedColumn(name, one.levels, one.kind, labels.get(name, {}), declared.get(name))
            for name, one in coders.items()
        ]
    )
    for place, column in enumerate(table.columns):
        own = table.codes[:, place]
        own[own < 0] = len(column.levels) - 1
    return table


def _kind(dtype: Any, column: str) -> Kind:
    if dtype.is_integer():
        return "integer"
    if dtype.is_float() or dtype.is_decimal():
        return "real"
    if dtype == pl.Boolean:
        return "boolean"
    if dtype.is_temporal():
        raise ColumnError(
            expected=f"categories in column {quoted(column)}",
            came="dates or times",
            do="turn it into groups first (a year, a quarter, an age group), or leave it out",
        ).about(column)
    if isinstance(dtype, pl.String | pl.Null | pl.Categorical | pl.Enum):
        return "text"
    raise _no_category(column, f"values of type {dtype!s}")
