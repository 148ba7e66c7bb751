"""Pairs of clusters split and merge, log rates and clusters of cells integrated out.

A try keeps a pair's weight and its mean effects, and proposes how the weight is shared and how far
the two lie apart: the share from the cube of a uniform number, so that small clusters are often
met; the distance by a step that would leave a normal distribution of FAR times the prior's width as
it is. Which two clusters are tried does not depend on where they lie, so that a try and its reverse
are proposed alike.

Tries are many and few succeed, so they are made by the coarse table, one after another, and what
they come to is accepted or rejected as a whole by the exact likelihood (Liu 2001, section 9.4.3).
That is exact: tries by the table leave the table's posterior as it is and are as likely backwards
as forwards, and so is any number of them in a row. A try itself is refused early (Christen and Fox
2005): it passes with the product of min(1, ratio) of the prior and some patterns, and of all other
patterns; each ratio turns upside down when the try is reversed.

Kernels share these arguments: `generator` (Generator), `problem` (Problem), `forces` (ForceTable),
`clusters` (Clusters), `columns` (Columns), `column` float64 (pair,), `weights` float64 (cluster,),
`concentration` float, `by_sticks` bool; of patterns, the `first` and `every` so-many-th; the ints
`n_clusters` and `n_tries`.

References
----------
Christen, J. A. and Fox, C. (2005), "Markov chain Monte Carlo using an approximation", Journal of
Computational and Graphical Statistics 14, doi:10.1198/106186005X76983.
Liu, J. S. (2001), "Monte Carlo Strategies in Scientific Computing", Springer,
doi:10.1007/978-0-387-76371-2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.areal.gradient_table import ForceTable
from understudy.synthesis.areal.problem import Problem

__all__ = ["SMALLEST", "Clusters", "exchange", "log_prior_of_weights"]

SMALLEST = 1e-290  # weight of a cluster, or scaled probability of a pair
FAR = 1.3  # how far apart two clusters are proposed, in standard deviations of their prior
KEPT = (0.0, 0.6, 0.9, 0.98)  # how much of their distance such a proposal keeps
EVERY = 8  # of so many patterns one is looked at first


class Clusters(NamedTuple):
    """What exchanges change, and what they do not."""

    free: NDArray[np.float64]  # (cluster, effect) effects are centre + root free
    weights: NDArray[np.float64]  # (cluster,)
    centre: NDArray[np.float64]  # (effect,)
    root: NDArray[np.float64]  # (effect, effect) lower triangular
    concentration: float
    by_sticks: bool


class Columns(NamedTuple):
    """Probabilities of all pairs by the coarse table, as parts of the best that any mean gives."""

    of_cluster: NDArray[np.float64]  # (cluster, pair)
    mass: NDArray[np.float64]  # (pair,) all clusters together, by their weights
    proposed: NDArray[np.float64]  # (side, pair) of the two clusters that are tried
    effects: NDArray[np.float64]  # (side, effect) and their standardized effects


@compiled
def log_prior_of_weights(weights, concentration, by_sticks):  # type: ignore[no-untyped-def]
    """Log density of the weights, as points of the simplex, up to a constant."""
    n_clusters = weights.size
    total = 0.0
    if by_sticks:
        total += (concentration - 1.0) * np.log(weights[n_clusters - 1])
        rest = weights[n_clusters - 1]
        for cluster in range(n_clusters - 2, 0, -1):
            rest += weights[cluster]
            total -= np.log(rest)
        return total
    for cluster in range(n_clusters):
        total += (concentration / n_clusters - 1.0) * np.log(weights[cluster])
    return total


@compiled
def _fill_patterns(problem, forces, clusters, free, first, every, column):  # type: ignore[no-untyped-def]
    """Fill the probabilities (pair,) of a cluster with effects `free` (effect,) in some patterns.

    These are `first` and every so-many-th after it; a cubic polynomial between the table's means,
    the parabola at its end beyond them.
    """
    last = forces.means.size - 1
    per_unit = 1.0 / (forces.means[1] - forces.means[0])
    table = forces.table
    effect = np.empty(free.size)
    for row in range(free.size):
        effect[row] = clusters.centre[row]
        for inner in range(row + 1):
            effect[row] += clusters.root[row, inner] * free[inner]
    for pattern in range(first, problem.design.shape[0], every):
        mean = 0.0
        for number in range(effect.size):
            mean += problem.design[pattern, number] * effect[number]
        inside = min(max(mean, forces.means[0]), forces.means[last])
        node = min(int((inside - forces.means[0]) * per_unit), last - 1)
        t = (inside - forces.means[node]) * per_unit
        beyond = mean - inside
        rest = (1.0 - t) * (1.0 - t)
        for pair in range(problem.pair_start[pattern], problem.pair_start[pattern + 1]):
            index = problem.pair_index[pair]
            left, right = table[index, node, 0], table[index, node + 1, 0]
            left_slope, right_slope = table[index, node, 1], table[index, node + 1, 1]
            log_p = rest * ((1.0 + 2.0 * t) * left + t / per_unit * left_slope)
            log_p += t * t * ((3.0 - 2.0 * t) * right + (t - 1.0) / per_unit * right_slope)
            if beyond != 0.0:
                end = node + 1 if beyond > 0.0 else node
                log_p += beyond * (table[index, end, 1] + 0.5 * beyond * table[index, end, 2])
            column[pair] = np.exp(log_p - forces.best[index])


@compiled
def _add_up(clusters, columns):  # type: ignore[no-untyped-def]
    """Fill the probability of every pair from weights and columns."""
    columns.mass[:] = SMALLEST
    for cluster in range(clusters.weights.size):
        for pair in range(columns.mass.size):
            columns.mass[pair] += clusters.weights[cluster] * columns.of_cluster[cluster, pair]


@compiled
def _fill_columns(problem, forces, clusters, columns):  # type: ignore[no-untyped-def]
    """Fill the columns of all clusters, and their sum."""
    for cluster in range(clusters.weights.size):
        free, column = clusters.free[cluster], columns.of_cluster[cluster]
        _fill_patterns(problem, forces, clusters, free, 0, 1, column)
    _add_up(clusters, columns)


@compiled
def _draw_cluster(generator, n_clusters):  # type: ignore[no-untyped-def]
    """Draw a cluster, those in front more often: sticks keep the heavy ones there."""
    return min(int((n_clusters + 1) ** generator.random()), n_clusters) - 1


@compiled
def _propose(generator, left, right, share, new):  # type: ignore[no-untyped-def]
    """Propose how two clusters share their weight, and how far they lie apart.

    `left` and `right` are their standardized effects (effect,), `share` the part of their weight
    that the right one has. Keeps the mean of the effects, weighted by the shares; fills `new` (2,
    effect). Gives the new share, and the log ratio of the prior of the effects over the proposal's.
    """
    new_share = share if generator.random() < 0.5 else generator.random() ** 3
    keep = KEPT[int(generator.random() * len(KEPT))]
    lose = FAR * np.sqrt(1.0 - keep * keep)
    log_ratio = 0.0
    for number in range(left.size):
        apart = right[number] - left[number]
        middle = left[number] + share * apart
        moved = keep * apart + lose * generator.standard_normal()
        new[0, number] = middle - new_share * moved
        new[1, number] = middle + (1.0 - new_share) * moved
        log_ratio += 0.5 * (moved * moved - apart * apart) / (FAR * FAR)
        log_ratio += 0.5 * (left[number] ** 2 + right[number] ** 2)
        log_ratio -= 0.5 * (new[0, number] ** 2 + new[1, number] ** 2)
    return new_share, log_ratio


@compiled
def _gain(problem, forces, clusters, columns, tried, old, first, every):  # type: ignore[no-untyped-def]
    """Log ratio of the likelihood of some patterns, after a try over before, by the coarse table.

    `tried` are the two clusters, whose weights are the new ones already; `old` their weights
    before.
    """
    for side in range(2):
        free, column = columns.effects[side], columns.proposed[side]
        _fill_patterns(problem, forces, clusters, free, first, every, column)
    cluster, partner = tried
    gain = 0.0
    for pattern in range(first, problem.design.shape[0], every):
        for pair in range(problem.pair_start[pattern], problem.pair_start[pattern + 1]):
            there = columns.mass[pair] - old[0] * columns.of_cluster[cluster, pair]
            there = max(there - old[1] * columns.of_cluster[partner, pair], SMALLEST)
            there += clusters.weights[cluster] * columns.proposed[0, pair]
            there += clusters.weights[partner] * columns.proposed[1, pair]
            gain += problem.pair_size[pair] * np.log(there / columns.mass[pair])
    return gain


@compiled
def _try_exchanges(generator, problem, forces, clusters, columns, n_tries):  # type: ignore[no-untyped-def]
    """Try exchanges by the coarse table; writes over `free` and `weights`.

    Gives how many passed, and the log ratio of the table's likelihoods, after over before.
    """
    weights = clusters.weights
    n_passed, total = 0, 0.0
    for _ in range(n_tries):
        cluster = _draw_cluster(generator, weights.size)
        partner = _draw_cluster(generator, weights.size)
        if cluster == partner:
            continue
        old = weights[cluster], weights[partner]
        both = old[0] + old[1]
        share = old[1] / both
        new_share, log_ratio = _propose(
            generator, clusters.free[cluster], clusters.free[partner], share, columns.effects
        )
        if min(1.0 - new_share, new_share) * both < SMALLEST:
            continue
        # 1. prior of the weights, densities of the cubes, and the patterns looked at first
        log_ratio -= log_prior_of_weights(weights, clusters.concentration, clusters.by_sticks)
        weights[cluster], weights[partner] = (1.0 - new_share) * both, new_share * both
        log_ratio += log_prior_of_weights(weights, clusters.concentration, clusters.by_sticks)
        if new_share != share:
            log_ratio += (2.0 / 3.0) * (np.log(new_share) - np.log(share))
        gain = _gain(problem, forces, clusters, columns, (cluster, partner), old, 0, EVERY)
        passed = np.log(1.0 - generator.random()) < log_ratio + gain
        # 2. all others
        if passed:
            rest = 0.0
            for first in range(1, min(EVERY, problem.design.shape[0])):
                rest += _gain(
                    problem, forces, clusters, columns, (cluster, partner), old, first, EVERY
                )
            passed = np.log(1.0 - generator.random()) < rest
            gain += rest
        if passed:
            n_passed += 1
            total += gain
            clusters.free[cluster], clusters.free[partner] = columns.effects
            columns.of_cluster[cluster], columns.of_cluster[partner] = columns.proposed
            _add_up(clusters, columns)
        else:
            weights[cluster], weights[partner] = old
    return n_passed, total


def exchange(
    generator: np.random.Generator,
    problem: Problem,
    forces: ForceTable,
    clusters: Clusters,
    likelihood: Callable[[Clusters], float],
    n_tries: int,
) -> int:
    """Let pairs of clusters split and merge; writes over `free` and `weights` of the clusters.

    `forces` is turned to the log rate precision; `likelihood` gives the exact log-likelihood of the
    table. Gives how many tries were accepted.
    """
    n_clusters, n_effects = clusters.free.shape
    n_pairs = problem.pair_count.size
    columns = Columns(
        of_cluster=np.empty((n_clusters, n_pairs)),
        mass=np.empty(n_pairs),
        proposed=np.empty((2, n_pairs)),
        effects=np.empty((2, n_effects)),
    )
    _fill_columns(problem, forces, clusters, columns)
    before = clusters._replace(free=clusters.free.copy(), weights=clusters.weights.copy())
    n_passed, gain = _try_exchanges(generator, problem, forces, clusters, columns, n_tries)
    if n_passed == 0:
        return 0
    exact = likelihood(clusters) - likelihood(before)
    if np.log(1.0 - generator.random()) < exact - gain:
        return int(n_passed)
    clusters.free[:], clusters.weights[:] = before.free, before.weights
    return 0
