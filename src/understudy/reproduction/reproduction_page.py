"""The reproduction as a page: each table of the paper beside ours, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import understudy
from understudy.microdata.bundled.make_ce_like import MEDIAN_SEEDS
from understudy.pages.blocks import Block, Figure, Heading, Paragraph, Table
from understudy.reproduction.bundled_findings import shown_of
from understudy.reproduction.cell_comparison import (
    Comparison,
    Range,
    compare_all,
    coverage,
    title_of,
)
from understudy.reproduction.chains_apart import apart_blocks, warning_blocks
from understudy.reproduction.conclusion import conclusion_blocks, in_short
from understudy.reproduction.configurations import AREAL, FITS, FULL
from understudy.reproduction.contradictions import contradiction_blocks
from understudy.reproduction.level_priors import level_prior_blocks
from understudy.reproduction.positions_table import position_blocks, position_inside
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
        THIS IS A PART OF THE RUN: the DPMPM with three priors of the county's probabilities, few
        populations, short chains. understudy reproduce without --priors makes the whole page.
        """,
}
NOTES = {
    "identification": """
        The paper's table has no Min column; its Min is from the text. The paper marks its false
        match rate of the DP-areal with gender known as a mean over the sets that have a unique
        match. So are ours; their number is given where not all sets have one.
        """
}


def page_blocks(results: dict[str, Any], figures: Sequence[Figure] = ()) -> list[Block]:
    """Set the whole page.

    Parameters
    ----------
    results : dict
        From `run.run_all`.
    figures : sequence of Figure
        The figures of the paper, drawn from our study.
    """
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
        *_convergence(results),
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
            Hu and Savitsky's data are confidential. What is public is the number of records
            (6,208), the counts of the 40 patterns, the number of counties (133) and the printed
            results. This page computes every printed cell on invented data with the same
            pattern counts, whose maximum risk is close to the printed one.
            """
        ),
        Paragraph(
            f"""
            How to read it. "Ours" is the mean over {results["sets"]} synthetic sets of the bundled
            population; "over sets" gives the smallest and the largest of them. "Over populations"
            is the range of such means over {count} further populations, drawn by the same program
            from other seeds. Class counts leave out fits whose chains are apart. In the first table
            of each kind, "ours" is the DPMPM with the {sampler} sampler and class draw kept, and
            the DP-areal as in the paper's text. A printed cell is "inside" if it lies in the range
            over populations, allowing for rounding in print. If the paper's population is like
            these, the range over all {count} covers its value with probability at least
            {coverage(count)}, for any distribution; over fewer, with less. "Outside" is therefore
            weak evidence for a single cell, and none if the paper's data are unlike ours. Nothing
            was tuned to the printed results of any synthesizer. Three printed baselines of the data
            themselves were used in making the program that draws the populations: the Max of the
            attribute matches and of the two expected match risks are inside by construction. Its
            settings were found with populations of seeds {MEDIAN_SEEDS[0]} to {MEDIAN_SEEDS[-1]};
            the redrawn ones are among them.
            """
        ),
        Paragraph(
            f"""
            Every value and table was written by understudy reproduce (version
            {understudy.__version__}, seed {results["seed"]}); none was typed.
            """
        ),
    ]


def _table(name: str, comparisons: list[Comparison], results: dict[str, Any]) -> list[Block]:
    """Set one of the paper's tables: as the paper sets it, then every way of computing it."""
    own = [each for each in comparisons if each.cell.table == name]
    columns = [each for each in COLUMNS if any(cell.cell.column == each for cell in own)]
    first = (*shown_of(results["populations"][0]["fits"]), "Min", "Max")
    usual = {(each.cell.row, each.cell.column): each for each in own if each.configuration in first}
    overview = [
        (row, *(text for column in columns for text in _overview(usual.get((row, column)))))
        for row in dict.fromkeys(each.cell.row for each in own)
    ]
    rows: list[tuple[str, ...]] = []
    for key, group in groupby(own, lambda each: each.cell):
        rows.append((f"{key.row}: {key.column}, printed {key.printed}",))
        rows += [_detail(each) for each in group]
    return [
        Heading(TABLES[name]),
        Table(
            f"{TABLES[name]}: as printed († outside the range over populations)",
            ("", *(f"{column}, {whose}" for column in columns for whose in ("paper", "ours"))),
            overview,
            printed=True,
        ),
        Table(
            "Every way of computing it",
            ("computed as", "ours", "over sets", "over populations", "printed cell inside"),
            rows,
        ),
        *(position_blocks(results) if name == "attribute" else []),
        *(without_swaps_blocks(results) if name == "classes" else []),
        *([Paragraph(NOTES[name])] if name in NOTES else []),
    ]


def _overview(found: Comparison | None) -> tuple[str, str]:
    if found is None:
        return "", ""
    mark = "†" if found.inside is False else ""
    return found.cell.printed + mark, _value(found.value, found.cell)


def _detail(found: Comparison) -> tuple[str, ...]:
    defined, sets = found.sets
    counted = f" ({defined} of {sets} sets)" if 0 < defined < sets else ""
    return (
        title_of(found.configuration),
        _value(found.value, found.cell) + counted,
        _range(found.over_sets, found.cell),
        _range(found.over_populations, found.cell),
        "" if found.inside is None else "yes" if found.inside else "no",
    )


def _compatibility(comparisons: list[Comparison], results: dict[str, Any]) -> list[Block]:
    """Count, for every configuration, which printed cells it is compatible with."""
    rows = []
    for configuration in dict.fromkeys(each.configuration for each in comparisons):
        if configuration in ("Min", "Max"):
            continue
        counted = {}
        for table in TABLES:
            judged = [
                each.inside
                for each in comparisons
                if (each.configuration, each.cell.table) == (configuration, table)
                and each.inside is not None
            ]
            counted[table] = f"{sum(judged)} of {len(judged)}" if judged else ""
        rows.append(
            (
                title_of(configuration),
                counted["utility"],
                counted["identification"],
                position_inside(results, configuration),
                counted["classes"],
                intervals_inside(results, configuration),
            )
        )
    count = len(results["populations"]) - 1
    return [
        Heading("Which computation is compatible with which printed cells"),
        Paragraph(
            f"""
            Cells inside, of those that can be judged: a measure that is undefined in print or in
            the populations is not, so rows differ in their number. Even if all assumptions hold, up
            to {1 - coverage(count)} of the cells fall outside by chance, and the cells of a table
            are not independent of each other. The attribute risk is judged by its position between
            Min and Max, because the plain counts exclude little; the regressions by overlap, width
            and significance.
            """
        ),
        Table(
            "Printed cells inside the range over populations",
            (
                "computed as", "tables", "identification", "attribute position", "classes",
                "regression",
            ),
            rows,
        ),
    ]  # fmt: skip


def _convergence(results: dict[str, Any]) -> list[Block]:
    rows = []
    for number, population in enumerate(results["populations"]):
        for key, fit in population["fits"].items():
            lengths = fit["lengths"]
            sweeps = lengths["warmup"] + lengths["draws"] * lengths["thin"]
            judged = (*_judged(fit["labels"]), *_judged(fit["rest"]))
            rows.append((f"{number}: {FITS[key].title}", f"{sweeps:,}", *judged))
    return [
        Heading("Have the chains converged?"),
        Paragraph(
            """
            The targets are an R-hat below 1.01 and effective sample sizes of at least 400.
            Sets of the DP-areal, and of the DPMPM with the class draw kept, are drawn from the
            label probabilities, so every one of them is judged. The rest are the numbers of
            occupied classes or clusters, the concentration, the precision of log rates and the
            log-likelihood, which mix more slowly. Where label probabilities say NO with an R-hat up
            to 1.05, do not rely on the last digit of values from that fit; above 1.05, rely on them
            only as far as the comparison by chain below allows. Where only the rest says NO, the
            same holds for what this page says of class counts. Population 0 is the bundled one.
            """
        ),
        *_how_long(results),
        Table(
            "Every fit behind this page",
            (
                "population: fit", "sweeps a chain", "label probabilities converged", "worst R-hat",
                "least ESS", "rest converged", "its worst R-hat", "its least ESS",
            ),
            rows,
        ),
        *apart_blocks(results),
    ]  # fmt: skip


def _how_long(results: dict[str, Any]) -> list[Block]:
    if results["scale"] != FULL.name:
        return []
    planned = FULL.length(AREAL, population=1)
    warmup, thin = planned["warmup"], planned["thin"]
    first, most = (warmup + planned[name] * thin for name in ("draws", "most_draws"))
    return [
        Paragraph(
            f"""
            On the other populations the chains of the DP-areal are as long as necessary: they are
            judged after {first:,} sweeps and every {first - warmup:,} further ones, and stop when
            all label probabilities have converged, or give up after {most:,}. Chains that are
            checked often pass sooner than in one check at a fixed length, so a worst R-hat just
            below 1.01 is borderline. The blocked sampler has twice its usual sweeps because it
            mixes more slowly.
            """
        )
    ]


def _judged(part: dict[str, Any]) -> tuple[str, str, str]:
    """Say whether all quantities of a part have converged, and the worst R-hat and ESS."""
    passed = f"NO: {part['failed']} of {part['quantities']}" if part["failed"] else "yes"
    return passed, f"{part['worst_rhat']:.4f}", f"{part['least_ess']:,.0f}"


def _value(value: float | None, cell: Published) -> str:
    least = 4 if "match_rate" in cell.measure else 2
    digits = max(least, len(cell.printed.partition(".")[2]))
    return "undefined" if value is None else f"{value:.{digits}f}"


def _range(ends: Range | None, cell: Published) -> str:
    return "" if ends is None else f"{_value(ends[0], cell)} – {_value(ends[1], cell)}"
