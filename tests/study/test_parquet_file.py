"""Files of sets that are drawn slice by slice: all rows in order, few in memory, no waiting."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import polars as pl
import pyarrow.parquet as pq
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
    assert pq.ParquetFile(io.BytesIO(content)).num_row_groups == number
    assert parquet_file(slices(number, last)) == content


WRITING = """
import hashlib
import polars as pl
from understudy.study.parquet_file import parquet_file
rows = pl.int_range(150_000, eager=True)
parts = [pl.DataFrame({"a": rows * step % 499, "b": rows % (3 + step)}) for step in range(5)]
print(pl.thread_pool_size(), hashlib.blake2b(parquet_file(parts)).hexdigest())
"""


def test_the_bytes_do_not_depend_on_the_threads_that_write() -> None:
    digests = set()
    for threads in ("1", "3"):
        said = subprocess.run(
            [sys.executable, "-c", WRITING],
            env={**os.environ, "POLARS_MAX_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        assert said[0] == threads
        digests.add(said[1])
    assert len(digests) == 1


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
    parquet_file(_listed(slices(20), drawn))
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


class Panic(BaseException):
    """As Polars' own, which is no `Exception`."""


@pytest.mark.parametrize("problem", [OSError, Panic])
def test_what_goes_wrong_while_writing_comes_out(
    problem: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawing ends: nobody waits for a writer that is gone, or draws for it."""
    drawn: list[int] = []

    def refused(*_: object, **__: object) -> pl.LazyFrame:
        raise problem("no room")

    monkeypatch.setattr(module, "register_io_source", refused)
    with pytest.raises(problem, match="no room"):
        parquet_file(_listed(slices(50), drawn))
    assert len(drawn) <= 3
    assert not drawing_threads()


def test_a_writer_that_fails_may_still_wait_for_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars reads in threads of its own, which end with the slices."""
    readers: list[threading.Thread] = []

    class Writer:
        def __init__(self, given: Any) -> None:
            self.given = given

        def sink_parquet(self, *_: object, **__: object) -> None:
            readers.append(threading.Thread(target=lambda: list(self.given()), daemon=True))
            readers[0].start()
            raise OSError("no room")

    monkeypatch.setattr(module, "register_io_source", lambda given, **_: Writer(given))
    with pytest.raises(OSError, match="no room"):
        parquet_file(slices(50))
    readers[0].join(60.0)
    assert not readers[0].is_alive()
    assert not drawing_threads()


def test_interrupts_at_any_instant_leave_no_thread_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests in the background may have SIGINT ignored."""

    class Writer:
        def __init__(self, given: Any) -> None:
            self.given = given

        def sink_parquet(self, *_: object, **__: object) -> None:
            for _part in self.given():
                for _time in range(9):  # one while a slice is handed over, others while the end is
                    signal.pthread_kill(main, signal.SIGINT)
                    time.sleep(0.001)

    main = threading.main_thread().ident or 0
    monkeypatch.setattr(module, "register_io_source", lambda given, **_: Writer(given))
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            parquet_file(slices(1000))
    finally:
        signal.signal(signal.SIGINT, outside)
    assert not drawing_threads()


def _listed(parts: Iterator[pl.DataFrame], drawn: list[int]) -> Iterator[pl.DataFrame]:
    for number, part in enumerate(parts):
        drawn.append(number)
        yield part
