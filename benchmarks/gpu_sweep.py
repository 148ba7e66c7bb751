"""Does a GPU pay for the blocked sampler? A fit's work there and on the processor, in one run.

``python -m benchmarks.gpu_sweep [--combinations 5e6] [--classes 100]`` invents distinct
combinations of ten variables. It times whole sweeps, a kept draw as fits make it (sixty sweeps,
then the log-likelihood and 16,384 label probabilities), and a short chain from its start, with what
goes to the GPU before. On the GPU classes are drawn there and the rest is the processor's; against
it stand two threads of the processor. It needs CuPy and a CUDA GPU, and says so where it finds
none.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np

from understudy.errors import SettingError
from understudy.synthesis.chains import Plan, run_chains
from understudy.synthesis.dpmpm.gpu_classes import GpuClasses
from understudy.synthesis.dpmpm.model import DPMPM
from understudy.synthesis.dpmpm.problem import NO_HOLE, Problem
from understudy.synthesis.dpmpm.sampler import BlockedChain, LabelCells

SIZES = (2, 4, 5, 6, 8, 8, 12, 20, 40, 500)  # levels of the variables
SWEEPS = 10
CELLS = 16_384  # label probabilities of a kept draw
THIN = 60  # sweeps between kept draws, by default


class Seconds(NamedTuple):
    """What a sampler takes, and where it came to."""

    sweep: float
    observation: float  # log-likelihood and label probabilities
    occupied: int  # classes in the end

    @property
    def kept_draw(self) -> float:
        """Sweeps between kept draws, and what is kept."""
        return THIN * self.sweep + self.observation


def invented(n_combinations: int, seed: int = 1) -> Problem:
    """Invent distinct combinations, one record each, in the order that samplers like."""
    cells = int(np.prod(SIZES, dtype=np.int64))
    codes = np.random.default_rng(seed).integers(0, cells, int(1.01 * n_combinations) + 10)
    codes = np.unique(codes)[:n_combinations]
    start = np.concatenate([[0], np.cumsum(SIZES)]).astype(np.int64)
    levels = np.stack(np.unravel_index(codes, SIZES), axis=1) + start[:-1]
    sizes = np.asarray(SIZES, dtype=np.float64)
    return Problem(
        levels=levels.astype(np.int32),
        counts=np.ones(codes.size, dtype=np.int64),
        level_start=start,
        prior=np.ones(int(start[-1])),
        prior_sum=sizes,
        holes=np.full(sizes.size, NO_HOLE),
    )


def some_cells(problem: Problem) -> LabelCells:
    """Choose cells of the label table evenly: patterns that there are, and labels."""
    rows = np.linspace(0, problem.counts.size - 1, CELLS).astype(np.int64)
    labels = problem.level_start[-2] + np.arange(SIZES[-1])  # (label,)
    cells = np.stack([np.arange(CELLS), np.arange(CELLS) % SIZES[-1]], axis=1)
    return LabelCells(
        kept_levels=problem.levels[rows, :-1].astype(np.int64),
        label_levels=labels[:, None],
        cells=cells,
        never=np.zeros(0, dtype=np.int64),
        patterns=cells[:, 0],
        labels=cells[:, 1],
        complete=False,
    )


def timed(problem: Problem, n_classes: int, on_gpu: GpuClasses | None) -> Seconds:
    """Time sweeps and an observation, after a first sweep that is not counted."""
    prior = DPMPM().concentration_prior
    chain = BlockedChain(problem, some_cells(problem), prior, n_classes, 2, on_gpu)
    generator = np.random.default_rng(2)
    state = chain.advance(generator, chain.start(generator, 3), 1)
    begin = time.perf_counter()
    state = chain.advance(generator, state, SWEEPS)
    swept = time.perf_counter()
    chain.observe(generator, state)
    observed = time.perf_counter()
    occupied = int(np.count_nonzero(state.class_size))
    return Seconds((swept - begin) / SWEEPS, observed - swept, occupied)


def whole_chain(problem: Problem, n_classes: int, *, gpu: bool) -> float:
    """Time a chain from its start: ten sweeps, then four kept draws, five sweeps apart."""
    begin = time.perf_counter()
    on_gpu = GpuClasses(problem) if gpu else None
    prior = DPMPM().concentration_prior
    chain = BlockedChain(problem, some_cells(problem), prior, n_classes, 2, on_gpu)
    run_chains(chain, Plan(chains=1, warmup=10, draws=4, thin=5, seed=1, threads=1))
    return time.perf_counter() - begin


def main() -> None:
    """Time both, where there is a GPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--combinations", type=float, default=5e6)
    parser.add_argument("--classes", type=int, default=100)
    asked = parser.parse_args()
    problem = invented(int(asked.combinations))
    try:
        on_gpu = GpuClasses(problem)
    except SettingError as refused:
        print(f"nothing is measured: {refused}")
        return
    timed(invented(1000), asked.classes, None)  # compiled before anything is timed
    here, there = timed(problem, asked.classes, None), timed(problem, asked.classes, on_gpu)
    print(f"{problem.counts.size:,} combinations, {asked.classes} classes; seconds:")
    print(f"{'':24}{'sweep':>12}{'kept draw':>12}{'occupied':>10}")
    for name, seconds in (("two threads", here), ("GPU", there)):
        line = f"{seconds.sweep:12.4f}{seconds.kept_draw:12.3f}{seconds.occupied:10}"
        print(f"{name:24}{line}")
    ratios = here.sweep / there.sweep, here.kept_draw / there.kept_draw
    print(f"{'ratio':24}{ratios[0]:12.0f}{ratios[1]:12.0f}")
    short, long = (whole_chain(problem, asked.classes, gpu=gpu) for gpu in (True, False))
    print(f"a chain of 30 sweeps: {long:.2f} and {short:.2f} s, ratio {long / short:.0f}")


if __name__ == "__main__":
    main()
