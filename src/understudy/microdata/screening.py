"""A first look at a file: what is in it, what prevents its use, and what to do about it.

`understudy check` shows this. Where `read_microdata` stops at the first column that cannot be used,
an inspection sets such columns aside, says why, and continues with the others.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import ColumnError, DataWarning, InputError, LevelError, quoted, quoted_list
from understudy.microdata.bins import Bins, bins_from
from understudy.microdata.cells import Cells
from understudy.microdata.codebook import Codebook, check_columns, codebook_from
from understudy.microdata.coding import CodedColumn, CodedTable, OpenTable
from understudy.microdata.column_coder import DATES
from understudy.microdata.column_recognition import Suggestion, missing_words, recognize, suggest
from understudy.microdata.levels import (
    UnusedLevels,
    check_codebook,
    check_values,
    missing_levels,
    near_duplicates,
)
from understudy.microdata.passed_columns import PassedColumns
from understudy.microdata.plausibility import FEWEST_FOR_IDS, check_plausibility
from understudy.microdata.reading import (
    Missing,
    build_microdata,
    check_bins,
    check_design,
    check_header,
    declared_empty,
    open_table,
    read_passed,
)
from understudy.microdata.roles import Roles, assign_roles, check_names, warn_of_similar_names
from understudy.microdata.structural_zeros import check_impossible
from understudy.microdata.survey_design import DesignColumns, read_design
from understudy.microdata.table import Microdata
from understudy.microdata.telling_columns import telling_passed
from understudy.summaries import counted

__all__ = ["ColumnFinding", "Inspection", "inspect_source"]

SMALL_PATTERN = 5
PARTS = {  # of a survey design
    "weight": "survey weight",
    "strata": "strata",
    "psu": "sampling units",
    "replicates": "replicate weights",
}
TELLING = ("free text", "identifier", "repeating identifier")  # what a column that passes may hold


@dataclass(frozen=True, repr=False)
class ColumnFinding:
    """What is known about one column.

    Attributes
    ----------
    name, part, stored : str
        Its name, its role, and how the source stores it.
    n_levels, n_missing, n_near_duplicates : int
        Levels; records without a value; levels that differ from another only in case, spaces or
        composed characters.
    problem : str
        Why it cannot be used as it is, empty if it can.
    remarks : tuple of str
        What else is worth knowing.
    suggestion : Suggestion or None
        What it seems to hold and the part to give it, where it is no column of categories.
    n_empty, n_null : int
        Records with an empty cell or empty text, and those with an empty cell alone.
    """

    name: str
    part: str
    stored: str
    n_levels: int
    n_missing: int
    n_near_duplicates: int
    problem: str
    remarks: tuple[str, ...]
    suggestion: Suggestion | None = None
    n_empty: int = 0
    n_null: int = 0


@dataclass(frozen=True, repr=False)
class Inspection:
    """What is in a file.

    Attributes
    ----------
    n_records : int
        Records in the file.
    columns : tuple of ColumnFinding
        The columns that are synthesized or kept.
    ignored : tuple of str
        Columns that were left out as asked, and have no other part.
    data : Microdata or None
        The data over all columns that can be used, missing as a level unless such records are to
        be dropped; None if no column can be used.
    problems : tuple of str
        Why `understudy.read_microdata` would refuse the data as they are asked for, and what to do;
        empty if it would not.
    advice : tuple of str
        What else is worth doing, in plain words.
    passed : tuple of str
        Columns that pass through.
    about_passed : tuple of str
        What is odd about those; in `advice`, too.
    design : dict of str to tuple of str
        Columns of the survey design by what they are: "weight", "strata", "psu", "replicates".
    about_design : str
        The same in words, and which of them no file shows.
    """

    n_records: int
    columns: tuple[ColumnFinding, ...]
    ignored: tuple[str, ...]
    data: Microdata | None
    problems: tuple[str, ...]
    advice: tuple[str, ...]
    passed: tuple[str, ...] = ()
    about_passed: tuple[str, ...] = ()
    design: dict[str, tuple[str, ...]] = field(default_factory=dict)
    about_design: str = ""


def inspect_source(
    source: Any,
    synthesize: Sequence[str] | str = (),
    keep: Sequence[str] | str | None = None,
    *,
    ignore: Sequence[str] | str | None = None,
    bins: Mapping[str, Any] | None = None,
    codebook: Codebook | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    missing: Missing = "error",
    na: Sequence[str] = (),
    unused_levels: UnusedLevels = "error",
    pass_through: Sequence[str] | str = (),
    weight: str | None = None,
    design: DesignColumns | Mapping[str, Any] | None = None,
    weight_groups: int | None = None,
    **opening: Any,
) -> Inspection:
    """Look at a file or a frame before anything is done with it.

    The arguments, `opening` included, are those of `understudy.read_microdata`; `synthesize` may be
    left out for a look at the columns.
    """
    groups, book = bins_from(bins), codebook_from(codebook)
    table = open_table(source, **opening)
    check_header(table, synthesize, keep, ignore, groups, book.variables, pass_through, weight)
    check_names(table.names)
    check_columns(book, table.names)
    designed = check_design(weight, design, weight_groups, roles_of=synthesize)
    of_design = () if weight is None else (weight, *designed.names)
    roles = assign_roles(
        table.names, synthesize, keep, ignore, pass_through, of_design, may_be_none=True
    )
    if weight is not None and table.values is not None:  # refuses what is not a weight
        read_design(weight, designed, table.values(list(dict.fromkeys(of_design))))
    coded, refused = _read_usable(table, roles)
    coded = declared_empty(coded, book)
    if not coded.columns:
        raise InputError(
            expected="a column of categories",
            came="; ".join(f"{quoted(name)}: {why}" for name, why in refused.items())
            or "no column",
            do="correct at least the column that is to be synthesized",
        )
    if coded.of_record.size == 0:
        raise InputError(
            expected="at least one record", came="none", do="check how the data were exported"
        )
    findings = [
        _finding(column, counts, roles, groups.get(column.name), book, na, coded.of_record.size)
        for column, counts in zip(coded.columns, coded.level_counts(), strict=True)
    ]
    findings += [_refused(name, reason, roles) for name, reason in refused.items()]
    order = {name: index for index, name in enumerate(table.names)}
    findings.sort(key=lambda finding: order[finding.name])
    usable = [finding.name for finding in findings if not finding.problem]
    data, refusals, noted = _build(coded.select(usable), roles, table, groups, book, na, missing)
    problems = [
        *(f"{quoted(finding.name)}: {finding.problem}" for finding in findings if finding.problem),
        *_missing_problem(findings, missing),
        *_unused_problem(coded, book, unused_levels),
        *refusals,
    ]
    passed = read_passed(table, roles)
    about_passed = (*_about_passed(passed, of_design), *_about_telling(passed, data, roles))
    advice = [*about_passed, *_advice(findings, data, noted, codebook is not None)]
    return Inspection(
        coded.of_record.size,
        tuple(findings),
        roles.ignored,
        data,
        tuple(problems),
        tuple(advice),
        roles.passed,
        about_passed,
        designed.parts(weight),
        _about_design(designed.parts(weight), roles),
    )


def _read_usable(table: OpenTable, roles: Roles) -> tuple[CodedTable, dict[str, str]]:
    """Read the used columns, setting aside those that hold no categories at all."""
    refused: dict[str, str] = {}
    while True:
        try:
            return table.read([name for name in roles.used if name not in refused]), refused
        except ColumnError as problem:
            if problem.column is None:
                raise
            refused[problem.column] = problem.advice


def _about_telling(passed: PassedColumns | None, data: Microdata | None, roles: Roles) -> list[str]:
    """Say which columns that pass through nearly decide what is synthesized."""
    if passed is None or data is None or data.n_records != passed.frame.height:
        return []
    if not roles.synthesized or not set(roles.synthesized) <= set(data.names):
        return []
    alone, together = telling_passed(replace(data, passed=passed))
    named = [quoted_list([name]) for name in passed.names if name in alone]
    named += [f"{quoted_list(names)} together" for names in together]
    return [
        f"What passes through nearly decides what is synthesized: {name}. Such files fail: take it "
        "out of pass_through, or group it until it no longer tells the secret."
        for name in named
    ]


def _about_passed(passed: PassedColumns | None, of_design: Sequence[str]) -> tuple[str, ...]:
    """Say which columns that pass through seem to tell whose row it is, or are no plain numbers."""
    if passed is None:
        return ()
    advice = []
    for name in passed.names:
        if name in of_design:
            continue
        texts = passed.frame[name].cast(pl.String).drop_nulls()
        values = texts.to_frame("value").group_by("value", maintain_order=True).len()
        observed, counts = values["value"].to_list(), values["len"].to_numpy().astype(np.int64)
        suggestion = recognize(CodedColumn(name, tuple(observed)), observed, counts)
        own = int((counts == 1).sum())
        if suggestion is not None and suggestion.holds == "survey weights":
            advice.append(f"{quoted(name)} passes through, and {suggestion.advice}.")
        elif 2 * own > texts.len() or (suggestion and suggestion.holds in TELLING):
            holds = "" if suggestion is None else f"{suggestion.holds}, and "
            advice.append(
                f"{quoted(name)} passes through: {holds}{own:,} of {passed.frame.height:,} records "
                "have a value of their own. Whoever knows it finds the person's row in every file: "
                "take it out of pass_through unless readers need it."
            )
    return tuple(advice)


def _about_design(parts: Mapping[str, Sequence[str]], roles: Roles) -> str:
    """Name the columns of the survey design, and those of them that no file shows."""
    if not parts:
        return ""
    named = "; ".join(f"{PARTS[part]} {quoted_list(names)}" for part, names in parts.items())
    hidden = f" Not in the files: {quoted_list(roles.design)}." if roles.design else ""
    return f"{named[0].upper()}{named[1:]}: used to weight utility and population risk.{hidden}"


def _part(name: str, roles: Roles) -> str:
    return "synthesized" if name in roles.synthesized else "kept"


def _refused(name: str, reason: str, roles: Roles) -> ColumnFinding:
    dates = suggest("dates", name) if DATES in reason else None
    return ColumnFinding(name, _part(name, roles), "other", 0, 0, 0, reason, (), dates)


def _finding(
    column: CodedColumn,
    counts: NDArray[np.int64],
    roles: Roles,
    bins: Bins | None,
    book: Codebook,
    na: Sequence[str],
    n_records: int,
) -> ColumnFinding:
    absent = missing_levels(column, book.of(column.name), na)  # (level,)
    observed = [
        level
        for level, out, number in zip(column.levels, absent, counts, strict=True)
        if level is not None and number and not out
    ]
    part = _part(column.name, roles)
    problem = "" if bins else _problem(column, observed, counts, book, part, n_records)
    suggestion = None
    if part == "kept" and bins is None:
        present = np.array([number for level, out, number in zip(column.levels, absent, counts,
                                                                 strict=True)
                            if level is not None and number and not out])  # fmt: skip
        suggestion = recognize(column, observed, present)
        if suggestion is not None and problem:
            bare = suggestion.part == "bins"  # the problem has its own advice
            problem = f"{problem} ({suggestion.option})" if bare else suggestion.advice
    remarks = _remarks(column, observed)
    empty = [level in {None, ""} for level in column.levels]
    return ColumnFinding(
        column.name,
        part,
        column.kind,
        bins.n_groups if bins else len(observed),
        int(counts[absent].sum()),
        0 if bins else near_duplicates(observed),
        problem,
        tuple(remarks),
        suggestion,
        int(counts[empty].sum()),
        int(counts[[level is None for level in column.levels]].sum()),
    )


def _problem(
    column: CodedColumn,
    observed: Sequence[str],
    counts: NDArray[np.int64],
    book: Codebook,
    part: str,
    n_records: int,
) -> str:
    try:
        check_values(column, observed, counts, book.of(column.name))
    except (ColumnError, LevelError) as problem:
        return problem.advice
    if part == "kept" and len(observed) == n_records >= FEWEST_FOR_IDS:
        return "every record has its own value, as in an identifier"
    try:
        check_codebook(column.name, observed, book.of(column.name))
    except LevelError as problem:
        return problem.advice
    return ""


def _remarks(column: CodedColumn, observed: Sequence[str]) -> list[str]:
    remarks = []
    if column.kind == "text" and "" in observed:
        remarks.append('empty text is a level here: if it means missing, say so (na, --na "")')
    words = missing_words(observed) if column.kind == "text" else ()
    if words:
        options = " ".join(f"--na {word}" for word in words)
        remarks.append(f"holds a text that usually means missing: if it does, say so ({options})")
    if column.labels:
        remarks.append(f"{len(column.labels)} value labels come with the file")
    return remarks


def _missing_problem(findings: Sequence[ColumnFinding], missing: Missing) -> list[str]:
    by_column = ", ".join(
        f"{quoted(finding.name)} ({finding.n_missing:,})"
        for finding in findings
        if finding.n_missing
    )
    if not by_column or missing != "error":
        return []
    return [
        f'missing values in {by_column}: choose missing = "level", "drop" or "model" (holes, which '
        "the DPMPM fills)"
    ]


def _unused_problem(coded: CodedTable, book: Codebook, unused: UnusedLevels) -> list[str]:
    problems = []
    for column, counts in zip(coded.columns, coded.level_counts(), strict=True):
        if column.declared is None or book.of(column.name).levels is not None or unused != "error":
            continue
        observed = {level for level, n in zip(column.levels, counts.tolist(), strict=True) if n}
        n_unused = len(set(column.declared) - observed)
        if n_unused:
            problems.append(
                f"{quoted(column.name)}: {n_unused:,} declared levels that no record has: choose "
                'unused_levels = "keep" or "drop", or declare the levels in a codebook'
            )
    return problems


def _build(
    coded: CodedTable,
    roles: Roles,
    table: OpenTable,
    bins: Mapping[str, Bins],
    book: Codebook,
    na: Sequence[str],
    missing: Missing,
) -> tuple[Microdata | None, list[str], list[str]]:
    """Build the data of the usable columns; also what reading them would refuse or warn of."""
    if not coded.columns:
        return None, [], []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        warn_of_similar_names(table.names)
        check_bins(bins, roles)
        refusals = []
        try:
            as_level: Missing = "drop" if missing == "drop" else "level"
            data = build_microdata(
                coded, roles, table, bins, book, na=na, unused="keep", missing=as_level
            )
        except InputError as problem:
            return None, [problem.advice], []
        if data.synthesized and set(roles.synthesized) <= set(data.names):
            try:
                check_impossible(data)
                check_plausibility(data)
            except InputError as problem:
                refusals.append(problem.advice)
    noted = [str(note.message) for note in caught if issubclass(note.category, DataWarning)]
    return data, refusals, noted


def _advice(
    findings: Sequence[ColumnFinding], data: Microdata | None, noted: Sequence[str], has_book: bool
) -> list[str]:
    advice = []
    for finding in findings:
        if finding.suggestion is not None and not finding.problem:
            advice.append(f"{quoted(finding.name)}: {finding.suggestion.advice}.")
        advice += [f"{quoted(finding.name)}: {remark}." for remark in finding.remarks]
    advice += [f"{text[0].upper()}{text[1:]}." for text in noted]
    if data is not None and data.synthesized:
        advice += _pattern_advice(data.patterns)
    if not has_book:
        advice.append(
            "No codebook was given: the levels are taken from the data, and such a list must be "
            "reviewed before a release. understudy init writes a draft."
        )
    return advice


def _pattern_advice(patterns: Cells) -> list[str]:
    small = patterns.sizes < SMALL_PATTERN
    if not small.any():
        return []
    return [
        f"{int(small.sum()):,} of {len(patterns):,} patterns "
        f"{'has' if small.sum() == 1 else 'have'} fewer than {SMALL_PATTERN} "
        f"records ({counted(int(patterns.sizes[small].sum()), 'record')} in all): consider coarser "
        "groups of the kept variables."
    ]
