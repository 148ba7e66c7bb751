"""Tiny trees for the tests of the back-off sampler, and the way to its forest and states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from tests.naive.backoff import TinyTree

from understudy.synthesis.backoff import gibbs
from understudy.synthesis.backoff.node_counts import Forest, plant
from understudy.synthesis.backoff.tree import Rows, Rules, Tree

MIDDLE = 3.0  # prior median of concentrations
# The root has a leaf and an inner node, which has two leaves; three labels.
TREE = TinyTree([-1, 0, 0, 1, 1], [None, None, (2, 1, 0), (3, 2, 0), (3, 0, 1)], 3)


def forest_of(tree: TinyTree, impossible: dict[int, tuple[int, ...]] | None = None) -> Forest:
    """Bring a tiny tree, whose nodes are listed by depth, into the sampler's form.

    `impossible` names labels by leaf; -1 for those that nobody ever has.
    """
    shape, labels, counts = _parts_of(tree)
    nodes = shape.leaf_of_row
    possible = np.ones((len(tree.parent), tree.n_labels), dtype=bool)
    for leaf, without in (impossible or {}).items():
        possible[leaf, list(without)] = False
        possible[:, list(without)] &= leaf >= 0
    ever = np.ones(tree.n_labels, dtype=bool)
    ever[list((impossible or {}).get(-1, ()))] = False
    rules = None if impossible is None else Rules(nodes, possible, ever, ())
    data = Rows((), (), labels, counts, tree.n_labels, rules)
    forest, (numbers,) = plant([shape], [data])
    assert np.array_equal(numbers, np.arange(len(tree.parent)))
    return forest


def forest_of_two(first: TinyTree, second: TinyTree) -> tuple[Forest, NDArray[np.int64]]:
    """Bring two tiny trees into one forest; also the numbers of the second one's nodes."""
    parts = [_parts_of(tree) for tree in (first, second)]
    forest, (_, numbers) = plant(
        [shape for shape, _, _ in parts],
        [
            Rows((), (), labels, counts, tree.n_labels)
            for tree, (_, labels, counts) in zip((first, second), parts, strict=True)
        ],
    )
    return forest, numbers


def _parts_of(tree: TinyTree) -> tuple[Tree, NDArray[np.int32], NDArray[np.int64]]:
    """Give a tree's shape, and labels and counts of its rows."""
    rows = [
        (node, label, count)
        for node, counts in enumerate(tree.counts)
        for label, count in enumerate(counts or ())
        if count
    ]
    nodes, labels, counts = np.array(rows, dtype=np.int64).reshape(-1, 3).T.copy()  # (row,) each
    parent = np.array(tree.parent)
    shape = Tree(
        parent=parent,
        depth=np.array([tree.depth(node) for node in range(parent.size)]),
        variable=np.full(parent.size, -1),
        child_start=np.zeros(parent.size, dtype=np.int64),
        child=np.empty(0, dtype=np.int32),
        leaf_of_row=nodes,
    )
    return shape, labels.astype(np.int32), counts


def at_pairs(forest: Forest, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take the pairs out of a table (node, label)."""
    node = np.repeat(np.arange(forest.parent.size), np.diff(forest.pair_start))  # (pair,)
    return np.ascontiguousarray(table[node, forest.pair_label])


def state_of(
    forest: Forest, concentration: NDArray[np.float64], distributions: NDArray[np.float64]
) -> gibbs.State:
    """Make the state with these distributions (node, label); its tables are drawn by a sweep."""
    state = gibbs.init(forest, 1.0)
    return state._replace(
        concentration=concentration.copy(), probability=at_pairs(forest, distributions)
    )


def records_key(
    forest: Forest, records: NDArray[np.int64], n_labels: int
) -> tuple[tuple[int, ...], ...]:
    """Name a state by the records of all nodes: (node, label)."""
    table = np.zeros((forest.parent.size, n_labels), dtype=np.int64)
    node = np.repeat(np.arange(forest.parent.size), np.diff(forest.pair_start))
    table[node, forest.pair_label] = records
    return tuple(tuple(map(int, row)) for row in table)
