"""The few drawings that may leave the house: summaries of whole sets, as PNG without any metadata.

Nothing in them belongs to a record, a pattern or a small count: sums over whole tables against
their noise floor, and places between the reference levels.
"""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING

from understudy.errors import InputError, nearest, quoted, quoted_list
from understudy.findings.schema import Findings
from understudy.pages.plots.canvas import drawing, series_styles
from understudy.pages.plots.deviations import draw_deviations
from understudy.pages.plots.positions import risk_positions
from understudy.pages.plots.risk_plots import draw_positions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["public_figures", "without_metadata"]

DOTS = 200  # per inch
KEPT = (b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS")


def public_figures(findings: Findings, name: str) -> dict[str, bytes]:
    """Draw what may be published about one synthesizer's sets.

    Parameters
    ----------
    findings : Findings
        What the study found.
    name : str
        The synthesizer whose sets are released; nothing about others is drawn.

    Returns
    -------
    dict of str to bytes
        PNG files by file name: ``table-deviation.png``, and ``risk-place.png`` where risk was
        measured.
    """
    names = [one.name for one in findings.synthesizers]
    if name not in names:
        raise InputError(
            expected=f"one of the synthesizers {quoted_list(names)}",
            came=f"{quoted(name)}{nearest(name, names)}",
            do="use a name from the list",
        )
    chosen = tuple(one for one in findings.synthesizers if one.name == name)
    alone = findings.model_copy(update={"synthesizers": chosen})
    styles = series_styles(alone)
    drawn = {}
    n_orders = len(chosen[0].utility.tables.orders)
    with drawing(width=5.2, height=0.9 + 0.34 * n_orders) as (canvas, (axes,)):
        draw_deviations(axes, alone, styles, digits=2)  # as rounded for the public
        drawn["table-deviation.png"] = _png(canvas)
    rows = [row for row in risk_positions(alone, styles) if row.places[0][1] is not None]
    if rows:
        with drawing(width=5.2, height=0.95 + 0.34 * len(rows)) as (canvas, (axes,)):
            draw_positions(axes, rows, None)
            axes.set_title("Risk, between the reference levels Min and Max")
            drawn["risk-place.png"] = _png(canvas)
    return drawn


def _png(canvas: Figure) -> bytes:
    target = io.BytesIO()
    canvas.savefig(target, format="png", dpi=DOTS, facecolor="white", metadata={"Software": None})
    return without_metadata(target.getvalue())


def without_metadata(png: bytes) -> bytes:
    """Keep only the chunks of a PNG that hold the picture: no text, no time, no resolution."""
    kept, place = [png[:8]], 8
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        end = place + 12 + length
        if png[place + 4 : place + 8] in KEPT:
            kept.append(png[place:end])
        place = end
    return b"".join(kept)
