"""Text tables: one pass from the bytes of a CSV file to coded combinations.

A category is the text in the file, so nothing is converted: ``01001`` keeps its zero, ``NA`` is a
county, and so is empty text in quotation marks. A field in which nothing is written is a missing
value, as an empty cell of a data frame is. Only distinct levels are ever turned into Python text.
The format is read strictly (a record with a field too few is an error with its line number, not a
silent gap), and no message shows a value from the file. `scanning.scan_records` does the work.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.checks import check_one_of
from understudy.errors import FormatError, SettingError, quoted
from understudy.microdata import scanning
from understudy.microdata.coding import CodedColumn, CodedTable, CombinationStore, LevelStore
from understudy.microdata.file_format import SourceFile
from understudy.microdata.variable import LONGEST_LEVEL

__all__ = [
    "CONFIRM",
    "DELIMITERS",
    "Header",
    "HeaderChoice",
    "Progress",
    "check_encoding",
    "read_delimited",
    "read_header",
]

Progress = Callable[[int, int], None]

BLOCK = 1 << 20
SAMPLE = 1 << 20
SAMPLE_ROWS = 200
DELIMITERS = ",;\t|"
UTF16_HINT = "export the file again; if it is UTF-16, say so with the option encoding (utf-16)"
MOST_EXPANSION = 300
HARMLESS_SIZE = 1 << 28
HeaderChoice = Literal["auto", "yes"]
HEADER_CHOICES = ("auto", "yes")
RARE = 0.1
CONFIRM = (
    'if the first line holds the names, confirm it with header="yes" (--header yes), or name its '
    "columns in a codebook"
)
BYTE_ORDER_MARKS = {
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
_DATE = re.compile(r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\s*")
_NUMBER = re.compile(r"\s*[+-]?\d+([.,]\d+)?\s*")


@dataclass(frozen=True)
class Header:
    """The first record of a text table and how the table is written."""

    names: tuple[str, ...]
    delimiter: str
    encoding: str
    n_bytes: int  # of the header record, in UTF-8
    n_lines: int  # that the header record spans
    doubtful: bool = False  # whether it may be a record


def check_encoding(encoding: str | None) -> str | None:
    """Refuse an encoding that Python does not know, or that is not for text."""
    if encoding is None:
        return None
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, ValueError, TypeError):
        codec = None
    if codec is None or not getattr(codec, "_is_text_encoding", True):
        raise SettingError(
            expected="the name of a text encoding, such as utf-8, latin-1, cp1252 or utf-16",
            came=quoted(encoding),
            do="leave the encoding out for UTF-8, or ask whoever exported the file",
        )
    return codec.name


def check_delimiter(delimiter: str | None) -> None:
    """Refuse a delimiter that cannot separate fields."""
    fits = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
    if delimiter is not None and (not fits or delimiter.isalnum() or delimiter in '"\r\n\0'):
        raise SettingError(
            expected="a delimiter that is one ASCII character, neither a letter nor a digit",
            came=quoted(delimiter),
            do="give , ; | or a tab, or leave the delimiter out to have it detected",
        )


def read_header(
    source: SourceFile,
    encoding: str | None,
    delimiter: str | None,
    header: HeaderChoice = "auto",
) -> Header:
    """Find the names of the columns, and the delimiter where none is given.

    A first line that must be a record is refused, unless the user says that it is the header; one
    that may be a record is marked as doubtful.
    """
    do = 'say "yes" where the first line holds the names of the columns'
    check_one_of("header", header, HEADER_CHOICES, do)
    encoding = check_encoding(encoding) or "utf-8"
    check_delimiter(delimiter)
    sample, whole = _sample(source, encoding)
    delimiter = delimiter or _detect_delimiter(sample, whole)
    names, header_text = _first_record(sample, delimiter, whole, source)
    rows = _rows(sample[len(header_text) :], delimiter)
    below = [row for row in rows if len(row) == len(names)]
    if header == "auto" and _must_be_a_record(names, below):
        raise FormatError(
            expected=f"a header with column names as the first line of {quoted(source.path.name)}",
            came="a first line that looks like a record (it holds a date, nothing but numbers, or "
            "mostly values that occur below it too)",
            do=f"put a line with column names first; {CONFIRM}",
        )
    return Header(
        names=names,
        delimiter=delimiter,
        encoding=encoding,
        n_bytes=len(header_text.encode("utf-8")),
        n_lines=len(io.StringIO(header_text, newline="").readlines()),
        doubtful=header == "auto" and not _must_be_names(names, below),
    )


def read_delimited(
    source: SourceFile, header: Header, columns: Sequence[str], progress: Progress | None = None
) -> CodedTable:
    """Read the named columns of a text table, in the order of `columns`, each once.

    `progress` is called with bytes read and bytes in all.
    """
    column_of_field = np.full(len(header.names), -1, dtype=np.int32)  # (field,)
    field_of = {name: field for field, name in enumerate(header.names)}
    for column, name in enumerate(columns):
        column_of_field[field_of[name]] = column
    levels = LevelStore(len(columns))
    levels.counters[scanning.LINE] = header.n_lines + 1
    combinations = CombinationStore(len(columns))
    with _open_utf8(source, header.encoding, progress) as blocks:
        _scan(blocks, header, column_of_field, levels, combinations, source)
    source.check_unchanged()
    return combinations.table(
        [CodedColumn(name, texts) for name, texts in zip(columns, levels.texts(), strict=True)]
    )


def _scan(
    blocks: Iterator[bytes],
    header: Header,
    column_of_field: NDArray[np.int32],
    levels: LevelStore,
    combinations: CombinationStore,
    source: SourceFile,
) -> None:
    """Feed blocks to the kernel, carrying over the record that a block cuts in two."""
    counters = levels.counters
    size = 2 * BLOCK
    block = np.zeros(size, dtype=np.uint8)  # (byte,)
    scratch = np.zeros(size, dtype=np.uint8)  # (byte,)
    shortest = max(1, len(header.names))  # bytes of the shortest possible record
    codes = np.zeros((size // shortest + 1, combinations.n_columns), dtype=np.int32)
    filled, to_skip, last = 0, header.n_bytes, False
    while not last:
        piece = next(blocks, None)
        last = piece is None
        if piece is not None:
            skipped = min(to_skip, len(piece))
            to_skip -= skipped
            fresh = np.frombuffer(piece, dtype=np.uint8)[skipped:]
            if filled + fresh.size > size:
                raise _scan_error(scanning.TOO_LONG, counters, header, source)
            block[filled : filled + fresh.size] = fresh
            filled += fresh.size
        levels.reserve(filled + 1, filled)
        counters[scanning.CONSUMED] = counters[scanning.CODED_RECORDS] = 0
        status = scanning.scan_records(
            block, filled, last, ord(header.delimiter), column_of_field, LONGEST_LEVEL, scratch,
            codes, levels.levels, counters,
        )  # fmt: skip
        if status != scanning.FINE:
            raise _scan_error(status, counters, header, source)
        combinations.add(codes, int(counters[scanning.CODED_RECORDS]))
        consumed = int(counters[scanning.CONSUMED])
        block[: filled - consumed] = block[consumed:filled].copy()
        filled -= consumed


def _scan_error(
    status: int, counters: NDArray[np.int64], header: Header, source: SourceFile
) -> FormatError:
    line = f"line {int(counters[scanning.ERROR_LINE])}"
    n_fields = int(counters[scanning.ERROR_FIELDS])
    fields = "a blank line" if n_fields == 0 else f"{n_fields} field{'s' * (n_fields != 1)}"
    name = quoted(source.path.name)
    expected, came, do = {
        scanning.RAGGED: (
            f"{len(header.names)} fields in every record of {name}, as in its header",
            f"{fields} at {line}",
            "correct that line; a field that holds the delimiter needs quotation marks around it",
        ),
        scanning.NUL_BYTE: (f"text in {name}", f"a NUL byte in the record at {line}", UTF16_HINT),
        scanning.BAD_QUOTE: (
            "a delimiter or a line end after a closing quotation mark",
            f"something else in the record at {line} of {name}",
            "double every quotation mark inside a quoted field",
        ),
        scanning.OPEN_QUOTE: (
            f"a closing quotation mark for every opening one in {name}",
            f"one that is still open at the end of the file, in the record at {line}",
            "close it, or check whether the file was cut off",
        ),
        scanning.TOO_LONG: (
            f"fields of at most {LONGEST_LEVEL:,} bytes and records of at most {BLOCK:,}",
            f"a longer one in the record at {line} of {name}",
            "ignore columns of free text, or shorten the field",
        ),
    }[status]
    return FormatError(expected, came, do)


def _detect_delimiter(sample: str, whole: bool) -> str:
    """Take the delimiter that cuts the most sample records into as many fields as the first."""
    best, best_score = ",", (0.0, 1)
    for delimiter in DELIMITERS:
        rows = _rows(sample, delimiter)
        rows = [row for row in (rows if whole else rows[:-1] or rows) if row]
        width = len(rows[0]) if rows else 0
        if width < 2:
            continue
        alike = sum(len(row) == width for row in rows) / len(rows)
        if (alike, width) > best_score:
            best, best_score = delimiter, (alike, width)
    return best


def _rows(text: str, delimiter: str) -> list[list[str]]:
    """Read the first records of a text the slow way, as far as they can be read."""
    rows: list[list[str]] = []
    with suppress(csv.Error), _long_fields():
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows.extend(itertools.islice(reader, SAMPLE_ROWS))
    return rows


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let Python's csv module take fields as long as the sample."""
    before = csv.field_size_limit(2 * SAMPLE)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _must_be_a_record(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    if any(map(_DATE.fullmatch, names)) or all(map(_NUMBER.fullmatch, names)):
        return True
    repeated = [
        any(row[field] == name for row in below) for field, name in enumerate(names) if name
    ]
    return 2 * sum(repeated) > len(names)


# What a record has in place of a number: a missing code, or a limit such as >65.
_NO_NUMBER = re.compile(
    r"[\W\d]*$|(na|n/a|n\.a\.?|nan|null|nil|none|missing|unknown|unk|refused|other|dk|"
    r"(do )?n[o']t .*|not? .*|don.?t know)$",
    re.IGNORECASE,
)


def _must_be_names(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Tell whether a first line is surely no record, from up to 200 records below it.

    A field that occurs again below makes it doubtful. It is no record where a column of numbers
    begins with a word, unless records have that word instead of a number. Nor is it one where no
    field occurs below although the values of some column repeat: a record's value would be new with
    a chance of about (values that occur once + 1) / (records + 1).
    """
    columns = [Counter(values) for values in zip(*below, strict=True)]
    if any(map(_NUMBER.fullmatch, names)):
        return False
    if any(name in column for name, column in zip(names, columns, strict=False)):
        return False
    for name, column in zip(names, columns, strict=False):
        if all(map(_NUMBER.fullmatch, column)) and not _NO_NUMBER.match(name):
            return True
    chances = (
        (sum(times == 1 for times in column.values()) + 1) / (len(below) + 1) for column in columns
    )
    return min(chances, default=1.0) <= RARE


def _first_record(
    sample: str, delimiter: str, whole: bool, source: SourceFile
) -> tuple[tuple[str, ...], str]:
    """Cut the header record off the sample: its names and its text, line end included."""
    taken: list[str] = []

    def lines() -> Iterator[str]:
        for line in io.StringIO(sample, newline=""):
            taken.append(line)
            yield line

    names: list[str] | None = None
    with suppress(csv.Error, StopIteration), _long_fields():
        names = next(csv.reader(lines(), delimiter=delimiter, strict=True))
    text = "".join(taken)
    came = ""
    if not names or not text.strip():
        came = "an empty first line" if names == [] else "quotation marks that do not match"
    elif text == sample and not whole:
        came = f"a first line of more than {SAMPLE:,} bytes, or an open quotation mark in it"
    elif text.lower().startswith("sep="):
        came = "a line that tells a spreadsheet program the delimiter (sep=)"
    if came or names is None:
        raise FormatError(
            expected=f"a header with column names as the first line of {quoted(source.path.name)}",
            came=came,
            do="check that the file is a table of text whose first line names the columns",
        )
    return tuple(names), text


def _sample(source: SourceFile, encoding: str) -> tuple[str, bool]:
    """Decode the start of the file; also tell whether that is all of it."""
    pieces, size = [], 0
    with _open_utf8(source, encoding, None) as blocks:
        for piece in blocks:
            pieces.append(piece)
            size += len(piece)
            if size > SAMPLE:
                break
    text = b"".join(pieces)
    if not text:
        raise FormatError(
            expected=f"a header with column names in {quoted(source.path.name)}",
            came="nothing after the byte order mark",
            do="export the file again with a header line",
        )
    whole = size <= SAMPLE
    if not whole:
        text = text[:SAMPLE]
    sample = text.decode("utf-8", errors="ignore")
    if "\x00" in sample:
        raise FormatError(
            expected=f"text in {quoted(source.path.name)}",
            came=f"a NUL byte in line {sample[: sample.index(chr(0))].count(chr(10)) + 1}",
            do=UTF16_HINT,
        )
    return sample, whole


@contextmanager
def _open_utf8(
    source: SourceFile, encoding: str, progress: Progress | None
) -> Iterator[Iterator[bytes]]:
    """Open a text file as blocks of valid UTF-8 without a byte order mark."""
    with source.path.open("rb") as raw:
        stream: IO[bytes] = raw if not source.gzipped else gzip.GzipFile(fileobj=raw)  # type: ignore[assignment]
        yield _utf8_blocks(raw, stream, source, encoding, progress)


def _utf8_blocks(
    raw: IO[bytes], stream: IO[bytes], source: SourceFile, encoding: str, progress: Progress | None
) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    plain = encoding in {"utf-8", "utf-8-sig"}
    done = 0
    for block in _raw_blocks(raw, stream, source):
        if done == 0 and encoding == "utf-8":
            _check_mark(block, source)
        pending = len(decoder.getstate()[0])
        text = _decode(decoder, block, source, encoding, done - pending)
        piece = block if plain else _as_utf8(text, source, encoding)
        if done == 0:
            mark = codecs.BOM_UTF8
            piece = piece[len(mark) :] if piece.startswith(mark) else piece
        done += len(block)
        if progress is not None:
            progress(raw.tell(), source.n_bytes)
        # UTF-8 may be longer than what it came from; the scanner takes a block at a time.
        for start in range(0, len(piece), BLOCK):
            yield piece[start : start + BLOCK]
    _decode(decoder, b"", source, encoding, done - len(decoder.getstate()[0]), final=True)


def _check_mark(block: bytes, source: SourceFile) -> None:
    for name, marks in BYTE_ORDER_MARKS.items():
        if block.startswith(marks):
            raise _undecodable(source, f"a byte order mark of {name.upper()}", name)


def _as_utf8(text: str, source: SourceFile, encoding: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise _undecodable(source, "surrogates, not characters", "utf-8", encoding) from None


def _raw_blocks(raw: IO[bytes], stream: IO[bytes], source: SourceFile) -> Iterator[bytes]:
    done = 0
    while True:
        try:
            block = stream.read(BLOCK)
        except (OSError, EOFError, zlib.error):
            raise FormatError(
                expected=f"a file {quoted(source.path.name)} that can be read to its end",
                came="a damaged or cut off file"
                + (" (packed with gzip)" if source.gzipped else ""),
                do="copy or export the file again",
            ) from None
        if not block:
            return
        done += len(block)
        if done > HARMLESS_SIZE and done > MOST_EXPANSION * raw.tell():
            raise FormatError(
                expected=f"a packed table that unpacks to at most {MOST_EXPANSION} times its size",
                came=f"that {quoted(source.path.name)} grows beyond that",
                do="unpack the file and check its content",
            )
        yield block


def _decode(
    decoder: codecs.IncrementalDecoder,
    block: bytes,
    source: SourceFile,
    encoding: str,
    offset: int,
    *,
    final: bool = False,
) -> str:
    try:
        return decoder.decode(block, final)
    except UnicodeDecodeError as problem:
        at = offset + problem.start
    except UnicodeError:
        raise _undecodable(source, "bytes that do not fit it", "utf-8", encoding) from None
    raise _undecodable(source, f"a byte that does not fit at offset {at:,}", "latin-1", encoding)


def _undecodable(
    source: SourceFile, came: str, instead: str, encoding: str = "utf-8"
) -> FormatError:
    return FormatError(
        expected=f"text in the encoding {encoding} in {quoted(source.path.name)}",
        came=came,
        do=f"name the encoding with the option encoding (--encoding), for instance {instead}",
    )
