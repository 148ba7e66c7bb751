"""What a column holds, from its values and its name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.cli.test_first_plan import columns
from understudy.microdata.coding import CodedColumn
from understudy.microdata.column_recognition import recognize
from understudy.randomness import stream


def recognized(values: Sequence[str], name: str = "a") -> str | None:
    """Say what a column of these values seems to hold."""
    levels, counts = np.unique(np.array(values), return_counts=True)
    first = sorted(range(len(levels)), key=lambda index: list(values).index(str(levels[index])))
    ordered = [str(levels[index]) for index in first]
    column = CodedColumn(name, tuple(ordered))
    suggestion = recognize(column, ordered, counts[first].astype(np.int64))
    return None if suggestion is None else suggestion.holds


@pytest.mark.parametrize(
    ("name", "column", "holds"),
    [
        ("person_id", "person_id", "identifier"),
        ("household", "household", "repeating identifier"),
        ("interview", "interview", "dates"),
        ("income", "income", "decimal numbers"),
        ("age", "age", "whole numbers"),
        ("remark", "remark", "free text"),
        ("weight", "final_weight", "survey weights"),
        ("weight", "rw12", "replicate weights"),
        ("weight", "PWGTP80", "replicate weights"),
        ("weight", "wt_rep3", "replicate weights"),
        ("weight", "weight2", "survey weights"),
        ("code", "code", None),
        ("sex", "sex", None),
        ("town", "weight_class", None),
    ],
)
def test_columns_are_recognized(name: str, column: str, holds: str | None) -> None:
    assert recognized(columns(name)[name], column) == holds


@pytest.mark.parametrize(
    ("form", "dates"),
    [
        ("{1}.{0}.2020", True),
        ("20{0:02}-{1:02}", True),
        ("{1} Mar 19{0:02}", True),
        ("Sept. {0}, 20{1:02}", True),
        ("{0:02}jan20{1:02}", True),
        ("May 19{0:02}", True),
        ("{1}:{0:02}", True),
        ("{1}:{0:02}:59 pm", True),
        ("{0}-{1}", False),
        ("Mayor 19{0}", False),
        ("20{0}", False),
        ("{0}.{1}", False),
        ("1:{0}:{1}:2", False),
    ],
)
def test_forms_of_dates_and_times(form: str, dates: bool) -> None:
    column = [form.format(row, 1 + row % 12) for row in range(10, 29)] * 9
    assert (recognized(column) == "dates") == dates


def test_columns_that_are_recognized_by_their_form() -> None:
    compact = [f"20{year:02d}{month:02d}15" for year in range(12) for month in range(1, 13)]
    assert recognized(compact) == "dates"
    assert recognized([f"{day}/3/2020" for day in range(1, 32)] * 2) == "dates"
    assert recognized(["2020-01-01", "2020-07-01"] * 30) is None  # two waves are categories
    assert recognized([f"H{row // 3:04d}" for row in range(300)]) == "repeating identifier"
    assert recognized([str(row // 4) for row in range(400)]) == "repeating identifier"
    ages = stream(1, "ages").integers(18, 90, 400)
    assert recognized([str(age) for age in ages]) == "whole numbers"
    assert recognized([f"level {row % 1500}" for row in range(9000)]) == "many levels"
