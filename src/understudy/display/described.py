"""What a result says about itself, written once: plain text in a terminal, HTML in a notebook."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from understudy.summaries import shown, text_table

__all__ = ["Described", "Series", "sparkline"]

Series = Sequence[float | None]  # what a small line shows, in order; None leaves a gap
WIDTH, HEIGHT, MARGIN = 96, 20, 2  # pixels
MOST_POINTS = 60
CELL = 'style="text-align:{side};padding:1px 8px;font-variant-numeric:tabular-nums"'


@dataclass(frozen=True)
class Described:
    """A titled table with remarks.

    Attributes
    ----------
    title : str
        What the result is; may have several lines.
    header : sequence of str
        Names of the columns.
    rows : sequence of sequences of str
        Texts of the cells.
    remarks : sequence of str
        Sentences below the table.
    lines : sequence of (series or several of them), optional
        For every row the numbers of a small line, or of several over each other: in notebooks.
    lines_name : str
        What the small lines run over.
    """

    title: str
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    remarks: Sequence[str] = ()
    lines: Sequence[Sequence[Series]] = ()
    lines_name: str = "over the sets"

    def text(self) -> str:
        """Write plain text."""
        whole = text_table(self.title, self.header, self.rows) if self.header else self.title
        return "\n".join([whole, *self.remarks])

    def html(self) -> str:
        """Write HTML that fits any notebook, light or dark; every text is escaped."""
        title, *more = self.title.split("\n")
        parts = [f"<div><strong>{_shown(title)}</strong></div>"]
        parts += [f"<div>{_shown(line)}</div>" for line in more]
        if self.header:
            parts.append(self._table())
        parts += [f"<div><small>{_shown(remark.strip())}</small></div>" for remark in self.remarks]
        return f'<div class="understudy">{"".join(parts)}</div>'

    def _table(self) -> str:
        header = [*self.header, self.lines_name] if self.lines else self.header
        head = "".join(_cell("th", _shown(name), column) for column, name in enumerate(header))
        body = []
        for index, row in enumerate(self.rows):
            cells = [_cell("td", _shown(text), column) for column, text in enumerate(row)]
            if self.lines:
                own = self.lines[index] if index < len(self.lines) else ()
                cells.append(_cell("td", sparkline(own), 0))
            body.append(f"<tr>{''.join(cells)}</tr>")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _shown(text: str) -> str:
    return escape(shown(text)).replace("  ", "&nbsp; ")


def _cell(tag: str, content: str, column: int) -> str:
    return f"<{tag} {CELL.format(side='right' if column else 'left')}>{content}</{tag}>"


def sparkline(series: Sequence[Series]) -> str:
    """Draw small lines over each other, on one scale; nothing where there are no two numbers.

    Of long series every so many numbers is shown.
    """
    lines = [_points(numbers) for numbers in series]
    numbers = [value for line in lines for _, value in line]
    if len(numbers) < 2:
        return ""
    low, high = min(numbers), max(numbers)
    span = high - low or 1.0
    paths = []
    for line in lines:
        points = [
            f"{MARGIN + along * (WIDTH - 2 * MARGIN):.1f},"
            f"{HEIGHT - MARGIN - (value - low) / span * (HEIGHT - 2 * MARGIN):.1f}"
            for along, value in line
        ]
        paths.append(
            f'<polyline points="{" ".join(points)}" fill="none" stroke="currentColor" '
            'stroke-width="1" stroke-opacity="0.7"/>'
        )
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="from {low:.3g} to {high:.3g}">{"".join(paths)}</svg>'
    )


def _points(series: Series) -> list[tuple[float, float]]:
    """List the numbers of a series with how far along they lie, from 0 to 1; of many, some."""
    every = max(1, math.ceil(len(series) / MOST_POINTS))
    last = max(len(series) - 1, 1)
    return [
        (index / last, value)
        for index, value in enumerate(series)
        if index % every == 0 and value is not None and math.isfinite(value)
    ]
