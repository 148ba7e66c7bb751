"""The data as the kernels of the back-off model see them: nodes and non-empty (node, label) pairs.

One tree for every synthesized variable. Nodes are numbered by depth, so that the roots come first
and parents before children; a group is the nodes of one depth of one tree, which share a
concentration, and lies in one piece. A pair stands for the records of a node that have a label;
pairs of labels that occur nowhere in a node do not exist, so size and cost follow the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.synthesis.backoff.tree import ROOT_PRIOR, Rows, Tree

__all__ = ["Forest", "plant"]


class Forest(NamedTuple):
    """Nodes of all trees by depth, and their pairs, by node and label."""

    parent: NDArray[np.int64]  # (node,) -1 for roots, which are the first nodes
    tree: NDArray[np.int64]  # (node,)
    n_labels: NDArray[np.int64]  # (tree,)
    group: NDArray[np.int64]  # (node,) whose concentration it has; -1 for roots
    group_start: NDArray[np.int64]  # (group + 1,) first node of each group, and behind the last
    pair_start: NDArray[np.int64]  # (node + 1,)
    pair_label: NDArray[np.int32]  # (pair,)
    pair_above: NDArray[np.int64]  # (pair,) the parent's pair with the same label; -1 at roots
    counts: NDArray[np.int64]  # (pair,) records of the pair where its node is a leaf, else 0
    root_prior: float  # Dirichlet prior count of every label at a root

    @property
    def n_groups(self) -> int:
        """Number of concentrations."""
        return self.group_start.size - 1


def plant(trees: Sequence[Tree], rows: Sequence[Rows]) -> tuple[Forest, list[NDArray[np.int64]]]:
    """Number the nodes of all trees through, and make their pairs.

    Parameters
    ----------
    trees : sequence of Tree
        One per synthesized variable.
    rows : sequence of Rows
        The data that each was made of.

    Returns
    -------
    Forest
    list of int64 (node of the tree,)
        For each tree, its nodes' numbers in the forest.
    """
    tree = np.repeat(np.arange(len(trees)), [grown.parent.size for grown in trees])  # (node,)
    depth = np.concatenate([grown.depth for grown in trees])  # (node,)
    order = np.lexsort((tree, depth))  # stable: by depth, then tree, then the tree's own order
    number = np.empty(order.size, dtype=np.int64)  # (node as listed,) its number in the forest
    number[order] = np.arange(order.size)
    first = np.cumsum([0, *(grown.parent.size for grown in trees)])
    numbers = [number[low:high] for low, high in pairwise(first)]
    parent = np.full(order.size, -1, dtype=np.int64)  # (node,)
    for grown, own in zip(trees, numbers, strict=True):
        inner = grown.parent >= 0
        parent[own[inner]] = own[grown.parent[inner]]
    tree, depth = tree[order], depth[order]
    starts = np.flatnonzero(np.diff(depth * len(trees) + tree)) + 1  # (group or later root,)
    group_start = np.append(starts[len(trees) - 1 :], order.size).astype(np.int64)  # (group + 1,)
    pairs = _pairs(parent, int(depth.max()), trees, numbers, rows)
    forest = Forest(
        parent=parent,
        tree=tree.astype(np.int64),
        n_labels=np.array([own.n_labels for own in rows], dtype=np.int64),
        group=np.searchsorted(group_start, np.arange(order.size), side="right") - 1,
        group_start=group_start,
        root_prior=ROOT_PRIOR,
        **pairs,
    )
    return forest, numbers


def _pairs(
    parent: NDArray[np.int64],
    deepest: int,
    trees: Sequence[Tree],
    numbers: Sequence[NDArray[np.int64]],
    rows: Sequence[Rows],
) -> dict[str, Any]:
    """Make the pairs from the leaves up; a pair's key is its node times `width` plus its label."""
    width = max(own.n_labels for own in rows)
    keys = np.concatenate(
        [
            own[tree.leaf_of_row] * width + data.labels
            for tree, own, data in zip(trees, numbers, rows, strict=True)
        ]
    )
    counts = np.concatenate([data.counts for data in rows])
    leaf_keys, of_row = np.unique(keys, return_inverse=True)  # (leaf pair,)
    records = np.bincount(of_row.ravel(), weights=counts)  # exact to 2**53
    every = [leaf_keys]
    above = leaf_keys
    for _ in range(deepest):
        node = parent[above // width]  # (pair,)
        above = np.unique(node[node >= 0] * width + (above % width)[node >= 0])
        every.append(above)
    pair_keys = np.unique(np.concatenate(every))  # (pair,)
    node = pair_keys // width  # (pair,)
    has_parent = parent[node] >= 0
    pair_above = np.full(pair_keys.size, -1, dtype=np.int64)
    pair_above[has_parent] = np.searchsorted(
        pair_keys, (parent[node] * width + pair_keys % width)[has_parent]
    )
    pair_counts = np.zeros(pair_keys.size, dtype=np.int64)
    pair_counts[np.searchsorted(pair_keys, leaf_keys)] = records.astype(np.int64)
    return {
        "pair_start": np.searchsorted(node, np.arange(parent.size + 1)).astype(np.int64),
        "pair_label": (pair_keys % width).astype(np.int32),
        "pair_above": pair_above,
        "counts": pair_counts,
    }
