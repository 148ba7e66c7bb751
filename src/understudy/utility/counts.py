"""Counts and shares with honest error bars, combined over the sets.

An analyst of a release who counts in one set and takes the error of a simple random sample is too
sure of the count: the drawing of labels adds to it. Here every cell of a table gets its combined
standard error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import InputError, SettingError
from understudy.microdata.synthetic import as_sets
from understudy.microdata.table import Microdata
from understudy.utility.checks import as_numbers, as_whole, check_level, check_rule
from understudy.utility.combining import (
    CombinedEstimates,
    combine_estimates,
    interval_overlap,
    quantile,
)
from understudy.utility.marginals import count_sets, level_columns, tabulate
from understudy.utility.printing import figure, text_table

__all__ = ["CountUtility", "combine_counts", "count_utility"]

Numbers = NDArray[np.float64]
EMPTY = "in no record of any set: its error cannot be told"


@dataclass(frozen=True, repr=False, eq=False)
class CountUtility:
    """Counts of a table, combined over the sets, beside the original's.

    Attributes
    ----------
    cells : frame
        The levels, ``original`` count with ``original_lower`` and ``original_upper``, combined
        ``count``, ``share``, ``standard_error`` (of the count), ``lower``, ``upper``,
        ``degrees_of_freedom``, ``overlap`` of the intervals and ``note``.
    mean_overlap : float or None
        Over the cells that have both intervals.
    """

    cells: pl.DataFrame
    mean_overlap: float | None
    _sets: int = field(repr=False)

    def __repr__(self) -> str:
        """Show how well the intervals of the cells agree."""
        rows = [
            ["cells", f"{self.cells.height:,}"],
            ["mean interval overlap", figure(self.mean_overlap, 3)],
        ]
        return f"Counts combined over {self._sets} sets\n" + text_table(["figure", "value"], rows)


def combine_counts(
    counts: Any, total: int, rule: str = "partial", *, level: float = 0.95
) -> CombinedEstimates:
    """Combine counts of the same cells over m sets, as an analyst of a release can.

    Each set's count is taken as that of a simple random sample of `total` records: the variance of
    a share p is p (1 - p) / total.

    Parameters
    ----------
    counts : integer (set, cell)
        Counts of each set.
    total : int
        Records in every set.
    rule : {"partial", "full"}
        What kind of synthetic data the sets are.
    level : float
        Of the intervals.

    Returns
    -------
    CombinedEstimates
        Of counts, in records.

    Examples
    --------
    >>> combined = combine_counts([[40, 60], [44, 56], [36, 64]], 100)
    >>> combined.estimate.tolist(), round(float(combined.standard_error[0]), 3)
    ([40.0, 60.0], 5.406)
    """
    values, records = _check_counts(counts, total)
    return combine_estimates(values, values * (1 - values / records), rule, level=level)


def _check_counts(counts: Any, total: object) -> tuple[Numbers, int]:
    """Check counts (set, cell) and the number of records, without showing any of them."""
    records = as_whole(total)
    if records is None or records < 1:
        raise SettingError(
            expected="total, the number of records in a set: a whole number from 1 on",
            came="a smaller number" if records is not None else f"a {type(total).__name__}",
            do="give the number of records that every set has",
        )
    values = as_numbers(counts)
    if values is None or values.ndim not in {1, 2}:
        raise InputError(
            expected="counts as an array of numbers with axes (set,) or (set, cell)",
            came="something that is not",
            do="give one count per set, or a row of counts per set, all rows of one length",
        )
    if not np.isfinite(values).all() or (values < 0).any() or (values > records).any():
        raise InputError(
            expected="counts from 0 to the number of records in a set",
            came="others",
            do="give the counts of each set and the number of its records",
        )
    return values, records


def count_utility(
    data: Microdata,
    synthetic: Any,
    names: Sequence[str],
    *,
    rule: str = "partial",
    level: float = 0.95,
) -> CountUtility:
    """Give every cell of a table a combined count with its error, beside the original's.

    Parameters
    ----------
    data : Microdata
        The confidential data.
    synthetic : SyntheticSets, or a list of frames or paths
        At least two sets.
    names : sequence of str
        Variables of the table, at least one of them synthesized.
    rule : {"partial", "full"}
        How counts are combined.
    level : float
        Of the intervals.

    Returns
    -------
    CountUtility
        Cells that are empty in the original and in all sets are left out.
    """
    rule, level = check_rule(rule), check_level(level)
    listed = [names] if isinstance(names, str) else list(names)
    if not {data.variable(name).name for name in listed} & set(data.synthesized):
        raise SettingError(
            expected="a table with a synthesized variable",
            came="a table of kept variables only, which is the same in every set",
            do="add a synthesized variable to the table",
        )
    sets = as_sets(data, synthetic)
    table = tabulate(count_sets(sets), listed)
    total = data.n_records
    combined = combine_counts(table.synthetic, total, rule, level=level)
    original = table.original.astype(np.float64)
    reach = quantile(np.inf, level) * np.sqrt(original * (1 - original / total))
    known = combined.standard_error > 0
    overlap = interval_overlap(original - reach, original + reach, combined.lower, combined.upper)
    shown = known & (reach > 0) & ~np.isnan(overlap)
    frame = pl.DataFrame(
        {
            **level_columns(data, table.names, table.codes),
            "original": table.original,
            "original_lower": original - reach,
            "original_upper": original + reach,
            "count": combined.estimate,
            "share": combined.estimate / total,
            "standard_error": _where(combined.standard_error, known),
            "lower": _where(combined.lower, known),
            "upper": _where(combined.upper, known),
            "degrees_of_freedom": _where(combined.degrees_of_freedom, known),
            "overlap": _where(overlap, shown),
            "note": pl.Series([None if one else EMPTY for one in known], dtype=pl.String),
        }
    )
    mean = float(overlap[shown].mean()) if shown.any() else None
    return CountUtility(frame, mean, len(sets))


def _where(values: NDArray[np.float64], shown: NDArray[np.bool_]) -> pl.Series:
    return pl.Series(np.where(shown, values, np.nan)).fill_nan(None)
