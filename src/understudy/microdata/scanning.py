"""Compiled counting: from the bytes of a text table to codes, and from codes to combinations.

Two loops run over every record, and only these two: `scan_records` cuts a block of bytes into
fields and gives every field its level's code, and `count_rows` gives every row of codes its
combination's number. Everything else in this package works on distinct levels and distinct
combinations. Both look things up by open addressing: a hash says in which slot the search starts,
and the search goes on slot by slot. The caller makes the tables large enough beforehand
(`LevelStore.reserve` and `CombinationStore.reserve` in `coding`), so no kernel has to grow one.

The kernels and their helpers share one file because a compiled function's cache does not notice
changes in other files. Their slow twins are Python's ``csv`` module and a dictionary
(``tests/naive``).

Helpers share these arguments: `state` uint64, `value_hash` uint64, `n_slots` int, a power of two;
`length` bytes of a text from `start`, of two, `left` and `right`, from `left_start` and
`right_start`, or the rows `left_row` and `right_row` of two arrays; `block` uint8 (byte,),
`n_bytes` of it filled, `last_block` bool; `hashes` uint64 and `columns` int32 (level,), of which
`n_levels` count; `n_rows` int.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled

__all__ = [
    "BAD_QUOTE",
    "CODED_RECORDS",
    "CONSUMED",
    "EMPTY_FIELD",
    "ERROR_FIELDS",
    "ERROR_LINE",
    "FINE",
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
    "enter_levels",
    "enter_rows",
    "scan_records",
]

# Positions in the array of counters that `scan_records` updates.
CONSUMED = 0  # bytes of the block that belong to complete records
CODED_RECORDS = 1  # records coded in this block
LINE = 2  # line number at which the next record starts
USED_LEVELS = 3  # levels in the store, all columns together
USED_BYTES = 4  # bytes of the store's text that are taken
BLANK_LINE = 5  # line number of the first blank line since the last record, 0 for none
ERROR_LINE = 6  # line at which the record with the fault starts
ERROR_FIELDS = 7  # fields of a ragged record
N_COUNTERS = 8

# What `scan_records` returns.
FINE = 0
RAGGED = 1
NUL_BYTE = 2
BAD_QUOTE = 3
OPEN_QUOTE = 4
TOO_LONG = 5

# The length of a level that stands for fields in which nothing is written; quoted empty text has 0.
EMPTY_FIELD = -1

# Where `scan_records` is with a record: inside it, behind it, behind a blank line, or at the end of
# a block that cuts it off.
_IN_RECORD, _COMPLETE, _BLANK, _CUT_OFF = range(4)

_LF, _CR, _QUOTE = b'\n\r"'
_AHEAD = 256  # rows that are looked up together
_WORD = 8  # bytes that are hashed at once
_BYTE = np.uint64(8)
_OFFSET = np.uint64(14695981039346656037)
_PRIME = np.uint64(1099511628211)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_HALF = np.uint64(32)


class Levels(NamedTuple):
    """The levels met so far, of all columns, in one table of open addressing."""

    slots: NDArray[np.int32]  # (slot,) number of a level, -1 for empty; length a power of two
    hashes: NDArray[np.uint64]  # (level,)
    columns: NDArray[np.int32]  # (level,) column the level belongs to
    codes: NDArray[np.int32]  # (level,) its code within that column
    starts: NDArray[np.int64]  # (level,) where its text starts in `text`
    lengths: NDArray[np.int32]  # (level,) bytes of its text
    text: NDArray[np.uint8]  # (byte,) the levels' texts, one after another
    per_column: NDArray[np.int32]  # (column,) levels met so far in each column


@compiled
def _mixed(state, value):  # type: ignore[no-untyped-def]
    """Stir a value into a hash; all arguments are uint64."""
    state = (state ^ value) * _MIX
    return state ^ (state >> _SHIFT)


@compiled
def _level_slot(value_hash, column, n_slots):  # type: ignore[no-untyped-def]
    """Slot at which the search for a level starts, from its hash (uint64) and column (int)."""
    return np.int64(_mixed(value_hash, np.uint64(column + 1)) & np.uint64(n_slots - 1))


@compiled
def _row_slot(codes, row, n_slots):  # type: ignore[no-untyped-def]
    """Slot at which the search for a row of codes, int32 (row, column), starts."""
    state = _OFFSET
    n_columns = codes.shape[1]
    for column in range(0, n_columns - 1, 2):
        left = np.uint64(np.uint32(codes[row, column]))
        state = _mixed(state, (left << _HALF) | np.uint64(np.uint32(codes[row, column + 1])))
    if n_columns & 1:
        state = _mixed(state, np.uint64(np.uint32(codes[row, n_columns - 1])))
    return np.int64(state & np.uint64(n_slots - 1))


@compiled
def _text_hash(text, start, length):  # type: ignore[no-untyped-def]
    """Hash some bytes of text, uint8 (byte,), a word of eight at a time."""
    value_hash = _OFFSET
    word = np.uint64(0)
    for offset in range(length):
        word = (word << _BYTE) | np.uint64(text[start + offset])
        if offset & (_WORD - 1) == _WORD - 1:
            value_hash = (value_hash ^ word) * _PRIME
            word = np.uint64(0)
    if length & (_WORD - 1):
        value_hash = (value_hash ^ word) * _PRIME
    return value_hash


@compiled
def _same_text(left, left_start, right, right_start, length):  # type: ignore[no-untyped-def]
    """Compare some bytes of two texts, each uint8 (byte,)."""
    for offset in range(length):  # noqa: SIM110
        if left[left_start + offset] != right[right_start + offset]:
            return False
    return True


@compiled
def _code_of_level(levels, counters, column, value_hash, text, start, length):  # type: ignore[no-untyped-def]
    """Find the level with this text in this column, or add it; give its code.

    Parameters
    ----------
    levels : Levels
        Looked up and added to.
    counters : int64 (N_COUNTERS,)
        `USED_LEVELS` and `USED_BYTES` are updated.
    column, value_hash : int, uint64
        Column and hash of the level.
    text : uint8 (byte,)
        Holds the level's text, `length` bytes from `start`; a length of `EMPTY_FIELD` stands for a
        field in which nothing is written, not even quotation marks.

    Returns
    -------
    int32
    """
    mask = levels.slots.size - 1
    slot = _level_slot(value_hash, column, levels.slots.size)
    level = levels.slots[slot]
    while level >= 0:
        if (
            levels.hashes[level] == value_hash
            and levels.columns[level] == column
            and levels.lengths[level] == length
            # The hash of a single word belongs to one text only.
            and (
                length <= _WORD
                or _same_text(levels.text, levels.starts[level], text, start, length)
            )
        ):
            return levels.codes[level]
        slot = (slot + 1) & mask
        level = levels.slots[slot]
    level = counters[USED_LEVELS]
    first = counters[USED_BYTES]
    levels.slots[slot] = level
    levels.hashes[level] = value_hash
    levels.columns[level] = column
    levels.codes[level] = levels.per_column[column]
    levels.starts[level] = first
    levels.lengths[level] = length
    for offset in range(length):
        levels.text[first + offset] = text[start + offset]
    levels.per_column[column] += 1
    counters[USED_LEVELS] = level + 1
    counters[USED_BYTES] = first + max(length, 0)
    return levels.codes[level]


@compiled
def _read_plain(block, n_bytes, start, delimiter):  # type: ignore[no-untyped-def]
    """Read a field without quotation marks from a block, uint8 (byte,).

    Returns
    -------
    cursor : int
        Index of the delimiter, line end or NUL byte behind it, or `n_bytes`.
    value_hash : uint64
        That of `_text_hash`, computed on the way.
    """
    value_hash = _OFFSET
    word = np.uint64(0)
    cursor = start
    while cursor < n_bytes:
        byte = block[cursor]
        if byte == delimiter or byte in (_LF, _CR, 0):
            break
        word = (word << _BYTE) | np.uint64(byte)
        cursor += 1
        if (cursor - start) & (_WORD - 1) == 0:
            value_hash = (value_hash ^ word) * _PRIME
            word = np.uint64(0)
    if (cursor - start) & (_WORD - 1):
        value_hash = (value_hash ^ word) * _PRIME
    return cursor, value_hash


@compiled
def _read_quoted(block, n_bytes, start, scratch):  # type: ignore[no-untyped-def]
    """Read a field from behind its opening quotation mark to behind its closing one.

    Parameters
    ----------
    block, scratch : uint8 (byte,)
        The text; and space for a field that holds doubled marks, written with single ones.
    n_bytes, start : int
        How much of the block is filled; index of the first byte behind the opening mark.

    Returns
    -------
    status : int
        `FINE`, `NUL_BYTE`, or `OPEN_QUOTE` where the block ends first.
    cursor, length, n_lines : int
        Index behind the closing mark; bytes of the field; lines that end inside it.
    in_scratch : bool
        Whether the field is in `scratch` from 0 rather than in the block from `start`.
    """
    cursor, length, n_lines, in_scratch = start, 0, 0, False
    while cursor < n_bytes:
        byte = block[cursor]
        if byte == _QUOTE:
            cursor += 1
            if cursor == n_bytes or block[cursor] != _QUOTE:
                return FINE, cursor, length, n_lines, in_scratch
            if not in_scratch:
                in_scratch = True
                for offset in range(length):
                    scratch[offset] = block[start + offset]
        elif byte == 0:
            return NUL_BYTE, cursor, length, n_lines, in_scratch
        elif byte == _CR or (byte == _LF and not (cursor > start and block[cursor - 1] == _CR)):
            n_lines += 1
        if in_scratch:
            scratch[length] = byte
        length += 1
        cursor += 1
    return OPEN_QUOTE, cursor, length, n_lines, in_scratch


@compiled
def _end_of_line(block, n_bytes, cursor, last_block):  # type: ignore[no-untyped-def]
    """Index behind the line end at `cursor`; -1 where the next block decides (CR, then LF?)."""
    if block[cursor] == _CR:
        if cursor + 1 == n_bytes and not last_block:
            return -1
        if cursor + 1 < n_bytes and block[cursor + 1] == _LF:
            return cursor + 2
    return cursor + 1


@compiled
def scan_records(  # type: ignore[no-untyped-def]
    block, n_bytes, last_block, delimiter, column_of_field, longest, scratch, codes, levels,
    counters,
):  # fmt: skip
    """Code the complete records at the start of a block of bytes.

    ::

                           other byte
        start of field ────────────────▶ plain ────── delimiter or line end ──┐
          ▲    │                                                              ▼
          │    └── " ──▶ quoted ── " ──▶ mark seen ── delimiter or line end ─▶ end of field
          │                ▲                │                                  │      │
          │                └────── " ───────┘                                  │      │
          └──────────────────────────── delimiter ─────────────────────────────┘      │
        end of record ◀─────────────────────────── line end ──────────────────────────┘

    A NUL byte anywhere, and any other byte after a closing mark, is an error. Where the block ends
    before the record does, the record is left for the next block, which starts with it.

    Parameters
    ----------
    block : uint8 (byte,)
        Text in an encoding that keeps ASCII bytes to themselves, such as UTF-8.
    n_bytes : int
        How much of the block is filled.
    last_block : bool
        Whether the file ends with this block.
    delimiter : int
        The byte between fields.
    column_of_field : int32 (field,)
        For each field of a record the column to code it into, or -1 to skip it.
    longest : int
        Most bytes that a coded field may have.
    scratch : uint8 (byte,)
        Space for a field with doubled quotation marks, as long as the block.
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
    slots, hashes, columns = levels.slots, levels.hashes, levels.columns
    lengths, level_codes = levels.lengths, levels.codes
    record_start = counters[CONSUMED]
    while record_start < n_bytes:
        counters[ERROR_LINE] = counters[LINE]
        record, cursor, n_fields, n_lines = counters[CODED_RECORDS], record_start, 0, 0
        state = _IN_RECORD
        while state == _IN_RECORD:
            # 1. The field's text: `length` bytes of the block from `start`, or of scratch from 0.
            text, start = block, cursor
            quoted = cursor < n_bytes and block[cursor] == _QUOTE
            if quoted:
                start += 1
                status, cursor, length, ends, in_scratch = _read_quoted(
                    block, n_bytes, start, scratch
                )
                n_lines += ends
                if status == OPEN_QUOTE and not last_block:
                    state = _CUT_OFF
                    break
                if status != FINE:
                    return status
                if in_scratch:
                    text, start = scratch, start - start
                value_hash = _text_hash(text, start, length)
            else:
                cursor, value_hash = _read_plain(block, n_bytes, start, delimiter)
                length = cursor - start
            # 2. What ends it: the end of the block, a delimiter, or a line end.
            if cursor == n_bytes:
                state = _COMPLETE if last_block else _CUT_OFF
            elif block[cursor] == delimiter:
                cursor += 1
            elif block[cursor] == 0:
                return NUL_BYTE
            elif block[cursor] not in (_LF, _CR):
                return BAD_QUOTE
            else:
                cursor = _end_of_line(block, n_bytes, cursor, last_block)
                n_lines += 1
                state = _COMPLETE if cursor >= 0 else _CUT_OFF
            if state == _COMPLETE and n_fields == 0 and length == 0 and not quoted:
                state = _BLANK
            if state in (_CUT_OFF, _BLANK):
                break
            # 3. Its code.
            if n_fields < column_of_field.size and column_of_field[n_fields] >= 0:
                if length > longest:
                    return TOO_LONG
                column = column_of_field[n_fields]
                if length == 0 and not quoted:
                    length = EMPTY_FIELD
                level = slots[_level_slot(value_hash, column, slots.size)]
                if (
                    level >= 0
                    and hashes[level] == value_hash
                    and columns[level] == column
                    and lengths[level] == length
                    and length <= _WORD
                ):  # as most are; handing on all of `levels` takes longer than looking one up
                    codes[record, column] = level_codes[level]
                else:
                    codes[record, column] = _code_of_level(
                        levels, counters, column, value_hash, text, start, length
                    )
            n_fields += 1
        if state == _CUT_OFF:
            break
        if state == _BLANK:
            if counters[BLANK_LINE] == 0:
                counters[BLANK_LINE] = counters[LINE]
        elif counters[BLANK_LINE] > 0:  # blank lines are allowed at the end of the file only
            counters[ERROR_LINE] = counters[BLANK_LINE]
            counters[ERROR_FIELDS] = 0
            return RAGGED
        elif n_fields != column_of_field.size:
            counters[ERROR_FIELDS] = n_fields
            return RAGGED
        else:
            counters[CODED_RECORDS] = record + 1
        counters[CONSUMED] = record_start = cursor
        counters[LINE] += n_lines
    return FINE


@compiled
def _same_row(left, left_row, right, right_row):  # type: ignore[no-untyped-def]
    """Compare a row of each of two arrays of codes, int32 (row, column)."""
    for column in range(left.shape[1]):
        if left[left_row, column] != right[right_row, column]:
            return False
    return True


@compiled
def count_rows(codes, n_rows, slots, distinct, counts, n_distinct, of_row):  # type: ignore[no-untyped-def]
    """Give every row of codes the number of its combination, adding the new ones.

    Parameters
    ----------
    codes : int32 (row, column)
        The first `n_rows` rows count.
    n_rows : int
        How many rows to count.
    slots : int32 (slot,)
        Open addressing, -1 for empty, length a power of two.
    distinct : int32 (combination, column)
        The combinations met so far; new ones are written behind the first `n_distinct`.
    counts : int64 (combination,)
        Rows per combination, updated.
    n_distinct : int
        How many combinations there are before the call.
    of_row : int32 (row,)
        Filled with each row's combination.

    Returns
    -------
    int
        How many combinations there are now.
    """
    mask = slots.size - 1
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
            if combination < 0:
                combination = slots[slot]  # an earlier row of the stretch may have taken it
            while combination >= 0 and not _same_row(distinct, combination, codes, row):
                slot = (slot + 1) & mask
                combination = slots[slot]
            if combination < 0:
                combination = n_distinct
                n_distinct += 1
                slots[slot] = combination
                for column in range(codes.shape[1]):
                    distinct[combination, column] = codes[row, column]
            counts[combination] += 1
            of_row[row] = combination
    return n_distinct


@compiled
def enter_levels(slots, hashes, columns, n_levels):  # type: ignore[no-untyped-def]
    """Enter levels, uint64 and int32 (level,), into a larger table of slots, int32 (slot,)."""
    for level in range(n_levels):
        slot = _level_slot(hashes[level], columns[level], slots.size)
        while slots[slot] >= 0:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = level


@compiled
def enter_rows(slots, codes, n_rows):  # type: ignore[no-untyped-def]
    """Enter combinations, int32 (row, column), into a larger table of slots, int32 (slot,)."""
    for row in range(n_rows):
        slot = _row_slot(codes, row, slots.size)
        while slots[slot] >= 0:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = row
