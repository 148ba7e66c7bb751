"""Guesses of a label that need no rows: pairs of pattern and label are counted, and looked up.

Which guesses there are is listed in `own_record.attacks`.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.risk.matching import Labels, Targets

__all__ = [
    "count_labels",
    "count_pairs",
    "count_sets",
    "modal_chance",
    "pool_counts",
    "row_chance",
]

MOST_ROWS = 2**24  # of several sets that are counted together
Counts = tuple[NDArray[np.int64], NDArray[np.int64]]  # keys and rows, both (pair,)


def count_labels(patterns: Targets, made: NDArray[np.integer[Any]]) -> Counts:
    """Count the rows of one set, or of several together, by pattern and synthetic label.

    Gives distinct keys of `patterns`, (pair,), and their rows, (pair,).
    """
    if made.ndim == 2 and made.size > MOST_ROWS:
        return reduce(pool_counts, (count_labels(patterns, of_set) for of_set in made))
    pairs = (patterns.cell_of_record * patterns.n_labels + made).ravel()
    return count_pairs(pairs, patterns.cell_sizes.size * patterns.n_labels)


def count_pairs(pairs: NDArray[np.int64], n_pairs: int) -> Counts:
    """Count numbers of pairs, (row,), all below `n_pairs`: those that occur, and how often."""
    if n_pairs > 3 * pairs.size:
        return np.unique(pairs, return_counts=True)
    counts = np.bincount(pairs, minlength=n_pairs)
    keys = np.flatnonzero(counts)
    return keys, counts[keys]


def count_sets(labels: Labels, patterns: Targets) -> tuple[list[Counts], Counts]:
    """Count the rows of every set by pattern and label, and of all sets together."""
    by_set = [count_labels(patterns, labels.of_set(index)) for index in range(len(labels.sets))]
    return by_set, reduce(pool_counts, by_set)


def pool_counts(first: Counts, second: Counts) -> Counts:
    """Add the rows of two sets by pair of pattern and label."""
    keys, pair = np.unique(np.concatenate([first[0], second[0]]), return_inverse=True)
    counts = np.bincount(pair, weights=np.concatenate([first[1], second[1]]))
    return keys, counts.astype(np.int64)


def row_chance(
    patterns: Targets,
    keys: NDArray[np.int64],
    counts: NDArray[np.int64],
    wanted: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Chance that a random row of the person's pattern has the true label, (target,).

    `wanted` has keys of other people, where they are not those of `patterns`.
    """
    rows = np.bincount(keys // patterns.n_labels, counts, patterns.cell_sizes.size)  # (pattern,)
    chance = counts / rows[keys // patterns.n_labels]
    return _looked_up(keys, chance, patterns.keys if wanted is None else wanted)


def modal_chance(
    patterns: Targets,
    keys: NDArray[np.int64],
    counts: NDArray[np.int64],
    wanted: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Chance that the most frequent label of the pattern is the true one, (target,).

    Ties are broken at random: k tied labels have a chance of 1/k each. `wanted` as in `row_chance`.
    """
    cells = keys // patterns.n_labels
    most = np.zeros(patterns.cell_sizes.size, dtype=np.int64)  # (pattern,)
    np.maximum.at(most, cells, counts)
    modal = counts == most[cells]
    n_tied = np.bincount(cells[modal], minlength=most.size)  # (pattern,)
    chance = modal / np.maximum(n_tied[cells], 1)
    return _looked_up(keys, chance, patterns.keys if wanted is None else wanted)


def _looked_up(
    keys: NDArray[np.int64], chance: NDArray[np.float64], wanted: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Find the chance of wanted pairs among those of the pairs of a set; 0 where it is not one."""
    nearest = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[nearest] == wanted, chance[nearest], 0.0)
