"""Texts become codes, records become rows of a table of distinct combinations.

This is the first of the three ideas that keep the program small: distinct combinations are the
data. Every reader, whatever its file format, returns a `CodedTable`; from there on cost grows with
the number of distinct combinations, not with the number of records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures.thread import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.interrupts import postponed_interrupts
from understudy.memory import check_fits
from understudy.microdata import scanning
from understudy.microdata.variable import Kind

__all__ = [
    "Backend",
    "CodedColumn",
    "CodedTable",
    "CombinationStore",
    "LevelStore",
    "OpenTable",
    "count_codes",
    "regroup",
    "with_missing_last",
    "with_whole_numbers",
]

Backend = Literal["polars", "pandas", "pyarrow"]
Codes = NDArray[np.int32]
PIECE = 1 << 15
DENSE = 4  # cells for each row up to which rows are numbered by index
Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, repr=False)
class CodedColumn:
    """One column of a source: its distinct values as text, in order of first appearance.

    Attributes
    ----------
    name : str
        As in the source.
    levels : tuple of (str or None)
        The distinct values; None stands for a value that is missing in the source.
    kind : {"text", "integer", "real", "boolean"}
        How the source stores the column; text tables store text.
    labels : mapping of str to str
        Value labels that the source carries, by level.
    declared : tuple of str, optional
        All levels that the source declares for the column, observed or not, in its order.
    """

    name: str
    levels: tuple[str | None, ...]
    kind: Kind = "text"
    labels: Mapping[str, str] = field(default_factory=dict)
    declared: tuple[str, ...] | None = None


@dataclass(frozen=True, repr=False)
class CodedTable:
    """What every reader returns: distinct combinations with counts, and each record's row."""

    columns: tuple[CodedColumn, ...]
    codes: Codes  # (combination, column)
    counts: NDArray[np.int64]  # (combination,)
    of_record: Codes  # (record,) row in `codes`

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def level_counts(self) -> list[NDArray[np.int64]]:
        """Count the records of each level, column by column, from the combinations alone."""
        return [
            np.bincount(codes, weights=self.counts, minlength=len(column.levels)).astype(np.int64)
            for codes, column in zip(self.codes.T, self.columns, strict=True)
        ]

    def select(self, names: Sequence[str]) -> CodedTable:
        """Leave out all columns but these; rows may then repeat."""
        index_of = {name: index for index, name in enumerate(self.names)}
        indices = [index_of[name] for name in names]
        columns = tuple(self.columns[index] for index in indices)
        return CodedTable(columns, self.codes[:, indices], self.counts, self.of_record)

    def only(self, wanted: NDArray[np.bool_]) -> CodedTable:
        """Leave out the records of all combinations but the wanted ones (combination,)."""
        new_row = (np.cumsum(wanted) - 1).astype(np.int32)
        of_record = new_row[self.of_record[wanted[self.of_record]]]
        return CodedTable(self.columns, self.codes[wanted], self.counts[wanted], of_record)


@dataclass(frozen=True, repr=False)
class OpenTable:
    """A source that is open: its columns are known, its records can be read."""

    names: tuple[str, ...]
    read: Callable[[Sequence[str]], CodedTable]
    backend: Backend = "polars"
    ordered: frozenset[str] = frozenset()
    descriptions: Mapping[str, str] = field(default_factory=dict)
    doubtful_names: bool = False  # whether the names may be the values of a record
    values: Callable[[Sequence[str]], pl.DataFrame] | None = None  # columns as they are


class LevelStore:
    """The levels of all columns of a text table, in the arrays that the scanning kernel fills."""

    def __init__(self, n_columns: int) -> None:
        self.counters = np.zeros(scanning.N_COUNTERS, dtype=np.int64)
        self.levels = scanning.Levels(
            slots=np.full(16, -1, dtype=np.int32),
            hashes=np.zeros(0, dtype=np.uint64),
            columns=np.zeros(0, dtype=np.int32),
            codes=np.zeros(0, dtype=np.int32),
            starts=np.zeros(0, dtype=np.int64),
            lengths=np.zeros(0, dtype=np.int32),
            text=np.zeros(0, dtype=np.uint8),
            per_column=np.zeros(n_columns, dtype=np.int32),
        )

    def reserve(self, new_levels: int, new_bytes: int) -> None:
        """Make sure that this many further levels and bytes of text fit without growing."""
        old = self.levels
        used_levels = int(self.counters[scanning.USED_LEVELS])
        used_bytes = int(self.counters[scanning.USED_BYTES])
        size = _grown(old.hashes.size, used_levels + new_levels)
        per_level = ("hashes", "columns", "codes", "starts", "lengths")
        grown = old._replace(
            **{name: _longer(getattr(old, name), size) for name in per_level},
            text=_longer(old.text, _grown(old.text.size, used_bytes + new_bytes)),
        )
        n_slots = _slots_for(size)
        if n_slots > old.slots.size:
            slots = np.full(n_slots, -1, dtype=np.int32)
            scanning.enter_levels(slots, grown.hashes, grown.columns, used_levels)
            grown = grown._replace(slots=slots)
        self.levels = grown

    def texts(self) -> list[tuple[str | None, ...]]:
        """List the levels of every column in order of their codes; None for empty fields."""
        used = int(self.counters[scanning.USED_LEVELS])
        text = self.levels.text[: int(self.counters[scanning.USED_BYTES])].tobytes()
        columns: list[list[str | None]] = [[] for _ in self.levels.per_column]
        arrays = (self.levels.columns, self.levels.starts, self.levels.lengths)
        rows = np.stack([array[:used] for array in arrays], axis=1)  # (level, array)
        for column, start, length in rows.tolist():
            is_empty = length == scanning.EMPTY_FIELD
            field_text = None if is_empty else text[start : start + length].decode("utf-8")
            columns[column].append(field_text)
        return [tuple(levels) for levels in columns]


class CombinationStore:
    """The distinct rows of codes met so far, and which of them each record has."""

    def __init__(self, n_columns: int) -> None:
        self._slots = np.full(16, -1, dtype=np.int32)
        self._codes: Codes = np.zeros((0, n_columns), dtype=np.int32)  # (combination, column)
        self._counts = np.zeros(0, dtype=np.int64)  # (combination,)
        self._size = 0
        self.n_columns = n_columns
        self._of_record: list[Codes] = []

    def add(self, codes: Codes, n_rows: int) -> None:
        """Count the first rows of an array of codes with axes (record, column)."""
        self._of_record.append(self._counted(codes, n_rows))

    def add_counted(self, codes: Codes, counts: NDArray[np.int64], of_record: Codes) -> None:
        """Add distinct rows of codes, int32 (row, column), that were counted elsewhere."""
        row = self._counted(codes, len(codes))  # (row,) each once, so that counts can be added
        self._counts[row] += counts - 1
        self._of_record.append(row[of_record])

    def _counted(self, codes: Codes, n_rows: int) -> Codes:
        """Count rows, and give each the number of its combination."""
        of_row = np.empty(n_rows, dtype=np.int32)
        # Piece by piece: each call needs space for as many new combinations as it has rows, and a
        # small table stays in the processor's cache.
        for start in range(0, n_rows, PIECE):
            size = min(PIECE, n_rows - start)
            self._reserve(size)
            self._size = scanning.count_rows(
                codes[start:], size, self._slots, self._codes, self._counts, self._size,
                of_row[start:],
            )  # fmt: skip
        return of_row

    def table(self, columns: Sequence[CodedColumn]) -> CodedTable:
        """Return what was counted."""
        return CodedTable(
            columns=tuple(columns),
            codes=self._codes[: self._size].copy(),
            counts=self._counts[: self._size].copy(),
            of_record=np.concatenate([np.zeros(0, dtype=np.int32), *self._of_record]),
        )

    def _reserve(self, new_rows: int) -> None:
        size = _grown(self._counts.size, self._size + new_rows)
        if size > self._counts.size:
            n_bytes = 4 * self.n_columns + 16  # bytes of a combination, slots included
            check_fits(
                f"{self._size:,} distinct combinations of {self.n_columns} columns so far",
                n_bytes * (size + self._counts.size),
                "keep fewer or coarser variables",
            )
            codes = np.zeros((size, self._codes.shape[1]), dtype=np.int32)
            codes[: self._size] = self._codes[: self._size]
            self._codes = codes
            self._counts = _longer(self._counts, size)
        n_slots = _slots_for(size)
        if n_slots > self._slots.size:
            self._slots = np.full(n_slots, -1, dtype=np.int32)
            scanning.enter_rows(self._slots, self._codes, self._size)


def count_codes(
    batches: Iterable[NDArray[np.uint32]],
    n_columns: int,
    columns: Callable[[], Sequence[CodedColumn]],
) -> CodedTable:
    """Count the combinations in arrays of codes (record, column) that come one after another.

    The columns are asked for at the end; the last level of each is None, and the largest code
    stands for it. Numbers stay as they are stored; see `with_whole_numbers`.
    """
    combinations = CombinationStore(n_columns)
    count = copy_context().run  # with the caller's limit of memory
    # One batch is counted while the next is read.
    with postponed_interrupts() as interrupts, ThreadPoolExecutor(1) as counting:
        counted = None
        for batch in batches:
            interrupts.raise_postponed()
            if counted is not None:
                counted.result()
            codes = batch.view(np.int32)
            counted = counting.submit(count, combinations.add, codes, len(batch))
        if counted is not None:
            counted.result()
    return with_missing_last(combinations.table(columns()))


def with_missing_last(table: CodedTable) -> CodedTable:
    """Let the last level of each column, which is None, stand for the codes below zero."""
    for codes, column in zip(table.codes.T, table.columns, strict=True):
        codes[codes < 0] = len(column.levels) - 1
    return table


def with_whole_numbers(table: CodedTable) -> CodedTable:
    """Turn columns of whole numbers that are stored as floating-point numbers into codes."""
    return replace(table, columns=tuple(_whole(column) for column in table.columns))


def _whole(column: CodedColumn) -> CodedColumn:
    if column.kind != "real":
        return column
    numbers = [None if level is None else float(level) for level in column.levels]
    if not all(number is None or number.is_integer() for number in numbers):
        return column
    levels = tuple(None if number is None else str(int(number)) for number in numbers)
    return replace(column, levels=levels, kind="integer")


def _grown(size: int, needed: int) -> int:
    """Next size of an array that must hold `needed` items, grown by half to stay linear."""
    return size if needed <= size else max(needed, size + size // 2, 1024)


def _longer(array: NDArray[Scalar], size: int) -> NDArray[Scalar]:
    if size <= array.size:
        return array
    longer = np.zeros(size, dtype=array.dtype)
    longer[: array.size] = array
    return longer


def _slots_for(n_entries: int) -> int:
    """Number of slots, a power of two, that keeps the table at most half full."""
    return 1 << max(4, (2 * n_entries - 1).bit_length())


def regroup(
    codes: Codes, counts: NDArray[np.int64], of_record: Codes, n_levels: Sequence[int]
) -> tuple[Codes, NDArray[np.int64], Codes]:
    """Merge equal rows of codes and put the distinct ones into lexicographic order.

    Takes and gives codes (row, column), the records in each row, and the row of each record
    (record,); rows that no record has are left out. `n_levels` is larger than all codes of each
    column.
    """
    sizes = [max(1, int(levels)) for levels in n_levels]
    if math.prod(sizes) <= DENSE * max(1, len(codes)):
        distinct, new_row = _by_index(codes, sizes)
    else:
        distinct, new_row = _by_sorting(codes, sizes)
    merged = np.bincount(new_row, weights=counts, minlength=len(distinct)).astype(np.int64)
    return distinct, merged, new_row[of_record]


def _by_index(codes: Codes, sizes: Sequence[int]) -> tuple[Codes, Codes]:
    """Give distinct rows in order, and the number of each row among them, without sorting."""
    keys = _keys(codes, sizes)
    present = np.bincount(keys, minlength=math.prod(sizes)) > 0
    number = np.cumsum(present, dtype=np.int32) - np.int32(1)
    left = np.flatnonzero(present)  # (distinct row,)
    distinct = np.empty((left.size, len(sizes)), dtype=codes.dtype)
    for column in range(len(sizes) - 1, -1, -1):
        left, distinct[:, column] = np.divmod(left, sizes[column])
    return distinct, number[keys]


def _by_sorting(codes: Codes, sizes: Sequence[int]) -> tuple[Codes, Codes]:
    order = _lexicographic_order(codes, sizes)
    ordered = codes[order]
    starts = np.ones(len(order), dtype=bool)  # (row,) whether a new combination starts here
    if ordered.shape[0] > 1:
        starts[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    new_row = np.empty(len(order), dtype=np.int32)
    new_row[order] = np.cumsum(starts) - 1
    return ordered[starts], new_row


def _keys(codes: Codes, sizes: Sequence[int]) -> NDArray[np.int64]:
    """Make one number of every row; rows and numbers have the same order."""
    key = np.zeros(codes.shape[0], dtype=np.int64)
    for column, size in enumerate(sizes):
        key = key * size + codes[:, column]
    return key


def _lexicographic_order(codes: Codes, sizes: Sequence[int]) -> NDArray[np.intp]:
    """Sort rows by their first column, then the second, and so on."""
    if math.prod(sizes) < 2**63:
        return np.argsort(_keys(codes, sizes), kind="stable")
    return np.lexsort(codes.T[::-1])
