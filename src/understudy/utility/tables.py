"""Global utility: how far the tables of the synthetic sets are from those of the original.

All tables of one, two or three variables that hold a synthesized variable are compared cell by
cell. Beside every deviation are two noise floors, the deviation of the perfect synthesizer and
that of one which knows the population: without them nobody can tell whether a number is large.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import as_whole, check_whole
from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import SettingError
from understudy.microdata.data_arguments import check_data
from understudy.microdata.synthetic_files import as_sets
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors
from understudy.randomness import check_seed, stream
from understudy.spreading import in_order
from understudy.summaries import Spread, counted, estimate_number, number, spread_of
from understudy.utility.noise_floors import expected_cell_deviation, perfect_counts
from understudy.utility.table_measures import Measures, over_floor, table_measures
from understudy.utility.tabulation import (
    CountedSets,
    TableCounts,
    check_synthesized,
    count_sets,
    level_columns,
    tabulate,
)

__all__ = ["TableUtility", "signed_deviations", "table_utility"]

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]
USUAL_ORDERS = tuple(range(1, 4))  # an object of its own, to know when the user gave none


@dataclass(frozen=True, repr=False, eq=False)
class TableUtility(Shown):
    """Deviations of tables, with two noise floors beside each.

    Attributes
    ----------
    deviation : mapping of int to float
        By order of the tables: the sum of absolute differences between original and synthetic
        counts, added over the tables of that order, averaged over the sets.
    noise_floor : mapping of int to float
        What the perfect synthesizer scores, which resamples the original: the exact expectation.
    truth_floor : mapping of int to float
        What a synthesizer that knew the population would score: the exact expectation of the
        deviation between two independent perfect sets.
    spread : mapping of int to Spread
        Mean, smallest and largest deviation over the sets.
    simulated_floor : mapping of int to Spread
        The same over simulated perfect sets: how far one set can be off by chance.
    tables : frame
        One row per table: cells, deviation (mean, minimum, maximum over the sets), both floors
        (the resampled one also simulated), and the standardized measures, averaged over the sets,
        each with the mean over simulated perfect sets (ending in ``_floor``) and over pairs of them
        (``_truth_floor``); see `understudy.utility.table_measures.Measures` for what each is.
    per_set : frame
        Deviation by set and order.
    """

    _frames: ClassVar[tuple[str, ...]] = ("tables", "per_set", "signed")
    deviation: Mapping[int, float]
    noise_floor: Mapping[int, float]
    truth_floor: Mapping[int, float]
    spread: Mapping[int, Spread]
    simulated_floor: Mapping[int, Spread]
    tables: pl.DataFrame
    per_set: pl.DataFrame
    _counted: CountedSets = field(repr=False)
    _names: tuple[tuple[str, ...], ...] = field(repr=False)

    @property
    def ratio(self) -> dict[int, float | None]:
        """Deviation over `truth_floor`, by order: 1 for a right synthesizer; None over 0."""
        return over_floor(self.deviation, self.truth_floor)

    @cached_property
    def signed(self) -> pl.DataFrame:
        """Synthetic minus original count, the data of the density plots.

        Columns ``order``, ``table``, ``set`` (from 1), ``cell`` (number within the table, in
        lexicographic order of the levels) and ``deviation``; one row for every cell that is not
        empty in the original and in all sets.
        """
        return pl.concat([self._signed(names) for names in self._names])

    def cells(self, names: Sequence[str]) -> pl.DataFrame:
        """Show one table cell by cell, the largest mean deviation first.

        Parameters
        ----------
        names : sequence of str
            Variables of the table, at least one of them synthesized.

        Returns
        -------
        frame
            The levels, ``original`` count, ``mean``, ``minimum`` and ``maximum`` count over the
            sets, and the expected absolute deviation of a perfect set from the original
            (``noise_floor``) and from another perfect set (``truth_floor``).
        """
        listed = [names] if isinstance(names, str) else list(names)
        data = self._counted.data
        check_synthesized(data, listed, "table")
        table = tabulate(self._counted, listed)
        return (
            pl.DataFrame(
                {
                    **level_columns(data, table.names, table.codes),
                    "original": table.original,
                    "mean": table.synthetic.mean(axis=0),
                    "minimum": table.synthetic.min(axis=0),
                    "maximum": table.synthetic.max(axis=0),
                    "deviation": np.abs(table.synthetic - table.original).mean(axis=0),
                    "noise_floor": _cell_floors(data, table),
                    "truth_floor": _cell_floors(data, table, between_two=True),
                }
            )
            .with_row_index("cell")
            .sort("deviation", "cell", descending=[True, False])
        )

    def _signed(self, names: tuple[str, ...]) -> pl.DataFrame:
        table = tabulate(self._counted, names)
        n_sets = self._counted.n_sets
        return pl.DataFrame(
            {
                "set": np.repeat(np.arange(1, n_sets + 1, dtype=np.int32), table.n_cells),
                "cell": np.tile(np.arange(table.n_cells, dtype=np.int32), n_sets),
                "deviation": (table.synthetic - table.original).reshape(-1),
            }
        ).select(pl.lit(len(names), pl.Int32).alias("order"), pl.lit(table.title).alias("table"),
                 "set", "cell", "deviation")  # fmt: skip

    def _described(self) -> Described:
        """Show sums over many cells by order, nothing of a single record."""
        rows = [
            [
                f"{order}-way",
                str(self.tables.filter(pl.col("order") == order).height),
                estimate_number(self.deviation[order]),
                f"{estimate_number(spread.minimum)} to {estimate_number(spread.maximum)}",
                estimate_number(self.noise_floor[order]),
                estimate_number(self.truth_floor[order]),
                number(self.ratio[order]),
            ]
            for order, spread in self.spread.items()
        ]
        header = ["tables", "number", "deviation", "over the sets", "noise floor", "truth floor",
                  "ratio"]  # fmt: skip
        title = (
            f"Table utility of {counted(self._counted.n_sets, 'set')}; the ratio is to the truth "
            "floor, what a synthesizer that knew the population would score"
        )
        lines = [
            [self.per_set.filter(pl.col("order") == order)["deviation"].to_list()]
            for order in self.spread
        ]
        return Described(title, header, rows, lines=lines)

    def _panels(self) -> Mapping[str, Panel]:
        orders = [order for order, floor in self.truth_floor.items() if floor > 0]
        floors = [self.truth_floor[order] for order in orders]

        def over_floor(numbers: Iterable[float | None]) -> list[float | None]:
            pairs = zip(numbers, floors, strict=True)
            return [None if value is None else value / floor for value, floor in pairs]

        spreads = [self.spread[order] for order in orders]
        return {
            "ratio": Panel(
                "deviation over the truth floor; 1 is a right synthesizer",
                [f"{order}-way tables" for order in orders],
                over_floor(spread.mean for spread in spreads),
                over_floor(spread.minimum for spread in spreads),
                over_floor(spread.maximum for spread in spreads),
                references={
                    "truth floor": [1.0] * len(orders),
                    "perfect sets": over_floor(self.noise_floor[order] for order in orders),
                },
            )
        }


@in_users_kind
@only_our_errors
def table_utility(
    data: Microdata,
    synthetic: Any,
    orders: Sequence[int] = USUAL_ORDERS,
    *,
    repeats: int = 20,
    seed: int | None = None,
) -> TableUtility:
    """Compare all small tables of the synthetic sets with those of the original.

    Parameters
    ----------
    data : Microdata
        The confidential data.
    synthetic : SyntheticSets, or a list of frames or paths
        The sets, row by row beside the data.
    orders : sequence of int
        Numbers of variables in a table; every table that holds a synthesized variable is made. When
        left out, those of 1, 2 and 3 that the data have variables for.
    repeats : int
        Simulated perfect sets, for the spread of the noise floor, and pairs of them.
    seed : int, optional
        Makes the simulation repeatable.

    Returns
    -------
    TableUtility
        Deviations are sums of counts; the paper prints them divided by 100.

    References
    ----------
    Raab, G. M., Nowok, B. and Dibben, C. (2021). Assessing, visualizing and improving the utility
    of synthetic data. arXiv:2109.12717.

    Examples
    --------
    >>> import polars as pl
    >>> import understudy as us
    >>> frame = pl.DataFrame({"sex": ["f", "f", "m", "m"], "town": ["a", "b", "a", "a"]})
    >>> data = us.read_microdata(frame, synthesize="town")
    >>> other = frame.with_columns(town=pl.Series(["a", "a", "a", "b"]))
    >>> us.table_utility(data, [other], orders=(1, 2), seed=1).deviation
    {1: 0.0, 2: 4.0}
    """
    data, repeats = check_data(data), check_whole("repeats", repeats, 1)
    listed = _check_orders(data, orders)
    counted = count_sets(as_sets(data, synthetic))
    generator = stream(check_seed(seed), "utility", "tables")
    perfect = perfect_counts(generator, data, repeats)  # (repeat, combination)
    other = perfect_counts(generator, data, repeats)  # (repeat, combination)
    names = [table for order in listed for table in _tables_of(data, order)]
    rows = []
    reached = {order: np.zeros(counted.n_sets) for order in listed}
    simulated = {order: np.zeros(repeats) for order in listed}
    floors, truth_floors = dict.fromkeys(listed, 0.0), dict.fromkeys(listed, 0.0)
    measured = in_order(_measure, names, _Simulated(counted, perfect, other))
    for variables, (row, own, by_chance) in zip(names, measured, strict=True):
        order = len(variables)
        reached[order] += own
        simulated[order] += by_chance
        floors[order] += row["noise_floor"]
        truth_floors[order] += row["truth_floor"]
        rows.append(row)
    return TableUtility(
        deviation={order: float(values.mean()) for order, values in reached.items()},
        noise_floor=floors,
        truth_floor=truth_floors,
        spread={order: spread_of(values) for order, values in reached.items()},
        simulated_floor={order: spread_of(values) for order, values in simulated.items()},
        tables=pl.DataFrame(rows),
        per_set=_per_set(reached),
        _counted=counted,
        _names=tuple(names),
    )


def signed_deviations(
    data: Microdata, synthetic: Any, orders: Sequence[int]
) -> dict[int, tuple[Integers, Integers]]:
    """Count the cells of all sets by synthetic minus original count, for each order of tables.

    Each order has its distinct deviations, rising, and how many cells have each: (value,) both.
    It is what `TableUtility.signed` shows cell by cell, in the memory of one table.
    """
    counted = count_sets(as_sets(data, synthetic))
    names = [table for order in orders for table in _tables_of(data, order)]
    counts: dict[int, Counter[int]] = {order: Counter() for order in orders}
    for variables, signed in zip(names, in_order(_deviations, names, counted), strict=True):
        counts[len(variables)].update(signed)
    return {
        order: (np.array(sorted(signed)), np.array([signed[value] for value in sorted(signed)]))
        for order, signed in counts.items()
    }


def _deviations(variables: tuple[str, ...], counted: CountedSets) -> dict[int, int]:
    """Count the cells of one table by their signed deviation, in all sets."""
    table = tabulate(counted, variables)
    values, cells = np.unique(table.synthetic - table.original, return_counts=True)
    return dict(zip(values.tolist(), cells.tolist(), strict=True))


@dataclass(frozen=True, repr=False, eq=False)
class _Simulated:
    """The counted sets, and two lots of perfect ones, (repeat, combination) each."""

    counted: CountedSets
    perfect: NDArray[np.int32]
    other: NDArray[np.int32]


def _measure(
    variables: tuple[str, ...], simulated: _Simulated
) -> tuple[dict[str, Any], Numbers, Numbers]:
    """Measure one table: its row, and deviations of the sets, (set,), and by chance, (repeat,)."""
    data, table = simulated.counted.data, tabulate(simulated.counted, variables)
    own = table_measures(table.original, table.synthetic, table.kept_cell)
    drawn = table.counts_of(simulated.perfect)  # (repeat, cell)
    by_chance = table_measures(table.original, drawn, table.kept_cell)
    of_pairs = table_measures(table.counts_of(simulated.other), drawn, table.kept_cell)
    floor = float(_cell_floors(data, table).sum())
    truth_floor = float(_cell_floors(data, table, between_two=True).sum())
    row = _table_row(table, floor, truth_floor, own, by_chance, of_pairs)
    return row, own.deviation, by_chance.deviation


def _check_orders(data: Microdata, orders: object) -> list[int]:
    """Orders as given, each once, rising; only the usual ones may go beyond the variables."""
    most = len(data.names)
    if orders is USUAL_ORDERS:
        return [order for order in USUAL_ORDERS if order <= most]
    given = list(orders) if isinstance(orders, Iterable) else [orders]
    listed = [order for order in map(as_whole, given) if order is not None]
    if not given or len(listed) < len(given) or min(listed) < 1 or max(listed) > most:
        raise SettingError(
            expected=f"orders of tables from 1 to {most}, the number of variables",
            came="none" if not given or orders is None else "others",
            do="give for instance orders=(1, 2), or leave them out",
        )
    return sorted(set(listed))


def _tables_of(data: Microdata, order: int) -> list[tuple[str, ...]]:
    """List the tables of one order that hold a synthesized variable."""
    names = (*data.synthesized, *data.kept)
    drawn = set(data.synthesized)
    return [table for table in itertools.combinations(names, order) if drawn & set(table)]


def _cell_floors(data: Microdata, table: TableCounts, *, between_two: bool = False) -> Numbers:
    """Expected absolute deviation of each cell: (cell,)."""
    return expected_cell_deviation(
        data, table.names, table.of_combination, table.n_cells, between_two=between_two
    )


def _table_row(
    table: TableCounts,
    floor: float,
    truth_floor: float,
    own: Measures,
    by_chance: Measures,
    of_pairs: Measures,
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "order": len(table.names),
        "table": table.title,
        "cells": int((table.original > 0).sum()),
        "deviation": float(own.deviation.mean()),
        "deviation_minimum": float(own.deviation.min()),
        "deviation_maximum": float(own.deviation.max()),
        "noise_floor": floor,
        "truth_floor": truth_floor,
        "noise_floor_simulated": float(by_chance.deviation.mean()),
    }
    for measure in fields(Measures):
        if measure.name != "deviation":
            row[measure.name] = _mean(getattr(own, measure.name))
            row[f"{measure.name}_floor"] = _mean(getattr(by_chance, measure.name))
            row[f"{measure.name}_truth_floor"] = _mean(getattr(of_pairs, measure.name))
    return row


def _mean(values: Numbers) -> float | None:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else None


def _per_set(reached: Mapping[int, Numbers]) -> pl.DataFrame:
    return pl.concat(
        [
            pl.DataFrame(
                {"set": np.arange(1, values.size + 1, dtype=np.int32), "deviation": values}
            ).select("set", pl.lit(order, pl.Int32).alias("order"), "deviation")
            for order, values in reached.items()
        ]
    )
