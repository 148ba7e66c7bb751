"""``understudy check``: what is in a file, and what to do before it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from understudy.cli.baseline_rows import level_rows, risk_levels, void_scales
from understudy.cli.options import (
    AsJson,
    ColumnOptions,
    LevelOptions,
    Names,
    ReadingOptions,
    source_options,
)
from understudy.cli.output import (
    in_time,
    paragraph,
    reading_progress,
    say,
    say_json,
    table,
)
from understudy.errors import ExitCode, quoted, quoted_list
from understudy.memory import in_bytes
from understudy.microdata.file_format import ANY_FORMAT
from understudy.microdata.screening import (
    SMALL_PATTERN,
    ColumnFinding,
    Inspection,
    inspect_source,
)
from understudy.microdata.table import Microdata
from understudy.summaries import counted
from understudy.synthesis.registry import memory_estimates, time_estimates

__all__ = ["check"]

MOST_PATTERNS = 10


def check(
    file: Annotated[
        str, Parameter(help=f"A {ANY_FORMAT} file, a folder of Parquet files, or a plan (.toml).")
    ],
    /,
    *,
    columns: ColumnOptions = ColumnOptions(),
    known: Names = (),
    levels: LevelOptions = LevelOptions(),
    reading: ReadingOptions = ReadingOptions(),
    catalog: Path | None = None,
    as_json: AsJson = False,
) -> ExitCode:
    """Show what is in a file: variables, levels, patterns, memory and time, and advice.

    No value of the file is shown, only names of columns and counts. The exit code is 2 if the data
    cannot be used as they are.

    Parameters
    ----------
    known
        Kept columns that an intruder may know: also show how small the groups are that they form.
    catalog
        A .sas7bcat file with the labels of a SAS file.
    as_json
        Print JSON.
    """
    options = source_options(file, columns, levels, reading, catalog=catalog)
    with reading_progress() as progress:
        inspection = inspect_source(**options, progress=progress)
    smallest = None
    if known and inspection.data is not None:
        smallest = int(inspection.data.cells(inspection.data.known(known)).sizes.min())
    if as_json:
        say_json(_as_json(inspection, known, smallest))
    else:
        _show(Path(file).name, inspection, known, smallest)
    return ExitCode.WRONG_INPUT if inspection.problems else ExitCode.DONE


def _show(name: str, inspection: Inspection, known: Names, smallest: int | None) -> None:
    say(f"{quoted(name)}: {counted(inspection.n_records, 'record')}")
    say()
    header = ("variable", "part", "stored as", "levels", "missing", "alike", "")
    say(table(header, [_row(finding) for finding in inspection.columns], left=3))
    if inspection.passed:
        say(paragraph(f"Passed through unchanged: {quoted_list(inspection.passed)}."))
    if inspection.about_design:
        say(paragraph(inspection.about_design))
    if inspection.ignored:
        say(paragraph(f"Ignored: {quoted_list(inspection.ignored)}."))
    if inspection.data is not None:
        say()
        aside = any(finding.problem for finding in inspection.columns)
        _show_patterns(inspection.data, " without the columns set aside" if aside else "")
        if smallest is not None:
            group = counted(smallest, "record")
            form = "forms" if len(known) == 1 else "form"
            say(f"Smallest group that {', '.join(map(quoted, known))} {form}: {group}.")
        if inspection.data.synthesized:
            say()
            _show_levels(risk_levels(inspection.data, known))
            _show_costs(inspection.data)
    _show_list("Problems", inspection.problems)
    _show_list("Advice", inspection.advice)
    say()
    if not inspection.problems:
        say("These data can be used as they are.")
    elif not name.lower().endswith(".toml"):
        say(
            paragraph(
                "understudy init, with the same columns to synthesize, writes a first plan "
                "that leaves out what cannot be used, and settles missing values."
            )
        )


def _show_list(title: str, entries: Sequence[str]) -> None:
    if entries:
        say()
        say(title)
    for entry in entries:
        say(paragraph(entry, "- ", "  "))


def _row(finding: ColumnFinding) -> tuple[str, ...]:
    return (
        quoted(finding.name),
        finding.part,
        finding.stored,
        f"{finding.n_levels:,}",
        f"{finding.n_missing:,}" if finding.n_missing else "-",
        f"{finding.n_near_duplicates:,}" if finding.n_near_duplicates else "-",
        "set aside, see below" if finding.problem else _seems(finding),
    )


def _seems(finding: ColumnFinding) -> str:
    return f"{finding.suggestion.holds}?" if finding.suggestion is not None else ""


def _show_patterns(data: Microdata, limits: str) -> None:
    sizes = data.patterns.sizes
    say(
        paragraph(
            f"{counted(len(sizes), 'pattern')} of the kept variables{limits}, "
            f"{counted(data.n_combinations, 'combination')} "
            f"with the others ({data.n_cells:,} conceivable). The smallest pattern has "
            f"{counted(int(sizes.min()), 'record')} (k-anonymity of the kept variables)."
        )
    )
    smallest = sorted(sizes.tolist())[:MOST_PATTERNS]
    if len(set(smallest)) == 1:
        records = counted(smallest[0], "record")
        say(f"Records in the {len(smallest)} smallest patterns: {records} each.")
    else:
        listed = ", ".join(f"{size:,}" for size in smallest)
        say(f"Records in the {len(smallest)} smallest patterns: {listed}.")


def _show_levels(levels: Mapping[str, tuple[float, float]]) -> None:
    if levels:
        say("Baselines of the data, whatever the synthesizer (exact)")
        say(table(("", "Min", "Max"), level_rows(levels)))
        for words in void_scales(levels):
            say(paragraph(words, "  ", "  "))
        say()


def _show_costs(data: Microdata) -> None:
    shown = ", ".join(f"{what} {in_bytes(n)}" for what, n in memory_estimates(data).items())
    say(paragraph(f"Memory at default settings, about: {shown}."))
    shown = ", ".join(
        f"{what} {in_time(seconds)}" for what, seconds in time_estimates(data).items()
    )
    say(paragraph(f"Processor time of a default fit, at least about: {shown}."))


def _as_json(inspection: Inspection, known: Names, smallest: int | None) -> dict[str, Any]:
    content: dict[str, Any] = {
        "records": inspection.n_records,
        "variables": [
            {
                "name": finding.name,
                "part": finding.part,
                "stored": finding.stored,
                "levels": finding.n_levels,
                "missing": finding.n_missing,
                "near_duplicates": finding.n_near_duplicates,
                "problem": finding.problem or None,
                "remarks": list(finding.remarks),
                "suggestion": None if finding.suggestion is None else asdict(finding.suggestion),
            }
            for finding in inspection.columns
        ],
        "ignored": list(inspection.ignored),
        "passed_through": list(inspection.passed),
        "survey": {part: list(names) for part, names in inspection.design.items()},
        "problems": list(inspection.problems),
        "advice": list(inspection.advice),
    }
    data = inspection.data
    if data is not None:
        sizes = data.patterns.sizes
        content["patterns"] = {
            "number": len(sizes),
            "smallest": int(sizes.min()),
            "below_five": int((sizes < SMALL_PATTERN).sum()),
        }
        content["combinations"] = data.n_combinations
        content["conceivable_combinations"] = data.n_cells
        content["smallest_known_group"] = smallest
        if data.synthesized:
            content["memory_bytes"] = memory_estimates(data)
            content["processor_seconds"] = time_estimates(data)
            content["risk_levels"] = {
                name: {"minimum": low, "maximum": high}
                for name, (low, high) in risk_levels(data, known).items()
            }
    return content
