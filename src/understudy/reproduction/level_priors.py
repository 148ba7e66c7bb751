"""Which prior of the county's probabilities is compatible with which printed cells.

The paper's prior, Dirichlet(1, ..., 1) over 133 counties, is worth 133 invented records in every
class. Smaller ones leave more classes occupied and keep tables better; which of them a printed cell
fits is told cell by cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from understudy.pages.blocks import Block, Heading, Paragraph, Table
from understudy.reproduction.cell_comparison import OUTSIDE, Comparison
from understudy.reproduction.configurations import CONFIGURATIONS, LEVEL_PRIORS
from understudy.reproduction.published import TABLES

__all__ = ["level_prior_blocks"]

REPEATED = "attribute_percent"  # the numbers of records again


def level_prior_blocks(results: dict[str, Any], comparisons: Sequence[Comparison]) -> list[Block]:
    """Set the priors side by side; nothing where fewer than two were computed."""
    fits = results["populations"][0]["fits"]
    priors = {key: words for key, words in LEVEL_PRIORS.items() if CONFIGURATIONS[key].fit in fits}
    if len(priors) < 2:
        return []
    compared = {
        (comparison.cell, comparison.configuration): comparison for comparison in comparisons
    }
    cells = [
        cell
        for cell in dict.fromkeys(comparison.cell for comparison in comparisons)
        if cell.measure != REPEATED and all((cell, key) in compared for key in priors)
    ]
    rows: list[tuple[str, ...]] = []
    for table in TABLES:
        rows.append((TABLES[table],))
        rows += [
            (cell.row, cell.printed, *(_written(compared[cell, key], fits) for key in priors))
            for cell in cells
            if cell.table == table
        ]
    return [
        Heading("Which prior of the county's probabilities is compatible with which cells"),
        Paragraph(
            f"""
            The paper gives every county in every class a prior of one invented record, 133 in all.
            Ours, on the bundled population, with class draw kept; {OUTSIDE}: the printed cell lies
            outside the range over populations.
            """
        ),
        Table(
            "The DPMPM's column with other priors",
            ("", "printed", *(f"prior {words}" for words in priors.values())),
            rows,
            file="priors",
        ),
    ]


def _written(comparison: Comparison, fits: dict[str, Any]) -> str:
    if comparison.cell.table == "classes" and comparison.value is None:
        own = fits[CONFIGURATIONS[comparison.configuration].fit]["classes"]
        return f"{own[comparison.cell.measure == 'classes_upper']:.0f} (chains apart)"
    if comparison.value is None:
        return "undefined"
    digits = 4 if "match_rate" in comparison.cell.measure else 2
    return f"{comparison.value:.{digits}f}{OUTSIDE if comparison.inside is False else ''}"
