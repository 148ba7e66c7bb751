"""Estimates from the original beside those combined over the sets: what regressions return.

A quantity is combined only where every set has an estimate of it. Where a set has none, because
its data separate or lack a level, the row says in how many sets and shows no interval: an average
over the sets that happen to work would look better than the data are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.utility.combining import (
    combine_estimates,
    interval_overlap,
    quantile,
    significance,
)
from understudy.utility.regression.newton import ESTIMATED

__all__ = ["Estimates", "compare", "per_set_frame"]

Numbers = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class Estimates:
    """Estimates of the same quantities from one data set.

    Attributes
    ----------
    values : float64 (quantity,)
        The estimates.
    errors : float64 (quantity,)
        Their standard errors.
    status : tuple of str
        ``estimated``, or why there is no estimate.
    degrees_of_freedom : float
        For intervals.
    """

    values: Numbers
    errors: Numbers
    status: tuple[str, ...]
    degrees_of_freedom: float = np.inf

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """Which quantities have an estimate and a standard error: (quantity,)."""
        known = np.array([one == ESTIMATED for one in self.status], dtype=bool)
        return known & np.isfinite(self.values) & np.isfinite(self.errors)


def compare(
    original: Estimates, sets: Sequence[Estimates], rule: str, level: float
) -> dict[str, pl.Series]:
    """Set the combined estimates beside the original's.

    Parameters
    ----------
    original : Estimates
        From the confidential data.
    sets : sequence of Estimates
        One per synthetic set.
    rule : {"partial", "full"}
        How the sets are combined.
    level : float
        Of the intervals.

    Returns
    -------
    dict of column name to column
        ``original``, ``original_standard_error``, ``original_lower``, ``original_upper``,
        ``combined`` with the same endings and ``degrees_of_freedom``, ``overlap``,
        ``significance``, ``sets_failed`` and ``note``; null where there is nothing to show.
    """
    known = original.usable
    reach = quantile(original.degrees_of_freedom, level) * original.errors
    low, high = original.values - reach, original.values + reach
    working = np.array([one.usable for one in sets])  # (set, quantity)
    failed = (~working).sum(axis=0)
    together = (failed == 0) & (len(sets) > 1)
    size = known.size
    combined = {name: np.full(size, np.nan) for name in _COMBINED}
    negative = np.zeros(size, dtype=bool)
    if together.any():
        result = combine_estimates(
            np.array([one.values[together] for one in sets]),
            np.array([one.errors[together] ** 2 for one in sets]),
            rule,
            level=level,
        )
        for name in _COMBINED:
            combined[name][together] = getattr(result, name)
        negative[together] = result.negative
    both = known & together
    overlap = np.full(size, np.nan)
    overlap[both] = interval_overlap(
        low[both], high[both], combined["lower"][both], combined["upper"][both]
    )
    verdict: list[str | None] = [None] * size
    told = significance(low[both], high[both], combined["lower"][both], combined["upper"][both])
    for place, word in zip(np.flatnonzero(both).tolist(), told, strict=True):
        verdict[place] = word
    return {
        "original": _column(original.values, known),
        "original_standard_error": _column(original.errors, known),
        "original_lower": _column(low, known),
        "original_upper": _column(high, known),
        "combined": _column(combined["estimate"], together),
        "combined_standard_error": _column(combined["standard_error"], together),
        "combined_lower": _column(combined["lower"], together),
        "combined_upper": _column(combined["upper"], together),
        "degrees_of_freedom": _column(combined["degrees_of_freedom"], together),
        "overlap": _column(overlap, both & ~np.isnan(overlap)),
        "significance": pl.Series(verdict, dtype=pl.String),
        "sets_failed": pl.Series(failed.astype(np.int32)),
        "note": pl.Series(
            [_note(place, original, sets, bool(negative[place])) for place in range(size)],
            dtype=pl.String,
        ),
    }


_COMBINED = ("estimate", "standard_error", "lower", "upper", "degrees_of_freedom")


def _column(values: Numbers, shown: NDArray[np.bool_]) -> pl.Series:
    return pl.Series([float(v) if s else None for v, s in zip(values, shown, strict=True)],
                     dtype=pl.Float64)  # fmt: skip


def _note(place: int, original: Estimates, sets: Sequence[Estimates], negative: bool) -> str | None:
    """Say why a row has gaps, or null."""
    said = []
    if not original.usable[place]:
        said.append(f"{_reason(original, place)} in the original")
    reasons = Counter(_reason(one, place) for one in sets if not one.usable[place])
    said += [f"{reason} in {number} of {len(sets)} sets" for reason, number in reasons.items()]
    if len(sets) == 1:
        said.append("one set: no combining rule")
    if negative:
        said.append("negative variance by the rule, variance within sets shown")
    return "; ".join(said) or None


def _reason(estimates: Estimates, place: int) -> str:
    status = estimates.status[place]
    return status if status != ESTIMATED else "not finite"


def per_set_frame(names: Sequence[str], sets: Sequence[Estimates]) -> pl.DataFrame:
    """List the estimates set by set, with the reason where one is missing."""
    frames = [
        pl.DataFrame(
            {
                "set": pl.Series([number] * len(names), dtype=pl.Int32),
                "coefficient": list(names),
                "estimate": _column(one.values, one.usable),
                "standard_error": _column(one.errors, one.usable),
                "status": list(one.status),
            },
            schema_overrides={"coefficient": pl.String, "status": pl.String},
        )
        for number, one in enumerate(sets, start=1)
    ]
    return pl.concat(frames)
