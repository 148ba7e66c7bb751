"""``understudy init``: a first plan and a first codebook for a file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from understudy.cli.options import (
    ColumnOptions,
    Names,
    ReadingOptions,
    Switch,
    read_bins,
    with_design,
)
from understudy.cli.output import paragraph, reading_progress, say
from understudy.errors import ExitCode, OutputError, quoted, quoted_list
from understudy.microdata.bins import as_number
from understudy.microdata.codebook import Codebook, VariableBook, codebook_text
from understudy.microdata.codebook_drafts import about_columns, draft_codebook, with_observed
from understudy.microdata.file_format import ANY_FORMAT, SUFFIXES, is_remote
from understudy.microdata.reading import open_table
from understudy.microdata.screening import Inspection, inspect_source
from understudy.microdata.variable import Variable
from understudy.microdata.writing import check_target
from understudy.private_folder import release_above
from understudy.storage import write_text
from understudy.study.plan_template import plan_text
from understudy.summaries import counted

__all__ = ["init"]

# What a first plan leaves out of everything unless it is named in --keep.
LEFT_OUT = (
    "dates",
    "free text",
    "identifier",
    "many levels",
    "no values",
    "repeating identifier",
    "replicate weights",
    "survey weights",
)
STORED = {suffix for suffix, kind in SUFFIXES.items() if kind != "csv"}  # not as text
LABELLED = {suffix for suffix in STORED if SUFFIXES[suffix] != "parquet"}
EMPTY = {
    True: ("empty cell", "empty cells"),
    False: ("cell without a value", "cells without a value"),
}
NOTES = (
    "A codebook for understudy, drafted from the data. CONFIDENTIAL until it is reviewed:",
    "a level listed here tells that somebody in the data has it.",
    "Before a release, somebody who knows the survey must replace every list of levels by the one",
    "that the survey declares (levels that nobody has included), and then set reviewed = true.",
    "",
    "levels: all that may occur, in the order to show them; missing: codes that mean missing.",
    "Impossible combinations may be declared like this (a list means: one of these):",
    "  [[impossible]]",
    '  age = "<20"',
    '  occupation = ["judge", "surgeon"]',
)


def init(
    file: Annotated[str, Parameter(help=f"A {ANY_FORMAT} file, or a folder of Parquet files.")],
    /,
    *,
    columns: ColumnOptions = ColumnOptions(),
    reading: ReadingOptions = ReadingOptions(),
    empty: Literal["missing", "level"] = "missing",
    missing: Literal["error", "level", "drop", "model"] | None = None,
    codebook_from: Path | None = None,
    out: Path = Path(),
    catalog: Path | None = None,
    overwrite: Switch = False,
) -> ExitCode:
    """Write a commented plan.toml and a draft codebook.toml for a file.

    Parameters
    ----------
    empty
        Whether empty cells are missing values or a level of their own.
    missing
        What to do with missing values: refuse, make missing a level of its own, drop records, or
        keep them as holes that the DPMPM fills. Left out: a level, where there are any.
    codebook_from
        Draft the codebook's levels from a file with value labels (SPSS, Stata, SAS), a DDI codebook
        (.xml), or a table of variable, level and label (.csv). Left out: from the value labels of
        the data, if there are any.
    out
        Folder to write to, this one when left out.
    catalog
        A .sas7bcat file with the labels of a SAS file.
    overwrite
        Replace files that are already there.
    """
    plan, codebook = (check_target(out / name, overwrite=overwrite)
                      for name in ("plan.toml", "codebook.toml"))  # fmt: skip
    if release_above(out) is not None:
        raise OutputError(
            expected="a folder outside of every release",
            came="one inside a release, whose content is public",
            do="choose a folder elsewhere: plan and codebook are confidential",
        )
    synthesize, keep, bins = columns.synthesize, columns.keep, read_bins(reading.bins)
    encoding = reading.encoding
    names = open_table(file, encoding, reading.delimiter, catalog, reading.header).names
    declared = _declared(file, codebook_from, synthesize, names, encoding, catalog)
    codes = reading.na if empty == "level" else ("", *filter(None, reading.na))
    opening = {name: getattr(reading, name) for name in ("encoding", "delimiter", "header")}
    opening["catalog"] = catalog
    parts = with_design(vars(columns))
    del parts["keep"]
    options: dict[str, Any] = {
        **parts,
        **opening,
        "bins": bins,
        "na": codes,
        "codebook": Codebook(
            variables={
                name: VariableBook(missing=book.missing)
                for name, book in declared.variables.items()
                if book.missing
            }
        ),
    }
    with reading_progress() as progress:
        inspection = inspect_source(file, keep=keep, progress=progress, **options)
        left_out = _left_out(inspection, synthesize, keep)
        stay = None if keep is None else tuple(name for name in keep if name not in left_out)
        if left_out:  # a second time, without what is left out: its data are what will be read
            again = {**options, "ignore": (*inspection.ignored, *left_out)}
            remaining = inspect_source(file, keep=stay, progress=progress, **again)
        else:
            remaining = inspection
    level = empty == "level"
    drafted, beyond = _draft(remaining, declared, set(bins), empty_is_a_level=level)
    write_text(codebook, codebook_text(drafted, NOTES))
    absent = any(column.n_missing > level * column.n_null for column in remaining.columns)
    asked = dict.fromkeys(
        inspection.ignored, "not among the columns to keep" if keep else "ignored as asked"
    )
    text = plan_text(
        file if is_remote(file) else _relative(Path(file), out),
        names,
        synthesize,
        asked | left_out,
        "codebook.toml",
        {
            name: _relative(value, out) if isinstance(value, Path) else value
            for name, value in opening.items()
            if value not in {None, "auto"}
        },
        bins=bins,
        offered=_offered(inspection, left_out),
        pass_through=columns.pass_through,
        weight=columns.weight,
        design=parts["design"],
        keep=stay if stay and {columns.weight, columns.strata, columns.psu} & set(stay) else None,
        na=codes,
        missing=missing or ("level" if absent else "error"),
    )
    write_text(plan, text)
    from_data = [
        name
        for name in drafted.variables
        if name in beyond or (name not in bins and declared.of(name).levels is None)
    ]
    origin = _about_levels(drafted, from_data)
    _report(file, origin, inspection, remaining, left_out, asked, synthesize, plan, codebook,
            empty, missing)  # fmt: skip
    for name, number in beyond.items():
        words = f"{counted(number, 'level')} of {quoted(name)} in the data"
        several = "were not declared, and are added at the end: review them"
        single = "was not declared, and is added at the end: review it"
        say(paragraph(f"{words} {single if number == 1 else several}."))
    return ExitCode.DONE


def _left_out(inspection: Inspection, synthesize: Names, keep: Names | None) -> dict[str, str]:
    """Name the columns that a first plan ignores, with the reason: no categories are in them.

    A column that was named in `keep` is ignored only if it cannot be used.
    """
    out = {}
    for column in inspection.columns:
        suggested = column.suggestion is not None and column.suggestion.holds in LEFT_OUT
        if column.name in synthesize or not (column.problem or (suggested and keep is None)):
            continue
        out[column.name] = column.suggestion.left_out if column.suggestion else column.problem
    return out


def _offered(inspection: Inspection, left_out: Mapping[str, str]) -> dict[str, bool]:
    """Name the columns that bins would help, and whether they are ignored without."""
    return {
        column.name: column.name in left_out
        for column in inspection.columns
        if column.suggestion is not None and column.suggestion.part == "bins"
    }


def _report(
    file: str,
    about_levels: str,
    inspection: Inspection,
    remaining: Inspection,
    left_out: Mapping[str, str],
    asked: Mapping[str, str],
    synthesize: Names,
    plan: Path,
    codebook: Path,
    empty: str,
    missing: str | None,
) -> None:
    """Say what was written, what is ignored and why, how empty cells are read, and what is next."""
    say(f"Wrote {quoted(plan.name)} and {quoted(codebook.name)}, which only you can read.")
    if asked:
        reason = next(iter(asked.values()))
        say(paragraph(f"Ignored: {quoted_list(list(asked))}: {reason}.", "- ", "  "))
    for name, reason in left_out.items():
        say(paragraph(f"Ignored: {quoted(name)}: {reason}.", "- ", "  "))
    for words in filter(None, (inspection.about_design, *inspection.about_passed)):
        say(paragraph(words, "- ", "  "))
    n_empty = sum(column.n_empty for column in remaining.columns)
    if n_empty and empty == "missing":
        text = not Path(file).is_dir() and Path(file).suffix.lower() not in STORED
        cells = counted(n_empty, *EMPTY[text])
        are = "is" if n_empty == 1 else "are"
        say(paragraph(f'{cells} {are} read as missing (na = [""]); "--empty level" makes them a '
                      "level of their own."))  # fmt: skip
    if missing is None and any(column.n_missing for column in remaining.columns):
        say(paragraph('Missing values become a level of their own (missing = "level"); "--missing '
                      'drop" leaves such records out, "--missing model" keeps them as holes that '
                      "the DPMPM fills."))  # fmt: skip
    say(paragraph(about_levels))
    unusable = [
        column for column in inspection.columns if column.problem and column.name in synthesize
    ]
    for column in unusable:
        words = f"{quoted(column.name)} is to be synthesized and cannot be: {column.problem}."
        say(paragraph(words))
    for problem in () if unusable or not synthesize else _other_problems(remaining, missing):
        say(paragraph(f"To decide before the run: {problem}."))
    if not synthesize:
        say("Next: name the columns to synthesize in the plan.")
    else:
        say(f"Next: review {codebook.name}, set reviewed = true in it, then")
        say(f"  understudy run {shlex.quote(os.fspath(plan))} --out study")


def _about_levels(drafted: Codebook, from_data: Sequence[str]) -> str:
    """Say where the codebook's levels come from, and that it is to be reviewed."""
    review = "must be reviewed before anything is released, and is confidential until then."
    if not from_data:
        return f"The codebook's levels come from what was declared; it {review}"
    some = len(from_data) < len(drafted.variables)
    whose = f"The levels of {quoted_list(from_data)}" if some else "The codebook's levels"
    return f"{whose} come from the data: {'the codebook' if some else 'it'} {review}"


def _other_problems(inspection: Inspection, missing: str | None) -> list[str]:
    """List what reading would still refuse, missing values aside."""
    return [
        problem
        for problem in inspection.problems
        if not problem.startswith("missing values in") or missing == "error"
    ]


def _declared(
    file: str,
    given: Path | None,
    synthesize: Names,
    columns: Sequence[str],
    encoding: str | None,
    catalog: Path | None,
) -> Codebook:
    """Draft levels from what was given, or from the value labels of the data themselves."""
    if given is None and Path(file).suffix.lower() not in LABELLED:
        return Codebook()
    source = file if given is None else given
    only = synthesize[0] if len(synthesize) == 1 else None
    drafted = draft_codebook(source, variable=only, encoding=encoding, catalog=catalog)
    return about_columns(drafted, columns, os.fspath(source))


def _draft(
    inspection: Inspection, declared: Codebook, binned: set[str], *, empty_is_a_level: bool
) -> tuple[Codebook, dict[str, int]]:
    """Draft the codebook; also how many levels of the data were not declared, by variable."""
    variables = inspection.data.variables if inspection.data is not None else ()
    empty = {column.name for column in inspection.columns if empty_is_a_level and column.n_empty}
    books, beyond = {}, {}
    for variable in variables:
        name = variable.name
        own = VariableBook() if name in binned else declared.of(name)
        observed = _levels(variable, with_empty=name in empty)
        books[name], number = with_observed(own, observed, variable.labels, variable.description)
        if number:
            beyond[name] = number
    return Codebook(variables=books), beyond


def _levels(variable: Variable, *, with_empty: bool) -> tuple[str, ...]:
    """List the levels of the data for a draft: numbers that are sorted as text, by their size."""
    levels = variable.present_levels
    numbers = [as_number(level) for level in levels]
    if list(levels) == sorted(levels) and None not in numbers:
        levels = tuple(sorted(levels, key=lambda level: (as_number(level) or 0.0, level)))
    return ("", *levels) if with_empty and "" not in levels else levels


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
