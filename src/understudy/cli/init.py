"""``understudy init``: a first plan and a first codebook for a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from understudy.cli.options import Names
from understudy.cli.output import paragraph, reading_progress, say
from understudy.errors import ExitCode, quoted
from understudy.microdata.codebook import Codebook, VariableBook, codebook_text
from understudy.microdata.screening import Inspection, inspect_source
from understudy.microdata.writing import check_target
from understudy.storage import new_file
from understudy.study.plan_template import plan_text

__all__ = ["init"]

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
    file: str,
    /,
    *,
    synthesize: Names = (),
    ignore: Names = (),
    out: Path = Path(),
    encoding: str | None = None,
    delimiter: str | None = None,
    header: Literal["auto", "yes"] = "auto",
    catalog: Path | None = None,
    overwrite: Annotated[bool, Parameter(negative="")] = False,
) -> ExitCode:
    """Write a commented plan.toml and a draft codebook.toml for a file.

    Parameters
    ----------
    file
        A CSV, Parquet, SAS, Stata or SPSS file.
    synthesize
        Columns that may not be published as they are, separated by commas.
    ignore
        Columns to leave out of everything.
    out
        Folder to write to, this one when left out.
    encoding
        Encoding of a text file, such as latin-1.
    delimiter
        Delimiter of a text file.
    header
        Whether the first line of a text file holds the names of its columns: found out, or sure.
    catalog
        A .sas7bcat file with the labels of a SAS file.
    overwrite
        Replace files that are already there.
    """
    plan, codebook = (check_target(out / name, overwrite=overwrite)
                      for name in ("plan.toml", "codebook.toml"))  # fmt: skip
    with reading_progress() as progress:
        inspection = inspect_source(
            file,
            synthesize=synthesize,
            ignore=ignore,
            encoding=encoding,
            delimiter=delimiter,
            header=header,
            catalog=catalog,
            progress=progress,
        )
    _write(codebook, codebook_text(_draft(inspection), NOTES))
    reading = {"encoding": encoding, "delimiter": delimiter, "catalog": catalog}
    reading |= {} if header == "auto" else {"header": header}
    _write(plan, _plan(file, out, inspection, synthesize, reading))
    say(f"Wrote {quoted(plan.name)} and {quoted(codebook.name)}, which only you can read.")
    say(
        paragraph(
            "The codebook's levels come from the data: it must be reviewed before anything is "
            "released, and is confidential until then."
        )
    )
    if not synthesize:
        say("Next: name the columns to synthesize in the plan.")
    unusable = [
        column for column in inspection.columns if column.problem and column.name in synthesize
    ]
    for column in unusable:
        say(
            paragraph(
                f"{quoted(column.name)} is to be synthesized and cannot be: {column.problem}."
            )
        )
    return ExitCode.DONE


def _draft(inspection: Inspection) -> Codebook:
    variables = inspection.data.variables if inspection.data is not None else ()
    return Codebook(
        variables={
            variable.name: VariableBook(
                description=variable.description,
                levels=variable.present_levels or None,
                labels=dict(variable.labels),
            )
            for variable in variables
        }
    )


def _plan(
    file: str,
    out: Path,
    inspection: Inspection,
    synthesize: Names,
    reading: Mapping[str, str | Path | None],
) -> str:
    problems = {column.name: column.problem for column in inspection.columns if column.problem}
    problems = {name: why for name, why in problems.items() if name not in synthesize}
    columns = [column.name for column in inspection.columns]
    given = {
        name: _relative(value, out) if isinstance(value, Path) else value
        for name, value in reading.items()
        if value is not None
    }
    ignore = {**dict.fromkeys(inspection.ignored, "ignored as asked"), **problems}
    return plan_text(
        _relative(Path(file), out), columns, synthesize, ignore, "codebook.toml", given
    )


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _write(target: Path, text: str) -> None:
    with new_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
