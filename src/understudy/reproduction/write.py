"""Running the reproduction and writing what comes out: a page, its figures, a report, the cells."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.reproduction.blocks import Drawing, Table, as_html, as_markdown
from understudy.reproduction.compare import Beside, compare_all
from understudy.reproduction.configurations import Scale
from understudy.reproduction.paper_figures import paper_figures, standalone
from understudy.reproduction.reproduction_page import TITLE, page_blocks
from understudy.reproduction.run import Said, bundled_findings, run_all
from understudy.storage import new_file

__all__ = ["Made", "write_all", "write_documentation"]


@dataclass(frozen=True)
class Made:
    """What a reproduction has made.

    Attributes
    ----------
    page, report : path
        The comparison with the paper, and the report on the bundled population.
    beside : list of Beside
        Every printed cell beside every way of computing it.
    tables : list of Table
        The paper's tables as the page sets them first.
    converged : bool
        Whether every fit behind the page has.
    """

    page: Path
    report: Path
    beside: list[Beside]
    tables: list[Table]
    converged: bool


def write_all(folder: str | os.PathLike[str], scale: Scale, seed: int, say: Said) -> Made:
    """Compute what is missing and write the pages.

    Parameters
    ----------
    folder : path
        For the pages; parts that are finished lie in its subfolder ``parts``.
    scale : Scale
        How much to compute.
    seed : int
        Decides every draw.
    say : callable
        Told what is being done.
    """
    from understudy.pages.report import page
    from understudy.verdict.verdict import Thresholds, judge

    place = Path(folder)
    results = run_all(place / "parts", scale, seed, say)
    say("writing the pages", None)
    findings = bundled_findings(place / "parts", results)
    drawings = paper_figures(findings)
    blocks = page_blocks(results, drawings)
    _write(place / "report.html", page(findings, judge(findings, Thresholds())))
    _write(place / "reproduction.html", as_html(TITLE, blocks))
    _write(place / "results.json", json.dumps(results, indent=1))
    write_documentation(place / "documentation", results, drawings)
    fits = [fit for one in results["populations"] for fit in one["fits"].values()]
    return Made(
        page=place / "reproduction.html",
        report=place / "report.html",
        beside=compare_all(results),
        tables=[one for one in blocks if isinstance(one, Table) and one.overview],
        converged=all(fit["converged"] for fit in fits),
    )


def write_documentation(folder: Path, results: dict[str, Any], drawings: Sequence[Drawing]) -> None:
    """Write the page as Markdown, and its drawings as files, for the documentation."""
    figures = folder / "reproduction"
    figures.mkdir(parents=True, exist_ok=True)
    for one in drawings:
        _write(figures / f"{one.name}.svg", standalone(one.svg) + "\n")
    _write(folder / "reproduction.md", as_markdown(page_blocks(results, drawings), figures.name))


def _write(path: Path, text: str) -> None:
    with new_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
