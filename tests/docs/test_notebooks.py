"""The notebooks of the docs run, and those with outputs are of the same cells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.docs.notebooks import FOLDER, cells_of, page_of, run

NOTEBOOKS = sorted(FOLDER.glob("*.py"))


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "first-steps",
        "judge-synthpop",
        "own-synthesizer",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER.parent.parent)
    cells = run(path)
    kinds = {kind for cell in cells for kind, _ in cell.outputs}
    assert {"text/html", "image/png"} <= kinds
    kept = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]
    for cell, shown in zip(cells, kept, strict=True):
        before = [kind for output in shown.get("outputs", []) for kind in output["data"]]
        assert [kind for kind, _ in cell.outputs] == before


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_and_the_page_with_outputs_have_the_same_cells(path: Path) -> None:
    kept = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))
    assert (kept["nbformat"], kept["nbformat_minor"]) == (4, 5)
    assert [(cell["source"], cell["cell_type"] == "code") for cell in kept["cells"]] == [
        (cell.text, cell.code) for cell in cells_of(path)
    ]
    runs = [cell["execution_count"] for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert runs == list(range(1, len(runs) + 1))  # executed, once and in order
    for cell, shown in zip(cells := cells_of(path), kept["cells"], strict=True):
        outputs = [output["data"] for output in shown.get("outputs", [])]
        cell.outputs = [next(iter(data.items())) for data in outputs]
    page, files = page_of(path.stem, cells)
    assert path.with_suffix(".md").read_text(encoding="utf-8") == page
    lying = {f"outputs/{written.name}" for written in FOLDER.glob(f"outputs/{path.stem}-*")}
    assert lying == set(files)
    for file, content in files.items():
        assert (FOLDER / file).read_text(encoding="utf-8") == content + "\n"
