"""Synthetic files made by any tool, read beside the confidential data that they stand in for.

A synthetic file that is coded differently, or whose rows are in another order, would look safe: its
labels match nothing. So both are errors here, never a low risk.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import (
    AlignmentError,
    ColumnError,
    InputError,
    LevelError,
    MissingValuesError,
    quoted,
    quoted_list,
)
from understudy.microdata.coding import CodedColumn, CodedTable
from understudy.microdata.reading import open_table
from understudy.microdata.roles import check_names, listed_columns
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.microdata.variable import MISSING, Variable

__all__ = ["as_sets", "read_new_people", "read_synthetic"]


def read_synthetic(
    data: Microdata,
    sources: Iterable[Any] | str | os.PathLike[str],
    *,
    na: Sequence[str] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
) -> SyntheticSets:
    """Read synthetic versions of the data from files or data frames.

    Row i of every source must stand in for record i: the kept variables have to agree row by row.
    Levels are compared as text with those of the data and its codebook, over all sources.

    Parameters
    ----------
    data : Microdata
        The confidential data.
    sources : iterable of paths or frames
        One per synthetic set; columns beyond those of the data are passed over.
    na : sequence of str
        Texts that mean missing, beside those of the codebook.
    encoding, delimiter : str, optional
        Of text files.

    Returns
    -------
    SyntheticSets
    """
    tables = _read_all(data, sources, na, encoding, delimiter)
    largest = max(data.variable(name).n_levels for name in data.synthesized)
    shape = (len(tables), data.n_records, len(data.synthesized))
    codes = np.empty(shape, dtype=np.min_scalar_type(largest))  # (set, record, variable)
    for number, table in enumerate(tables):
        own = [_codes(variable, column, na) for variable, column in _pairs(data, table)]
        _check_rows(data, table, own, number + 1)
        for place, name in enumerate(data.synthesized):
            codes[number, :, place] = own[data.names.index(name)][_rows(table, data, name)]
    return SyntheticSets(data, codes, fully_synthetic=not data.kept)


def read_new_people(
    data: Microdata, sources: Iterable[Any] | str | os.PathLike[str]
) -> list[NDArray[np.int32]]:
    """Read fully synthetic files, whose rows are new people and may be of any number.

    Parameters
    ----------
    data : Microdata
        The confidential data; no variable is kept.
    sources : iterable of paths or frames
        One per synthetic set.

    Returns
    -------
    list of int32 (row, synthesized variable)
        Codes of each set.
    """
    found = []
    for number, table in enumerate(
        _read_all(data, sources, (), None, None, any_rows=True), start=1
    ):
        if table.of_record.size == 0:
            raise InputError(
                expected=f"at least one row in synthetic file {number}",
                came="none",
                do="give files that have rows",
            )
        own = [_codes(variable, column, ()) for variable, column in _pairs(data, table)]
        columns = [
            own[data.names.index(name)][_rows(table, data, name)] for name in data.synthesized
        ]
        found.append(np.stack(columns, axis=1))
    return found


def _read_all(
    data: Microdata,
    sources: Iterable[Any] | str | os.PathLike[str],
    na: Sequence[str],
    encoding: str | None,
    delimiter: str | None,
    any_rows: bool = False,
) -> list[CodedTable]:
    """Read all files and check their columns, levels and, unless any will do, numbers of rows."""
    if not isinstance(data, Microdata):
        raise InputError(
            expected="the confidential data from read_microdata first",
            came=f"a value of type {type(data).__name__}",
            do="read the confidential data, then the synthetic files",
        )
    alone = isinstance(sources, str | os.PathLike) or hasattr(sources, "columns")
    listed = [sources] if alone else list(sources) if isinstance(sources, Iterable) else []
    if not listed:
        raise InputError(
            expected="at least one synthetic file or data frame",
            came="none"
            if isinstance(sources, Iterable)
            else f"a value of type {type(sources).__name__}",
            do="give the synthetic versions of the data",
        )
    tables = [_read_one(data, source, number, encoding, delimiter, any_rows)
              for number, source in enumerate(listed, start=1)]  # fmt: skip
    _check_levels(data, tables, na)
    return tables


def as_sets(data: Microdata, synthetic: SyntheticSets | Sequence[Any]) -> SyntheticSets:
    """Turn what the user gave as synthetic data into sets of codes.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    synthetic : SyntheticSets, or sequence of frames or paths
        Files and frames are read against the levels of `data`; rows whose kept variables differ
        from the records' are refused.
    """
    if isinstance(synthetic, SyntheticSets):
        if synthetic.data is not data and synthetic.data.fingerprint() != data.fingerprint():
            raise InputError(
                expected="synthetic sets that stand in for the data given",
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


def _read_one(
    data: Microdata,
    source: Any,
    number: int,
    encoding: str | None,
    delimiter: str | None,
    any_rows: bool,
) -> CodedTable:
    opened = open_table(source, encoding, delimiter)
    check_names(opened.names)
    absent = [name for name in data.names if name not in opened.names]
    if absent:
        raise ColumnError(
            expected=f"the columns {quoted_list(data.names)} in synthetic file {number}",
            came=f"no column {quoted_list(absent)} among {listed_columns(opened.names)}",
            do="give files with the columns of the original, kept and synthesized",
        )
    table = opened.read(data.names)
    if not any_rows:
        _check_number_of_rows(data, table, number)
    return table


def _check_number_of_rows(data: Microdata, table: CodedTable, number: int) -> None:
    if table.of_record.size != data.n_records:
        dropped = " (records with missing values were dropped)" if data.n_dropped else ""
        raise AlignmentError(
            expected=f"{data.n_records:,} records in synthetic file {number}, as in the data"
            + dropped,
            came=f"{table.of_record.size:,}",
            do="give the synthetic version of exactly these records, one row each, in their order",
        )


def _pairs(data: Microdata, table: CodedTable) -> Iterable[tuple[Variable, CodedColumn]]:
    return zip(data.variables, table.columns, strict=True)


def _rows(table: CodedTable, data: Microdata, name: str) -> NDArray[np.int32]:
    """Place of each record's value among the distinct values of one column."""
    return table.codes[:, data.names.index(name)][table.of_record]


def _codes(variable: Variable, column: CodedColumn, na: Sequence[str]) -> NDArray[np.int32]:
    """Code of each distinct value of a column among the variable's levels, -1 for unknown."""
    place = {level: code for code, level in enumerate(variable.present_levels)}
    absent = place.get(MISSING, variable.n_levels - 1 if variable.has_missing else -1)
    missing_codes = {*na, variable.missing_code} if variable.has_missing else set(na)
    return np.array(
        [
            place.get(level, absent if level in missing_codes else -1)
            if level is not None
            else absent
            for level in column.levels
        ],
        dtype=np.int32,
    )


def _observed(table: CodedTable, place: int) -> NDArray[np.bool_]:
    """Which distinct values of a column some record has."""
    seen = np.zeros(len(table.columns[place].levels), dtype=bool)
    seen[np.unique(table.codes[:, place])] = True
    return seen


def _check_levels(data: Microdata, tables: Sequence[CodedTable], na: Sequence[str]) -> None:
    """Refuse levels that the data do not have, over all files before any is judged."""
    for place, variable in enumerate(data.variables):
        strange: set[str] = set()
        n_levels, files, missing = 0, [], 0
        for number, table in enumerate(tables, start=1):
            column, seen = table.columns[place], _observed(table, place)
            unknown = (_codes(variable, column, na) < 0) & seen
            found = {
                level for level, odd in zip(column.levels, unknown, strict=True)
                if odd and level is not None
            }  # fmt: skip
            missing += any(
                odd and level is None for level, odd in zip(column.levels, unknown, strict=True)
            )
            n_levels = max(n_levels, int(seen.sum()))
            strange |= found
            files += [number] if found else []
        if missing:
            raise MissingValuesError(
                expected=f"a value in every cell of {quoted(variable.name)}, as in the data",
                came=f"missing values in {missing} of {len(tables)} synthetic files",
                do="complete the synthetic files, or read the data with missing as a level",
            )
        if strange:
            raise _strange_levels(variable.name, strange, n_levels, files)


def _strange_levels(
    name: str, strange: set[str], n_levels: int, files: Sequence[int]
) -> LevelError:
    which = ", ".join(map(str, files[:12])) + (" and others" if len(files) > 12 else "")
    n_strange = len(strange)
    differently = n_strange >= n_levels
    empty = " (empty text among them: if it means missing, say so with na)" if "" in strange else ""
    return LevelError(
        expected=f"levels of {quoted(name)} that the original data or the codebook have",
        came=f"{n_strange:,} other level{'s' * (n_strange != 1)} in synthetic file {which}"
        + (", so that it seems to be coded differently" if differently else "")
        + empty,
        do="write the same codes in the same way (01 is not 1, a label is not its code, a number "
        "is not the group it was binned into)"
        if differently
        else "declare these levels in a codebook if they may occur, or mend the files",
    )


def _check_rows(
    data: Microdata, table: CodedTable, own: Sequence[NDArray[np.int32]], number: int
) -> None:
    """Refuse a file whose kept variables differ from the original's in some row."""
    differ = np.zeros(data.n_records, dtype=bool)
    for name in data.kept:
        codes = own[data.names.index(name)][_rows(table, data, name)]
        differ |= codes != data.codes(name)
    if differ.any():
        raise AlignmentError(
            expected=f"the kept variables of every record unchanged in synthetic file {number}",
            came=f"other values in {int(differ.sum()):,} of {data.n_records:,} rows: the rows are "
            "in another order, or kept variables were changed",
            do="give files whose row i stands in for record i; matching rows at random would make "
            "any file look safe",
        )
