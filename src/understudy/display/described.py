"""What a result says about itself, written once: plain text in a terminal, HTML in a notebook."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.summaries import shown, text_table
from understudy.templates import templates_in

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["Described", "Series", "sparkline"]

Series = Sequence[float | None]  # what a small line shows, in order; None leaves a gap
WIDTH, HEIGHT, MARGIN = 96, 20, 2  # pixels
MOST_POINTS = 60
TEMPLATES = Path(__file__).parent / "templates"


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
        lines = list(self.lines) + [()] * (len(self.rows) - len(self.lines))
        return _render(
            "result.html",
            title=self.title.split("\n"),
            header=[*self.header, self.lines_name] if self.lines else self.header,
            rows=[
                (row, sparkline(own) if self.lines else None)
                for row, own in zip(self.rows, lines, strict=False)
            ],
            remarks=self.remarks,
        )


def _render(template: str, **values: Any) -> Markup:
    from markupsafe import Markup

    environment = templates_in(TEMPLATES)
    environment.filters["spaced"] = _spaced
    return Markup(environment.get_template(template).render(values))  # noqa: S704  (it escapes)


def _spaced(text: str) -> Markup:
    """Keep spaces that align words, and show signs that hide."""
    from markupsafe import escape

    return escape(shown(text)).replace("  ", "\xa0 ")


def sparkline(series: Sequence[Series]) -> Markup | str:
    """Draw small lines over each other, on one scale; nothing where there are no two numbers.

    Of long series every so many numbers is shown.
    """
    lines = [_points(numbers) for numbers in series]
    numbers = [value for line in lines for _, value in line]
    if len(numbers) < 2:
        return ""
    low, high = min(numbers), max(numbers)
    span = high - low or 1.0
    points = [
        [
            (
                MARGIN + along * (WIDTH - 2 * MARGIN),
                HEIGHT - MARGIN - (value - low) / span * (HEIGHT - 2 * MARGIN),
            )
            for along, value in line
        ]
        for line in lines
    ]
    sizes = {"width": WIDTH, "height": HEIGHT, "low": low, "high": high}
    return _render("sparkline.html", lines=points, **sizes)


def _points(series: Series) -> list[tuple[float, float]]:
    """List the numbers of a series with how far along they lie, from 0 to 1; of many, some."""
    every = max(1, math.ceil(len(series) / MOST_POINTS))
    last = max(len(series) - 1, 1)
    return [
        (index / last, value)
        for index, value in enumerate(series)
        if index % every == 0 and value is not None and math.isfinite(value)
    ]
