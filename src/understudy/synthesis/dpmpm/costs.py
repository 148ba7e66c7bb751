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

__all__ = ["blocked_pays", "enough_classes", "sweep_seconds"]

BLOCKED_SWEEPS = 2.5  # that are worth a collapsed one, by effective draws


def enough_classes(n_records: int) -> int:
    """Say how many classes the blocked sampler should have: 41 at 6,208 records, 221 at a million.

    About 10 are in use at 6,208 records and 45 at 60,000, but chains come down from more.
    """
    return math.ceil(40.0 * math.cbrt(n_records / 6000.0))


def sweep_seconds(
    sampler: Literal["collapsed", "blocked"],
    counts: NDArray[np.integer[Any]],
    n_levels: int,
    n_classes: int,
) -> float:
    """Estimate what a sweep costs.

    Parameters
    ----------
    sampler : {"collapsed", "blocked"}
        Which sampler.
    counts : int (combination,)
        Records of each combination.
    n_levels : int
        Levels of all variables together.
    n_classes : int
        Classes of the blocked sampler, of which about a quarter is in use.
    """
    if sampler == "collapsed":
        return 5e-9 * n_classes * float(counts.sum())
    return 6e-8 * n_classes * n_levels + 3e-8 * float(np.minimum(counts, n_classes).sum())


def blocked_pays(counts: NDArray[np.integer[Any]], n_levels: int, n_classes: int) -> bool:
    """Tell whether the blocked sampler gives more effective draws a second."""
    collapsed, blocked = (
        sweep_seconds(sampler, counts, n_levels, n_classes) for sampler in ("collapsed", "blocked")
    )
    return collapsed > BLOCKED_SWEEPS * blocked
