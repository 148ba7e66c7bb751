"""Parquet files of sets, written slice by slice of the records as they are drawn.

Polars writes in a thread of its own, which waits for the next slice. Drawing stays in the study's
thread, with its workers and its limits; an interrupt waits for the slice at hand. So a few slices
are in memory at a time, beside the packed file.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Iterator
from queue import Queue
from threading import Thread

import polars as pl
from polars.io.plugins import register_io_source

from understudy.interrupts import postponed_interrupts

__all__ = ["parquet_file"]


def parquet_file(slices: Iterable[pl.DataFrame]) -> bytes:
    """Pack the slices of a table; every one but the last has as many rows as the first."""
    buffer, rest = io.BytesIO(), iter(slices)
    first, second = next(rest), next(rest, None)
    if second is None:
        first.write_parquet(buffer)
    else:
        _write(itertools.chain((first, second), rest), first, buffer)
    return buffer.getvalue()


def _write(slices: Iterable[pl.DataFrame], first: pl.DataFrame, buffer: io.BytesIO) -> None:
    """Write slices in their order, each as a row group."""
    drawn: Queue[pl.DataFrame | None] = Queue(maxsize=1)
    problems: list[BaseException] = []

    def write() -> None:
        try:
            source = register_io_source(lambda *_: _taken(drawn), schema=first.schema)
            source.sink_parquet(buffer, row_group_size=first.height, maintain_order=True)
        except BaseException as problem:  # noqa: BLE001  (also a panic; raised where sets are drawn)
            problems.append(problem)
        for _ in _taken(drawn):  # so that drawing does not wait for a writer that failed
            pass

    writer = Thread(target=write, daemon=True)
    with postponed_interrupts() as interrupts:
        writer.start()
        try:
            for part in slices:
                interrupts.raise_postponed()
                if problems:
                    break
                drawn.put(part)
        finally:
            drawn.put(None)
            writer.join()
    if problems:
        raise problems[0]


def _taken(drawn: Queue[pl.DataFrame | None]) -> Iterator[pl.DataFrame]:
    """Take slices up to the end, which stays for others: a writer that failed may still wait."""
    while (part := drawn.get()) is not None:
        yield part
    drawn.put(None)
