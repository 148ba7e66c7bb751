"""An intruder's eye: looks for a token in every public byte, however it is packed or written."""

from __future__ import annotations

import base64
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import polars as pl

__all__ = ["disguises", "places", "png_parts"]


def disguises(token: str) -> dict[str, bytes]:
    """Write a token in the ways in which it may stand in a file."""
    plain = token.encode()
    ways = {
        "plain": plain,
        "lower": token.lower().encode(),
        "upper": token.upper().encode(),
        "reversed": plain[::-1],
        "utf-16-le": token.encode("utf-16-le"),
        "utf-16-be": token.encode("utf-16-be"),
        "hex": plain.hex().encode(),
        "HEX": plain.hex().upper().encode(),
        "percent": "".join(f"%{byte:02X}" for byte in plain).encode(),
        "entities": "".join(f"&#{byte};" for byte in plain).encode(),
    }
    for shift in range(3):  # the three ways in which a token can lie in base64
        packed = base64.b64encode(b"\0" * shift + plain + b"\0" * 2)
        ways[f"base64 {shift}"] = packed[shift + 1 : -4]
    return ways


def places(folder: Path, token: str) -> list[str]:
    """List where a token can be found: in names of files, or in their unpacked content."""
    looks = disguises(token)
    listed = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        contents = [("name", name.encode())]
        if path.is_file():
            contents += list(_unpacked(path.read_bytes()))
        listed += [
            f"{name}: {how}, {look}"
            for how, content in contents
            for look, bytes_ in looks.items()
            if bytes_ in content
        ]
    return listed


def _unpacked(content: bytes) -> Iterator[tuple[str, bytes]]:
    yield "bytes", content
    if content[:2] == b"\x1f\x8b":
        yield from _unpacked(gzip.decompress(content))
    if content[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield "zip name", name.encode()
                yield from _unpacked(archive.read(name))
    if content[:8] == b"\x89PNG\r\n\x1a\n":
        for kind, body in png_parts(content):
            yield f"PNG {kind!r}", body
            if kind == b"IDAT":
                yield "pixels", zlib.decompressobj().decompress(body)
    if content[:4] == b"PAR1":
        raw = io.BytesIO(content)
        yield "parquet remarks", repr(pl.read_parquet_metadata(raw)).encode()
        frame = pl.read_parquet(raw)
        yield "parquet types", repr(frame.schema).encode()
        yield "parquet values", repr(frame.to_dict(as_series=False)).encode()
    for packed in re.findall(rb"base64,([A-Za-z0-9+/=]+)", content):
        yield from _unpacked(base64.b64decode(packed))


def png_parts(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Take a picture apart into its chunks."""
    offset = 8
    while offset < len(content):
        length = int.from_bytes(content[offset : offset + 4], "big")
        yield content[offset + 4 : offset + 8], content[offset + 8 : offset + 8 + length]
        offset += 12 + length
