"""Compiled counting: from the bytes of a text table to codes, and from codes to combinations.

Two loops run over every record, and only these two: `scan_records` cuts a block of bytes into
fields and gives every field its level's code, and `count_rows` gives every row of codes its
combination's number. Everything else in this package works on distinct levels and distinct
combinations. Both use open addressing in tables that the caller has made large enough before the
call (`LevelStore.reserve` and `CombinationStore.reserve` in `coding`), so a kernel never has to
grow anything.

The file stands alone because a compiled function's cache does not notice changes in other files.
Its slow twins are Python's ``csv`` module and a dictionary (``tests/naive``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled

__all__ = [
    "BAD_QUOTE",
    "CONSUMED",
    "ERROR_FIELDS",
    "ERROR_LINE",
    "FINE",
    "FOUND_RECORDS",
    "LINE",
    "NUL_BYTE",
    "N_COUNTERS",
    "OPEN_QUOTE",
    "RAGGED",
    "TOO_LONG",
    "USED_BYTES",
    "USED_LEVELS",
    "Levels",
    "count_rows",
    "place_levels",
    "place_rows",
    "scan_records",
]

# Positions in the array of counters that `scan_records` updates.
CONSUMED = 0  # bytes of the block that belong to complete records
FOUND_RECORDS = 1  # records coded in this block
LINE = 2  # line number at which the next record starts
USED_LEVELS = 3  # levels in the store, all columns together
USED_BYTES = 4  # bytes of the store's text that are taken
BLANK_LINE = 5  # line number of the first blank line since the last record, 0 for none
ERROR_LINE = 6  # line at which the record with the fault starts
ERROR_FIELDS = 7  # fields found in a ragged record
N_COUNTERS = 8

# What `scan_records` returns.
FINE = 0
RAGGED = 1
NUL_BYTE = 2
BAD_QUOTE = 3
OPEN_QUOTE = 4
TOO_LONG = 5

_LF = 10
_CR = 13
_QUOTE = 34
_AHEAD = 256  # rows that are looked up together
_WORD = 8  # bytes that are hashed at once
_BYTE = np.uint64(8)
_OFFSET = np.uint64(14695981039346656037)
_PRIME = np.uint64(1099511628211)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_HALF = np.uint64(32)


class Levels(NamedTuple):
    """The levels found so far, of all columns, in one table of open addressing."""

    slots: NDArray[np.int32]  # (slot,) number of a level, -1 for empty; length a power of two
    hashes: NDArray[np.uint64]  # (level,)
    columns: NDArray[np.int32]  # (level,) column the level belongs to
    codes: NDArray[np.int32]  # (level,) its code within that column
    starts: NDArray[np.int64]  # (level,) where its text starts in `text`
    lengths: NDArray[np.int32]  # (level,) bytes of its text
    text: NDArray[np.uint8]  # (byte,) the levels' texts, one after another
    per_column: NDArray[np.int32]  # (column,) levels found so far in each column


@compiled
def _level_slot(value_hash, column, n_slots):  # type: ignore[no-untyped-def]
    """Where the search for a level starts."""
    mixed = (value_hash ^ np.uint64(column + 1)) * _MIX
    mixed ^= mixed >> _SHIFT
    return np.int64(mixed & np.uint64(n_slots - 1))


@compiled
def _row_slot(codes, row, n_slots):  # type: ignore[no-untyped-def]
    """Where the search for a row of codes starts."""
    mixed = _OFFSET
    n_columns = codes.shape[1]
    for column in range(0, n_columns - 1, 2):
        pair = (np.uint64(np.uint32(codes[row, column])) << _HALF) | np.uint64(
            np.uint32(codes[row, column + 1])
        )
        mixed = (mixed ^ pair) * _MIX
        mixed ^= mixed >> _SHIFT
    if n_columns & 1:
        mixed = (mixed ^ np.uint64(np.uint32(codes[row, n_columns - 1]))) * _MIX
        mixed ^= mixed >> _SHIFT
    return np.int64(mixed & np.uint64(n_slots - 1))


@compiled
def _code_of_level(levels, counters, column, value_hash, source, start, length):  # type: ignore[no-untyped-def]
    """Find the level with this text in this column, or add it; give its code."""
    mask = levels.slots.size - 1
    slot = _level_slot(value_hash, column, levels.slots.size)
    while True:
        level = levels.slots[slot]
        if level < 0:
            break
        if (
            levels.hashes[level] == value_hash
            and levels.columns[level] == column
            and levels.lengths[level] == length
        ):
            if length <= _WORD:  # such a hash belongs to one text only
                return levels.codes[level]
            first = levels.starts[level]
            same = True
            for offset in range(length):
                if levels.text[first + offset] != source[start + offset]:
                    same = False
                    break
            if same:
                return levels.codes[level]
        slot = (slot + 1) & mask
    level = counters[USED_LEVELS]
    counters[USED_LEVELS] = level + 1
    levels.slots[slot] = level
    levels.hashes[level] = value_hash
    levels.columns[level] = column
    levels.codes[level] = levels.per_column[column]
    levels.per_column[column] += 1
    levels.starts[level] = counters[USED_BYTES]
    levels.lengths[level] = length
    for offset in range(length):
        levels.text[counters[USED_BYTES] + offset] = source[start + offset]
    counters[USED_BYTES] += length
    return levels.codes[level]


@compiled
def scan_records(  # type: ignore[no-untyped-def]
    block,
    n_bytes,
    last_block,
    delimiter,
    column_of_field,
    longest,
    scratch,
    codes,
    levels,
    counters,
):
    """Code the complete records at the start of a block of bytes.

    Parameters
    ----------
    block : uint8 (byte,)
        Text in an encoding that keeps ASCII bytes to themselves, such as UTF-8.
    n_bytes : int
        How much of the block is filled.
    last_block : bool
        Whether the file ends with this block; if not, a record that may go on is left for the next.
    delimiter : int
        The byte between fields.
    column_of_field : int32 (field,)
        For each field of a record the column to code it into, or -1 to pass over it.
    longest : int
        Most bytes that a coded field may have.
    scratch : uint8 (byte,)
        Room for a field with doubled quotation marks, as long as the block.
    codes : int32 (record, column)
        Filled from row 0.
    levels : Levels
        Looked up and added to.
    counters : int64 (N_COUNTERS,)
        Read and updated, see the names at the top of this file.

    Returns
    -------
    int
        `FINE`, or what is wrong with the record that starts at ``counters[ERROR_LINE]``.
    """
    n_fields = column_of_field.size
    position = counters[CONSUMED]
    record = counters[FOUND_RECORDS]
    line = counters[LINE]
    while position < n_bytes:
        record_line = line
        field = 0
        cursor = position
        counters[ERROR_LINE] = record_line
        ended = False
        complete = True
        blank = False
        while not ended:
            # One field: find its bytes (source, start, length) and its hash.
            value_hash = _OFFSET
            word = np.uint64(0)
            start = cursor
            length = 0
            doubled = False
            if cursor < n_bytes and block[cursor] == _QUOTE:
                cursor += 1
                start = cursor
                closed = False
                while cursor < n_bytes:
                    byte = block[cursor]
                    if byte == _QUOTE:
                        if cursor + 1 < n_bytes and block[cursor + 1] == _QUOTE:
                            if not doubled:
                                doubled = True
                                for offset in range(length):
                                    scratch[offset] = block[start + offset]
                            cursor += 1
                        else:
                            closed = True
                            cursor += 1
                            break
                    elif byte == 0:
                        return NUL_BYTE
                    elif byte == _LF:
                        if not (cursor > start and block[cursor - 1] == _CR):
                            line += 1
                    elif byte == _CR:
                        line += 1
                    if doubled:
                        scratch[length] = byte
                    word = (word << _BYTE) | np.uint64(byte)
                    length += 1
                    cursor += 1
                    if length & (_WORD - 1) == 0:
                        value_hash = (value_hash ^ word) * _PRIME
                        word = np.uint64(0)
                if not closed:
                    if last_block:
                        return OPEN_QUOTE
                    complete = False
                    break
                if cursor < n_bytes:
                    byte = block[cursor]
                    if byte == 0:
                        return NUL_BYTE
                    if byte != delimiter and byte not in (_LF, _CR):
                        return BAD_QUOTE
            else:
                while cursor < n_bytes:
                    byte = block[cursor]
                    if byte == delimiter or byte in (_LF, _CR):
                        break
                    if byte == 0:
                        return NUL_BYTE
                    word = (word << _BYTE) | np.uint64(byte)
                    cursor += 1
                    if (cursor - start) & (_WORD - 1) == 0:
                        value_hash = (value_hash ^ word) * _PRIME
                        word = np.uint64(0)
                length = cursor - start
                blank = (
                    field == 0 and length == 0 and (cursor == n_bytes or block[cursor] != delimiter)
                )
            if length & (_WORD - 1):
                value_hash = (value_hash ^ word) * _PRIME
            # What ends it: a delimiter, a line end, or the end of the block.
            if cursor == n_bytes:
                if not last_block:
                    complete = False
                    break
                ended = True
            elif block[cursor] == delimiter:
                cursor += 1
            elif block[cursor] == _LF:
                cursor += 1
                line += 1
                ended = True
            else:  # a carriage return, alone or before a line feed
                if cursor + 1 == n_bytes and not last_block:
                    complete = False
                    break
                cursor += 1
                if cursor < n_bytes and block[cursor] == _LF:
                    cursor += 1
                line += 1
                ended = True
            if blank:
                break
            if field < n_fields and column_of_field[field] >= 0:
                if length > longest:
                    return TOO_LONG
                column = column_of_field[field]
                if doubled:
                    code = _code_of_level(levels, counters, column, value_hash, scratch, 0, length)
                else:
                    code = _code_of_level(
                        levels, counters, column, value_hash, block, start, length
                    )
                codes[record, column] = code
            field += 1
        if not complete:
            line = record_line
            break
        if blank:
            if counters[BLANK_LINE] == 0:
                counters[BLANK_LINE] = record_line
        else:
            if counters[BLANK_LINE] > 0:
                counters[ERROR_LINE] = counters[BLANK_LINE]
                counters[ERROR_FIELDS] = 0
                return RAGGED
            if field != n_fields:
                counters[ERROR_FIELDS] = field
                return RAGGED
            record += 1
        position = cursor
    counters[CONSUMED] = position
    counters[FOUND_RECORDS] = record
    counters[LINE] = line
    return FINE


@compiled
def count_rows(codes, n_rows, slots, distinct, counts, n_distinct, of_row):  # type: ignore[no-untyped-def]
    """Give every row of codes the number of its combination, adding the new ones.

    Parameters
    ----------
    codes : int32 (row, column)
        The first `n_rows` rows count.
    slots : int32 (slot,)
        Open addressing, -1 for empty, length a power of two.
    distinct : int32 (combination, column)
        The combinations found so far; new ones are written behind the first `n_distinct`.
    counts : int64 (combination,)
        Rows per combination, updated.
    of_row : int32 (row,)
        Filled with each row's combination.

    Returns
    -------
    int
        How many combinations there are now.
    """
    mask = slots.size - 1
    n_columns = codes.shape[1]
    start = np.empty(_AHEAD, dtype=np.int64)
    for first in range(0, n_rows, _AHEAD):
        n_ahead = min(_AHEAD, n_rows - first)
        # Looking up a stretch of rows before comparing any lets the memory answer in parallel.
        for ahead in range(n_ahead):
            start[ahead] = _row_slot(codes, first + ahead, slots.size)
            of_row[first + ahead] = slots[start[ahead]]
        for row in range(first, first + n_ahead):
            slot = start[row - first]
            combination = of_row[row]
            while True:
                if combination < 0:
                    combination = slots[slot]  # an earlier row of the stretch may have taken it
                if combination < 0:
                    combination = n_distinct
                    n_distinct += 1
                    slots[slot] = combination
                    for column in range(n_columns):
                        distinct[combination, column] = codes[row, column]
                    break
                same = True
                for column in range(n_columns):
                    if distinct[combination, column] != codes[row, column]:
                        same = False
                        break
                if same:
                    break
                slot = (slot + 1) & mask
                combination = slots[slot]
            counts[combination] += 1
            of_row[row] = combination
    return n_distinct


@compiled
def place_levels(slots, hashes, columns, n_levels):  # type: ignore[no-untyped-def]
    """Enter levels that are already known into a new, larger table of slots."""
    for level in range(n_levels):
        slot = _level_slot(hashes[level], columns[level], slots.size)
        while slots[slot] >= 0:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = level


@compiled
def place_rows(slots, codes, n_rows):  # type: ignore[no-untyped-def]
    """Enter combinations that are already known into a new, larger table of slots."""
    for row in range(n_rows):
        slot = _row_slot(codes, row, slots.size)
        while slots[slot] >= 0:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = row
