"""Attribute risk as a place between each population's own levels, so that populations compare.

Populations differ so much in how many labels can be guessed that the bare numbers exclude hardly
anything. Their places between Min and Max do not share that.
"""

from __future__ import annotations

from typing import Any

from understudy.pages.blocks import Block, Paragraph, Table
from understudy.reproduction.compare import FIGURES_BESIDE, figures_beside, mean_of
from understudy.reproduction.configurations import CONFIGURATIONS, Configuration
from understudy.reproduction.published import printed_cell
from understudy.verdict.grading import position_between

__all__ = ["place_blocks", "place_inside"]

MEASURE = "attribute_matches"


def place_blocks(results: dict[str, Any]) -> list[Block]:
    """Set places of the attribute matches between Min and Max, printed and ours."""
    rows: list[tuple[str, ...]] = []
    for column in ("DPMPM", "DP-areal"):
        own = [
            one
            for one in CONFIGURATIONS.values()
            if one.column == column and one.fit in results["populations"][0]["fits"]
        ]
        if not own:
            continue
        printed = _printed(column)
        rows.append((f"{column}, from the printed cells {printed:.2f}",))
        for kind, words in (("values", ""), ("shuffled", ", rows shuffled")):
            rows += [
                (f"{one.title}{words}", *figures_beside(_places(results, one, kind), printed))
                for one in own
            ]
    return [
        Paragraph(
            """
            Populations differ much in how many labels can be guessed, so the prediction intervals
            of the bare numbers exclude little. The place between a population's own levels, 0 at
            Min and 1 at Max, compares better; the printed place is worked out from the printed
            cells.
            """
        ),
        Table(
            "Attribute matches as a place between Min and Max",
            ("computed as", *FIGURES_BESIDE),
            tuple(rows),
        ),
    ]


def place_inside(results: dict[str, Any], contender: str) -> str:
    """Tell whether the printed place is compatible with a contender, shuffled or not."""
    one = CONFIGURATIONS[contender.removesuffix(" shuffled")]
    kind = "values" if one.key == contender else "shuffled"
    return figures_beside(_places(results, one, kind), _printed(one.column))[-1]


def _printed(column: str) -> float:
    """Work the place out from the printed cells."""
    value, least, largest = (float(printed_cell(MEASURE, one)) for one in (column, "Min", "Max"))
    return (value - least) / (largest - least)


def _places(results: dict[str, Any], one: Configuration, kind: str) -> list[float | None]:
    found: list[float | None] = []
    for population in results["populations"]:
        levels = population["levels"]["exact"]
        value = mean_of(population["fits"][one.fit]["contenders"][one.key][kind][MEASURE])
        least, largest = levels["Min"][MEASURE], levels["Max"][MEASURE]
        found.append(position_between(value, least, largest))
    return found
