"""Within-pattern utility: the labels of each pattern, original against every set.

No synthesizer reproduces a pattern of three records closely. So each pattern's distance is given
beside what the perfect synthesizer would score there, and what one that knew the population would.
Chance alone puts about half of a right synthesizer's patterns above the latter, so patterns are
sorted by how many standard deviations they lie above it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_whole
from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown, in_users_kind
from understudy.microdata.data_arguments import check_data
from understudy.microdata.synthetic_files import as_sets
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors
from understudy.randomness import check_seed, stream
from understudy.summaries import counted as in_number
from understudy.summaries import number, short
from understudy.utility.noise_floors import PerfectDraws, expected_deviation
from understudy.utility.tabulation import (
    CountedSets,
    column_of,
    count_sets,
    level_columns,
    tabulate,
)

__all__ = ["WithinPatternUtility", "within_pattern_utility"]

Numbers = NDArray[np.float64]
MOST_SHOWN = 10
LONGEST = 40  # letters of a pattern in a table of text
FAR = 3.0  # standard deviations above the floor that chance hardly reaches
LARGEST_BLOCK = 1 << 22  # simulated counts held at once


@dataclass(frozen=True, repr=False, eq=False)
class WithinPatternUtility(Shown):
    """Distances between label distributions, pattern by pattern.

    Attributes
    ----------
    distance : float64 (pattern,)
        Total variation distance between the original and a set's distribution of labels, averaged
        over the sets; patterns in the order of ``data.patterns``.
    noise_floor : float64 (pattern,)
        Its expectation under the perfect synthesizer, which resamples the original; exact.
    truth_floor : float64 (pattern,)
        What a synthesizer that knew the population would score: the expectation between two
        independent perfect sets, exact.
    floor_spread : float64 (pattern,)
        Standard deviation of one perfect set's distance, by simulation.
    truth_spread : float64 (pattern,)
        Standard deviation of the mean distance over so many sets of a synthesizer that knew the
        population, by simulation; the original is the same for all sets, so it does not vanish
        with their number.
    spreads_above : float64 (pattern,)
        How many `truth_spread` the distance lies above `truth_floor`. Infinite where a perfect set
        cannot differ from the original (all records of the pattern have one label) and a set does.
    per_set : float64 (set, pattern)
        The distance of every set.
    patterns : frame
        One row per pattern, worst first (largest `spreads_above`, then largest excess): number of
        the pattern from 0, its levels, records, distance, minimum and maximum over the sets, both
        floors with their spreads, excess of distance over truth floor, and `spreads_above`.
    """

    _frames: ClassVar[tuple[str, ...]] = ("patterns", "distributions")
    distance: Numbers
    noise_floor: Numbers
    truth_floor: Numbers
    floor_spread: Numbers
    truth_spread: Numbers
    spreads_above: Numbers
    per_set: Numbers
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

    def _described(self) -> Described:
        """Show how many patterns lie above their floor, and the worst by their levels."""
        n_sets, n_patterns = self.per_set.shape
        above = int((self.distance > self.truth_floor).sum())
        far = int((self.spreads_above > FAR).sum())
        data = self._counted.data
        kept = list(map(column_of, data.kept))
        rows = [
            [short(", ".join(str(row[name]) for name in kept), LONGEST),
             f"{row['records']:,}", number(row["distance"]), number(row["noise_floor"]),
             number(row["truth_floor"]), number(row["excess"]),
             number(row["spreads_above"], digits=2)]
            for row in self.patterns.head(MOST_SHOWN).iter_rows(named=True)
        ]  # fmt: skip
        names = short(", ".join(data.kept) or "pattern", LONGEST)
        header = [names, "records", "distance", "noise floor", "truth floor", "excess",
                  "s.d. above"]  # fmt: skip
        title = (
            f"Within-pattern utility of {in_number(n_sets, 'set')}, "
            f"{in_number(n_patterns, 'pattern')}\n"
            f"{far:,} of {n_patterns:,} patterns more than {FAR:.0f} standard deviations above "
            "their truth floor (a right synthesizer: hardly any)\n"
            f"{above:,} of {n_patterns:,} patterns above their truth floor (a right "
            "synthesizer: about half); the worst:"
        )
        lines = [[self.per_set[:, row["pattern"]].tolist()]
                 for row in self.patterns.head(MOST_SHOWN).iter_rows(named=True)]  # fmt: skip
        return Described(title, header, rows, lines=lines)

    def _panels(self) -> Mapping[str, Panel]:
        columns = self.patterns.columns
        levels = columns[columns.index("pattern") + 1 : columns.index("records")]
        worst = self.patterns.head(MOST_SHOWN)
        return {
            "distance": Panel(
                "total variation distance from the original",
                [", ".join(map(str, row)) for row in worst.select(levels).rows()],
                worst["distance"].to_list(),
                worst["minimum"].to_list(),
                worst["maximum"].to_list(),
                references={
                    "perfect sets": worst["noise_floor"].to_list(),
                    "truth floor": worst["truth_floor"].to_list(),
                },
                title="the worst patterns",
            )
        }


@in_users_kind
@only_our_errors
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
        Perfect sets that the standard deviations are simulated from, at least 2; 100 give
        `floor_spread` within about 7 %, `truth_spread` within about 10 %.
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
    per_set = _distances(counted)  # (set, pattern)
    floors = _Floors.of(generator, data, repeats, len(per_set))
    excess = per_set.mean(axis=0) - floors.truth_floor
    above = _spreads_above(excess, floors.truth_spread)
    return WithinPatternUtility(
        distance=per_set.mean(axis=0),
        noise_floor=floors.noise_floor,
        truth_floor=floors.truth_floor,
        floor_spread=floors.floor_spread,
        truth_spread=floors.truth_spread,
        spreads_above=above,
        per_set=per_set,
        patterns=_pattern_frame(data, per_set, floors, above),
        _counted=counted,
    )


def _distances(counted: CountedSets) -> Numbers:
    """Give each set's distance in every pattern, (set, pattern), some sets at a time."""
    sizes = counted.data.patterns.sizes
    rows, counts = counted.rows, counted.counts
    step = max(1, LARGEST_BLOCK // len(rows[0]))  # sets whose cells are numbered together
    added = []
    for first in range(1, len(rows), step):
        some = slice(first, first + step)
        part = CountedSets(counted.data, (rows[0], *rows[some]), (counts[0], *counts[some]))
        table = tabulate(part, counted.data.names)
        for row in table.synthetic:
            weights = np.abs(row - table.original)
            added.append(np.bincount(table.kept_cell, weights=weights, minlength=sizes.size))
    return np.array(added) / (2 * sizes)


class _Floors(NamedTuple):
    """What perfect sets score, and how far that varies; all arrays are (pattern,)."""

    noise_floor: Numbers
    truth_floor: Numbers
    floor_spread: Numbers
    truth_spread: Numbers

    @classmethod
    def of(
        cls, generator: np.random.Generator, data: Microdata, repeats: int, n_sets: int
    ) -> _Floors:
        """Find exact floors, and simulate their spreads.

        A set plays the original, two others are compared with it. Their distances share the
        original: their covariance is the part of the variance that a mean over sets keeps.
        """
        sizes, pattern = data.patterns.sizes, data.patterns.of_combination
        size = sizes[pattern]  # (combination,)
        keys = size * (int(data.counts.max()) + 1) + data.counts
        _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
        kinds = np.arange(first.size)  # combinations of one size and count are alike: (kind,)

        def distance(deviation: NDArray[Any]) -> Numbers:
            added = np.bincount(pattern, weights=deviation, minlength=sizes.size)
            return np.asarray(added / (2 * sizes), dtype=np.float64)  # (pattern,)

        floor, truth = (
            distance(
                expected_deviation(
                    size[first], data.counts[first], kinds, kinds.size, between_two=two
                )[kind]
            )
            for two in (False, True)
        )
        squares, truth_squares, products = np.zeros((3, sizes.size))
        perfect = PerfectDraws(data)
        block = max(1, LARGEST_BLOCK // data.n_combinations)
        for start in range(0, repeats, block):
            number_drawn = min(block, repeats - start)
            triples = [perfect.counts(generator, number_drawn) for _ in range(3)]
            for original, another, other in zip(*triples, strict=True):
                squares += (distance(np.abs(original - data.counts)) - floor) ** 2
                first = distance(np.abs(another - original)) - truth
                second = distance(np.abs(other - original)) - truth
                truth_squares += (first**2 + second**2) / 2
                products += first * second
        shared = np.clip(products, 0.0, truth_squares)
        variance = (shared + (truth_squares - shared) / n_sets) / repeats
        return cls(
            noise_floor=floor,
            truth_floor=truth,
            floor_spread=np.where(floor > 0, np.sqrt(squares / repeats), 0.0),
            truth_spread=np.where(truth > 0, np.sqrt(variance), 0.0),
        )


def _spreads_above(excess: Numbers, spread: Numbers) -> Numbers:
    """Excess in standard deviations: (pattern,); 0 or infinity where there is no spread."""
    certain = np.where(excess > 0, np.inf, 0.0)
    return np.divide(excess, spread, out=certain, where=spread > 0)


def _pattern_frame(
    data: Microdata,
    per_set: Numbers,
    floors: _Floors,
    above: Numbers,
) -> pl.DataFrame:
    distance = per_set.mean(axis=0)
    return pl.DataFrame(
        {
            "pattern": np.arange(above.size, dtype=np.int32),
            **level_columns(data, data.kept, data.patterns.codes),
            "records": data.patterns.sizes,
            "distance": distance,
            "minimum": per_set.min(axis=0),
            "maximum": per_set.max(axis=0),
            **floors._asdict(),
            "excess": distance - floors.truth_floor,
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
