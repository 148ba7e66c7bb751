"""Chains of the back-off sampler: where they start, what a sweep is, what is kept of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.table import Microdata
from understudy.synthesis.backoff import gibbs
from understudy.synthesis.backoff.possible import Possible
from understudy.synthesis.backoff.problem import Problem
from understudy.synthesis.backoff.synthetic_labels import (
    KeptDraw,
    Wanted,
    cell_nodes,
    factor,
    rows_of_tree,
    wanted,
)
from understudy.synthesis.contract import Observation
from understudy.synthesis.diagnostics import spread_cells
from understudy.synthesis.stored_probabilities import KeptCells, choose_cells

__all__ = ["BackoffChain", "GroupCells", "group_cells"]

STARTS = (1.0, 30.0, 1000.0, 30000.0)  # concentrations that chains start from, one after another
FEW_CELLS = 200_000  # so many label probabilities can all be drawn for every kept draw
MOST_KEPT = 10_000  # label probabilities that are kept of a draw where there are more


@dataclass(frozen=True, eq=False)
class GroupCells(KeptCells):
    """Which label probabilities are kept, and the groups of records that they come from.

    Attributes
    ----------
    problem : Problem
        The trees.
    wanted : tuple of Wanted
        By tree: the nodes whose label distributions are drawn.
    rows : int64 (synthesized variable, cell)
        The row among them that gives a cell its factor.
    levels : int32 (synthesized variable, cell)
        The level of the cell's label.
    possible : tuple of Possible or None
        By tree: which labels are possible in the cells.
    """

    problem: Problem
    wanted: tuple[Wanted, ...]
    rows: NDArray[np.int64]
    levels: NDArray[np.int32]
    possible: tuple[Possible | None, ...]


def group_cells(data: Microdata, problem: Problem, most_cells: int) -> GroupCells:
    """Choose the cells (pattern, label) to keep, and find the groups of records behind them."""
    kept = _kept(data, most_cells)
    nodes, levels, possible = cell_nodes(data, problem, kept.patterns, kept.labels)
    every = tuple(
        wanted(problem.forest, problem.numbers[tree] if kept.complete else nodes[tree])
        for tree in range(len(problem.trees))
    )
    rows = np.stack(
        [np.searchsorted(own.nodes, of_tree) for own, of_tree in zip(every, nodes, strict=True)]
    )
    return GroupCells(
        kept.patterns, kept.labels, kept.complete, problem, every, rows, levels, possible
    )


def _kept(data: Microdata, most_cells: int) -> KeptCells:
    """Choose cells; of many, whole patterns, so that few label distributions are drawn for them."""
    n_labels, n_patterns = data.n_labels, len(data.patterns)
    n_kept = min(most_cells, MOST_KEPT) // n_labels  # patterns
    if n_patterns * n_labels <= FEW_CELLS or n_kept == 0:
        return choose_cells(data, most_cells)
    patterns = spread_cells(n_patterns, n_kept)
    labels = np.tile(np.arange(n_labels), patterns.size)
    return KeptCells(np.repeat(patterns, n_labels), labels, complete=False)


@dataclass(frozen=True, eq=False)
class BackoffChain:
    """Chains of the back-off sampler."""

    cells: GroupCells
    prior_median: float
    scale: float
    state_type = gibbs.State

    def describe(self) -> dict[str, Any]:
        """Settings of the moves."""
        return {"sampler": "backoff", "starts": list(STARTS)}

    def start(self, generator: np.random.Generator, chain: int) -> gibbs.State:  # noqa: ARG002
        """Start from a small or a large concentration."""
        return gibbs.init(self.cells.problem.forest, STARTS[chain % len(STARTS)], self.scale)

    def advance(
        self, generator: np.random.Generator, state: gibbs.State, n_sweeps: int
    ) -> gibbs.State:
        """Make sweeps."""
        forest = self.cells.problem.forest
        for _ in range(n_sweeps):
            gibbs.step(generator, forest, state, self.prior_median, self.scale)
        return state

    def observe(self, generator: np.random.Generator, state: gibbs.State) -> Observation:
        """Draw the label distributions of the kept cells given tables and concentrations."""
        forest, cells = self.cells.problem.forest, self.cells
        scaled = self.scale != 1.0
        records = state.scaled_records if scaled else state.records
        probability = state.scaled_probability if scaled else state.probability
        words: Any = generator.bit_generator.random_raw(2)
        tables = records[forest.counts == 0].astype(np.int32)  # (pair of an inner node,)
        draw = KeptDraw(self.scale * state.concentration, tables, words)
        kept = np.ones(cells.labels.size)  # (cell,)
        for tree, own in enumerate(cells.wanted):
            rows = rows_of_tree(forest, tree, draw, own, cells.complete)
            kept *= factor(own, rows, cells.rows[tree], cells.levels[tree], cells.possible[tree])
        scalars = {
            f"concentration_{group + 1}": float(value)
            for group, value in enumerate(state.concentration)
        }
        scalars["log_likelihood"] = float(gibbs.log_likelihood(forest, probability))
        return Observation(scalars, kept.astype(np.float32), draw._asdict())
