"""What runs in the parser process: Parquet, SAS, Stata and SPSS files become codes.

The libraries that parse these formats are written in C and Rust, and a damaged file can end the
process they run in. So they run in a process of their own, which `parser_parent` starts and talks
to. A request is a line of JSON on standard input. A reply is a line of JSON on standard output,
followed by as many bytes as it says; the last reply to a request says so. No parser's message is
passed on, because it may hold values.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import polars as pl

from understudy.errors import ColumnError
from understudy.microdata.column_coder import check_type, code_frame, codes_of, declared_levels
from understudy.microdata.statistical_formats import (
    catalog_labels,
    code_statistical,
    describe_statistical,
    statistical_values,
)
from understudy.microdata.variable import LABELS_KEY

__all__ = ["serve"]

Reply = tuple[dict[str, Any], bytes]


def serve() -> None:
    """Answer requests until standard input is closed."""
    with suppress(ImportError):  # Windows has none
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would hold confidential data
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    with suppress(OSError):  # out of memory, the system should end this process, not the parent
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no reply
    for line in sys.stdin.buffer:
        _serve_request(json.loads(line), replies)


def _serve_request(request: dict[str, Any], replies: IO[bytes]) -> None:
    tasks: dict[str, Callable[..., Iterator[Reply]]]
    tasks = {"describe": _describe, "catalog": _catalog, "read": _read, "values": _values}
    task = tasks[request.pop("task")]
    try:
        for reply, content in task(**request):
            _send(replies, reply, content)
    except ColumnError as problem:
        parts = (problem.expected, problem.came, problem.do)
        _send(replies, {"refused": parts, "column": problem.column})
    except Exception:  # noqa: BLE001
        _send(replies, {"failed": True})
    except BaseException:  # noqa: BLE001  a panic in Rust: the process cannot be relied on
        os._exit(1)


def _send(replies: IO[bytes], reply: dict[str, Any], content: bytes = b"") -> None:
    replies.write(json.dumps({**reply, "n_bytes": len(content)}).encode("ascii") + b"\n")
    replies.write(content)
    replies.flush()


def _describe(path: str, kind: str, encoding: str | None) -> Iterator[Reply]:
    if kind != "parquet":
        yield {"last": True, "declared": {}, **describe_statistical(path, kind, encoding)}, b""
        return
    footer = _footer(path)
    schema = pl.Schema(pl.read_parquet_schema(footer))
    stored = json.loads(pl.read_parquet_metadata(footer).get(LABELS_KEY, "{}"))
    labels = {name: texts for name, texts in stored.items() if isinstance(texts, dict)}
    types = {name: str(dtype).partition("(categories")[0] for name, dtype in schema.items()}
    about = {"names": list(schema), "types": types, "declared": declared_levels(schema)}
    yield {"last": True, "labels": labels, **about}, b""


def _catalog(path: str, encoding: str | None) -> Iterator[Reply]:
    yield {"last": True, "labels": catalog_labels(path, encoding)}, b""


def _read(
    path: str, kind: str, encoding: str | None, columns: Sequence[str], n_rows: int
) -> Iterator[Reply]:
    if kind == "parquet":
        coders, batches = code_frame(_scan(path), columns)
    else:
        coders, batches = code_statistical(path, kind, encoding, columns, n_rows)
    for batch in batches:
        yield {"last": False}, codes_of(batch).tobytes()
    yield {"last": True, "columns": [(coder.kind, coder.levels) for coder in coders]}, b""


def _values(
    path: str, kind: str, encoding: str | None, columns: Sequence[str], n_rows: int
) -> Iterator[Reply]:
    """Send columns as they are: those that pass through."""
    frames: Iterable[pl.DataFrame]
    if kind == "parquet":
        frame = _scan(path).select(columns)
        for name, dtype in frame.collect_schema().items():
            check_type(name, dtype)
        batches = frame.collect_batches(chunk_size=n_rows, maintain_order=True)
        frames = itertools.chain([frame.head(0).collect()], batches)  # one where there is no row
    else:
        frames = statistical_values(path, kind, encoding, columns, n_rows)
    for batch in frames:
        buffer = io.BytesIO()
        batch.write_ipc_stream(buffer)
        yield {"last": False}, buffer.getvalue()
    yield {"last": True}, b""


def _scan(path: str) -> pl.LazyFrame:
    source: str | io.BytesIO = path
    if "://" in path:
        with _remote(path) as file:
            source = io.BytesIO(file.read())
    return pl.scan_parquet(source, glob=False, hive_partitioning=False)


def _footer(path: str) -> str | io.BytesIO:
    """Give what describes a Parquet file: its path, or the end of a file that is elsewhere."""
    if "://" not in path:
        return path
    with _remote(path) as file:
        file.seek(-8, os.SEEK_END)
        length = int.from_bytes(file.read(4), "little")
        file.seek(-8 - length, os.SEEK_END)
        return io.BytesIO(b"PAR1" + file.read())


def _remote(address: str) -> Any:
    import fsspec

    files, path = fsspec.url_to_fs(address)
    return files.open(path, "rb")
