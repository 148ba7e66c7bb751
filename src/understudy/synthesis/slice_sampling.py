"""Slice sampling of one number: no step size to tune, no rejection (Neal 2003).

References
----------
Neal, R. M. (2003), "Slice sampling", Annals of Statistics 31, doi:10.1214/aos/1056562461.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log

import numpy as np

__all__ = ["slice_draw"]

MOST_STEPS = 30  # of stepping out, to both sides together


def slice_draw(
    generator: np.random.Generator,
    log_density: Callable[[float], float],
    here: float,
    width: float,
    height: float | None = None,
) -> tuple[float, float]:
    """Draw a number that leaves a density as it is; give it with its log density.

    The log density, up to a constant, has `height` at the present number, `here`, where that is
    known. Slices are about `width` wide.
    """
    level = (log_density(here) if height is None else height) + log(1.0 - generator.random())
    left = here - width * generator.random()
    right = left + width
    to_left = int(MOST_STEPS * generator.random())
    to_right = MOST_STEPS - 1 - to_left
    while to_left > 0 and log_density(left) > level:
        left -= width
        to_left -= 1
    while to_right > 0 and log_density(right) > level:
        right += width
        to_right -= 1
    while True:
        drawn = left + (right - left) * generator.random()
        height_drawn = log_density(drawn)
        if height_drawn > level or left == right:
            return drawn, height_drawn
        if drawn < here:
            left = drawn
        else:
            right = drawn
