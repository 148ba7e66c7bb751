"""Covariance of the slopes: diag(scales) Omega diag(scales), half-t scales, Omega from LKJ.

The correlation matrix is built from canonical partial correlations r_ij, j < i, row by row:
L_ij = r_ij sqrt((1 - r_i0^2) ... (1 - r_i,j-1^2)) is its Cholesky factor. Under LKJ(shape) they are
independent, (1 + r_ij) / 2 from Beta(b, b) with b = shape + (R - 2 - j) / 2 (Lewandowski,
Kurowicka and Joe, 2009). Kept are their inverse hyperbolic tangents, where the density is
(1 - r^2)^b, and the logarithms of the scales, where the half-t density gets a factor scale; all
numbers are free, and each is moved in turn by a slice. A number bears on its own row and those
behind it: an evaluation costs at most R^2 / 2 operations per occupied cluster.

Kernels share these arguments, arrays of float64: `log_scales` (slope,), `bound` (pair of slopes,),
the free numbers behind the correlations; `deviations` and `solved` (cluster, slope), `factor`
(slope, slope), `heights` (slope,); `shape`, `degrees` and `scale` are floats, `prior` the three
together, `size` the number of slopes, `generator` a Generator.

References
----------
Lewandowski, D., Kurowicka, D. and Joe, H. (2009), "Generating random correlation matrices based on
vines and extended onion method", Journal of Multivariate Analysis 100,
doi:10.1016/j.jmva.2009.04.008.
"""

from __future__ import annotations

import numpy as np

from understudy.compiling import compiled

__all__ = [
    "correlation_factor",
    "covariance_factor",
    "log_density",
    "move_covariance",
    "slope_precision",
]

WIDTH = 1.5  # of the slices
MOST_STEPS = 12
MOST_MOVES = 80  # numbers moved at one call; more of them take turns


@compiled
def _fill_row(bound, row, factor):  # type: ignore[no-untyped-def]
    """Fill a row of the correlations' Cholesky factor from the free numbers behind it."""
    first = row * (row - 1) // 2
    log_rest = 0.0
    for column in range(row):
        free = bound[first + column]
        factor[row, column] = np.tanh(free) * np.exp(0.5 * log_rest)
        log_rest += _log_one_minus_square(free)
    factor[row, row] = np.exp(0.5 * log_rest)


@compiled
def _log_one_minus_square(free):  # type: ignore[no-untyped-def]
    """log(1 - tanh(x)^2), without loss where tanh is almost one."""
    size = abs(free)
    return 2.0 * (np.log(2.0) - size - np.log1p(np.exp(-2.0 * size)))


@compiled
def correlation_factor(bound, size):  # type: ignore[no-untyped-def]
    """Lower Cholesky factor (slope, slope) of the correlation matrix."""
    factor = np.zeros((size, size))
    for row in range(size):
        _fill_row(bound, row, factor)
    return factor


@compiled
def covariance_factor(log_scales, bound):  # type: ignore[no-untyped-def]
    """Lower Cholesky factor (slope, slope) of the covariance matrix."""
    factor = correlation_factor(bound, log_scales.size)
    for row in range(log_scales.size):
        factor[row] *= np.exp(log_scales[row])
    return factor


@compiled
def slope_precision(log_scales, bound):  # type: ignore[no-untyped-def]
    """Inverse of the covariance matrix (slope, slope)."""
    factor = covariance_factor(log_scales, bound)
    size = log_scales.size
    inverse = np.zeros((size, size))  # of the factor
    for column in range(size):
        for row in range(column, size):
            rest = 1.0 if row == column else 0.0
            for inner in range(column, row):
                rest -= factor[row, inner] * inverse[inner, column]
            inverse[row, column] = rest / factor[row, row]
    precision = np.zeros((size, size))
    for row in range(size):
        for column in range(size):
            for inner in range(max(row, column), size):
                precision[row, column] += inverse[inner, row] * inverse[inner, column]
    return precision


@compiled
def _log_prior_of_row(log_scales, bound, row, shape, degrees, scale):  # type: ignore[no-untyped-def]
    """Log density of a row's scale and of the free numbers behind its correlations."""
    ratio = np.exp(log_scales[row]) / scale
    total = log_scales[row] - 0.5 * (degrees + 1.0) * np.log1p(ratio * ratio / degrees)
    for column in range(row):
        power = shape + 0.5 * (log_scales.size - 2.0 - column)
        total += power * _log_one_minus_square(bound[row * (row - 1) // 2 + column])
    return total


@compiled
def _fill_heights(deviations, log_scales, bound, prior, first, factor, solved, heights):  # type: ignore[no-untyped-def]
    """Fill each row's part of the log density (slope,), from row `first` on.

    A row's numbers bear on its own row of the factor and, through the `solved` deviations (cluster,
    slope), on all rows behind it; what lies before `first` must be as it was.
    """
    shape, degrees, scale = prior
    _fill_row(bound, first, factor)
    for row in range(first, log_scales.size):
        total = _log_prior_of_row(log_scales, bound, row, shape, degrees, scale)
        total -= deviations.shape[0] * (log_scales[row] + np.log(factor[row, row]))
        shrink = np.exp(-log_scales[row])
        for cluster in range(deviations.shape[0]):
            rest = deviations[cluster, row] * shrink
            for inner in range(row):
                rest -= factor[row, inner] * solved[cluster, inner]
            solved[cluster, row] = rest / factor[row, row]
            total -= 0.5 * solved[cluster, row] * solved[cluster, row]
        heights[row] = total


@compiled
def _height_from(deviations, log_scales, bound, prior, first, factor, solved, heights):  # type: ignore[no-untyped-def]
    """Log density of everything after a number of row `first` has changed."""
    _fill_heights(deviations, log_scales, bound, prior, first, factor, solved, heights)
    total = heights.sum()
    if np.isnan(total):
        return -np.inf
    return total


@compiled
def log_density(deviations, log_scales, bound, shape, degrees, scale):  # type: ignore[no-untyped-def]
    """Log density of the free numbers given the slopes' deviations from the centre.

    `deviations` float64 (cluster, slope), `log_scales` (slope,), `bound` (pair of slopes,).
    """
    size = log_scales.size
    factor = correlation_factor(bound, size)
    solved, heights = np.empty(deviations.shape), np.empty(size)
    prior = shape, degrees, scale
    return _height_from(deviations, log_scales, bound, prior, 0, factor, solved, heights)


@compiled
def _row_of(number, size):  # type: ignore[no-untyped-def]
    """Find the row of a free number: scales come first, then correlations row by row."""
    if number < size:
        return number
    row = 1
    while row * (row + 1) // 2 <= number - size:
        row += 1
    return row


@compiled
def move_covariance(generator, deviations, log_scales, bound, shape, degrees, scale):  # type: ignore[no-untyped-def]
    """Move the free numbers one after another, each by a slice; writes over them.

    The arrays are those of `log_density`.
    """
    size = log_scales.size
    factor = correlation_factor(bound, size)
    solved, heights = np.empty(deviations.shape), np.empty(size)
    prior = shape, degrees, scale
    n_free = size + bound.size
    height = _height_from(deviations, log_scales, bound, prior, 0, factor, solved, heights)
    turn = 0 if n_free <= MOST_MOVES else int(generator.random() * n_free)
    for move in range(turn, turn + min(n_free, MOST_MOVES)):
        number = move % n_free
        row = _row_of(number, size)
        values, index = (log_scales, number) if number < size else (bound, number - size)
        here = values[index]
        level = height + np.log(1.0 - generator.random())
        left = here - WIDTH * generator.random()
        right = left + WIDTH
        to_left = int(MOST_STEPS * generator.random())
        to_right = MOST_STEPS - 1 - to_left
        for direction in range(2):
            steps = to_left if direction == 0 else to_right
            while steps > 0:
                values[index] = left if direction == 0 else right
                there = _height_from(
                    deviations, log_scales, bound, prior, row, factor, solved, heights
                )
                if there <= level:
                    break
                if direction == 0:
                    left -= WIDTH
                else:
                    right += WIDTH
                steps -= 1
        while True:
            drawn = left + (right - left) * generator.random()
            values[index] = drawn
            height = _height_from(
                deviations, log_scales, bound, prior, row, factor, solved, heights
            )
            if height > level or drawn == here:
                break
            if drawn < here:
                left = drawn
            else:
                right = drawn
