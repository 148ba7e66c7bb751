"""The data as the kernels of the back-off model see them: nodes and non-empty (node, label) pairs.

One tree for every synthesized variable. Nodes are numbered by depth, so that the roots come first
and parents before children; a group is the nodes of one depth of one tree, which share a
concentration, and lies in one piece. A pair stands for the records of a node that have a label;
pairs of labels that occur nowhere in a node do not exist, so size and cost follow the data.

A node's distribution lives on the labels that are possible for some of its records. A label that is
possible in a node and impossible in one of its children has a pair there and above, with or without
records, since the child needs its probability to leave it out.
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
    n_possible: NDArray[np.int64]  # (tree,) labels that are ever possible: all at the root
    never_start: NDArray[np.int64]  # (tree + 1,)
    never: NDArray[np.int32]  # (label of a tree,) that are not
    excluded_start: NDArray[np.int64]  # (node + 1,)
    excluded: NDArray[np.int64]  # (label of a node,) pairs of the parent impossible in the node
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
    """Number the nodes of all trees, one per synthesized variable, through, and make their pairs.

    For each tree comes its nodes' numbers in the forest.
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
    width = max(own.n_labels for own in rows)
    possible = _possible(parent, width, trees, numbers, rows)
    excluded_start, excluded = _excluded(parent, possible)  # keys of parents' pairs
    pairs = _pairs(parent, int(depth.max()), width, trees, numbers, rows, excluded)
    pair_keys = np.repeat(np.arange(order.size), np.diff(pairs["pair_start"])) * width
    pair_keys += pairs["pair_label"]
    never = [_never(own) for own in rows]
    forest = Forest(
        parent=parent,
        tree=tree.astype(np.int64),
        n_labels=np.array([own.n_labels for own in rows], dtype=np.int64),
        n_possible=np.array(
            [own.n_labels - labels.size for own, labels in zip(rows, never, strict=True)],
            dtype=np.int64,
        ),
        never_start=np.cumsum([0, *(labels.size for labels in never)]).astype(np.int64),
        never=np.concatenate(never),
        excluded_start=excluded_start,
        excluded=np.searchsorted(pair_keys, excluded).astype(np.int64),
        group=np.searchsorted(group_start, np.arange(order.size), side="right") - 1,
        group_start=group_start,
        root_prior=ROOT_PRIOR,
        **pairs,
    )
    return forest, numbers


def _never(rows: Rows) -> NDArray[np.int32]:
    """List the labels that are impossible whatever else a record has."""
    if rows.rules is None:
        return np.empty(0, dtype=np.int32)
    return np.flatnonzero(~rows.rules.ever).astype(np.int32)


def _possible(
    parent: NDArray[np.int64],
    width: int,
    trees: Sequence[Tree],
    numbers: Sequence[NDArray[np.int64]],
    rows: Sequence[Rows],
) -> NDArray[np.bool_] | None:
    """Tell which labels are possible in which node, (node, label); None where there are no rules.

    In a leaf those of its records, in others those of any child, in a root all that ever are.
    """
    if all(data.rules is None for data in rows):
        return None
    possible = np.zeros((parent.size, width), dtype=bool)
    for tree, own, data in zip(trees, numbers, rows, strict=True):
        if data.rules is None:
            possible[own, : data.n_labels] = True
        else:
            leaves = own[tree.leaf_of_row]  # (row,)
            possible[leaves, : data.n_labels] = data.rules.possible[data.rules.kinds]
            possible[own[0], : data.n_labels] = data.rules.ever
    for node in range(parent.size - 1, -1, -1):
        if parent[node] >= 0:
            possible[parent[node]] |= possible[node]
    return possible


def _excluded(
    parent: NDArray[np.int64],
    possible: NDArray[np.bool_] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find what is possible in a node's parent and not in the node: starts and keys of pairs."""
    if possible is None:
        return np.zeros(parent.size + 1, dtype=np.int64), np.empty(0, dtype=np.int64)
    keys = [
        above * possible.shape[1] + np.flatnonzero(possible[above] & ~possible[node])
        if above >= 0
        else np.empty(0, dtype=np.int64)
        for node, above in enumerate(parent)
    ]
    return np.cumsum([0, *(own.size for own in keys)]).astype(np.int64), np.concatenate(keys)


def _pairs(
    parent: NDArray[np.int64],
    deepest: int,
    width: int,
    trees: Sequence[Tree],
    numbers: Sequence[NDArray[np.int64]],
    rows: Sequence[Rows],
    excluded: NDArray[np.int64],
) -> dict[str, Any]:
    """Make the pairs from the leaves up; a pair's key is its node times `width` plus its label.

    Keys of pairs that children exclude are pairs too.
    """
    keys = np.concatenate(
        [
            own[tree.leaf_of_row] * width + data.labels
            for tree, own, data in zip(trees, numbers, rows, strict=True)
        ]
    )
    counts = np.concatenate([data.counts for data in rows])
    leaf_keys, of_row = np.unique(keys, return_inverse=True)  # (leaf pair,)
    records = np.bincount(of_row.ravel(), weights=counts)  # exact to 2**53
    above = np.union1d(leaf_keys, excluded)
    every = [above]
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
