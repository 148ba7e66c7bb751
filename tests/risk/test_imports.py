"""The room stands on microdata, errors and randomness, and on nothing else of the house."""

import ast
from pathlib import Path

import understudy

ROOM = Path(understudy.__file__).parent / "risk"
ALLOWED = ("understudy.risk", "understudy.microdata", "understudy.errors", "understudy.randomness")


def imported(file: Path) -> set[str]:
    """List the modules that a file imports, wherever it does."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def test_risk_knows_no_synthesizer() -> None:
    files = list(ROOM.glob("*.py"))
    assert len(files) > 8
    for file in files:
        for name in imported(file):
            assert not name.startswith("understudy") or name.startswith(ALLOWED), (file.name, name)
        if file.name != "kernels.py":
            assert "numba" not in imported(file)
