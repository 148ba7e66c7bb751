"""Each printed cell beside ours, and whether it fits populations made like the paper's.

A printed cell is a mean over synthetic sets of one population. Ours are such means for the bundled
population and for several redrawn ones. A cell counts as inside if it lies in the range of the
redrawn populations, widened by what rounding in print may have moved it. The bundled population
was selected, so it does not count. If the paper's population is exchangeable with `count` redrawn
ones, the range covers it with probability at least (count − 1) / (count + 1), whatever the
distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.reproduction.chains_apart import APART, is_apart
from understudy.reproduction.configurations import CONFIGURATIONS, Configuration
from understudy.reproduction.published import PUBLISHED, Published

__all__ = [
    "OUTSIDE",
    "Comparison",
    "Range",
    "beside_printed",
    "between",
    "compare_all",
    "coverage",
    "fitted_configurations",
    "judged",
    "mean_of",
    "range_of",
    "title_of",
]

Range = tuple[float, float]
LAST_DIGIT = 0.005  # half of the last digit that is shown
OUTSIDE = "†"  # the printed cell lies outside the range


@dataclass(frozen=True)
class Comparison:
    """One printed cell beside one way of computing it.

    Attributes
    ----------
    cell : Published
        What the paper prints.
    configuration : str
        Key of a configuration, with " shuffled" where rows are paired at random; or "Min", "Max".
    value : float or None
        Our mean over the sets of the bundled population; None where undefined.
    sets : (int, int)
        In how many of its sets the measure is defined, and how many there are.
    over_sets : (float, float) or None
        Smallest and largest of its sets.
    over_populations : (float, float) or None
        Smallest and largest mean of the redrawn populations; None from fewer than two.
    inside : bool or None
        Whether the printed cell lies in that range; None where either is undefined.
    """

    cell: Published
    configuration: str
    value: float | None
    sets: tuple[int, int]
    over_sets: Range | None
    over_populations: Range | None
    inside: bool | None

    def as_json(self) -> dict[str, Any]:
        """Give it as plain numbers and words."""
        return {
            "table": self.cell.table,
            "measure": self.cell.measure,
            "column": self.cell.column,
            "paper": self.cell.value,
            "computed_as": self.configuration,
            "ours": self.value,
            "defined_in_sets": list(self.sets),
            "sets": None if self.over_sets is None else list(self.over_sets),
            "populations": None if self.over_populations is None else list(self.over_populations),
            "inside": self.inside,
        }


def mean_of(values: Sequence[float | None]) -> float | None:
    """Average the values that are defined; None where there are none."""
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


def range_of(values: Sequence[float | None]) -> Range | None:
    """Smallest and largest of the values that are defined; None from fewer than two."""
    defined = [value for value in values if value is not None]
    return (min(defined), max(defined)) if len(defined) > 1 else None


def coverage(count: int) -> Fraction:
    """Least probability that the range of `count` exchangeable values covers one more."""
    return Fraction(max(count - 1, 0), count + 1)


def compare_all(results: dict[str, Any]) -> list[Comparison]:
    """Compare every printed cell with every configuration for its column."""
    return [
        _compare(
            cell, key, [_values(population, cell, key) for population in results["populations"]]
        )
        for cell in PUBLISHED
        for key in _configurations(cell, results)
    ]


def fitted_configurations(results: dict[str, Any], column: str) -> list[Configuration]:
    """List the configurations for a printed column that were computed."""
    fits = results["populations"][0]["fits"]
    return [
        configuration
        for configuration in CONFIGURATIONS.values()
        if configuration.column == column and configuration.fit in fits
    ]


def _configurations(cell: Published, results: dict[str, Any]) -> list[str]:
    if cell.column in ("Min", "Max"):
        return [cell.column]
    fitted = fitted_configurations(results, cell.column)
    if cell.table == "classes":  # the class draw does not affect the classes
        return [configuration.key for configuration in fitted if configuration.class_draw == "kept"]
    keys = [configuration.key for configuration in fitted]
    if cell.table == "utility":  # nor does shuffling rows affect a table
        return keys
    return [*keys, *(f"{key} shuffled" for key in keys)]


def _values(population: dict[str, Any], cell: Published, configuration: str) -> list[float | None]:
    if configuration in ("Min", "Max"):
        baseline: list[float | None] = population["baselines"]["samples"][configuration][
            cell.measure
        ]
        return baseline
    key = configuration.removesuffix(" shuffled")
    fit = population["fits"][CONFIGURATIONS[key].fit]
    if cell.table == "classes":  # unknown where chains are apart
        apart = is_apart(fit) or fit["rest"]["worst_rhat"] > APART
        return [None if apart else fit["classes"][cell.measure == "classes_upper"]]
    kind = "values" if key == configuration else "shuffled"
    values: list[float | None] = fit["configurations"][key][kind][cell.measure]
    return values


def _compare(
    cell: Published, configuration: str, per_population: list[list[float | None]]
) -> Comparison:
    bundled = per_population[0]  # (set,)
    populations = range_of([mean_of(values) for values in per_population[1:]])
    inside = None
    if cell.value is not None and populations is not None:
        inside = populations[0] - cell.rounding <= cell.value <= populations[1] + cell.rounding
    return Comparison(
        cell=cell,
        configuration=configuration,
        value=mean_of(bundled),
        sets=(sum(value is not None for value in bundled), len(bundled)),
        over_sets=range_of(bundled),
        over_populations=populations,
        inside=inside,
    )


def beside_printed(values: Sequence[float | None], printed: float) -> str:
    """Write our value and range beside the value derived from printed cells, and judge it.

    Ours are (population,), the bundled population first.
    """
    ends = range_of(values[1:])
    ours = "undefined" if values[0] is None else f"{values[0]:.2f}"
    if ends is None:
        return ours
    outside = OUTSIDE if judged(values, printed) is False else ""
    return f"{ours} ({between(*(f'{end:.2f}' for end in ends))}){outside}"


def judged(values: Sequence[float | None], printed: float) -> bool | None:
    """Tell whether a value from printed cells lies in our range; None where there is none."""
    ends = range_of(values[1:])
    if ends is None:
        return None
    return ends[0] - LAST_DIGIT <= printed <= ends[1] + LAST_DIGIT


def between(low: str, high: str) -> str:
    """Write a range."""
    return f"{low} to {high}" if "-" in low + high else f"{low}–{high}"


def title_of(configuration: str) -> str:
    """Name a configuration, shuffled or not, or a baseline."""
    if configuration in ("Min", "Max"):
        return f"baseline {configuration}"
    key = configuration.removesuffix(" shuffled")
    return CONFIGURATIONS[key].title + (", rows shuffled" if key != configuration else "")
