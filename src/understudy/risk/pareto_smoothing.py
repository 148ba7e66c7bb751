"""Pareto-smoothed importance weights, and how far they can be trusted.

Leaving a record out of a posterior by weights 1 / likelihood fails silently where a few draws carry
most of the weight. So the largest weights are replaced by the expected order statistics of a
generalized Pareto distribution fitted to them, and its shape k says whether that is good enough: up
to 0.7 it is, above that the estimate is not reliable whatever its variance looks like [1]_. The
shape is estimated by the empirical Bayes method of Zhang and Stephens [2]_, pulled slightly towards
0.5.

References
----------
.. [1] Vehtari, A., Simpson, D., Gelman, A., Yao, Y. and Gabry, J. (2024). Pareto smoothed
   importance sampling. Journal of Machine Learning Research, 25(72), 1-58.
.. [2] Zhang, J. and Stephens, M. A. (2009). A new and efficient estimation method for the
   generalized Pareto distribution. Technometrics, 51(3), 316-325. doi:10.1198/tech.2009.08017
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["RELIABLE", "smooth_weights"]

RELIABLE = 0.7  # shapes above it mean weights that cannot be trusted
FEWEST = 5  # weights in a tail; with fewer no shape can be told
COLUMNS = 256  # columns smoothed together
PRIOR_SHAPE, PRIOR_SIZE = 0.5, 10.0  # the shape is pulled to 0.5 as by ten more weights


def smooth_weights(
    log_weights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smooth the largest importance weights of each column of log weights (draw, column).

    Columns of weights sum to one. With them comes k-hat of each column: above `RELIABLE` its
    weights are not to be trusted; infinite where draws are too few or too often equal to tell,
    minus infinite where all weights are equal.
    """
    n_draws, n_columns = log_weights.shape
    weights = np.empty((n_draws, n_columns))
    shape = np.empty(n_columns)
    for start in range(0, n_columns, COLUMNS):
        part = slice(start, start + COLUMNS)
        weights[:, part], shape[part] = _smooth(log_weights[:, part])
    return weights, shape


def _smooth(
    log_weights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    n_draws = log_weights.shape[0]
    weights = np.exp(log_weights - log_weights.max(axis=0))  # (draw, column), the largest is 1
    shape = np.where(weights.min(axis=0) == 1.0, -np.inf, np.inf)  # (column,)
    size = int(np.ceil(min(0.2 * n_draws, 3.0 * n_draws**0.5)))
    if size >= FEWEST:
        order = np.argsort(weights, axis=0)
        largest = order[n_draws - size :]  # (tail, column)
        tail = np.take_along_axis(weights, largest, axis=0)
        cutoff = np.take_along_axis(weights, order[n_draws - size - 1][None], axis=0)  # (1, column)
        exceedance = tail - cutoff
        quarter = exceedance[int(size / 4 + 0.5) - 1]
        fitted = np.flatnonzero(quarter > 0.0)
        shape[fitted], scale = _fit_pareto(exceedance[:, fitted], quarter[fitted])
        levels = (np.arange(size)[:, None] + 0.5) / size  # (tail, 1)
        smoothed = cutoff[:, fitted] + _quantiles(levels, shape[fitted], scale)
        tail[:, fitted] = np.minimum(smoothed, 1.0)
        np.put_along_axis(weights, largest, tail, axis=0)
    return weights / weights.sum(axis=0), shape


def _fit_pareto(
    exceedance: NDArray[np.float64], quarter: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate shape and scale of a generalized Pareto distribution, column by column.

    Exceedances are (tail, column), sorted upwards; `quarter` is the one a quarter of the way up.
    """
    size = exceedance.shape[0]
    n_points = 30 + int(size**0.5)
    grid = 1.0 - np.sqrt(n_points / (np.arange(1, n_points + 1) - 0.5))  # (point,)
    ratio = grid[:, None] / (3.0 * quarter) + 1.0 / exceedance[-1]  # (point, column)
    shapes = np.log1p(-ratio[:, None] * exceedance).mean(axis=1)  # (point, column)
    log_likelihood = size * (np.log(-ratio / shapes) - shapes - 1.0)
    weight = np.exp(log_likelihood - log_likelihood.max(axis=0))
    mean_ratio = (ratio * weight).sum(axis=0) / weight.sum(axis=0)  # (column,)
    shape = np.log1p(-mean_ratio * exceedance).mean(axis=0)
    scale = -shape / mean_ratio
    return (size * shape + PRIOR_SIZE * PRIOR_SHAPE) / (size + PRIOR_SIZE), scale


def _quantiles(
    levels: NDArray[np.float64], shape: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Quantiles of the generalized Pareto distribution, (level, column)."""
    safe = np.where(np.abs(shape) < 1e-12, 1e-12, shape)
    quantiles: NDArray[np.float64] = scale * np.expm1(-safe * np.log1p(-levels)) / safe
    return quantiles
