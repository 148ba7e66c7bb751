"""A page as a list of blocks, written as HTML for readers or as Markdown for the documentation."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Block", "Drawing", "Heading", "Table", "Text", "as_html", "as_markdown"]


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the page's title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph of plain words; line breaks in it mean nothing."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table; cells from column `numbers` on are figures. A row of one cell heads a group."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: int = 1
    overview: bool = False  # one of the paper's tables, as the paper sets it


@dataclass(frozen=True)
class Drawing:
    """A figure as SVG, with one sentence on how to read it."""

    name: str  # of the file, without ending
    svg: str
    caption: str


Block = Heading | Text | Table | Drawing

STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #fff; --line: #bbb; --soft: #555;
  --rule: #d5d3cd; --original: #6a6a6a; --dpmpm: #b04a00; --areal: #005fa3; --max: #14703f;
  --min: #7a3a9a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #16181a; --line: #555; --soft: #aaa; --rule: #3f4147;
    --original: #b4b4b4; --dpmpm: #f2a25c; --areal: #72b7f2; --max: #63cc93; --min: #cb9fec; } }
body { color: var(--ink); background: var(--paper); font: 17px/1.5 Georgia, serif; margin: 0 auto;
  max-width: 54rem; padding: 1rem; }
p { max-width: 40rem; }
h1, h2, h3, table, figcaption { font-family: system-ui, sans-serif; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.8rem; font-variant-numeric: tabular-nums;
  margin: 1rem 0; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.4rem; }
th, td { border-bottom: 1px solid var(--line); padding: 0.2rem 0.6rem 0.2rem 0;
  vertical-align: top; }
th { text-align: left; font-weight: 400; min-width: 5rem; } tbody th { min-width: 11rem; }
thead th, .group th { font-weight: 600; }
.group th { padding-top: 0.8rem; } .figure { text-align: right; white-space: nowrap; }
thead .figure { white-space: normal; vertical-align: bottom; }
figure { margin: 1.5rem 0; } figure svg { max-width: 100%; height: auto;
  font-family: system-ui, sans-serif; }
figcaption { color: var(--soft); font-size: 0.85rem; }
@media print { body { font-size: 10pt; max-width: none; } table { page-break-inside: avoid; } }
"""


def as_html(title: str, blocks: Sequence[Block]) -> str:
    """Write a whole page that opens without a network."""
    body = "\n".join(_html(block) for block in blocks)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{html.escape(text)}</h{level}>"
        case Text(text):
            return f"<p>{html.escape(folded(text))}</p>"
        case Table():
            return _html_table(block)
        case Drawing(_, svg, caption):
            return f"<figure>{svg}<figcaption>{html.escape(caption)}</figcaption></figure>"


def _html_table(table: Table) -> str:
    head = "".join(
        f'<th scope="col"{_style(table, place)}>{html.escape(cell)}</th>'
        for place, cell in enumerate(table.header)
    )
    rows = "\n".join(_html_row(table, row) for row in table.rows)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{html.escape(table.caption)}">'
        f"<table><caption>{html.escape(table.caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _style(table: Table, place: int) -> str:
    return ' class="figure"' if place >= table.numbers else ""


def _html_row(table: Table, row: tuple[str, ...]) -> str:
    if len(row) == 1:
        return (
            f'<tr class="group"><th scope="rowgroup" colspan="{len(table.header)}">'
            f"{html.escape(row[0])}</th></tr>"
        )
    first, *rest = row
    cells = "".join(
        f"<td{_style(table, place)}>{html.escape(cell)}</td>" for place, cell in enumerate(rest, 1)
    )
    return f'<tr><th scope="row">{html.escape(first)}</th>{cells}</tr>'


def as_markdown(blocks: Sequence[Block], figures: str) -> str:
    """Write a page of the documentation; `figures` is the folder of its drawings."""
    return "\n\n".join(_markdown(block, figures) for block in blocks) + "\n"


def _markdown(block: Block, figures: str) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Text(text):
            return folded(text)
        case Table(caption, header, rows, numbers):
            rule = ["---" if place < numbers else "---:" for place in range(len(header))]
            full = [
                tuple(map(_plain, row))
                if len(row) > 1
                else (f"**{_plain(row[0])}**", *[""] * (len(header) - 1))
                for row in rows
            ]
            lines = [tuple(map(_plain, header)), rule, *full]
            shown = "\n".join("| " + " | ".join(line) + " |" for line in lines)
            return f"**{_plain(caption)}**\n\n{shown}"
        case Drawing(name, _, caption):
            return f"![{caption}]({figures}/{name}.svg)\n\n*{caption}*"


def folded(text: str) -> str:
    """Put a text into one line."""
    return " ".join(text.split())


def _plain(text: str) -> str:
    """Take signs for what they are, not for Markdown's."""
    return text.replace("|", "\\|").replace("*", "\\*")
