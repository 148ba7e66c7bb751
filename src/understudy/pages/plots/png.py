"""The few drawings that may become public: summaries of whole sets, as PNG without any metadata.

Nothing in them belongs to a record, a pattern or a small count: sums over whole tables against
what a synthesizer that knew the population would score.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from understudy.errors import InputError, OutputError, nearest, quoted, quoted_list
from understudy.findings.schema import Findings
from understudy.pages.plots.canvas import drawing, series_styles
from understudy.pages.plots.deviations import draw_deviations

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["bare_png", "public_figures"]

DOTS = 200  # per inch
START = b"\x89PNG\r\n\x1a\n"
KEPT = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"}  # chunks that are needed to draw it


def public_figures(findings: Findings, name: str) -> dict[str, bytes]:
    """Draw what may be published about one synthesizer's sets, and nothing about others.

    Gives PNG files by file name: ``table-deviation.png``.
    """
    names = [synthesizer.name for synthesizer in findings.synthesizers]
    if name not in names:
        raise InputError(
            expected=f"one of the synthesizers {quoted_list(names)}",
            came=f"{quoted(name)}{nearest(name, names)}",
            do="use a name from the list",
        )
    released = tuple(
        synthesizer for synthesizer in findings.synthesizers if synthesizer.name == name
    )
    alone = findings.model_copy(update={"synthesizers": released})
    styles = series_styles(alone)
    drawn = {}
    n_orders = len(released[0].utility.tables.orders)
    with drawing(width=5.2, height=0.9 + 0.34 * n_orders) as (canvas, (axes,)):
        draw_deviations(axes, alone, styles, digits=2)  # as rounded for the public
        drawn["table-deviation.png"] = _png(canvas)
    return drawn


def _png(canvas: Figure) -> bytes:
    target = io.BytesIO()
    canvas.savefig(target, format="png", dpi=DOTS, facecolor="white", metadata={"Software": None})
    return bare_png(target.getvalue())


def bare_png(content: bytes) -> bytes:
    """Keep of a PNG file what is needed to draw it: no texts, times, programs or remarks."""
    parts = [START]
    for kind, body in _chunks(content):
        if kind in KEPT:
            check = zlib.crc32(kind + body).to_bytes(4, "big")
            parts.append(len(body).to_bytes(4, "big") + kind + body + check)
    return b"".join(parts)


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    start, kind = len(START), b""
    complete = content.startswith(START)
    while complete and kind != b"IEND":
        length = int.from_bytes(content[start : start + 4], "big")
        kind = content[start + 4 : start + 8]
        complete = start + 12 + length <= len(content)
        yield kind, content[start + 8 : start + 8 + length]
        start += 12 + length
    if not complete:
        raise OutputError(
            expected="figures as complete PNG files",
            came="something else",
            do="nothing was released; please report this fault",
        )
