"""Chances that records are found by matching, with their own record and had it been left out.

In one file exactly, by an integral; in all files together by drawing them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.label_table import LabelTable
from understudy.risk.closed_form import NODES, REACH
from understudy.risk.matching import Targets, find_targets
from understudy.risk.own_record import kernels
from understudy.risk.own_record.chances import Attacked, Chances

__all__ = ["MatchLists", "match_all_files", "match_lists"]

WORK = 30_000_000  # steps of the match over all files, for each of its repeats
REPEATS = (3, 12)  # fewest and most repeats of it

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class MatchLists:
    """Groups of each known cell, and entries of each target, as the kernel wants them.

    An entry is a group whose row may be the one that is looked for.
    """

    targets: Targets
    order: NDArray[np.int64]  # (entry,), by target
    group: NDArray[np.int64]  # (entry,)
    arguments: tuple[Any, ...]

    def integrals(self, attacked: Attacked, rows: Floats, left_out: Floats | None = None) -> Floats:
        """Mean of 1 / (1 + others who draw the label), (entry,), from rows (group, label)."""
        start, cells, target_start, points, weights = self.arguments
        inverse = np.empty(self.order.size)
        replaced = np.full(self.order.size, -1.0) if left_out is None else left_out[self.order]
        kernels.match_integrals(
            rows, attacked.group_sizes, start, cells, target_start, self.targets.cell,
            self.targets.label, self.group[self.order], replaced,
            points, weights, REACH, inverse,
        )  # fmt: skip
        integral = np.empty(self.order.size)
        integral[self.order] = inverse
        return integral


def match_lists(
    attacked: Attacked,
    known: tuple[str, ...],
    entries: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
) -> MatchLists:
    """List groups by known cell and entries by target.

    Of an entry, a combination of its target and its group are given; left out, every combination is
    an entry with its own group.
    """
    data = attacked.data
    targets = find_targets(data, known, attacked.label, data.n_labels)
    target = np.zeros(data.n_combinations, dtype=np.int64)
    target[data.of_record] = targets.of_record
    every = np.arange(data.n_combinations)
    combination, group = (every, attacked.group) if entries is None else entries
    order = np.argsort(target[combination], kind="stable")
    target_start = np.searchsorted(target[combination][order], np.arange(len(targets) + 1))
    cell = np.zeros(len(attacked.group_sizes), dtype=np.int64)  # known cell of each group
    cell[attacked.group] = targets.cell[target]
    by_cell = np.argsort(cell, kind="stable")
    start = np.searchsorted(cell[by_cell], np.arange(targets.cell_sizes.size + 1)).astype(np.int64)
    points, weights = np.polynomial.legendre.leggauss(NODES // 2)  # (node,), on [-1, 1]
    arguments = start, by_cell, target_start.astype(np.int64), (points + 1) / 2, weights / 2
    return MatchLists(targets, order, group, arguments)


def match_all_files(
    generator: np.random.Generator,
    attacked: Attacked,
    known: tuple[str, ...],
    rows: LabelTable,
    own: Floats,
) -> Chances:
    """Match all files: draw them, then draw each record's own rows anew with both probabilities.

    Files are drawn from `rows`; a record's row has its own label with probability `own`, (with or
    without, combination).
    """
    data = attacked.data
    targets = find_targets(data, known, attacked.label, data.n_labels)
    repeats = int(np.clip(WORK // (attacked.n_sets * data.n_records), *REPEATS))
    both = np.zeros((2, data.n_combinations))
    effects = np.zeros(repeats)  # (repeat,)
    for repeat in range(repeats):
        success = _match_files(generator, attacked, targets, rows, own)
        both += success / repeats
        effects[repeat] = (success[0] - success[1]) @ data.counts
    return Chances(both[0], both[1], float(effects.std(ddof=1) / repeats**0.5))


def _match_files(
    generator: np.random.Generator,
    attacked: Attacked,
    targets: Targets,
    rows: LabelTable,
    own: Floats,
) -> Floats:
    """Draw files once and match them; (with or without, combination)."""
    data, m = attacked.data, attacked.n_sets
    matched = np.empty((m, data.n_records), dtype=np.int32)  # (file, record)
    counts = np.empty((m, len(targets)), dtype=np.int64)  # (file, target)
    for index in range(m):
        made = rows.draw(generator, data).astype(np.int64)
        matched[index], counts[index] = targets.match_rows(made)
    file, row = np.nonzero(matched >= 0)
    target = matched[file, row].astype(np.int64)
    order = np.lexsort((file, row, target))
    start = np.searchsorted(target[order], np.arange(len(targets) + 1)).astype(np.int64)
    work = float((start[1:] - start[:-1])[targets.of_record].mean()) + m
    size = int(min(data.n_records, max(1000, WORK / work)))  # records that are attacked
    records = np.sort(generator.choice(data.n_records, size, replace=False))
    uniform = generator.random((size, m))
    both = np.empty((2, data.n_combinations))
    for index in range(2):
        hits = uniform < own[index][data.of_record[records], None]
        success = np.empty(size)  # (attacked record,)
        kernels.match_all_files(
            records, targets.of_record, matched, counts, start, row[order], file[order], hits,
            success,
        )  # fmt: skip
        both[index] = np.bincount(data.of_record[records], success, data.n_combinations)
    return both * (data.n_records / size) / data.counts
