"""The kind of a source file, whether it can be read, and whether it changes meanwhile.

The first bytes of a file tell its kind, and its name has to agree: an Excel workbook renamed to
``.csv`` is refused here with a plain message instead of failing later in a parser.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from understudy.errors import FileError, FormatError, quoted

__all__ = [
    "ANY_FORMAT",
    "SUFFIXES",
    "WITH_ENDINGS",
    "FileKind",
    "RemoteFile",
    "SourceFile",
    "is_remote",
    "open_source",
    "unreadable",
]

FileKind = Literal["csv", "parquet", "sas", "xport", "stata", "spss"]

SUFFIXES: dict[str, FileKind] = {
    **dict.fromkeys((".csv", ".txt", ".tsv", ".tab", ".dat"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    ".sas7bdat": "sas",
    ".xpt": "xport",
    ".dta": "stata",
    **dict.fromkeys((".sav", ".zsav"), "spss"),
}

INTERNET = {"http", "https", "ftp"}  # confidential data should not lie there

FORMATS = {  # what can be read, and what the names of such files end in
    "CSV": "also .gz",
    "Parquet": "",
    "SAS": ".sas7bdat, .xpt",
    "Stata": ".dta",
    "SPSS": ".sav",
}
WITH_ENDINGS = [f"{name} ({ending})" if ending else name for name, ending in FORMATS.items()]


def _either(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"


ANY_FORMAT = _either(FORMATS)  # in words, for whoever asks for a file

_SAS_MAGIC = bytes(12) + bytes.fromhex("c2ea8160")
_STATA_OLD = {104, 105, 108, 110, 111, 112, 113, 114, 115}

# Other formats that people have at hand.
_FOREIGN = {
    b"PK\x03\x04": "a zip archive or an Excel or OpenDocument workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"%PDF": "a PDF document",
    b"SQLite format 3\x00": "an SQLite database",
    b"ARROW1": "an Arrow or Feather file",
    b"\x89HDF": "an HDF5 file",
    b"RDX3\n": "an R data file",
    b"RDX2\n": "an R data file",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ\x00": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"ASCII SPSS PORT FILE": "an SPSS portable file (.por)",
}


@dataclass(frozen=True)
class SourceFile:
    """A regular, readable, non-empty file of a kind we can read."""

    path: Path
    kind: FileKind
    gzipped: bool
    n_bytes: int
    stamp: tuple[int, int, int, int]

    @property
    def name(self) -> str:
        """Its name, without the folder."""
        return self.path.name

    @property
    def address(self) -> str:
        """Where another process finds it."""
        return str(self.path.absolute())

    def check_unchanged(self) -> None:
        """Refuse to go on when the file was changed or replaced since it was opened."""
        try:
            now = _stamp(self.path.stat())
        except OSError:
            now = None
        if now != self.stamp:
            raise FileError(
                expected=f"the file {quoted(self.path.name)} to stay as it is while it is read",
                came="that it was changed or replaced meanwhile",
                do="wait until nobody writes to it, then start again",
            )


@dataclass(frozen=True)
class RemoteFile:
    """A Parquet file on a file system that fsspec reads; its stamp changes when it does."""

    address: str
    n_bytes: int
    stamp: str
    kind: FileKind = "parquet"

    @property
    def name(self) -> str:
        """Its name, without the folder."""
        return self.address.rsplit("/", 1)[-1]


def is_remote(source: str | os.PathLike[str]) -> bool:
    """Tell whether a source is an address of a file system, such as ``s3://bucket/folder``."""
    kind, separator, _ = str(os.fspath(source)).partition("://")
    return bool(separator) and kind not in INTERNET


def open_source(source: str | os.PathLike[str]) -> SourceFile:
    """Check that a path leads to a file that can be read, and find its kind."""
    path = _local_path(source)
    status = _status(path)
    head = _head(path)
    if not head:
        raise FormatError(
            expected=f"a table in the file {quoted(path.name)}",
            came="an empty file of 0 bytes",
            do="check how the file was exported",
        )
    gzipped = head.startswith(b"\x1f\x8b")
    kind = _kind(path, head, gzipped)
    return SourceFile(path, kind, gzipped, status.st_size, _stamp(status))


def _local_path(source: str | os.PathLike[str]) -> Path:
    text = str(os.fspath(source))
    if "://" in text:
        raise FileError(
            expected="a file on this machine",
            came="an internet address",
            do="download the file first and give its path",
        )
    if not text or "\x00" in text:
        raise FileError(
            expected="the path of a file",
            came="an empty path" if not text else "a path with a NUL character",
            do="give the path of the file to read",
        )
    return Path(text)


def _status(path: Path) -> os.stat_result:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise FileError(
            expected=f"a file at {quoted(path)}",
            came="no such file (not found)",
            do="check the spelling of the path and the folder you are in",
        ) from None
    except OSError as problem:
        raise unreadable(path, problem) from None
    if stat.S_ISDIR(status.st_mode):
        raise FileError(
            expected=f"a file at {quoted(path)}",
            came="a directory",
            do="name one file inside it",
        )
    if not stat.S_ISREG(status.st_mode):
        raise FileError(
            expected=f"a regular file at {quoted(path)}",
            came="a pipe, socket or device, which cannot be read twice or resumed",
            do="write its content to a file first and give that",
        )
    return status


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as handle:
            return handle.read(64)
    except OSError as problem:
        raise unreadable(path, problem) from None


def unreadable(path: Path, problem: OSError) -> FileError:
    """Make the error about a file or folder that the system refuses to open."""
    reason = os.strerror(problem.errno) if problem.errno else "unknown reason"
    return FileError(
        expected=f"a readable file at {quoted(path)}",
        came=f"that the system refuses to open it ({reason})",
        do="ask for permission to read it, or copy it to a folder where you may",
    )


def _stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _kind(path: Path, head: bytes, gzipped: bool) -> FileKind:
    for magic, what in _FOREIGN.items():
        if head.startswith(magic):
            raise FormatError(
                expected=f"a file of the kind {_either(WITH_ENDINGS)}",
                came=f"that the content of {quoted(path.name)} is {what}, whatever its name says",
                do="save the table as CSV in the program that made it, and give that file",
            )
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    named = SUFFIXES.get(suffixes[-1]) if suffixes else None
    content: FileKind = "csv" if gzipped else _kind_by_content(head)
    if named is not None and content != named:
        raise FormatError(
            expected=f"{_article(named)} file, as the name {quoted(path.name)} says",
            came=f"that its content is {_article(content)} file" + " packed with gzip" * gzipped,
            do="give the file the ending that fits its content"
            + ", or unpack it first (only CSV may be packed)" * gzipped,
        )
    return content


def _kind_by_content(head: bytes) -> FileKind:
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(_SAS_MAGIC):
        return "sas"
    if head.startswith(b"HEADER RECORD*******LIB"):
        return "xport"
    if head.startswith((b"$FL2", b"$FL3")):
        return "spss"
    old_stata = len(head) > 2 and head[0] in _STATA_OLD and head[1] in {1, 2} and head[2] == 1
    if head.startswith(b"<stata_dta>") or old_stata:
        return "stata"
    return "csv"


def _article(kind: FileKind) -> str:
    return {
        "csv": "a CSV or text",
        "parquet": "a Parquet",
        "sas": "a SAS",
        "xport": "a SAS transport",
        "stata": "a Stata",
        "spss": "an SPSS",
    }[kind]
