"""Every row of the list of bad inputs has its tests; the documentation names them."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from tests.bad_inputs.cases import COVERED

TESTS = Path(__file__).parents[1]
LISTED = re.compile(r"\| (\d+) \| .* \| ([^|]*) \|")


def test_every_row_has_a_test() -> None:
    for path in sorted(TESTS.rglob("test_*.py")):
        if "@covers(" in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(TESTS.parent).with_suffix("").parts)
            importlib.import_module(name)
    lines = (TESTS.parent / "docs" / "bad-inputs.md").read_text(encoding="utf-8").splitlines()
    rows = {int(found[1]): found[2] for line in lines if (found := LISTED.fullmatch(line))}
    assert set(range(1, 96)) <= set(COVERED) == set(rows)
    for row, tests in COVERED.items():
        assert set(re.findall(r"`(\w+)`", rows[row])) == set(tests), row
