"""Blocks as Markdown, for pages of the documentation."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.pages.blocks import Block, Bullets, Code, Figure, Heading, Paragraph, Table

__all__ = ["markdown_page"]


def markdown_page(blocks: Sequence[Block], folder: str) -> str:
    """Write a page of the documentation; `folder` holds the files of its figures."""
    return "\n\n".join(_markdown(block, folder) for block in blocks) + "\n"


def _markdown(block: Block, folder: str) -> str:
    match block:
        case Heading(text, level):
            written = f"{'#' * level} {text}"
        case Paragraph():
            written = block.words
        case Bullets(items):
            written = "\n".join(f"- {item}" for item in items)
        case Code(text):
            written = f"```\n{text}```"
        case Table():
            written = _table(block)
        case Figure(_, caption, name):
            about = name.replace("-", " ")  # the caption, which everybody reads, describes it
            written = f"![{about}]({folder}/{name}.svg)\n\n*{caption}*"
        case _:
            raise TypeError(f"a {type(block).__name__} has no form in Markdown")
    return written


def _table(table: Table) -> str:
    columns = range(len(table.header))
    rule = ["---" if column in table.text_columns else "---:" for column in columns]
    rows = [[_plain(cell.text) for cell in row] for row in table.cells]
    blank = [""] * (len(table.header) - 1)
    full = [row if len(row) > 1 or not blank else [f"**{row[0]}**", *blank] for row in rows]
    lines = [[_plain(title) for title in table.header], rule, *full]
    shown = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"**{_plain(table.caption)}**\n\n{shown}"


def _plain(text: str) -> str:
    """Take signs for what they are, not for Markdown's."""
    return text.replace("|", "\\|").replace("*", "\\*")
