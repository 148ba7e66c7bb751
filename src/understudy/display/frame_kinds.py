"""Frames of results in the user's own kind: whoever brings pandas gets pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import polars as pl

from understudy.checks import check_one_of

__all__ = ["Kind", "in_kind"]

Kind = Literal["polars", "pandas", "pyarrow"]


def in_kind(given: pl.DataFrame | Mapping[str, float | None], kind: Kind) -> Any:
    """Convert a frame, or named numbers as one of a single row; pandas needs no pyarrow for it."""
    check_one_of("a kind of frame", kind, get_args(Kind))
    frame = given if isinstance(given, pl.DataFrame) else pl.DataFrame([dict(given)])
    if kind == "polars":
        return frame
    if kind == "pyarrow":
        return frame.to_arrow()
    import pandas as pd

    return pd.DataFrame({column.name: _pandas_column(column) for column in frame})


def _pandas_column(column: pl.Series) -> Any:
    import pandas as pd

    if isinstance(column.dtype, pl.Enum):
        levels = column.dtype.categories.to_list()
        return pd.Categorical(column.cast(pl.String).to_list(), categories=levels)
    if column.dtype == pl.Boolean and column.null_count():
        return pd.array(column.to_list(), dtype="boolean")
    if column.dtype.is_integer() and column.null_count():
        return pd.array(column.to_list(), dtype="Int64")
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.to_numpy()
    return pd.Series(column.to_list(), dtype=object)
