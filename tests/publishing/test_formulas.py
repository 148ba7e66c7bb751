"""No accepted level is a formula to a spreadsheet, whatever separator it splits at."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st

from understudy.microdata.variable import Variable
from understudy.publishing.files import write_set
from understudy.publishing.variables import _formula, _safe, _unprintable

LEVEL = st.text(alphabet="=+-@\t\r\n,;|\"' aB1.0%(＝＠\u200b", min_size=1, max_size=8)
BEGINS = re.compile(r"[\s\u200b\u2060\ufeff]*([=@＝＠]|[+\-＋－][^\W\d])")


def cells(path: Path, separator: str) -> list[str]:
    """Read a file as a program does that takes another separator for granted."""
    with path.open(newline="", encoding="utf-8") as lines:
        return [cell for row in csv.reader(lines, delimiter=separator) for cell in row]


@given(level=LEVEL)
@example(level="a;=1")
@example(level='a"=1')
@example(level='";=1')
@example(level="|\u200b=")
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
