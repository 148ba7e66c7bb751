"""The blocked sampler's classes drawn on workers: each has some slices of the combinations.

A slice's random numbers are keyed by its number, and its records are counted in whole numbers. So
whoever draws it, and in whatever order counts are added up, the sweep is that of one machine, bit
for bit, and so is the log-likelihood of a kept draw, a sum over slices. Workers keep their
combinations; a sweep sends them weights and level probabilities, and brings back the sum of their
counts, added up among the workers in a tree. What a dead worker had is sent and drawn again, and
nothing else is.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.synthesis.dpmpm.class_counts import (
    SLICE,
    draw_slices,
    n_slices,
    order_by_weight,
    slice_words,
)
from understudy.synthesis.dpmpm.parameters import slice_log_likelihoods
from understudy.synthesis.dpmpm.problem import NO_BOXES, Problem
from understudy.synthesis.workers import Workers

__all__ = ["ClassesOnWorkers"]

ADDED_AT_ONCE = 8  # counts that one worker adds up

Counted = tuple[bool, NDArray[Any]]  # whether all weights vanished, and counts (level, class)


class ClassesOnWorkers:
    """Draws the classes of all records, as `class_counts.draw_classes` does, on workers."""

    def __init__(self, workers: Workers, problem: Problem) -> None:
        slices = n_slices(problem.counts.size)
        n_parts = max(1, min(workers.number, slices))
        self._workers, self._slices, self._n_records = workers, slices, problem.n_records
        self._first_variable = slice(*problem.level_start[:2])
        self._cuts = [slices * part // n_parts for part in range(n_parts + 1)]
        self._parts = [
            workers.share(_part(problem, first, last))
            for first, last in zip(self._cuts[:-1], self._cuts[1:], strict=True)
        ]

    def draw(
        self,
        generator: np.random.Generator,
        log_weights: NDArray[np.float64],
        probabilities: NDArray[np.float64],
        class_size: NDArray[np.int64],
        level_count: NDArray[np.int64],
    ) -> bool:
        """Fill the counts, and tell whether all weights of some combination vanished."""
        words = slice_words(generator, self._slices)
        shared = self._workers.share((log_weights, probabilities, self._n_records))
        counted = [
            self._workers.begin(_drawn, part, words[first:last], shared)
            for part, first, last in zip(self._parts, self._cuts[:-1], self._cuts[1:], strict=True)
        ]
        while len(counted) > 1:
            counted = [
                self._workers.begin(_added, *counted[first : first + ADDED_AT_ONCE])
                for first in range(0, len(counted), ADDED_AT_ONCE)
            ]
        failed, level_count[:] = self._workers.result(counted[0])
        class_size[:] = level_count[self._first_variable].sum(axis=0)
        return bool(failed)

    def log_likelihood(
        self, weights: NDArray[np.float64], probabilities: NDArray[np.float64]
    ) -> float:
        """Log-likelihood of the records, their classes summed out, as `parameters` has it."""
        shared = self._workers.share((weights, probabilities))
        sums = [self._workers.submit(_likelihoods, part, shared) for part in self._parts]
        return math.fsum(chain.from_iterable(map(self._workers.result, sums)))


def _part(problem: Problem, first: int, last: int) -> Problem:
    """Take out what the slices from `first` to `last` need."""
    own = slice(first * SLICE, last * SLICE)
    return problem._replace(
        levels=problem.levels[own], counts=problem.counts[own], impossible=NO_BOXES
    )


def _drawn(
    part: Problem,
    words: NDArray[np.uint64],
    shared: tuple[NDArray[np.float64], NDArray[np.float64], int],
) -> Counted:
    """Draw the classes of a part of the combinations, on a worker; words are (slice, 3)."""
    log_weights, probabilities, n_records = shared
    order = order_by_weight(log_weights, probabilities, n_records)
    class_size = np.empty(log_weights.size, dtype=np.int64)  # (class,)
    level_count = np.empty(probabilities.shape, dtype=np.int64)  # (level, class)
    failed = draw_slices(words, part, 0, len(words), order, probabilities, class_size, level_count)
    return failed, level_count.astype(np.min_scalar_type(n_records))  # fewer bytes travel


def _likelihoods(
    part: Problem, shared: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> list[float]:
    """Give the log-likelihoods of the slices of a part, on a worker."""
    sums: list[float]
    sums = slice_log_likelihoods(part.levels, part.counts, *shared).tolist()
    return sums


def _added(*counted: Counted) -> Counted:
    """Add up counts, on a worker; no sum is larger than the number of records."""
    total = counted[0][1].copy()
    for _, counts in counted[1:]:
        total += counts
    return any(failed for failed, _ in counted), total
