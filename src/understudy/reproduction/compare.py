"""Each printed cell beside ours, and whether it fits populations made like the paper's.

A printed cell is a mean over synthetic sets of one population. Ours are such means for the bundled
population and for several redrawn ones. A cell counts as inside if it lies in the 95 % prediction
interval for one more population, mean ± t · spread · sqrt(1 + 1/count), widened by what rounding in
print may have moved it. Only the redrawn populations make the interval: the bundled one was
chosen. Where figures are skewed that interval reaches far, so a cell that lies inside it but beyond
the figures of all populations is marked as such.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.reproduction.chains_apart import APART, is_apart
from understudy.reproduction.configurations import CONFIGURATIONS
from understudy.reproduction.published import PUBLISHED, Published

__all__ = [
    "BEYOND",
    "FIGURES_BESIDE",
    "Beside",
    "compare_all",
    "figures_beside",
    "mean_of",
    "prediction_interval",
    "title_of",
]


@dataclass(frozen=True)
class Beside:
    """One printed cell beside one way of computing it.

    Attributes
    ----------
    cell : Published
        What the paper prints.
    contender : str
        Key of a contender, with " shuffled" where rows are paired at random; or "Min", "Max".
    value : float or None
        Our mean over the sets of the bundled population; None where undefined.
    sets : (int, int)
        In how many of its sets the measure is defined, and how many there are.
    over_sets : (float, float) or None
        Least and largest of its sets.
    over_populations : tuple of float
        Means of the redrawn populations.
    inside : bool or None
        Whether the printed cell lies in the prediction interval; None where that is undefined.
    beyond : bool
        Whether it lies beyond the figures of all populations, the bundled one included.
    """

    cell: Published
    contender: str
    value: float | None
    sets: tuple[int, int]
    over_sets: tuple[float, float] | None
    over_populations: tuple[float, ...]
    interval: tuple[float, float] | None
    inside: bool | None
    beyond: bool

    def as_json(self) -> dict[str, Any]:
        """Give it as plain numbers and words."""
        return {
            "table": self.cell.table,
            "measure": self.cell.measure,
            "column": self.cell.column,
            "paper": self.cell.value,
            "computed_as": self.contender,
            "ours": self.value,
            "defined_in_sets": list(self.sets),
            "sets": None if self.over_sets is None else list(self.over_sets),
            "populations": list(self.over_populations),
            "interval": None if self.interval is None else list(self.interval),
            "inside": self.inside,
            "beyond_all_populations": self.beyond,
        }


def mean_of(values: Sequence[float | None]) -> float | None:
    """Average the figures that are defined; None where none is."""
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


def compare_all(results: dict[str, Any]) -> list[Beside]:
    """Set every printed cell beside every contender for its column.

    Parameters
    ----------
    results : dict
        From `running.run_all`.
    """
    found = []
    for cell in PUBLISHED:
        for contender in _contenders(cell, results):
            per_population = [
                _values(one, cell, contender) for one in results["populations"]
            ]  # (population, set)
            found.append(_beside(cell, contender, per_population))
    return found


def _contenders(cell: Published, results: dict[str, Any]) -> list[str]:
    if cell.column in ("Min", "Max"):
        return [cell.column]
    fits = results["populations"][0]["fits"]
    keys = [
        one.key for one in CONFIGURATIONS.values() if one.column == cell.column and one.fit in fits
    ]
    if cell.table == "classes":  # the class draw does not touch the classes
        return [key for key in keys if CONFIGURATIONS[key].class_draw == "kept"]
    if cell.table == "utility":  # nor does shuffling rows touch a table
        return keys
    return [*keys, *(f"{key} shuffled" for key in keys)]


def _values(part: dict[str, Any], cell: Published, contender: str) -> list[float | None]:
    if contender in ("Min", "Max"):
        values: list[float | None] = part["levels"]["samples"][contender][cell.measure]
        return values
    key = contender.removesuffix(" shuffled")
    fit = part["fits"][CONFIGURATIONS[key].fit]
    if cell.table == "classes":  # nothing can be said of them where chains are apart
        far = is_apart(fit) or fit["rest"]["worst_rhat"] > APART
        return [None if far else fit["classes"][cell.measure == "classes_upper"]]
    kind = "shuffled" if contender.endswith(" shuffled") else "values"
    found: list[float | None] = fit["contenders"][key][kind][cell.measure]
    return found


def _beside(cell: Published, contender: str, per_population: list[list[float | None]]) -> Beside:
    own = [value for value in per_population[0] if value is not None]
    others = [mean_of(values) for values in per_population[1:]]
    known = tuple(value for value in others if value is not None)
    interval = prediction_interval(known)
    if cell.table == "classes" and len(set(known)) == 1:
        interval = known[0], known[0]  # whole numbers: that all are the same is no rounding
    inside = None
    if cell.value is not None and interval is not None:
        inside = interval[0] - cell.rounding <= cell.value <= interval[1] + cell.rounding
    return Beside(
        cell=cell,
        contender=contender,
        value=mean_of(per_population[0]),
        sets=(len(own), len(per_population[0])),
        over_sets=(min(own), max(own)) if len(own) > 1 else None,
        over_populations=known,
        interval=interval,
        inside=inside,
        beyond=cell.value is not None
        and _beyond(cell.value, [one for one in (mean_of(own), *known) if one is not None], cell),
    )


def _beyond(value: float, figures: Sequence[float], cell: Published) -> bool:
    return bool(figures) and not (
        min(figures) - cell.rounding <= value <= max(figures) + cell.rounding
    )


def prediction_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Where one more value would lie with probability 0.95, if all were normal and alike.

    None from fewer than two values, or if all are the same: they say nothing about a spread.
    """
    count = len(values)
    if count < 2 or min(values) == max(values):
        return None
    from scipy.special import stdtrit

    spread = float(np.std(values, ddof=1)) * math.sqrt(1 + 1 / count)
    reach = float(stdtrit(count - 1, 0.975)) * spread
    center = float(np.mean(values))
    return center - reach, center + reach


BEYOND = "yes, beyond all"
CLOSE = 0.005  # half of the last digit that is shown
FIGURES_BESIDE = ("ours", "over populations", "prediction interval", "printed inside")


def figures_beside(values: Sequence[float | None], printed: float) -> tuple[str, ...]:
    """Set a figure that is worked out from printed cells beside ours: see `FIGURES_BESIDE`.

    Parameters
    ----------
    values : sequence of float or None (population,)
        Ours; the bundled population is the first.
    printed : float
        The figure from the printed cells.
    """
    others = [value for value in values[1:] if value is not None]
    interval = prediction_interval(others)
    return (
        "undefined" if values[0] is None else f"{values[0]:.2f}",
        f"{min(others):.2f} – {max(others):.2f}" if others else "",
        "" if interval is None else f"{interval[0]:.2f} – {interval[1]:.2f}",
        "" if interval is None else _inside_in_words(printed, interval, values),
    )


def _inside_in_words(
    printed: float, interval: tuple[float, float], values: Sequence[float | None]
) -> str:
    if not interval[0] <= printed <= interval[1]:
        return "no"
    known = [value for value in values if value is not None]
    return "yes" if min(known) - CLOSE <= printed <= max(known) + CLOSE else BEYOND


def title_of(contender: str) -> str:
    """Name a contender, shuffled or not, or a level."""
    if contender in ("Min", "Max"):
        return f"level {contender}"
    key = contender.removesuffix(" shuffled")
    return CONFIGURATIONS[key].title + (", rows shuffled" if key != contender else "")
