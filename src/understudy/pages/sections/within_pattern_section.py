"""The section on labels within patterns: distances, and a panel for every pattern."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.findings.schema import Findings, PatternShares
from understudy.pages.blocks import (
    AREA,
    Block,
    Cell,
    Legend,
    Panel,
    Panels,
    Paragraph,
    Section,
    Table,
    name_cell,
    number_cell,
    percent_cell,
    topic,
)
from understudy.pages.plots.canvas import SeriesStyle
from understudy.pages.plots.pattern_panels import distances_svg, panel_svg, svg_dashes
from understudy.pages.sections.section_words import styled, titles
from understudy.summaries import short, shown

__all__ = ["label_words", "level_names", "within_section"]

MOST_LABELS = 8  # in a panel's table
ENOUGH = 5  # times the size of a small pattern: those that set the scale of the panels
SORTS = (
    ("index rising", "order of the codebook"),
    ("size falling", "size, largest first"),
    ("size rising", "size, smallest first"),
    ("distance falling", "distance, largest first"),
    ("excess falling", "excess over the truth floor"),
)

Shares = list[tuple[SeriesStyle, PatternShares]]  # of one pattern, by synthesizer


def within_section(findings: Findings, small: int) -> Section | None:
    """Show whether the labels of each pattern keep their distribution."""
    data = findings.data
    if not data.patterns:
        return None
    distances = [each.utility.within.distance for each in findings.synthesizers]
    highest = max((max(each, default=0.0) for each in distances), default=0.0)
    lead = Paragraph(
        "A pattern is one combination of the kept variables. The distribution of the labels within "
        "each pattern is what a synthesizer smooths, and what users of the released data will "
        "study."
    )
    return Section(
        "within",
        "Labels within patterns",
        [
            lead,
            *topic(
                title="Distance of every pattern",
                reading="The distance is the share of a pattern's records whose label would have "
                "to change to restore the original's distribution (total variation). A green dash "
                "is its truth floor: the distance that chance alone gives a synthesizer that knew "
                "the population. "
                f"The shaded area holds patterns with fewer than {small} records.",
                figures=[
                    distances_svg(
                        findings, synthesizer, style, highest, small, f"distances-{index}"
                    )
                    for index, (synthesizer, style) in enumerate(styled(findings))
                ],
                tables=[_over_records(findings), _patterns(findings)],
                remarks=_left_out(len(data.patterns), data.n_patterns, "are listed", "the largest"),
            ),
            *_panels(findings, small),
        ],
    )


def _over_records(findings: Findings) -> Table:
    """Mean distance over all records beside both floors."""
    return Table(
        "Distance within patterns, mean over records",
        ["Synthesizer", "Distance", "Resampled floor", "Truth floor", "Ratio"],
        [
            [
                shown(synthesizer.title),
                *(number_cell(value, 0.01) for value in (own.mean_distance, own.mean_floor)),
                number_cell(own.mean_truth_floor, 0.01),
                number_cell(
                    own.mean_distance / own.mean_truth_floor if own.mean_truth_floor else None, 0.1
                ),
            ]
            for synthesizer in findings.synthesizers
            for own in [synthesizer.utility.within]
        ],
    )


def _left_out(listed: int, total: int, what: str, which: str) -> list[str]:
    return [] if total <= listed else [f"{listed:,} of {total:,} patterns {what}: {which}."]


def _panels(findings: Findings, small: int) -> list[Block]:
    """A panel for each pattern, to be picked and sorted."""
    shares: dict[int, Shares] = {}  # by pattern
    for synthesizer, style in styled(findings):
        for pattern, own in enumerate(synthesizer.utility.within.shares):
            if own is not None:
                shares.setdefault(pattern, []).append((style, own))
    top = _highest(findings, shares, small)
    reach = max((len(own.labels) for row in shares.values() for _, own in row), default=1)
    panels = [
        _panel(findings, pattern, row, min(reach, findings.data.n_labels), top, small)
        for pattern, row in sorted(shares.items())
    ]
    which = "the largest, and those farthest above their truth floor"
    left_out = _left_out(len(panels), findings.data.n_patterns, "have a panel", which)
    legend = Legend(
        [
            ("original", "original", AREA),
            *((style.title, style.variable, svg_dashes(style)) for _, style in styled(findings)),
        ]
    )
    return topic(
        title="A panel for every pattern",
        reading="Labels are ordered from left to right by their share in the original, which is "
        "grey. A synthesizer's line is its mean share over the sets; a line flatter than the grey "
        "has smoothed the labels of this pattern. All panels share one square-root scale, on which "
        "chance varies equally everywhere; patterns of few records exceed it. Small patterns have "
        "a dashed line above them. " + " ".join(left_out),
        panels=Panels("within-panels", SORTS, panels, legend),
    )


def _highest(findings: Findings, shares: dict[int, Shares], small: int) -> float:
    """Largest share in patterns that are not small, which would set the scale for all."""
    enough = ENOUGH * max(1, small)
    patterns = findings.data.patterns
    large = [row for index, row in shares.items() if patterns[index].records >= enough]
    every = [own for row in large or shares.values() for _, own in row]
    return max((max(*each.original, *each.synthetic) for each in every if each.labels), default=1.0)


def _panel(
    findings: Findings, index: int, row: Shares, reach: int, top: float, small: int
) -> Panel:
    pattern = findings.data.patterns[index]
    names = level_names(findings, pattern.levels)
    full = ", ".join(names)
    within = [synthesizer.utility.within for synthesizer in findings.synthesizers]
    distances = [each.distance[index] for each in within]
    floors = [each.truth_floor[index] for each in within]
    excess = [distance - floor for distance, floor in zip(distances, floors, strict=True)]
    facts = ", ".join(
        f"{short(title, 12)} {distance:.2f}"
        for title, distance in zip(titles(findings), distances, strict=True)
    )
    return Panel(
        title=", ".join(short(level, 16) for level in names),
        full=full,
        svg=panel_svg(f"panel-{index}", full, row, reach, top),
        small=pattern.records < small,
        numbers=_panel_table(findings, full, row),
        records=f"{pattern.records:,} {'record' if pattern.records == 1 else 'records'}",
        facts=f"Distance: {facts}, floor " + (f"{floors[0]:.2f}" if floors else ""),
        keys={
            "index": index,
            "size": pattern.records,
            "distance": round(max(distances, default=0.0), 6),
            "excess": round(max(excess, default=0.0), 6),
        },
    )


def _panel_table(findings: Findings, title: str, row: Shares) -> Table:
    """The labels with the largest shares of a pattern."""
    first = row[0][1]
    by_label = [dict(zip(own.labels, own.synthetic, strict=True)) for _, own in row]
    original = dict(zip(first.labels, first.original, strict=True))
    labels = sorted(
        first.labels,
        key=lambda label: (
            -original[label],
            -max(own.get(label, 0.0) for own in by_label),
            label,
        ),
    )[:MOST_LABELS]
    return Table(
        f"Shares in {title}",
        ["Label", "original", *(style.title for style, _ in row)],
        [
            [
                name_cell(label_words(findings, label), 18),
                percent_cell(original[label]),
                *(percent_cell(own.get(label, 0.0)) for own in by_label),
            ]
            for label in labels
        ],
    )


def level_names(findings: Findings, levels: Sequence[str]) -> list[str]:
    """Write the levels of a pattern as the codebook calls them."""
    variables = {variable.name: variable for variable in findings.data.variables}
    return [
        shown(variables[name].labels.get(level, level))
        for name, level in zip(findings.data.kept, levels, strict=True)
    ] or ["all records"]


def label_words(findings: Findings, label: int) -> str:
    """Write a combined label: the levels of the synthesized variables."""
    variables = {variable.name: variable for variable in findings.data.variables}
    words = []
    for name in reversed(findings.data.synthesized):
        label, code = divmod(label, max(1, len(variables[name].levels)))
        level = variables[name].levels[code]
        words.append(variables[name].labels.get(level, level))
    return ", ".join(reversed(words))


def _patterns(findings: Findings) -> Table:
    header = ["Pattern", "Records"]
    for title in titles(findings):
        header += [f"{title}: distance", "floor", "s.d. above"]
    rows = []
    for index, pattern in enumerate(findings.data.patterns):
        words = ", ".join(level_names(findings, pattern.levels))
        row: list[Cell] = [name_cell(words, 40), number_cell(pattern.records)]
        for synthesizer in findings.synthesizers:
            within = synthesizer.utility.within
            row += [
                number_cell(within.distance[index], 0.005),
                number_cell(within.truth_floor[index], 0.005),
                number_cell(within.spreads_above[index], 0.5, missing="never by chance"),
            ]
        rows.append(row)
    return Table("Distance of every pattern", header, rows, folded=True)
