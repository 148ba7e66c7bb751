"""What the tests of the release share: a study that may leave, and a place for it to go."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from tests.publishing.fake_study import Study
from understudy.findings.schema import Findings
from understudy.pages import plots as figures


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
def _plots(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put quick pictures in place of the plots, except where a test asks for `real_plots`."""
    if "real_plots" in request.fixturenames:
        return

    def quick(findings: Findings, name: str) -> dict[str, bytes]:
        assert name == findings.synthesizers[0].name
        return {"tables.png": picture(repr(findings).encode())}

    monkeypatch.setattr(figures, "public_figures", quick)


@pytest.fixture
def real_plots() -> None:
    """Ask for the plots of the report."""


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Give a study that may leave; change it and seal it again to plant a fault."""
    return Study(tmp_path / "study").seal()


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """Give a place that is still free."""
    return tmp_path / "public"
