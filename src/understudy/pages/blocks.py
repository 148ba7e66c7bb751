"""What every page is made of: frozen blocks of words, numbers and drawings, without any markup.

`html` writes them as a page that opens offline, `markdown` as a page of the documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from understudy.summaries import number, one_in, percent, rhat_number, short, shown, whole

__all__ = [
    "AREA",
    "LAST",
    "SOLID",
    "Block",
    "Bullets",
    "Cell",
    "Code",
    "Figure",
    "Figures",
    "Fold",
    "Heading",
    "Legend",
    "Panel",
    "Panels",
    "Paragraph",
    "Picture",
    "Section",
    "Table",
    "all_tables",
    "name_cell",
    "number_cell",
    "percent_cell",
    "rate_cell",
    "rhat_cell",
    "topic",
    "yes_cell",
]

LONGEST_NAME, LONGEST_TEXT = 28, 400
AREA, SOLID = "area", "solid"  # in a legend: drawn as a pale or a full area and not as a line
LAST = "-Infinity"  # what an empty cell sorts by, as a browser reads it


@dataclass(frozen=True)
class Cell:
    """One cell of a table: what is shown, what it sorts by, the full text where it was cut."""

    text: str
    sort: float | str | None = None
    full: str | None = None
    tone: str = ""  # "pass", "review", "fail" or nothing


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the page's title."""

    text: str
    level: int = 2
    anchor: str = ""  # what links on the same page lead to


@dataclass(frozen=True)
class Paragraph:
    """Plain words. The style is "reading", "remark" or nothing."""

    text: str
    style: str = ""

    @property
    def words(self) -> str:
        """The text in one line: line breaks mean nothing."""
        return " ".join(self.text.split())


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: Sequence[str]


@dataclass(frozen=True)
class Code:
    """Lines of a program."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table with a caption. The first cell heads its row; a row of one cell heads a group.

    Attributes
    ----------
    caption : str
    header : sequence of str
        Titles of the columns.
    rows : sequence of rows of Cell or str
    text_columns : sequence of int
        Columns that hold words; the others hold numbers and are aligned to the right.
    folded : bool
        Behind a summary, where it is long.
    note : str
        Below the table.
    printed : bool
        Whether it reproduces a table that was printed elsewhere.
    file : str
        Name of the CSV file that holds it where the page is part of the documentation.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    text_columns: Sequence[int] = (0,)
    folded: bool = False
    note: str = ""
    printed: bool = False
    file: str = ""

    @property
    def cells(self) -> list[list[Cell]]:
        """The rows, every text made a cell."""
        return [
            [cell if isinstance(cell, Cell) else name_cell(cell, LONGEST_TEXT) for cell in row]
            for row in self.rows
        ]

    @property
    def sortable(self) -> bool:
        """Whether readers may want to sort it: several rows, no groups."""
        return len(self.rows) > 3 and all(len(row) == len(self.header) for row in self.rows)


@dataclass(frozen=True)
class Figure:
    """A drawing: SVG text that is safe to put into a page, a caption, a name for its file."""

    svg: str
    caption: str = ""
    name: str = ""


@dataclass(frozen=True)
class Figures:
    """Drawings side by side."""

    figures: Sequence[Figure]


@dataclass(frozen=True)
class Picture:
    """A PNG file with its caption, and what it shows for readers who cannot see it."""

    png: bytes
    caption: str
    description: str


@dataclass(frozen=True)
class Legend:
    """What lines and areas stand for: words, colour of the page, dashes, `AREA` or `SOLID`."""

    keys: Sequence[tuple[str, str, str]]


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
    keys: dict[str, float]  # what it sorts by; those listed first are shown first


@dataclass(frozen=True)
class Panels:
    """Panels with what they can be sorted by, in words."""

    name: str  # of the list, in the page
    sorts: Sequence[tuple[str, str]]
    panels: Sequence[Panel]
    legend: Legend
    shown_first: int = 8  # the others wait behind a button


@dataclass(frozen=True)
class Fold:
    """Blocks behind a summary, for readers who want to know more."""

    summary: str
    blocks: Sequence[Block]


Block = (
    Heading | Paragraph | Bullets | Code | Table | Figure | Figures | Picture | Legend | Panels
    | Fold
)  # fmt: skip


@dataclass(frozen=True)
class Section:
    """A chapter of the report."""

    key: str
    title: str
    blocks: Sequence[Block]
    short: str = ""  # title in the contents


def topic(
    reading: str,
    title: str = "",
    figures: Sequence[Figure | str | None] = (),
    tables: Sequence[Table] = (),
    remarks: Sequence[str] = (),
    legend: Legend | None = None,
    panels: Panels | None = None,
) -> list[Block]:
    """Set one topic of a section: how to read it, its drawings, its numbers.

    Of the figures, None is left out.
    """
    drawn = [Figure(svg) if isinstance(svg, str) else svg for svg in figures if svg is not None]
    blocks: list[Block] = [Heading(title, 3)] if title else []
    blocks.append(Paragraph(reading, "reading"))
    blocks += [legend] if legend else []
    blocks += [Figures(drawn)] if drawn else []
    blocks += [panels] if panels else []
    return [*blocks, *(Paragraph(remark, "remark") for remark in remarks), *tables]


def all_tables(blocks: Iterable[Block]) -> list[Table]:
    """List the tables among blocks, also those that are folded."""
    listed: list[Table] = []
    for block in blocks:
        if isinstance(block, Fold):
            listed += all_tables(block.blocks)
        elif isinstance(block, Table):
            listed.append(block)
    return listed


def name_cell(text: object, longest: int = LONGEST_NAME) -> Cell:
    """A cell with a name or level: cut where it is long, with the full text beside."""
    full, cut = shown(text), short(text, longest)
    return Cell(cut) if cut == full else Cell(cut, sort=full, full=full)


def number_cell(
    value: float | None, error: float | None = None, digits: int = 3, missing: str = "–"
) -> Cell:
    """A cell with a number."""
    if value is None:
        return Cell(missing, sort=LAST)
    exact = error is None and float(value).is_integer()
    return Cell(whole(value) if exact else number(value, error, digits), sort=value)


def rate_cell(rate: float | None, missing: str = "–") -> Cell:
    """A cell with a small share: 1 in so many."""
    return Cell(missing, sort=LAST) if rate is None else Cell(one_in(rate), sort=rate)


def rhat_cell(rhat: float | None) -> Cell:
    """A cell with an R-hat."""
    return Cell("–", sort=LAST) if rhat is None else Cell(rhat_number(rhat), sort=rhat)


def percent_cell(share: float | None) -> Cell:
    """A cell with a share."""
    return Cell("–", sort=LAST) if share is None else Cell(percent(share), sort=share)


def yes_cell(yes: bool) -> Cell:
    """Yes, or no in the colour of a fault."""
    return Cell("yes", sort=1.0) if yes else Cell("no", sort=0.0, tone="fail")
