"""Every row of the list of bad inputs has a test."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.bad_inputs.cases import COVERED

ROWS = {*range(1, 96)}


def test_every_row_has_a_test() -> None:
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        importlib.import_module(f"tests.bad_inputs.{path.stem}")
    assert not ROWS - set(COVERED)
