"""From a draw of concentrations and tables to label probabilities and synthetic labels.

What is kept of a draw is small: concentrations, tables, and a key. A node's whole label
distribution, the labels that nobody in it has included, is Dirichlet(c p_parent + n) given them;
the key names the stream that it is drawn from, so one draw always gives the same tables.

Several synthesized variables are drawn one after another, each given the kept variables and the
ones before. A pattern that occurs nowhere ends at the deepest node that has its levels so far, and
takes a label that is possible for it.

Kernels share these arguments: `generator` (Generator), `forest` (Forest), `wanted` (Wanted),
`concentration` float64 (group,), `records` int64 (pair,), `cumulative` float64 (row, label),
`row_of_record` int64 (record,), `uniform` float64 (record,).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.errors import InputError
from understudy.microdata.label_table import LabelTable, split_labels
from understudy.microdata.table import Microdata
from understudy.randomness import stream
from understudy.synthesis.backoff.node_counts import Forest
from understudy.synthesis.backoff.possible import Possible, possible_in_nodes
from understudy.synthesis.backoff.problem import Problem
from understudy.synthesis.set_drawing import Drawer

__all__ = [
    "KeptDraw",
    "Wanted",
    "cell_chances",
    "cell_nodes",
    "code_drawer",
    "draw_rows",
    "factor",
    "label_table",
    "rows_of_tree",
    "wanted",
]

MOST_CELLS = 60_000_000  # of a table of label probabilities: 480 MB


class KeptDraw(NamedTuple):
    """What is kept of a draw for synthesis."""

    concentration: NDArray[np.float64]  # (group,) scaled
    tables: NDArray[np.int32]  # (pair of an inner node,) records of the pair
    key: NDArray[np.uint64]  # (2,) of the stream that distributions are drawn from


class Wanted(NamedTuple):
    """Nodes of one tree whose label distributions are drawn, parents before children."""

    nodes: NDArray[np.int64]  # (row,) in the forest
    parent_row: NDArray[np.int64]  # (row,) -1 for the root
    n_labels: int


def wanted(forest: Forest, nodes: NDArray[np.int64]) -> Wanted:
    """List nodes of one tree together with everything above them."""
    every = np.unique(nodes)
    above = every
    while above.size:
        above = np.unique(forest.parent[above])
        above = above[above >= 0]
        every = np.union1d(every, above)
    parent = forest.parent[every]  # (row,)
    rows = np.where(parent >= 0, np.searchsorted(every, parent), -1)
    n_labels = int(forest.n_labels[forest.tree[every[0]]])
    _check_size(every.size, n_labels, "groups of records")
    return Wanted(every, rows, n_labels)


@compiled
def draw_rows(generator, forest, wanted, concentration, records):  # type: ignore[no-untyped-def]
    """Draw whole label distributions (row, label), every one given that of its parent."""
    rows = np.empty((wanted.nodes.size, wanted.n_labels))
    for row in range(wanted.nodes.size):
        node = wanted.nodes[row]
        if wanted.parent_row[row] < 0:
            rows[row, :] = forest.root_prior
            tree = forest.tree[node]
            for index in range(forest.never_start[tree], forest.never_start[tree + 1]):
                rows[row, forest.never[index]] = 0.0
        else:
            c = concentration[forest.group[node]]
            for label in range(wanted.n_labels):
                rows[row, label] = c * rows[wanted.parent_row[row], label]
            for index in range(forest.excluded_start[node], forest.excluded_start[node + 1]):
                rows[row, forest.pair_label[forest.excluded[index]]] = 0.0
        for pair in range(forest.pair_start[node], forest.pair_start[node + 1]):
            rows[row, forest.pair_label[pair]] += records[pair]
        total = 0.0
        for label in range(wanted.n_labels):
            if rows[row, label] > 0.0:
                rows[row, label] = generator.standard_gamma(rows[row, label])
                total += rows[row, label]
        for label in range(wanted.n_labels):
            rows[row, label] /= total
    return rows


def rows_of_tree(
    forest: Forest, tree: int, draw: KeptDraw, nodes: Wanted, whole: bool
) -> NDArray[np.float64]:
    """Draw the label distributions (row, label) of a kept draw, again and again the same.

    `whole` says that these are all nodes of the tree; some of them have a stream of their own.
    """
    seed = int(draw.key[0]) << 64 | int(draw.key[1])
    generator = stream(seed, "all groups" if whole else "some groups", tree)
    records = forest.counts.copy()  # (pair,)
    records[records == 0] = draw.tables
    rows: NDArray[np.float64] = draw_rows(generator, forest, nodes, draw.concentration, records)
    return rows


def cell_nodes(
    data: Microdata,
    problem: Problem,
    patterns: NDArray[np.int64],
    labels: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32], tuple[Possible | None, ...]]:
    """Find what gives cells (pattern, label) their probability: a node for each factor.

    Gives nodes of the forest, (synthesized variable, cell), the levels of the cells' labels, of the
    same shape, and by variable what is possible (`_possible`).
    """
    levels = split_labels(data, labels)  # (cell, synthesized variable)
    nodes = np.empty((len(problem.trees), labels.size), dtype=np.int64)
    possible: list[Possible | None] = []
    for tree, names in enumerate(problem.variables):
        codes = np.empty((labels.size, len(names)), dtype=np.int32)  # (cell, variable)
        for column, name in enumerate(names):
            codes[:, column] = (
                levels[:, data.synthesized.index(name)]
                if name in data.synthesized
                else data.patterns.codes[patterns, data.kept.index(name)]
            )
        nodes[tree], of_tree = _ends(data, problem, tree, codes)
        possible.append(of_tree)
    return nodes, np.ascontiguousarray(levels.T), tuple(possible)


def _ends(
    data: Microdata, problem: Problem, tree: int, codes: NDArray[np.int32]
) -> tuple[NDArray[np.int64], Possible | None]:
    """Send rows (row, variable) down a tree: nodes (row,), and what is possible there.

    None where every row has a leaf of its own, with the labels that are possible for it.
    """
    nodes = problem.nodes(tree, codes)
    if tree == 0 or not data.impossible:
        return nodes, None
    names, label = problem.variables[tree], data.synthesized[tree]
    possible = possible_in_nodes(data, problem.forest, names, label, codes, nodes)
    return possible.nodes[possible.pair_of_row], possible


def label_table(data: Microdata, problem: Problem, draw: KeptDraw) -> LabelTable:
    """Tabulate what `code_drawer` draws from.

    The table has a row per group of records for one synthesized variable, else a row per pattern.
    """
    if len(problem.trees) == 1:
        every, rows = _all_rows(problem, 0, draw)
        nodes = problem.nodes(0, _combination_codes(data, problem.variables[0]))  # (combination,)
        used, of_combination = np.unique(nodes, return_inverse=True)
        return LabelTable(
            rows[np.searchsorted(every.nodes, used)], of_combination.ravel().astype(np.int32)
        )
    _check_size(len(data.patterns), data.n_labels, "patterns")
    patterns, labels = np.divmod(np.arange(len(data.patterns) * data.n_labels), data.n_labels)
    cells = cell_chances(problem, draw, *cell_nodes(data, problem, patterns, labels))
    table = cells.reshape(len(data.patterns), data.n_labels)  # (pattern, label)
    return LabelTable(table, data.patterns.of_combination)


def cell_chances(
    problem: Problem,
    draw: KeptDraw,
    nodes: NDArray[np.int64],
    levels: NDArray[np.int32],
    possible: tuple[Possible | None, ...],
) -> NDArray[np.float64]:
    """Give the probability (cell,) of cells (pattern, label), found by `cell_nodes`, in a draw."""
    chances = np.ones(nodes.shape[1])  # (cell,)
    for tree in range(len(problem.trees)):
        every, rows = _all_rows(problem, tree, draw)
        at = np.searchsorted(every.nodes, nodes[tree])  # (cell,)
        chances *= factor(every, rows, at, levels[tree], possible[tree])
    return chances


def factor(
    every: Wanted,
    rows: NDArray[np.float64],
    at: NDArray[np.int64],
    levels: NDArray[np.int32],
    possible: Possible | None,
) -> NDArray[np.float64]:
    """Give the probability of each cell's level of one synthesized variable, given the ones before.

    Label distributions of the nodes of its tree are (row, label); each cell has a row and a level,
    (cell,).
    """
    if possible is None:
        return np.asarray(rows[at, levels])
    shares = possible.shares(rows[np.searchsorted(every.nodes, possible.nodes)])  # (pair, label)
    return np.asarray(shares[possible.pair_of_row, levels])


def code_drawer(data: Microdata, problem: Problem, draw: KeptDraw) -> Drawer:
    """Prepare to draw levels (record, synthesized variable), one variable after another."""
    n_trees = len(problem.trees)
    trees = [_all_rows(problem, tree, draw) for tree in range(n_trees)]
    first = problem.nodes(0, _combination_codes(data, problem.variables[0]))  # (combination,)

    def draw_rows(generator: np.random.Generator, rows: slice) -> NDArray[np.int32]:
        of_record = data.of_record[rows]
        drawn = np.empty((of_record.size, n_trees), dtype=np.int32)
        for tree, (every, of_nodes) in enumerate(trees):
            if tree == 0:  # kept variables only: as many rows to send down as combinations
                nodes, possible = first[of_record], None
            else:
                codes = _record_codes(data, of_record, problem.variables[tree], drawn)
                nodes, possible = _ends(data, problem, tree, codes)
            rows_of_nodes, at = of_nodes, np.searchsorted(every.nodes, nodes)  # (record,)
            if possible is not None:
                ends = np.searchsorted(every.nodes, possible.nodes)
                rows_of_nodes, at = possible.shares(of_nodes[ends]), possible.pair_of_row
            cumulative = np.cumsum(rows_of_nodes, axis=1)  # (row, label)
            drawn[:, tree] = _invert(cumulative, at, generator.random(of_record.size))
        return drawn

    return draw_rows


def _record_codes(
    data: Microdata,
    of_record: NDArray[np.int32],
    names: tuple[str, ...],
    drawn: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Pick variables of records, the synthesized ones as drawn: (record, variable)."""
    codes = np.empty((of_record.size, len(names)), dtype=np.int32)
    for column, name in enumerate(names):
        codes[:, column] = (
            drawn[:, data.synthesized.index(name)]
            if name in data.synthesized
            else data.combinations[:, data.names.index(name)][of_record]
        )
    return codes


@compiled
def _invert(cumulative, row_of_record, uniform):  # type: ignore[no-untyped-def]
    """Find, by bisection, the first label whose cumulative probability exceeds the number."""
    labels = np.empty(uniform.size, dtype=np.int32)
    for record in range(uniform.size):
        row = cumulative[row_of_record[record]]
        low, high = 0, row.size - 1
        aim = uniform[record] * row[high]
        while low < high:
            middle = (low + high) >> 1
            if row[middle] > aim:
                high = middle
            else:
                low = middle + 1
        labels[record] = low
    return labels


def _all_rows(problem: Problem, tree: int, draw: KeptDraw) -> tuple[Wanted, NDArray[np.float64]]:
    """Draw the label distributions of all nodes of a tree."""
    every = wanted(problem.forest, problem.numbers[tree])
    return every, rows_of_tree(problem.forest, tree, draw, every, whole=True)


def _combination_codes(data: Microdata, names: tuple[str, ...]) -> NDArray[np.int32]:
    """Pick variables: (combination, variable)."""
    columns = [data.names.index(name) for name in names]
    return np.ascontiguousarray(data.combinations[:, columns])


def _check_size(n_rows: int, n_labels: int, what: str) -> None:
    if n_rows * n_labels > MOST_CELLS:
        raise InputError(
            expected=f"a table of at most {MOST_CELLS:,} label probabilities",
            came=f"{n_rows * n_labels:,}: {n_rows:,} {what} by {n_labels:,} labels",
            do="group levels of the synthesized or of the kept variables, synthesize fewer "
            "variables, or give an order of fewer kept variables",
        )
