"""A progress bar wherever somebody looks: one line in a terminal, one line in a notebook.

Nothing is shown where there is neither: a batch job's log is not the place for it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

__all__ = ["Show", "progress_bar"]

Show = Callable[[float, float | None, str], None]  # share done, seconds left, a remark
WIDTH = 24  # characters of the bar
SECONDS_BETWEEN = 0.2  # updates of the line


@contextmanager
def progress_bar(words: str) -> Iterator[Show | None]:
    """Show how far something is, in a notebook or a terminal; gives None where there is neither."""
    write = _notebook_line() or _terminal_line()
    if write is None:
        yield None
        return
    last = -SECONDS_BETWEEN

    def show(share: float, seconds_left: float | None, remark: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN or share >= 1:
            last = now
            write(_line(words, min(max(share, 0.0), 1.0), seconds_left, remark))

    write(_line(words, 0.0, None, ""))
    try:
        yield show
    finally:
        write("")


def _line(words: str, share: float, seconds_left: float | None, remark: str) -> str:
    full = round(WIDTH * share)
    parts = [f"{words} {'█' * full}{'░' * (WIDTH - full)} {share:.0%}"]
    if seconds_left is not None and share < 1:
        minutes, seconds = divmod(round(seconds_left), 60)
        parts.append(f"{minutes}:{seconds:02d} left")
    return ", ".join(filter(None, [*parts, remark]))


def _terminal_line() -> Callable[[str], None] | None:
    """Give a function that overwrites the current line of the terminal; none without one."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        return None
    shown = 0

    def write(line: str) -> None:
        nonlocal shown
        text = line.encode(stream.encoding or "ascii", "replace").decode(stream.encoding or "ascii")
        stream.write("\r" + text.ljust(shown) + ("" if line else "\r"))
        stream.flush()
        shown = len(text)

    return write


def _notebook_line() -> Callable[[str], None] | None:
    """Give a function that rewrites one line of a notebook; none outside of one."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, display

    handle: Any = display(HTML(""), display_id=True)

    def write(line: str) -> None:
        handle.update(HTML(f"<code>{escape(line)}</code>" if line else ""))

    return write
