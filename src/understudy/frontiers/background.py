"""Points that are measured in threads while the next is fitted.

They are saved by the thread that starts them, in the order in which they were started.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from understudy.interrupts import postponed_interrupts
from understudy.memory import given_memory, memory_limit

__all__ = ["Background"]


class Background:
    """Work behind the fits, some of it side by side.

    Parameters
    ----------
    most : int
        Pieces of work that may be under way together.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._under_way: list[_Work] = []

    def __enter__(self) -> Self:
        """Start with nothing under way."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for all that is under way, and save it."""
        try:
            while self._under_way:
                self._finish_first()
        finally:
            for work in self._under_way:  # beside one that failed
                work.wait()

    def start(self, compute: Callable[[], Any], save: Callable[[Any], None]) -> None:
        """Start a piece of work, as soon as a worker is free; `save` takes what it gives.

        What is finished by then is saved first, so that little is lost if the program is killed.
        """
        while self._under_way and (
            len(self._under_way) >= self._most or self._under_way[0].is_finished
        ):
            self._finish_first()
        self._under_way.append(_Work(compute, save))

    def _finish_first(self) -> None:
        first = self._under_way.pop(0)
        first.save(first.result())


class _Work:
    """A piece of work in a thread of its own."""

    def __init__(self, compute: Callable[[], Any], save: Callable[[Any], None]) -> None:
        self.save = save
        self._made: Any = None
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._work, args=(compute, given_memory()))
        self._thread.start()

    def _work(self, compute: Callable[[], Any], memory: int | None) -> None:
        try:
            with memory_limit(memory):  # a thread begins without that of its parent
                self._made = compute()
        except BaseException as problem:  # noqa: BLE001  (raised where the result is taken)
            self._problem = problem

    @property
    def is_finished(self) -> bool:
        """Whether its result, or its problem, is there."""
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Let it end."""
        with postponed_interrupts():
            self._thread.join()

    def result(self) -> Any:
        """Wait for it, and give what it made."""
        self.wait()
        if self._problem is not None:
            raise self._problem
        return self._made
