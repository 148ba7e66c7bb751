"""Slow, obvious twins of the DP-areal model: every density from its definition."""

from __future__ import annotations

from math import exp, lgamma, log, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad

Floats = NDArray[np.float64]


def log_integrand(y: float, count: int, mean: float, precision: float) -> float:
    """Log of Poisson(count; e^y) Normal(y; mean, 1 / precision)."""
    poisson = count * y - exp(y) - lgamma(count + 1.0)
    return poisson - 0.5 * precision * (y - mean) ** 2 + 0.5 * log(precision / (2.0 * pi))


def highest(count: int, mean: float, precision: float) -> float:
    """Find where the integrand is largest, by halving."""
    low, high = min(mean, -60.0) - 60.0, max(mean, 0.0) + count / precision + 60.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if count - exp(min(middle, 700.0)) - precision * (middle - mean) > 0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def log_poisson_lognormal(count: int, mean: float, precision: float) -> float:
    """Log probability of a count, by adaptive integration on both sides of the mode."""
    mode = highest(count, mean, precision)
    top = log_integrand(mode, count, mean, precision)
    far = 13.0 / sqrt(precision)
    narrow = 13.0 / sqrt(precision + exp(mode))

    def relative(y: float) -> float:
        return exp(log_integrand(y, count, mean, precision) - top)

    left = [
        quad(relative, a, b, epsabs=0, epsrel=1e-13, limit=400)[0]
        for a, b in ((mode - far, mode - narrow), (mode - narrow, mode))
    ]
    right = quad(relative, mode, mode + narrow, epsabs=0, epsrel=1e-13, limit=400)[0]
    return top + log(sum(left) + right)


def log_sticks(weights: Floats, concentration: float) -> float:
    """Log density of the sticks behind weights: V_k from Beta(1, concentration)."""
    rest = 1.0
    total = 0.0
    for weight in weights[:-1]:
        stick = weight / rest
        total += log(concentration) + (concentration - 1.0) * log(1.0 - stick)
        rest -= weight
    return total


def correlation(bound: Floats, size: int) -> Floats:
    """Correlation matrix from the free numbers behind it, by partial correlations."""
    factor = np.zeros((size, size))
    index = 0
    for row in range(size):
        rest = 1.0
        for column in range(row):
            partial = np.tanh(bound[index])
            factor[row, column] = partial * sqrt(rest)
            rest *= 1.0 - partial**2
            index += 1
        factor[row, row] = sqrt(rest)
    return factor @ factor.T


def log_covariance_prior(
    log_scales: Floats, bound: Floats, shape: float, degrees: float, scale: float
) -> float:
    """Log density of the free numbers: LKJ and half-t, with the change of variables done by hand.

    The derivative of the correlations below the diagonal in the free numbers is taken numerically.
    """
    size = log_scales.size
    below = np.tril_indices(size, -1)
    total = (shape - 1.0) * np.linalg.slogdet(correlation(bound, size))[1]
    change = np.empty((bound.size, bound.size))
    for number in range(bound.size):
        step = np.zeros(bound.size)
        step[number] = 1e-6
        up, down = correlation(bound + step, size), correlation(bound - step, size)
        change[:, number] = (up - down)[below] / 2e-6
    if bound.size:
        total += np.linalg.slogdet(change)[1]
    scales = np.exp(log_scales)
    total += (-0.5 * (degrees + 1.0) * np.log1p((scales / scale) ** 2 / degrees)).sum()
    return float(total + log_scales.sum())  # the last term: change from scales to their logarithms


def log_normal(value: Floats, mean: Floats, covariance: Floats) -> float:
    """Log density of a multivariate normal distribution, up to powers of 2 pi."""
    apart = value - mean
    inside = float(apart @ np.linalg.solve(covariance, apart))
    return float(-0.5 * inside - 0.5 * np.linalg.slogdet(covariance)[1])


def log_gamma_density(value: float, prior: tuple[float, float]) -> float:
    """Log density of a gamma variable, up to a constant."""
    return (prior[0] - 1.0) * log(value) - prior[1] * value


def effect_covariance(state: Any) -> Floats:
    """Covariance of the effects around their centre."""
    size = state.centre.size
    covariance = np.zeros((size, size))
    covariance[0, 0] = 1.0 / state.intercept_precision
    scales = np.exp(state.log_scales)
    covariance[1:, 1:] = correlation(state.bound, size - 1) * np.outer(scales, scales)
    return covariance


def log_marginal(table: NDArray[np.int64], design: Floats, state: Any) -> float:
    """Log-likelihood of a table (pattern, label), log rates and clusters integrated out."""
    weights = np.exp(state.log_weights)
    total = 0.0
    for pattern, row in enumerate(table):
        means = state.effects @ design[pattern]  # (cluster,)
        for count in row:
            total += log(
                sum(
                    weight * exp(log_poisson_lognormal(int(count), mean, state.log_rate_precision))
                    for weight, mean in zip(weights, means, strict=True)
                )
            )
    return total


def log_powered(count: int, power: float, mean: float, precision: float) -> float:
    """Log of the integral of Poisson(count; e^y)^power Normal(y; mean, 1 / precision)."""
    wide = 14.0 / sqrt(precision)
    grid = np.linspace(mean - wide, mean + wide + count / precision, 200_001)
    poisson = count * grid - np.exp(grid) - lgamma(count + 1.0)
    normal = -0.5 * precision * (grid - mean) ** 2 + 0.5 * log(precision / (2.0 * pi))
    heights = power * poisson + normal
    top = float(heights.max())
    return top + log(float(np.exp(heights - top).sum() * (grid[1] - grid[0])))


def draw_from_prior(
    generator: np.random.Generator, size: int, shape: float, degrees: float, scale: float
) -> tuple[Floats, Floats]:
    """Draw log scales (slope,) and the free numbers behind the correlations from their prior."""
    normal = generator.standard_normal(size)
    spread = generator.gamma(0.5 * degrees, 1.0, size) * 2.0 / degrees
    log_scales = np.log(scale * np.abs(normal)) - 0.5 * np.log(spread)
    columns = [column for row in range(size) for column in range(row)]
    powers = shape + 0.5 * (size - 2.0 - np.array(columns, dtype=np.float64))
    partial = 2.0 * generator.beta(powers, powers) - 1.0 if columns else np.empty(0)
    return log_scales, np.arctanh(partial)
