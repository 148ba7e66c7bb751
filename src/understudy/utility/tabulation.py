"""Every set is counted once; all tables are sums over what was counted.

Kept variables are the same in every set, so a set is known by how often each pair of pattern and
synthesized levels occurs in it. `count_sets` finds these pairs with one pass over the records;
`tabulate` adds them up to the cells of one table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import SettingError
from understudy.microdata.coding import CombinationStore, regroup
from understudy.microdata.table import Microdata, SyntheticSets

__all__ = [
    "CountedSets",
    "TableCounts",
    "check_synthesized",
    "column_of",
    "count_sets",
    "level_columns",
    "tabulate",
]

LARGEST_DENSE = 1 << 22  # cells of a table that is counted by index, empty cells included
LARGEST_KEY = 1 << 62
# Columns that the frames of utility have beside those of the data's variables.
OWN_COLUMNS = frozenset((
    "cell", "count", "degrees_of_freedom", "deviation", "distance", "estimate", "excess",
    "floor_spread", "lower", "maximum", "mean", "minimum", "noise_floor", "note", "order",
    "original", "original_lower", "original_share", "original_upper", "overlap", "pattern", "rank",
    "records", "set", "share", "source", "spreads_above", "standard_error", "table", "truth_floor",
    "truth_spread", "upper",
))  # fmt: skip


@dataclass(frozen=True, repr=False, eq=False)
class CountedSets:
    """The original and every synthetic set as counted pairs of pattern and synthesized levels.

    Attributes
    ----------
    data : Microdata
        The confidential data.
    rows : tuple of int32 (pair, 1 + synthesized variable)
        The pattern's number, then the codes of the synthesized variables; the original first, its
        pairs in the order of ``data.combinations``, then set by set.
    counts : tuple of int64 (pair,)
        Records with each pair.
    """

    data: Microdata
    rows: tuple[NDArray[np.int32], ...]
    counts: tuple[NDArray[np.int64], ...]

    @property
    def n_sets(self) -> int:
        """Number of synthetic sets."""
        return len(self.rows) - 1


@dataclass(frozen=True, repr=False, eq=False)
class TableCounts:
    """One table of the original and of every set, over the cells that are not empty in all.

    Attributes
    ----------
    names : tuple of str
        The variables: the synthesized ones first.
    codes : int32 (cell, variable)
        Levels of each cell.
    kept_cell : int64 (cell,)
        Number of the cell of kept variables that the cell lies in.
    original : int64 (cell,)
        Counts of the confidential data.
    synthetic : int64 (set, cell)
        Counts of each set.
    of_combination : int64 (combination,)
        The cell of each combination of the data.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int32]
    kept_cell: NDArray[np.int64]
    original: NDArray[np.int64]
    synthetic: NDArray[np.int64]
    of_combination: NDArray[np.int64]

    @property
    def title(self) -> str:
        """The table's name in frames and print-outs."""
        return " by ".join(self.names)

    @property
    def n_cells(self) -> int:
        """Number of cells that are not empty everywhere."""
        return self.original.size

    def counts_of(self, weights: NDArray[np.integer]) -> NDArray[np.int64]:
        """Add numbers of records per combination, axes (repeat, combination), up to cells."""
        added = [
            np.bincount(self.of_combination, weights=row, minlength=self.n_cells) for row in weights
        ]
        return np.array(added).reshape(len(weights), self.n_cells).astype(np.int64)


def check_synthesized(data: Microdata, names: Iterable[str], what: str) -> None:
    """Refuse a table or model of kept variables alone."""
    if not {data.variable(name).name for name in names} & set(data.synthesized):
        raise SettingError(
            expected=f"a {what} with a synthesized variable",
            came="kept variables only, which are the same in every set",
            do=f"add a synthesized variable to the {what}",
        )


def count_sets(sets: SyntheticSets) -> CountedSets:
    """Count the records of the original and of every set once."""
    data = sets.data
    columns = [data.names.index(name) for name in data.synthesized]
    pattern = data.patterns.of_combination  # (combination,)
    rows = [np.column_stack([pattern, data.combinations[:, columns]]).astype(np.int32)]
    counts = [data.counts]
    codes = np.empty((data.n_records, 1 + len(columns)), dtype=np.int32)  # (record, 1 + variable)
    codes[:, 0] = pattern[data.of_record]
    for drawn in sets.codes:
        codes[:, 1:] = drawn
        store = CombinationStore(codes.shape[1])
        store.add(codes, len(codes))
        table = store.table(())
        rows.append(table.codes)
        counts.append(table.counts)
    return CountedSets(data, tuple(rows), tuple(counts))


def tabulate(counted: CountedSets, names: Sequence[str]) -> TableCounts:
    """Make one table of the original and of every set, with a synthesized variable in it."""
    data = counted.data
    drawn = [name for name in data.synthesized if name in names]
    kept = [name for name in data.kept if name in names]
    kept_codes, of_pattern = _kept_cells(data, kept)
    columns = [1 + data.synthesized.index(name) for name in drawn]
    sizes = [len(kept_codes), *[data.variable(name).n_levels for name in drawn]]
    parts = [np.column_stack([of_pattern[rows[:, 0]], rows[:, columns]]) for rows in counted.rows]
    cells, numbered = _number_cells(parts, sizes)
    totals = np.array(
        [
            np.bincount(numbers, weights=counts, minlength=len(cells))
            for numbers, counts in zip(numbered, counted.counts, strict=True)
        ]
    ).astype(np.int64)  # (original and sets, cell)
    occurs = totals.any(axis=0)
    new_number = np.cumsum(occurs) - 1
    cells = cells[occurs]
    return TableCounts(
        names=(*drawn, *kept),
        codes=np.column_stack([cells[:, 1:], kept_codes[cells[:, 0]]]).astype(np.int32),
        kept_cell=cells[:, 0].astype(np.int64),
        original=totals[0, occurs],
        synthetic=totals[1:, occurs],
        of_combination=new_number[numbered[0]],
    )


def _kept_cells(
    data: Microdata, kept: Sequence[str]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Group the patterns by some kept variables: codes (cell, variable), cell (pattern,)."""
    columns = [data.kept.index(name) for name in kept]
    codes, _, of_pattern = regroup(
        data.patterns.codes[:, columns],
        data.patterns.sizes,
        np.arange(len(data.patterns), dtype=np.int32),
        [data.variable(name).n_levels for name in kept],
    )
    return codes, of_pattern


def _number_cells(
    parts: Sequence[NDArray[np.int32]], sizes: Sequence[int]
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Number the distinct rows of several arrays: codes (cell, part), cell (row,) per array."""
    product = math.prod(max(1, int(size)) for size in sizes)
    lengths = np.cumsum([len(part) for part in parts])[:-1]
    if product >= LARGEST_KEY:
        rows = np.concatenate(parts).astype(np.int64)
        cells, numbers = np.unique(rows, axis=0, return_inverse=True)
        return cells, np.split(numbers.reshape(-1), lengths)
    keys = [np.ravel_multi_index(tuple(part.T), tuple(sizes)).astype(np.int64) for part in parts]
    if product <= LARGEST_DENSE:
        present = np.arange(product)
    else:
        present, numbers = np.unique(np.concatenate(keys), return_inverse=True)
        keys = np.split(numbers.reshape(-1), lengths)
    return np.column_stack(np.unravel_index(present, tuple(sizes))).astype(np.int64), keys


def column_of(name: str) -> str:
    """Name a variable's column in a frame, apart from the frame's own columns."""
    return f"{name} (variable)" if name in OWN_COLUMNS else name


def level_columns(
    data: Microdata, names: Sequence[str], codes: NDArray[np.integer]
) -> dict[str, pl.Series]:
    """Turn codes with axes (row, variable) into columns of levels, for a frame."""
    columns = {}
    for index, name in enumerate(names):
        levels = list(data.variable(name).levels)
        texts = pl.Series(levels, dtype=pl.Enum(levels))
        columns[column_of(name)] = texts.gather(pl.Series(codes[:, index]).cast(pl.UInt32))
    return columns
