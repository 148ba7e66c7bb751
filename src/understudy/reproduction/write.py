"""Running the reproduction and writing what comes out: a page, its figures, a report, the cells."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.pages.blocks import Block, Figure, Heading, Paragraph, Table, all_tables
from understudy.pages.html import html_page
from understudy.pages.markdown import markdown_page
from understudy.pages.plots.canvas import standalone_svg
from understudy.reproduction.cell_comparison import Comparison, compare_all, title_of
from understudy.reproduction.configurations import Scale
from understudy.reproduction.paper_figures import paper_figures
from understudy.reproduction.reproduction_page import TITLE, page_blocks
from understudy.reproduction.run import Said, bundled_findings, run_all
from understudy.storage import write_text

__all__ = ["Made", "cells_as_csv", "table_as_csv", "write_all", "write_documentation"]


@dataclass(frozen=True)
class Made:
    """What a reproduction has made.

    Attributes
    ----------
    page, report : path
        The comparison with the paper, and the report on the bundled population.
    comparisons : list of Comparison
        Every printed cell beside every way of computing it.
    tables : list of Table
        The paper's tables as the page sets them first.
    converged : bool
        Whether every fit behind the page has.
    """

    page: Path
    report: Path
    comparisons: list[Comparison]
    tables: list[Table]
    converged: bool


def write_all(folder: str | os.PathLike[str], scale: Scale, seed: int, say: Said) -> Made:
    """Compute what is missing and write the pages; finished parts lie in ``parts``."""
    from understudy.pages.report import page
    from understudy.verdict.thresholds import Thresholds
    from understudy.verdict.verdict import judge

    target = Path(folder)
    results = run_all(target / "parts", scale, seed, say)
    say("writing the pages", None)
    findings = bundled_findings(target / "parts", results)
    drawings = paper_figures(findings)
    blocks = page_blocks(results, drawings)
    write_text(target / "report.html", page(findings, judge(findings, Thresholds())))
    write_text(target / "reproduction.html", html_page(TITLE, blocks))
    write_text(target / "results.json", json.dumps(results, indent=1))
    write_text(target / "cells.csv", cells_as_csv(compare_all(results)))
    write_documentation(target / "documentation", results, drawings)
    fits = [fit for population in results["populations"] for fit in population["fits"].values()]
    return Made(
        page=target / "reproduction.html",
        report=target / "report.html",
        comparisons=compare_all(results),
        tables=[table for table in all_tables(blocks) if table.printed],
        converged=all(fit["converged"] for fit in fits),
    )


def write_documentation(folder: Path, results: dict[str, Any], drawings: Sequence[Figure]) -> None:
    """Write the page as Markdown, its drawings and its long tables as files, for the docs."""
    figures = folder / "reproduction"
    figures.mkdir(parents=True, exist_ok=True)
    for figure in drawings:
        write_text(figures / f"{figure.name}.svg", standalone_svg(figure.svg) + "\n")
    write_text(figures / "cells.csv", cells_as_csv(compare_all(results)))
    blocks = page_blocks(results, drawings)
    for table in all_tables(blocks):
        if table.file:
            write_text(figures / f"{table.file}.csv", table_as_csv(table))
    short = [_in_a_file(block, figures.name) for block in blocks if not _is_folded(block)]
    after = next(number for number, block in enumerate(short[1:], 1) if isinstance(block, Heading))
    link = f"Every way of computing every cell: [cells.csv]({figures.name}/cells.csv)."
    short.insert(after, Paragraph(link))
    write_text(folder / "reproduction.md", markdown_page(short, figures.name))


def _is_folded(block: Block) -> bool:
    return isinstance(block, Table) and block.folded


def _in_a_file(block: Block, folder: str) -> Block:
    """Put a link where a table has a file of its own."""
    if not isinstance(block, Table) or not block.file:
        return block
    return Paragraph(f"Table: [{block.caption}]({folder}/{block.file}.csv).")


def table_as_csv(table: Table) -> str:
    """Write a table as it is set; a row of one cell heads a group."""
    text = io.StringIO()
    rows = ([cell.text for cell in row] for row in table.cells)
    csv.writer(text, lineterminator="\n").writerows([table.header, *rows])
    return text.getvalue()


def cells_as_csv(comparisons: Sequence[Comparison]) -> str:
    """Write every way of computing every printed cell, a line each."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    ends = [f"{end} of {whose}" for whose in ("sets", "populations") for end in ("least", "most")]
    own = ("table", "row", "column", "printed", "computed as", "ours", "defined in sets")
    lines.writerow([*own, *ends, "inside"])
    for comparison in comparisons:
        cell, ranges = comparison.cell, (comparison.over_sets, comparison.over_populations)
        names = (
            cell.table,
            cell.row,
            cell.column,
            cell.printed,
            title_of(comparison.configuration),
        )
        numbers = [end for pair in ranges for end in (pair or (None, None))]
        inside = "" if comparison.inside is None else "yes" if comparison.inside else "no"
        lines.writerow(
            [*names, *map(_number, [comparison.value, comparison.sets[0], *numbers]), inside]
        )
    return text.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
