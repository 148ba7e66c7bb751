"""The section on labels within patterns: distances, and a panel for every pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from understudy.findings.schema import Findings, PatternShares
from understudy.pages.blocks import (
    AREA,
    Block,
    Cell,
    Fold,
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
from understudy.pages.plots.pattern_panels import distances_svg, panel_svg
from understudy.pages.sections.section_words import styled, titles
from understudy.summaries import counted, percent, short, shown

__all__ = ["label_words", "level_names", "pattern_words", "within_section"]

MOST_LABELS = 8  # in a panel's table
SHOWN_FIRST = 8  # panels
LONGEST_TITLE = 120
ENOUGH = 5  # times the size of a small pattern: those that set the scale of the panels
SORTS = (
    ("worst falling", "records to change, beyond chance"),
    ("excess falling", "excess over the truth floor"),
    ("index rising", "order of the codebook"),
    ("size falling", "size, largest first"),
    ("size rising", "size, smallest first"),
    ("distance falling", "distance, largest first"),
)


def within_section(findings: Findings, small: int) -> Section | None:
    """Show whether the labels of each pattern keep their distribution."""
    data = findings.data
    if not data.patterns:
        return None
    distances = [synthesizer.utility.within.distance for synthesizer in findings.synthesizers]
    highest = max((max(distance, default=0.0) for distance in distances), default=0.0)
    return Section(
        "within",
        "What analysts keep: labels within patterns",
        [
            Paragraph(
                "A pattern is one combination of the kept variables. Within it, a synthesizer "
                "smooths the labels."
            ),
            *_panels(findings, small),
            _over_records(findings),
            Fold(
                "Distance of every pattern",
                topic(
                    reading="The distance is the share of a pattern's records whose label would "
                    "have to change to restore the original's distribution (total variation). A "
                    "green dash is its truth floor: what chance alone gives a synthesizer that "
                    f"knew the population. Shaded: patterns with fewer than {small} records.",
                    figures=[
                        distances_svg(
                            findings, synthesizer, style, highest, small, f"distances-{index}"
                        )
                        for index, (synthesizer, style) in enumerate(styled(findings))
                    ],
                    tables=[_patterns(findings)],
                    remarks=_left_out(
                        len(data.patterns), data.n_patterns, "are listed", "the largest"
                    ),
                ),
            ),
        ],
        short="Patterns",
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
    """A panel for each pattern, the worst first, to be picked and sorted."""
    if not findings.synthesizers:
        return []
    synthesizer, style = styled(findings)[0]
    every = {
        pattern: shares
        for pattern, shares in enumerate(synthesizer.utility.within.shares)
        if shares is not None
    }
    if not every:
        return []
    top = _highest(findings, every, small)
    reach = max(len(own.labels) for own in every.values())
    panels = [
        _panel(findings, pattern, own, (style, min(reach, findings.data.n_labels), top), small)
        for pattern, own in every.items()
    ]
    panels.sort(key=lambda panel: (-panel.keys["worst"], panel.keys["index"]))
    which = "the largest, and those furthest above their truth floor"
    left_out = _left_out(len(panels), findings.data.n_patterns, "have a panel", which)
    legend = Legend(
        [
            ("original", "original", AREA),
            (f"{style.title}, mean of {counted(synthesizer.m, 'set')}", style.variable, ""),
            ("smallest to largest set", style.variable, AREA),
        ]
    )
    shown_first = min(SHOWN_FIRST, len(panels))
    title = f"The worst {shown_first} of {counted(len(panels), 'pattern')}"
    return topic(
        title="Every pattern" if shown_first == len(panels) else title,
        reading="The worst are those in which most records would need another label, beyond what "
        "chance explains. Labels from left to right, the most frequent in the original first; a "
        "line flatter than the grey has smoothed them. All panels have one square-root scale. "
        + " ".join(left_out),
        panels=Panels("within-panels", SORTS, panels, legend, SHOWN_FIRST),
    )


def _highest(findings: Findings, every: Mapping[int, PatternShares], small: int) -> float:
    """Largest share in patterns that are not small, which would set the scale for all."""
    enough = ENOUGH * max(1, small)
    patterns = findings.data.patterns
    large = [own for index, own in every.items() if patterns[index].records >= enough]
    return max(
        (max(*own.original, *own.synthetic) for own in large or every.values() if own.labels),
        default=1.0,
    )


def _panel(
    findings: Findings,
    index: int,
    own: PatternShares,
    drawn: tuple[SeriesStyle, int, float],  # style, number of labels, largest share
    small: int,
) -> Panel:
    pattern = findings.data.patterns[index]
    full = pattern_words(findings, pattern.levels)
    within = [synthesizer.utility.within for synthesizer in findings.synthesizers]
    distances = [measured.distance[index] for measured in within]
    floors = [measured.truth_floor[index] for measured in within]
    excess = [distance - floor for distance, floor in zip(distances, floors, strict=True)]
    style, reach, top = drawn
    names = [label_words(findings, label) for label in own.labels]
    return Panel(
        title=short(full, LONGEST_TITLE),
        full=full,
        svg=panel_svg(f"panel-{index}", full, [(style, own)], reach, top, names),
        small=pattern.records < small,
        numbers=_panel_table(findings, full, style, own),
        records=counted(pattern.records, "record"),
        facts=f"Distance {distances[0]:.2f}, truth floor {floors[0]:.2f}",
        keys={
            "worst": round(excess[0] * pattern.records, 6),
            "index": index,
            "size": pattern.records,
            "distance": round(distances[0], 6),
            "excess": round(excess[0], 6),
        },
    )


def _panel_table(findings: Findings, title: str, style: SeriesStyle, own: PatternShares) -> Table:
    """The labels with the largest shares of a pattern."""
    rows = sorted(
        zip(own.labels, own.original, own.synthetic, own.lowest, own.highest, strict=True),
        key=lambda row: (-row[1], -row[2], row[0]),
    )
    return Table(
        f"Shares in {title}",
        ["Label", "original", style.title, "sets"],
        [
            [
                name_cell(label_words(findings, label), 18),
                percent_cell(original),
                percent_cell(synthetic),
                Cell(f"{percent(lowest)} to {percent(highest)}", sort=lowest),
            ]
            for label, original, synthetic, lowest, highest in rows[:MOST_LABELS]
        ],
    )


def pattern_words(findings: Findings, levels: Sequence[str]) -> str:
    """Write a pattern with the names of its variables."""
    named = zip(findings.data.kept, level_names(findings, levels), strict=False)
    return ", ".join(f"{shown(name)} {level}" for name, level in named) or "all records"


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
        words = pattern_words(findings, pattern.levels)
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
