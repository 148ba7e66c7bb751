"""Trees of groups of records: in a fixed order of variables, or grown where a split gains.

A node is a group of records; one variable splits it, and each of its children holds the records
with some of that variable's levels. A node with a single pattern is a leaf, and so is one in which
no split gains anything: a variable that tells nothing adds no depth, and patterns that are all
single records end in the group that the data support. Nodes of one depth help each other: one in
which no split gains by itself is split with the concentration that the others support, or by one
variable together with all that are left, so that a small effect that is present everywhere is not
lost. The cost follows rows times variables times depth, whatever the product of
levels.

Where combinations are impossible, a node that would be a leaf is split further until all of its
records have the same possible labels: levels that the same rules name stay together.

`route` has `codes` int32 (row, variable).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.backoff.splits import GRID, gain_of_split, log_average

__all__ = ["ROOT_PRIOR", "Rows", "Rules", "Tree", "grow", "route"]

ROOT_PRIOR = 0.5  # Dirichlet prior count of every label at a root
SEPARATED = 1024.0  # concentration with which a split by what is impossible is taken to be made
MARGIN = 0.3  # so much must a split gain beyond the logarithm of the variables to choose from


class Rules(NamedTuple):
    """What is impossible, as a tree sees it."""

    kinds: NDArray[np.int64]  # (row,) rows of the same kind have the same possible labels
    possible: NDArray[np.bool_]  # (kind, label)
    ever: NDArray[np.bool_]  # (label,) in some conceivable record
    marks: tuple[NDArray[np.int64], ...]  # by variable: (level,) same mark, named by same rules


class Rows(NamedTuple):
    """Distinct rows of data, as a tree sees them."""

    columns: tuple[NDArray[np.int32], ...]  # by variable that may split: (row,) levels
    n_levels: tuple[int, ...]  # by variable
    labels: NDArray[np.int32]  # (row,)
    counts: NDArray[np.int64]  # (row,) records
    n_labels: int
    rules: Rules | None = None


class Tree(NamedTuple):
    """Nodes, parents before children; the first is the root."""

    parent: NDArray[np.int64]  # (node,) -1 for the root
    depth: NDArray[np.int64]  # (node,) in a fixed order: variables of the order so far
    variable: NDArray[np.int64]  # (node,) which variable splits it; -1 for a leaf
    child_start: NDArray[np.int64]  # (node,) where its levels begin in `child`
    child: NDArray[np.int32]  # (level of an inner node,) the child that takes it; -1: none
    leaf_of_row: NDArray[np.int64]  # (row,) of the data that the tree was made for


class _Node(NamedTuple):
    """A node whose split is still to be found."""

    number: int
    rows: NDArray[np.int64]  # (row of the node,)
    labels: NDArray[np.int32]  # (label that occurs,)
    prior: NDArray[np.float64]  # (label that occurs,) prior counts
    weight: float  # sum of the prior counts of all labels


class _Split(NamedTuple):
    variable: int
    group_of_level: NDArray[np.int64]  # (level,) -1 where no record has it
    n_groups: int
    concentration: float


def grow(rows: Rows, order: Sequence[int] | None = None) -> Tree:
    """Make the tree of some rows of data.

    With an order, it splits by these variables, one after another, every level a child of its own;
    one in which a node's records agree is passed over there. Left out, it splits by whichever gains
    most, until none does.
    """
    parent, variable, starts, depth = [-1], [-1], [0], [0]
    children: list[NDArray[np.int32]] = []
    n_children = 0
    leaf_of_row = np.zeros(rows.labels.size, dtype=np.int64)
    everything = np.arange(rows.labels.size)
    here = np.unique(rows.labels)
    prior = np.full(here.size, ROOT_PRIOR)  # (label that occurs,)
    layer = [_Node(0, everything, here, prior, ROOT_PRIOR * rows.n_labels)]
    while layer:
        if order is None:
            splits = _best_splits(rows, layer)
        else:
            splits = [_next_split(rows, node, order[depth[node.number] :]) for node in layer]
        below: list[_Node] = []
        for node, gaining in zip(layer, splits, strict=True):
            split = gaining or _separating(rows, node)
            if split is None:
                leaf_of_row[node.rows] = node.number
                continue
            first = len(parent)
            variable[node.number], starts[node.number] = split.variable, n_children
            of_level = np.where(split.group_of_level >= 0, split.group_of_level + first, -1)
            children.append(of_level.astype(np.int32))
            n_children += of_level.size
            parent += [node.number] * split.n_groups
            variable += [-1] * split.n_groups
            starts += [0] * split.n_groups
            depth += [_depth_below(depth[node.number], split, order)] * split.n_groups
            below += _children(rows, node, split, first)
        layer = below
    return Tree(
        parent=np.array(parent, dtype=np.int64),
        depth=np.array(depth, dtype=np.int64),
        variable=np.array(variable, dtype=np.int64),
        child_start=np.array(starts, dtype=np.int64),
        child=np.concatenate([np.empty(0, dtype=np.int32), *children]),
        leaf_of_row=leaf_of_row,
    )


def _depth_below(depth: int, split: _Split, order: Sequence[int] | None) -> int:
    """Give the depth of a split's children: in a fixed order its variables so far."""
    if order is None:
        return depth + 1
    if split.variable in order:
        return order.index(split.variable) + 1
    return len(order) + split.variable + 1  # split by what is impossible, in ascending order


def _separating(rows: Rows, node: _Node) -> _Split | None:
    """Split a node whose records differ in what is possible, by the first rule that they differ in.

    Levels that nobody in the node has go with those that the same rules name.
    """
    if rows.rules is None:
        return None
    kinds = rows.rules.kinds[node.rows]
    if kinds.min() == kinds.max():
        return None
    for number, marks in enumerate(rows.rules.marks):
        here = np.unique(marks[rows.columns[number][node.rows]])
        if here.size > 1:
            groups = np.searchsorted(here, marks)  # (level,)
            groups[~np.isin(marks, here)] = -1
            return _Split(number, groups, here.size, SEPARATED)
    raise AssertionError("records that the same rules name have the same possible labels")


def _children(rows: Rows, node: _Node, split: _Split, first: int) -> list[_Node]:
    """Make the nodes that a split gives; their prior is the node's posterior mean."""
    n = np.bincount(rows.labels[node.rows], rows.counts[node.rows], rows.n_labels)  # (label,)
    mean = np.zeros(rows.n_labels)  # (label,) zero where the node has no record
    mean[node.labels] = (n[node.labels] + node.prior) / (n.sum() + node.weight)
    groups = split.group_of_level[rows.columns[split.variable][node.rows]]  # (row of the node,)
    by_group = np.argsort(groups, kind="stable")
    ends = np.searchsorted(groups[by_group], np.arange(split.n_groups + 1))
    below = []
    for group in range(split.n_groups):
        own = node.rows[by_group[ends[group] : ends[group + 1]]]
        here = np.unique(rows.labels[own])
        prior = split.concentration * mean[here]
        below.append(_Node(first + group, own, here, prior, split.concentration))
    return below


def _best_splits(rows: Rows, layer: list[_Node]) -> list[_Split | None]:
    """Find the split of every node that gains most; None where none does.

    First by itself, then with the concentration that the other nodes of the layer support, then
    together with all nodes that are left.
    """
    splits: list[_Split | None] = []
    gains = np.zeros((len(layer), len(rows.columns), GRID.size), dtype=np.float32)
    n_possible = np.zeros(len(layer), dtype=np.int64)  # (node,)
    prior = np.zeros(rows.n_labels)  # (label,)
    for index, node in enumerate(layer):
        prior[node.labels] = node.prior
        best, split = -np.inf, None
        for number in range(len(rows.columns) if node.rows.size > 1 else 0):
            groups = np.empty(rows.n_levels[number], dtype=np.int64)  # (level,)
            gain, n_groups, point = gain_of_split(
                rows.columns[number],
                rows.labels,
                rows.counts,
                node.rows,
                prior,
                node.weight,
                groups,
                gains[index, number],
            )
            n_possible[index] += n_groups > 1
            if gain > best:
                best, split = gain, _Split(number, groups, int(n_groups), float(GRID[point]))
        splits.append(split if best > _hurdle(n_possible[index]) else None)
    _split_like_others(rows, layer, splits, gains, n_possible)
    _split_together(rows, layer, splits, gains)
    return splits


def _hurdle(n_possible: int) -> float:
    """What a split has to gain: the choice among variables, and a margin."""
    return float(np.log(max(n_possible, 1)) + MARGIN)


def _split_like_others(
    rows: Rows,
    layer: list[_Node],
    splits: list[_Split | None],
    gains: NDArray[np.float32],
    n_possible: NDArray[np.int64],
) -> None:
    """Split nodes that gain with the concentrations that the layer's other nodes support."""
    total = gains.sum(axis=0, dtype=np.float64)  # (variable, grid point)
    for index, node in enumerate(layer):
        if splits[index] is None and n_possible[index]:
            others = total - gains[index]
            weights = np.exp(others - others.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)  # (variable, grid point)
            with np.errstate(divide="ignore"):  # a loss too large for a number
                own = np.log((weights * np.exp(gains[index])).sum(axis=1))  # (variable,)
            number = int(np.argmax(own))
            if own[number] > _hurdle(n_possible[index]):
                point = int(np.argmax(others[number] + gains[index, number]))
                splits[index] = _every_level(rows, node, number, float(GRID[point]))


def _split_together(
    rows: Rows,
    layer: list[_Node],
    splits: list[_Split | None],
    gains: NDArray[np.float32],
) -> None:
    """Split what gains nothing node by node by one variable together, if that gains."""
    left = [index for index, split in enumerate(splits) if split is None]
    total = gains[left].sum(axis=0, dtype=np.float64)  # (variable, grid point)
    averages = [log_average(of_variable) for of_variable in total]
    if not averages or max(averages) <= _hurdle(len(averages)):
        return
    number = int(np.argmax(averages))
    point = int(np.argmax(total[number]))
    for index in left:
        if gains[index, number, point] > 0.0:
            splits[index] = _every_level(rows, layer[index], number, float(GRID[point]))


def _every_level(rows: Rows, node: _Node, variable: int, concentration: float) -> _Split:
    """Give every level that occurs a child of its own."""
    groups = np.full(rows.n_levels[variable], -1, dtype=np.int64)  # (level,)
    here = np.unique(rows.columns[variable][node.rows])
    groups[here] = np.arange(here.size)
    return _Split(variable, groups, here.size, concentration)


def _next_split(rows: Rows, node: _Node, order: Sequence[int]) -> _Split | None:
    """Split by the next variable that the rows differ in; None where they agree on all."""
    for number in order:
        codes = rows.columns[number][node.rows]
        if codes.min() < codes.max():
            return _every_level(rows, node, number, 1.0)
    return None


@compiled
def route(tree, codes):  # type: ignore[no-untyped-def]
    """Send patterns down a tree: int32 (row, variable) to the node (row,) at which each ends.

    A pattern with a level that no record of a node has ends at that node.
    """
    nodes = np.empty(codes.shape[0], dtype=np.int64)
    for row in range(codes.shape[0]):
        node = 0
        while tree.variable[node] >= 0:
            below = tree.child[tree.child_start[node] + codes[row, tree.variable[node]]]
            if below < 0:
                break
            node = below
        nodes[row] = node
    return nodes
