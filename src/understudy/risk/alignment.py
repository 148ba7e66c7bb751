"""Alignment: a file whose rows are mixed up must never look safe.

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

One mixed-up set among many hardly moves the mean, so every set is judged on its own, too. The
number of true labels is too coarse for that. The *score* is finer: each row's label counts not 0 or
1 but the share of the row's pattern that has it in truth. Its mean is the same, its variance over
random pairings is known exactly as well, and is several times smaller. A set is *clear* if its
score or its number of true labels is more than `NEAR` standard deviations above chance. A set that
is not is flagged if it lies `CLEAR` standard deviations below the mean of the clear sets in either
statistic.

How often that errs: a shuffled set is clear by accident once in 400 times (two statistics beyond
three standard deviations). A set made in the same way as clear ones must fall six standard
deviations below their mean to be flagged: about once in 10⁹ sets for normal statistics, less than
once in 10⁴ if their true spread is 1.6 times that of random pairings, as on the bundled sample.
(There even a model that keeps four tenths of what patterns say lies 28 standard deviations above
chance.)

References
----------
.. [1] Hoeffding, W. (1951). A combinatorial central limit theorem. Annals of Mathematical
   Statistics, 22(4), 558-566. doi:10.1214/aoms/1177729545
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.checks import check_one_of
from understudy.errors import DataWarning, InputError, warn_user
from understudy.microdata.data_arguments import check_data
from understudy.microdata.synthetic_files import as_sets
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.risk import match_kernels as kernels
from understudy.risk.matching import Labels, Targets, find_targets
from understudy.summaries import number

__all__ = ["Alignment", "IfUnaligned", "aligned_sets", "check_alignment", "judge_alignment"]

IfUnaligned = Literal["warn", "error"]
CLEAR = 6.0
NEAR = 3.0
FEWEST = 30  # records; with fewer the number of true labels is too coarse to speak
ROWS = 1 << 16  # rows looked at together


def aligned_sets(data: Microdata, synthetic: SyntheticSets | Sequence[Any]) -> SyntheticSets:
    """Check data and sets for a measure that matches row by row."""
    check_data(data)
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
    sets : tuple of int
        Numbers, from 1, of the sets whose rows look paired at random, each judged on its own or
        all together.
    n_sets : int
        How many sets there are.
    """

    observed: float
    random: float
    standard_deviation: float
    informed: float
    verdict: Literal["aligned", "looks random", "cannot tell"]
    sets: tuple[int, ...] = ()
    n_sets: int = 1

    def __str__(self) -> str:
        """Say the verdict and the numbers behind it."""
        where = f" in {_numbered(self.sets)} of {self.n_sets}" if self.sets else ""
        return (
            f"rows: {self.verdict}{where} ({number(self.observed)} true labels; "
            f"{number(self.random)} ± {number(self.standard_deviation)} if rows were paired at "
            f"random, about {number(self.informed)} if labels follow the kept variables)"
        )


def _numbered(sets: Sequence[int]) -> str:
    shown = ", ".join(map(str, sets[:12])) + (" and others" if len(sets) > 12 else "")
    return f"set {shown}" if len(sets) == 1 else f"sets {shown}"


def judge_alignment(labels: Labels) -> Alignment:
    """Compare the true labels with those of randomly paired rows, together and set by set."""
    data = labels.sets.data
    everywhere = find_targets(data, (), labels.of_combination, labels.size)
    patterns = find_targets(data, data.kept, labels.of_combination, labels.size)
    rows = _count_rows(labels, everywhere, patterns)
    rate = rows.made.mean(axis=0)  # (label,)
    random = float(everywhere.sizes @ rate) / data.n_records
    variance = _pairing_variance(everywhere.sizes, rate, rows.squares, rows.row_squares)
    observed, deviation = float(rows.true_labels.mean()), variance**0.5
    informed = _other_of_pattern(patterns, everywhere)
    gain = informed - _pairs(everywhere.sizes, data.n_records)
    statistics = (_count_excess(rows, everywhere), _score_excess(rows, everywhere, patterns))
    together = (_Excess(np.array([observed - random]), np.array([deviation])), statistics[1].mean())
    verdict, sets = _judge(together, statistics, gain)
    if verdict == "looks random" and data.n_records < FEWEST:
        verdict, sets = "cannot tell", ()
    return Alignment(observed, random, deviation, informed, verdict, sets, len(labels.sets))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows counted by set, and the sums behind the variance of the mean over sets."""

    true_labels: NDArray[np.int64]  # (set,)
    made: NDArray[np.int64]  # (set, label), rows with a label
    in_patterns: NDArray[np.int64]  # (set, target), rows with a pattern and a label
    squares: float
    row_squares: float


def _count_rows(labels: Labels, everywhere: Targets, patterns: Targets) -> _Rows:
    n_records, n_sets = labels.sets.data.n_records, len(labels.sets)
    made = np.zeros((n_sets, len(everywhere)), dtype=np.int64)
    in_patterns = np.zeros((n_sets, len(patterns)), dtype=np.int64)
    true_labels, squares, row_squares = np.zeros(n_sets, dtype=np.int64), 0.0, 0.0
    for start in range(0, n_records, ROWS):
        rows = slice(start, min(start + ROWS, n_records))
        matched = np.empty((n_sets, rows.stop - rows.start), dtype=np.int32)  # (set, row)
        for index, block in enumerate(labels.of_rows(rows)):
            own = np.ascontiguousarray(block)
            matched[index], counts = everywhere.match_rows(own, rows)
            made[index] += counts
            in_patterns[index] += patterns.match_rows(own, rows)[1]
        true_labels += np.count_nonzero(matched == everywhere.of_record[rows], axis=1)
        in_cells, in_rows = kernels.pairing_sums(matched, everywhere.sizes)
        squares, row_squares = squares + in_cells, row_squares + in_rows
    return _Rows(true_labels, made, in_patterns, squares, row_squares)


@dataclass(frozen=True, eq=False)
class _Excess:
    """How far each set lies above randomly paired rows, and their standard deviation."""

    excess: NDArray[np.float64]  # (set,)
    deviation: NDArray[np.float64]  # (set,)

    def mean(self) -> _Excess:
        """Give the mean over sets; its deviation is at most the mean of theirs."""
        return _Excess(self.excess.mean(keepdims=True), self.deviation.mean(keepdims=True))

    @property
    def clear(self) -> NDArray[np.bool_]:
        """Which sets lie above what chance gives, (set,)."""
        above: NDArray[np.bool_] = self.excess > NEAR * self.deviation
        return above

    def far_below(self, mean: float) -> NDArray[np.bool_]:
        """Which sets lie far below a mean, (set,)."""
        gap = mean - self.excess
        below: NDArray[np.bool_] = (self.deviation > 0) & (gap >= CLEAR * self.deviation)
        return below


def _judge(
    together: tuple[_Excess, _Excess], statistics: tuple[_Excess, _Excess], gain: float
) -> tuple[Literal["aligned", "looks random", "cannot tell"], tuple[int, ...]]:
    """Judge the mean over sets, then each set; the worst counts.

    Statistics are of true labels and score. `gain` is what labels that follow the kept variables
    have above randomly paired ones.
    """
    clear = statistics[0].clear | statistics[1].clear  # (set,)
    aligned = bool((together[0].clear | together[1].clear)[0])
    if not aligned and gain > 0 and any(_tells(statistic, gain) for statistic in together):
        flagged = ~clear if not clear.all() else np.ones_like(clear)
    elif clear.any():
        flagged = ~clear & np.logical_or(
            *(
                statistic.far_below(float(statistic.excess[clear].mean()))
                for statistic in statistics
            )
        )
    else:
        flagged = np.zeros_like(clear)
    sets = tuple(int(number) for number in np.flatnonzero(flagged) + 1)
    if sets:
        return "looks random", sets
    return ("aligned" if aligned or clear.all() else "cannot tell"), ()


def _tells(statistic: _Excess, gain: float) -> bool:
    """Whether the gain would stand out from chance."""
    return bool(gain >= CLEAR * statistic.deviation[0] > 0)


def _count_excess(rows: _Rows, everywhere: Targets) -> _Excess:
    """True labels of each set, beside what randomly paired rows give."""
    sizes, n = everywhere.sizes, int(everywhere.sizes.sum())
    variances = [
        _pairing_variance(sizes, made, float(sizes @ made), float(sizes**2 @ made))
        for made in rows.made
    ]
    return _Excess(rows.true_labels - rows.made @ sizes / n, np.sqrt(variances))


def _score_excess(rows: _Rows, everywhere: Targets, patterns: Targets) -> _Excess:
    """Score of each set: the shares of rows' patterns that have the rows' labels, added up."""
    n = int(everywhere.sizes.sum())
    share = patterns.sizes / patterns.cell_sizes[patterns.cell]  # (target,)
    label = np.searchsorted(everywhere.label, patterns.label)  # (target,)
    variances = [
        _score_variance(patterns, share, made[label], float(everywhere.sizes**2 @ made),
                        float(everywhere.sizes @ made))
        for made in rows.made
    ]  # fmt: skip
    return _Excess(rows.in_patterns @ share - rows.made @ everywhere.sizes / n, np.sqrt(variances))


def _score_variance(
    patterns: Targets,
    share: NDArray[np.float64],
    made: NDArray[np.int64],
    columns: float,
    whole: float,
) -> float:
    """Variance of the score over pairings, from the doubly centred table of shares.

    Of each pair of pattern and true label come the share of the pattern, and the set's rows with
    the label in any pattern. `columns` and `whole` are sums over labels of the set's rows times the
    records squared, and times the records.
    """
    n = int(patterns.sizes.sum())
    if n < 2:
        return 0.0
    squares = float((made * share * patterns.sizes).sum())
    means = np.bincount(patterns.cell, weights=made * share) / n  # (pattern,)
    centred = squares - n * float(patterns.cell_sizes @ means**2) - columns / n + (whole / n) ** 2
    return centred / (n - 1) if centred > 1e-9 * squares else 0.0  # what rounding leaves is zero


def _pairing_variance(
    sizes: NDArray[np.int64], rate: NDArray[Any], squares: float, row_squares: float
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


def check_alignment(labels: Labels, if_unaligned: IfUnaligned) -> Alignment:
    """Judge the alignment, and warn or stop where rows look paired at random."""
    check_one_of("if_unaligned", if_unaligned, ("warn", "error"))
    alignment = judge_alignment(labels)
    if alignment.verdict == "looks random":
        parts = {
            "expected": "labels that are true more often than randomly paired rows would make them",
            "came": f"{number(alignment.observed)} true labels, where random pairs give "
            f"{number(alignment.random)} ± {number(alignment.standard_deviation)} (means over "
            f"sets); rows look paired at random in {_numbered(alignment.sets)} of "
            f"{alignment.n_sets}",
            "do": "check that row i of every set stands in for record i and that labels are coded "
            "as in the original; if so, the labels have nothing to do with the kept variables. "
            "If not, all risks are far too low",
        }
        error = InputError(**parts)
        if if_unaligned == "error":
            raise error
        warn_user(str(error), DataWarning)
    return alignment
