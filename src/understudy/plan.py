"""The plan of a study, read from a TOML file: which data, which columns play which part.

Every key that a plan may have is in `plan_text`, which writes a first plan with an explanation
beside each. Paths in a plan are relative to the plan's own folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from understudy.errors import quoted_list, visible
from understudy.microdata.bins import Bins
from understudy.settings import Settings, read_settings, toml_key, toml_text

__all__ = ["DataPlan", "StudyPlan", "plan_text", "read_plan"]


class DataPlan(Settings):
    """Which data, and how to read them; see `understudy.read_microdata` for each key."""

    file: str
    synthesize: tuple[str, ...] = Field(min_length=1)
    keep: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    codebook: str | None = None
    missing: Literal["error", "level", "drop"] = "error"
    na: tuple[str, ...] = ()
    unused_levels: Literal["error", "keep", "drop"] = "error"
    encoding: str | None = None
    delimiter: str | None = None
    catalog: str | None = None
    bins: dict[str, Bins] = Field(default_factory=dict)

    def reading_options(self, folder: Path) -> dict[str, Any]:
        """Give the arguments of `understudy.read_microdata`, paths made relative to a folder."""
        options: dict[str, Any] = {name: getattr(self, name) for name in type(self).model_fields}
        options["source"] = folder / options.pop("file")
        for name in ("codebook", "catalog"):
            if options[name] is not None:
                options[name] = folder / options[name]
        return options


class StudyPlan(Settings):
    """A whole study."""

    data: DataPlan


def read_plan(path: str | os.PathLike[str]) -> StudyPlan:
    """Read a plan, or say all that is wrong with it.

    Parameters
    ----------
    path : str or path
        A TOML file.

    Returns
    -------
    StudyPlan
    """
    return read_settings(path, StudyPlan, "plan")


def plan_text(
    file: str,
    columns: Sequence[str],
    synthesize: Sequence[str],
    ignore: Mapping[str, str],
    codebook: str | None,
    reading: Mapping[str, str] | None = None,
) -> str:
    """Write a first plan, with every key explained.

    Parameters
    ----------
    file : str
        The data, relative to the plan's folder.
    columns : sequence of str
        All columns of the file.
    synthesize : sequence of str
        Columns to synthesize; empty leaves the choice open.
    ignore : mapping of str to str
        Columns that cannot be used as they are, with the reason.
    codebook : str, optional
        File of the codebook, relative to the plan's folder.
    reading : mapping of str to str, optional
        How the file was read: ``encoding``, ``delimiter``, ``catalog``, where given.

    Returns
    -------
    str
        TOML with comments.
    """
    comments = [_comment(name, reason) for name, reason in ignore.items()]
    return _PLAN.format(
        columns=_one_line(f"columns of the file: {quoted_list(columns)}"),
        file=toml_text(file),
        synthesize=_list(synthesize),
        choose="" if synthesize else "   # <- name at least one",
        ignore=_list(ignore),
        reasons="\n".join(comments) + "\n" if comments else "",
        codebook=f"codebook = {toml_text(codebook)}"
        if codebook
        else '# codebook = "codebook.toml"',
        encoding=_setting("encoding", "latin-1", reading),
        delimiter=_setting("delimiter", ";", reading),
        catalog=_setting("catalog", "formats.sas7bcat", reading),
        example=toml_key(next(iter(columns), "income")),
    )


def _setting(key: str, example: str, given: Mapping[str, str] | None) -> str:
    """Write a key with its value, or as a comment with an example."""
    value = (given or {}).get(key)
    return f"{key} = {toml_text(value)}" if value else f"# {key} = {toml_text(example)}"


def _comment(name: str, reason: str) -> str:
    return _one_line(f"#   {toml_text(name)}: {reason}")


def _one_line(text: str) -> str:
    """Fold a comment into one line that holds nothing a comment may not hold."""
    return " ".join("".join(visible(character) for character in text).split())


def _list(names: Sequence[str] | Mapping[str, str]) -> str:
    return "[" + ", ".join(toml_text(name) for name in names) + "]"


_PLAN = """\
# A plan for understudy. Lines that start with # are explanations.
# {columns}

[data]
# The confidential file: CSV (also .gz), Parquet, SAS (.sas7bdat, .xpt), Stata (.dta), SPSS (.sav).
# A path is relative to the folder that this plan lies in.
file = {file}

# Columns that may not be published as they are. Synthetic values are drawn for them.
synthesize = {synthesize}{choose}

# Columns to publish as they are. Left out: every column that is neither synthesized nor ignored.
# keep = ["gender", "age"]

# Columns to leave out of everything: identifiers, free text, dates, weights.
{reasons}ignore = {ignore}

# Levels, their order, labels and missing codes, declared outside of the data. A release needs one.
{codebook}

# What to do with missing values: "error" refuses the data, "level" makes missing a level of its
# own, "drop" leaves such records out.
missing = "error"

# Texts that mean missing, in any column. Without this, "NA" and "" are categories like any other.
na = []

# Levels that a categorical column declares and no record has: "error" asks, "keep" or "drop".
unused_levels = "error"

# How a text file is written, where that is not found by itself.
{encoding}
{delimiter}

# The formats of a SAS file.
{catalog}

# Numbers become groups: quantiles, or cut points (a number at one belongs to the group above it).
# [data.bins.{example}]
# quantiles = 4
# [data.bins.{example}]
# cuts = [20, 40, 60, 80]
# names = ["<20", "20-40", "40-60", "60-80", ">80"]
"""
