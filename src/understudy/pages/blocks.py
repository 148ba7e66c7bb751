"""What the template sees: sections made of blocks, blocks made of figures and tables. No HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy.summaries import number, percent, rhat_number, short, shown, whole

__all__ = [
    "AREA",
    "Block",
    "Cell",
    "Column",
    "Figure",
    "Panel",
    "Panels",
    "Section",
    "Table",
    "name_cell",
    "number_cell",
    "percent_cell",
    "rhat_cell",
    "text_cell",
    "yes_cell",
]

LONGEST = 28
AREA = "area"  # in a legend: drawn as an area and not as a line


@dataclass(frozen=True)
class Cell:
    """One cell of a table: what is shown, what it sorts by, the full text where it was cut."""

    text: str
    sort: float | str | None = None
    full: str | None = None
    tone: str = ""  # "pass", "review", "fail" or nothing


@dataclass(frozen=True)
class Column:
    """A column's heading; numbers stand to the right."""

    title: str
    numeric: bool = True
    explained: str = ""


@dataclass(frozen=True)
class Table:
    """A table with a caption; the first cell of a row is its header."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    folded: bool = False  # behind a summary, where it is long
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """One drawing: SVG text that is safe to put into a page, and a line under it."""

    svg: str
    caption: str = ""


@dataclass(frozen=True)
class Panel:
    """One panel that the reader can pick and sort."""

    title: str
    full: str
    svg: str
    small: bool
    numbers: Table
    records: str
    facts: str
    keys: dict[str, float]  # what it sorts by


@dataclass(frozen=True)
class Panels:
    """Panels with what they can be sorted by, in words."""

    sorts: Sequence[tuple[str, str]]
    panels: Sequence[Panel]
    legend: Sequence[tuple[str, str, str]]  # words, colour of the page, dashes or AREA


@dataclass(frozen=True)
class Block:
    """Part of a section: how to read it, its drawings, its numbers."""

    reading: str
    title: str = ""
    figures: Sequence[Figure] = ()
    panels: Panels | None = None
    tables: Sequence[Table] = ()
    legend: Sequence[tuple[str, str, str]] = ()  # words, colour of the page, dashes or AREA
    remarks: Sequence[str] = ()
    affected: Sequence[str] = ()  # synthesizers in it that have not converged


@dataclass(frozen=True)
class Section:
    """A chapter of the page."""

    key: str
    title: str
    blocks: Sequence[Block]
    lead: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


def text_cell(text: object, tone: str = "", longest: int = 400) -> Cell:
    """A cell with words."""
    full = shown(text)
    cut = short(text, longest)
    return Cell(cut, sort=full, full=full if cut != full else None, tone=tone)


def name_cell(text: object, longest: int = LONGEST) -> Cell:
    """A cell with a name or level: cut where it is long, with the full text beside."""
    return text_cell(text, longest=longest)


def number_cell(
    value: float | None, error: float | None = None, digits: int = 3, missing: str = "–"
) -> Cell:
    """A cell with a number."""
    if value is None:
        return Cell(missing, sort=float("-inf"))
    text = (
        whole(value)
        if error is None and float(value).is_integer()
        else number(value, error, digits)
    )
    return Cell(text, sort=value)


def rhat_cell(rhat: float | None) -> Cell:
    """A cell with an R-hat."""
    return Cell("–", sort=float("-inf")) if rhat is None else Cell(rhat_number(rhat), sort=rhat)


def percent_cell(share: float | None) -> Cell:
    """A cell with a share."""
    return Cell("–", sort=float("-inf")) if share is None else Cell(percent(share), sort=share)


def yes_cell(yes: bool) -> Cell:
    """Yes, or no in the colour of a fault."""
    return Cell("yes", sort=1.0) if yes else Cell("no", sort=0.0, tone="fail")
