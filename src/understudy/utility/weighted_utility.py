"""Utility for analysts who weight: weighted tables, and shares with design-based intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_confidence, check_whole
from understudy.display.described import Described
from understudy.display.panels import Panel, estimates_panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import SettingError
from understudy.microdata.data_arguments import check_data
from understudy.microdata.design_variance import share_variances
from understudy.microdata.survey_design import SurveyDesign
from understudy.microdata.synthetic_files import as_sets
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors
from understudy.randomness import check_seed, stream
from understudy.summaries import counted, estimate_number, number
from understudy.utility.estimates import Estimates, Rule, compare
from understudy.utility.noise_floors import perfect_codes
from understudy.utility.regression.fitted_regression import ESTIMATED
from understudy.utility.table_measures import over_floor

__all__ = ["WeightedUtility", "share_estimates", "weighted_utility"]

Numbers = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class WeightedUtility(Shown):
    """Weighted tables and shares of the original and of the sets.

    Attributes
    ----------
    deviation : mapping of int to float
        By order of the tables (1 and 2): the sum of absolute differences between weighted counts,
        added over the tables, averaged over the sets. Weights are scaled to the number of records.
    truth_floor : mapping of int to float
        What a synthesizer that knew the population would score: the mean over pairs of simulated
        perfect sets.
    shares : frame
        One row per level of a synthesized variable: weighted share, standard error and interval of
        the original (design-based) and combined over the sets, and the overlap of the intervals.
    """

    _frames: ClassVar[tuple[str, ...]] = ("shares",)
    deviation: Mapping[int, float]
    truth_floor: Mapping[int, float]
    shares: pl.DataFrame
    _sets: int

    @property
    def ratio(self) -> dict[int, float | None]:
        """Deviation over `truth_floor`, by order; None over 0."""
        return over_floor(self.deviation, self.truth_floor)

    @property
    def mean_overlap(self) -> float | None:
        """Mean overlap of the shares that have one."""
        mean = self.shares["overlap"].mean()
        return float(mean) if isinstance(mean, float) else None

    def _described(self) -> Described:
        """Show sums over many cells."""
        rows = [
            [f"{order}-way weighted tables", estimate_number(value),
             estimate_number(self.truth_floor[order]), number(self.ratio[order])]
            for order, value in self.deviation.items()
        ]  # fmt: skip
        rows.append(["mean overlap of weighted shares", number(self.mean_overlap), "", ""])
        header = ["measure", "value", "truth floor", "ratio"]
        return Described(f"Weighted utility of {counted(self._sets, 'set')}", header, rows)

    def _panels(self) -> Mapping[str, Panel]:
        names = [f"{row[0]}: {row[1]}" for row in self.shares.select("variable", "level").rows()]
        orders = list(self.ratio)
        return {
            "shares": estimates_panel("weighted share", names, self.shares),
            "ratio": Panel(
                "deviation over the truth floor",
                [f"{order}-way" for order in orders],
                [self.ratio[order] for order in orders],
            ),
        }


@in_users_kind
@only_our_errors
def weighted_utility(
    data: Microdata,
    synthetic: Any,
    *,
    rule: str = "partial",
    level: float = 0.95,
    repeats: int = 20,
    seed: int | None = None,
) -> WeightedUtility:
    """Compare weighted tables and shares of the sets with those of the original.

    The weights are kept variables in spirit: row i of a set has record i's weight. Variances of
    shares are design-based: units drawn with replacement within strata, or replicate weights; see
    `understudy.microdata.design_variance`.

    Parameters
    ----------
    data : Microdata
        The confidential data, read with ``weight``.
    synthetic : SyntheticSets, or a list of frames or paths
        The sets, row by row beside the data.
    rule : {"partial", "full", "nested"}
        How estimates are combined; nested where files show imputed values.
    level : float
        Of the intervals.
    repeats : int
        Pairs of simulated perfect sets.
    seed : int, optional
        Makes the simulation repeatable.

    Returns
    -------
    WeightedUtility
    """
    data, level = check_data(data), check_confidence(level)
    repeats = check_whole("repeats", repeats, 1)
    if data.survey is None:
        raise SettingError(
            expected="data that were read with their survey weights",
            came="data without",
            do="name the column of weights: read_microdata(..., weight=...)",
        )
    sets = as_sets(data, synthetic)
    combining = Rule.of(sets, rule)
    own = np.column_stack([data.codes(name) for name in data.synthesized])
    tables = _WeightedTables(data)
    generator = stream(check_seed(seed), "utility", "weighted")
    original = tables.of(own)
    reached = [_deviations(original, tables.of(drawn)) for drawn in sets.codes]
    floors = [
        _deviations(tables.of(perfect_codes(generator, data)),
                    tables.of(perfect_codes(generator, data)))
        for _ in range(repeats)
    ]  # fmt: skip
    frames = []
    for axis, name in enumerate(data.synthesized):
        levels = data.variable(name).levels
        columns = compare(
            share_estimates(data.survey, own[:, axis], len(levels)),
            [share_estimates(data.survey, drawn[:, axis], len(levels)) for drawn in sets.codes],
            combining,
            level,
        )
        frames.append(pl.DataFrame({"variable": name, "level": pl.Series(levels), **columns}))
    return WeightedUtility(
        deviation={
            order: float(np.mean([by_order[order] for by_order in reached])) for order in original
        },
        truth_floor={
            order: float(np.mean([floor[order] for floor in floors])) for order in original
        },
        shares=pl.concat(frames),
        _sets=len(sets),
    )


class _WeightedTables:
    """Weighted one-way and two-way tables that hold a synthesized variable."""

    def __init__(self, data: Microdata) -> None:
        survey = data.survey
        weights = survey.weights if survey is not None else np.ones(data.n_records)
        self.data, self.weights = data, weights * (data.n_records / weights.sum())
        self.kept = {name: data.codes(name) for name in data.kept}

    def of(self, codes: NDArray[Any]) -> dict[int, list[Numbers]]:
        """Count a set's codes (record, synthesized variable): tables by order."""
        columns = dict(zip(self.data.synthesized, codes.T, strict=True))
        one_way = [self._counts(own, name) for name, own in columns.items()]
        two_way = [
            self._counts(own.astype(np.int64) * self.data.variable(other).n_levels + codes_of, name,
                         other)
            for name, own in columns.items()
            for other, codes_of in self.kept.items()
        ]  # fmt: skip
        return {1: one_way, 2: two_way} if two_way else {1: one_way}

    def _counts(self, cells: NDArray[Any], *names: str) -> Numbers:
        size = int(np.prod([self.data.variable(name).n_levels for name in names]))
        return np.bincount(cells, weights=self.weights, minlength=size).astype(np.float64)


def _deviations(
    first: Mapping[int, list[Numbers]], second: Mapping[int, list[Numbers]]
) -> dict[int, float]:
    return {
        order: float(sum(np.abs(a - b).sum() for a, b in zip(tables, second[order], strict=True)))
        for order, tables in first.items()
    }


def share_estimates(survey: SurveyDesign, codes: NDArray[Any], n_levels: int) -> Estimates:
    """Estimate the weighted share of every level, with design-based standard errors.

    The variances are those of `understudy.microdata.design_variance.share_variances`.
    """
    total = survey.weights.sum()
    shares = np.bincount(codes, weights=survey.weights, minlength=n_levels) / total
    variances = share_variances(survey, codes, shares)
    return Estimates(shares, np.sqrt(variances), (ESTIMATED,) * n_levels, survey.degrees_of_freedom)
