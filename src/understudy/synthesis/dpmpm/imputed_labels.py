"""What imputed values that files show tell about the labels of the records that have them.

A missing value is imputed given the whole record, the true label too, so it carries the label on.
Somebody who knows the model (all posterior draws), a person's rows, and which of their values are
imputed, believes before she reads them

    p(label | observed kept values), mean over the draws of the imputations,

and, by Bayes' rule, in proportion to that times

    p(imputed value | observed, label) / p(imputed value | observed)
        = p(label | observed, imputed) / p(label | observed)      (the draw of each imputation)

after it. The synthetic labels add nothing: given the imputed values and the draws they do not
depend on the true label. Values that are imputed without the label have the ratio 1, and so have
holes: what she gains comes from imputing with the label alone. It is the most that imputed values
can tell on top of the model, because she knows more than any reader of the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.coding import regroup
from understudy.microdata.label_table import hole_labels, true_labels
from understudy.microdata.structural_zeros import hole_codes
from understudy.microdata.table import Microdata
from understudy.randomness import stream
from understudy.synthesis.dpmpm.parameters import Parameters
from understudy.synthesis.dpmpm.synthetic_labels import label_table

__all__ = ["ImputedEffect", "imputed_effect", "label_beliefs"]

MOST = 2_000  # records that are looked at
LARGEST = 1 << 24  # probabilities of a table (record, label)

Floats = NDArray[np.float64]
Filled = Mapping[str, NDArray[np.integer[Any]]]  # codes (record,) of a kept variable, by name


class ImputedEffect(NamedTuple):
    """Labels that are guessed right by believing, with imputed values and with holes.

    Attributes
    ----------
    records : int
        Those with an imputed kept value and a label.
    measured : int
        Of these; they stand for all.
    with_values, with_holes : float
        Labels of all of them that are guessed right, drawn from what she believes.
    standard_error : float
        Of their difference, over records.
    """

    records: int
    measured: int
    with_values: float
    with_holes: float
    standard_error: float


def imputed_effect(
    data: Microdata, imputations: Iterable[tuple[Filled, Parameters]]
) -> ImputedEffect | None:
    """Measure what imputed values tell; None where no record has any, or labels are too many.

    `imputations` gives the codes that each one filled in, and the draw that it comes from.
    """
    own = true_labels(data)[data.of_record]  # (record,)
    codes = np.column_stack([data.codes(name) for name in data.kept])  # (record, kept variable)
    holes = (codes == hole_codes(data, data.kept)).any(axis=1)
    records = np.flatnonzero(holes & ~np.isin(own, hole_labels(data)))
    most = min(MOST, LARGEST // data.n_labels)
    if not records.size or not most:
        return None
    chosen = np.sort(stream(0, "imputed values").permutation(records)[:most])
    before, after = label_beliefs(data, chosen, imputations)
    at = np.arange(chosen.size), own[chosen]
    gains, scale = after[at] - before[at], records.size / chosen.size
    error = gains.std(ddof=1) * np.sqrt(chosen.size) if chosen.size > 1 else 0.0
    return ImputedEffect(
        records=int(records.size),
        measured=int(chosen.size),
        with_values=float(after[at].sum() * scale),
        with_holes=float(before[at].sum() * scale),
        standard_error=float(error * scale),
    )


def label_beliefs(
    data: Microdata,
    records: NDArray[np.int64],
    imputations: Iterable[tuple[Filled, Parameters]],
) -> tuple[Floats, Floats]:
    """Probabilities of the labels of some records, with holes and with imputed values.

    Both are (record, label).
    """
    before = np.zeros((records.size, data.n_labels))
    ratios = np.zeros_like(before)  # logarithms
    for filled, parameters in imputations:
        observed = _probabilities(data, records, {}, parameters)
        shown = _probabilities(data, records, filled, parameters)
        before += observed
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios += np.where(observed > 0, np.log(shown / observed), 0.0)
    before /= before.sum(axis=1, keepdims=True)
    after = before * np.exp(ratios - ratios.max(axis=1, keepdims=True))
    return before, after / after.sum(axis=1, keepdims=True)


def _probabilities(
    data: Microdata, records: NDArray[np.int64], filled: Filled, parameters: Parameters
) -> Floats:
    """Probabilities of labels given the kept values of some records: (record, label)."""
    codes = data.combinations[data.of_record[records]]  # (record, variable)
    for name, of_record in filled.items():
        codes[:, data.names.index(name)] = of_record[records]
    combinations, counts, of_record = regroup(
        codes,
        np.ones(records.size, dtype=np.int64),
        np.arange(records.size, dtype=np.int32),
        [variable.n_levels for variable in data.variables],
    )
    part = replace(data, combinations=combinations, counts=counts, of_record=of_record,
                   passed=None, survey=None)  # fmt: skip
    table = label_table(part, parameters, "kept")
    given = table.probabilities[table.row_of_combination[of_record]]
    normalized: Floats = given / given.sum(axis=1, keepdims=True)
    return normalized
