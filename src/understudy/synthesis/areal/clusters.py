"""Clusters of cells: which cells lie where, how the weights follow, and the concentration.

The two variants of the model differ in the prior on the weights. ``text``: sticks, the last of
which takes what is left; their swaps and draws are those of the DPMPM's blocked sampler.
``script``: Dirichlet(concentration / K, ..., concentration / K), to which the order of the clusters
is all the same. The concentration is drawn with the weights integrated out in both.

Kernels share these arguments: `generator` (Generator), `members` int64 (pair, cluster), `log_joint`
float64 (pair, cluster), `sizes` int64 (cluster,), `log_weights` float64 (cluster,), `concentration`
float.
"""

from __future__ import annotations

from math import lgamma

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.dpmpm.blocked import (
    draw_sticks,
    log_prior_of_order,
    swap_neighbours,
)
from understudy.synthesis.slice_sampling import slice_draw

__all__ = [
    "draw_concentration",
    "draw_log_weights",
    "draw_members",
    "log_prior_of_sizes",
    "swapped_order",
]

SMALL = 48  # from so many cells on, binomial draws are cheaper than one draw per cell


@compiled
def draw_members(generator, pair_size, log_joint, members):  # type: ignore[no-untyped-def]
    """Draw how many cells of every pair lie in each cluster: fills int64 (pair, cluster).

    Given pair_size int64 (pair,), and log weights plus log p as float64 (pair, cluster).
    """
    n_pairs, n_clusters = log_joint.shape
    joint = np.empty(n_clusters)  # (cluster,)
    for pair in range(n_pairs):
        highest = log_joint[pair].max()
        total = 0.0
        for cluster in range(n_clusters):
            joint[cluster] = np.exp(log_joint[pair, cluster] - highest)
            total += joint[cluster]
            members[pair, cluster] = 0
        n_free = pair_size[pair]
        if n_free < SMALL:
            for _ in range(n_free):
                rest = generator.random() * total
                cluster = 0
                while cluster < n_clusters - 1 and rest >= joint[cluster]:
                    rest -= joint[cluster]
                    cluster += 1
                members[pair, cluster] += 1
            continue
        for cluster in range(n_clusters):
            if n_free == 0:
                break
            here = n_free
            if cluster < n_clusters - 1:
                here = generator.binomial(n_free, max(0.0, min(1.0, joint[cluster] / total)))
            members[pair, cluster] = here
            n_free -= here
            total = max(total - joint[cluster], 1e-300)


def swapped_order(
    generator: np.random.Generator, sizes: NDArray[np.int64], concentration: float
) -> NDArray[np.int64]:
    """Let neighbouring clusters swap, sticks integrated out; give the new order (position,)."""
    order = np.arange(sizes.size)[None, :]  # (1, position)
    swap_neighbours(generator, sizes.copy(), order, concentration)
    return np.asarray(order[0])


def log_prior_of_sizes(sizes: NDArray[np.int64], concentration: float, by_sticks: bool) -> float:
    """Log probability of the cells' clusters given the concentration, weights integrated out."""
    log_prior = log_prior_of_order if by_sticks else _log_dirichlet_prior
    return float(log_prior(sizes, concentration))


@compiled
def _log_dirichlet_prior(sizes, concentration):  # type: ignore[no-untyped-def]
    """Give the same for weights from a Dirichlet distribution: sizes (cluster,)."""
    n_clusters = sizes.size
    total = 0.0
    share = concentration / n_clusters
    for cluster in range(n_clusters):
        if sizes[cluster] > 0:
            total += lgamma(share + sizes[cluster]) - lgamma(share)
    return total + lgamma(concentration) - lgamma(concentration + sizes.sum())


def draw_concentration(
    generator: np.random.Generator,
    sizes: NDArray[np.int64],
    concentration: float,
    prior: tuple[float, float],
    by_sticks: bool,
) -> float:
    """Draw the concentration given the clusters' sizes, by a slice on its logarithm."""
    shape, rate = prior

    def log_density(log_concentration: float) -> float:
        there = np.exp(log_concentration)
        if not 0.0 < there < 1e300:
            return -np.inf
        log_prior = log_prior_of_sizes(sizes, there, by_sticks)
        return float(log_prior + shape * log_concentration - rate * there)

    return float(np.exp(slice_draw(generator, log_density, np.log(concentration), 1.5)[0]))


@compiled
def _draw_dirichlet(generator, sizes, concentration, log_weights):  # type: ignore[no-untyped-def]
    """Draw log weights from Dirichlet(sizes + concentration / K); small shapes do not underflow."""
    highest = -np.inf
    for cluster in range(sizes.size):
        shape = sizes[cluster] + concentration / sizes.size
        if shape >= 1.0:
            log_weights[cluster] = np.log(generator.standard_gamma(shape))
        else:
            uniform = 1.0 - generator.random()
            log_weights[cluster] = np.log(generator.standard_gamma(shape + 1.0))
            log_weights[cluster] += np.log(uniform) / shape
        highest = max(highest, log_weights[cluster])
    log_weights -= highest + np.log(np.exp(log_weights - highest).sum())


def draw_log_weights(
    generator: np.random.Generator,
    sizes: NDArray[np.int64],
    concentration: float,
    by_sticks: bool,
) -> NDArray[np.float64]:
    """Draw the logarithms of the weights (cluster,) given the clusters' sizes."""
    log_weights = np.empty(sizes.size)  # (cluster,)
    draw = draw_sticks if by_sticks else _draw_dirichlet
    draw(generator, sizes, concentration, log_weights)
    return log_weights
