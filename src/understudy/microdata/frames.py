"""Data frames and Parquet files: their columns become codes batch by batch.

Polars does the hashing of values; what comes out is the same `CodedTable` as from a text file. A
value becomes the text that a CSV export of it would show: whole numbers without a decimal point,
``true`` and ``false``. Dates, lists and other things that are no categories are refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures.thread import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import ColumnError, FormatError, InputError, SettingError, quoted
from understudy.microdata.coding import CodedColumn, CodedTable, CombinationStore, Kind
from understudy.microdata.roles import check_names
from understudy.microdata.source_file import SourceFile
from understudy.microdata.variable import Variable

__all__ = [
    "LABELS_KEY",
    "Backend",
    "ColumnCoder",
    "Columns",
    "Declared",
    "FrameSource",
    "count_codes",
    "damaged",
    "data_frame",
    "enum_column",
    "frame_source",
    "parquet_source",
    "whole_numbers",
]

BATCH = 1 << 18
NO_VALUE = 2**32 - 1
LABELS_KEY = "understudy.labels"

Backend = Literal["polars", "pandas", "pyarrow"]
Columns = Mapping[str, tuple[Variable, NDArray[Any]]]  # by name: variable and codes (record,)


class Declared(NamedTuple):
    """What a frame says about columns beyond their values."""

    levels: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, repr=False)
class FrameSource:
    """A frame whose columns are known and whose values are looked at when they are asked for."""

    names: tuple[str, ...]
    chosen: Callable[[Sequence[str]], tuple[pl.LazyFrame, Declared]]
    ordered: frozenset[str] = frozenset()

    def read(self, columns: Sequence[str]) -> CodedTable:
        """Read and code the named columns, batch by batch while Polars reads ahead."""
        frame, declared = self.chosen(columns)
        try:
            schema = frame.collect_schema()
            coders = {name: ColumnCoder.of(name, schema[name]) for name in columns}
            coded = frame.select([coder.expression for coder in coders.values()])
            batches = coded.collect_batches(chunk_size=BATCH, maintain_order=True)
            return whole_numbers(count_codes(batches, coders, declared))
        except (pl.exceptions.PolarsError, OSError):
            raise FormatError(
                expected="a table that can be read to its end",
                came="a damaged file, or a frame whose computation fails",
                do="copy or export the file again, or compute the frame before giving it",
            ) from None


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
            number = value.cast(pl.Float64).fill_nan(None)
            value = pl.when(number == 0).then(0.0).otherwise(number)  # there is one zero only
        text = value.cast(pl.String).cast(pl.Categorical(self.known))
        return text.to_physical().fill_null(pl.lit(NO_VALUE, dtype=pl.UInt32)).alias(self.name)

    @property
    def levels(self) -> tuple[str | None, ...]:
        """The values met so far by code, and None last, which stands for missing."""
        return (*self.known.to_series().to_list(), None)


def parquet_source(source: SourceFile) -> FrameSource:
    """Open a Parquet file, with the labels that we may have written into it."""
    try:
        frame = pl.scan_parquet(source.path, glob=False, hive_partitioning=False)
        schema = frame.collect_schema()
        noted = json.loads(pl.read_parquet_metadata(source.path).get(LABELS_KEY, "{}"))
    except (pl.exceptions.PolarsError, OSError, ValueError):
        raise damaged(source) from None
    labels = {name: dict(one) for name, one in noted.items() if isinstance(one, dict)}
    return _from_polars(frame, schema, labels)


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
        try:
            return _from_polars(native, native.collect_schema(), {})
        except pl.exceptions.PolarsError:
            raise InputError(
                expected="a frame that can be computed",
                came="a lazy frame whose plan fails",
                do="compute the frame before giving it",
            ) from None
    names: Any = getattr(native, "column_names", None) or getattr(native, "columns", ())
    check_names([str(name) for name in names])
    try:
        frame = nw.from_native(native, eager_only=True)  # type: ignore[call-overload]
    except TypeError:
        raise InputError(
            expected="the path of a file, or a pandas, Polars or pyarrow data frame",
            came=f"an object of type {type(native).__name__}",
            do="give one of these",
        ) from None
    if frame.implementation.is_pandas_like():
        return _from_pandas(native)
    polars = frame.to_polars()
    return _from_polars(polars.lazy(), polars.schema, {})


def _from_polars(
    frame: pl.LazyFrame, schema: Mapping[str, Any], labels: Mapping[str, Mapping[str, str]]
) -> FrameSource:
    declared = Declared(
        {
            name: tuple(kind.categories.to_list())
            for name, kind in schema.items()
            if isinstance(kind, pl.Enum)
        },
        labels,
    )
    return FrameSource(tuple(schema), lambda columns: (frame.select(columns), declared))


def _from_pandas(native: Any) -> FrameSource:
    """Convert the chosen columns only: columns of mixed objects fit no other frame as they are."""
    columns = {str(name): native.iloc[:, place] for place, name in enumerate(native.columns)}
    categorical = {name: one for name, one in columns.items() if hasattr(one.dtype, "categories")}
    ordered = frozenset(name for name, one in categorical.items() if one.dtype.ordered)

    def chosen(wanted: Sequence[str]) -> tuple[pl.LazyFrame, Declared]:
        levels = {
            name: tuple(dict.fromkeys(_category_text(one, name) for one in column.dtype.categories))
            for name, column in categorical.items()
            if name in wanted
        }
        frame = pl.DataFrame([_polars_column(name, columns[name]) for name in wanted])
        return frame.lazy(), Declared(levels, {})

    return FrameSource(tuple(columns), chosen, ordered)


def _polars_column(name: str, column: Any) -> pl.Series:
    """Turn a pandas column into text, numbers or truth values, whatever pandas stores it as."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "mM":
        raise no_dates(name)
    if isinstance(column.dtype, np.dtype) and kind in "iufb":
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    values = column.tolist()
    if kind == "f":
        return pl.Series(name, [None if _is_missing(one) else float(one) for one in values])
    to_text = _category_text if hasattr(column.dtype, "categories") else _object_text
    texts = [None if _is_missing(one) else to_text(one, name) for one in values]
    return pl.Series(name, texts, dtype=pl.String)


def _is_missing(value: object) -> bool:
    nothing = value is None or type(value).__name__ in {"NAType", "NaTType"}
    return nothing or (isinstance(value, float) and np.isnan(value))


def _category_text(value: object, column: str) -> str:
    """Turn a pandas category into text; intervals, as pandas.cut makes them, are fine."""
    return str(value) if type(value).__name__ == "Interval" else _object_text(value, column)


def _object_text(value: object, column: str) -> str:
    """Turn one cell of a column of Python objects into its category."""
    if isinstance(value, str):
        return _checked_text(value, column)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if hasattr(value, "isoformat"):
        raise no_dates(column)
    raise _no_category(column, f"values of type {type(value).__name__} among its cells")


def no_dates(column: str) -> ColumnError:
    """Say that dates are no categories."""
    return ColumnError(
        expected=f"categories in column {quoted(column)}",
        came="dates or times",
        do="turn it into groups first (a year, a quarter, an age group), or leave it out",
    ).about(column)


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
    declared: Declared,
) -> CodedTable:
    """Count the combinations in frames of codes that come one after another.

    Parameters
    ----------
    batches : iterable of polars.DataFrame
        Codes, in the order of the records, from the coders' expressions.
    coders : mapping of str to ColumnCoder
        By column, in the order of the batches' columns.
    declared : Declared
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
            CodedColumn(
                name,
                one.levels,
                one.kind,
                declared.labels.get(name, {}),
                declared.levels.get(name),
            )
            for name, one in coders.items()
        ]
    )
    for place, column in enumerate(table.columns):
        own = table.codes[:, place]
        own[own < 0] = len(column.levels) - 1
    return table


def _kind(dtype: Any, column: str) -> Kind:
    if dtype.is_integer() or (dtype.is_decimal() and dtype.scale == 0):
        return "integer"
    if dtype.is_float() or dtype.is_decimal():
        return "real"
    if dtype == pl.Boolean:
        return "boolean"
    if dtype.is_temporal():
        raise no_dates(column)
    if isinstance(dtype, pl.String | pl.Null | pl.Categorical | pl.Enum):
        return "text"
    raise _no_category(column, f"values of type {dtype!s}")


def whole_numbers(table: CodedTable) -> CodedTable:
    """Write columns of whole numbers that are stored as floating-point numbers as codes."""
    return replace(table, columns=tuple(_whole(column) for column in table.columns))


def _whole(column: CodedColumn) -> CodedColumn:
    if column.kind != "real":
        return column
    numbers = [None if level is None else float(level) for level in column.levels]
    if not all(number is None or number.is_integer() for number in numbers):
        return column
    levels = tuple(None if number is None else str(int(number)) for number in numbers)
    return replace(column, levels=levels, kind="integer")


def data_frame(columns: Columns, backend: Backend) -> Any:
    """Build a frame of categories of the wanted kind; missing values become null."""
    if backend not in get_args(Backend):
        raise SettingError(
            expected=f"a kind of frame: {', '.join(get_args(Backend))}",
            came=quoted(backend),
            do="choose one",
        )
    if backend == "pandas":
        import pandas as pd

        return pd.DataFrame(
            {
                name: pd.Categorical.from_codes(
                    np.where(codes < len(variable.present_levels), codes, -1),
                    categories=list(variable.present_levels),
                )
                for name, (variable, codes) in columns.items()
            }
        )
    frame = pl.DataFrame({name: enum_column(*column) for name, column in columns.items()})
    return frame.to_arrow() if backend == "pyarrow" else frame


def enum_column(variable: Variable, codes: NDArray[Any]) -> pl.Series:
    """Turn codes (record,) into a Polars column of categories; missing becomes null."""
    levels = list(variable.present_levels)
    rows = pl.Series(codes).cast(pl.UInt32)
    if variable.has_missing:
        rows = pl.Series(np.where(codes < len(levels), codes, -1)).cast(pl.Int64)
        rows = rows.set(rows < 0, None).cast(pl.UInt32)
    return pl.Series(levels, dtype=pl.Enum(levels)).gather(rows)
