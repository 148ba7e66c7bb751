"""What every measure checks at its door, before it looks at anything inside."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

from understudy.errors import InputError, SettingError
from understudy.microdata.label_table import LabelTable
from understudy.microdata.table import Microdata

__all__ = ["check_data", "check_number", "check_table", "kind_of", "listed_tables"]


def kind_of(value: object) -> str:
    """Say what came, by its kind and never by its value."""
    return f"a value of type {type(value).__name__}"


def check_data(data: object) -> None:
    """Refuse anything but data that were read."""
    if not isinstance(data, Microdata):
        raise InputError(
            expected="the confidential data from read_microdata first",
            came=kind_of(data),
            do="read the confidential data with read_microdata",
        )


def check_table(data: Microdata, table: object) -> None:
    """Refuse a table of label probabilities that does not fit the data."""
    if not isinstance(table, LabelTable):
        raise InputError(
            expected="a LabelTable with probabilities of labels",
            came=kind_of(table),
            do="give a table of a fit's draw, or uniform_labels(data)",
        )
    n_rows, n_columns = table.probabilities.shape
    rows = table.row_of_combination
    right = n_columns == data.n_labels and rows.shape == (data.n_combinations,)
    if not right or rows.min() < 0 or rows.max() >= n_rows:
        raise InputError(
            expected=f"probabilities of {data.n_labels:,} labels, and a row of them for each of "
            f"{data.n_combinations:,} combinations",
            came=f"a table of shape {table.probabilities.shape} for {rows.size:,} combinations",
            do="give a table that was made from these data",
        )


def listed_tables(tables: Any) -> Iterable[Any]:
    """Refuse what is no series of tables."""
    if isinstance(tables, LabelTable) or not isinstance(tables, Iterable):
        raise InputError(
            expected="several tables of label probabilities, one per posterior draw",
            came=kind_of(tables),
            do="give a list of them, or use expected_risk for one",
        )
    return tables


def check_number(name: str, value: object) -> None:
    """Refuse a setting that is no number."""
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
        raise SettingError(
            expected=f"{name} as a number", came=kind_of(value), do="give a number, such as 5"
        )
