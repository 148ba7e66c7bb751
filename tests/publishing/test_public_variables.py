"""Levels and columns that may not be published, and options that are wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import understudy as us
from tests.publishing.fake_study import APPROVAL, Study
from tests.publishing.test_refusals import refused
from understudy.errors import (
    ColumnError,
    LevelError,
    OutputError,
)


def with_level(study: Study, level: str) -> Study:
    """Give the synthesized variable one more level."""
    old = study.variables[2]
    study.variables[2] = old.model_copy(update={"levels": (*old.levels, level)})
    return study.seal()


FORMULAS = [
    "=cmd|'/C calc'!A0",
    "+SUM(A1)",
    "-2+3",
    "@SUM(A1)",
    "\tabc",
    "\rabc",
    " =1+1",
    "\u200b=1+1",
    "＝1+1",
    "-none-",
]


@pytest.mark.parametrize("level", FORMULAS)
def test_level_that_looks_like_a_formula(study: Study, public: Path, level: str) -> None:
    with_level(study, level)
    text = refused(study, public, LevelError, "does not take for formulas")
    assert level not in text
    us.release(study.folder, public, APPROVAL, formulas="quote")
    written = tomllib.loads((public / "codebook.toml").read_text())
    assert written["variables"]["county"]["levels"][-1] == f"'{level}"


@pytest.mark.parametrize("level", ["\t=1", "\r=1", "a;=1+1", 'x",=cmd()', "a\n=1+1", "a;@b"])
def test_formula_behind_a_separator_cannot_be_quoted(
    study: Study, public: Path, level: str
) -> None:
    with_level(study, level)
    refused(study, public, LevelError, "does not take for formulas")
    refused(study, public, LevelError, "does not take for formulas", formulas="quote")


@pytest.mark.parametrize(
    "level", ["-1", "+5", "-1.5", "-1,000", "5 - 10", "$1,000 - $2,000", "a=b", "(-5, -1]", "x@y"]
)
def test_levels_that_are_no_formulas(study: Study, public: Path, level: str) -> None:
    us.release(with_level(study, level).folder, public, APPROVAL)
    assert level in (public / "codebook.toml").read_text()


def test_quoted_level_that_exists_already(study: Study, public: Path) -> None:
    with_level(with_level(study, "=1+1"), "'=1+1")
    refused(study, public, LevelError, "become the same", formulas="quote")


@pytest.mark.parametrize("level", ["\x1b[31mred", "\u202eevil", "a\x00b", "a\x07b", "\x85x"])
def test_level_that_cannot_be_published(study: Study, public: Path, level: str) -> None:
    with_level(study, level)
    refused(study, public, LevelError, "control characters")
    refused(study, public, LevelError, "control characters", formulas="quote")


@pytest.mark.parametrize("name", ["=cmd()", " ", "a\x1bb", "a\nb", "a;=b"])
def test_column_that_cannot_be_published(study: Study, public: Path, name: str) -> None:
    study.variables[0] = study.variables[0].model_copy(update={"name": name})
    study.seal()
    refused(study, public, ColumnError, "column names that can be published", formulas="quote")


def test_level_that_a_format_cannot_hold(study: Study, public: Path) -> None:
    with_level(study, "space at the end ")
    refused(study, public, OutputError, "an SPSS file", format="spss")
    us.release(study.folder, public, APPROVAL)


def test_column_that_a_format_cannot_hold(study: Study, public: Path) -> None:
    study.variables[0] = study.variables[0].model_copy(update={"name": "a name with spaces"})
    study.seal()
    says, reason = "the statistical program can store", "weaker intruders are enough here"
    refused(study, public, OutputError, says, format="stata", reason=reason)
