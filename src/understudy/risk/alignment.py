"""The guard at the door: a file whose rows are mixed up must never look safe.

Measures that match by rows are right only if row i of a synthetic set stands in for record i. If
rows were mixed up, or if the labels were coded otherwise, hardly any label would be the true one
and the file would look harmless, whatever it gives away. Rows whose kept variables differ from
the records' are refused when the sets are read. What is left is a label column in the wrong order
or in another coding; it shows in the number of true labels, which is then what chance gives.

The reasoning, with N_g records of true label g and M_g rows of synthetic label g:

- If rows are paired at random, the mean number of true labels is the sum of N_g M_g / n. One
  pairing for all sets makes the mean over sets a linear permutation statistic, whose variance is
  known exactly [1]_.
- If rows are aligned and the synthesizer keeps what the kept variables say about the label, the
  number is about the sum over patterns of n_bg (n_bg - 1) / (n_b - 1): two different records of a
  pattern having the same label.
- If the second is `CLEAR` standard deviations above what chance gives and the file is not even
  `NEAR` above it, the rows look paired at random. With fewer than `FEWEST` records, or where the
  kept variables say little about the label, nobody can tell.

References
----------
.. [1] Hoeffding, W. (1951). A combinatorial central limit theorem. Annals of Mathematical
   Statistics, 22(4), 558-566. doi:10.1214/aoms/1177729545
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.errors import DataWarning, InputError, SettingError, quoted
from understudy.microdata.synthetic import as_sets
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.risk import kernels
from understudy.risk.matching import Labels, Targets, find_targets
from understudy.risk.spread import figure

__all__ = ["Alignment", "IfUnaligned", "aligned_sets", "guard", "judge_alignment"]

IfUnaligned = Literal["warn", "error"]
CLEAR = 6.0
NEAR = 3.0
FEWEST = 30  # records; with fewer the number of true labels is too coarse to speak
ROWS = 1 << 16  # rows looked at together


def aligned_sets(data: Microdata, synthetic: SyntheticSets | Sequence[Any]) -> SyntheticSets:
    """Do the same for a measure that matches row by row; refuse sets that have no such rows."""
    sets = as_sets(data, synthetic)
    if sets.fully_synthetic or not data.kept:
        why = "fully synthetic sets" if sets.fully_synthetic else "data with no kept variable"
        raise InputError(
            expected="partially synthetic sets, in which row i stands in for record i",
            came=f"{why}: their rows are new people, so that no row belongs to any record",
            do="use attribution_risk, which needs no rows",
        )
    return sets


@dataclass(frozen=True)
class Alignment:
    """Whether the rows of synthetic sets look paired with their records.

    Attributes
    ----------
    observed : float
        Records whose synthetic label is the true one, mean over sets.
    random : float
        What that would be if rows were paired at random.
    standard_deviation : float
        Of that number over random pairings.
    informed : float
        What it would be if every label were that of another record of the same pattern.
    verdict : {"aligned", "looks random", "cannot tell"}
        "cannot tell" where the kept variables say too little about the label, or where there are
        too few records.
    """

    observed: float
    random: float
    standard_deviation: float
    informed: float
    verdict: Literal["aligned", "looks random", "cannot tell"]

    def __str__(self) -> str:
        """Say the verdict and the figures behind it."""
        return (
            f"rows: {self.verdict} ({figure(self.observed)} true labels; "
            f"{figure(self.random)} ± {figure(self.standard_deviation)} if rows were paired at "
            f"random, about {figure(self.informed)} if labels follow the kept variables)"
        )


def judge_alignment(labels: Labels) -> Alignment:
    """Compare the number of true labels with what randomly paired rows would give.

    Parameters
    ----------
    labels : Labels
        True and synthetic labels.
    """
    data, n_sets = labels.sets.data, len(labels.sets)
    everywhere = find_targets(data, (), labels.of_combination, labels.size)
    made = np.zeros(len(everywhere), dtype=np.int64)  # (label,), rows over all sets
    true_labels, squares, row_squares = 0, 0.0, 0.0
    for start in range(0, data.n_records, ROWS):
        rows = slice(start, min(start + ROWS, data.n_records))
        placed = np.empty((n_sets, rows.stop - rows.start), dtype=np.int32)  # (set, row)
        for one, block in enumerate(labels.of_rows(rows)):
            placed[one], counts = everywhere.place(np.ascontiguousarray(block), rows)
            made += counts
        true_labels += int(np.count_nonzero(placed == everywhere.of_record[rows]))
        in_cells, in_rows = kernels.pairing_sums(placed, everywhere.sizes)
        squares, row_squares = squares + in_cells, row_squares + in_rows
    rate = made / n_sets  # (label,)
    random = float(everywhere.sizes @ rate) / data.n_records
    variance = _pairing_variance(everywhere.sizes, rate, squares, row_squares)
    patterns = find_targets(data, data.kept, labels.of_combination, labels.size)
    observed, deviation = true_labels / n_sets, variance**0.5
    informed = _other_of_pattern(patterns, everywhere)
    chance = _pairs(everywhere.sizes, data.n_records)
    verdict = _verdict(observed - random, informed - chance, deviation)
    if verdict == "looks random" and data.n_records < FEWEST:
        verdict = "cannot tell"
    return Alignment(observed, random, deviation, informed, verdict)


def _verdict(
    excess: float, informed_excess: float, deviation: float
) -> Literal["aligned", "looks random", "cannot tell"]:
    if excess > NEAR * deviation:
        return "aligned"
    return "looks random" if informed_excess >= CLEAR * deviation > 0 else "cannot tell"


def _pairing_variance(
    sizes: NDArray[np.int64], rate: NDArray[np.float64], squares: float, row_squares: float
) -> float:
    """Variance over pairings: the squares of the doubly centred table of agreement, over n - 1."""
    n = int(sizes.sum())
    if n < 2:
        return 0.0
    whole = float(sizes @ rate)
    centred = squares - float(sizes @ rate**2) / n - row_squares / n + (whole / n) ** 2
    return centred / (n - 1) if centred > 1e-9 * squares else 0.0  # what rounding leaves is zero


def _pairs(sizes: NDArray[np.int64], total: int) -> float:
    """Mean number of records that have the label of another record chosen among `total`."""
    return float((sizes * (sizes - 1)).sum()) / (total - 1) if total > 1 else 0.0


def _other_of_pattern(patterns: Targets, everywhere: Targets) -> float:
    """Mean number of true labels if each record takes that of another record of its pattern."""
    total = patterns.cell_sizes[patterns.cell]  # (target,)
    several = total > 1
    sizes = patterns.sizes[several]
    informed = float((sizes * (sizes - 1) / (total[several] - 1)).sum())
    alone = patterns.label[~several]  # a pattern with one record takes from anywhere
    share = everywhere.sizes[np.searchsorted(everywhere.label, alone)] - 1
    return informed + float(share.sum()) / max(1, int(everywhere.sizes.sum()) - 1)


def guard(labels: Labels, if_unaligned: IfUnaligned) -> Alignment:
    """Judge the alignment, and warn or stop where rows look paired at random."""
    if if_unaligned not in ("warn", "error"):
        raise SettingError(
            expected='if_unaligned as "warn" or "error"', came=quoted(if_unaligned), do="choose one"
        )
    alignment = judge_alignment(labels)
    if alignment.verdict == "looks random":
        parts = {
            "expected": "labels that are true more often than randomly paired rows would make them",
            "came": f"{figure(alignment.observed)} true labels, where random pairs give "
            f"{figure(alignment.random)} ± {figure(alignment.standard_deviation)}",
            "do": "check that row i of every set stands in for record i and that labels are coded "
            "as in the original; if so, the labels have nothing to do with the kept variables. "
            "If not, all figures are far too low",
        }
        error = InputError(**parts)
        if if_unaligned == "error":
            raise error
        warnings.warn(str(error), DataWarning, stacklevel=3)
    return alignment
