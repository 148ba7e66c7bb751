"""Drawings: safe, described, in the page's colours; public ones without anything inside."""

from __future__ import annotations

import struct
import zlib
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from tests import findings_factory as making

from understudy.errors import InputError
from understudy.findings.schema import Findings, Histogram
from understudy.pages.plots import bare_png, public_figures
from understudy.pages.plots.canvas import LIGHT, drawing, series_styles, svg_of
from understudy.pages.plots.coefficients import smoothed
from understudy.pages.plots.deviations import density, moments
from understudy.pages.plots.pattern_panels import panel_svg
from understudy.pages.plots.risk_plots import baseline_svg


def chunks(png: bytes) -> list[bytes]:
    """List the kinds of chunks, and check their sums."""
    found, place = [], 8
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        kind = png[place + 4 : place + 8]
        (checked,) = struct.unpack(">I", png[place + 8 + length : place + 12 + length])
        assert zlib.crc32(png[place + 4 : place + 8 + length]) == checked
        found.append(kind)
        place += 12 + length
    return found


def test_a_drawing_is_clean() -> None:
    text = 'a <b> $x$ #b04a00 id="a" 1.23456789'
    with drawing() as (figure, (axes,)):
        axes.plot([0, 1], [0, 1], color=LIGHT["dpmpm"], marker="o")
        axes.set_title(text)
        svg = svg_of(figure, "one", "Title <i>", "What & why")
    tree = ET.fromstring(svg)  # noqa: S314 - our own text
    assert tree.get("role") == "img"
    assert text in [one.text for one in tree.iter("text")]
    assert tree.findtext("title") == "Title <i>"
    assert tree.findtext("desc") == "What & why"
    assert "var(--dpmpm)" in svg
    ids = [one.get("id") or "one-" for one in tree.iter()]
    assert all(one.startswith("one-") for one in ids)
    for unwanted in ("metadata", "<style", "<!--", "DejaVu", "xlink", "Date"):
        assert unwanted not in svg


def test_the_same_drawing_twice() -> None:
    def draw() -> str:
        with drawing() as (figure, (axes,)):
            axes.hist(np.arange(10.0))
            return svg_of(figure, "same", "t", "d")

    first = draw()
    assert draw() == first
    with mpl.rc_context({"axes.grid": True, "font.size": 20}):  # a reader's own settings
        assert draw() == first


def test_colours_and_dashes_tell_synthesizers_apart() -> None:
    made = making.findings(
        [
            making.synthesizer(name, kind=kind)
            for name, kind in (("a", "dpmpm"), ("b", "areal"), ("c", "dpmpm"), ("d", "other"))
        ]
    )
    found = series_styles(made)
    assert [one.variable for one in found] == ["dpmpm", "areal", "dpmpm", "ink"]
    assert len({(one.variable, str(one.dashes)) for one in found}) == 4


def test_one_panel_is_small(study: Findings) -> None:
    shares = study.synthesizers[0].utility.within.shares[1]
    assert shares is not None
    style = series_styles(study)[0]
    svg = panel_svg("p", "<pattern>", [(style, shares)], 133, 0.2)
    assert len(svg) < 4_000
    tree = ET.fromstring(svg)  # noqa: S314 - our own text
    assert tree.findtext("title") == "<pattern>"


def test_baselines_need_something_to_draw() -> None:
    style = series_styles(making.findings())[0]
    same = making.spread(0.0, 0.0)
    assert baseline_svg("t", same, same, [(style, same)], "n") is None
    nothing = making.spread(None, None)
    assert baseline_svg("t", nothing, nothing, [(style, nothing)], "n") is None
    assert baseline_svg("t", None, making.spread(1.0, 2.0), [(style, nothing)], "n") is not None


def test_densities() -> None:
    histogram = Histogram(edges=(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5), counts=(1, 2, 4, 2, 1))
    mean, spread, exact = moments(histogram)
    assert (mean, exact) == (0.0, 0.4)
    assert spread == pytest.approx(np.sqrt((4 + 2 + 2 + 4) / 10))
    centres, shares, again = density(histogram, 2.5)
    assert again == spread
    assert float(shares.sum() * (centres[1] - centres[0])) == pytest.approx(1.0)
    assert moments(Histogram(edges=(), counts=())) == (0.0, 0.0, 1.0)
    assert density(Histogram(edges=(), counts=()), 1.0)[2] == 0.0
    centres, shares = smoothed(Histogram(edges=(0, 1, 2, 3), counts=(0, 3, 0)))
    assert float(shares.sum()) == pytest.approx(1.0)


def test_public_drawings_hold_pictures_only(study: Findings) -> None:
    drawn = public_figures(study, "dpmpm")
    assert set(drawn) == {"table-deviation.png"}
    for png in drawn.values():
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        assert set(chunks(png)) == {b"IHDR", b"IDAT", b"IEND"}
        assert len(png) < 200_000
    assert drawn == public_figures(study, "dpmpm")
    with pytest.raises(InputError, match="nearest"):
        public_figures(study, "dpmp")


def test_public_drawings_do_not_depend_on_records(study: Findings) -> None:
    """Patterns, records, panels and other synthesizers may change: the drawings do not."""
    one = study.synthesizers[0]
    bare = one.model_copy(
        update={
            "risk": one.risk.model_copy(
                update={
                    "identification": tuple(
                        found.model_copy(update={"patterns": (), "records": ()})
                        for found in one.risk.identification
                    )
                }
            )
        }
    )
    other = study.model_copy(
        update={
            "synthesizers": (bare,),
            "title": "another",
            "data": study.data.model_copy(update={"patterns": ()}),
        }
    )
    assert public_figures(other, "dpmpm") == public_figures(study, "dpmpm")


def test_deviations_are_drawn_where_there_is_no_risk() -> None:
    one = making.synthesizer(identification=(), attribute=None, own_record=None)
    assert set(public_figures(making.findings([one]), "one")) == {"table-deviation.png"}


def test_text_chunks_are_dropped() -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    png = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", b"1")
        + chunk(b"tEXt", b"secret")
        + chunk(b"IEND", b"")
    )
    assert chunks(bare_png(png)) == [b"IHDR", b"IEND"]
