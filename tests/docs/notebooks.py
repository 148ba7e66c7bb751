"""Runs the notebooks of the docs: plain programs in cells (``# %%``), with no kernel and no server.

``python -m tests.docs.notebooks`` writes each as ``.ipynb`` with its outputs, for Jupyter, and as a
page for the docs. The tests run the same cells.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

__all__ = ["FOLDER", "Cell", "cells_of", "notebook_of", "page_of", "run"]

FOLDER = Path(__file__).parent.parent.parent / "docs" / "notebooks"
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclass
class Cell:
    """A cell, and what came out of it: the kind of each output and its content."""

    text: str
    code: bool
    outputs: list[tuple[str, str]] = field(default_factory=list)


def cells_of(path: Path) -> list[Cell]:
    """Cut a program into its cells."""
    cells = []
    for part in re.split(r"^# %%", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
        first, _, rest = part.partition("\n")
        if "[markdown]" in first:
            lines = [line.removeprefix("#").removeprefix(" ") for line in rest.strip().splitlines()]
            cells.append(Cell("\n".join(lines), code=False))
        else:
            cells.append(Cell(rest.strip(), code=True))
    return cells


def run(path: Path) -> list[Cell]:
    """Run all cells in one namespace, and keep what they give."""
    mpl.use("Agg")
    cells, names = cells_of(path), {"__name__": "__main__"}
    for number, cell in enumerate(cells):
        if cell.code:
            cell.outputs = list(_outputs(cell.text, f"{path.stem}[{number}]", names))
    return cells


def _outputs(text: str, name: str, names: dict[str, Any]) -> Iterator[tuple[str, str]]:
    tree = ast.parse(text, name)
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    body = ast.Module(tree.body[:-1] if last else tree.body, [])
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        exec(compile(body, name, "exec"), names)  # noqa: S102
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)  # noqa: S307
    if printed.getvalue():
        yield "text/plain", printed.getvalue()
    for said in dict.fromkeys(
        f"{warning.category.__name__}: {warning.message}" for warning in warned
    ):
        yield "text/plain", said
    figures = [plt.figure(number) for number in plt.get_fignums()]
    for figure in figures:
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=50, metadata={"Software": None})
        yield "image/png", base64.b64encode(image.getvalue()).decode("ascii")
    plt.close("all")
    if value is not None and not figures:
        html = getattr(value, "_repr_html_", None)
        yield ("text/html", html()) if html else ("text/plain", ADDRESS.sub("", repr(value)))


def notebook_of(cells: list[Cell]) -> str:
    """Write cells as a notebook in Jupyter's format, version 4.5."""
    listed: list[dict[str, Any]] = []
    runs = count(1)
    for number, cell in enumerate(cells):
        own: dict[str, Any] = {"id": f"cell-{number}", "metadata": {}, "source": cell.text}
        if cell.code:
            own |= {"cell_type": "code", "execution_count": next(runs), "outputs": [
                {"output_type": "display_data", "metadata": {}, "data": {kind: content}}
                for kind, content in cell.outputs
            ]}  # fmt: skip
        listed.append(own if cell.code else {**own, "cell_type": "markdown"})
    language = {"language_info": {"name": "python"}}
    whole = {"cells": listed, "metadata": language, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def page_of(name: str, cells: list[Cell]) -> tuple[str, dict[str, str]]:
    """Write cells as a page of the docs, and the files of outputs that the page includes."""
    parts: list[str] = []
    files: dict[str, str] = {}
    for cell in cells:
        parts.append(f"```python\n{cell.text}\n```" if cell.code else cell.text)
        for kind, content in cell.outputs:
            printed = kind == "text/plain"
            file = f"outputs/{name}-{len(files) + 1}.{'txt' if printed else 'html'}"
            image = f'<img alt="the drawing of this cell" src="data:image/png;base64,{content}">'
            files[file] = image if kind == "image/png" else content.rstrip()
            how = f"literalinclude}} {file}" if printed else f"raw}} html\n:file: {file}"
            parts.append(f"```{{{how}\n```")
    parts.append(f"To run it yourself: {{download}}`{name}.ipynb <{name}.ipynb>`.")
    return "\n\n".join(parts) + "\n", files


def main() -> None:
    """Run all notebooks, and write them with their outputs."""
    for path in sorted(FOLDER.glob("*.py")):
        cells = run(path)
        path.with_suffix(".ipynb").write_text(notebook_of(cells), encoding="utf-8")
        page, files = page_of(path.stem, cells)
        for old in FOLDER.glob(f"outputs/{path.stem}-*"):
            old.unlink()
        path.with_suffix(".md").write_text(page, encoding="utf-8")
        for file, content in files.items():
            (FOLDER / file).parent.mkdir(exist_ok=True)
            (FOLDER / file).write_text(content + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
