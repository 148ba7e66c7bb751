"""Monte-Carlo errors from halves of the draws.

Draws are cut into contiguous blocks, and what is computed from all of them is computed again from
halves, so that autocorrelated draws and chains that disagree count for what they are worth. Row 0
is the whole sample, always; the rows after it are the halves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCKS", "block_sums", "half_sample_error", "half_samples"]

BLOCKS = 10  # of draws

Floats = NDArray[np.float64]


def half_samples() -> Floats:
    """Zeros and ones, (subset, block): row 0 has all blocks of draws, then come ten halves."""
    halves = (np.arange(BLOCKS) - np.arange(BLOCKS)[:, None]) % BLOCKS < BLOCKS // 2
    return np.concatenate([np.ones((1, BLOCKS)), halves.astype(np.float64)])


def block_sums(values: Floats) -> Floats:
    """Add up draws, the first axis, in contiguous blocks."""
    starts = np.arange(BLOCKS) * len(values) // BLOCKS
    sums: Floats = np.add.reduceat(values, starts, axis=0)
    return sums


def half_sample_error(values: Floats) -> float:
    """Standard error of row 0 by the halves, the other rows.

    Halves lie as far from all draws as these from the truth, also in jumps.
    """
    return float(((values[1:] - values[0]) ** 2).mean() ** 0.5)
