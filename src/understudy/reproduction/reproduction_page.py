"""The reproduction as a page: each table of the paper beside ours, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import understudy
from understudy.microdata.bundled.make_ce_like import MEDIAN_SEEDS
from understudy.pages.blocks import Block, Figure, Heading, Paragraph, Table
from understudy.reproduction.attribute_positions import position_cells, position_inside
from understudy.reproduction.bundled_findings import shown_of
from understudy.reproduction.cell_comparison import (
    OUTSIDE,
    Comparison,
    between,
    compare_all,
    coverage,
    title_of,
)
from understudy.reproduction.chains_apart import warning_blocks
from understudy.reproduction.conclusion import conclusion_blocks, in_short
from understudy.reproduction.configurations import CONFIGURATIONS
from understudy.reproduction.contradictions import contradiction_blocks
from understudy.reproduction.convergence_table import convergence_blocks
from understudy.reproduction.level_priors import level_prior_blocks
from understudy.reproduction.published import TABLES, Published
from understudy.reproduction.regression_intervals import interval_blocks, intervals_inside
from understudy.reproduction.settings_table import settings_blocks
from understudy.reproduction.without_swaps import without_swaps_blocks

__all__ = ["TITLE", "page_blocks"]

TITLE = "The paper, cell by cell"
COLUMNS = ("Min", "DPMPM", "DP-areal", "Max")
PART = {
    "quick": """
        THIS IS A QUICK RUN: few populations, short chains, only some of the samplers. Read it as a
        preview; understudy reproduce without --quick makes the real page.
        """,
    "priors": """
        THIS IS A PART OF THE RUN: the DPMPM with four priors of the county's probabilities, few
        populations, short chains. understudy reproduce without --priors makes the whole page.
        """,
}
NOTES = {
    "identification": """
        The paper's Min is from its text. A false match rate is a mean over the sets that have a
        unique match, as in the paper; their number is given where not all sets have one.
        """,
    "attribute": """
        Populations differ much in how many labels can be guessed, so plain numbers exclude little.
        The position between a population's own baselines, 0 at Min and 1 at Max, compares better.
        """,
}


def page_blocks(results: dict[str, Any], figures: Sequence[Figure] = ()) -> list[Block]:
    """Set the whole page, with the figures of the paper drawn from our study."""
    comparisons = compare_all(results)
    return [
        Heading(TITLE, 1),
        *_introduction(results),
        *settings_blocks(results),
        *(block for name in TABLES for block in _table(name, comparisons, results)),
        *interval_blocks(results),
        *_compatibility(comparisons, results),
        *level_prior_blocks(results, comparisons),
        *contradiction_blocks(results, comparisons),
        *conclusion_blocks(results),
        *convergence_blocks(results),
        *([Heading("The paper's figures, on the bundled population")] if figures else []),
        *figures,
    ]


def _introduction(results: dict[str, Any]) -> list[Block]:
    count = len(results["populations"]) - 1
    sampler = shown_of(results["populations"][0]["fits"])[0].split()[0]
    return [
        *([Paragraph(PART[results["scale"]])] if results["scale"] in PART else []),
        *warning_blocks(results),
        *in_short(results),
        Paragraph(
            """
            Hu and Savitsky's data are confidential. Public are the number of records (6,208), the
            counts of the 40 patterns, the number of counties (133) and the printed results. This
            page computes every printed cell on invented data with the same pattern counts. Which
            pattern has which gender, income and age is our assumption: in the supplement's order
            age varies fastest, then income, then gender.
            """
        ),
        Paragraph(
            f"""
            How to read it. "Ours" is the mean over {results["sets"]} synthetic sets of the bundled
            population, in brackets the range of such means over {count} further populations from
            other seeds, where they differ; of class counts, without fits whose chains are apart.
            {OUTSIDE}: the printed cell lies outside that range, allowing for rounding in print. If
            the paper's population is like these, the range over all {count} covers its value with
            probability at least {coverage(count)}, for any distribution: weak evidence for a single
            cell, and none if the paper's data are unlike ours. Nothing was tuned to the printed
            results of any synthesizer. Three printed baselines were used in making the program that
            draws the populations, with seeds {MEDIAN_SEEDS[0]} to {MEDIAN_SEEDS[-1]}, the redrawn
            ones among them: Max of the attribute matches and of both expected match risks fits by
            construction. The DPMPM is the {sampler} sampler with class draw kept, and the DP-areal
            as in the paper's text.
            """
        ),
        Paragraph(
            f"""
            Every value and table was written by understudy reproduce (version
            {understudy.__version__}, seed {results["seed"]}); none was typed. Its results.json has
            every set.
            """
        ),
    ]


def _table(name: str, comparisons: list[Comparison], results: dict[str, Any]) -> list[Block]:
    """Set one of the paper's tables: as the paper sets it, then every way of computing it."""
    own = [comparison for comparison in comparisons if comparison.cell.table == name]
    columns = [column for column in COLUMNS if any(cell.cell.column == column for cell in own)]
    first = (*shown_of(results["populations"][0]["fits"]), "Min", "Max")
    usual = {
        (comparison.cell.row, comparison.cell.column): comparison
        for comparison in own
        if comparison.configuration in first
    }
    overview = [
        (row, *(text for column in columns for text in _overview(usual.get((row, column)))))
        for row in dict.fromkeys(comparison.cell.row for comparison in own)
    ]
    positions = position_cells(results) if name == "attribute" else None
    if positions:
        shown = {CONFIGURATIONS[key].column: key for key in first if key in CONFIGURATIONS}
        cells = [
            (positions.get(column, ""), positions.get(shown.get(column, ""), ""))
            for column in columns
        ]
        overview.append(("position", *(text for pair in cells for text in pair)))
    return [
        Heading(TABLES[name]),
        Table(
            f"{TABLES[name]}: as printed",
            ("", *(f"{column}, {whose}" for column in columns for whose in ("paper", "ours"))),
            overview,
            printed=True,
        ),
        *_every_way(own, positions),
        *(without_swaps_blocks(results) if name == "classes" else []),
        *([Paragraph(NOTES[name])] if name in NOTES else []),
    ]


def _overview(comparison: Comparison | None) -> tuple[str, str]:
    return ("", "") if comparison is None else (comparison.cell.printed, _detail(comparison))


def _every_way(own: list[Comparison], positions: dict[str, str] | None) -> list[Block]:
    """Set the ways below what is printed, a table for what each intruder knows.

    Shares in per cent repeat the numbers. Shuffled rows are set for the DP-areal alone, which they
    are a hypothesis about; the others' are among the cells in JSON.
    """
    shown = [
        comparison
        for comparison in own
        if comparison.cell.measure != "attribute_percent"
        and not (
            comparison.cell.column == "DPMPM" and comparison.configuration.endswith(" shuffled")
        )
    ]
    known = list(dict.fromkeys(comparison.cell.row.rpartition(": ")[0] for comparison in shown))
    return [
        _ways(
            words,
            [
                comparison
                for comparison in shown
                if comparison.cell.row.rpartition(": ")[0] == words
            ],
            positions,
        )
        for words in known
    ]


def _ways(words: str, shown: list[Comparison], positions: dict[str, str] | None) -> Table:
    measures = list(dict.fromkeys(comparison.cell.row for comparison in shown))
    extra = [] if positions is None else ["position"]
    rows: list[tuple[str, ...]] = []
    for column in COLUMNS:
        cells = {
            (comparison.configuration, comparison.cell.row): comparison
            for comparison in shown
            if comparison.cell.column == column
        }
        if not cells:
            continue
        printed = {cell.cell.row: cell.cell.printed for cell in cells.values()}
        more = [(positions or {}).get(column, "") for _ in extra]
        rows.append((f"{column}, as printed", *(printed[row] for row in measures), *more))
        for key in dict.fromkeys(configuration for configuration, _ in cells):
            more = [(positions or {}).get(key, "") for _ in extra]
            details = (_detail(cells[key, row]) for row in measures)
            rows.append((title_of(key), *details, *more))
    titles = (row.rpartition(": ")[2] for row in measures)
    caption = "Every way of computing it" + (f": {words}" if words else "")
    return Table(caption, ("", *titles, *extra), rows, folded=True)


def _detail(comparison: Comparison) -> str:
    """Write our value, its range over populations, and whether the printed cell is outside."""
    defined, sets = comparison.sets
    counted = f"{defined} of {sets} sets" if 0 < defined < sets else ""
    ends = comparison.over_populations
    written = [] if ends is None else [_value(end, comparison.cell) for end in ends]
    same = set(written) == {_value(comparison.value, comparison.cell)}
    over = between(*written) if written and not same else ""
    brackets = "; ".join(part for part in (over, counted) if part)
    mark = OUTSIDE if comparison.inside is False else ""
    return _value(comparison.value, comparison.cell) + (f" ({brackets})" if brackets else "") + mark


def _compatibility(comparisons: list[Comparison], results: dict[str, Any]) -> list[Block]:
    """Count, for every configuration, which printed cells it is compatible with."""
    rows = []
    for configuration in dict.fromkeys(comparison.configuration for comparison in comparisons):
        if configuration in ("Min", "Max"):
            continue
        own = CONFIGURATIONS[configuration.removesuffix(" shuffled")]
        if own.column == "DPMPM" and own.key != configuration:
            continue
        counted = {}
        for table in TABLES:
            inside = [
                comparison.inside
                for comparison in comparisons
                if (comparison.configuration, comparison.cell.table) == (configuration, table)
                and comparison.inside is not None
            ]
            counted[table] = f"{sum(inside)} of {len(inside)}" if inside else ""
        position = {True: "yes", False: "no", None: ""}[position_inside(results, configuration)]
        rows.append(
            (
                title_of(configuration),
                counted["utility"],
                counted["identification"],
                position,
                counted["classes"],
                intervals_inside(results, configuration),
            )
        )
    count = len(results["populations"]) - 1
    return [
        Heading("Which computation is compatible with which printed cells"),
        Paragraph(
            f"""
            Cells inside, of those that are defined in print and in the populations. Even if all
            assumptions hold, up to {1 - coverage(count)} of the cells fall outside by chance; cells
            of a table are not independent.
            """
        ),
        Table(
            "Printed cells inside the range over populations",
            (
                "computed as", "tables", "identification", "attribute position", "classes",
                "regression",
            ),
            rows,
            file="compatible",
        ),
    ]  # fmt: skip


def _value(value: float | None, cell: Published) -> str:
    least = 4 if "match_rate" in cell.measure else 2
    digits = max(least, len(cell.printed.partition(".")[2]))
    return "undefined" if value is None else f"{value:.{digits}f}"
