"""A fitted back-off model: label probabilities come from the groups of records of its trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.label_table import LabelTable, true_labels
from understudy.microdata.table import Microdata
from understudy.synthesis.backoff.sampler import GroupCells
from understudy.synthesis.backoff.synthetic_labels import (
    KeptDraw,
    cell_chances,
    cell_nodes,
    code_drawer,
    label_table,
)
from understudy.synthesis.checkpoints import Arrays
from understudy.synthesis.sampled_fit import SampledFit
from understudy.synthesis.set_drawing import Drawer

__all__ = ["BackoffFit"]


@dataclass(frozen=True, repr=False, eq=False)
class BackoffFit(SampledFit):
    """Draws from the posterior of label distributions that back off along a tree.

    ``draws["posterior"]`` has log_likelihood and concentration_1, concentration_2, ... from the
    children of the root down with axes (chain, draw), and label_probability with axes (chain, draw,
    pattern, label).

    Attributes
    ----------
    settings : BackoffTree
        What was fitted.
    data : Microdata
        To what.
    plan : Plan
        How long, how many, from which seed. The seed is internal: it redraws everything.
    """

    cells: GroupCells

    def _sampler(self) -> str:
        return "backoff"

    def _tabulated(self, snapshot: Arrays) -> LabelTable:
        return label_table(self.data, self.cells.problem, KeptDraw(**snapshot))

    def of_part(self, data: Microdata, combinations: NDArray[np.int64]) -> BackoffFit:  # noqa: ARG002
        """Give the same draws as seen from some of the combinations: their patterns' rows alone."""
        return replace(self, data=data)

    def own_chances(self) -> Iterator[NDArray[np.float64]]:
        """Give p(own label | pattern) of each combination, without a table of all labels."""
        data, problem = self.data, self.cells.problem
        patterns = data.patterns.of_combination.astype(np.int64)  # (combination,)
        nodes = cell_nodes(data, problem, patterns, true_labels(data))
        for snapshot in self._snapshots():
            yield cell_chances(problem, KeptDraw(**snapshot), *nodes)

    def drawer(self, snapshot: Arrays) -> Drawer:
        """Prepare to draw from one kept draw."""
        return code_drawer(self.data, self.cells.problem, KeptDraw(**snapshot))
