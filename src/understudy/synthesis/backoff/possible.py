"""Which labels of a group a record may have, where the codebook calls combinations impossible.

A leaf's distribution lives on the labels that are possible for its records, all of which agree. A
record whose earlier synthesized levels were drawn may have levels that no record of the data has
together: it ends at some larger group, and its label is drawn from the part of that group's
distribution that is possible for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.structural_zeros import possible_levels
from understudy.microdata.table import Microdata
from understudy.synthesis.backoff.node_counts import Forest

__all__ = ["Possible", "possible_in_nodes"]


class Possible(NamedTuple):
    """Nodes, each with labels that are possible for some rows that are sent there."""

    pair_of_row: NDArray[np.int64]  # (row,)
    nodes: NDArray[np.int64]  # (pair,) in the forest
    labels: NDArray[np.bool_]  # (pair, label)

    def shares(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Condition distributions of the nodes (pair, label) on what is possible."""
        table = rows * self.labels
        nothing = ~(table.sum(axis=1) > 0.0) & self.labels.any(axis=1)  # too small for a number
        table[nothing] = self.labels[nothing]
        total = table.sum(axis=1, keepdims=True)
        return np.asarray(table / np.where(total > 0.0, total, 1.0))


def possible_in_nodes(
    data: Microdata,
    forest: Forest,
    names: tuple[str, ...],
    label: str,
    codes: NDArray[np.int32],
    nodes: NDArray[np.int64],
) -> Possible:
    """Find what is possible for rows, and go up from nodes in which none of that is.

    Rows have levels of `names`, (row, variable), and end in `nodes` of the tree that is about
    `label`. No label is possible for rows that are impossible already.
    """
    kinds, possible = possible_levels(data, names, label, codes)
    keys, pair_of_row = np.unique(nodes * possible.shape[0] + kinds, return_inverse=True)
    ends, kind = np.divmod(keys, possible.shape[0])  # (pair,), (pair,)
    labels = possible[kind]  # (pair, label)
    excluded: dict[int, NDArray[np.bool_]] = {}
    for pair, wanted in enumerate(labels):
        while wanted.any() and not (wanted & ~_excluded(forest, int(ends[pair]), excluded)).any():
            ends[pair] = forest.parent[ends[pair]]
    return Possible(pair_of_row.ravel().astype(np.int64), ends, labels)


def _excluded(forest: Forest, node: int, known: dict[int, NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Tell which labels are impossible for all records of a node: (label,)."""
    if node not in known:
        above = int(forest.parent[node])
        tree = int(forest.tree[node])
        if above < 0:
            known[node] = np.zeros(forest.n_labels[tree], dtype=bool)
            known[node][forest.never[slice(*forest.never_start[tree : tree + 2])]] = True
        else:
            pairs = forest.excluded[slice(*forest.excluded_start[node : node + 2])]
            known[node] = _excluded(forest, above, known).copy()
            known[node][forest.pair_label[pairs]] = True
    return known[node]
