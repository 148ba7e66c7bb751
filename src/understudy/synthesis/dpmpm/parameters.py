"""From a partition to class weights and level probabilities, and to quantities without labels.

Given the classes of all records, the weights of the occupied classes and the weight of everything
that is not occupied are Dirichlet(n_1, .., n_k, concentration), and the level probabilities of an
occupied class are Dirichlet(prior + counts). The unoccupied remainder is itself a Dirichlet
process: its sticks are broken one after another, each new class with level probabilities from the
prior, until less than `REMAINDER` of all mass is left, which goes to the last stick. So a draw of
weights and probabilities is one from the posterior of the exact process, but for that remainder.

Numbers of classes mean nothing, so nothing that is numbered by class is ever diagnosed. What is:

- the log-likelihood  sum_c n_c log sum_k w_k prod_v p_kvl  of the observed records, the classes
  summed out, at the drawn weights and probabilities (the same for both samplers);
- the label probabilities  p(label | pattern)
  = sum_k w_k p_k(pattern) p_k(label) / sum_k w_k p_k(pattern).

Kernels share these arguments: `generator` (Generator), `problem` (Problem), `levels` int32
(combination, variable), `counts` int64 (combination,), `terms` float64 (combination,).
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.dpmpm.class_counts import SLICE

__all__ = [
    "Parameters",
    "draw_parameters",
    "label_probabilities",
    "log_likelihood",
    "slice_log_likelihoods",
]

REMAINDER = 1e-9  # mass of the process that the last stick may take
MOST_STICKS = 500  # sticks broken from the remainder, at most


class Parameters(NamedTuple):
    """Class weights and level probabilities: one draw from their posterior."""

    weights: NDArray[np.float64]  # (class,) they sum to one
    probabilities: NDArray[np.float64]  # (class, level) sum to one in every class and variable


@compiled
def _draw_levels(generator, shapes, level_start, holes, drawn):  # type: ignore[no-untyped-def]
    """Draw one class's level probabilities, Dirichlet(shapes) in every variable; a hole has 1.

    `shapes` is float64 (level,), `level_start` int64 (variable + 1,), `holes` int64 (variable,);
    `drawn` float64 (level,) is filled. Gamma draws with small shapes may all underflow; then they
    are drawn as logarithms, log Gamma(a) = log Gamma(a + 1) + log(U) / a.
    """
    for variable in range(level_start.size - 1):
        first, last = level_start[variable], level_start[variable + 1]
        if holes[variable] >= 0:
            last -= 1
            drawn[last] = 1.0
        total = 0.0
        for level in range(first, last):
            drawn[level] = generator.standard_gamma(shapes[level])
            total += drawn[level]
        if not total > 1e-280:
            largest = -np.inf
            for level in range(first, last):
                drawn[level] = np.log(generator.standard_gamma(shapes[level] + 1.0))
                drawn[level] += np.log1p(-generator.random()) / shapes[level]
                largest = max(largest, drawn[level])
            total = 0.0
            for level in range(first, last):
                drawn[level] = np.exp(drawn[level] - largest)
                total += drawn[level]
        for level in range(first, last):
            drawn[level] /= total


@compiled
def _break_remainder(generator, remainder, concentration):  # type: ignore[no-untyped-def]
    """Break the unoccupied mass into sticks until hardly anything is left."""
    sticks = np.empty(MOST_STICKS)  # (stick,)
    n_sticks = 0
    while n_sticks < MOST_STICKS - 1 and remainder > REMAINDER:
        # 1 - Beta(1, concentration) is a uniform number to the power 1 / concentration
        rest = remainder * (1.0 - generator.random()) ** (1.0 / concentration)
        sticks[n_sticks] = remainder - rest
        remainder = rest
        n_sticks += 1
    sticks[n_sticks] = remainder
    return sticks[: n_sticks + 1]


@compiled
def draw_parameters(generator, problem, class_size, level_count, concentration):  # type: ignore[no-untyped-def]
    """Draw weights and level probabilities given the classes of all records.

    `class_size` is int64 (class,), `level_count` int64 (class, level). Occupied classes come first,
    then the sticks of the remainder.
    """
    n_occupied, total = 0, 0.0
    occupied = np.empty(class_size.size, dtype=np.int64)  # (occupied class,)
    mass = np.empty(class_size.size)  # (occupied class,)
    for k in range(class_size.size):
        if class_size[k] > 0:
            occupied[n_occupied] = k
            mass[n_occupied] = generator.standard_gamma(float(class_size[k]))
            total += mass[n_occupied]
            n_occupied += 1
    unoccupied = generator.standard_gamma(concentration)
    total += unoccupied
    if not total > 0.0:  # nothing is occupied and the one gamma draw underflowed
        total = unoccupied = 1.0
    sticks = _break_remainder(generator, unoccupied / total, concentration)
    weights = np.empty(n_occupied + sticks.size)  # (class,)
    for k in range(n_occupied):
        weights[k] = mass[k] / total
    for stick in range(sticks.size):
        weights[n_occupied + stick] = sticks[stick]
    probabilities = np.empty((weights.size, problem.prior.size))  # (class, level)
    for k in range(weights.size):
        shapes = problem.prior.copy()  # (level,)
        if k < n_occupied:
            for level in range(shapes.size):
                shapes[level] += level_count[occupied[k], level]
        _draw_levels(generator, shapes, problem.level_start, problem.holes, probabilities[k])
    return Parameters(weights, probabilities)


@compiled
def _log_likelihoods(levels, counts, weights, by_level, first, last, terms):  # type: ignore[no-untyped-def]
    """Fill in the log-likelihoods of the combinations from `first` to `last`.

    `by_level` and `terms` are float64 (level, class) and (combination,). The product over all
    variables but the last is mostly that of the combination before.
    """
    before = levels.shape[1] - 1  # variables
    shared = weights.copy()  # (class,)
    for combination in range(first, last):
        row = levels[combination]
        same = combination > first
        for variable in range(before):
            same &= row[variable] == levels[combination - 1, variable]
        if not same:
            for k in range(weights.size):
                shared[k] = weights[k]
            for variable in range(before):
                for k in range(weights.size):
                    shared[k] *= by_level[row[variable], k]
        likelihood = 0.0
        for k in range(weights.size):
            likelihood += shared[k] * by_level[row[before], k]
        terms[combination] = counts[combination] * np.log(likelihood)


@compiled
def _slice_sums(terms, size):  # type: ignore[no-untyped-def]
    """Add up `size` numbers (combination,) after the other: float64 (slice,)."""
    sums = np.zeros((terms.size + size - 1) // size)  # (slice,)
    for combination in range(terms.size):
        sums[combination // size] += terms[combination]
    return sums


def slice_log_likelihoods(
    levels: NDArray[np.int32],
    counts: NDArray[np.int64],
    weights: NDArray[np.float64],
    probabilities: NDArray[np.float64],
    pool: Executor | None = None,
    threads: int = 1,
) -> NDArray[np.float64]:
    """Log-likelihoods of the records of each slice of the combinations, (slice,)."""
    by_level = np.ascontiguousarray(probabilities.T)  # (level, class)
    terms = np.empty(len(levels))  # (combination,)
    cuts = [len(levels) * part // threads for part in range(threads + 1)]
    running = [
        pool.submit(_log_likelihoods, levels, counts, weights, by_level, first, last, terms)
        for first, last in pairwise(cuts[1:])
        if pool is not None
    ]
    own = cuts[1] if pool is not None else len(levels)
    _log_likelihoods(levels, counts, weights, by_level, 0, own, terms)
    for future in running:
        future.result()
    sums: NDArray[np.float64] = _slice_sums(terms, SLICE)
    return sums


def log_likelihood(
    levels: NDArray[np.int32],
    counts: NDArray[np.int64],
    weights: NDArray[np.float64],
    probabilities: NDArray[np.float64],
    pool: Executor | None = None,
    threads: int = 1,
) -> float:
    """Log-likelihood of the observed records, their classes summed out.

    Levels are (combination, variable), counts (combination,), weights (class,), probabilities
    (class, level). A pool has threads beside the calling one, `threads` in all. Sums of slices are
    added as if without rounding: the sum does not depend on who computed them.
    """
    sums = slice_log_likelihoods(levels, counts, weights, probabilities, pool, threads)
    return math.fsum(sums)


def label_probabilities(
    kept_levels: NDArray[np.int64],
    label_levels: NDArray[np.int64],
    cells: NDArray[np.int64],
    weights: NDArray[np.float64],
    probabilities: NDArray[np.float64],
) -> NDArray[np.float32]:
    """Probability of a label given a pattern, for some cells (pattern, label).

    Levels of patterns (pattern, kept variable) and of labels (label, synthesized variable) are
    numbers, cells (cell, 2) patterns and labels, weights (class,), probabilities (class, level).
    """
    by_level = np.ascontiguousarray(probabilities.T)  # (level, class)
    table: NDArray[np.float32] = _label_probabilities(
        kept_levels, label_levels, cells, weights, by_level
    )
    return table


@compiled
def _label_probabilities(kept_levels, label_levels, cells, weights, by_level):  # type: ignore[no-untyped-def]
    """Give the same, from probabilities `by_level` float64 (level, class).

    `kept_levels` int64 (pattern, kept variable) and `label_levels` int64 (label, synthesized
    variable) are numbers of levels, `cells` int64 (cell, 2) patterns and labels, `weights` float64
    (class,).
    """
    n_classes = weights.size
    given = np.empty(n_classes)  # (class,) p(class | pattern)
    last_pattern = -1
    table = np.empty(cells.shape[0], dtype=np.float32)  # (cell,)
    for cell in range(cells.shape[0]):
        pattern, label = cells[cell, 0], cells[cell, 1]
        if pattern != last_pattern:  # cells are mostly pattern by pattern
            last_pattern = pattern
            for k in range(n_classes):
                given[k] = weights[k]
            for variable in range(kept_levels.shape[1]):
                level = kept_levels[pattern, variable]
                for k in range(n_classes):
                    given[k] *= by_level[level, k]
            total = 0.0
            for k in range(n_classes):
                total += given[k]
            for k in range(n_classes):
                given[k] /= total
        total = 0.0
        if label_levels.shape[1] == 1:
            level = label_levels[label, 0]
            for k in range(n_classes):
                total += given[k] * by_level[level, k]
        else:
            for k in range(n_classes):
                product = given[k]
                for variable in range(label_levels.shape[1]):
                    product *= by_level[label_levels[label, variable], k]
                total += product
        table[cell] = total
    return table
