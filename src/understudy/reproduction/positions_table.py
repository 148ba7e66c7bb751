"""Attribute risk as a position between each population's own baselines.

Populations differ so much in how many labels can be guessed that the plain counts exclude hardly
anything. Their positions between Min and Max compare better.
"""

from __future__ import annotations

from typing import Any

from understudy.pages.blocks import Block, Paragraph, Table
from understudy.reproduction.cell_comparison import (
    BESIDE,
    beside_printed,
    fitted_configurations,
    mean_of,
)
from understudy.reproduction.configurations import CONFIGURATIONS, Configuration
from understudy.reproduction.published import printed_cell
from understudy.verdict.grading import position_between

__all__ = ["position_blocks", "position_inside"]

MEASURE = "attribute_matches"


def position_blocks(results: dict[str, Any]) -> list[Block]:
    """Set the positions of the attribute matches between Min and Max, printed and ours."""
    rows: list[tuple[str, ...]] = []
    for column in ("DPMPM", "DP-areal"):
        fitted = fitted_configurations(results, column)
        if not fitted:
            continue
        printed = _printed(column)
        rows.append((f"{column}, from the printed cells {printed:.2f}",))
        for kind, words in (("values", ""), ("shuffled", ", rows shuffled")):
            rows += [
                (f"{each.title}{words}", *beside_printed(_positions(results, each, kind), printed))
                for each in fitted
            ]
    return [
        Paragraph(
            """
            Populations differ much in how many labels can be guessed, so the ranges of the plain
            counts exclude little. The position between a population's own baselines, 0 at Min and
            1 at Max, compares better. The printed position is derived from the printed cells.
            """
        ),
        Table(
            "Attribute matches as a position between Min and Max", ("computed as", *BESIDE), rows
        ),
    ]


def position_inside(results: dict[str, Any], configuration: str) -> str:
    """Tell whether the printed position is compatible with a configuration, shuffled or not."""
    own = CONFIGURATIONS[configuration.removesuffix(" shuffled")]
    kind = "values" if own.key == configuration else "shuffled"
    return beside_printed(_positions(results, own, kind), _printed(own.column))[-1]


def _printed(column: str) -> float:
    """Derive the position from the printed cells."""
    value, low, high = (float(printed_cell(MEASURE, each)) for each in (column, "Min", "Max"))
    return (value - low) / (high - low)


def _positions(results: dict[str, Any], own: Configuration, kind: str) -> list[float | None]:
    positions: list[float | None] = []  # (population,)
    for population in results["populations"]:
        exact = population["baselines"]["exact"]
        value = mean_of(population["fits"][own.fit]["configurations"][own.key][kind][MEASURE])
        positions.append(position_between(value, exact["Min"][MEASURE], exact["Max"][MEASURE]))
    return positions
