"""How much of long work is done, told by whoever does it to whoever asked.

Measures are called by measures, so nobody hands a function down: the share is told in a context.
Work says into how many parts it falls (`Parts`, `in_parts`), and a part may fall into parts of its
own. Nothing is told where nobody asked, on other threads or in other processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

__all__ = ["Parts", "in_parts", "telling"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class Span(NamedTuple):
    """The part of all work that is being done, from a share of it to a share of it."""

    tell: Callable[[float], None]
    start: float = 0.0
    end: float = 1.0

    def part(self, start: float, end: float) -> Span:
        """Give a part of it, from a share of this part to a share of this part."""
        length = self.end - self.start
        return Span(self.tell, self.start + start * length, self.start + end * length)


_SPAN: ContextVar[Span | None] = ContextVar("span", default=None)


@contextmanager
def telling(tell: Callable[[float], None] | None) -> Iterator[None]:
    """Let work in this block tell the share of it that is done, from 0 to 1; it never falls."""
    if tell is None:
        yield
        return
    most = 0.0

    def told(share: float) -> None:
        nonlocal most
        if share > most:
            most = share
            tell(min(share, 1.0))

    with _doing(Span(told)):
        yield


@contextmanager
def _doing(span: Span) -> Iterator[None]:
    token = _SPAN.set(span)
    try:
        yield
    finally:
        _SPAN.reset(token)


class Parts:
    """Work in parts, one after another: each call ends a part, and gives its result back.

    Parameters
    ----------
    lengths : float
        How long each part takes, beside the others.

    Examples
    --------
    >>> from understudy.work_done import Parts, telling
    >>> with telling(print):
    ...     done = Parts(1, 3)
    ...     first = done(sum([1, 2]))
    ...     second = done(sum([first, 3]))
    0.25
    1.0
    """

    def __init__(self, *lengths: float) -> None:
        self._whole = _SPAN.get()
        self._lengths, self._all, self._before = list(lengths), sum(lengths) or 1.0, 0.0
        self._go_on()

    def _go_on(self) -> None:
        if self._whole is not None:
            last = self._before + sum(self._lengths[:1])
            part = self._whole.part(self._before / self._all, last / self._all)
            _SPAN.set(part if self._lengths else self._whole)

    def __call__(self, result: Result) -> Result:
        """End a part, which has given this."""
        if self._whole is not None:
            self._before += self._lengths.pop(0)
            self._whole.tell(self._whole.part(0.0, self._before / self._all).end)
            self._go_on()
        return result


def in_parts(items: Iterable[Item], number: int) -> Iterator[Item]:
    """Give items that are computed as they are asked for, and tell how many of them are done."""
    whole, source = _SPAN.get(), iter(items)
    for index in range(number):
        if whole is None:
            yield from source
            return
        part = whole.part(index / number, (index + 1) / number)
        with _doing(part):
            try:
                item = next(source)
            except StopIteration:
                return
        whole.tell(part.end)
        yield item
