"""Counts and shares with valid error bars, combined over the sets.

An analyst of a release who counts in one set and takes the error of a simple random sample is too
sure of the count: the drawing of labels adds to it. Here every cell of a table gets its combined
standard error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import as_numbers, check_confidence, check_rule, check_whole
from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import InputError
from understudy.microdata.data_arguments import check_data, check_variables
from understudy.microdata.synthetic_files import as_sets
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors
from understudy.randomness import check_seed, stream
from understudy.summaries import Spread, counted, number, spread_of
from understudy.utility.combining import (
    CombinedEstimates,
    combine_estimates,
    interval_overlap,
    quantile,
)
from understudy.utility.noise_floors import PerfectDraws
from understudy.utility.tabulation import check_synthesized, count_sets, level_columns, tabulate

__all__ = ["CountUtility", "combine_counts", "count_utility"]

Numbers = NDArray[np.float64]
EMPTY = "in no record of any set: its error is unknown"
WHOLE = "in every record of every set: its error is unknown"
NO_VARIANCE = "the rule gives a variance of zero: its error is unknown"


@dataclass(frozen=True, repr=False, eq=False)
class CountUtility(Shown):
    """Counts of a table, combined over the sets, beside the original's.

    Attributes
    ----------
    cells : frame
        The levels, ``original`` count with ``original_lower`` and ``original_upper``, combined
        ``count``, ``share``, ``standard_error`` (of the count), ``lower``, ``upper``,
        ``degrees_of_freedom``, ``overlap`` of the intervals and ``note``. Intervals lie between 0
        and the number of records; see `combine_counts`. Null where the error is unknown.
    mean_overlap : float or None
        Over the cells that have both intervals.
    overlap_floor : Spread
        The same for groups of as many perfect sets, which resample the original.
    overlap_truth_floor : Spread
        The same with a perfect set in the original's role: what a synthesizer that knew the
        population would reach.
    """

    _frames: ClassVar[tuple[str, ...]] = ("cells",)
    cells: pl.DataFrame
    mean_overlap: float | None
    overlap_floor: Spread
    overlap_truth_floor: Spread
    _sets: int = field(repr=False)

    def _described(self) -> Described:
        """Show how well the intervals of the cells agree."""
        rows = [
            ["cells", f"{self.cells.height:,}"],
            ["mean interval overlap", number(self.mean_overlap)],
            ["  of perfect sets", number(self.overlap_floor.mean)],
            ["  of a synthesizer that knows the truth", number(self.overlap_truth_floor.mean)],
        ]
        title = f"Counts combined over {counted(self._sets, 'set')}"
        return Described(title, ["measure", "value"], rows)

    def _panels(self) -> Mapping[str, Panel]:
        columns = self.cells.columns
        names = [
            ", ".join(map(str, row))
            for row in self.cells.select(columns[: columns.index("original")]).rows()
        ]
        return {
            "cells": Panel(
                "count",
                names,
                self.cells["count"].to_list(),
                self.cells["lower"].to_list(),
                self.cells["upper"].to_list(),
                references={"original": self.cells["original"].to_list()},
            )
        }


@only_our_errors
def combine_counts(
    counts: Any, total: int, rule: str = "partial", *, level: float = 0.95
) -> CombinedEstimates:
    """Combine counts of the same cells over m sets, as an analyst of a release can.

    Each set's count is taken as that of a simple random sample of `total` records: the variance of
    a share p is p (1 - p) / total. The interval is made on the logit scale and so stays between
    0 and `total`: with combined share p and its standard error s, log(p / (1 - p)) has the standard
    error s / (p (1 - p)), and the ends are carried back. Degrees of freedom are those of the rule.

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
        Of counts, in records. A count that is 0 in every set, or `total` in every set, has no
        variance, error, degrees of freedom or interval (nan), and ``note`` says so.

    Examples
    --------
    >>> combined = combine_counts([[40, 60], [44, 56], [36, 64]], 100)
    >>> combined.estimate.tolist(), round(float(combined.standard_error[0]), 3)
    ([40.0, 60.0], 5.406)
    """
    values, records = _check_counts(counts, total)
    combined = combine_estimates(values, values * (1 - values / records), rule, level=level)
    known = combined.standard_error > 0
    lower, upper = _interval(
        combined.estimate, combined.standard_error, records,
        quantile(combined.degrees_of_freedom, combined.level),
    )  # fmt: skip
    return replace(
        combined,
        variance=np.where(known, combined.variance, np.nan),
        standard_error=np.where(known, combined.standard_error, np.nan),
        degrees_of_freedom=np.where(known, combined.degrees_of_freedom, np.nan),
        lower=lower,
        upper=upper,
        note=_note(int(np.sum(~known)), known.size),
    )


def _note(n_unknown: int, size: int) -> str | None:
    if not n_unknown:
        return None
    return (
        f"no error in {n_unknown:,} of {size:,}: the error of a count that no set has, or that all "
        "records of every set have, is unknown, not zero"
    )


def _interval(
    count: Numbers, error: Numbers, total: int, reach: Numbers
) -> tuple[Numbers, Numbers]:
    """Ends of intervals of counts, (cell,), on the logit scale; nan where the error is zero.

    They lie between 0 and `total`, the count between them, `reach` standard errors to either side.
    """
    known = (error > 0) & (count > 0) & (count < total)
    inside = np.where(known, count, total / 2)
    odds = inside / (total - inside)
    with np.errstate(over="ignore"):  # an interval that reaches the end of the range
        factor = np.exp(reach * error * total / (inside * (total - inside)))
        lower = total * odds / (odds + factor)
        upper = total - total / (1 + odds * factor)
    lower, upper = np.minimum(lower, inside), np.clip(upper, inside, total)
    return np.where(known, lower, np.nan), np.where(known, upper, np.nan)


def _check_counts(counts: Any, total: object) -> tuple[Numbers, int]:
    """Check counts (set, cell) and the number of records, without showing any of them."""
    records = check_whole("total", total, 1, do="give the number of records that every set has")
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


@in_users_kind
@only_our_errors
def count_utility(
    data: Microdata,
    synthetic: Any,
    names: Sequence[str],
    *,
    rule: str = "partial",
    level: float = 0.95,
    repeats: int = 20,
    seed: int | None = None,
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
    repeats : int
        Groups of perfect sets that the floors are simulated from.
    seed : int, optional
        Makes the simulation repeatable.

    Returns
    -------
    CountUtility
        Cells that are empty in the original and in all sets are left out.
    """
    data, rule, level = check_data(data), check_rule(rule), check_confidence(level)
    listed = check_variables(data, names)
    check_synthesized(data, listed, "table")
    repeats = check_whole("repeats", repeats, 1)
    generator = stream(check_seed(seed), "utility", "counts")
    sets = as_sets(data, synthetic)
    table = tabulate(count_sets(sets), listed)
    total = data.n_records
    combined = combine_counts(table.synthetic, total, rule, level=level)
    low, high = _own_interval(table.original, total, level)
    overlap = interval_overlap(low, high, combined.lower, combined.upper)
    resampled: list[float | None] = []
    of_truth: list[float | None] = []
    perfect = PerfectDraws(data)
    for _ in range(repeats):
        role, *group = table.counts_of(perfect.counts(generator, 1 + len(sets)))
        by_chance = combine_counts(group, total, rule, level=level)
        for overlaps, counts in ((resampled, table.original), (of_truth, role)):
            ends = _own_interval(counts, total, level)
            overlaps.append(_mean(interval_overlap(*ends, by_chance.lower, by_chance.upper)))
    frame = pl.DataFrame(
        {
            **level_columns(data, table.names, table.codes),
            "original": table.original,
            "original_lower": _column(low),
            "original_upper": _column(high),
            "count": combined.estimate,
            "share": combined.estimate / total,
            "standard_error": _column(combined.standard_error),
            "lower": _column(combined.lower),
            "upper": _column(combined.upper),
            "degrees_of_freedom": _column(combined.degrees_of_freedom),
            "overlap": _column(overlap),
            "note": pl.Series(_notes(combined, total), dtype=pl.String),
        }
    )
    floors = spread_of(resampled), spread_of(of_truth)
    return CountUtility(frame, _mean(overlap), *floors, len(sets))


def _own_interval(counts: NDArray[np.int64], total: int, level: float) -> tuple[Numbers, Numbers]:
    """Interval of the counts (cell,) of one file, as of a simple random sample."""
    count = counts.astype(np.float64)
    error = np.sqrt(count * (1 - count / total))
    return _interval(count, error, total, quantile(np.inf, level))


def _mean(overlap: Numbers) -> float | None:
    shown = ~np.isnan(overlap)
    return float(overlap[shown].mean()) if shown.any() else None


def _column(values: Numbers) -> pl.Series:
    """A column of a frame, null where a value is nan."""
    return pl.Series(values).fill_nan(None)


def _notes(combined: CombinedEstimates, total: int) -> list[str | None]:
    """Say of each cell without an error why it has none."""
    words = np.select(
        [combined.estimate == 0, combined.estimate == total], [EMPTY, WHOLE], NO_VARIANCE
    ).tolist()
    known = ~np.isnan(combined.standard_error)
    return [None if fine else str(word) for fine, word in zip(known, words, strict=True)]
