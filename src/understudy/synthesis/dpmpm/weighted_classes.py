"""Classes of records whose likelihoods have powers of their own: the blocked sampler's first step.

A record of a combination with the weight w joins class k with probability proportional to
weight_k (prod_v p_kvl)^w; a record of the weight 0 joins by the classes' weights alone. All records
of a combination are one multinomial draw. The counts that level probabilities are drawn from are
sums of weights. `class_counts` has the shortcuts that make sweeps without weights fast.

Arguments: `generator` (Generator), `problem` (Problem), `log_weights` float64 (class,),
`log_probabilities` float64 (level, class), `class_size` int64 (class,), `level_count` float64
(level, class), `n_free` int records, `joint` float64 (class,) with sum `total`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.dpmpm.problem import Problem

__all__ = ["draw_weighted_classes"]

SMALL = 16  # from so many records on, binomial draws are cheaper than one draw per record


@compiled
def _draw_combination(generator, n_free, joint, total, drawn):  # type: ignore[no-untyped-def]
    """Draw the classes of a combination's records: fills int64 (class,), given joint (class,)."""
    last = joint.size - 1
    drawn[:] = 0
    if n_free < SMALL:
        for _ in range(n_free):
            share = generator.random() * total
            k = 0
            while k < last and share >= joint[k]:
                share -= joint[k]
                k += 1
            drawn[k] += 1
        return
    for k in range(last):
        if n_free == 0:
            return
        drawn[k] = generator.binomial(n_free, max(0.0, min(1.0, joint[k] / total)))
        n_free -= drawn[k]
        total = max(total - joint[k], 1e-300)
    drawn[last] = n_free


@compiled
def _draw_all(generator, problem, log_weights, log_probabilities, class_size, level_count):  # type: ignore[no-untyped-def]
    """Draw all classes and fill the counts; whether all weights of some combination vanished."""
    n_classes = log_weights.size
    joint = np.empty(n_classes)  # (class,)
    drawn = np.empty(n_classes, dtype=np.int64)  # (class,)
    class_size[:] = 0
    level_count[:] = 0.0
    failed = False
    for combination in range(problem.counts.size):
        row, record_weight = problem.levels[combination], problem.weights[combination]
        joint[:] = 0.0
        if record_weight > 0.0:
            for variable in range(row.size):
                joint += log_probabilities[row[variable]]
            joint *= record_weight
        joint += log_weights
        highest = joint.max()
        if not highest > -np.inf:
            failed = True
            joint[:] = highest = 0.0
        joint[:] = np.exp(joint - highest)
        _draw_combination(generator, problem.counts[combination], joint, joint.sum(), drawn)
        class_size += drawn
        for variable in range(row.size):
            level_count[row[variable]] += record_weight * drawn
    return failed


def draw_weighted_classes(
    generator: np.random.Generator,
    problem: Problem,
    log_weights: NDArray[np.float64],
    probabilities: NDArray[np.float64],
    class_size: NDArray[np.int64],
    level_count: NDArray[Any],
) -> bool:
    """Draw the classes of all records, as `class_counts.draw_classes` does.

    `level_count`, (level, class), is filled with sums of the records' weights.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(probabilities)  # (level, class)
    return bool(_draw_all(generator, problem, log_weights, logs, class_size, level_count))
