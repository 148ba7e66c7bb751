"""What sweeps of the DPMPM cost, by the size of the data: which sampler, and how many classes.

Costs are processor seconds on an ordinary machine, about, and never measured while a fit runs: the
same data have the same sampler, classes and limit everywhere, so the same seed has the same draws.
A collapsed sweep weighs the classes in use for every record. A blocked one draws the level
probabilities of all classes, and of every combination the classes of its records together.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["blocked_pays", "count_products", "cutting_pays", "enough_classes", "sweep_seconds"]

SAMPLED_SWEEPS = 5.0  # that are worth a collapsed one, by effective draws: sampled level priors
GIVEN_SWEEPS = 1.0  # the same for given ones
WEAK_PRIOR, MORE_CLASSES = 0.3, 2.5  # prior counts below it fill so many times as many classes
WEIGHING = 1.5e-9  # seconds of a product, for each class in use
ROUND_SECONDS = 0.03  # of a sweep on workers, beside what is computed and what travels
SECONDS_PER_BYTE = 4e-8  # of what travels through the scheduler


def enough_classes(n_records: int, weakest: float = 1.0) -> int:
    """Say how many classes the blocked sampler should have: 41 at 6,208 records, 221 at a million.

    About 10 are in use at 6,208 records and 45 at 60,000, but chains come down from more. Where the
    weakest prior count that is given lies below `WEAK_PRIOR`, `MORE_CLASSES`: 60 are in use at 0.05
    and 6,208 records.
    """
    more = MORE_CLASSES if weakest < WEAK_PRIOR else 1.0
    return math.ceil(more * 40.0 * math.cbrt(n_records / 6000.0))


def count_products(levels: NDArray[np.integer[Any]]) -> int:
    """Count the products that a class in use takes part in, by levels (combination, variable).

    One for every combination, and those of all variables but the last where they differ from the
    combination's before.
    """
    new = np.any(levels[1:, :-1] != levels[:-1, :-1], axis=1)  # (combination but the first,)
    return int(len(levels) + (levels.shape[1] - 1) * (1 + new.sum()))


def sweep_seconds(
    sampler: Literal["collapsed", "blocked"],
    counts: NDArray[np.integer[Any]],
    n_levels: int,
    n_classes: int,
    device: Literal["cpu", "gpu"] = "cpu",
    products: int = 0,
) -> float:
    """Estimate what a sweep costs.

    Counts are the records of each combination, products those of `count_products`; of the blocked
    sampler's classes about a quarter is in use. A GPU takes as long as one of its slices does.
    """
    if sampler == "collapsed":
        return 5e-9 * n_classes * float(counts.sum())
    if device == "gpu":
        return (6e-8 * n_levels + 2.5e-4) * n_classes
    drawing = 3e-8 * n_classes * n_levels + 1.5e-8 * float(np.minimum(counts, n_classes).sum())
    return drawing + WEIGHING * products * n_classes / 4


def blocked_pays(
    counts: NDArray[np.integer[Any]], n_levels: int, n_classes: int, *, sampled: bool
) -> bool:
    """Tell whether the blocked sampler gives more effective draws a second.

    That depends on whether level priors are `sampled`: strengths and classes then hold each other
    up, and a blocked sweep is worth less. docs/research/auto-sampler.csv has what was measured.
    """
    collapsed, blocked = (
        sweep_seconds(sampler, counts, n_levels, n_classes) for sampler in ("collapsed", "blocked")
    )
    return collapsed > (SAMPLED_SWEEPS if sampled else GIVEN_SWEEPS) * blocked


def cutting_pays(
    counts: NDArray[np.integer[Any]],
    products: int,
    n_levels: int,
    n_classes: int,
    chains: int,
    workers: int,
) -> bool:
    """Tell whether workers that share every blocked sweep are faster than workers with chains.

    Level probabilities are drawn here and go through one scheduler, where the chains wait for each
    other; what is drawn for combinations is shared by all workers.
    """
    levels = sweep_seconds("blocked", counts[:0], n_levels, n_classes)
    combinations = sweep_seconds("blocked", counts, 0, n_classes, products=products)
    travel = ROUND_SECONDS + 12 * SECONDS_PER_BYTE * n_levels * n_classes  # there 8, back 4 bytes
    together = chains * (levels + travel + combinations / max(1, workers))
    return together < math.ceil(chains / max(1, workers)) * (levels + combinations)
