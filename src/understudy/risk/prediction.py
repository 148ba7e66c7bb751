"""The intruder who trains a predictive model on the released files.

The story. She knows all kept variables of a person, learns from all files together how the label
depends on them, and looks at how sure her model is of the person's true label [1]_. Confidence c_i
is compared with the share b of that label among all records: r_i = (c_i - b) / (1 - b) is 0 if she
knows no more than the totals and 1 if she is certain of the truth. A person is *at risk* where r_i
exceeds a threshold.

The model: the label's share in the person's pattern where the pattern is large, and a small forest
where it is not (`forest`).

What is the person's own record's doing is part of every study (`own_record`, the attack "model").
By K folds, as here, it costs K fits and is less exact: a K-th of the records is left out, the rest
is synthesized, and her model is trained on that. Confidence in people who took part less confidence
in the same people had they not is the effect.

References
----------
.. [1] Templ, M., Thees, O. and Müller, R. (2026). RAPID: risk of attribute prediction-induced
   disclosure in synthetic microdata. arXiv:2602.09235
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.checks import check_number, check_whole
from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import InputError, SettingError
from understudy.microdata.label_rows import LabelRows, rows_of_pairs, whole_table
from understudy.microdata.label_table import LARGEST_TABLE, true_labels
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.public_errors import only_our_errors
from understudy.randomness import check_seed, child_seed, stream
from understudy.risk.alignment import aligned_sets
from understudy.risk.forest import LARGE, Forest, grow_forest
from understudy.risk.label_guesses import count_pairs, pool_counts
from understudy.risk.matching import labels_of
from understudy.risk.own_record.refits import leave_out
from understudy.summaries import counted, number

__all__ = ["PredictionRisk", "grow_on_rows", "pooled_rows", "predict_labels", "prediction_risk"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class PredictionRisk(Shown):
    """What a model trained on the released files says about people's true labels.

    Attributes
    ----------
    confidence : float
        Mean probability that the model gives to the true label.
    gain : float
        Mean of (confidence - share of the label) / (1 - share): 0 is knowing the totals only.
    at_risk : int
        Records whose gain exceeds `threshold`.
    threshold : float
        From which gain on a person is at risk.
    confidence_without, at_risk_without : float or None
        The same had the person's record been left out, by K folds; None without `refit`.
    effect, standard_error : float or None
        Summed confidence with the own record less without, and its sampling error.
    n_records, n_sets, n_large : int
        Sizes; records of patterns that are large enough for their own shares.
    """

    confidence: float
    gain: float
    at_risk: int
    threshold: float
    confidence_without: float | None
    at_risk_without: float | None
    effect: float | None
    standard_error: float | None
    n_records: int
    n_sets: int
    n_large: int
    _gain: Floats

    def per_record(self) -> Floats:
        """Gain of each record, (record,). Confidential."""
        return self._gain

    def _described(self) -> Described:
        """Show a readable table."""
        rows = [
            ("mean confidence in the true label", number(self.confidence),
             number(self.confidence_without, missing="-")),
            (f"records at risk (gain above {self.threshold:g})", f"{self.at_risk:,}",
             number(self.at_risk_without, missing="-")),
        ]  # fmt: skip
        remarks = [
            f"  mean gain over the label's overall share {number(self.gain)}; {self.n_large:,} "
            "records by the shares of their pattern, the others by a forest",
        ]
        if self.effect is not None:
            remarks.append(
                f"  own-record effect: {number(self.effect)} ± {number(self.standard_error)} labels"
            )
        return Described(
            f"Prediction by a model trained on {counted(self.n_sets, 'file')}, "
            f"{counted(self.n_records, 'record')}",
            ("measure", "with the record", "without"),
            rows,
            remarks,
        )

    def _panels(self) -> Mapping[str, Panel]:
        confidence = {
            "with the record": self.confidence,
            "without": self.confidence_without,
        }
        at_risk = {"with the record": self.at_risk, "without": self.at_risk_without}
        return {
            "confidence": Panel(
                "mean confidence in the true label", list(confidence), list(confidence.values())
            ),
            "at_risk": Panel("records at risk", list(at_risk), list(at_risk.values())),
        }


@in_users_kind
@only_our_errors
def prediction_risk(
    data: Microdata,
    synthetic: SyntheticSets | Sequence[Any],
    *,
    threshold: float = 0.3,
    refit: Callable[[Microdata], Any] | None = None,
    folds: int = 5,
    seed: int | None = None,
) -> PredictionRisk:
    """Train a predictive model on the files and measure its confidence in true labels.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    synthetic : SyntheticSets, or sequence of frames or paths
        Synthetic sets whose row i stands in for record i.
    threshold : float
        Gain from which on a person is at risk.
    refit : callable, optional
        Takes microdata and gives a fit of the same model, with ``synthesize``: for the own-record
        effect by K folds.
    folds : int
        K; each fold is fitted and synthesized without its records.
    seed : int, optional
        Makes forest and folds repeatable.

    Returns
    -------
    PredictionRisk
    """
    sets = aligned_sets(data, synthetic)
    check_number("threshold", threshold)
    if not 0 <= threshold < 1:
        raise SettingError(
            expected="threshold from 0 to 1", came="another number", do="give 0.3, say"
        )
    check_whole("folds", folds, 2, data.n_records)
    if data.n_labels > LARGEST_TABLE:
        raise InputError(
            expected=f"at most {LARGEST_TABLE:,} combined labels",
            came=f"{data.n_labels:,}",
            do="synthesize fewer variables at once, or merge levels",
        )
    root = check_seed(seed)
    true = true_labels(data)[data.of_record]  # (record,)
    rows = pooled_rows(data, data, sets)
    share = np.bincount(true, minlength=data.n_labels)[true] / data.n_records  # (record,)
    forest = grow_on_rows(stream(root, "forest"), data, rows)
    confidence = _confidence(forest, data, rows)[data.of_record]
    gain = (confidence - share) / np.maximum(1.0 - share, 1e-12)
    without = _without(root, data, sets, refit, folds) if refit is not None else None
    difference = None if without is None else confidence - without
    return PredictionRisk(
        confidence=float(confidence.mean()),
        gain=float(gain.mean()),
        at_risk=int((gain > threshold).sum()),
        threshold=float(threshold),
        confidence_without=None if without is None else float(without.mean()),
        at_risk_without=None
        if without is None
        else float(((without - share) / np.maximum(1.0 - share, 1e-12) > threshold).sum()),
        effect=None if difference is None else float(difference.sum()),
        standard_error=None
        if difference is None
        else float(difference.std() * data.n_records**0.5),
        n_records=data.n_records,
        n_sets=len(sets),
        n_large=int(data.patterns.sizes[data.patterns.sizes >= LARGE].sum()),
        _gain=gain,
    )


def _without(
    seed: int,
    data: Microdata,
    sets: SyntheticSets,
    refit: Callable[[Microdata], Any],
    folds: int,
) -> Floats:
    """Confidence in each record's label had its fold been left out, (record,)."""
    pattern = data.patterns.of_combination[data.of_record]
    fold = stream(seed, "folds").permutation(np.arange(data.n_records) % folds)  # (record,)
    confidence = np.empty(data.n_records)
    for index in range(folds):
        left_out = np.flatnonzero(fold == index)
        less = leave_out(data, left_out)
        made = refit(less).synthesize(len(sets), seed=child_seed(seed, "fold", index))
        sizes = np.bincount(pattern[fold != index], minlength=len(data.patterns))
        rows = pooled_rows(data, less, made)
        forest = grow_on_rows(stream(seed, "forest", index), data, rows, sizes)
        confidence[left_out] = _confidence(forest, data, rows)[data.of_record[left_out]]
    return confidence


def pooled_rows(data: Microdata, source: Microdata, sets: SyntheticSets) -> LabelRows:
    """Count the rows of all files, which stand for `source`, by pattern of the data and label."""
    index = {tuple(row): pattern for pattern, row in enumerate(data.patterns.codes.tolist())}
    patterns = np.array([index[tuple(row)] for row in source.patterns.codes.tolist()])
    of_record = patterns[source.patterns.of_combination[source.of_record]]
    labels, size, n_patterns = labels_of(sets), data.n_labels, len(data.patterns)
    keys, counts = reduce(
        pool_counts,
        (
            count_pairs(of_record * size + labels.of_set(file), n_patterns * size)
            for file in range(len(sets))
        ),
    )
    return rows_of_pairs(keys, counts.astype(np.float64), n_patterns, size)


def grow_on_rows(
    generator: np.random.Generator,
    data: Microdata,
    rows: LabelRows,
    sizes: NDArray[np.int64] | None = None,
) -> Forest:
    """Grow her forest on the rows of all files, by pattern.

    `sizes` are the records that the files stand for; those of the data when left out.
    """
    sizes = data.patterns.sizes if sizes is None else sizes
    once = np.ones(sizes.size)
    counted = rows._replace(totals=once)
    return grow_forest(generator, data.patterns.codes, counted, once, sizes, data.n_labels)


def _confidence(forest: Forest, data: Microdata, rows: LabelRows) -> Floats:
    """How sure she is of the label of each combination, (combination,)."""
    pattern = data.patterns.of_combination
    return forest.predict_pairs(rows, data.n_labels, pattern, true_labels(data))


def predict_labels(generator: np.random.Generator, data: Microdata, rows: LabelRows) -> Floats:
    """Give each pattern's label probabilities as the model learns them, (pattern, label)."""
    return grow_on_rows(generator, data, rows).predict(whole_table(rows, data.n_labels))
