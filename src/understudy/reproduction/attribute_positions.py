"""Attribute risk as a position between each population's own baselines.

Populations differ so much in how many labels can be guessed that the plain counts exclude hardly
anything. Their positions between Min and Max compare better.
"""

from __future__ import annotations

from typing import Any

from understudy.reproduction.cell_comparison import (
    beside_printed,
    fitted_configurations,
    judged,
    mean_of,
)
from understudy.reproduction.configurations import CONFIGURATIONS, Configuration
from understudy.reproduction.published import printed_cell
from understudy.verdict.grading import position_between

__all__ = ["position_cells", "position_inside"]

MEASURE = "attribute_matches"


def position_cells(results: dict[str, Any]) -> dict[str, str]:
    """Write the position of the attribute matches by way of computing it, or by printed column."""
    cells: dict[str, str] = {}
    for column in ("DPMPM", "DP-areal"):
        printed = _printed(column)
        cells[column] = f"{printed:.2f}"
        for configuration in fitted_configurations(results, column):
            for kind, words in (("values", ""), ("shuffled", " shuffled")):
                positions = _positions(results, configuration, kind)
                cells[configuration.key + words] = beside_printed(positions, printed)
    return cells


def position_inside(results: dict[str, Any], configuration: str) -> bool | None:
    """Tell whether the printed position is compatible with a configuration, shuffled or not."""
    own = CONFIGURATIONS[configuration.removesuffix(" shuffled")]
    kind = "values" if own.key == configuration else "shuffled"
    return judged(_positions(results, own, kind), _printed(own.column))


def _printed(column: str) -> float:
    """Derive the position from the printed cells."""
    value, low, high = (float(printed_cell(MEASURE, heading)) for heading in (column, "Min", "Max"))
    return (value - low) / (high - low)


def _positions(results: dict[str, Any], own: Configuration, kind: str) -> list[float | None]:
    positions: list[float | None] = []  # (population,)
    for population in results["populations"]:
        exact = population["baselines"]["exact"]
        value = mean_of(population["fits"][own.fit]["configurations"][own.key][kind][MEASURE])
        positions.append(position_between(value, exact["Min"][MEASURE], exact["Max"][MEASURE]))
    return positions
