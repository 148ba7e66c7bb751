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

from understudy.checks import check_rule
from understudy.errors import SettingError
from understudy.microdata.table import SyntheticSets
from understudy.utility.combining import (
    CombinedEstimates,
    combine_estimates,
    interval_overlap,
    quantile,
    significance,
)
from understudy.utility.nested_combining import combine_nested_estimates
from understudy.utility.regression.fitted_regression import ESTIMATED, estimated

__all__ = ["Estimates", "Rule", "compare", "per_set_frame"]

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
        return estimated(self.status) & np.isfinite(self.values) & np.isfinite(self.errors)


@dataclass(frozen=True)
class Rule:
    """How estimates from several sets are combined.

    Attributes
    ----------
    name : {"partial", "full", "nested"}
        Of the rule.
    imputations : int
        How many imputations the sets are of, one after the other, by the nested rule.
    """

    name: str
    imputations: int = 0

    @classmethod
    def of(cls, sets: SyntheticSets, given: str) -> Rule:
        """Check the rule that was asked for against the sets."""
        if not sets.filled:
            return cls(check_rule(given))
        do = 'say how many imputations the files are of (imputations=5), and rule="nested"'
        if given != "nested":
            raise SettingError(
                expected="the nested rule for files that show imputed values",
                came="another one, which leaves out that these values are not known",
                do=do,
            )
        if sets.imputations is None:
            raise SettingError(
                expected="the number of imputations of files that show imputed values",
                came="none",
                do=f"{do}; there is no rule for files with an imputation each: put the holes back",
            )
        return cls(given, sets.imputations)

    def combine(self, estimates: Numbers, variances: Numbers, level: float) -> CombinedEstimates:
        """Combine (set, quantity) over the sets."""
        if self.name != "nested":
            return combine_estimates(estimates, variances, self.name, level=level)
        nested = (self.imputations, -1, estimates.shape[1])  # (imputation, set, quantity)
        return combine_nested_estimates(
            estimates.reshape(nested), variances.reshape(nested), level=level
        )


def compare(
    original: Estimates, sets: Sequence[Estimates], rule: Rule, level: float
) -> dict[str, pl.Series]:
    """Set the combined estimates beside the original's.

    Columns by name: ``original``, ``original_standard_error``, ``original_lower``,
    ``original_upper``, ``combined`` with the same endings and ``degrees_of_freedom``, ``overlap``,
    ``significance``, ``sets_failed`` and ``note``; null where there is nothing to show.
    """
    known = original.usable
    reach = quantile(original.degrees_of_freedom, level) * original.errors
    low, high = original.values - reach, original.values + reach
    failed = np.sum([~one_set.usable for one_set in sets], axis=0)  # (quantity,)
    together = (failed == 0) & (len(sets) > 1)
    size = known.size
    combined = {name: np.full(size, np.nan) for name in _COMBINED}
    negative = np.zeros(size, dtype=bool)
    if together.any():
        result = rule.combine(
            np.array([one_set.values[together] for one_set in sets]),
            np.array([one_set.errors[together] ** 2 for one_set in sets]),
            level,
        )
        for name in _COMBINED:
            combined[name][together] = getattr(result, name)
        negative[together] = result.negative
    both = known & together
    overlap = np.full(size, np.nan)
    overlap[both] = interval_overlap(
        low[both], high[both], combined["lower"][both], combined["upper"][both]
    )
    words = np.full(size, None)  # (quantity,) of texts
    words[both] = significance(
        low[both], high[both], combined["lower"][both], combined["upper"][both]
    )
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
        "significance": pl.Series(words.tolist(), dtype=pl.String),
        "sets_failed": pl.Series(failed.astype(np.int32)),
        "note": pl.Series(
            [_note(index, original, sets, bool(negative[index])) for index in range(size)],
            dtype=pl.String,
        ),
    }


_COMBINED = ("estimate", "standard_error", "lower", "upper", "degrees_of_freedom")


def _column(values: Numbers, shown: NDArray[np.bool_]) -> pl.Series:
    return pl.Series(np.where(shown, values, np.nan)).fill_nan(None)


def _note(index: int, original: Estimates, sets: Sequence[Estimates], negative: bool) -> str | None:
    """Say why a row has gaps, or null."""
    notes = []
    if not original.usable[index]:
        notes.append(f"{_reason(original, index)} in the original")
    reasons = Counter(_reason(one_set, index) for one_set in sets if not one_set.usable[index])
    notes += [f"{reason} in {count} of {len(sets)} sets" for reason, count in reasons.items()]
    if len(sets) == 1:
        notes.append("one set: no combining rule")
    if negative:
        notes.append("negative variance by the rule, variance within sets shown")
    return "; ".join(notes) or None


def _reason(estimates: Estimates, index: int) -> str:
    status = estimates.status[index]
    return status if status != ESTIMATED else "not finite"


def per_set_frame(names: Sequence[str], sets: Sequence[Estimates]) -> pl.DataFrame:
    """List the estimates set by set, with the reason where one is missing."""
    frames = [
        pl.DataFrame(
            {
                "set": pl.Series([set_number] * len(names), dtype=pl.Int32),
                "coefficient": list(names),
                "estimate": _column(one_set.values, one_set.usable),
                "standard_error": _column(one_set.errors, one_set.usable),
                "status": list(one_set.status),
            },
            schema_overrides={"coefficient": pl.String, "status": pl.String},
        )
        for set_number, one_set in enumerate(sets, start=1)
    ]
    return pl.concat(frames)
