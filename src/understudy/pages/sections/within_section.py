"""The chapter on labels within patterns: distances, and a panel for every pattern."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.findings.schema import Findings, PatternShares
from understudy.pages.blocks import (
    AREA,
    Block,
    Column,
    Figure,
    Panel,
    Panels,
    Section,
    Table,
    name_cell,
    number_cell,
    percent_cell,
)
from understudy.pages.plots.canvas import SeriesStyle, series_styles
from understudy.pages.plots.pattern_panels import distances_svg, panel_svg, svg_dashes
from understudy.pages.sections.utility_section import unconverged
from understudy.summaries import short, shown

__all__ = ["label_words", "level_names", "within_section"]

MOST_LABELS = 8  # in a panel's table
ENOUGH = 5  # times the size of a small pattern: those that set the scale of the panels


def within_section(findings: Findings, small: int) -> Section | None:
    """Show whether the labels of each pattern keep their distribution."""
    if not findings.data.patterns:
        return None
    styles = series_styles(findings)
    every = list(zip(findings.synthesizers, styles, strict=True))
    highest = max((max(one.utility.within.distance, default=0.0) for one, _ in every), default=0.0)
    data = findings.data
    return Section(
        key="within",
        title="Labels within patterns",
        lead="A pattern is one combination of the kept variables. What the labels look like inside "
        "each is what a synthesizer smooths, and what a reader of the released data will look at.",
        blocks=[
            Block(
                title="Distance of every pattern",
                reading="The distance is the share of a pattern's records whose label would have "
                "to change to get the original's distribution back (total variation); a dash "
                "in green is its noise floor, what chance alone makes of it for a perfect "
                f"synthesizer. The shaded part holds patterns with fewer than {small} records.",
                figures=[
                    Figure(distances_svg(findings, one, look, highest, small, f"distances-{place}"))
                    for place, (one, look) in enumerate(every)
                ],
                tables=[_patterns(findings)],
                remarks=_left_out(len(data.patterns), data.n_patterns, "are listed", "the largest"),
                affected=unconverged(findings),
            ),
            _panel_block(findings, styles, small),
        ],
    )


def _left_out(listed: int, number: int, what: str, which: str) -> list[str]:
    if number <= listed:
        return []
    return [f"{listed:,} of {number:,} patterns {what}: {which}."]


def _panel_block(findings: Findings, styles: list[SeriesStyle], small: int) -> Block:
    """A panel for each pattern, to be picked and sorted."""
    pairs = list(zip(findings.synthesizers, styles, strict=True))
    shares: dict[int, list[tuple[SeriesStyle, PatternShares]]] = {}
    for one, look in pairs:
        for place, found in enumerate(one.utility.within.shares):
            if found is not None:
                shares.setdefault(place, []).append((look, found))
    top = _highest(findings, shares, small)
    reach = max((len(found.labels) for row in shares.values() for _, found in row), default=1)
    panels = [
        _panel(findings, place, row, min(reach, findings.data.n_labels), top, small)
        for place, row in sorted(shares.items())
    ]
    return Block(
        title="A panel for every pattern",
        reading="Labels stand from left to right by their share in the original, which is grey and "
        "falls; a synthesizer's line is its mean share over the sets. A line that is flatter than "
        "the grey has smoothed the labels of this pattern. The scale is that of square roots, "
        "the same in all panels, so that chance makes the same wiggle everywhere; patterns of few "
        "records go beyond it. Small patterns have a dashed line above them. "
        + " ".join(
            _left_out(
                len(panels),
                findings.data.n_patterns,
                "have a panel",
                "the largest, and those farthest above their noise floor",
            )
        ),
        panels=Panels(SORTS, panels, [("original", "original", AREA), *map(_key, styles)]),
        affected=unconverged(findings),
    )


def _highest(
    findings: Findings, shares: dict[int, list[tuple[SeriesStyle, PatternShares]]], small: int
) -> float:
    """Largest share in patterns that are not small, which would set the scale for all."""
    enough = ENOUGH * max(1, small)
    large = [
        row for at, row in shares.items() if findings.data.patterns[at].records >= enough
    ] or list(shares.values())
    every = [found for row in large for _, found in row]
    return max((max((*one.original, *one.synthetic)) for one in every if one.labels), default=1.0)


SORTS = (
    ("place rising", "order of the codebook"),
    ("size falling", "size, largest first"),
    ("size rising", "size, smallest first"),
    ("distance falling", "distance, largest first"),
    ("excess falling", "excess over the noise floor"),
)


def _key(look: SeriesStyle) -> tuple[str, str, str]:
    return look.title, look.variable, svg_dashes(look)


def _panel(
    findings: Findings,
    place: int,
    row: list[tuple[SeriesStyle, PatternShares]],
    reach: int,
    top: float,
    small: int,
) -> Panel:
    pattern = findings.data.patterns[place]
    names = level_names(findings, pattern.levels)
    full = ", ".join(names)
    title = ", ".join(short(level, 16) for level in names)
    distances = [
        (
            shown(one.title),
            one.utility.within.distance[place],
            one.utility.within.noise_floor[place],
        )
        for one in findings.synthesizers
    ]
    worst = max((distance for _, distance, _ in distances), default=0.0)
    excess = max((distance - floor for _, distance, floor in distances), default=0.0)
    said = ", ".join(f"{short(words, 12)} {distance:.2f}" for words, distance, _ in distances)
    floor = f"{distances[0][2]:.2f}" if distances else ""
    return Panel(
        title=title,
        full=full,
        svg=panel_svg(f"panel-{place}", full, row, reach, top),
        small=pattern.records < small,
        numbers=_panel_table(findings, full, row),
        records=f"{pattern.records:,} {'record' if pattern.records == 1 else 'records'}",
        facts=f"Distance: {said}, floor {floor}",
        keys={
            "place": place,
            "size": pattern.records,
            "distance": round(worst, 6),
            "excess": round(excess, 6),
        },
    )


def _panel_table(
    findings: Findings, title: str, row: list[tuple[SeriesStyle, PatternShares]]
) -> Table:
    """The labels with the largest shares of a pattern."""
    first = row[0][1]
    by_label = [dict(zip(found.labels, found.synthetic, strict=True)) for _, found in row]
    original = dict(zip(first.labels, first.original, strict=True))
    labels = sorted(
        first.labels,
        key=lambda at: (-original[at], -max(found.get(at, 0.0) for found in by_label), at),
    )[:MOST_LABELS]
    return Table(
        f"Shares in {title}",
        [
            Column("Label", numeric=False),
            Column("original"),
            *(Column(look.title) for look, _ in row),
        ],
        [
            [
                name_cell(label_words(findings, label), 18),
                percent_cell(original[label]),
                *(percent_cell(found.get(label, 0.0)) for found in by_label),
            ]
            for label in labels
        ],
    )


def level_names(findings: Findings, levels: Sequence[str]) -> list[str]:
    """Write the levels of a pattern as the codebook calls them."""
    by_name = {one.name: one for one in findings.data.variables}
    return [
        shown(by_name[name].labels.get(level, level))
        for name, level in zip(findings.data.kept, levels, strict=True)
    ] or ["all records"]


def label_words(findings: Findings, label: int) -> str:
    """Write a combined label: the levels of the synthesized variables."""
    levels = []
    for name in reversed(findings.data.synthesized):
        variable = next(one for one in findings.data.variables if one.name == name)
        number = max(1, len(variable.levels))
        level = variable.levels[label % number]
        levels.append(variable.labels.get(level, level))
        label //= number
    return ", ".join(reversed(levels))


def _patterns(findings: Findings) -> Table:
    columns = [Column("Pattern", numeric=False), Column("Records")]
    for one in findings.synthesizers:
        title = shown(one.title)
        columns += [Column(f"{title}: distance"), Column("floor"), Column("s.d. above")]
    rows = []
    for place, pattern in enumerate(findings.data.patterns):
        words = ", ".join(level_names(findings, pattern.levels))
        row = [name_cell(words, 40), number_cell(pattern.records)]
        for one in findings.synthesizers:
            within = one.utility.within
            row += [
                number_cell(within.distance[place], 0.005),
                number_cell(within.noise_floor[place], 0.005),
                number_cell(within.spreads_above[place], 0.5, missing="never by chance"),
            ]
        rows.append(row)
    return Table("Distance of every pattern", columns, rows, folded=True)
