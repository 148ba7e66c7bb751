"""Every row of the list of bad inputs has its tests, and every test that covers one a row."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from tests.bad_inputs.cases import COVERED

TESTS = Path(__file__).parents[1]
LISTED = re.compile(r"\| ([\d, ]+) \| .+ \| .+ \|")


def test_every_row_has_a_test() -> None:
    for path in sorted(TESTS.rglob("test_*.py")):
        if "@covers(" in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(TESTS.parent).with_suffix("").parts)
            importlib.import_module(name)
    lines = (TESTS / "bad_inputs" / "inputs.md").read_text(encoding="utf-8").splitlines()
    rows = [
        int(row)
        for line in lines
        if (match := LISTED.fullmatch(line))
        for row in match[1].split(", ")
    ]
    assert len(rows) == len(set(rows))
    assert set(range(1, 96)) <= set(COVERED) == set(rows)
