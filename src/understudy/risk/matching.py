"""Matching: look up the rows of synthetic sets among what an intruder can look for.

A *target* is a pair of known cell and true label that occurs in the confidential data: what an
intruder can look for. All records with the same pair are the same target. `Targets.match_rows`
looks every row of a synthetic set up among the targets; `count_matches` forms c and T (docs/risk)
and adds them up, set by set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.label_table import combined_labels, true_labels
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.risk import match_kernels as kernels

__all__ = [
    "NO_UNIQUE_MATCHES",
    "CountIn",
    "Labels",
    "MatchCounts",
    "PerRecord",
    "Targets",
    "count_matches",
    "find_targets",
    "fold_keys",
    "labels_of",
]

CountIn = Literal["synthetic", "original"]
NO_UNIQUE_MATCHES = "undefined (no unique matches)"  # how an undefined rate is printed
KEYS = 2**63  # more distinct keys than this do not fit into 64 bits


@dataclass(frozen=True, repr=False, eq=False)
class Labels:
    """The labels of the records and of every synthetic set, as whole numbers below `size`.

    Attributes
    ----------
    of_combination : int64 (combination,)
        The true label of the records of each combination.
    size : int
        All labels are smaller.
    sets : SyntheticSets
        Where the synthetic labels come from.
    coded : int64 (set, record), optional
        The synthetic labels, where they had to be numbered anew.
    """

    of_combination: NDArray[np.int64]
    size: int
    sets: SyntheticSets
    coded: NDArray[np.int64] | None = None

    @property
    def of_record(self) -> NDArray[np.int64]:
        """True labels, (record,)."""
        of_record: NDArray[np.int64] = self.of_combination[self.sets.data.of_record]
        return of_record

    def of_set(self, index: int) -> NDArray[np.int64]:
        """Labels of one synthetic set, (record,)."""
        if self.coded is None:
            return combined_labels(self.sets.data, self.sets.codes[index].astype(np.int64))
        coded: NDArray[np.int64] = self.coded[index]
        return coded

    def of_rows(self, rows: slice) -> NDArray[np.int64]:
        """Labels of some rows in all synthetic sets, (set, row)."""
        if self.coded is not None:
            return np.ascontiguousarray(self.coded[:, rows])
        return combined_labels(self.sets.data, self.sets.codes[:, rows].astype(np.int64))


def labels_of(sets: SyntheticSets) -> Labels:
    """Number the labels of the records and of the synthetic sets alike.

    Where the product of all levels and records does not fit into 64 bits, labels are numbered in
    the order of those that occur, so that every key made from a cell and a label fits.
    """
    data = sets.data
    size = data.n_labels
    if size * data.n_records < KEYS:
        return Labels(true_labels(data), size, sets)
    columns = [data.names.index(name) for name in data.synthesized]
    own = data.combinations[:, columns]  # (combination, synthesized variable)
    every = np.concatenate([own, sets.codes.reshape(-1, own.shape[1])])
    levels = [data.variable(name).n_levels for name in data.synthesized]
    keys, _ = fold_keys(list(every.T), levels)
    distinct, coded = np.unique(keys, return_inverse=True)
    coded = coded.astype(np.int64)
    made = coded[len(own) :].reshape(len(sets), data.n_records)
    return Labels(coded[: len(own)], distinct.size, sets, made)


def fold_keys(
    columns: Sequence[NDArray[np.integer]], levels: Sequence[int]
) -> tuple[NDArray[np.int64], int]:
    """Make one key of several columns of codes, without ever leaving 64 bits.

    `levels` are larger than all codes of each column. Keys, (row,), are equal where and only where
    all codes are equal; all are smaller than the size that comes with them.
    """
    keys, size = np.zeros(columns[0].size, dtype=np.int64), 1
    for codes, n_levels in zip(columns, levels, strict=True):
        if size * n_levels >= KEYS:  # number the keys so far by their order: at most one a row
            distinct, rank = np.unique(keys, return_inverse=True)
            keys, size = rank.astype(np.int64), distinct.size
        keys = keys * n_levels + codes.astype(np.int64)
        size *= n_levels
    return keys, size


@dataclass(frozen=True, repr=False, eq=False)
class Targets:
    """What an intruder can look for: the distinct pairs of known cell and true label.

    Attributes
    ----------
    of_record : int32 (record,)
        The target that each record is.
    sizes : int64 (target,)
        Records that are this target.
    cell : int64 (target,)
        The known cell of each target.
    label : int64 (target,)
        The label of each target.
    cell_sizes : int64 (cell,)
        Records in each known cell.
    cell_of_record : int64 (record,)
        The known cell of each record, and of its row in every synthetic set.
    """

    of_record: NDArray[np.int32]
    sizes: NDArray[np.int64]
    cell: NDArray[np.int64]
    label: NDArray[np.int64]
    cell_sizes: NDArray[np.int64]
    cell_of_record: NDArray[np.int64]
    n_labels: int
    keys: NDArray[np.int64]  # (target,)
    slots: NDArray[np.int32]  # (slot,) of a hash table, targets or -1

    def __len__(self) -> int:
        """Count the targets."""
        return self.sizes.size

    def match_rows(
        self, labels: NDArray[np.int64], rows: slice = slice(None)
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Find the target, -1 for none, that each row of a synthetic set equals; count by target.

        `rows` says which rows the labels, (row,), are of; all when left out.
        """
        matched = np.empty(labels.size, dtype=np.int32)
        counts = np.zeros(len(self), dtype=np.int64)
        kernels.match_rows(
            self.keys, self.slots, self.cell_of_record[rows], labels, self.n_labels, matched, counts
        )
        return matched, counts


def find_targets(
    data: Microdata, known: Sequence[str], labels: NDArray[np.int64], size: int
) -> Targets:
    """Find the targets of an intruder who knows some of the kept variables and the true label.

    Knowing none makes one cell of all records. `size` is larger than all labels, (combination,);
    times the number of records it fits into 64 bits.
    """
    cells = data.cells(known)
    of_combination = cells.of_combination.astype(np.int64)
    keys, target = np.unique(of_combination * size + labels, return_inverse=True)
    slots = np.full(1 << max(4, (2 * keys.size - 1).bit_length()), -1, dtype=np.int32)
    kernels.fill_slots(keys, slots)
    return Targets(
        of_record=target.astype(np.int32)[data.of_record],
        sizes=np.bincount(target, weights=data.counts, minlength=keys.size).astype(np.int64),
        cell=keys // size,
        label=keys % size,
        cell_sizes=cells.sizes,
        cell_of_record=of_combination[data.of_record],
        n_labels=size,
        keys=keys,
        slots=slots,
    )


@dataclass(frozen=True, repr=False, eq=False)
class PerRecord:
    """Sums over files, by record: match probabilities and numbers of unique matches."""

    probability: NDArray[np.float64]  # (record,)
    unique: NDArray[np.int64]  # (record,)
    true_unique: NDArray[np.int64]  # (record,)

    @staticmethod
    def zeros(n_records: int) -> PerRecord:
        """Start with nothing."""
        return PerRecord(
            np.zeros(n_records), *(np.zeros(n_records, dtype=np.int64) for _ in range(2))
        )


@dataclass(frozen=True)
class MatchCounts:
    """What one file gives away, counted.

    Attributes
    ----------
    expected_match_risk : float
        Sum over records of T/c.
    attribute_matches : int
        Records with T = 1.
    true_matches : int
        Records with c = 1 and T = 1.
    unique_matches : int
        Records with c = 1.
    random_linkage : float
        The expected match risk if rows were paired at random.
    within_cells : float
        The expected match risk if rows were paired at random within known cells.
    """

    expected_match_risk: float
    attribute_matches: int
    true_matches: int
    unique_matches: int
    random_linkage: float
    within_cells: float

    @property
    def false_match_rate(self) -> float | None:
        """Share of the unique matches that are wrong; None where there are none."""
        if self.unique_matches == 0:
            return None
        return 1.0 - self.true_matches / self.unique_matches


def count_matches(
    targets: Targets,
    candidates: NDArray[np.int64],
    hit: NDArray[np.bool_],
    sums: PerRecord,
    rows: NDArray[np.int64] | None = None,
) -> MatchCounts:
    """Add up the matches of one file, and add them to the sums by record.

    `candidates` is c, (target,): the rows that could be the record, which equal the target unless
    `rows` says how many do. `hit` is T, (record,): whether the record's own row is one of them.

    Paired at random, a record of a target with M equal rows among n has T = 1 with probability M/n,
    and T/c of M/(n c) on average.
    """
    risk, n_true, n_unique = kernels.add_matches(
        targets.of_record, hit, candidates, sums.probability, sums.unique, sums.true_unique
    )
    equal = candidates if rows is None else rows
    paired = targets.sizes * equal / np.maximum(candidates, 1)  # (target,)
    return MatchCounts(
        expected_match_risk=float(risk),
        attribute_matches=int(np.count_nonzero(hit)),
        true_matches=int(n_true),
        unique_matches=int(n_unique),
        random_linkage=float(paired.sum()) / targets.of_record.size,
        within_cells=float((paired / targets.cell_sizes[targets.cell]).sum()),
    )
