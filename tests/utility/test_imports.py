"""The room knows neither a synthesizer nor the risk room, and loads scipy only when used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import understudy.utility

ROOM = Path(understudy.utility.__file__).parent
ALLOWED = ("understudy.microdata", "understudy.errors", "understudy.randomness",
           "understudy.utility")  # fmt: skip


@pytest.mark.parametrize("file", sorted(ROOM.glob("*.py")), ids=lambda file: file.stem)
def test_imports_go_down_only(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        for name in names:
            assert not name.startswith("understudy") or name.startswith(ALLOWED), name
    for node in tree.body:  # at the top of the file
        if isinstance(node, ast.ImportFrom):
            assert not (node.module or "").startswith("scipy")


def test_scipy_is_loaded_late() -> None:
    code = (
        "import sys, understudy.utility.regression, understudy.utility.tables; "
        "sys.exit('scipy.optimize' in sys.modules)"  # scipy itself is loaded by numba
    )
    subprocess.run([sys.executable, "-c", code], check=True)
