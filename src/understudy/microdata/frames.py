"""Data frames and Parquet files: their columns become codes batch by batch, and frames again.

Polars hashes the values; the result is the same `CodedTable` as from a text file. A value becomes
the text that a CSV export would show: whole numbers without a decimal point, ``true`` and
``false``. Dates, lists and other values that are not categories are refused.
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
    """What a frame declares about columns beyond their values."""

    levels: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, repr=False)
class FrameSource:
    """A frame whose columns are known and whose values are read on demand."""

    names: tuple[str, ...]
    select: Callable[[Sequence[str]], tuple[pl.LazyFrame, Declared]]
    ordered: frozenset[str] = frozenset()

    def read(self, columns: Sequence[str]) -> CodedTable:
        """Read and code the named columns, batch by batch while Polars reads ahead."""
        frame, declared = self.select(columns)
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
        """Make the coder of a column of this type, or refuse a type that is not categories."""
        known = pl.Categories.random()
        return cls(name, _kind(dtype, name), known, pl.Series(dtype=pl.Categorical(known)))

    @property
    def expression(self) -> pl.Expr:
        """Code of each value: its number among the known, the largest number for a missing one."""
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
    """Open a Parquet file, with the labels that `writing` stores in it."""
    try:
        frame = pl.scan_parquet(source.path, glob=False, hive_partitioning=False)
        schema = frame.collect_schema()
        stored = json.loads(pl.read_parquet_metadata(source.path).get(LABELS_KEY, "{}"))
    except (pl.exceptions.PolarsError, OSError, ValueError):
        raise damaged(source) from None
    labels = {name: dict(texts) for name, texts in stored.items() if isinstance(texts, dict)}
    return _from_polars(frame, schema, labels)


def damaged(source: SourceFile) -> FormatError:
    """Make the error about a file that cannot be parsed."""
    return FormatError(
        expected=f"a complete {source.kind} file {quoted(source.path.name)}",
        came="a damaged or cut off file",
        do="copy or export the file again",
    )


def frame_source(native: object) -> FrameSource:
    """Take a pandas, Polars or pyarrow frame, or a Polars LazyFrame."""
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
    """Convert the wanted columns only: columns of mixed objects fit no other frame as they are."""
    columns = {str(name): native.iloc[:, index] for index, name in enumerate(native.columns)}
    dtypes = {name: column.dtype for name, column in columns.items()}
    categorical = {name: dtype for name, dtype in dtypes.items() if hasattr(dtype, "categories")}
    ordered = frozenset(name for name, dtype in categorical.items() if dtype.ordered)

    def select(wanted: Sequence[str]) -> tuple[pl.LazyFrame, Declared]:
        levels = {
            name: tuple(dict.fromkeys(_category_text(value, name) for value in dtype.categories))
            for name, dtype in categorical.items()
            if name in wanted
        }
        frame = pl.DataFrame([_polars_column(name, columns[name]) for name in wanted])
        return frame.lazy(), Declared(levels, {})

    return FrameSource(tuple(columns), select, ordered)


def _polars_column(name: str, column: Any) -> pl.Series:
    """Turn a pandas column into text, numbers or truth values, whatever pandas stores it as."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "mM":
        raise _refuse_dates(name)
    if isinstance(column.dtype, np.dtype) and kind in "iufb":
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    values = column.tolist()
    if kind == "f":
        return pl.Series(name, [None if _is_missing(value) else float(value) for value in values])
    to_text = _category_text if hasattr(column.dtype, "categories") else _object_text
    texts = [None if _is_missing(value) else to_text(value, name) for value in values]
    return pl.Series(name, texts, dtype=pl.String)


def _is_missing(value: object) -> bool:
    nothing = value is None or type(value).__name__ in {"NAType", "NaTType"}
    return nothing or (isinstance(value, float) and np.isnan(value))


def _category_text(value: object, column: str) -> str:
    """Turn a pandas category into text; intervals, as pandas.cut makes them, are fine."""
    return str(value) if type(value).__name__ == "Interval" else _object_text(value, column)


def _object_text(value: object, column: str) -> str:
    """Turn a Python object into the text of its category."""
    if isinstance(value, str):
        return _checked_text(value, column)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if hasattr(value, "isoformat"):
        raise _refuse_dates(column)
    raise _not_categories(column, f"values of type {type(value).__name__} among its values")


def _refuse_dates(column: str) -> ColumnError:
    return ColumnError(
        expected=f"categories in column {quoted(column)}",
        came="dates or times",
        do="turn it into groups first (a year, a quarter, an age group), or ignore it",
    ).about(column)


def _checked_text(value: str, column: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _not_categories(column, "text with broken characters (lone surrogates)") from None
    return value


def _not_categories(column: str, came: str) -> ColumnError:
    return ColumnError(
        expected=f"categories (text, whole numbers or true/false) in column {quoted(column)}",
        came=came,
        do="turn the column into text or groups first, or ignore it",
    ).about(column)


def count_codes(
    batches: Iterable[pl.DataFrame],
    coders: Mapping[str, ColumnCoder],
    declared: Declared,
) -> CodedTable:
    """Count the combinations in frames of codes that come one after another.

    The batches hold what the coders' expressions give, in the order of the records; the coders are
    in the order of the batches' columns.
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
                coder.levels,
                coder.kind,
                declared.labels.get(name, {}),
                declared.levels.get(name),
            )
            for name, coder in coders.items()
        ]
    )
    for codes, column in zip(table.codes.T, table.columns, strict=True):
        codes[codes < 0] = len(column.levels) - 1
    return table


def _kind(dtype: Any, column: str) -> Kind:
    if dtype.is_integer() or (dtype.is_decimal() and dtype.scale == 0):
        return "integer"
    if dtype.is_float() or dtype.is_decimal():
        return "real"
    if dtype == pl.Boolean:
        return "boolean"
    if dtype.is_temporal():
        raise _refuse_dates(column)
    if isinstance(dtype, pl.String | pl.Null | pl.Categorical | pl.Enum):
        return "text"
    raise _not_categories(column, f"values of type {dtype!s}")


def whole_numbers(table: CodedTable) -> CodedTable:
    """Turn columns of whole numbers that are stored as floating-point numbers into codes."""
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
