"""Have the chains converged? R-hat and effective sample sizes of label-free quantities.

The numbers of classes, their weights and their probabilities are interchangeable between chains and
within one, so none of them is looked at. What is: numbers about the whole posterior, and
probabilities of labels given patterns.

R-hat is the rank-normalized one, bulk and tail effective sample sizes as in Vehtari, Gelman,
Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and localization", Bayesian
Analysis 16, doi:10.1214/20-BA1221, all by arviz-stats.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import SettingError

__all__ = ["Targets", "diagnose", "ess_bulk", "meets", "rhat_of", "spread_cells"]

TAIL = (0.05, 0.95)
MOST_CELLS = 200


@dataclass(frozen=True)
class Targets:
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

    rhat: float = 1.01
    ess: float = 400.0
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


def diagnose(
    scalars: Mapping[str, NDArray[np.float64]],
    label_probability: NDArray[np.float32],
    targets: Targets,
    most_cells: int | None = MOST_CELLS,
) -> pl.DataFrame:
    """Diagnose all quantities of a run.

    Parameters
    ----------
    scalars : mapping of str to float (chain, draw)
        Quantities about the whole posterior.
    label_probability : float32 (chain, draw, cell)
        Label probabilities.
    targets : Targets
        What they have to meet.
    most_cells : int or None
        Label probabilities to look at, evenly spread over all cells; None for all of them.

    Returns
    -------
    polars.DataFrame
        Columns quantity, rhat, ess_bulk, ess_tail (null where undefined: a single chain has no
        R-hat, a constant has neither), converged.
    """
    rows = [_row(name, np.asarray(values), targets) for name, values in scalars.items()]
    for cell in spread_cells(label_probability.shape[2], most_cells):
        values = label_probability[:, :, cell].astype(np.float64)
        rows.append(_row(f"label_probability[{cell}]", values, targets))
    return pl.DataFrame(
        rows,
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


def _array_functions() -> Any:
    """Load arviz-stats' functions of arrays when they are first needed."""
    return import_module("arviz_stats.base").array_stats


def rhat_of(values: NDArray[np.float64]) -> float | None:
    """R-hat of one quantity (chain, draw); None where it is undefined."""
    if values.shape[0] < 2 or values.shape[1] < 4 or _constant(values):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # chains that are constants, each its own
        found = float(_array_functions().rhat(values, chain_axis=0, draw_axis=1))
    return found if np.isfinite(found) else float("inf")


def ess_bulk(values: NDArray[np.float64]) -> float | None:
    """Bulk effective sample size of one quantity (chain, draw); None for a constant."""
    return _ess(values, "bulk")


def _ess(values: NDArray[np.float64], method: str) -> float | None:
    if values.shape[1] < 4 or _constant(values):
        return None
    probabilities = TAIL if method == "tail" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = float(
            _array_functions().ess(
                values, chain_axis=0, draw_axis=1, method=method, prob=probabilities
            )
        )
    return found if np.isfinite(found) else 0.0


def _constant(values: NDArray[np.float64]) -> bool:
    return bool(np.all(values == values.flat[0])) if values.size else True


def _row(
    name: str, values: NDArray[np.float64], targets: Targets
) -> tuple[str, float | None, float | None, float | None, bool]:
    rhat, bulk, tail = rhat_of(values), _ess(values, "bulk"), _ess(values, "tail")
    if values.shape[0] < 2:
        return name, None, bulk, tail, False
    if (
        rhat is None or bulk is None or tail is None
    ):  # the same constant in every chain, or no draws
        return name, rhat, bulk, tail, values.shape[1] >= 4
    converged = rhat < targets.rhat and bulk >= targets.ess and tail >= targets.ess
    return name, rhat, bulk, tail, converged
