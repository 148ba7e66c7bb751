"""Columns of a Polars frame become codes, batch by batch.

Polars hashes the values. A value becomes the text that a CSV export would show: whole numbers
without a decimal point, ``true`` and ``false``. Dates, lists and other values that are not
categories are refused. The parser process imports this module, so it uses no compiled code of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import ColumnError, quoted
from understudy.microdata.variable import Kind

__all__ = [
    "ColumnCoder",
    "check_type",
    "code_frame",
    "codes_of",
    "declared_levels",
    "not_categories",
    "refuse_dates",
]

BATCH = 1 << 18
DATES = "dates or times"
NO_VALUE = 2**32 - 1


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


def code_frame(
    frame: pl.LazyFrame, columns: Sequence[str]
) -> tuple[list[ColumnCoder], Iterator[pl.DataFrame]]:
    """Make the coders of some columns, and frames of their codes that Polars reads ahead."""
    schema = frame.collect_schema()
    coders = [ColumnCoder.of(name, schema[name]) for name in columns]
    coded = frame.select([coder.expression for coder in coders])
    return coders, coded.collect_batches(chunk_size=BATCH, maintain_order=True)


def codes_of(batch: pl.DataFrame) -> NDArray[np.uint32]:
    """Turn a frame of codes into an array (record, column)."""
    return np.ascontiguousarray(batch.to_numpy(order="c"), dtype=np.uint32)


def declared_levels(schema: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """List the levels of the columns whose type declares them."""
    return {
        name: tuple(dtype.categories.to_list())
        for name, dtype in schema.items()
        if isinstance(dtype, pl.Enum)
    }


def _kind(dtype: Any, column: str) -> Kind:
    if dtype.is_integer() or (dtype.is_decimal() and dtype.scale == 0):
        return "integer"
    if dtype.is_float() or dtype.is_decimal():
        return "real"
    if dtype == pl.Boolean:
        return "boolean"
    if dtype.is_temporal():
        raise refuse_dates(column)
    if isinstance(dtype, pl.String | pl.Null | pl.Categorical | pl.Enum):
        return "text"
    raise not_categories(column, f"values of type {dtype!s}")


def refuse_dates(column: str) -> ColumnError:
    """Make the error about a column of dates."""
    return ColumnError(
        expected=f"categories in column {quoted(column)}",
        came=DATES,
        do="turn it into groups first (a year, a quarter, an age group), or ignore it",
    ).about(column)


def not_categories(column: str, came: str) -> ColumnError:
    """Make the error about a column whose values are not categories."""
    return ColumnError(
        expected=f"categories (text, whole numbers or true/false) in column {quoted(column)}",
        came=came,
        do="turn the column into text or groups first, or ignore it",
    ).about(column)


def check_type(name: str, dtype: Any) -> None:
    """Refuse values that not every file format can hold."""
    plain = (
        dtype.is_numeric()
        or dtype in {pl.Boolean, pl.Date, pl.String, pl.Null}
        or isinstance(dtype, pl.Datetime | pl.Categorical | pl.Enum)
    )
    if not plain:
        raise ColumnError(
            expected=f"text, numbers, dates or true/false in column {quoted(name)}, which passes "
            "through",
            came=f"values of type {dtype!s}",
            do="turn the column into one of these, or ignore it",
        ).about(name)
