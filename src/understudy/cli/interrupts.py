"""Stopping a long command: once cleanly, twice at once.

Ctrl-C, a request to end (SIGTERM) and the loss of the terminal (SIGHUP) stop a study after the
piece of work at hand. A second one ends the program on the spot, which does no harm: whatever is
saved is saved whole. That holds until the program has ended: a thread may still be finishing, and a
signal that comes then must not change how the program ends.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from understudy.errors import ExitCode

__all__ = ["stoppable"]

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


def _ignore(listed: list[int]) -> None:
    """Let no signal reach the last moments of a program, in which it has no handlers any more."""
    for number in listed:
        signal.signal(number, signal.SIG_IGN)


STOPPING = b"\nunderstudy: stopping after the work at hand; once more stops at once\n"
