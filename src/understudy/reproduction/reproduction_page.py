"""The reproduction as a page: each table of the paper beside ours, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import understudy
from understudy.microdata.bundled.make_ce_like import MEDIAN_SEEDS
from understudy.pages.blocks import Block, Figure, Heading, Paragraph, Table
from understudy.reproduction.chains_apart import apart_blocks, warning_blocks
from understudy.reproduction.compare import BEYOND, Beside, compare_all, title_of
from understudy.reproduction.conclusion import conclusion_blocks, in_short
from understudy.reproduction.configurations import AREAL, FITS, FULL
from understudy.reproduction.contradictions import contradiction_blocks
from understudy.reproduction.intervals import figures_inside, interval_blocks
from understudy.reproduction.positions_table import place_blocks, place_inside
from understudy.reproduction.published import TABLES, Published
from understudy.reproduction.settings_table import settings_blocks
from understudy.reproduction.without_swaps import without_swaps_blocks

__all__ = ["TITLE", "page_blocks"]

TITLE = "The paper, cell by cell"
COLUMNS = ("Min", "DPMPM", "DP-areal", "Max")
USUAL = ("collapsed kept", "text", "Min", "Max")  # shown first
NOTES = {
    "identification": """
        The paper's table has no Min column; its Min is from the text. Its false match rate of the
        DP-areal with gender known is marked as a mean over the sets that have a unique match; ours
        are too, and their number is told where not all sets have one.
        """
}


def page_blocks(results: dict[str, Any], drawings: Sequence[Figure] = ()) -> list[Block]:
    """Set the whole page.

    Parameters
    ----------
    results : dict
        From `running.run_all`.
    drawings : sequence of Figure
        The figures of the paper, drawn from our study.
    """
    beside = compare_all(results)
    return [
        Heading(TITLE, 1),
        *_introduction(results),
        *settings_blocks(results),
        *(block for name in TABLES for block in _table(name, beside, results)),
        *interval_blocks(results),
        *_compatibility(beside, results),
        *contradiction_blocks(results, beside),
        *conclusion_blocks(results),
        *_convergence(results),
        *_figures(drawings),
    ]


def _introduction(results: dict[str, Any]) -> list[Block]:
    count = len(results["populations"]) - 1
    short = (
        []
        if results["scale"] == "full"
        else [
            Paragraph(
                """
            THIS IS A QUICK RUN: few populations, short chains, only some of the samplers. Read
            it as a preview; understudy reproduce without --quick makes the real page.
            """
            )
        ]
    )
    return [
        *short,
        *warning_blocks(results),
        *in_short(results),
        Paragraph(
            """
            Hu and Savitsky's data are confidential. What is public is the number of records
            (6,208), the counts of the 40 patterns, the number of counties (133) and the printed
            results. This page computes every printed cell on invented data with the same
            pattern counts, whose own maximum risk levels come close to the printed ones.
            """
        ),
        Paragraph(
            f"""
            How to read it. "Ours" is the mean over {results["sets"]} synthetic sets of the bundled
            population; "over sets" gives the least and the largest of them. "Over populations" is
            the range of such means over {count} further populations, from other seeds of the same
            program; where all of them give the same figure, nothing can be predicted from it and
            the cell is not judged, but for counts of classes, which are whole numbers. Fits whose
            chains are apart say nothing about those and are left out there. In the first table of
            each kind, "ours" is the DPMPM with the collapsed sampler and class draw kept, and the
            DP-areal as in the paper's text. A printed cell is "inside" if it lies in the 95 %
            prediction interval for one more such population, allowing for rounding in print. The
            interval takes populations as normal; where a cell lies inside it and yet beyond the
            figures of all populations, that is said. Outside means: not explained by chance in
            the data and in the draws, if the paper's data are like ours; they need not be. Nothing
            was tuned to the printed results of any synthesizer. Three printed levels of the data
            themselves were used in making the program that draws the populations: the Max of the
            attribute matches and of the two expected match risks lie inside by construction. Its
            settings were found with populations of seeds {MEDIAN_SEEDS[0]} to {MEDIAN_SEEDS[-1]};
            the redrawn ones are among them.
            """
        ),
        Paragraph(
            f"""
            Every figure and table was written by understudy reproduce (version
            {understudy.__version__}, seed {results["seed"]}); none was typed.
            """
        ),
    ]


def _table(name: str, beside: list[Beside], results: dict[str, Any]) -> list[Block]:
    """Set one of the paper's tables: as the paper sets it, then every way of computing it."""
    own = [one for one in beside if one.cell.table == name]
    columns = [one for one in COLUMNS if any(cell.cell.column == one for cell in own)]
    header = ["", *(f"{column}, {whose}" for column in columns for whose in ("paper", "ours"))]
    overview = []
    for row in dict.fromkeys(one.cell.row for one in own):
        cells = [row]
        for column in columns:
            found = [
                one
                for one in own
                if (one.cell.row, one.cell.column) == (row, column) and one.contender in USUAL
            ]
            cells += _overview_cells(found[0]) if found else ["", ""]
        overview.append(tuple(cells))
    rows: list[tuple[str, ...]] = []
    for key, group in groupby(own, lambda one: (one.cell.row, one.cell.column, one.cell.printed)):
        rows.append(("{}: {}, printed {}".format(*key),))
        rows += [_detail(one) for one in group]
    return [
        Heading(TABLES[name]),
        Table(
            f"{TABLES[name]}: as printed († outside the prediction interval, ‡ inside it but "
            "beyond all populations)",
            tuple(header),
            tuple(overview),
            printed=True,
        ),
        Table(
            "Every way of computing it",
            (
                "computed as",
                "ours",
                "over sets",
                "over populations",
                "prediction interval",
                "printed cell inside",
            ),
            tuple(rows),
        ),
        *(place_blocks(results) if name == "attribute" else []),
        *(without_swaps_blocks(results) if name == "classes" else []),
        *([Paragraph(NOTES[name])] if name in NOTES else []),
    ]


def _overview_cells(one: Beside) -> list[str]:
    mark = "†" if one.inside is False else "‡" if one.inside and one.beyond else ""
    return [one.cell.printed + mark, _figure(one.value, one.cell)]


def _detail(one: Beside) -> tuple[str, ...]:
    cell = one.cell
    defined, sets = one.sets
    counted = f" ({defined} of {sets} sets)" if 0 < defined < sets else ""
    return (
        title_of(one.contender),
        _figure(one.value, cell) + counted,
        _range(one.over_sets, cell),
        _range(_ends(one.over_populations), cell),
        _range(one.interval, cell),
        _inside(one),
    )


def _compatibility(beside: list[Beside], results: dict[str, Any]) -> list[Block]:
    """Count, for every contender, which printed cells it is compatible with."""
    rows = []
    for contender in dict.fromkeys(one.contender for one in beside):
        if contender in ("Min", "Max"):
            continue
        judged = [one for one in beside if one.contender == contender and one.inside is not None]
        counted = {}
        for table in TABLES:
            own = [one for one in judged if one.cell.table == table]
            counted[table] = f"{sum(bool(one.inside) for one in own)} of {len(own)}" if own else ""
        rows.append(
            (
                title_of(contender),
                counted["utility"],
                counted["identification"],
                place_inside(results, contender),
                counted["classes"],
                figures_inside(results, contender),
            )
        )
    return [
        Heading("Which computation is compatible with which printed cells"),
        Paragraph(
            """
            Cells inside, of those that can be judged: a measure in which all populations agree, or
            that is undefined in them, is not, so that rows differ in their number. With many cells
            some fall outside by chance (one in twenty if all assumptions hold), and the cells of a
            table are not independent of each other. The attribute risk is judged by its place
            between Min and Max, because the bare numbers exclude little; the regressions by
            overlap, width and significance.
            """
        ),
        Table(
            "Printed cells inside the prediction interval",
            ("computed as", "tables", "identification", "attribute place", "classes", "regression"),
            tuple(rows),
        ),
    ]


def _convergence(results: dict[str, Any]) -> list[Block]:
    rows = []
    for number, one in enumerate(results["populations"]):
        for key, fit in one["fits"].items():
            cells = [cell for part in (fit["labels"], fit["rest"]) for cell in _judged(part)]
            lengths = fit["lengths"]
            sweeps = lengths["warmup"] + lengths["draws"] * lengths["thin"]
            rows.append((f"{number}: {FITS[key].title}", f"{sweeps:,}", *cells))
    return [
        Heading("Have the chains converged?"),
        Paragraph(
            """
            Asked for are an R-hat below 1.01 and effective sample sizes of at least 400.
            Sets of the DP-areal, and of the DPMPM with the class draw kept, are drawn from the
            label probabilities, so every one of them is judged; the rest are the numbers of classes
            or clusters in use, the concentration, the precision of log rates and the
            log-likelihood, which move more slowly. Where label probabilities say NO with an R-hat
            up to 1.05, figures from that fit are not to be relied on to their last digit; above,
            they are not to be relied on, except as far as the comparison by chain below goes; where
            only the rest says NO, that holds for what this page says of class counts.
            Population 0 is the bundled one.
            """
        ),
        *_how_long(results),
        Table(
            "Every fit behind this page",
            (
                "population: fit",
                "sweeps a chain",
                "label probabilities converged",
                "worst R-hat",
                "least ESS",
                "rest converged",
                "its worst R-hat",
                "its least ESS",
            ),
            tuple(rows),
            text_columns=(0,),
        ),
        *apart_blocks(results),
    ]


def _how_long(results: dict[str, Any]) -> list[Block]:
    if results["scale"] != FULL.name:
        return []
    asked = FULL.length(AREAL, population=1)
    warmup, thin = asked["warmup"], asked["thin"]
    first, most = (warmup + asked[name] * thin for name in ("draws", "most_draws"))
    return [
        Paragraph(
            f"""
            On the other populations the chains of the DP-areal are as long as they need to be: they
            are judged after {first:,} sweeps and every {first - warmup:,} further ones,
            and end when all label probabilities have converged, or give up after {most:,}. Chains
            that are looked at often pass sooner than by one look at a fixed length, so a worst
            R-hat just below 1.01 means: at the edge. The blocked sampler has twice its usual
            sweeps, being the slower one to mix.
            """
        )
    ]


def _judged(part: dict[str, Any]) -> tuple[str, str, str]:
    """Say whether all quantities of a part have converged, and the worst R-hat and ESS."""
    passed = f"NO: {part['failed']} of {part['quantities']}" if part["failed"] else "yes"
    return passed, f"{part['worst_rhat']:.4f}", f"{part['least_ess']:,.0f}"


def _figures(drawings: Sequence[Figure]) -> list[Block]:
    return (
        [Heading("The paper's figures, on the bundled population"), *drawings] if drawings else []
    )


def _digits(cell: Published) -> int:
    least = 4 if "match_rate" in cell.measure else 2
    return max(least, len(cell.printed.partition(".")[2]))


def _figure(value: float | None, cell: Published) -> str:
    return "undefined" if value is None else f"{value:.{_digits(cell)}f}"


def _ends(values: Sequence[float]) -> tuple[float, float] | None:
    return (min(values), max(values)) if values else None


def _range(ends: tuple[float, float] | None, cell: Published) -> str:
    return "" if ends is None else f"{_figure(ends[0], cell)} – {_figure(ends[1], cell)}"


def _inside(one: Beside) -> str:
    if one.inside is None:
        return ""
    return "no" if not one.inside else BEYOND if one.beyond else "yes"
