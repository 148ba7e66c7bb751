"""Reading: from a file or a frame of any kind to `Microdata`, or to a message that says why not.

The steps are in the order of the functions below: open the source, assign a role to every column,
read and code the used columns, then settle each column's levels (missing codes, bins, codebook) and
check the data as a whole.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_one_of, check_texts, check_whole
from understudy.errors import (
    DataWarning,
    FormatError,
    MissingValuesError,
    SettingError,
    nearest,
    quoted,
    quoted_list,
    warn_user,
)
from understudy.microdata.bins import Bins, bins_from
from understudy.microdata.codebook import Codebook, check_columns, codebook_from
from understudy.microdata.coding import CodedTable, OpenTable, regroup
from understudy.microdata.csv_reader import (
    CONFIRM,
    HeaderChoice,
    Progress,
    check_encoding,
    read_delimited,
    read_header,
)
from understudy.microdata.file_format import open_source
from understudy.microdata.frames import frame_source
from understudy.microdata.levels import Settled, UnusedLevels, missing_levels, settle_levels
from understudy.microdata.parser_parent import open_foreign
from understudy.microdata.partitions import is_partitioned, open_partitions
from understudy.microdata.passed_columns import PassedColumns, text_columns
from understudy.microdata.plausibility import check_plausibility
from understudy.microdata.roles import (
    MOST_USED,
    Roles,
    assign_roles,
    check_names,
    warn_of_similar_names,
)
from understudy.microdata.structural_zeros import check_impossible
from understudy.microdata.survey_design import (
    DesignColumns,
    SurveyDesign,
    design_from,
    read_design,
)
from understudy.microdata.table import Microdata
from understudy.microdata.variable import MISSING, Variable
from understudy.public_errors import from_the_user, only_our_errors

__all__ = [
    "Missing",
    "build_microdata",
    "check_bins",
    "check_design",
    "check_header",
    "declared_empty",
    "open_table",
    "read_microdata",
    "read_passed",
]

Missing = Literal["error", "level", "drop", "model"]
WEIGHT_GROUP = "weight group"
MISSING_CHOICES = ("error", "level", "drop", "model")


@only_our_errors
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
    header: HeaderChoice = "auto",
    pass_through: Sequence[str] | str = (),
    weight: str | None = None,
    design: DesignColumns | Mapping[str, Any] | None = None,
    weight_groups: int | None = None,
    progress: Progress | None = None,
) -> Microdata:
    """Read confidential records from a file or a data frame.

    A category is the text in the source: ``01001`` keeps its zero, and ``NA`` is a category unless
    `na` or the codebook says that it means missing. An empty cell is a missing value: a field of a
    text file in which nothing is written, not even quotation marks, and null in a data frame. Where
    the codebook declares the empty text as a level, it is that level.

    Parameters
    ----------
    source : path or frame
        A CSV file (also ``.gz``), a Parquet, SAS, Stata or SPSS file, a folder of Parquet files
        (read in the order of their names; also elsewhere, such as ``s3://bucket/folder``, with
        fsspec), or a pandas, Polars or pyarrow data frame.
    synthesize : sequence of str
        Columns that may not be published as they are.
    keep : sequence of str, optional
        Columns to publish as they are; every other column that is not ignored when left out.
    bins : mapping, optional
        How columns of numbers become groups: ``{"income": "quartiles", "age": [20, 40, 60, 80]}``;
        see `Bins`.
    codebook : path or mapping, optional
        Levels, their order, labels, missing codes and impossible combinations; see `Codebook`.
    missing : {"error", "level", "drop", "model"}
        What to do with missing values: refuse the data, make missing a level of its own, leave
        out records that have any (a warning says how many), or keep them as holes, for which the
        DPMPM sums over all levels.
    ignore : sequence of str, optional
        Columns to leave out.
    na : sequence of str
        Texts that mean missing, in any column.
    unused_levels : {"error", "keep", "drop"}
        What to do with levels that a categorical column declares and no record has: refuse the
        data, keep them (they can then appear in synthetic data), or drop them.
    encoding : str, optional
        Of a text file; UTF-8 when left out.
    delimiter : str, optional
        Of a text file; detected when left out.
    catalog : path, optional
        A ``.sas7bcat`` file with the labels of a SAS file's values.
    header : {"auto", "yes"}
        Whether the first line of a text file holds the names of its columns: found out, or sure.
        A line that may be a record is refused unless it holds a column that another option names.
    pass_through : sequence of str
        Columns that are in every file unchanged, with their type, and in no model: weights, strata,
        dates, numbers. Values of text files stay as they are written there.
    weight : str, optional
        The column of survey weights: utility and population risk are weighted by it. It is not
        released unless it passes through, and the models do not use it.
    design : mapping, optional
        Columns of strata and primary sampling units, or of replicate weights, by which variances
        are estimated: ``{"strata": "stratum", "psu": "cluster"}``; see
        `understudy.microdata.survey_design.DesignColumns`.
    weight_groups : int, optional
        So many quantile groups of the weight become a kept variable that models use and that no
        file shows.
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
    >>> frame = pl.DataFrame({"sex": ["f", "m"] * 3, "town": ["north", "north", "south"] * 2})
    >>> us.read_microdata(frame, synthesize="town")
    Microdata: 6 records
      "sex": kept, 2 levels
      "town": synthesized, 2 levels
      2 patterns, 4 combinations
    """
    check_one_of("missing", missing, MISSING_CHOICES)
    groups, book = bins_from(bins), codebook_from(codebook)
    if pass_through and isinstance(source, pl.LazyFrame):
        source = source.collect()  # computed twice, its rows could come in two orders
    table = open_table(source, encoding, delimiter, catalog, header, from_the_user(progress))
    check_header(table, synthesize, keep, ignore, groups, book.variables, pass_through, weight)
    check_names(table.names)
    check_columns(book, table.names)
    designed = check_design(weight, design, weight_groups, roles_of=synthesize)
    of_design = () if weight is None else (weight, *designed.names)
    roles = assign_roles(table.names, synthesize, keep, ignore, pass_through, of_design)
    warn_of_similar_names(table.names)
    check_bins(groups, roles)
    coded = table.read(roles.used)
    if coded.of_record.size == 0:
        raise FormatError(
            expected="at least one record",
            came="a header and no records" if isinstance(source, str | os.PathLike) else "no rows",
            do="check how the data were exported",
        )
    passed = read_passed(table, roles)
    survey = None
    if weight is not None and table.values is not None:
        survey = read_design(weight, designed, table.values(list(dict.fromkeys(of_design))))
    data = build_microdata(
        declared_empty(coded, book),
        roles,
        table,
        groups,
        book,
        na=na,
        unused=unused_levels,
        missing=missing,
        passed=passed,
        survey=survey,
    )
    if weight_groups is not None:
        data = with_weight_groups(data, weight_groups)
    check_impossible(data)
    check_plausibility(data)
    return data


def check_design(
    weight: str | None,
    design: DesignColumns | Mapping[str, Any] | None,
    weight_groups: int | None,
    roles_of: Sequence[str] | str,
) -> DesignColumns:
    """Check the options about the survey design against each other."""
    columns = design_from(design)
    if weight is None and (columns.names or weight_groups is not None):
        raise SettingError(
            expected="a survey weight (weight) beside its design or its groups",
            came="none",
            do="name the column of weights, or leave the others out",
        )
    drawn = set(check_texts(roles_of, "names of columns")) & {weight, *columns.names}
    if drawn:
        raise SettingError(
            expected="a survey weight and design whose columns are not synthesized",
            came=quoted_list(sorted(filter(None, drawn))),
            do="name the column in one of the two only",
        )
    if weight_groups is not None:
        check_whole("weight_groups", weight_groups, 2, 100)
    return columns


def with_weight_groups(data: Microdata, groups: int) -> Microdata:
    """Add the quantile group of the weight as a kept variable that no file shows."""
    if data.survey is None:
        return data
    if WEIGHT_GROUP in data.names:
        raise SettingError(
            expected="no column of the name that the weight's groups get",
            came=quoted(WEIGHT_GROUP),
            do="rename the column, or ignore it",
        )
    numbers, codes, counts = np.unique(data.survey.weights, return_inverse=True, return_counts=True)
    bins = Bins(quantiles=groups)
    group = bins.groups(numbers, counts.astype(np.int64))[codes.reshape(-1)]  # (record,)
    variable = Variable(WEIGHT_GROUP, "kept", bins.group_names, released=False, declared=True)
    rows = np.column_stack([data.combinations[data.of_record], group]).astype(np.int32)
    variables = (*data.variables, variable)
    combined = regroup(
        rows,
        np.ones(len(rows), dtype=np.int64),
        np.arange(len(rows), dtype=np.int32),
        [variable.n_levels for variable in variables],
    )
    return replace(
        data, variables=variables, combinations=combined[0], counts=combined[1],
        of_record=combined[2],
    )  # fmt: skip


def open_table(
    source: Any,
    encoding: str | None = None,
    delimiter: str | None = None,
    catalog: str | os.PathLike[str] | None = None,
    header: HeaderChoice = "auto",
    progress: Progress | None = None,
) -> OpenTable:
    """Open a file or a frame, find its columns, and read no records; see `read_microdata`."""
    if not isinstance(source, str | os.PathLike):
        return frame_source(source)
    if is_partitioned(source):
        return open_partitions(source, progress)
    file = open_source(source)
    if file.kind != "csv":
        return open_foreign(file, check_encoding(encoding), catalog)
    first = read_header(file, encoding, delimiter, header)
    return OpenTable(
        first.names,
        lambda columns: read_delimited(file, first, columns, progress),
        doubtful_names=first.doubtful,
        values=lambda columns: text_columns(read_delimited(file, first, columns, progress)),
    )


def read_passed(table: OpenTable, roles: Roles) -> PassedColumns | None:
    """Read the columns that pass through, in a pass of their own over the source.

    Read together with the others, they would make nearly every record its own combination.
    """
    if not roles.passed or table.values is None:
        return None
    there = {*roles.used, *roles.passed}
    order = tuple(name for name in table.names if name in there)
    values = table.values(roles.passed)
    return PassedColumns(values.with_columns(pl.col(pl.Float32, pl.Float64).fill_nan(None)), order)


def check_header(table: OpenTable, *given: Iterable[str] | str | None) -> None:
    """Refuse names that may be the values of a record, before any message shows them.

    A name that the user gives and that is among them confirms that they are names.
    """
    if not table.doubtful_names:
        return
    listed = itertools.chain.from_iterable(
        [names] if isinstance(names, str) else names or () for names in given
    )
    if not set(table.names).isdisjoint(name for name in listed if isinstance(name, str)):
        return
    hint = "; is the delimiter right? Only one column was found" if len(table.names) == 1 else ""
    if len(table.names) > MOST_USED:
        hint = f"; at most {MOST_USED:,} columns can be used, so name those to keep as well"
    raise FormatError(
        expected="a first line that holds the names of the columns",
        came=f"one of {len(table.names):,} fields that may be a record: it looks like the lines "
        "below it, and no column that you named is in it",
        do=f"put a line with column names first; {CONFIRM}{hint}",
    )


def check_bins(bins: Mapping[str, Bins], roles: Roles) -> None:
    """Refuse bins of columns that are not used; those of ignored columns give a warning."""
    for name in bins:
        if name in (*roles.ignored, *roles.design):
            part, out = ("ignored", "take it out of ignore (or name it in keep)")
            if name in roles.design:
                part, out = ("used for the survey design alone", "name it in keep")
            warn_user(
                f"the bins of {quoted(name)} have no effect, because it is {part}: {out} to use it",
                DataWarning,
            )
        elif name not in roles.used:
            raise SettingError(
                expected="bins (--bins) for columns that are kept or synthesized",
                came=f"bins for {quoted(name)}{nearest(name, roles.used)}",
                do="correct the name, or remove the bins",
            )


def build_microdata(
    coded: CodedTable,
    roles: Roles,
    table: OpenTable,
    bins: Mapping[str, Bins],
    codebook: Codebook,
    *,
    na: Sequence[str],
    unused: UnusedLevels,
    missing: Missing,
    passed: PassedColumns | None = None,
    survey: SurveyDesign | None = None,
) -> Microdata:
    """Settle the levels of every used column and regroup the combinations.

    The arguments are those of `read_microdata`, checked.
    """
    absent = _find_missing(coded, codebook, na)  # (combination, column)
    n_dropped = 0
    if absent.any() and missing not in {"level", "model"}:
        complete = np.logical_not(absent.any(axis=1))  # (combination,)
        _check_missing(coded, absent, missing)
        n_dropped = int(coded.counts[~complete].sum())
        stay = complete[coded.of_record]  # (record,)
        if passed is not None:
            passed = replace(passed, frame=passed.frame.filter(pl.Series(stay)))
        survey = survey.only(stay) if survey is not None else None
        coded, absent = coded.only(complete), absent[complete]
    settled = [
        settle_levels(
            column,
            counts,
            bins.get(column.name),
            codebook.of(column.name),
            na,
            unused,
            ordered=column.name in table.ordered,
        )
        for column, counts in zip(coded.columns, coded.level_counts(), strict=True)
    ]
    codes = np.empty_like(coded.codes)  # (combination, column)
    variables = []
    for index, column in enumerate(settled):
        codes[:, index] = column.new_code[coded.codes[:, index]]
        levels = column.levels
        if absent[:, index].any():
            levels = (*levels, MISSING)
            codes[absent[:, index], index] = len(levels) - 1
        binned = column.name in bins
        variable = _variable(column, levels, roles, codebook, table, binned=binned)
        if missing == "model" and variable.has_missing:
            variable = replace(variable, missing_modelled=True)
        variables.append(variable)
    codes, counts, of_record = regroup(
        codes, coded.counts, coded.of_record, [variable.n_levels for variable in variables]
    )
    return Microdata(
        tuple(variables),
        codes,
        counts,
        of_record,
        codebook.impossible,
        n_dropped,
        table.backend,
        passed,
        survey,
    )


def declared_empty(coded: CodedTable, codebook: Codebook) -> CodedTable:
    """Turn missing values into empty text where the codebook declares that as a level."""
    columns = tuple(
        replace(column, levels=tuple(level or "" for level in column.levels))
        if "" in (codebook.of(column.name).levels or ())
        else column
        for column in coded.columns
    )
    return replace(coded, columns=columns)


def _find_missing(coded: CodedTable, codebook: Codebook, na: Sequence[str]) -> NDArray[np.bool_]:
    """Tell which values of which combinations are missing: bool (combination, column)."""
    absent = np.zeros(coded.codes.shape, dtype=bool)
    for index, column in enumerate(coded.columns):
        is_missing = missing_levels(column, codebook.of(column.name), na)  # (level,)
        absent[:, index] = is_missing[coded.codes[:, index]]
    return absent


def _variable(
    column: Settled,
    levels: tuple[str, ...],
    roles: Roles,
    book: Codebook,
    table: OpenTable,
    *,
    binned: bool,
) -> Variable:
    entry = book.of(column.name)
    labels = {} if binned and not set(entry.labels) <= set(levels) else entry.labels
    return Variable(
        name=column.name,
        role="synthesized" if column.name in roles.synthesized else "kept",
        levels=levels,
        labels={**column.labels, **labels},
        description=entry.description or table.descriptions.get(column.name, ""),
        declared=entry.levels is not None,
        missing_code=column.missing_code,
        numeric=column.numeric,
    )


def _check_missing(coded: CodedTable, absent: NDArray[np.bool_], missing: Missing) -> None:
    """Refuse data with missing values, or warn how many records are left out."""
    by_column = ", ".join(
        f"{quoted(name)} ({int(coded.counts[rows].sum()):,})"
        for name, rows in zip(coded.names, absent.T, strict=True)
        if rows.any()
    )
    n_records, n_dropped = coded.of_record.size, int(coded.counts[absent.any(axis=1)].sum())
    if missing == "error":
        raise MissingValuesError(
            expected="a value in every field",
            came=f"missing values among {n_records:,} records in {by_column}",
            do='choose with the option missing: "level" makes missing a level of its own, "drop" '
            'leaves such records out, "model" keeps them as holes that the DPMPM fills',
        )
    if n_dropped == n_records:
        raise MissingValuesError(
            expected="records without missing values",
            came=f"missing values in every one of {n_records:,} records ({by_column})",
            do='ignore the columns with most missing values, or choose missing="level" or "model"',
        )
    warn_user(
        f"{n_dropped:,} of {n_records:,} records were left out because of missing values in "
        f"{by_column}",
        DataWarning,
    )
