"""Have the chains met? R-hat and effective sample sizes of what reaches the release.

*Judged* are quantities that sets are drawn from: sums of label probabilities in which small shifts
add up (`monitored_sums`), each against the targets themselves; the margins of the synthesized
variables and all label probabilities, against limits that allow for their number.

*Shown*, and not judged, are numbers about the model: concentration, number of classes, precisions,
likelihood. They may mix slowly while everything that is released has long met. Numbers of classes,
their weights and probabilities are interchangeable between chains, so none of them is looked at.

R-hat is the rank-normalized one, effective sample sizes are those of bulk and tail
(`rhat_and_ess`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import SettingError
from understudy.synthesis.registry import ESS_TARGET, RHAT_TARGET
from understudy.synthesis.rhat_and_ess import rhat_and_ess

__all__ = [
    "SCHEMA",
    "ConvergenceTargets",
    "count_failed",
    "diagnose",
    "ess_bulk",
    "meets",
    "rhat_limit",
    "rhat_of",
    "spread_cells",
]

FEWEST_DRAWS = 4  # of a chain: two halves of two draws
FALSE_ALARMS = 0.005  # most fits that have met and fail by one family of many quantities
ESS_SHARE = 0.125  # of the target, that each of many effective sample sizes has to reach

Diagnosed = tuple[float | None, float | None, float | None]  # R-hat, bulk and tail ESS


@dataclass(frozen=True)
class ConvergenceTargets:
    """When chains count as converged, and how long to go on for it.

    Attributes
    ----------
    rhat : float
        R-hat must lie below it. For many quantities of one kind the limit allows for their number
        (`rhat_limit`).
    ess : float
        Bulk and tail effective sample size must reach it; each of many quantities, an eighth of it.
    most_draws : int
        Kept draws per chain after which a run that was asked to go on gives up.
    """

    rhat: float = RHAT_TARGET
    ess: float = ESS_TARGET
    most_draws: int = 20_000

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not self.rhat > 1.0:
            raise SettingError(
                expected="a target for R-hat above 1, such as 1.01",
                came="a number that no run can go below",
                do="give a larger target",
            )
        if not self.ess > 0 or not self.most_draws > 0:
            raise SettingError(
                expected="a target for the effective sample size, and a limit, above zero",
                came="zero, a negative number or none at all",
                do="give positive numbers, such as ess=400 and most_draws=20000",
            )

    def met_by(self, rhat: float | None, bulk: float | None, tail: float | None) -> bool:
        """Tell whether a quantity meets them.

        Parameters
        ----------
        rhat, bulk, tail : float or None
            R-hat, bulk and tail effective sample size. A constant has none of them and always
            meets the targets; a single chain has no R-hat and never does.

        Returns
        -------
        bool
        """
        if bulk is None or tail is None:
            return True
        return rhat is not None and rhat < self.rhat and min(bulk, tail) >= self.ess

    def for_each_of(self, n_quantities: int, n_chains: int) -> ConvergenceTargets:
        """Give the targets for each of many quantities of one kind.

        Parameters
        ----------
        n_quantities, n_chains : int
            How many quantities there are, and chains.

        Returns
        -------
        ConvergenceTargets
            With the limit of `rhat_limit` and an eighth of the effective sample size.
        """
        rhat = max(self.rhat, rhat_limit(n_quantities, n_chains, self.ess))
        return ConvergenceTargets(rhat, ESS_SHARE * self.ess, self.most_draws)

    def reached(
        self,
        sums: Mapping[str, NDArray[np.float64]],
        many: Mapping[str, NDArray[np.float32]],
        threads: int,
    ) -> bool:
        """Tell whether a run that was asked to go on may end.

        Parameters
        ----------
        sums, many, threads
            As in `diagnose`.

        Returns
        -------
        bool
        """
        return meets(diagnose(self, sums, many, threads=threads))


def rhat_limit(n_quantities: int, n_chains: int, ess: float) -> float:
    """Give the R-hat that the worst of many quantities of chains that have met stays below.

    Chains are cut into h = 2 * n_chains halves. Where all have the same distribution, and `ess`
    independent draws are what they are worth together, a half is worth e = ess / h, the mean of a
    half varies by 1 / e of the variance within halves, and so R-hat^2 is at most 1 + F / e with F
    from the F distribution with h - 1 and ess - h degrees of freedom. R-hat is the larger of two
    such values (location, and spread). By Bonferroni's inequality, whatever the quantities'
    dependence, the worst exceeds the limit in at most one in 200 fits (FALSE_ALARMS); in fewer
    where draws are worth more than `ess`.

    What it finds: among 5,320 quantities of four chains and ``ess=400`` the limit is 1.06, which a
    single one exceeds where one chain lies one of its standard deviations away from the others.
    Smaller shifts that many quantities share are found by the sums.
    """
    from scipy.special import fdtri

    halves = 2 * n_chains
    within = max(ess - halves, 1.0)
    quantile = fdtri(halves - 1, within, 1.0 - FALSE_ALARMS / (2 * max(n_quantities, 1)))
    return float(np.sqrt(1.0 + quantile * halves / ess))


def diagnose(
    targets: ConvergenceTargets,
    sums: Mapping[str, NDArray[np.float64]],
    many: Mapping[str, NDArray[np.float32]],
    shown: Mapping[str, NDArray[np.float64]] | None = None,
    threads: int = 1,
    names: Mapping[str, Sequence[str]] | None = None,
) -> pl.DataFrame:
    """Diagnose all quantities of a run.

    `sums` and `shown` are (chain, draw) by name, the first judged one by one, the second not
    judged. `many` are (chain, draw, quantity) by kind, judged with their number in mind, and called
    ``kind[name]``; numbers from 0 take the place of names left out. The frame has columns quantity,
    rhat, ess_bulk, ess_tail (null where undefined: a single chain has no R-hat, a constant has
    neither), converged, judged.
    """
    rows: list[tuple[str, float | None, float | None, float | None, bool, bool]] = []
    for kind, judged in ((sums, True), (shown or {}, False)):
        for name, values in kind.items():
            diagnosed = _diagnosed(np.asarray(values)[:, :, None])[0]
            rows.append((name, *diagnosed, _met(targets, values, diagnosed), judged))
    for name, tables in many.items():
        cell_targets = targets.for_each_of(tables.shape[2], tables.shape[0])
        own = (names or {}).get(name) or range(tables.shape[2])
        for part, diagnosed in zip(own, _diagnosed(tables, threads), strict=True):
            rows.append(
                (f"{name}[{part}]", *diagnosed, _met(cell_targets, tables, diagnosed), True)
            )
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


SCHEMA = {
    "quantity": pl.String,
    "rhat": pl.Float64,
    "ess_bulk": pl.Float64,
    "ess_tail": pl.Float64,
    "converged": pl.Boolean,
    "judged": pl.Boolean,
}


def _met(targets: ConvergenceTargets, values: NDArray[np.floating], diagnosed: Diagnosed) -> bool:
    """Tell whether a quantity meets its targets; too few chains or draws never do."""
    several = values.shape[0] > 1 and values.shape[1] >= FEWEST_DRAWS
    return several and targets.met_by(*diagnosed)


def spread_cells(n_cells: int, most_cells: int | None) -> NDArray[np.int64]:
    """Choose at most so many cells, evenly spread from the first to the last; None for all."""
    if most_cells is None or n_cells <= most_cells:
        return np.arange(n_cells, dtype=np.int64)
    return np.unique(np.linspace(0, n_cells - 1, most_cells).round().astype(np.int64))


def meets(table: pl.DataFrame) -> bool:
    """Tell whether every quantity that is judged has met its targets."""
    return count_failed(table) == 0


def count_failed(table: pl.DataFrame) -> int:
    """Count the quantities that are judged and have not met their targets."""
    return int((table["judged"] & ~table["converged"]).sum())


def rhat_of(values: NDArray[np.float64]) -> float | None:
    """R-hat of one quantity (chain, draw); None where it is undefined."""
    return _diagnosed(values[:, :, None], effective=False)[0][0]


def ess_bulk(values: NDArray[np.float64]) -> float | None:
    """Bulk effective sample size of one quantity (chain, draw); None for a constant."""
    return _diagnosed(values[:, :, None])[0][1]


def _diagnosed(
    values: NDArray[np.floating], threads: int = 1, effective: bool = True
) -> list[Diagnosed]:
    """R-hat, bulk and tail effective sample size of quantities (chain, draw, quantity)."""
    n_chains, n_draws, n_quantities = values.shape
    if n_draws < FEWEST_DRAWS:
        return [(None, None, None)] * n_quantities
    table = rhat_and_ess(values, threads, effective)  # (quantity, 3)
    if n_chains < 2:
        table[:, 0] = np.nan
    return [(_number(rhat), _number(bulk), _number(tail)) for rhat, bulk, tail in table.tolist()]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
