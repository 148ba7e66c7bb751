"""Reading: from a file or a frame of any kind to `Microdata`, or to a sentence that says why not.

The order of things is the order of the functions below: open the source, give every column its
part, read and code the used columns, then settle each column's levels (missing codes, bins,
codebook) and look at the whole.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.errors import DataWarning, FormatError, MissingValuesError, SettingError, quoted
from understudy.microdata.bins import Bins, bins_from
from understudy.microdata.codebook import Codebook, check_columns, codebook_from
from understudy.microdata.coding import CodedTable, regroup
from understudy.microdata.delimited import Progress, check_encoding, read_delimited, read_header
from understudy.microdata.files import open_source
from understudy.microdata.frames import frame_source, parquet_source
from understudy.microdata.levels import Settled, UnusedLevels, settle_levels
from understudy.microdata.roles import Roles, assign_roles, check_names, warn_of_similar_names
from understudy.microdata.rules import check_impossible
from understudy.microdata.schema import MISSING, Variable
from understudy.microdata.statistical import statistical_source
from understudy.microdata.table import Backend, Microdata
from understudy.microdata.warning_signs import look_at_whole

__all__ = ["Missing", "OpenTable", "open_table", "read_microdata"]

Missing = Literal["error", "level", "drop"]
MISSING_CHOICES = ("error", "level", "drop")


@dataclass(frozen=True, repr=False)
class OpenTable:
    """A source that is open: its columns are known, its records can be read."""

    names: tuple[str, ...]
    backend: Backend
    read: Callable[[Sequence[str]], CodedTable]
    ordered: frozenset[str] = frozenset()
    descriptions: Mapping[str, str] | None = None


def read_microdata(
    source: Any,
    synthesize: Sequence[str] | str,
    keep: Sequence[str] | str | None = None,
    bins: Mapping[str, Any] | None = None,
    codebook: Codebook | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    missing: Missing = "error",
    *,
    ignore: Sequence[str] | str | None = None,
    na: Sequence[str] = (),
    unused_levels: UnusedLevels = "error",
    encoding: str | None = None,
    delimiter: str | None = None,
    catalog: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Microdata:
    """Read confidential records from a file or a data frame.

    A category is the text that stands in the source: ``01001`` keeps its zero, and ``NA`` is a
    category unless `na` or the codebook says that it means missing.

    Parameters
    ----------
    source : path or frame
        A CSV file (also ``.gz``), a Parquet, SAS, Stata or SPSS file, or a pandas, Polars or
        pyarrow data frame.
    synthesize : sequence of str
        Columns that may not be published as they are.
    keep : sequence of str, optional
        Columns to publish as they are; every other column that is not ignored when left out.
    bins : mapping, optional
        How columns of numbers become groups: ``{"income": "quartiles", "age": [20, 40, 60, 80]}``;
        see `Bins`.
    codebook : path or mapping, optional
        Levels, their order, labels, missing codes and impossible combinations, declared outside of
        the data; see `Codebook`.
    missing : {"error", "level", "drop"}
        What to do with missing values: refuse the data, make missing a level of its own, or leave
        out records that have any (their number is reported in a warning).
    ignore : sequence of str, optional
        Columns to leave out of everything.
    na : sequence of str
        Texts that mean missing, in any column.
    unused_levels : {"error", "keep", "drop"}
        What to do with levels that a categorical column declares and no record has: ask, keep them
        (they can then appear in synthetic data), or drop them.
    encoding : str, optional
        Of a text file; UTF-8 when left out.
    delimiter : str, optional
        Of a text file; found from the file when left out.
    catalog : path, optional
        A ``.sas7bcat`` file with the labels of a SAS file's values.
    progress : callable, optional
        Called with bytes read and bytes in all, for text files.

    Returns
    -------
    Microdata
        Codes, combinations and patterns; printing it shows shapes only.

    Examples
    --------
    >>> import polars as pl
    >>> import understudy as us
    >>> frame = pl.DataFrame({"sex": ["f", "m", "f"], "town": ["north", "north", "south"]})
    >>> us.read_microdata(frame, synthesize="town", missing="error").n_combinations
    3
    """
    if missing not in MISSING_CHOICES:
        raise SettingError(
            expected='missing as "error", "level" or "drop"',
            came=quoted(missing),
            do="choose one; imputation is not offered yet",
        )
    groups, book = bins_from(bins), codebook_from(codebook)
    table = open_table(source, encoding, delimiter, catalog, progress)
    check_names(table.names)
    check_columns(book, table.names)
    roles = assign_roles(table.names, synthesize, keep, ignore)
    warn_of_similar_names(table.names)
    _check_bins(groups, roles)
    coded = table.read(roles.used)
    if coded.of_record.size == 0:
        raise FormatError(
            expected="at least one record",
            came="a header and no records" if isinstance(source, str | os.PathLike) else "no rows",
            do="check how the data were exported",
        )
    per_column = [
        settle_levels(column, counts, groups.get(column.name), book.of(column.name), na,
                      unused_levels, ordered=column.name in table.ordered)
        for column, counts in zip(coded.columns, _level_counts(coded), strict=True)
    ]  # fmt: skip
    data = _assemble(coded, per_column, roles, book, table, missing)
    check_impossible(data)
    look_at_whole(data)
    return data


def open_table(
    source: Any,
    encoding: str | None = None,
    delimiter: str | None = None,
    catalog: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> OpenTable:
    """Open a file or a frame and find its columns, without reading its records.

    Parameters
    ----------
    source : path or frame
        As for `read_microdata`.
    encoding, delimiter, catalog, progress
        As for `read_microdata`.

    Returns
    -------
    OpenTable
    """
    if not isinstance(source, str | os.PathLike):
        frame = frame_source(source)
        return OpenTable(frame.names, _backend(source), frame.read, frame.ordered)
    file = open_source(Path(source) if not isinstance(source, str) else source)
    if file.kind == "csv":
        header = read_header(file, encoding, delimiter)
        return OpenTable(
            header.names, "polars", lambda columns: read_delimited(file, header, columns, progress)
        )
    if file.kind == "parquet":
        frame = parquet_source(file)

        def read_parquet(columns: Sequence[str]) -> CodedTable:
            coded = frame.read(columns)
            file.check_unchanged()
            return coded

        return OpenTable(frame.names, "polars", read_parquet)
    statistical = statistical_source(file, check_encoding(encoding), catalog)
    return OpenTable(
        statistical.names, "polars", statistical.read, descriptions=statistical.descriptions
    )


def _backend(native: object) -> Backend:
    module = type(native).__module__.split(".")[0]
    return "pandas" if module == "pandas" else "pyarrow" if module == "pyarrow" else "polars"


def _check_bins(bins: Mapping[str, Bins], roles: Roles) -> None:
    for name in bins:
        if name not in roles.used:
            raise SettingError(
                expected="bins for columns that are kept or synthesized",
                came=f"bins for {quoted(name)}",
                do="correct the name, or take the bins out",
            )


def _level_counts(coded: CodedTable) -> list[NDArray[np.int64]]:
    """Count the records of each level, column by column, from the combinations alone."""
    return [
        np.bincount(
            coded.codes[:, place], weights=coded.counts, minlength=len(column.levels)
        ).astype(np.int64)
        for place, column in enumerate(coded.columns)
    ]


def _assemble(
    coded: CodedTable,
    settled: Sequence[Settled],
    roles: Roles,
    book: Codebook,
    table: OpenTable,
    missing: Missing,
) -> Microdata:
    codes = np.empty_like(coded.codes)  # (combination, column), -1 for missing
    for place, column in enumerate(settled):
        codes[:, place] = column.new_code[coded.codes[:, place]]
    counts, of_record, n_dropped = coded.counts, coded.of_record, 0
    absent = codes < 0  # (combination, column)
    if absent.any() and missing != "level":
        by_column = {
            column.name: int(counts[absent[:, place]].sum())
            for place, column in enumerate(settled)
            if absent[:, place].any()
        }
        if missing == "error":
            raise _missing_values(by_column, coded.of_record.size)
        complete = ~absent.any(axis=1)
        n_dropped = int(counts[~complete].sum())
        _report_dropped(n_dropped, coded.of_record.size, by_column)
        new_row = np.cumsum(complete) - 1
        of_record = new_row[of_record[complete[of_record]]].astype(np.int32)
        codes, counts = codes[complete], counts[complete]
    variables = []
    for place, column in enumerate(settled):
        levels = column.levels
        if missing == "level" and absent[:, place].any():
            levels = (*levels, MISSING)
            codes[absent[:, place], place] = len(levels) - 1
        variables.append(_variable(column, levels, roles, book, table))
    codes, counts, of_record = regroup(
        codes, counts, of_record, [variable.n_levels for variable in variables]
    )
    return Microdata(
        tuple(variables), codes, counts, of_record, book.impossible, n_dropped, table.backend
    )


def _variable(
    column: Settled, levels: tuple[str, ...], roles: Roles, book: Codebook, table: OpenTable
) -> Variable:
    said = book.of(column.name)
    return Variable(
        name=column.name,
        role="synthesized" if column.name in roles.synthesized else "kept",
        levels=levels,
        labels={**column.labels, **said.labels},
        description=said.description or (table.descriptions or {}).get(column.name, ""),
        declared=said.levels is not None,
        missing_code=column.missing_code,
        numeric=column.numeric,
    )


def _shares(by_column: Mapping[str, int]) -> str:
    return ", ".join(f"{quoted(name)} ({number:,})" for name, number in by_column.items())


def _missing_values(by_column: Mapping[str, int], n_records: int) -> MissingValuesError:
    return MissingValuesError(
        expected="a value in every cell",
        came=f"missing values among {n_records:,} records in {_shares(by_column)}",
        do='choose with the option missing: "level" makes missing a level of its own, "drop" '
        "leaves such records out",
    )


def _report_dropped(n_dropped: int, n_records: int, by_column: Mapping[str, int]) -> None:
    if n_dropped == n_records:
        raise MissingValuesError(
            expected="records without missing values",
            came=f"missing values in every one of {n_records:,} records ({_shares(by_column)})",
            do='ignore the columns with most missing values, or use missing="level"',
        )
    warnings.warn(
        f"{n_dropped:,} of {n_records:,} records were left out because of missing values in "
        f"{_shares(by_column)}",
        DataWarning,
        stacklevel=4,
    )
