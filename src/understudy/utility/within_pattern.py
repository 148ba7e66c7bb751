"""Within-pattern utility: the labels of each pattern, original against every set.

No synthesizer reproduces a pattern of three records closely. So each pattern's distance is given
beside what the perfect synthesizer would score there. Chance alone puts about half of the
patterns of a perfect synthesizer above that, so patterns are sorted by how many standard deviations
of a perfect distance they lie above it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_whole
from understudy.microdata.argument_checks import check_data
from understudy.microdata.synthetic_files import as_sets
from understudy.microdata.table import Microdata
from understudy.randomness import check_seed, stream
from understudy.summaries import number, text_table
from understudy.utility.noise_floors import expected_deviation, perfect_counts
from understudy.utility.tabulation import (
    CountedSets,
    column_of,
    count_sets,
    level_columns,
    tabulate,
)

__all__ = ["WithinPatternUtility", "within_pattern_utility"]

MOST_SHOWN = 10
FAR = 3.0  # standard deviations above the floor that chance hardly reaches
LARGEST_BLOCK = 1 << 22  # simulated counts held at once


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
    floor_spread : float64 (pattern,)
        Standard deviation of one perfect set's distance, by simulation.
    spreads_above : float64 (pattern,)
        How many standard deviations the distance lies above its noise floor, with the standard
        deviation of a mean over so many perfect sets. Infinite where a perfect set cannot differ
        from the original (all records of the pattern have one label) and a set does.
    per_set : float64 (set, pattern)
        The distance of every set.
    patterns : frame
        One row per pattern, worst first (largest `spreads_above`, then largest excess): number of
        the pattern from 0, its levels, records, distance, minimum and maximum over the sets, noise
        floor, its spread, excess of distance over noise floor, and `spreads_above`.
    """

    distance: NDArray[np.float64]
    noise_floor: NDArray[np.float64]
    floor_spread: NDArray[np.float64]
    spreads_above: NDArray[np.float64]
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
        pairs = zip(counted.rows, counted.counts, strict=True)
        parts = [
            _distribution(counted.data, index, rows, counts)
            for index, (rows, counts) in enumerate(pairs)
        ]
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
        far = int((self.spreads_above > FAR).sum())
        rows = [
            [str(row["pattern"]), f"{row['records']:,}", number(row["distance"]),
             number(row["noise_floor"]), number(row["excess"]),
             number(row["spreads_above"], digits=2)]
            for row in self.patterns.head(MOST_SHOWN).iter_rows(named=True)
        ]  # fmt: skip
        header = ["pattern", "records", "distance", "noise floor", "excess", "s.d. above"]
        title = (
            f"Within-pattern utility of {n_sets} sets, {n_patterns:,} patterns\n"
            f"{far:,} of {n_patterns:,} patterns more than {FAR:.0f} standard deviations above "
            "their noise floor (a perfect synthesizer: hardly any)\n"
            f"{above:,} of {n_patterns:,} patterns above their noise floor at all (a perfect "
            "synthesizer: about half)"
        )
        return text_table(title, header, rows)


def within_pattern_utility(
    data: Microdata, synthetic: Any, *, repeats: int = 100, seed: int | None = None
) -> WithinPatternUtility:
    """Compare the labels' distribution within each pattern with the original's.

    Parameters
    ----------
    data : Microdata
        The confidential data.
    synthetic : SyntheticSets, or a list of frames or paths
        The sets, row by row beside the data.
    repeats : int
        Perfect sets that the standard deviations are simulated from, at least 2; 100 give them
        within about 7 %.
    seed : int, optional
        Makes the simulation repeatable.

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
    data, repeats = check_data(data), check_whole("repeats", repeats, 2)
    generator = stream(check_seed(seed), "utility", "within_pattern")
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
    spread = _spread(generator, data, floor, repeats)
    above = _spreads_above(distance - floor, spread / np.sqrt(len(per_set)))
    return WithinPatternUtility(
        distance=distance,
        noise_floor=floor,
        floor_spread=spread,
        spreads_above=above,
        per_set=per_set,
        patterns=_pattern_frame(data, per_set, floor, spread, above),
        _counted=counted,
    )


def _spread(
    generator: np.random.Generator, data: Microdata, floor: NDArray[np.float64], repeats: int
) -> NDArray[np.float64]:
    """Standard deviation of a perfect set's distance around its exact mean: (pattern,)."""
    pattern, sizes = data.patterns.of_combination, data.patterns.sizes
    squares = np.zeros(sizes.size)
    block = max(1, LARGEST_BLOCK // data.n_combinations)
    for start in range(0, repeats, block):
        for drawn in perfect_counts(generator, data, min(block, repeats - start)):
            moved = np.abs(drawn - data.counts)
            distance = np.bincount(pattern, weights=moved, minlength=sizes.size) / (2 * sizes)
            squares += (distance - floor) ** 2
    spread: NDArray[np.float64] = np.sqrt(squares / repeats)
    spread[floor == 0] = 0.0
    return spread


def _spreads_above(excess: NDArray[np.float64], spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """Excess in standard deviations: (pattern,); 0 or infinity where there is no spread."""
    certain = np.where(excess > 0, np.inf, 0.0)
    return np.divide(excess, spread, out=certain, where=spread > 0)


def _pattern_frame(
    data: Microdata,
    per_set: NDArray[np.float64],
    floor: NDArray[np.float64],
    spread: NDArray[np.float64],
    above: NDArray[np.float64],
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
            "floor_spread": spread,
            "excess": distance - floor,
            "spreads_above": above,
        }
    ).sort("spreads_above", "excess", "pattern", descending=[True, True, False])


def _distribution(
    data: Microdata, set_number: int, rows: NDArray[np.int32], counts: NDArray[np.int64]
) -> pl.DataFrame:
    """How often each label occurs in each pattern of one set; set number 0 is the original."""
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
        pl.lit("synthetic" if set_number else "original").alias("source"),
        pl.lit(set_number or None, pl.Int32).alias("set"),
        "count",
        "share",
    )
