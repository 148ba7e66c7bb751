"""Strengths of level priors that are sampled with everything else.

In every class the level probabilities of a variable with G levels are Dirichlet(a, ..., a). The
strength a is worth G a records per class: at a = 1 a class needs as many records as the variable
has levels before it predicts better than none, so classes form late and chains end apart. Where the
strength is sampled, log a is Normal(mean, sd), cut off at +-`LIMIT`, and a is drawn given the
classes, level probabilities integrated out:

    log p(log a | classes) = sum_k [ lG(G a) - lG(G a + n_k) + sum_l ( lG(n_kl + a) - lG(a) ) ]
                             - (log a - mean)^2 / (2 sd^2) + constant,

lG the logarithm of the gamma function, k over the classes that have a record. So both samplers draw
it right after the classes; the blocked one draws the level probabilities afterwards, given the new
strength, which makes the two a joint draw.

One draw takes several evaluations (slice sampling), so the counts are tabulated first: since
lG(n + a) - lG(a) = sum of log(a + j) over j < n, it is enough to know for every j how many cells
(class, level) have more than j records. Weighted counts are no whole numbers, so their gamma
functions are worked out.

Arguments: `class_size` int64 (class,), `level_count` int64 (class, level), the float `log_strength`
and the int `n_levels`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import lgamma
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.dpmpm.problem import Problem, model_levels
from understudy.synthesis.slice_sampling import slice_draw

__all__ = [
    "LIMIT",
    "Tabulated",
    "draw_strengths",
    "log_density",
    "tabulate",
    "weighted_log_density",
]

LIMIT = 30.0  # of the log strength, to both sides
LARGE = 512  # records of a cell beyond which its gamma functions are worked out
WIDTH = 0.5  # about how wide slices of the log strength are


class Tabulated(NamedTuple):
    """Counts of one variable, as the density of its strength needs them."""

    class_size: NDArray[np.int64]  # (occupied class,)
    n_above: NDArray[np.int64]  # (number,) cells with more than that many records
    large: NDArray[np.int64]  # (large cell,) records of cells with more than `LARGE`
    n_levels: int


@compiled
def tabulate(class_size, level_count):  # type: ignore[no-untyped-def]
    """Tabulate class sizes int64 (class,) and level counts of a variable int64 (class, level)."""
    n_classes, n_levels = level_count.shape
    n_occupied = largest = 0
    occupied = np.empty(n_classes, dtype=np.int64)  # (occupied class,)
    for k in range(n_classes):
        if class_size[k] > 0:
            occupied[n_occupied] = class_size[k]
            n_occupied += 1
        for level in range(n_levels):
            largest = max(largest, min(level_count[k, level], LARGE))
    n_above = np.zeros(largest + 1, dtype=np.int64)  # (number,)
    n_large = 0
    for k in range(n_classes):
        for level in range(n_levels):
            count = level_count[k, level]
            if count > 0:
                n_above[min(count, LARGE) - 1] += 1
                n_large += count > LARGE
    for number in range(largest - 1, -1, -1):
        n_above[number] += n_above[number + 1]
    large = np.empty(n_large, dtype=np.int64)  # (large cell,)
    if n_large > 0:
        for k in range(n_classes):
            for level in range(n_levels):
                if level_count[k, level] > LARGE:
                    n_large -= 1
                    large[n_large] = level_count[k, level]
    return Tabulated(occupied[:n_occupied], n_above[:largest], large, n_levels)


@compiled
def log_density(tabulated, mean, sd, log_strength):  # type: ignore[no-untyped-def]
    """Log density of the log strength given the classes, up to a constant."""
    if abs(log_strength) > LIMIT:
        return -np.inf
    strength = np.exp(log_strength)
    total = -0.5 * ((log_strength - mean) / sd) ** 2
    whole = tabulated.n_levels * strength
    total += tabulated.class_size.size * lgamma(whole)
    for k in range(tabulated.class_size.size):
        total -= lgamma(whole + tabulated.class_size[k])
    for number in range(tabulated.n_above.size):
        total += tabulated.n_above[number] * np.log(strength + number)
    for cell in range(tabulated.large.size):
        total += lgamma(strength + tabulated.large[cell]) - lgamma(strength + LARGE)
    return total


@compiled
def weighted_log_density(masses, counts, n_levels, mean, sd, log_strength):  # type: ignore[no-untyped-def]
    """Give the same for weighted counts above zero: masses (class,), counts (class and level,)."""
    if abs(log_strength) > LIMIT:
        return -np.inf
    strength = np.exp(log_strength)
    total = -0.5 * ((log_strength - mean) / sd) ** 2
    whole = n_levels * strength
    for k in range(masses.size):
        total += lgamma(whole) - lgamma(whole + masses[k])
    for cell in range(counts.size):
        total += lgamma(strength + counts[cell]) - lgamma(strength)
    return total


def _density_of(counts: NDArray[Any], mean: float, sd: float) -> Callable[[float], float]:
    """Make the log density of a variable's log strength, given counts (class, level)."""
    masses = counts.sum(axis=1)  # (class,) records with a hole tell nothing
    if counts.dtype.kind == "i":
        return partial(log_density, tabulate(masses, counts), mean, sd)
    above = counts[counts > 0.0]  # (class and level,)
    return partial(weighted_log_density, masses, above, counts.shape[1], mean, sd)


def draw_strengths(
    generator: np.random.Generator,
    problem: Problem,
    strengths: NDArray[np.float64],
    level_count: NDArray[Any],
) -> NDArray[np.float64]:
    """Draw the strengths of all sampled variables, (sampled variable,), given the classes.

    `level_count` are records of each class with each level, (class, level), or their weights.
    Nothing is drawn where no variable is sampled.
    """
    drawn = np.empty_like(strengths)  # (sampled variable,)
    mean, sd = problem.strength_prior
    for number, variable in enumerate(problem.sampled):
        first, last = model_levels(problem, variable)
        density = _density_of(level_count[:, first:last], mean, sd)
        drawn[number] = np.exp(
            slice_draw(generator, density, float(np.log(strengths[number])), WIDTH)[0]
        )
    return drawn
