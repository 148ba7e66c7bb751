"""The expected risk of a draw in closed form, without drawing.

A synthesizer is a table of label probabilities (`LabelTable`). If every record's label is drawn
from its row of the table, independently, most of what is counted has an expectation in
closed form. Let record i have known cell a and true label g, let it draw
g with probability q_i, and let X be the number of *other* records of the cell that draw g: a sum
of independent Bernoulli draws with their own q_j.

- Attribute matches: the sum of q_i, with variance the sum of q_i (1 - q_i).
- Expected match risk: the sum of q_i E[1 / (1 + X)]. Since 1 / (1 + X) is the integral of t^X over
  [0, 1], this is the integral of the product over the others of (1 - q_j + q_j t).
- True unique matches: the sum of q_i P(X = 0).
- Unique matches: the sum of P(c_i = 1), with c_i the number of all records of the cell that draw g.
- Random linkage: the sum of P(c_i > 0), over n.

The integral is taken by Gauss-Legendre over the part near t = 1 where the product is not negligible
(with m others expected to draw g it is below exp(-m (1 - t))); 64 nodes give 12 digits or more.

If all records of a cell draw from the same probabilities the second line is the familiar
(n_ag / n_a)(1 - (1 - q_ag)^n_a), summed over cells and labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_number, check_one_of
from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import InputError, SettingError, quoted_list
from understudy.microdata.data_arguments import check_data, check_table, check_tables
from understudy.microdata.label_rows import LabelRows, SparseTable, dense_rows
from understudy.microdata.label_table import LabelTable, true_labels
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors
from understudy.risk import match_kernels as kernels
from understudy.risk.matching import NO_UNIQUE_MATCHES, Targets, find_targets
from understudy.summaries import Spread, number, spread_of

__all__ = ["ExpectedRisk", "PosteriorRisk", "expected_risk", "posterior_risk"]

NODES = 64
REACH = 50.0  # the integrand is below exp(-REACH) outside of what is integrated over


KINDS = {
    "records": ("expected_match_risk", "unique_matches", "true_matches", "attribute_matches"),
    "rate": ("true_match_rate", "false_match_ratio", "random_linkage"),
}


@dataclass(frozen=True, repr=False)
class ExpectedRisk(Shown):
    """Expectations over draws from one table of label probabilities, exact.

    Attributes
    ----------
    known : tuple of str
        Kept variables that the intruder knows, besides the true label.
    expected_match_risk : float
        Mean of the sum of T/c.
    true_match_rate : float
        Mean share of records with c = 1 and T = 1.
    unique_matches, true_matches : float
        Mean numbers of records with c = 1, and with c = 1 and T = 1.
    false_match_ratio : float or None
        One less the ratio of the two means. The mean of the false match rate itself, a mean of
        ratios, has no closed form. None where no unique match can occur.
    attribute_matches : float
        Mean number of records that draw their true label.
    attribute_deviation : float
        Its standard deviation over draws.
    random_linkage : float
        Mean share of records with any candidate.
    """

    _frames: ClassVar[tuple[str, ...]] = ("measures",)
    known: tuple[str, ...]
    expected_match_risk: float
    true_match_rate: float
    unique_matches: float
    true_matches: float
    false_match_ratio: float | None
    attribute_matches: float
    attribute_deviation: float
    random_linkage: float

    def measures(self) -> dict[str, float | None]:
        """All measures by name."""
        return {
            field.name: getattr(self, field.name) for field in fields(self) if field.name != "known"
        }

    def _described(self) -> Described:
        """Show a readable table."""
        rows = [
            (name.replace("_", " "), number(value, missing=NO_UNIQUE_MATCHES))
            for name, value in self.measures().items()
        ]
        title = f"Exact expected risk of a draw, known: {quoted_list(self.known)}"
        return Described(title, ("measure", "expectation"), rows)

    def _panels(self) -> Mapping[str, Panel]:
        return {
            kind: Panel(kind, [_words(name) for name in names], [getattr(self, n) for n in names])
            for kind, names in KINDS.items()
        }


@in_users_kind
@only_our_errors
def expected_risk(
    data: Microdata, table: LabelTable | SparseTable, known: Sequence[str] | str
) -> ExpectedRisk:
    """Compute the expected risk of a draw from a table of label probabilities, exactly.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    table : LabelTable or SparseTable
        Probabilities of labels, with a row per pattern, per combination, or one row.
    known : sequence of str
        Kept variables that the intruder knows besides the true label.

    Returns
    -------
    ExpectedRisk

    Examples
    --------
    >>> import understudy as us
    >>> from understudy.microdata.label_table import uniform_labels
    >>> data = us.load_ce_like()
    >>> round(us.expected_risk(data, uniform_labels(data), known="gender").expected_match_risk, 2)
    2.0
    """
    check_data(data)
    names = data.known(known)
    check_table(data, table)
    targets = find_targets(data, names, true_labels(data), data.n_labels)
    return _expected(data, table, names, targets)


def _expected(
    data: Microdata, table: LabelTable | SparseTable, names: tuple[str, ...], targets: Targets
) -> ExpectedRisk:
    of_combination = np.zeros(data.n_combinations, dtype=np.int64)  # target of each combination
    of_combination[data.of_record] = targets.of_record
    cells = targets.cell[of_combination]  # (combination,)
    source = _grouped(cells, targets.cell_sizes.size, table.row_of_combination, data.counts)
    aim = _grouped(of_combination, len(targets), table.row_of_combination, data.counts)
    points, weights = np.polynomial.legendre.leggauss(NODES)  # (node,), on [-1, 1]
    risk, matches, variance, true_unique, unique, reachable = kernels.expected_sums(
        *_lookup(table),
        targets.cell, targets.label, *source, *aim,
        (points + 1) / 2, weights / 2, REACH,
    )  # fmt: skip
    return ExpectedRisk(
        known=names,
        expected_match_risk=float(risk),
        true_match_rate=float(true_unique) / data.n_records,
        unique_matches=float(unique),
        true_matches=float(true_unique),
        false_match_ratio=1.0 - float(true_unique / unique) if unique > 0 else None,
        attribute_matches=float(matches),
        attribute_deviation=max(0.0, float(variance)) ** 0.5,
        random_linkage=float(reachable) / data.n_records,
    )


def _lookup(table: LabelTable | SparseTable) -> tuple[NDArray[np.float64], LabelRows]:
    """Give a table as the kernel takes it: dense, or as rows of what occurs."""
    if isinstance(table, SparseTable):
        return np.empty((0, 0)), table.rows
    whole = table.probabilities / table.probabilities.sum(axis=1, keepdims=True)
    return whole, dense_rows(np.empty((0, 0)))


def _grouped(
    groups: NDArray[np.int64], n_groups: int, rows: NDArray[np.int32], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """List, group by group, the table rows that its records draw from, and how many do.

    Gives where each group's list begins, (group + 1,), the rows, (entry,), and records, (entry,).
    """
    n_rows = int(rows.max()) + 1
    keys, entry = np.unique(groups * n_rows + rows, return_inverse=True)
    records = np.bincount(entry, weights=counts).astype(np.int64)
    starts = np.searchsorted(keys, np.arange(n_groups + 1) * n_rows).astype(np.int64)
    return starts, keys % n_rows, records


@dataclass(frozen=True, repr=False, eq=False)
class PosteriorRisk(Shown):
    """The expected risk as a posterior quantity: one exact value per posterior draw.

    Attributes
    ----------
    known : tuple of str
        Kept variables that the intruder knows, besides the true label.
    draws : polars.DataFrame
        One row per draw, a column per measure of `ExpectedRisk`.
    spreads : mapping of str to Spread
        Mean, minimum and maximum over draws. The standard error is that of independent draws: too
        small where draws are autocorrelated.
    """

    _frames: ClassVar[tuple[str, ...]] = ("draws",)
    known: tuple[str, ...]
    draws: pl.DataFrame
    spreads: Mapping[str, Spread]

    def interval(self, measure: str, probability: float = 0.9) -> tuple[float, float] | None:
        """Give the equal-tailed posterior interval of a measure; None where it is undefined."""
        check_one_of("measure", measure, self.spreads)
        check_number("probability", probability)
        if not 0 < probability < 1:
            raise SettingError(
                expected="a probability between 0 and 1", came="another number", do="give 0.9, say"
            )
        values = self.draws[measure].drop_nulls().to_numpy()
        if values.size == 0:
            return None
        low, high = np.quantile(values, [(1 - probability) / 2, (1 + probability) / 2])
        return float(low), float(high)

    def _described(self) -> Described:
        """Show a readable table."""
        rows = []
        for name, spread in self.spreads.items():
            ends = self.interval(name)
            low, high = ends if ends is not None else (None, None)
            rows.append(
                (
                    name.replace("_", " "),
                    number(spread.mean, spread.standard_error, missing=NO_UNIQUE_MATCHES),
                    number(low, missing="-"),
                    number(high, missing="-"),
                )
            )
        title = f"Posterior of the expected risk, known: {quoted_list(self.known)}"
        return Described(
            title,
            ("measure", "mean", "5 %", "95 %"),
            rows,
            [f"  over {self.draws.height} posterior draws, each exact"],
            [[self.draws[name].to_list()] for name in self.spreads],
            "over the draws",
        )

    def _panels(self) -> Mapping[str, Panel]:
        panels = {}
        for kind, names in KINDS.items():
            ends = [self.interval(name) or (None, None) for name in names]
            panels[kind] = Panel(
                kind,
                [_words(name) for name in names],
                [self.spreads[name].mean for name in names],
                [low for low, _ in ends],
                [high for _, high in ends],
                values_name="mean and 90 % of the draws",
            )
        return panels


def _words(name: str) -> str:
    return name.replace("_", " ")


@in_users_kind
@only_our_errors
def posterior_risk(
    data: Microdata, tables: Iterable[LabelTable], known: Sequence[str] | str
) -> PosteriorRisk:
    """Compute the exact expected risk of every posterior draw.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    tables : iterable of LabelTable
        One per posterior draw, from any synthesizer.
    known : sequence of str
        Kept variables that the intruder knows besides the true label.

    Returns
    -------
    PosteriorRisk
        How sure a fit is of the risk it would cause. What a single drawn file adds to that by
        chance is not in it; `identification_risk` over many files shows both.
    """
    check_data(data)
    names = data.known(known)
    targets = find_targets(data, names, true_labels(data), data.n_labels)
    measured = []
    for table in check_tables(tables):
        check_table(data, table)
        measured.append(_expected(data, table, names, targets).measures())
    if not measured:
        raise InputError(
            expected="at least one posterior draw", came="none", do="give tables of a fit's draws"
        )
    draws = pl.DataFrame(measured, schema=dict.fromkeys(measured[0], pl.Float64))
    spreads = {name: spread_of(draws[name].to_list()) for name in draws.columns}
    return PosteriorRisk(names, draws, spreads)
