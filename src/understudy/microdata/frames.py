"""Data frames of pandas, Polars and pyarrow: their columns become codes, and codes frames again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_one_of
from understudy.errors import FormatError, InputError
from understudy.microdata.coding import (
    Backend,
    CodedColumn,
    CodedTable,
    OpenTable,
    count_codes,
    with_whole_numbers,
)
from understudy.microdata.column_coder import (
    check_type,
    code_frame,
    codes_of,
    declared_levels,
    not_categories,
    refuse_dates,
)
from understudy.microdata.roles import check_names
from understudy.microdata.variable import Variable

__all__ = [
    "Column",
    "Columns",
    "data_frame",
    "enum_column",
    "frame_source",
    "polars_column",
    "stacked",
]

# By name: variable and codes (record,), or the values of a column that passes through.
Column = tuple[Variable, NDArray[Any]] | pl.Series
Columns = Mapping[str, Column]


def _open_frame(
    names: Sequence[str],
    select: Callable[[Sequence[str]], tuple[pl.LazyFrame, Mapping[str, tuple[str, ...]]]],
    backend: Backend,
    values: Callable[[Sequence[str]], pl.DataFrame],
    ordered: frozenset[str] = frozenset(),
) -> OpenTable:
    """Open a frame; `select` gives some of its columns, and the levels that they declare.

    `values` gives columns as they are, for those that pass through.
    """

    def read(columns: Sequence[str]) -> CodedTable:
        frame, declared = select(columns)
        try:
            coders, batches = code_frame(frame, columns)
            table = count_codes(
                map(codes_of, batches),
                len(columns),
                lambda: [
                    CodedColumn(c.name, c.levels, c.kind, declared=declared.get(c.name))
                    for c in coders
                ],
            )
        except (pl.exceptions.PolarsError, OSError):
            raise FormatError(
                expected="a table that can be read to its end",
                came="a damaged file, or a frame whose computation fails",
                do="copy or export the file again, or compute the frame before giving it",
            ) from None
        return with_whole_numbers(table)

    return OpenTable(tuple(names), read, backend, ordered, values=values)


def frame_source(native: object) -> OpenTable:
    """Take a pandas, Polars or pyarrow frame, or a Polars LazyFrame."""
    if isinstance(native, pl.LazyFrame):
        try:
            return _from_polars(native, "polars")
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
    backend: Backend = "pyarrow" if frame.implementation.is_pyarrow() else "polars"
    return _from_polars(frame.to_polars().lazy(), backend)


def _from_polars(frame: pl.LazyFrame, backend: Backend) -> OpenTable:
    schema = frame.collect_schema()
    declared = declared_levels(schema)

    def values(columns: Sequence[str]) -> pl.DataFrame:
        for name in columns:
            check_type(name, schema[name])
        return frame.select(columns).collect()

    return _open_frame(
        schema.names(), lambda columns: (frame.select(columns), declared), backend, values
    )


def _from_pandas(native: Any) -> OpenTable:
    """Convert the wanted columns only: columns of mixed objects fit no other frame as they are."""
    columns = {str(name): native.iloc[:, index] for index, name in enumerate(native.columns)}
    dtypes = {name: column.dtype for name, column in columns.items()}
    categorical = {name: dtype for name, dtype in dtypes.items() if hasattr(dtype, "categories")}
    ordered = frozenset(name for name, dtype in categorical.items() if dtype.ordered)

    def select(wanted: Sequence[str]) -> tuple[pl.LazyFrame, Mapping[str, tuple[str, ...]]]:
        levels = {
            name: tuple(dict.fromkeys(_category_text(value, name) for value in dtype.categories))
            for name, dtype in categorical.items()
            if name in wanted
        }
        frame = pl.DataFrame([_polars_column(name, columns[name]) for name in wanted])
        return frame.lazy(), levels

    def values(wanted: Sequence[str]) -> pl.DataFrame:
        return pl.DataFrame([_plain_column(name, columns[name]) for name in wanted])

    return _open_frame(tuple(columns), select, "pandas", values, ordered)


def _plain_column(name: str, column: Any) -> pl.Series:
    """Take a pandas column as it is, dates included."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind == "M":
        return pl.Series(name, column.to_numpy().astype("datetime64[us]"))
    return _polars_column(name, column)


def _polars_column(name: str, column: Any) -> pl.Series:
    """Turn a pandas column into text, numbers or truth values, whatever pandas stores it as."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "mM":
        raise refuse_dates(name)
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
        raise refuse_dates(column)
    raise not_categories(column, f"values of type {type(value).__name__} among its values")


def _checked_text(value: str, column: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise not_categories(column, "text with broken characters (lone surrogates)") from None
    return value


def data_frame(columns: Columns, backend: Backend) -> Any:
    """Build a frame of categories of the wanted kind; missing values become null."""
    check_one_of("a kind of frame", backend, get_args(Backend))
    if backend == "pandas":
        import pandas as pd

        return pd.DataFrame({name: _pandas_column(column) for name, column in columns.items()})
    frame = pl.DataFrame({name: polars_column(column) for name, column in columns.items()})
    return frame.to_arrow() if backend == "pyarrow" else frame


def _pandas_column(column: tuple[Variable, NDArray[Any]] | pl.Series) -> Any:
    import pandas as pd

    if isinstance(column, pl.Series):
        plain = column.dtype.is_numeric() or column.dtype.is_temporal()
        return column.to_numpy() if plain else pd.array(column.to_list(), dtype=object)
    variable, codes = column
    return pd.Categorical.from_codes(
        np.where(codes < len(variable.present_levels), codes, -1),
        categories=list(variable.present_levels),
    )


def polars_column(column: tuple[Variable, NDArray[Any]] | pl.Series) -> pl.Series:
    """Give a column of categories, or one that passes through, as a Polars column."""
    return column if isinstance(column, pl.Series) else enum_column(*column)


def enum_column(variable: Variable, codes: NDArray[Any]) -> pl.Series:
    """Turn codes (record,) into a Polars column of categories; missing becomes null."""
    levels = list(variable.present_levels)
    rows = pl.Series(codes).cast(pl.UInt32)
    if variable.has_missing:
        rows = pl.Series(np.where(codes < len(levels), codes, -1)).cast(pl.Int64)
        rows = rows.set(rows < 0, None).cast(pl.UInt32)
    return pl.Series(levels, dtype=pl.Enum(levels)).gather(rows)


def stacked(columns: Sequence[Column], rows: int) -> Column:
    """Put the same column of several frames of so many rows each into one, one below the other."""
    series = [column for column in columns if isinstance(column, pl.Series)]
    if series:
        return pl.concat([column.head(rows) for column in series])
    coded = [column for column in columns if not isinstance(column, pl.Series)]
    return coded[0][0], np.concatenate([codes[:rows] for _, codes in coded])
