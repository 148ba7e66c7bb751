"""The intruder who knows the model and every record but one.

The story. She has all other records Y_-i, all files Z_1 ... Z_m, and the model with its prior. By
Bayes' rule, with files drawn from independent posterior draws,

    P(y_i = g | Z, Y_-i)  ~  prior(g) prod_l p(g | x_i, Y_-i, Z_l) / p(g | x_i, Y_-i),

where p(g | x_i, Y_-i, Z_l) is the model's predictive with the file's rows as further records. So
one fit on Y and one on Y with each Z_l are needed; record i is taken out of each by Pareto-smoothed
weights. Nobody knows more than she does, so what the files tell her about a person bounds what they
tell anybody who uses the model.

What is reported is how far all files together move the odds of the true label. Most of that is not
the person's own record: a file drawn from a posterior that was fitted to the true label moves odds
towards it a little, and by chance either way.

Where a record's own label takes part in the draw of its row (``class_draw="full"``), she also uses
the label of the row itself, which she knows to be person i's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.checks import check_whole
from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown, in_users_kind
from understudy.microdata.coding import regroup
from understudy.microdata.label_table import LabelTable, check_table_size
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.public_errors import only_our_errors
from understudy.risk.alignment import aligned_sets
from understudy.risk.matching import Labels, labels_of
from understudy.risk.own_record.chances import Attacked
from understudy.risk.pareto_smoothing import RELIABLE, smooth_weights
from understudy.summaries import number

__all__ = ["InformedIntruderRisk", "informed_intruder_risk"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
SMALLEST = 1e-12  # probabilities below it count as this

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class InformedIntruderRisk(Shown):
    """How far all files move the odds about a person, for one who knows everything else.

    Attributes
    ----------
    quantiles : dict of float to float
        Of the factors by which the odds of the true label move, over records.
    largest : float
        The largest factor.
    probability_before, probability_after : float
        Mean probability of the true label without the files and with them.
    reliable : float
        Share of the records whose weights can be trusted in every fit.
    noise : float
        Monte-Carlo error of a record's log factor, root mean square over records.
    n_records, n_sets : int
        Sizes.
    """

    quantiles: dict[float, float]
    largest: float
    probability_before: float
    probability_after: float
    reliable: float
    noise: float
    n_records: int
    n_sets: int
    _moved: Floats

    def per_record(self) -> Floats:
        """Logarithm of the factor by which each record's odds move, (record,). Confidential."""
        return self._moved

    def most_moved(self, n: int = 10) -> NDArray[np.int64]:
        """List the records whose odds move most towards the true label. Confidential.

        Parameters
        ----------
        n : int
            How many.
        """
        return np.argsort(-self._moved, kind="stable")[: check_whole("n", n, 1)].astype(np.int64)

    def _described(self) -> Described:
        """Show a readable table."""
        rows = [
            (f"{share:.0%} of records", number(value)) for share, value in self.quantiles.items()
        ]
        rows.append(("largest", number(self.largest)))
        return Described(
            f"Odds of the true label, moved by {self.n_sets} files, for an intruder who knows the "
            f"model and the other {self.n_records - 1:,} records",
            ("at most", "factor"),
            rows,
            [
                f"  mean probability of the true label: {number(self.probability_before)} without "
                f"the files, {number(self.probability_after)} with them",
                f"  weights can be trusted for {self.reliable:.1%} of the records; Monte-Carlo "
                f"error of a log factor {number(self.noise)}",
            ],
        )

    def _panels(self) -> Mapping[str, Panel]:
        factors = {f"{share:.0%} of records": value for share, value in self.quantiles.items()}
        factors["largest"] = self.largest
        axis = "factor by which the odds of the true label move"
        return {"factors": Panel(axis, list(factors), list(factors.values()))}


@in_users_kind
@only_our_errors
def informed_intruder_risk(
    data: Microdata,
    fit: Any,
    synthetic: SyntheticSets | Sequence[Any],
    refit: Callable[[Microdata], Any],
) -> InformedIntruderRisk:
    """Measure what the files tell an intruder who knows the model and all other records.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    fit : fit
        Of these data: has ``label_tables``, ``predictive_tables`` and ``left_out_weights_tables``.
    synthetic : SyntheticSets, or sequence of frames or paths
        The files, drawn from the fit, row by row beside the records.
    refit : callable
        Takes microdata and gives a fit of the same model; called once per file, with the file's
        rows as further records.

    Returns
    -------
    InformedIntruderRisk
    """
    sets = aligned_sets(data, synthetic)
    check_table_size(data, "combination")
    attacked = Attacked(data, [], len(sets))
    without_files, shapes = _left_out_rows(fit, attacked)
    ratio = np.zeros_like(without_files)  # (part of the draws, combination, label)
    for index in range(len(sets)):
        with_file, k_hat = _left_out_rows(refit(_with_file(sets, index)), attacked)
        ratio += np.log(with_file) - np.log(without_files)
        shapes = np.maximum(shapes, k_hat)
    moved, before, after = _moved(attacked, without_files, ratio, _own_rows(fit, attacked, sets))
    quantiles = np.quantile(moved[0], QUANTILES)
    return InformedIntruderRisk(
        quantiles={
            share: float(np.exp(value)) for share, value in zip(QUANTILES, quantiles, strict=True)
        },
        largest=float(np.exp(moved[0].max())),
        probability_before=float(before.mean()),
        probability_after=float(after.mean()),
        reliable=float(data.counts[shapes <= RELIABLE].sum() / data.n_records),
        noise=float((((moved[1] - moved[2]) / 2.0) ** 2).mean() ** 0.5),
        n_records=data.n_records,
        n_sets=len(sets),
        _moved=moved[0],
    )


def _with_file(sets: SyntheticSets, index: int) -> Microdata:
    """Give the data with the rows of one file as further records."""
    data = sets.data
    codes = data.combinations[data.of_record]  # (record, variable)
    made = codes.copy()
    for column, name in enumerate(data.synthesized):
        made[:, data.names.index(name)] = sets.codes[index, :, column]
    n = 2 * data.n_records
    combinations, counts, of_record = regroup(
        np.concatenate([codes, made]),
        np.ones(n, dtype=np.int64),
        np.arange(n, dtype=np.int32),
        [variable.n_levels for variable in data.variables],
    )
    return Microdata(data.variables, combinations, counts, of_record, data.impossible)


def _left_out_rows(fit: Any, attacked: Attacked) -> tuple[Floats, Floats]:
    """Predictive of each combination's label without such a record, and k-hats of the weights.

    It is (part of the draws, combination, label): of all draws, the first half and the second.
    """
    tables = np.stack(list(fit.predictive_tables()))  # (draw, pattern, label)
    likelihood = np.stack(list(fit.left_out_weights_tables()))  # (draw, pattern, label)
    n_draws = len(tables)
    parts = np.ones((3, n_draws))
    parts[1, n_draws // 2 :] = parts[2, : n_draws // 2] = 0.0
    rows = np.empty((3, attacked.data.n_combinations, attacked.data.n_labels))
    shapes = np.empty(attacked.data.n_combinations)
    for pattern, combinations in enumerate(attacked.of_pattern):
        own = likelihood[:, pattern, attacked.label[combinations]]  # (draw, combination)
        weights, shapes[combinations] = smooth_weights(-np.log(np.maximum(own, 1e-300)))
        for index, part in enumerate(parts):
            kept = weights * part[:, None]
            rows[index, combinations] = kept.T @ tables[:, pattern] / kept.sum(axis=0)[:, None]
    return np.maximum(rows, SMALLEST), shapes


def _own_rows(fit: Any, attacked: Attacked, sets: SyntheticSets) -> Floats | None:
    """Log ratios that a record's own rows add, (record, label); None where they add nothing.

    They add something where a row is drawn from its record's own label: the probability of the
    row's label, had the record had label g, against that given the kept variables only. Labels
    that nobody of the pattern has are left at 0, as no table says what they would give.
    """
    tables = list(fit.label_tables())
    rows = tables[0].row_of_combination
    first = np.array([combinations[0] for combinations in attacked.of_pattern])
    if (rows[first][attacked.pattern] == rows).all():
        return None
    data, labels = attacked.data, labels_of(sets)
    mean = LabelTable(np.mean([table.probabilities for table in tables], axis=0), rows)
    predictive = np.mean(list(fit.predictive_tables()), axis=0)  # (pattern, label)
    added = np.zeros((data.n_records, data.n_labels))
    pattern_of_record = attacked.pattern[data.of_record]
    for pattern, combinations in enumerate(attacked.of_pattern):
        records = np.flatnonzero(pattern_of_record == pattern)
        made = _made(labels, records, len(sets))  # (set, record of the pattern)
        conditional = np.maximum(mean.probabilities[rows[combinations]], SMALLEST)
        ratio = np.log(conditional) - np.log(np.maximum(predictive[pattern], SMALLEST))
        for row in made:
            added[np.ix_(records, attacked.label[combinations])] += ratio[:, row].T
    return added


def _made(labels: Labels, records: NDArray[np.int64], n_sets: int) -> NDArray[np.int64]:
    return np.stack([labels.of_set(index)[records] for index in range(n_sets)])


def _moved(
    attacked: Attacked, without_files: Floats, ratio: Floats, own_rows: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """Log factors of the odds, (part of the draws, record), and probabilities of the true label."""
    data = attacked.data
    moved = np.empty((3, data.n_records))
    true = attacked.label[data.of_record]
    record = np.arange(data.n_records)
    before = after = np.empty(0)
    for index in range(3):
        first = np.log(without_files[index])[data.of_record]  # (record, label)
        second = first + ratio[index][data.of_record]
        if own_rows is not None:
            second = second + own_rows
        shares = [_softmax(table)[record, true] for table in (first, second)]
        odds = [np.log(share) - np.log(np.maximum(1.0 - share, SMALLEST)) for share in shares]
        moved[index] = odds[1] - odds[0]
        if index == 0:
            before, after = shares
    return moved, before, after


def _softmax(logs: Floats) -> Floats:
    """Normalize logarithms of probabilities, row by row."""
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares: Floats = np.maximum(raised / raised.sum(axis=1, keepdims=True), SMALLEST)
    return shares
