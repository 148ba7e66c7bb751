"""Within-pattern utility: the labels of each pattern, original against every set.

A pattern of three records is never reproduced closely, by anybody. So each pattern's distance
stands beside what the perfect synthesizer would score there, and patterns are sorted by what is
left above that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.microdata.synthetic import as_sets
from understudy.microdata.table import Microdata
from understudy.utility.marginals import (
    CountedSets,
    column_of,
    count_sets,
    level_columns,
    tabulate,
)
from understudy.utility.noise import expected_deviation
from understudy.utility.printing import figure, text_table

__all__ = ["WithinPatternUtility", "within_pattern_utility"]

MOST_SHOWN = 10


@dataclass(frozen=True, repr=False, eq=False)
class WithinPatternUtility:
    """Distances between label distributions, pattern by pattern.

    Attributes
    ----------
    distance : float64 (pattern,)
        Total variation distance between the original and a set's distribution of labels, averaged
        over the sets; patterns in the order of ``data.patterns``.
    noise_floor : float64 (pattern,)
        Its expectation under the perfect synthesizer, exact.
    per_set : float64 (set, pattern)
        The distance of every set.
    patterns : frame
        One row per pattern, worst first (largest excess of distance over noise floor): number of
        the pattern from 0, its levels, records, distance, minimum and maximum over the sets, noise
        floor, excess.
    """

    distance: NDArray[np.float64]
    noise_floor: NDArray[np.float64]
    per_set: NDArray[np.float64]
    patterns: pl.DataFrame
    _counted: CountedSets = field(repr=False)

    @cached_property
    def distributions(self) -> pl.DataFrame:
        """The data of the panels: how often each label occurs in each pattern.

        Columns ``pattern``, the kept and the synthesized variables, ``source`` (original or
        synthetic), ``set`` (from 1, null for the original), ``count`` and ``share`` of the pattern;
        labels that do not occur have no row. The worst pattern comes first.
        """
        counted = self._counted
        parts = []
        for number, (rows, counts) in enumerate(zip(counted.rows, counted.counts, strict=True)):
            parts.append(_distribution(counted.data, number, rows, counts))
        rank = self.patterns.select("pattern").with_row_index("rank")
        return (
            pl.concat(parts)
            .join(rank, on="pattern", how="left", maintain_order="left")
            .sort("rank", "set", *map(column_of, counted.data.synthesized), nulls_last=False)
            .drop("rank")
        )

    def __repr__(self) -> str:
        """Show how many patterns lie above their floor, and the worst by number and size."""
        n_sets, n_patterns = self.per_set.shape
        above = int((self.distance > self.noise_floor).sum())
        rows = [
            [str(row["pattern"]), f"{row['records']:,}", figure(row["distance"], 3),
             figure(row["noise_floor"], 3), figure(row["excess"], 3)]
            for row in self.patterns.head(MOST_SHOWN).iter_rows(named=True)
        ]  # fmt: skip
        return (
            f"Within-pattern utility of {n_sets} sets: {above:,} of {n_patterns:,} patterns above "
            "their noise floor\n"
            + text_table(["pattern", "records", "distance", "noise floor", "excess"], rows)
        )


def within_pattern_utility(data: Microdata, synthetic: Any) -> WithinPatternUtility:
    """Compare the labels' distribution within each pattern with the original's.

    Parameters
    ----------
    data : Microdata
        The confidential data.
    synthetic : SyntheticSets, or a list of frames or paths
        The sets, row by row beside the data.

    Returns
    -------
    WithinPatternUtility
        Several synthesized variables count as one combined label.

    Examples
    --------
    >>> import polars as pl
    >>> import understudy as us
    >>> frame = pl.DataFrame({"sex": ["f", "f", "m", "m"], "town": ["a", "b", "a", "a"]})
    >>> data = us.read_microdata(frame, synthesize="town")
    >>> other = frame.with_columns(town=pl.Series(["a", "a", "a", "a"]))
    >>> us.within_pattern_utility(data, [other]).distance.tolist()
    [0.5, 0.0]
    """
    counted = count_sets(as_sets(data, synthetic))
    table = tabulate(counted, data.names)
    sizes = data.patterns.sizes
    n_patterns = sizes.size
    per_set = np.array(
        [
            np.bincount(table.kept_cell, weights=np.abs(row), minlength=n_patterns)
            for row in table.synthetic - table.original
        ]
    ) / (2 * sizes)  # (set, pattern)
    of_combination = data.patterns.of_combination
    every = np.arange(data.n_combinations)
    deviation = expected_deviation(sizes[of_combination], data.counts, every, every.size)
    floor = np.bincount(of_combination, weights=deviation, minlength=n_patterns) / (2 * sizes)
    distance = per_set.mean(axis=0)
    return WithinPatternUtility(
        distance=distance,
        noise_floor=floor,
        per_set=per_set,
        patterns=_pattern_frame(data, per_set, floor),
        _counted=counted,
    )


def _pattern_frame(
    data: Microdata, per_set: NDArray[np.float64], floor: NDArray[np.float64]
) -> pl.DataFrame:
    distance = per_set.mean(axis=0)
    return pl.DataFrame(
        {
            "pattern": np.arange(floor.size, dtype=np.int32),
            **level_columns(data, data.kept, data.patterns.codes),
            "records": data.patterns.sizes,
            "distance": distance,
            "minimum": per_set.min(axis=0),
            "maximum": per_set.max(axis=0),
            "noise_floor": floor,
            "excess": distance - floor,
        }
    ).sort("excess", "pattern", descending=[True, False])


def _distribution(
    data: Microdata, number: int, rows: NDArray[np.int32], counts: NDArray[np.int64]
) -> pl.DataFrame:
    pattern = rows[:, 0]
    return pl.DataFrame(
        {
            "pattern": pattern,
            **level_columns(data, data.kept, data.patterns.codes[pattern]),
            **level_columns(data, data.synthesized, rows[:, 1:]),
            "count": counts,
            "share": counts / data.patterns.sizes[pattern],
        }
    ).select(
        "pattern",
        *map(column_of, (*data.kept, *data.synthesized)),
        pl.lit("synthetic" if number else "original").alias("source"),
        pl.lit(number if number else None, pl.Int32).alias("set"),
        "count",
        "share",
    )
