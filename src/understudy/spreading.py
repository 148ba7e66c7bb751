"""Independent tasks, done here or on workers, whichever the caller has.

It lies below everything that has such tasks, so that reading a file need not know how workers are
found (`synthesis.workers`). Answers come in the order of the tasks, whoever computed them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

from understudy.work_done import in_parts

__all__ = ["TaskRunner", "in_order", "spread_by"]

Answer = TypeVar("Answer")


class TaskRunner(Protocol):
    """Does tasks elsewhere: takes a function of a module and its arguments, gives the answers."""

    def __call__(
        self, function: Callable[..., Any], tasks: Sequence[Any], /, *shared: Any
    ) -> Iterator[Any]:
        """Give the answers in the order of the tasks; what is shared is sent once."""
        ...


_RUNNER: ContextVar[TaskRunner | None] = ContextVar("runner", default=None)


def in_order(
    function: Callable[..., Answer], tasks: Sequence[Any], *shared: Any
) -> Iterator[Answer]:
    """Apply a function to every task, and give the answers one by one.

    The function is one of a module; it gets a task and what all tasks share. Both travel to the
    workers where there are any, the shared values once: also for later calls that share them. A
    single task is done here.
    """
    run = _RUNNER.get()
    if run is None or len(tasks) == 1:
        return in_parts((function(task, *shared) for task in tasks), len(tasks))
    return in_parts(run(function, tasks, *shared), len(tasks))


@contextmanager
def spread_by(run: TaskRunner) -> Iterator[None]:
    """Do tasks elsewhere, inside of this block."""
    token = _RUNNER.set(run)
    try:
        yield
    finally:
        _RUNNER.reset(token)
