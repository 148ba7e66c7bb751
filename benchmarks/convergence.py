"""How long it takes to judge whether chains have converged, beside arviz-stats.

Run ``python -m benchmarks.convergence``. Both judge the same draws, one after another on one
processor; ratios are of one run on one machine. Chains that are apart take longer, because their
autocorrelations never die away.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from understudy.randomness import stream
from understudy.synthesis.rhat_and_ess import TAIL, rhat_and_ess

CHAINS = 4
QUANTITIES = 64
MEMORY = 0.5  # what a draw keeps of the one before


def chains(n_draws: int, apart: float) -> NDArray[np.float32]:
    """Invent draws (chain, draw, quantity); half of the chains lie elsewhere."""
    generator = stream(1, "benchmark", "convergence")
    values = generator.normal(size=(CHAINS, n_draws, QUANTITIES))
    for draw in range(1, n_draws):
        values[:, draw] += MEMORY * values[:, draw - 1]
    values[: CHAINS // 2] += apart
    return values.astype(np.float32)


def by_arviz(values: NDArray[np.float32]) -> None:
    """Judge one quantity after another by arviz-stats."""
    stats = import_module("arviz_stats.base").array_stats
    for quantity in range(values.shape[2]):
        draws = values[:, :, quantity].astype(np.float64)
        stats.rhat(draws, chain_axis=0, draw_axis=1)
        stats.ess(draws, chain_axis=0, draw_axis=1, method="bulk")
        stats.ess(draws, chain_axis=0, draw_axis=1, method="tail", prob=TAIL)


def milliseconds(work: Callable[[], object]) -> float:
    """Take the time that a quantity takes."""
    begin = time.process_time()
    work()
    return 1000 * (time.process_time() - begin) / QUANTITIES


def main() -> None:
    """Print a line for each length of chains, together and apart."""
    rhat_and_ess(chains(8, 0.0))  # compiles
    by_arviz(chains(8, 0.0))  # imports
    print("milliseconds a quantity; 4 chains")
    print(f"{'':24}{'ours':>8}{'arviz':>8}{'ratio':>8}")
    for n_draws in (600, 1000, 3000, 20_000):
        for words, apart in (("together", 0.0), ("apart", 3.0)):
            values = chains(n_draws, apart)
            ours = milliseconds(partial(rhat_and_ess, values))
            theirs = milliseconds(partial(by_arviz, values))
            name = f"{n_draws:,} draws, {words}"
            print(f"{name:24}{ours:8.2f}{theirs:8.2f}{theirs / ours:8.1f}", flush=True)


if __name__ == "__main__":
    main()
