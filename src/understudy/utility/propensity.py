"""Propensity utility: how well a regression tells synthetic records from original ones.

The files are stacked, and the chance of a record to be synthetic is fitted from main effects and
pairs of all variables. pMSE is the mean squared distance of the fitted chance from one half. In
partly synthetic data the kept variables are the same in both files, so only parameters that
involve a synthesized variable can find a difference: the null is counted over these alone, and
simulated by perfect sets, against the original and against each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_whole
from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import SettingError
from understudy.microdata.data_arguments import check_data, check_variables
from understudy.microdata.synthetic_files import as_sets
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors
from understudy.randomness import check_seed, stream
from understudy.summaries import Spread, counted, estimate_number, number, spread_of
from understudy.utility.noise_floors import perfect_counts
from understudy.utility.regression.aliasing import identified_columns
from understudy.utility.regression.design import Design, Indicators, make_design
from understudy.utility.regression.formula import Formula
from understudy.utility.regression.logistic import BinaryLikelihood
from understudy.utility.regression.newton import newton
from understudy.utility.tabulation import TableCounts, check_synthesized, count_sets, tabulate

__all__ = ["PropensityUtility", "propensity_utility"]

MOST_PARAMETERS = 4000
ENOUGH = 1e-7  # gain in log-likelihood before the last step, after which pMSE no longer moves
Numbers = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class PropensityUtility(Shown):
    """Propensity-score mean squared error, with three nulls for partly synthetic data.

    Attributes
    ----------
    pmse : Spread
        Over the sets.
    null_by_parameters : float
        Expected pMSE when the synthesizer is right: the number of identified parameters that
        involve a synthesized variable, times 1/8, divided by the number of stacked records; mean
        over the sets. It holds for large cells.
    ratio_to_parameters : float
        Mean over the sets of pMSE over that null (the standardized pMSE for incomplete synthesis
        of the R package synthpop).
    null_by_perfect : Spread
        pMSE of simulated perfect sets, which resample the original: holds for small cells too.
    ratio_to_perfect : float
        Mean pMSE over the mean of these.
    null_by_truth : Spread
        pMSE of pairs of simulated perfect sets, one in the original's role: what a synthesizer
        that knew the population would score.
    ratio_to_truth : float
        Mean pMSE over the mean of these: 1 for a synthesizer that is right.
    per_set : frame
        ``set``, ``pmse``, ``parameters`` (identified, with a synthesized variable).
    """

    _frames: ClassVar[tuple[str, ...]] = ("per_set",)
    pmse: Spread
    null_by_parameters: float
    ratio_to_parameters: float
    null_by_perfect: Spread
    ratio_to_perfect: float
    null_by_truth: Spread
    ratio_to_truth: float
    per_set: pl.DataFrame
    _terms: tuple[str, ...] = field(repr=False)

    def _described(self) -> Described:
        """Show pMSE with its nulls."""
        rows = [
            ["pMSE", estimate_number(self.pmse.mean)],
            [
                "null, by parameters with a synthesized variable",
                estimate_number(self.null_by_parameters),
            ],
            ["  ratio", number(self.ratio_to_parameters)],
            ["null, by perfect sets", estimate_number(self.null_by_perfect.mean)],
            ["  ratio", number(self.ratio_to_perfect)],
            [
                "null, by a synthesizer that knows the truth",
                estimate_number(self.null_by_truth.mean),
            ],
            ["  ratio to the truth floor", number(self.ratio_to_truth)],
        ]
        terms = counted(len(self._terms), "term")
        title = f"Propensity utility of {counted(self.pmse.files, 'set')}, {terms}"
        return Described(title, ["measure", "value"], rows)

    def _panels(self) -> Mapping[str, Panel]:
        spreads = [self.pmse, self.null_by_perfect, self.null_by_truth]
        by_parameters = self.null_by_parameters
        return {
            "pmse": Panel(
                "pMSE",
                ["sets", "perfect sets", "knowing the truth", "null, by parameters"],
                [*(spread.mean for spread in spreads), by_parameters],
                [*(spread.minimum for spread in spreads), by_parameters],
                [*(spread.maximum for spread in spreads), by_parameters],
            )
        }


@in_users_kind
@only_our_errors
def propensity_utility(
    data: Microdata,
    synthetic: Any,
    *,
    names: Sequence[str] | None = None,
    pairs: bool = True,
    repeats: int = 10,
    seed: int | None = None,
) -> PropensityUtility:
    """Measure how well original and synthetic records can be told apart.

    Parameters
    ----------
    data : Microdata
        The confidential data.
    synthetic : SyntheticSets, or a list of frames or paths
        The sets, row by row beside the data.
    names : sequence of str, optional
        Variables of the model, at least one of them synthesized; all when left out.
    pairs : bool
        Whether pairs of variables enter beside main effects.
    repeats : int
        Perfect sets, and pairs of them, that the nulls are simulated from.
    seed : int, optional
        Makes the simulation repeatable.

    References
    ----------
    Snoke, J., Raab, G. M., Nowok, B., Dibben, C. and Slavkovic, A. (2018). General and specific
    utility measures for synthetic data. Journal of the Royal Statistical Society A 181(3),
    663-688. doi:10.1111/rssa.12358
    """
    data = check_data(data)
    design = _design(data, names, pairs)
    counted = count_sets(as_sets(data, synthetic))
    table = tabulate(counted, design.formula.names)
    repeats = check_whole("repeats", repeats, 1)
    generator = stream(check_seed(seed), "utility", "propensity")
    perfect, other = (
        table.counts_of(perfect_counts(generator, data, repeats)) for _ in range(2)
    )  # (repeat, cell)
    rows = design.indicators(_ordered_codes(table, design))
    drawn = _columns_with(design, data.synthesized)
    fitted = [_one_set(rows, table.original, counts, drawn) for counts in table.synthetic]
    by_chance = [_one_set(rows, table.original, counts, drawn)[0] for counts in perfect]
    of_pairs = [_one_set(rows, *pair, drawn)[0] for pair in zip(other, perfect, strict=True)]
    pmse = np.array([value for value, _ in fitted])  # (set,)
    parameters = np.array([count for _, count in fitted], dtype=np.float64)  # (set,)
    nulls = parameters / (8 * 2 * data.n_records)
    return PropensityUtility(
        pmse=spread_of(pmse),
        null_by_parameters=float(nulls.mean()),
        ratio_to_parameters=_mean_ratio(pmse, nulls),
        null_by_perfect=spread_of(by_chance),
        ratio_to_perfect=_mean_ratio(pmse, np.full(pmse.size, np.mean(by_chance))),
        null_by_truth=spread_of(of_pairs),
        ratio_to_truth=_mean_ratio(pmse, np.full(pmse.size, np.mean(of_pairs))),
        per_set=pl.DataFrame(
            {
                "set": np.arange(1, pmse.size + 1, dtype=np.int32),
                "pmse": pmse,
                "parameters": parameters.astype(np.int64),
            }
        ),
        _terms=tuple(":".join(term) for term in design.formula.terms),
    )


def _design(data: Microdata, names: Sequence[str] | None, pairs: bool) -> Design:
    listed = list(data.names) if names is None else check_variables(data, names)
    check_synthesized(data, listed, "propensity model")
    single = [(name,) for name in listed]
    double = list(itertools.combinations(listed, 2)) if pairs else []
    design = make_design(data, Formula("", None, (*single, *double)))
    if len(design.columns) > MOST_PARAMETERS:
        raise SettingError(
            expected=f"a propensity model with at most {MOST_PARAMETERS:,} parameters",
            came=f"{len(design.columns):,}",
            do="name fewer variables, or leave the pairs out (pairs=False)",
        )
    return design


def _ordered_codes(table: TableCounts, design: Design) -> NDArray[np.int32]:
    """Codes of the cells in the order of the design's variables: (cell, variable)."""
    return table.codes[:, [table.names.index(name) for name in design.formula.names]]


def _columns_with(design: Design, names: Sequence[str]) -> NDArray[np.bool_]:
    """Which columns involve one of these variables: (column,)."""
    involved = [bool(set(term) & set(names)) for term in design.formula.terms]
    return np.repeat(involved, design.widths)


def _one_set(
    rows: Indicators,
    original: NDArray[np.int64],
    synthetic: NDArray[np.int64],
    drawn: NDArray[np.bool_],
) -> tuple[float, int]:
    """Find one set's pMSE, and the number of identified parameters with synthesized variables."""
    occurs = original + synthetic > 0
    used = Indicators(rows.index[occurs], rows.widths, rows.block)
    events = synthetic[occurs].astype(np.float64)
    trials = events + original[occurs]
    columns = identified_columns(used, np.ones(drawn.size, dtype=bool))
    n_kept = int(identified_columns(used, ~drawn).sum())
    model = BinaryLikelihood(used, events, trials, columns)
    top = newton(model.evaluate, np.zeros(model.shape.size), model.shape, ENOUGH)
    chance = model.probability(top.parameters + top.last_step)
    pmse = float(trials @ (chance - 0.5) ** 2 / trials.sum())
    return pmse, int(columns.sum()) - n_kept


def _mean_ratio(values: Numbers, nulls: Numbers) -> float:
    positive = nulls > 0
    return float((values[positive] / nulls[positive]).mean()) if positive.any() else float("nan")
