"""Synthetic files made by any tool, read against the confidential data that they replace.

A synthetic file that is coded differently, or whose rows are in another order, would look safe: its
labels match nothing. So both are errors here, never a low risk.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.checks import kind_of
from understudy.errors import (
    AlignmentError,
    ColumnError,
    InputError,
    LevelError,
    MissingValuesError,
    quoted,
    quoted_list,
)
from understudy.microdata.bins import Bins, as_number, bins_from
from understudy.microdata.coding import CodedColumn, CodedTable
from understudy.microdata.csv_reader import HeaderChoice
from understudy.microdata.reading import check_header, open_table
from understudy.microdata.roles import check_names, listed_columns
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.microdata.variable import Variable
from understudy.public_errors import only_our_errors

__all__ = ["as_sets", "read_new_people", "read_synthetic"]


@only_our_errors
def read_synthetic(
    data: Microdata,
    sources: Iterable[Any] | str | os.PathLike[str],
    *,
    na: Sequence[str] = (),
    bins: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: HeaderChoice = "auto",
    imputations: int | None = None,
) -> SyntheticSets:
    """Read synthetic versions of the data from files or data frames.

    Row i of every source must stand in for record i: the kept variables have to agree row by row.
    Levels are compared as text with those of the data and its codebook, over all sources. Where
    missing values are modelled (``missing="model"``), files may show imputed values in their place,
    all of a variable's in every file.

    Parameters
    ----------
    data : Microdata
        The confidential data.
    sources : iterable of paths or frames
        One per synthetic set; columns beyond those of the data are skipped.
    na : sequence of str
        Texts that mean missing, in addition to those of the codebook.
    bins : mapping, optional
        Cut points of columns that hold numbers, as `understudy.read_microdata` takes them: a file
        may hold the numbers themselves or the names of their groups.
    encoding, delimiter : str, optional
        Of text files.
    header : {"auto", "yes"}
        Whether the first lines of text files are sure to hold the names of their columns.
    imputations : int, optional
        How many imputations the files are of, where they show some: those of the first come first,
        as many of each. Regressions need it.

    Returns
    -------
    SyntheticSets
    """
    groups = bins_from(bins)
    tables = _read_all(data, sources, na, (encoding, delimiter, None, header), groups=groups)
    largest = max(data.variable(name).n_levels for name in data.synthesized)
    shape = (len(tables), data.n_records, len(data.synthesized))
    codes = np.empty(shape, dtype=np.min_scalar_type(largest))  # (set, record, variable)
    filled: dict[str, list[NDArray[np.int32]]] = {}
    for index, table in enumerate(tables):
        columns = _record_codes(data, table, na, groups)
        for name in _check_rows(data, columns, index + 1):
            filled.setdefault(name, []).append(columns[name])
        for axis, name in enumerate(data.synthesized):
            codes[index, :, axis] = columns[name]
    if any(len(columns) < len(tables) for columns in filled.values()):
        raise AlignmentError(
            expected="the missing values of a kept variable imputed in every file, or in none",
            came=f"some files with imputed values of {quoted_list(list(filled))}",
            do="give files of one kind",
        )
    whole = {name: np.stack(columns) for name, columns in filled.items()}  # (set, record)
    return SyntheticSets(data, codes, not data.kept, whole, imputations)


def read_new_people(
    data: Microdata, sources: Iterable[Any] | str | os.PathLike[str]
) -> list[NDArray[np.int32]]:
    """Read fully synthetic files, whose rows are new people; no variable of the data is kept.

    Gives codes (row, synthesized variable) of each set, which may have any number of rows.
    """
    tables = _read_all(data, sources, (), (), any_rows=True)
    for number, table in enumerate(tables, start=1):
        if table.of_record.size == 0:
            raise InputError(
                expected=f"at least one row in synthetic file {number}",
                came="none",
                do="give files that have rows",
            )
    by_name = [_record_codes(data, table, (), {}) for table in tables]
    return [np.stack([codes[name] for name in data.synthesized], axis=1) for codes in by_name]


def _read_all(
    data: Microdata,
    sources: Iterable[Any] | str | os.PathLike[str],
    na: Sequence[str],
    opening: Sequence[Any],
    any_rows: bool = False,
    groups: Mapping[str, Bins] = MappingProxyType({}),
) -> list[CodedTable]:
    """Read all files and check their columns, levels and, unless any will do, numbers of rows.

    `opening` holds further arguments of `open_table`.
    """
    if not isinstance(data, Microdata):
        raise InputError(
            expected="the confidential data from read_microdata first",
            came=kind_of(data),
            do="read the confidential data, then the synthetic files",
        )
    several = isinstance(sources, Iterable)
    if isinstance(sources, str | os.PathLike) or hasattr(sources, "columns"):
        sources, several = [sources], True
    listed = list(sources) if several else []
    if not listed:
        raise InputError(
            expected="at least one synthetic file or data frame",
            came="none" if several else kind_of(sources),
            do="give the synthetic versions of the data",
        )
    tables = [
        _read_file(data, source, number, opening) for number, source in enumerate(listed, start=1)
    ]
    if not any_rows:
        for number, table in enumerate(tables, start=1):
            _check_number_of_rows(data, table, number)
    _check_levels(data, tables, na, groups)
    return tables


def as_sets(data: Microdata, synthetic: SyntheticSets | Sequence[Any]) -> SyntheticSets:
    """Turn what the user gave as synthetic data into sets of codes; see `read_synthetic`."""
    if isinstance(synthetic, SyntheticSets):
        if synthetic.data is not data and synthetic.data.fingerprint() != data.fingerprint():
            raise InputError(
                expected="synthetic sets made from the data given",
                came="sets that were made from other data",
                do="give the data that the sets were made from",
            )
        sets = synthetic
    else:
        sets = read_synthetic(data, synthetic)
    if len(sets) == 0:
        raise InputError(
            expected="at least one synthetic set", came="none", do="give one or more sets or files"
        )
    return sets


def _read_file(data: Microdata, source: Any, number: int, opening: Sequence[Any]) -> CodedTable:
    opened = open_table(source, *opening)
    check_header(opened, data.names)
    check_names(opened.names)
    there = set(opened.names)
    absent = [name for name in data.names if name not in there]
    if absent:
        raise ColumnError(
            expected=f"the columns {quoted_list(data.names)} in synthetic file {number}",
            came=f"no column {quoted_list(absent)} among {listed_columns(opened.names)}",
            do="give files with the columns of the original, kept and synthesized",
        )
    return opened.read(data.names)


def _check_number_of_rows(data: Microdata, table: CodedTable, number: int) -> None:
    if table.of_record.size != data.n_records:
        dropped = " (records with missing values were dropped)" if data.n_dropped else ""
        raise AlignmentError(
            expected=f"{data.n_records:,} records in synthetic file {number}, as in the data"
            + dropped,
            came=f"{table.of_record.size:,}",
            do="give the synthetic version of exactly these records, one row each, in their order",
        )


def _record_codes(
    data: Microdata, table: CodedTable, na: Sequence[str], groups: Mapping[str, Bins]
) -> dict[str, NDArray[np.int32]]:
    """Give the codes (record,) of every variable among the levels of the data."""
    return {
        variable.name: _level_codes(variable, column, na, groups)[codes][table.of_record]
        for variable, column, codes in zip(
            data.variables, table.columns, table.codes.T, strict=True
        )
    }


def _level_codes(
    variable: Variable, column: CodedColumn, na: Sequence[str], groups: Mapping[str, Bins]
) -> NDArray[np.int32]:
    """Code of each distinct value of a column among the variable's levels, -1 for unknown."""
    code_of: dict[str | None, int] = dict.fromkeys(na, -1)
    if variable.has_missing:
        code_of = dict.fromkeys([None, *na, variable.missing_code], variable.n_levels - 1)
    code_of |= {level: code for code, level in enumerate(variable.present_levels)}
    if "" in code_of:  # empty text is a level, and no value of the data is missing
        code_of.setdefault(None, code_of[""])
    bins = groups.get(variable.name)
    if bins is not None:
        named = {level: bins.name_of(level) for level in column.levels if level not in code_of}
        code_of |= {level: code_of.get(name, -1) for level, name in named.items()}
    return np.array([code_of.get(level, -1) for level in column.levels], dtype=np.int32)


def _check_levels(
    data: Microdata, tables: Sequence[CodedTable], na: Sequence[str], groups: Mapping[str, Bins]
) -> None:
    """Refuse levels that the data do not have, over all files together."""
    for index, variable in enumerate(data.variables):
        unknown: list[set[str | None]] = []  # of each file
        n_levels = 0
        for table in tables:
            observed = np.unique(table.codes[:, index])
            codes = _level_codes(variable, table.columns[index], na, groups)[observed]
            n_levels = max(n_levels, observed.size)
            unknown.append({table.columns[index].levels[row] for row in observed[codes < 0]})
        n_missing = sum(None in levels for levels in unknown)
        if n_missing:
            raise MissingValuesError(
                expected=f"a value in every row of {quoted(variable.name)}, as in the data",
                came=f"missing values in {n_missing} of {len(tables)} synthetic files",
                do="complete the synthetic files, or read the data with missing as a level",
            )
        if any(unknown):
            raise _unknown_levels(variable, unknown, n_levels)


def _unknown_levels(
    variable: Variable, unknown: Sequence[set[str | None]], n_levels: int
) -> LevelError:
    """Refuse levels that the data do not have, given those of each file."""
    levels = set().union(*unknown)
    numbers = {as_number(level) for level in variable.levels} - {None}
    files = [str(number) for number, own in enumerate(unknown, start=1) if own]
    which = ", ".join(files[:12]) + (" and others" if len(files) > 12 else "")
    differently = len(levels) >= n_levels or {as_number(level or "") for level in levels} <= numbers
    empty = " (empty text among them: if it means missing, say so with na)" if "" in levels else ""
    return LevelError(
        expected=f"levels of {quoted(variable.name)} that the original data or the codebook have",
        came=f"{len(levels):,} other level{'s' * (len(levels) != 1)} in synthetic file {which}"
        + (", so that it seems to be coded differently" if differently else "")
        + empty,
        do="write the same codes in the same way (01 and 1.0 are not 1, a label is not its code, a "
        "number is not the group it was binned into: --bins with cut points bins the files, too)"
        if differently
        else "declare these levels in a codebook if they may occur, or correct the files",
    )


def _check_rows(data: Microdata, codes: Mapping[str, NDArray[np.int32]], number: int) -> list[str]:
    """Refuse a file whose kept variables differ from the original's in some row.

    Where the data have a hole, the file may have a level: gives the variables of which it shows
    imputed values, which have to be in place of every hole.
    """
    differ = np.zeros(data.n_records, dtype=bool)
    filled = []
    for name in data.kept:
        own, variable = data.codes(name), data.variable(name)
        other = codes[name] != own
        if variable.has_holes and other.any():
            holes = own == variable.n_levels - 1
            filled.append(name)
            other = other != holes  # every hole is filled, and nothing else was changed
        differ |= other
    if not differ.any():
        return filled
    raise AlignmentError(
        expected=f"the kept variables of every record unchanged in synthetic file {number}"
        + (", but for missing values, which may all be imputed" if data.with_holes else ""),
        came=f"other values in {int(differ.sum()):,} of {data.n_records:,} rows: the rows are "
        "in another order, or kept variables were changed",
        do="give files whose row i stands in for record i; matching rows at random would make "
        "any file look safe",
    )
