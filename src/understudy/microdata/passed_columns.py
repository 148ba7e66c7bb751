"""Columns that pass through: true values in every file, outside of every model.

Weights, strata, dates, numbers that nobody synthesizes. They keep the type of the source, are held
once, and are joined to a set when it is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from understudy.microdata.coding import CodedTable

__all__ = ["PassedColumns", "Stored", "text_columns"]

CHUNK = 1 << 16
Stored = Literal["text", "numbers", "whole numbers", "dates", "true or false"]
TYPES: dict[Stored, Callable[[Any], bool]] = {
    "dates": lambda dtype: dtype.is_temporal(),
    "true or false": lambda dtype: dtype == pl.Boolean,
    "whole numbers": lambda dtype: dtype.is_integer(),
    "numbers": lambda dtype: dtype.is_numeric(),
}
FORMS: dict[Stored, str] = {  # of values in text
    "whole numbers": r"[+-]?\d+",
    "numbers": r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?",
    "dates": r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:\d{2}.*)?",
}


@dataclass(frozen=True, repr=False, eq=False)
class PassedColumns:
    """Columns that pass through.

    Attributes
    ----------
    frame : polars.DataFrame
        The columns, a row per record.
    order : tuple of str
        All columns of a synthetic file, in the order of the source.
    """

    frame: pl.DataFrame
    order: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that pass through."""
        return tuple(self.frame.columns)

    def digest(self) -> bytes:
        """Digest of names, types and values."""
        state = hashlib.blake2b(digest_size=32)
        for column in self.frame:
            state.update(repr((column.name, str(column.dtype))).encode("utf-8", "surrogatepass"))
            for start in range(0, column.len(), CHUNK):
                texts = column.slice(start, CHUNK).cast(pl.String).to_list()
                state.update(json.dumps(texts).encode("utf-8", "surrogatepass"))
        return state.digest()

    def stored(self, name: str) -> Stored:
        """Say what a column holds, in words; numbers in a text file are numbers here."""
        column = self.frame[name]
        for stored, holds in TYPES.items():
            if holds(column.dtype):
                return stored
        texts = column.cast(pl.String).drop_nulls()
        forms = (
            stored
            for stored, form in FORMS.items()
            if texts.len() and texts.str.contains(f"^{form}$").all()
        )
        return next(forms, "text")

    def __repr__(self) -> str:
        """Show the shape only."""
        return f"PassedColumns({len(self.names)} columns, {self.frame.height:,} records)"


def text_columns(table: CodedTable) -> pl.DataFrame:
    """Give columns that were read from a text file as text, as it is written there."""
    return pl.DataFrame(
        {
            column.name: pl.Series(column.levels, dtype=pl.String).gather(
                pl.Series(codes[table.of_record])
            )
            for column, codes in zip(table.columns, table.codes.T, strict=True)
        }
    )
