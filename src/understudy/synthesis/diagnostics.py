"""Have the chains converged? R-hat and effective sample sizes of label-free quantities.

The numbers of classes, their weights and their probabilities are interchangeable between chains and
within one, so none of them is looked at. What is: numbers about the whole posterior, and
probabilities of labels given patterns.

R-hat is the rank-normalized one, effective sample sizes are those of bulk and tail
(`rank_statistics`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import SettingError
from understudy.synthesis.rank_statistics import rank_statistics
from understudy.synthesis.registry import ESS_TARGET, RHAT_TARGET

__all__ = ["ConvergenceTargets", "diagnose", "ess_bulk", "meets", "rhat_of", "spread_cells"]

MOST_CELLS = 200
FEWEST_DRAWS = 4  # of a chain: two halves of two draws

Figures = tuple[float | None, float | None, float | None]  # R-hat, bulk and tail ESS


@dataclass(frozen=True)
class ConvergenceTargets:
    """When chains count as converged, and how long to go on for it.

    Attributes
    ----------
    rhat : float
        R-hat must lie below it.
    ess : float
        Bulk and tail effective sample size must reach it.
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

    def reached(
        self,
        scalars: Mapping[str, NDArray[np.float64]],
        label_probability: NDArray[np.float32],
        threads: int,
    ) -> bool:
        """Tell whether a run that was asked to go on may end.

        Parameters
        ----------
        scalars, label_probability, threads
            As in `diagnose`.

        Returns
        -------
        bool
        """
        return meets(diagnose(scalars, label_probability, self, threads=threads))


def diagnose(
    scalars: Mapping[str, NDArray[np.float64]],
    label_probability: NDArray[np.float32],
    targets: ConvergenceTargets,
    most_cells: int | None = MOST_CELLS,
    threads: int = 1,
) -> pl.DataFrame:
    """Diagnose all quantities of a run.

    Parameters
    ----------
    scalars : mapping of str to float (chain, draw)
        Quantities about the whole posterior.
    label_probability : float32 (chain, draw, cell)
        Label probabilities.
    targets : ConvergenceTargets
        What they have to meet.
    most_cells : int or None
        Label probabilities to look at, evenly spread over all cells; None for all of them.
    threads : int
        That work at the same time.

    Returns
    -------
    polars.DataFrame
        Columns quantity, rhat, ess_bulk, ess_tail (null where undefined: a single chain has no
        R-hat, a constant has neither), converged.
    """
    cells = spread_cells(label_probability.shape[2], most_cells)
    found = [
        (name, *figures)
        for name, values in scalars.items()
        for figures in _figures(np.asarray(values)[:, :, None])
    ]
    every = cells.size == label_probability.shape[2]  # then nothing needs to be copied
    tables = label_probability if every else label_probability[:, :, cells]  # (chain, draw, cell)
    for cell, figures in zip(cells, _figures(tables, threads), strict=True):
        found.append((f"label_probability[{cell}]", *figures))
    several = label_probability.shape[0] > 1 and label_probability.shape[1] >= FEWEST_DRAWS
    return pl.DataFrame(
        [(*row, several and targets.met_by(*row[1:])) for row in found],
        schema={
            "quantity": pl.String,
            "rhat": pl.Float64,
            "ess_bulk": pl.Float64,
            "ess_tail": pl.Float64,
            "converged": pl.Boolean,
        },
        orient="row",
    )


def spread_cells(n_cells: int, most_cells: int | None) -> NDArray[np.int64]:
    """Choose at most so many cells, evenly spread from the first to the last; None for all."""
    if most_cells is None or n_cells <= most_cells:
        return np.arange(n_cells, dtype=np.int64)
    return np.unique(np.linspace(0, n_cells - 1, most_cells).round().astype(np.int64))


def meets(table: pl.DataFrame) -> bool:
    """Tell whether every quantity has met its targets."""
    return bool(table["converged"].all())


def rhat_of(values: NDArray[np.float64]) -> float | None:
    """R-hat of one quantity (chain, draw); None where it is undefined."""
    return _figures(values[:, :, None], effective=False)[0][0]


def ess_bulk(values: NDArray[np.float64]) -> float | None:
    """Bulk effective sample size of one quantity (chain, draw); None for a constant."""
    return _figures(values[:, :, None])[0][1]


def _figures(
    values: NDArray[np.floating], threads: int = 1, effective: bool = True
) -> list[Figures]:
    """R-hat, bulk and tail effective sample size of quantities (chain, draw, quantity)."""
    n_chains, n_draws, n_quantities = values.shape
    if n_draws < FEWEST_DRAWS:
        return [(None, None, None)] * n_quantities
    found = rank_statistics(values, threads, effective)
    if n_chains < 2:
        found[:, 0] = np.nan
    return [(_number(rhat), _number(bulk), _number(tail)) for rhat, bulk, tail in found.tolist()]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
