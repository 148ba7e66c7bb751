"""Files of sets that are drawn slice by slice: all rows in order, few in memory, no waiting."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import polars as pl
import pytest

from understudy.study.parquet_file import parquet_file

module = import_module("understudy.study.parquet_file")

LEVELS = pl.Enum(["a", "b", "c"])
ROWS = 7  # of a slice


def slices(number: int, last: int = ROWS) -> Iterator[pl.DataFrame]:
    """Slices with a column of levels and one that tells their rows apart."""
    for index in range(number):
        height = last if index == number - 1 else ROWS
        rows = range(index * ROWS, index * ROWS + height)
        levels = pl.Series("level", [None if row % 5 == 0 else "abc"[row % 3] for row in rows])
        yield pl.DataFrame({"level": levels.cast(LEVELS), "row": list(rows)})


def drawing_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if "write" in thread.name]


@pytest.mark.parametrize(("number", "last"), [(1, 7), (2, 1), (2, 7), (9, 3)])
def test_all_rows_are_written_in_order(number: int, last: int) -> None:
    """With their types, each slice as a row group, and again with the same bytes."""
    content = parquet_file(slices(number, last))
    assert pl.read_parquet(io.BytesIO(content)).equals(pl.concat(slices(number, last)))
    assert pl.read_parquet(io.BytesIO(content)).schema["level"] == LEVELS
    assert parquet_file(slices(number, last)) == content


def test_a_set_of_one_slice_has_the_bytes_it_always_had() -> None:
    buffer = io.BytesIO()
    next(slices(1)).write_parquet(buffer)
    assert parquet_file(slices(1)) == buffer.getvalue()


def test_few_slices_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """One waits for the writer and one is being handed over; else a set would be there whole."""
    drawn: list[int] = []
    ahead: list[int] = []

    class Writer:
        def __init__(self, given: Any) -> None:
            self.given = given

        def sink_parquet(self, *_: object, **__: object) -> None:
            for taken, _ in enumerate(self.given(), start=1):
                time.sleep(0.01)
                ahead.append(len(drawn) - taken)

    monkeypatch.setattr(module, "register_io_source", lambda given, **_: Writer(given))
    parquet_file(drawn.append(index) or part for index, part in enumerate(slices(20)))  # type: ignore[func-returns-value]
    assert len(drawn) == len(ahead) == 20
    assert max(ahead) <= 3


def test_what_goes_wrong_while_drawing_comes_out() -> None:
    """Also an interrupt; and the thread that writes has ended."""

    def broken(problem: type[BaseException]) -> Iterator[pl.DataFrame]:
        yield from slices(3)
        raise problem

    for problem in (KeyboardInterrupt, MemoryError):
        with pytest.raises(problem):
            parquet_file(broken(problem))
        assert not drawing_threads()


def test_what_goes_wrong_while_writing_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing ends: nobody waits for a writer that is gone."""

    def refused(*_: object, **__: object) -> pl.LazyFrame:
        raise OSError("no room")

    monkeypatch.setattr(module, "register_io_source", refused)
    with pytest.raises(OSError, match="no room"):
        parquet_file(slices(5))
    assert not drawing_threads()
