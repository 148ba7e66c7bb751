"""What the tests of the release share: a study that may leave, and a place for it to go."""

from __future__ import annotations

import struct
import sys
import types
import zlib
from pathlib import Path

import pytest

from tests.release.fake_study import Study


def picture(remark: bytes = b"") -> bytes:
    """Draw one grey pixel, with a remark that must not leave."""

    def part(kind: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + check

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    parts = [part(b"IHDR", head), part(b"tEXt", b"Author\0" + remark)]
    parts += [part(b"IDAT", zlib.compress(b"\0\x80")), part(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.fixture(autouse=True)
def _plots(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("understudy.report.figures")
    module.public_figures = lambda found, name: {  # type: ignore[attr-defined]
        "tables.png": picture(repr(found).encode())
    }
    monkeypatch.setitem(sys.modules, "understudy.report.figures", module)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Give a study that may leave; change it and seal it again to plant a fault."""
    return Study(tmp_path / "study").seal()


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """Give a place that is still free."""
    return tmp_path / "public"
