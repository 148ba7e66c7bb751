"""From the data to trees and a forest: one tree for every synthesized variable.

Synthesized variables are modelled one after another: the tree of each may split by the kept
variables and by the synthesized ones before it, in the order of the data's columns. Kept variables
with a single level tell nothing and are left out, but for those of rules about impossible
combinations, which a fixed order need not name.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.checks import check_one_of
from understudy.errors import SettingError
from understudy.microdata.coding import regroup
from understudy.microdata.structural_zeros import possible_levels
from understudy.microdata.table import Microdata
from understudy.synthesis.backoff.node_counts import Forest, plant
from understudy.synthesis.backoff.tree import Rows, Rules, Tree, grow, route

__all__ = ["Problem", "make_problem"]


@dataclass(frozen=True, eq=False)
class Problem:
    """The trees of all synthesized variables.

    Attributes
    ----------
    variables : tuple of tuple of str
        By tree: the variables that may split it.
    trees : tuple of Tree
        In the order of the synthesized variables.
    forest : Forest
        All of them as the sampler sees them.
    numbers : tuple of int64 (node of the tree,)
        By tree: its nodes' numbers in the forest.
    """

    variables: tuple[tuple[str, ...], ...]
    trees: tuple[Tree, ...]
    forest: Forest
    numbers: tuple[NDArray[np.int64], ...]

    def nodes(self, tree: int, codes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Send rows of levels (row, variable of the tree) down a tree; nodes of the forest."""
        ends: NDArray[np.int64] = self.numbers[tree][route(self.trees[tree], codes)]
        return ends


def make_problem(data: Microdata, order: tuple[str, ...] | None) -> Problem:
    """Make the trees of the data.

    `order` are kept variables that split one after another; left out, trees grow where that gains.
    Synthesized variables before a tree's own come behind them.
    """
    if order is not None:
        _check_order(data, order)
    variables, rows, trees = [], [], []
    for index, name in enumerate(data.synthesized):
        kept = data.predictors if order is None else order
        splitting = (*kept, *data.synthesized[:index])
        in_rules = {variable for rule in data.impossible for variable in rule}
        others = (other for other in data.predictors if other in in_rules and other not in kept)
        names = (*splitting, *others)
        own = _rows(data, names, name)
        variables.append(names)
        rows.append(own)
        trees.append(grow(own, None if order is None else range(len(splitting))))
    forest, numbers = plant(trees, rows)
    return Problem(tuple(variables), tuple(trees), forest, tuple(numbers))


def _rows(data: Microdata, names: tuple[str, ...], label: str) -> Rows:
    """Count the distinct rows of some variables and a label."""
    indices = [data.names.index(name) for name in (*names, label)]
    codes, counts, _ = regroup(
        data.combinations[:, indices],
        data.counts,
        np.arange(data.n_combinations, dtype=np.int32),
        [data.variables[index].n_levels for index in indices],
    )
    return Rows(
        rules=_rules(data, names, label, codes[:, :-1]) if data.impossible else None,
        columns=tuple(np.ascontiguousarray(codes[:, column]) for column in range(len(names))),
        n_levels=tuple(data.variable(name).n_levels for name in names),
        labels=np.ascontiguousarray(codes[:, -1]),
        counts=counts,
        n_labels=data.variable(label).n_levels,
    )


def _rules(data: Microdata, names: tuple[str, ...], label: str, codes: NDArray[np.int32]) -> Rules:
    """Bring the codebook's rules into the form of the trees, for rows of levels (row, variable)."""
    kinds, possible = possible_levels(data, names, label, codes)
    _, ever = possible_levels(data, data.kept, label, data.patterns.codes)
    marks = []
    for name in names:
        named = [
            np.isin(data.variable(name).levels, rule[name])
            for rule in data.impossible
            if name in rule
        ]
        table = np.array(named, dtype=bool).reshape(len(named), data.variable(name).n_levels).T
        marks.append(np.unique(table, axis=0, return_inverse=True)[1].ravel().astype(np.int64))
    return Rules(kinds, possible, np.asarray(ever.any(axis=0)), tuple(marks))


def _check_order(data: Microdata, order: tuple[str, ...]) -> None:
    """Refuse an order that names anything but kept variables, each once."""
    for name in order:
        check_one_of("order", name, data.kept, 'use names of kept variables, or order="auto"')
    if len(set(order)) < len(order):
        raise SettingError(
            expected="an order that names every variable once",
            came="one that names a variable twice",
            do="name it at its first position only",
        )
