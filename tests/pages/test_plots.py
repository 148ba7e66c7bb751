"""Drawings: safe, described, in the page's colours; public ones without anything inside."""

from __future__ import annotations

import re
import struct
import zlib
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from tests import findings_factory as making

from understudy.errors import InputError
from understudy.findings.label_schema import LabelCounts, PairCounts
from understudy.findings.schema import Coefficient, Findings, Histogram, Trace
from understudy.pages.plots import bare_png, frontier_plot, public_figures
from understudy.pages.plots.canvas import LIGHT, drawing, series_styles, svg_of, valued
from understudy.pages.plots.coefficients import by_disagreement, changed_significances, smoothed
from understudy.pages.plots.deviations import density, moments
from understudy.pages.plots.interval_strips import StripRow, interval_svg
from understudy.pages.plots.label_bars import bar_figures, heat_figures
from understudy.pages.plots.marks import WIDTH, nice_ticks
from understudy.pages.plots.pattern_panels import panel_svg
from understudy.pages.plots.risk_plots import baseline_svg
from understudy.pages.plots.traces import trace_svg
from understudy.pages.plots.zone_map import MapPoint, zone_map_svg
from understudy.verdict.thresholds import Thresholds


def chunks(png: bytes) -> list[bytes]:
    """List the kinds of chunks, and check their sums."""
    kinds, offset = [], 8
    while offset < len(png):
        (length,) = struct.unpack(">I", png[offset : offset + 4])
        kind = png[offset + 4 : offset + 8]
        (checked,) = struct.unpack(">I", png[offset + 8 + length : offset + 12 + length])
        assert zlib.crc32(png[offset + 4 : offset + 8 + length]) == checked
        kinds.append(kind)
        offset += 12 + length
    return kinds


def test_a_drawing_is_clean() -> None:
    text = 'a <b> $x$ #b04a00 id="a" 1.23456789'
    with drawing() as (figure, (axes,)):
        axes.plot([0, 1], [0, 1], color=LIGHT["dpmpm"], marker="o")
        axes.set_title(text)
        svg = svg_of(figure, "one", "Title <i>", "What & why")
    tree = ET.fromstring(svg)  # noqa: S314 - our own text
    assert tree.get("role") == "img"
    assert text in [element.text for element in tree.iter("text")]
    assert tree.findtext("title") == "Title <i>"
    assert tree.findtext("desc") == "What & why"
    assert "var(--dpmpm)" in svg
    ids = [element.get("id") or "one-" for element in tree.iter()]
    assert all(name.startswith("one-") for name in ids)
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
    styles = series_styles(made)
    assert [style.variable for style in styles] == ["dpmpm", "areal", "dpmpm", "ink"]
    assert len({(style.variable, str(style.dashes)) for style in styles}) == 4


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
    synthesizer = study.synthesizers[0]
    bare = synthesizer.model_copy(
        update={
            "risk": synthesizer.risk.model_copy(
                update={
                    "identification": tuple(
                        intruder.model_copy(update={"patterns": (), "records": ()})
                        for intruder in synthesizer.risk.identification
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
    synthesizer = making.synthesizer(identification=(), attribute=None, own_record=None)
    assert set(public_figures(making.findings([synthesizer]), "one")) == {"table-deviation.png"}


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


def values(svg: str) -> list[str]:
    """List the numbers in words that a drawing shows where a reader points."""
    tree = ET.fromstring(svg)  # noqa: S314 - our own text
    return [element.get("data-v") or "" for element in tree.iter() if element.get("class") == "v"]


HOSTILE = '"><script>&\u202e var(--x) #b04a00'


def test_marks_carry_their_numbers_in_words() -> None:
    with drawing() as (figure, (axes,)):
        (mark,) = axes.plot([0, 1], [0, 1], color=LIGHT["dpmpm"])
        valued(mark, f"{HOSTILE} 1.23456")
        svg = svg_of(figure, "one", "t", "d")
    assert values(svg) == ['"><script>&\\u202e var(--x) #b04a00 1.23456']
    assert "<script" not in svg


def test_bars_have_the_original_the_mean_and_the_spread() -> None:
    counts = LabelCounts(
        name="town",
        levels=tuple("abc"),
        original=(40, 20, 10),
        synthetic=(30.0, 20.0, 20.0),
        lowest=(20, 10, 20),
        highest=(40, 30, 20),
    )
    style = series_styles(making.findings())[0]
    (svg,) = bar_figures(counts, ["A", HOSTILE, "C"], style, "bars")
    told = values(svg)
    assert told[0] == "A: original 40; synthetic 30.0 (20 to 40 over the sets)"
    assert len(told) == 3
    tree = ET.fromstring(svg)  # noqa: S314 - our own text
    widths = [float(element.get("width") or 0) for element in tree.iter("rect")]
    assert widths[1] / widths[2] == pytest.approx(40 / 30, rel=0.01)  # after the row itself
    assert widths[4] / widths[1] == pytest.approx(20 / 40, rel=0.01)
    many = counts.model_copy(
        update={name: getattr(counts, name) * 7 for name in ("levels", "original", "synthetic",
                                                             "lowest", "highest")}
    )  # fmt: skip
    drawn = bar_figures(many, ["A"] * 21, style, "bars")
    assert [len(values(drawing)) for drawing in drawn] == [11, 10]
    assert bar_figures(counts, [], style, "bars") == []


def test_the_heat_map_marks_what_chance_does_not_explain() -> None:
    pair = PairCounts(name="town", other="sex", levels=("a", "b"), other_levels=("f", "m"),
                      original=((100, 0), (10, 10)), synthetic=((20.0, 0.0), (60.0, 10.0)),
                      n_cells=3, n_far=2)  # fmt: skip
    (svg,) = heat_figures([(pair, ["A", "B"], ["F", HOSTILE])], 4, "heat")
    assert len(values(svg)) == 4
    assert "A, sex F: original 100, synthetic 20.0; −11.9 s.d." in values(svg)[0]
    tree = ET.fromstring(svg)  # noqa: S314 - our own text
    signs = [element.text for element in tree.iter("text") if element.text in ("+", "−")]
    assert signs == ["−", "+"]
    ones = {"original": ((1,) * 20,) * 2, "synthetic": ((1.0,) * 20,) * 2}
    wide = pair.model_copy(update={"other_levels": tuple("abcdefghijklmnopqrst"), **ones})
    drawn = heat_figures([(wide, ["A", "B"], list("abcdefghijklmnopqrst"))] * 2, 4, "heat")
    assert sum(len(values(drawing)) for drawing in drawn) == 80
    assert all(f'width="{WIDTH}"' in drawing for drawing in drawn)


def test_interval_strips_have_names_axis_and_numbers() -> None:
    rows = [StripRow("Min", "min", 2.0, 1.0, 3.0), StripRow("ONE", "dpmpm", 12.5, 8.0, 20.0)]
    svg = interval_svg("Right matches", "people", rows, None, "strip")
    assert svg is not None
    assert values(svg) == ["Min: 2.0, from 1.0 to 3.0", "ONE: 12.5, from 8.0 to 20.0"]
    tree = ET.fromstring(svg)  # noqa: S314 - our own text
    words = [element.text for element in tree.iter("text")]
    assert {"Right matches", "people", "Min", "ONE", "2.0", "12.5"} <= set(words)
    assert interval_svg("t", "x", rows[:1], None, "strip") is None
    same = [StripRow(name, "min", 1.0, 1.0, 1.0) for name in "ab"]
    assert interval_svg("t", "x", same, None, "strip") is None


def test_ticks_are_round_and_inside() -> None:
    assert nice_ticks(0, 10) == [0, 2.5, 5, 7.5, 10]
    assert nice_ticks(0.9, 3.1, 3) == [1, 2, 3]
    assert nice_ticks(2, 2) == [2]


def test_the_map_says_in_which_zone_a_point_lies() -> None:
    points = [MapPoint("A", "dpmpm", "o", 1.2, 0.2, 0.05), MapPoint("B", "areal", "s", 2.0, 0.1),
              MapPoint("C", "max", "X", 0.7, 1.5)]  # fmt: skip
    svg = zone_map_svg(points, Thresholds(), "map")
    assert svg is not None
    assert [words.rsplit("(", 1)[1] for words in values(svg)] == ["pass)", "review)", "fail)"]
    assert zone_map_svg([], Thresholds(), "map") is None


def coefficient(name: str, original: float, combined: float, overlap: float | None) -> Coefficient:
    return Coefficient(name=name, original=original, original_lower=original - 1,
                       original_upper=original + 1, combined=combined, combined_lower=combined - 1,
                       combined_upper=combined + 1, overlap=overlap, overlap_floor=None,
                       note=None)  # fmt: skip


def test_coefficients_are_sorted_by_disagreement_and_changes_are_counted() -> None:
    rows = (
        coefficient("same", 2.0, 2.0, 1.0),
        coefficient("lost", 2.0, 0.5, 0.25),
        coefficient("gained", 0.0, -2.0, 0.0),
        coefficient("unknown", 0.5, 0.5, None),
    )
    regression = making.regression().model_copy(update={"coefficients": rows})
    assert [row.name for row in by_disagreement(regression)] == [
        "gained",
        "lost",
        "same",
        "unknown",
    ]
    assert changed_significances(regression) == (2, 4)
    absent = rows[0].model_copy(update={"combined": None, "combined_lower": None})
    some = regression.model_copy(update={"coefficients": (*rows[1:], absent)})
    assert [row.name for row in by_disagreement(some)] == ["gained", "lost", "unknown"]
    assert len(by_disagreement(some, every=True)) == 4
    assert changed_significances(some) == (2, 3)


def test_the_frontiers_scale_is_wider_near_the_truth_and_can_be_turned_round() -> None:
    """So that 5 % from the truth's own deviation are seen beside a tenfold one."""
    ratios = np.array([0.3, 0.95, 1.0, 1.05, 1.3, 12.0])
    heights = frontier_plot._height(ratios)
    assert (np.diff(heights) > 0).all()
    assert heights[2] == 0.0
    assert frontier_plot._height(1 / ratios) == pytest.approx(-heights)
    assert frontier_plot._ratio(heights) == pytest.approx(ratios)
    assert (heights[3] - heights[2]) / (heights[5] - heights[2]) > 0.1  # 0.02 of the logarithms
    assert np.isfinite(frontier_plot._height(0.0))  # an error bar that reaches below


def test_wide_names_have_room() -> None:
    """Capitals, m and w, and letters as broad as high take more than others."""
    style = series_styles(making.findings())[0]
    counts = LabelCounts(name="town", levels=("a",), original=(4,), synthetic=(3.0,), lowest=(2,),
                         highest=(4,))  # fmt: skip
    begins = []
    for name in ("iiiii", "WWWWW", "日本日本日"):
        (svg,) = bar_figures(counts, [name], style, "bars")
        begins.append(float(re.findall(r'<rect x="([\d.]+)"', svg)[1]))
    assert begins == [8 + 5 * 7.5, 8 + 5 * 10.0, 8 + 5 * 13.0]


def test_four_chains_have_four_strokes() -> None:
    """Told apart by dashes and weight, without colours."""
    style = series_styles(making.findings())[0]
    values = tuple(tuple(float(chain + draw % 5) for draw in range(30)) for chain in range(4))
    ranks = ((6.0,) * 5,) * 4
    trace = Trace(quantity="log_score", draws=tuple(range(1, 31)), values=values, ranks=ranks)
    drawn = ET.fromstring(trace_svg(trace, style, "t"))  # noqa: S314 - our own text
    lines = [
        dict(part.split(": ", 1) for part in element.get("style", "").split("; "))
        for element in drawn.iter("path")
        if f"stroke: var(--{style.variable})" in element.get("style", "")
    ]
    strokes = [(look.get("stroke-dasharray"), look.get("stroke-width")) for look in lines]
    assert len(set(strokes)) == 4
    assert all(strokes.count(stroke) >= 3 for stroke in strokes)  # trace, its name, ranks
