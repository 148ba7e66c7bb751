"""What the commands share in showing things: tables, paragraphs, JSON and progress."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from understudy.microdata.delimited import Progress

if TYPE_CHECKING:
    from understudy.synthesis.chains import Progress as RunProgress

__all__ = [
    "fitting_progress",
    "in_bytes",
    "paragraph",
    "reading_progress",
    "say",
    "say_json",
    "table",
]

WIDTH = 88


def say(text: str = "") -> None:
    """Print a line of a result."""
    print(text)  # noqa: T201


def say_json(content: Any) -> None:
    """Print a result as JSON."""
    say(json.dumps(content, indent=2, ensure_ascii=False))


def paragraph(text: str, first: str = "", rest: str = "") -> str:
    """Fold a paragraph to the width of a page."""
    return textwrap.fill(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Set a table in columns, the first ones flush left and the others flush right."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(header))]
    shown = [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([shown[0], "  ".join("-" * width for width in widths), *shown[1:]])


def in_bytes(number: float) -> str:
    """Show a number of bytes as people read it."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"


@contextmanager
def fitting_progress() -> Iterator[Callable[[RunProgress], None] | None]:
    """Show a bar on the error stream while chains run; nothing without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = ("Fitting", BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"))
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("starting", total=None)

        def show(run: RunProgress) -> None:
            worst = "" if run.rhat is None else f", R-hat so far {run.rhat:.3f}"
            said = f"sweep {run.sweep:,} of {run.n_sweeps:,}, {run.seconds_left:.0f} s left{worst}"
            bars.update(task, completed=run.sweep, total=run.n_sweeps, description=said)

        yield show


@contextmanager
def reading_progress() -> Iterator[Progress | None]:
    """Show a bar on the error stream while a large file is read; nothing without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = ("Reading", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("reading", total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
