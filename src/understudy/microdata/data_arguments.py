"""Checks of arguments that hold data: microdata, names of variables, tables of label probabilities.

Checks of plain arguments are in `understudy.checks`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from understudy.checks import check_texts, kind_of
from understudy.errors import InputError
from understudy.microdata.label_rows import SparseTable
from understudy.microdata.label_table import LabelTable
from understudy.microdata.table import Microdata

__all__ = ["check_data", "check_kept", "check_table", "check_tables", "check_variables"]


def check_data(data: object) -> Microdata:
    """Check that the confidential data came as microdata."""
    if isinstance(data, Microdata):
        return data
    raise InputError(
        expected="the confidential data as Microdata",
        came=kind_of(data),
        do="read files and frames with read_microdata first, and give what it returns",
    )


def check_kept(data: Microdata, why: str, do: str) -> None:
    """Refuse data of which every variable is synthesized; say why, and what to do instead."""
    if not data.kept:
        raise InputError(
            expected=f"some kept variables, so that {why}",
            came="data with every variable synthesized",
            do=do,
        )


def check_variables(data: Microdata, names: object) -> list[str]:
    """List variables of the data by their names, each once."""
    listed = check_texts(names, "names of variables")
    return list(dict.fromkeys(data.variable(name).name for name in listed))


def check_table(data: Microdata, table: object) -> None:
    """Refuse a table of label probabilities that does not fit the data."""
    if isinstance(table, SparseTable):
        return
    if not isinstance(table, LabelTable):
        raise InputError(
            expected="a LabelTable with probabilities of labels",
            came=kind_of(table),
            do="give a table of a fit's draw, or uniform_labels(data)",
        )
    n_rows, n_columns = table.probabilities.shape
    rows = table.row_of_combination
    fits = n_columns == data.n_labels and rows.shape == (data.n_combinations,)
    if not fits or rows.min() < 0 or rows.max() >= n_rows:
        raise InputError(
            expected=f"probabilities of {data.n_labels:,} labels, and a row of them for each of "
            f"{data.n_combinations:,} combinations",
            came=f"a table of shape {table.probabilities.shape} for {rows.size:,} combinations",
            do="give a table that was made from these data",
        )


def check_tables(tables: Any) -> Iterable[Any]:
    """Refuse anything but a series of tables, which `check_table` then checks one by one."""
    if isinstance(tables, LabelTable) or not isinstance(tables, Iterable):
        raise InputError(
            expected="several tables of label probabilities, one per posterior draw",
            came=kind_of(tables),
            do="give a list of them, or use expected_risk for one",
        )
    return tables
