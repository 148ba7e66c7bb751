"""What rules for impossible combinations leave of labels and holes, worked out once for all draws.

A label is drawn together with the class, given that the record is possible. Where a kept variable
of a rule is missing, whether it is depends on the missing value too: then a class gives a label the
probability of the label times that of the values that are possible beside it, summed over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.label_table import split_labels
from understudy.microdata.structural_zeros import (
    Completions,
    fitting,
    hole_codes,
    impossible_labels,
    outside_boxes,
    possible_completions,
    rule_boxes,
)
from understudy.microdata.table import Microdata
from understudy.synthesis.dpmpm.problem import model_variables
from understudy.synthesis.dpmpm.structural_zeros import box_probabilities, kind_probabilities

__all__ = ["PossibleLabels"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PossibleLabels:
    """What is possible in the data's patterns and combinations.

    Attributes
    ----------
    data : Microdata
        Its rules; there may be none.
    """

    data: Microdata

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Variables of the model."""
        return model_variables(self.data)

    @cached_property
    def level_start(self) -> NDArray[np.int64]:
        """Number of each variable's first level, and behind the last: (variable + 1,)."""
        sizes = [self.data.variable(name).n_levels for name in self.names]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @cached_property
    def impossible(self) -> NDArray[np.bool_]:
        """Which labels the observed values rule out: bool (pattern, label)."""
        return impossible_labels(self.data)

    @cached_property
    def completions(self) -> Completions:
        """What the holes of every combination may be."""
        columns = [self.data.names.index(name) for name in self.names]
        return possible_completions(self.data, self.names, self.data.combinations[:, columns])

    @cached_property
    def _groups(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[tuple[int, int], NDArray[np.bool_]]]:
        """Group patterns (0: nothing is missing that matters) and labels, with boxes of holes."""
        data, n_kept = self.data, len(self.data.predictors)
        boxes = rule_boxes(data, self.names, self.level_start)
        holes = hole_codes(data, self.names)  # (variable,)
        columns = [data.kept.index(name) for name in data.predictors]
        kept = data.patterns.codes[:, columns]  # (pattern, kept variable)
        missing = kept == holes[:n_kept]
        fits = fitting(boxes, self.level_start, kept, holes)  # (pattern, box)
        labels = split_labels(data, np.arange(data.n_labels))  # (label, synthesized variable)
        allowed = fitting(boxes, self.level_start[n_kept:], labels, np.full(labels.shape[1], -1))
        of_pattern = np.zeros(len(data.patterns), dtype=np.int64)  # (pattern,)
        restricted = np.flatnonzero(missing.any(axis=1) & fits.any(axis=1))
        told, number = np.unique(
            np.hstack([fits, missing])[restricted], axis=0, return_inverse=True
        )
        of_pattern[restricted] = number.ravel() + 1
        kinds, of_label = np.unique(allowed, axis=0, return_inverse=True)  # (label kind, box)
        known: dict[bytes, NDArray[np.bool_]] = {}
        cut = {}
        for group, row in enumerate(told, start=1):
            free = np.append(row[boxes.shape[0] :], np.zeros(labels.shape[1], dtype=bool))
            for kind, of_kind in enumerate(kinds):
                there = row[: boxes.shape[0]] & of_kind  # (box,)
                if there.any():
                    key = there.tobytes() + free.tobytes()
                    if key not in known:
                        known[key] = outside_boxes(data, self.names, boxes[there], free)
                    cut[group, kind] = known[key]
        return of_pattern, of_label.ravel().astype(np.int64), cut

    @property
    def holes_matter(self) -> bool:
        """Whether which labels are possible depends on a missing value."""
        return bool(self.data.with_holes and self.data.impossible and self._groups[2])

    def restricted(
        self,
        table: Floats,
        patterns: NDArray[np.integer],
        given: Floats,
        labels: Floats,
        by_class: Floats,
    ) -> Floats:
        """Condition a table of label probabilities, (row, label), on what is possible; changes it.

        It is the product of `given`, (row, class), and `labels`, (class, label), each row of one
        pattern; level probabilities of `each` class are (class, level).
        """
        table *= ~self.impossible[patterns]
        if self.holes_matter:
            of_pattern, of_label, cut = self._groups
            for (group, kind), boxes in cut.items():
                rows = np.flatnonzero(of_pattern[patterns] == group)
                columns = np.flatnonzero(of_label == kind)
                share = box_probabilities(boxes, self.level_start, by_class.T).sum(
                    axis=0
                )  # (class,)
                table[np.ix_(rows, columns)] = (given[rows] * share) @ labels[:, columns]
        return np.asarray(table / table.sum(axis=1, keepdims=True))

    def of_kinds(self, by_class: Floats) -> Floats:
        """Probability in each class that a combination's holes are possible: (kind, class)."""
        _, kind_of_box, boxes = self.completions
        return kind_probabilities(boxes, kind_of_box, self.level_start, by_class.T)
