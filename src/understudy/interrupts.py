"""Stopping long work: once cleanly, twice at once.

Ctrl-C, a request to end (SIGTERM) and the loss of the terminal (SIGHUP) stop a study after the
piece of work at hand. A second one ends the program on the spot, which does no harm: whatever is
saved is saved whole. That holds until the program has ended: a thread may still be finishing, and a
signal that comes then must not change how the program ends.

Work that waits for threads postpones the interruption to a moment of its own choice. The locks of
Python's thread pools are taken in several steps; an interruption between two of them would leave a
lock that nobody gives back, and the program would wait for its own threads forever.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from understudy.errors import ExitCode

__all__ = ["PostponedInterrupts", "postponed_interrupts", "stoppable"]

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def stoppable() -> Iterator[None]:
    """Let the first signal raise KeyboardInterrupt, and the second end the program.

    Signals are left as they were, unless one came: then the program is about to end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stopped = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        if stopped:
            os._exit(ExitCode.INTERRUPTED)
        stopped = True
        with suppress(OSError):  # the terminal may be gone
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, STOPPING)
        raise KeyboardInterrupt

    listed = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    before = {number: signal.signal(number, stop) for number in listed}
    try:
        yield
    finally:
        if stopped:
            atexit.register(_ignore, listed)
        else:
            for number, handler in before.items():
                signal.signal(number, handler)


class PostponedInterrupts:
    """Whether an interruption came, and the place where it may be raised."""

    def __init__(self) -> None:
        self._came = False

    def postponing(self, handler: Any) -> Callable[[int, FrameType | None], None]:
        """Let a handler of a signal do its work now, and raise what it raises later."""

        def handle(number: int, frame: FrameType | None) -> None:
            try:
                handler(number, frame)
            except KeyboardInterrupt:
                self._came = True

        return handle

    def raise_postponed(self) -> None:
        """Raise the interruption that came, if one did."""
        if self._came:
            self._came = False
            raise KeyboardInterrupt


@contextmanager
def postponed_interrupts() -> Iterator[PostponedInterrupts]:
    """Raise no KeyboardInterrupt but where `raise_postponed` is called, and at the end.

    Handlers do the rest of their work at once: a second signal still ends the program.
    """
    postponed = PostponedInterrupts()
    if threading.current_thread() is not threading.main_thread():
        yield postponed
        return
    listed = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in listed}
    try:
        for number, handler in before.items():
            if callable(handler):
                signal.signal(number, postponed.postponing(handler))
        yield postponed
    finally:
        for number, handler in before.items():
            if callable(handler):
                signal.signal(number, handler)
    postponed.raise_postponed()


def _ignore(listed: list[int]) -> None:
    """Let no signal reach the last moments of a program, in which it has no handlers any more."""
    for number in listed:
        signal.signal(number, signal.SIG_IGN)


STOPPING = b"\nunderstudy: stopping after the work at hand; once more stops at once\n"
