"""Parquet, SAS, Stata and SPSS files, parsed in a process that may die.

A damaged file can crash the library that parses it. Here that is a `FormatError`: the parsers run
in a child process (`parser_child`), which is started when first needed and used again for later
files. It sends codes batch by batch, so memory stays bounded, and they are counted here. The child
takes no module from the folder that the user works in, whoever may have put one there.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import ColumnError, FormatError, SettingError, quoted
from understudy.microdata.coding import (
    CodedColumn,
    CodedTable,
    OpenTable,
    count_codes,
    with_whole_numbers,
)
from understudy.microdata.file_format import RemoteFile, SourceFile, open_source

__all__ = [
    "count_foreign",
    "describe_foreign",
    "described_parquet",
    "foreign_values",
    "open_foreign",
]

CHUNK = 1 << 19  # records of a SAS, Stata or SPSS file that are read at a time

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from understudy.microdata.parser_child import serve; serve()"
)


class ParserFailedError(Exception):
    """The parser raised an error of its own, or its process died."""


def open_foreign(
    source: SourceFile, encoding: str | None, catalog: str | os.PathLike[str] | None
) -> OpenTable:
    """Open a Parquet, SAS, Stata or SPSS file; see `read_microdata` for the options."""
    about, labels = _described(source, encoding, catalog)

    def read(columns: Sequence[str]) -> CodedTable:
        table = count_foreign(source, encoding, columns)
        described = [
            replace(
                column,
                labels=labels.get(column.name, {}),
                declared=_declared(about["declared"], column.name),
            )
            for column in table.columns
        ]
        return with_whole_numbers(replace(table, columns=tuple(described)))

    def values(columns: Sequence[str]) -> pl.DataFrame:
        return foreign_values(source, encoding, columns)

    names = tuple(about["names"])
    return OpenTable(names, read, descriptions=about.get("descriptions", {}), values=values)


def count_foreign(
    source: SourceFile | RemoteFile, encoding: str | None, columns: Sequence[str]
) -> CodedTable:
    """Count the combinations of some columns; numbers stay as they are stored."""
    request = {"task": "read", **_asked(source, encoding), "columns": list(columns)}
    described: list[CodedColumn] = []

    def batches() -> Iterator[NDArray[np.uint32]]:
        for reply, content in _replies({**request, "n_rows": CHUNK}):
            if reply["last"]:
                described.extend(
                    CodedColumn(name, tuple(levels), kind)
                    for name, (kind, levels) in zip(columns, reply["columns"], strict=True)
                )
            else:
                yield np.frombuffer(content, dtype=np.uint32).reshape(-1, len(columns))

    with _damaged_if_parser_fails(source):
        table = count_codes(batches(), len(columns), lambda: described)
    _check_unchanged(source)
    return table


def foreign_values(
    source: SourceFile | RemoteFile, encoding: str | None, columns: Sequence[str]
) -> pl.DataFrame:
    """Read some columns as they are: those that pass through."""
    request = {"task": "values", **_asked(source, encoding), "columns": list(columns)}
    with _damaged_if_parser_fails(source):
        frames = [
            pl.read_ipc_stream(io.BytesIO(content))
            for reply, content in _replies({**request, "n_rows": CHUNK})
            if not reply["last"]
        ]
    _check_unchanged(source)
    return pl.concat(frames)


def described_parquet(source: SourceFile | RemoteFile) -> dict[str, Any]:
    """Give names, types, declared levels and labels of a Parquet file's columns."""
    with _damaged_if_parser_fails(source):
        return _ask({"task": "describe", **_asked(source, None)})


def _asked(source: SourceFile | RemoteFile, encoding: str | None) -> dict[str, Any]:
    return {"path": source.address, "kind": source.kind, "encoding": encoding}


def _check_unchanged(source: SourceFile | RemoteFile) -> None:
    """Check a file here; those elsewhere are checked when all of a folder are read."""
    if isinstance(source, SourceFile):
        source.check_unchanged()


def describe_foreign(
    source: SourceFile, encoding: str | None, catalog: str | os.PathLike[str] | None
) -> tuple[dict[str, Mapping[str, str]], dict[str, list[str]], dict[str, str]]:
    """Give value labels, codes that the file calls missing, and descriptions, by column."""
    about, labels = _described(source, encoding, catalog)
    return labels, dict(about.get("missing", {})), dict(about.get("descriptions", {}))


def _described(
    source: SourceFile, encoding: str | None, catalog: str | os.PathLike[str] | None
) -> tuple[dict[str, Any], dict[str, Mapping[str, str]]]:
    """Ask the parser what is in a file: all that it says, and the value labels of each column."""
    _check_complete(source)
    with _damaged_if_parser_fails(source):
        about = _ask({"task": "describe", **_asked(source, encoding)})
    labels = dict(about["labels"])
    if catalog is not None:
        labels |= _catalog_labels(source, about["label_sets"], catalog, encoding)
    return about, labels


def _declared(levels: Mapping[str, Sequence[str]], name: str) -> tuple[str, ...] | None:
    return tuple(levels[name]) if name in levels else None


def _check_complete(source: SourceFile) -> None:
    """Refuse a file that was cut off where the library would not notice."""
    with source.path.open("rb") as handle:
        head = handle.read(11)
        handle.seek(max(0, source.n_bytes - 12))
        tail = handle.read()
    cut = source.kind == "xport" and source.n_bytes % 80
    if cut or (head == b"<stata_dta>" and tail != b"</stata_dta>"):
        raise _damaged(source)


def _catalog_labels(
    source: SourceFile,
    label_sets: Mapping[str, str],
    catalog: str | os.PathLike[str],
    encoding: str | None,
) -> dict[str, Mapping[str, str]]:
    if source.kind != "sas":
        raise SettingError(
            expected="a catalog only beside a .sas7bdat file",
            came=f"one beside a file of kind {source.kind}",
            do="leave the catalog out",
        )
    path = open_source(catalog).path.absolute()
    try:
        labels = _ask({"task": "catalog", "path": str(path), "encoding": encoding})["labels"]
    except ParserFailedError:
        raise FormatError(
            expected=f"a SAS catalog of formats in {quoted(path.name)}",
            came="something else, or a damaged file",
            do="give the .sas7bcat file that belongs to the data",
        ) from None
    return {name: labels[of] for name, of in label_sets.items() if of in labels}


@contextmanager
def _damaged_if_parser_fails(source: SourceFile | RemoteFile) -> Iterator[None]:
    try:
        yield
    except ParserFailedError:
        _check_unchanged(source)
        raise _damaged(source) from None


def _damaged(source: SourceFile | RemoteFile) -> FormatError:
    return FormatError(
        expected=f"a complete {source.kind} file {quoted(source.name)}",
        came="a damaged or cut off file",
        do="copy or export the file again",
    )


def _ask(request: Mapping[str, Any]) -> dict[str, Any]:
    """Send a request that has a single reply."""
    ((reply, _),) = _replies(request)
    return reply


def _replies(request: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Send a request to the parser process and give its replies with the bytes that follow each."""
    with PARSER.lent() as (process, done):
        requests, replies = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        try:
            requests.write(json.dumps(request).encode("ascii") + b"\n")
            requests.flush()
            while True:
                reply = json.loads(replies.readline())
                content = replies.read(reply["n_bytes"])
                if len(content) < reply["n_bytes"]:
                    raise ParserFailedError
                if reply.get("last", True):
                    done.set()
                if reply.get("failed"):
                    raise ParserFailedError
                if "refused" in reply:
                    raise ColumnError(*reply["refused"]).about(reply["column"])
                yield reply, content
                if reply["last"]:
                    return
        except (OSError, json.JSONDecodeError):  # the process has died
            raise ParserFailedError from None


class ParserProcess:
    """The child process: started when first needed, used again, replaced when it has died."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._parent = 0

    @contextmanager
    def lent(self) -> Iterator[tuple[subprocess.Popen[bytes], threading.Event]]:
        """Lend the process for a request; stop it unless the event says that it was answered."""
        with self._lock:
            process = self._process
            if process is None or process.poll() is not None or self._parent != os.getpid():
                self._stop()
                process = self._process = self._started()
                self._parent = os.getpid()
            done = threading.Event()
            try:
                yield process, done
            finally:
                if not done.is_set():
                    self._stop()

    def _started(self) -> subprocess.Popen[bytes]:
        home = str(Path(__file__).parents[2])  # where this package lies
        path = [home, *(entry for entry in sys.path if isinstance(entry, str) and entry)]
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-W", "ignore", "-c", START, json.dumps(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None or self._parent != os.getpid():
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        process.wait()


PARSER = ParserProcess()
atexit.register(PARSER._stop)
