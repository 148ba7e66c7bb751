"""A small forest of classification trees, learned from the rows of synthetic files.

It is what an intruder trains who knows all kept variables of a person. A large pattern speaks for
itself: its prediction is the share of each label among its own rows. Smaller patterns are grouped
with those alike in some of their variables; how is decided by trees, each grown on a random
resampling of the rows.

What a tree says of a pattern is the share of a label in its leaf. For given trees that is linear in
the patterns' shares, so a prediction can be averaged over posterior draws, and worked out without a
record, like a share itself. The trees are held fixed then: what one record does to where they split
is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.table import Microdata

__all__ = ["LARGE", "Forest", "grow_forest", "grow_on_shares"]

LARGE = 50  # records of a pattern whose own shares are used
TREES = 25
SMALLEST_NODE = 30  # records; smaller groups are not split

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees as groups of patterns.

    Attributes
    ----------
    sizes : int64 (pattern,)
        Records.
    leaves : list of int64 (member,)
        The patterns of each leaf of all trees.
    leaf : int64 (tree, pattern)
        The leaf that a pattern is in; -1 for large patterns, which are predicted by themselves.
    """

    sizes: NDArray[np.int64]
    leaves: list[NDArray[np.int64]]
    leaf: NDArray[np.int64]

    @property
    def small(self) -> NDArray[np.int64]:
        """Patterns that are predicted by the trees."""
        return np.flatnonzero(self.leaf[0] >= 0)

    def counts_for(self, pattern: int) -> tuple[NDArray[np.int64], Floats]:
        """Give the patterns whose shares make up a pattern's prediction, and their parts of it."""
        if self.leaf[0, pattern] < 0:
            return np.array([pattern]), np.ones(1)
        members = [self.leaves[leaf] for leaf in self.leaf[:, pattern]]
        parts = [self.sizes[each] / self.sizes[each].sum() / len(members) for each in members]
        patterns, position = np.unique(np.concatenate(members), return_inverse=True)
        patterns = patterns.astype(np.int64)
        return patterns, np.bincount(position, np.concatenate(parts)).astype(np.float64)

    def predict(self, shares: Floats) -> Floats:
        """Predict from the patterns' own shares, (pattern, column); columns are apart."""
        predicted = np.array(shares, dtype=np.float64)
        for pattern in self.small.tolist():
            patterns, parts = self.counts_for(pattern)
            predicted[pattern] = parts @ shares[patterns]
        return predicted

    def believe(
        self,
        shares: Floats,
        less: Floats,
        pattern: NDArray[np.int64],
        label: NDArray[np.int64],
        counts: NDArray[np.int64],
    ) -> tuple[Floats, Floats, float]:
        """Chances of being right, with a record and without; the error of the sum is the trees'.

        Parameters
        ----------
        shares : float64 (pattern, label)
            The patterns' own.
        less : float64 (combination,)
            By how much the own pattern's share of a label is smaller without such a record.
        pattern, label, counts : int64 (combination,)
            Whose records, and how many.
        """
        of_leaf = np.array([self.sizes[members].sum() for members in self.leaves] or [1])
        parts = np.where(self.leaf < 0, 1.0, self.sizes / of_leaf[self.leaf])  # (tree, pattern)
        effects = (parts[:, pattern] * less) @ counts  # (tree,)
        believed = self.predict(shares)[pattern, label]
        error = float(effects.std(ddof=1) / TREES**0.5)
        return believed, believed - parts.mean(axis=0)[pattern] * less, error

    def predict_draws(
        self, tables: NDArray[np.float32], pattern: int, labels: NDArray[np.int64]
    ) -> Floats:
        """Predict labels of one pattern from each of many tables of shares.

        Parameters
        ----------
        tables : float32 (draw, pattern, label)
            Shares.
        pattern : int
            Of which pattern.
        labels : int64 (column,)
            Of which labels.

        Returns
        -------
        float64 (draw, column)
        """
        predicted = np.zeros((len(tables), labels.size))
        for member, part in zip(*self.counts_for(pattern), strict=True):
            predicted += part * tables[:, member, labels]
        return predicted


def grow_forest(
    generator: np.random.Generator,
    codes: NDArray[np.int32],
    rows: Floats,
    sizes: NDArray[np.int64],
) -> Forest:
    """Grow trees until every group that has a small pattern is itself small, or a single pattern.

    Parameters
    ----------
    generator : numpy.random.Generator
        Resamples the rows and chooses variables to split by.
    codes : int32 (pattern, kept variable)
        Kept variables of the patterns.
    rows : float64 (pattern, label)
        Rows of all files, or how many are expected.
    sizes : int64 (pattern,)
        Records; a pattern without any is predicted by others.
    """
    small = sizes < LARGE
    leaf = np.full((TREES, sizes.size), -1, dtype=np.int64)
    leaves: list[NDArray[np.int64]] = []
    for tree in range(TREES if small.any() else 0):
        resampled = generator.poisson(rows).astype(np.float64)
        for members in _grow(generator, codes, resampled, sizes, np.arange(sizes.size)):
            leaf[tree, members[small[members]]] = len(leaves)
            leaves.append(members)
    return Forest(sizes, leaves, leaf)


def grow_on_shares(
    generator: np.random.Generator, data: Microdata, shares: NDArray[np.floating], n_sets: int
) -> Forest:
    """Grow a forest on the rows that `n_sets` files are expected to have, from (pattern, label)."""
    sizes = data.patterns.sizes
    rows = shares.astype(np.float64) * (sizes * n_sets)[:, None]
    return grow_forest(generator, data.patterns.codes, rows, sizes)


def _grow(
    generator: np.random.Generator,
    codes: NDArray[np.int32],
    rows: Floats,
    sizes: NDArray[np.int64],
    node: NDArray[np.int64],
) -> Iterator[NDArray[np.int64]]:
    """Split some patterns until they are leaves, and give the leaves that have small patterns.

    A node is split by all levels of one variable, the one of a random half of them that lowers the
    Gini impurity most. Patterns without records go with the largest group.
    """
    if (sizes[node] >= LARGE).all():
        return
    filled = node[sizes[node] > 0]
    varies = np.flatnonzero((codes[filled] != codes[filled[0]]).any(axis=0))
    if varies.size == 0 or sizes[node].sum() < SMALLEST_NODE:
        yield node
        return
    tried = generator.permutation(varies)[: (varies.size + 1) // 2]
    splits = [_split(codes[filled, variable], rows[filled]) for variable in tried]
    best = int(np.argmax([purity for purity, _ in splits]))
    groups = [filled[group] for group in splits[best][1]]
    largest = int(np.argmax([sizes[group].sum() for group in groups]))
    groups[largest] = np.concatenate([groups[largest], node[sizes[node] == 0]])
    for group in groups:
        yield from _grow(generator, codes, rows, sizes, group)


def _split(levels: NDArray[np.int32], rows: Floats) -> tuple[float, list[NDArray[np.intp]]]:
    """Split by levels: the summed purity, sum of squares over sums, and who is in which group."""
    groups = [np.flatnonzero(levels == level) for level in np.unique(levels)]
    purity = 0.0
    for group in groups:
        inside = rows[group].sum(axis=0)
        purity += float((inside**2).sum() / max(inside.sum(), 1.0))
    return purity, groups
