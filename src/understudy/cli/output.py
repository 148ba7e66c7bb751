"""What the commands share in showing things: tables, paragraphs, JSON and progress."""

from __future__ import annotations

import json
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from understudy.errors import ExitCode, visible
from understudy.microdata.csv_reader import Progress
from understudy.study.progress import StudyProgress, Tell, while_reading
from understudy.summaries import aligned
from understudy.work_done import telling

__all__ = [
    "in_time",
    "measuring_progress",
    "paragraph",
    "progress_line",
    "reading_progress",
    "say",
    "say_aside",
    "say_interrupted",
    "say_json",
    "study_progress",
    "table",
]

WIDTH = 88
SECONDS_BETWEEN_LINES = 30.0  # of progress, where there is no terminal


def say(text: str = "") -> None:
    """Print lines of a result; what a terminal would obey, such as in a path, as its escape."""
    lines = ("".join(map(visible, line)) for line in text.split("\n"))
    print("\n".join(lines))  # noqa: T201


def say_aside(text: str) -> None:
    """Print a line beside the results, on the error stream."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def say_interrupted() -> ExitCode:
    """Tell the user of a run that was stopped how it goes on, and give the exit code."""
    say_aside(
        "understudy: Interrupted. What was finished is saved; the same command goes on from there "
        "and ends with the same result."
    )
    return ExitCode.INTERRUPTED


def say_json(content: Any) -> None:
    """Print a result as JSON."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    unseen = {character for character in set(text) if visible(character) != character} - {"\n"}
    print(text.translate({ord(character): json.dumps(character)[1:-1] for character in unseen}))  # noqa: T201


def paragraph(text: str, first: str = "", rest: str = "") -> str:
    """Fold a paragraph to the width of a page; a number and its per cent stay on one line."""
    folded = textwrap.fill(
        text.replace(" %", "\N{NO-BREAK SPACE}%"),
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
    )
    return folded.replace("\N{NO-BREAK SPACE}%", " %")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Set a table with a rule below its header, columns as in `aligned`."""
    rule = ["-" * max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return "\n".join(aligned([header, rule, *rows], left))


def in_time(seconds: float) -> str:
    """Show how long something takes, no finer than anybody needs."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def study_progress() -> Iterator[Tell]:
    """Show on the error stream how far a study is: bars, or lines where there is no terminal."""
    if not sys.stderr.isatty():
        with _progress_lines() as show:
            yield show
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        whole = bars.add_task("Study", total=None, left="")
        part = bars.add_task("starting", total=None, left="")

        def show(now: StudyProgress) -> None:
            done = now.step - 1 + (now.share or 0.0)
            text = f"step {now.step} of {now.steps}, {_left(now.study_seconds_left)}".rstrip(", ")
            if now.steps:
                bars.update(whole, completed=done, total=now.steps, left=text)
            text = ", ".join(filter(None, [_left(now.seconds_left), now.remark]))
            total = None if now.share is None else 1.0
            bars.update(
                part, description=now.words, completed=now.share or 0.0, total=total, left=text
            )

        yield show


@contextmanager
def _progress_lines() -> Iterator[Tell]:
    """Print a line now and then, so that the log of a batch job shows that it is alive."""
    begin, ended = time.monotonic(), threading.Event()
    latest: list[StudyProgress] = []

    def print_lines() -> None:
        while not ended.wait(SECONDS_BETWEEN_LINES):
            if latest:
                with suppress(OSError, ValueError):  # nobody reads; that ends no study
                    say_aside(progress_line(latest[-1], time.monotonic() - begin))

    def remember(now: StudyProgress) -> None:
        latest[:] = [now]

    printer = threading.Thread(target=print_lines, name="progress", daemon=True)
    printer.start()
    try:
        yield remember
    finally:
        ended.set()
        printer.join(1.0)


def progress_line(now: StudyProgress, seconds: float) -> str:
    """Say in a line how far a study is, so many seconds after its start."""
    step = f"step {now.step} of {now.steps}: " if now.steps else ""
    share = "" if now.share is None else f"{100 * now.share:.0f} %"
    left = _left(now.study_seconds_left) or _left(now.seconds_left, " of this part")
    facts = ", ".join(filter(None, [f"{step}{now.words}", share, now.remark, left]))
    return f"understudy, after {_elapsed(seconds)}: {facts}"


def _elapsed(seconds: float) -> str:
    """Show a time by the half minute, as far apart as the lines are."""
    return in_time(seconds) if seconds < 90 or seconds > 3600 else f"{seconds / 60:.1f} min"


def _left(seconds: float | None, of: str = "") -> str:
    return "" if seconds is None else f"about {in_time(seconds)} left{of}"


@contextmanager
def measuring_progress(words: str) -> Iterator[None]:
    """Show how much of what is measured in this block is done, as `study_progress` does."""
    begin = time.monotonic()
    with study_progress() as show:

        def tell(share: float) -> None:
            left = (time.monotonic() - begin) * (1.0 - share) / max(share, 1e-6)
            show(StudyProgress(words, 0, 0, share, left, left))

        show(StudyProgress(words, 0, 0, None, None, None))
        with telling(tell):
            yield


@contextmanager
def reading_progress() -> Iterator[Progress | None]:
    """Show on the error stream how much of a file is read: a bar, or lines without a terminal."""
    if not sys.stderr.isatty():
        with _progress_lines() as tell:
            yield while_reading(tell)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = ("Reading", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("reading", total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
