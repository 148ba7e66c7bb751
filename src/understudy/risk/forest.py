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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.label_rows import LabelRows, dense_rows
from understudy.microdata.table import Microdata
from understudy.risk import forest_kernels as kernels

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
    members : int64 (member,)
        The patterns of each leaf of all trees, leaf by leaf.
    leaf_starts : int64 (leaf + 1,)
        Where the members of each leaf begin.
    leaf : int64 (tree, pattern)
        The leaf that a pattern is in; -1 for large patterns, which are predicted by themselves.
    """

    sizes: NDArray[np.int64]
    members: NDArray[np.int64]
    leaf_starts: NDArray[np.int64]
    leaf: NDArray[np.int64]

    def members_of(self, leaf: int) -> NDArray[np.int64]:
        """List the patterns of a leaf."""
        return self.members[self.leaf_starts[leaf] : self.leaf_starts[leaf + 1]]

    def counts_for(self, pattern: int) -> tuple[NDArray[np.int64], Floats]:
        """Give the patterns whose shares make up a pattern's prediction, and their parts of it."""
        if self.leaf[0, pattern] < 0:
            return np.array([pattern]), np.ones(1)
        members = [self.members_of(leaf) for leaf in self.leaf[:, pattern].tolist()]
        parts = [self.sizes[member] / self.sizes[member].sum() / len(members) for member in members]
        patterns, row = np.unique(np.concatenate(members), return_inverse=True)
        patterns = patterns.astype(np.int64)
        return patterns, np.bincount(row, np.concatenate(parts)).astype(np.float64)

    def predict(self, shares: Floats) -> Floats:
        """Predict from the patterns' own shares, (pattern, column); columns are apart."""
        predicted: Floats = kernels.predict_rows(
            self.leaf, self.leaf_starts, self.members, self.sizes, shares.astype(np.float64)
        )
        return predicted

    def predict_pairs(
        self,
        rows: LabelRows,
        n_labels: int,
        pattern: NDArray[np.integer],
        label: NDArray[np.int64],
    ) -> Floats:
        """Predict labels of patterns, (pair,), from the patterns' own shares; as `predict` does."""
        order = np.argsort(pattern, kind="stable")  # (pair,)
        starts = np.searchsorted(pattern[order], np.arange(self.sizes.size + 1)).astype(np.int64)
        predicted = np.empty(order.size)
        predicted[order] = kernels.predict_pairs(
            self.leaf, self.leaf_starts, self.members, self.sizes, rows, n_labels,
            starts, label[order],
        )  # fmt: skip
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

        The patterns' own shares are (pattern, label); without such a record the own pattern's share
        of a label is smaller by `less`, (combination,).
        """
        sums = np.append(0, np.cumsum(self.sizes[self.members]))
        of_leaf = np.append(sums[self.leaf_starts[1:]] - sums[self.leaf_starts[:-1]], 1)
        parts = np.where(self.leaf < 0, 1.0, self.sizes / of_leaf[self.leaf])  # (tree, pattern)
        effects = (parts[:, pattern] * less) @ counts  # (tree,)
        believed = self.predict(shares)[pattern, label]
        error = float(effects.std(ddof=1) / TREES**0.5)
        return believed, believed - parts.mean(axis=0)[pattern] * less, error

    def predict_draws(
        self, tables: NDArray[np.float32], pattern: int, labels: NDArray[np.int64]
    ) -> Floats:
        """Predict labels of a pattern, (draw, column), from shares (draw, pattern, label)."""
        predicted = np.zeros((len(tables), labels.size))
        for member, part in zip(*self.counts_for(pattern), strict=True):
            predicted += part * tables[:, member, labels]
        return predicted


def grow_forest(
    generator: np.random.Generator,
    codes: NDArray[np.int32],
    rows: LabelRows,
    weights: Floats,
    sizes: NDArray[np.int64],
    n_labels: int,
) -> Forest:
    """Grow trees until every group that has a small pattern is itself small, or a single pattern.

    A node is split by all levels of one variable, the one of a random half of them that lowers the
    Gini impurity most. Patterns without records, by `sizes`, go with the largest group. Codes are
    (pattern, kept variable); weights, (pattern,), are the rows that all files have.
    """
    small = sizes < LARGE
    leaf = np.full((TREES, sizes.size), -1, dtype=np.int64)
    members, starts, n_leaves = [np.empty(0, dtype=np.int64)], [np.zeros(1, dtype=np.int64)], 0
    n_levels = codes.max(axis=0, initial=0).astype(np.int64) + 1
    for tree in range(TREES if small.any() else 0):
        resampled = kernels.resample(generator, rows, weights)
        inside, leaf_starts = kernels.grow_tree(
            generator, codes, n_levels, *resampled, n_labels, sizes, LARGE, SMALLEST_NODE
        )
        numbers = np.repeat(np.arange(leaf_starts.size - 1), np.diff(leaf_starts))  # (member,)
        leaf[tree, inside[small[inside]]] = n_leaves + numbers[small[inside]]
        starts.append(starts[-1][-1] + leaf_starts[1:])
        members.append(inside)
        n_leaves += leaf_starts.size - 1
    return Forest(sizes, np.concatenate(members), np.concatenate(starts), leaf)


def grow_on_shares(
    generator: np.random.Generator, data: Microdata, shares: NDArray[np.floating], n_sets: int
) -> Forest:
    """Grow a forest on the rows that `n_sets` files are expected to have, from (pattern, label)."""
    sizes = data.patterns.sizes
    rows, weights = dense_rows(shares.astype(np.float64)), (sizes * n_sets).astype(np.float64)
    return grow_forest(generator, data.patterns.codes, rows, weights, sizes, data.n_labels)
