"""No accepted level is a formula to a spreadsheet, whatever separator it splits at."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.bad_inputs.cases import covers
from understudy.errors import LevelError
from understudy.microdata.variable import Variable
from understudy.publishing.data_files import write_set
from understudy.publishing.public_variables import Formulas, _formula, _safe, _unprintable

LEVEL = st.text(alphabet="=+-@\t\r\n,;|\"' aB1.0%(＝＠\u200b", min_size=1, max_size=8)
BEGINS = re.compile(r"[\s\u200b\u2060\ufeff]*([=@＝＠]|[+\-＋－](?![0-9][0-9 .,]*%?([\",;|\s]|$)))")


@covers(145)
@pytest.mark.parametrize(
    "level",
    ["x;\"-2+3+cmd|' /C calc'!A0;", "\u3000=1+1", "x;\u200e=1", "\ufe66SUM(A1)", "\u00ad=1+1"],
)
def test_signs_behind_what_a_spreadsheet_drops(level: str) -> None:
    assert _formula(level)
    with pytest.raises(LevelError):
        _safe(level, "v", "refuse")


def cells(path: Path, separator: str) -> list[str]:
    """Read a file as a program does that takes another separator for granted."""
    with path.open(newline="", encoding="utf-8") as lines:
        return [cell for row in csv.reader(lines, delimiter=separator) for cell in row]


@given(level=LEVEL)
@example(level="a;=1")
@example(level='a"=1')
@example(level='";=1')
@example(level="|\u200b=")
@example(level="1;-2(+")
@example(level="1|-2\t+3")
@example(level="x;\"-2+3+cmd|' /C calc'!A0;")
@example(level="\u3000=1")
@example(level="\ufe66SUM(A1)")
def test_accepted_levels_are_no_formulas(tmp_path_factory: object, level: str) -> None:
    assume(not _formula(level) and not _unprintable(level))
    folder = tmp_path_factory.mktemp("formulas")  # type: ignore[attr-defined]
    variable = Variable("v", "synthesized", (level, "other"))
    path = folder / "synthetic-01.csv"
    write_set({"v": np.zeros(2, dtype=np.int32), "w": np.ones(2, dtype=np.int32)},
              [variable, Variable("w", "kept", (level, "other"))], path)  # fmt: skip
    for separator in ",;\t|":
        for cell in cells(path, separator):
            assert not BEGINS.match(cell), (level, separator, cell)
    assert cells(path, ",")[2:4] == [level, "other"]


@given(level=LEVEL)
def test_quoted_levels_are_no_formulas(level: str) -> None:
    try:
        shown = _safe(level, "v", "quote")
    except ValueError:
        return
    assert not _formula(shown)
    assert shown in {level, f"'{level}"}


@covers(106)
def test_hidden_pieces_are_judged_like_beginnings() -> None:
    """Also behind ; | and tab, where programs of another locale begin a new cell."""
    hostile = "-2+3+cmd|' /C calc'!A0"
    for separator in ";|\t":
        for level in (f"x{separator}{hostile}", f"x{separator} {hostile}", f"x{separator}-x"):
            assert _formula(level)
            for choice in get_args(Formulas):
                with pytest.raises(LevelError) as caught:
                    _safe(level, "v", choice)
                assert "calc" not in str(caught.value)
        for level in (f"x{separator}-2.5", f"a{separator}b", f"18-24{separator}+5%"):
            assert not _formula(level)


@covers(106)
def test_fields_with_a_separator_are_quoted(tmp_path: Path) -> None:
    levels = ("a;b", "c|d", "e\tf", "g,h", "plain")
    path = tmp_path / "synthetic-01.csv"
    codes = {"v": np.arange(5, dtype=np.int32)}
    write_set(codes, [Variable("v", "synthesized", levels)], path)
    lines = path.read_text().splitlines()
    assert sorted(lines) == sorted(["v", '"a;b"', '"c|d"', '"e\tf"', '"g,h"', "plain"])
