"""Effects of the clusters and their centre: Gaussian draws given log rates, or given each other.

Cluster k has the effects (mu + theta_k, phi_k): an intercept, and one slope per regressor. Only the
sum of mu and theta_k is identified, so the sum is what is kept, and mu is its centre: drawing mu
given the sums is the move that shifts mu against all theta_k at once.

Kernels share these arguments, arrays of float64: `design` (pattern, effect), `effects` (cluster,
effect), `precision` and `matrix` (effect, effect), `moment`, `vector` and `drawn` (effect,),
`centre` (effect,), `on_means` (cluster, pattern), `occupied` bool (cluster,), `generator`
(Generator).
"""

from __future__ import annotations

import numpy as np

from understudy.compiling import compiled

__all__ = ["cluster_means", "draw_centre", "draw_effects", "effect_slopes"]


@compiled
def _factor(matrix):  # type: ignore[no-untyped-def]
    """Write the lower Cholesky factor over a symmetric matrix; the upper half is left as it is."""
    for row in range(matrix.shape[0]):
        for column in range(row + 1):
            rest = matrix[row, column]
            for inner in range(column):
                rest -= matrix[row, inner] * matrix[column, inner]
            if row == column:
                matrix[row, row] = np.sqrt(rest)
            else:
                matrix[row, column] = rest / matrix[column, column]


@compiled
def _draw_given_precision(generator, precision, moment, drawn):  # type: ignore[no-untyped-def]
    """Draw from Normal(P^-1 moment, P^-1); writes over the precision P and the moment."""
    size = moment.size
    _factor(precision)
    for row in range(size):
        rest = moment[row]
        for inner in range(row):
            rest -= precision[row, inner] * moment[inner]
        moment[row] = rest / precision[row, row]
    for row in range(size):
        moment[row] += generator.standard_normal()
    for row in range(size - 1, -1, -1):
        rest = moment[row]
        for inner in range(row + 1, size):
            rest -= precision[inner, row] * drawn[inner]
        drawn[row] = rest / precision[row, row]


@compiled
def _times(matrix, vector):  # type: ignore[no-untyped-def]
    """Multiply, in an order that no library chooses."""
    product = np.zeros(matrix.shape[0])
    for row in range(matrix.shape[0]):
        for column in range(vector.size):
            product[row] += matrix[row, column] * vector[column]
    return product


@compiled
def cluster_means(design, effects):  # type: ignore[no-untyped-def]
    """Mean log rate of every pattern in every cluster: (cluster, pattern)."""
    means = np.empty((effects.shape[0], design.shape[0]))  # (cluster, pattern)
    for cluster in range(effects.shape[0]):
        for pattern in range(design.shape[0]):
            mean = 0.0
            for effect in range(design.shape[1]):
                mean += design[pattern, effect] * effects[cluster, effect]
            means[cluster, pattern] = mean
    return means


@compiled
def effect_slopes(design, on_means):  # type: ignore[no-untyped-def]
    """Slopes in the effects (cluster, effect), given slopes in the means (cluster, pattern)."""
    slopes = np.zeros((on_means.shape[0], design.shape[1]))  # (cluster, effect)
    for cluster in range(on_means.shape[0]):
        for pattern in range(design.shape[0]):
            for effect in range(design.shape[1]):
                slopes[cluster, effect] += design[pattern, effect] * on_means[cluster, pattern]
    return slopes


@compiled
def draw_effects(generator, design, sizes, sums, precision, centre, prior, effects):  # type: ignore[no-untyped-def]
    """Draw the effects of every cluster given its cells' log rates; an empty one from the prior.

    `sizes` and `sums` of log rates are (cluster, pattern), `prior` is the precision of the effects
    (effect, effect) and `centre` their mean.
    """
    n_effects = centre.size
    matrix = np.empty((n_effects, n_effects))
    moment = np.empty(n_effects)
    prior_moment = _times(prior, centre)
    for cluster in range(effects.shape[0]):
        matrix[:] = prior
        moment[:] = prior_moment
        for pattern in range(design.shape[0]):
            if sizes[cluster, pattern] == 0:
                continue
            for row in range(n_effects):
                if design[pattern, row] == 0.0:
                    continue
                moment[row] += precision * sums[cluster, pattern] * design[pattern, row]
                weight = precision * sizes[cluster, pattern] * design[pattern, row]
                for column in range(row + 1):
                    matrix[row, column] += weight * design[pattern, column]
        _draw_given_precision(generator, matrix, moment, effects[cluster])


@compiled
def draw_centre(generator, effects, occupied, prior, centre_precision, centre):  # type: ignore[no-untyped-def]
    """Draw the centre (effect,) given the effects of the occupied clusters.

    `centre_precision` (effect,) is the precision of its own prior, around zero.
    """
    n_effects = centre.size
    matrix = np.zeros((n_effects, n_effects))
    total = np.zeros(n_effects)
    for cluster in range(effects.shape[0]):
        if occupied[cluster]:
            matrix += prior
            total += effects[cluster]
    moment = _times(prior, total)
    for effect in range(n_effects):
        matrix[effect, effect] += centre_precision[effect]
    _draw_given_precision(generator, matrix, moment, centre)
