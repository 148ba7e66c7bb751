"""Would a GPU pay for the blocked sampler? Its sweep there and on the processor, in one run.

``python -m benchmarks.gpu_sweep [--combinations 5e6] [--classes 100]`` invents distinct
combinations of ten variables, and times whole sweeps: classes on the GPU and the rest of the sweep
on the processor, against all of it on two threads of the processor. It needs CuPy and a CUDA GPU,
and says so where there is none.

`gpu_classes.cu` draws the slices of `dpmpm.class_counts` with the same random numbers, a warp a
slice, sums in the same order: so the draws are the same, but for the last digits of logarithms and
exponentials. Without CUDA the file compiles as C++ with one lane; a test compares its draws.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.synthesis.dpmpm import blocked
from understudy.synthesis.dpmpm.class_counts import (
    INVERSION,
    NEAR,
    SLICE,
    SMALL,
    SMALLEST,
    Order,
    n_slices,
    order_by_weight,
)
from understudy.synthesis.dpmpm.problem import NO_HOLE, Problem

SOURCE = Path(__file__).with_name("gpu_classes.cu")
SIZES = (2, 4, 5, 6, 8, 8, 12, 20, 40, 500)  # levels of the variables
WARP = 32
SWEEPS = 5


class Sweep(ctypes.Structure):
    """What does not change during a sweep: the structure of the same name in `SOURCE`."""

    _fields_ = (
        ("levels", ctypes.c_void_p),
        ("counts", ctypes.c_void_p),
        ("n_combinations", ctypes.c_longlong),
        ("n_variables", ctypes.c_int),
        ("n_classes", ctypes.c_int),
        ("n_heavy", ctypes.c_int),
        ("classes", ctypes.c_void_p),
        ("weights", ctypes.c_void_p),
        ("heavy", ctypes.c_void_p),
        ("ceiling", ctypes.c_void_p),
        ("tail_weight", ctypes.c_double),
        ("probabilities", ctypes.c_void_p),
        ("slice", ctypes.c_int),
        ("small_count", ctypes.c_int),
        ("inversion", ctypes.c_double),
        ("near_mode", ctypes.c_double),
        ("smallest", ctypes.c_double),
        ("level_count", ctypes.c_void_p),
        ("failed", ctypes.c_void_p),
    )


def describe_sweep(problem: Problem, order: Order, addresses: dict[str, int]) -> Sweep:
    """Put sizes, limits and addresses together: of levels, counts, classes, weights and so on."""
    return Sweep(
        n_combinations=problem.counts.size,
        n_variables=problem.levels.shape[1],
        n_classes=order.classes.size,
        n_heavy=order.probabilities.shape[1],
        tail_weight=order.tail_weight,
        slice=SLICE,
        small_count=SMALL,
        inversion=INVERSION,
        near_mode=NEAR,
        smallest=SMALLEST,
        **addresses,
    )


class GpuClasses:
    """A problem's combinations on the GPU, and the drawing of their classes."""

    def __init__(self, problem: Problem) -> None:
        import cupy

        self._cupy, self._problem = cupy, problem
        options = ("--std=c++17", "--fmad=false")  # rounded as on the processor
        module = cupy.RawModule(code=SOURCE.read_text(encoding="utf-8"), options=options)
        self._draw_slices = module.get_function("draw_slices")
        self._levels, self._counts = cupy.asarray(problem.levels), cupy.asarray(problem.counts)

    def draw(
        self,
        generator: np.random.Generator,
        log_weights: NDArray[np.float64],
        probabilities: NDArray[np.float64],
        class_size: NDArray[np.int64],
        level_count: NDArray[np.int64],
    ) -> bool:
        """Draw the classes of all records, as `class_counts.draw_classes` does."""
        cupy, problem = self._cupy, self._problem
        slices = n_slices(problem.counts.size)
        order = order_by_weight(log_weights, probabilities, problem.counts.sum())
        raw: Any = generator.bit_generator.random_raw(3 * slices)
        there = {
            "levels": self._levels,
            "counts": self._counts,
            "classes": cupy.asarray(order.classes),
            "weights": cupy.asarray(order.weights),
            "heavy": cupy.asarray(order.probabilities),
            "ceiling": cupy.asarray(order.ceiling),
            "probabilities": cupy.asarray(np.ascontiguousarray(probabilities)),
            "level_count": cupy.zeros(level_count.shape, dtype=cupy.int64),
            "failed": cupy.zeros(1, dtype=cupy.int32),
        }
        addresses = {name: array.data.ptr for name, array in there.items()}
        sweep = describe_sweep(problem, order, addresses)
        described = cupy.asarray(np.frombuffer(bytes(sweep), dtype=np.uint8))
        memory = 8 * (order.classes.size + order.probabilities.shape[1])  # bytes shared by a warp
        words = cupy.asarray(raw)  # (slice * word,)
        self._draw_slices((slices,), (WARP,), (words, described), shared_mem=memory)
        level_count[:] = there["level_count"].get()
        first, last = problem.level_start[:2]
        class_size[:] = level_count[first:last].sum(axis=0)
        return bool(there["failed"].get()[0])


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


def timed(problem: Problem, n_classes: int, on_gpu: GpuClasses | None) -> tuple[float, int]:
    """Median seconds of a sweep, and how many classes are occupied in the end."""
    generator = np.random.default_rng(2)
    state = blocked.init(generator, problem, n_classes, n_classes)
    seconds = []
    with ThreadPoolExecutor(1) as pool:
        for _ in range(SWEEPS + 1):
            begin = time.perf_counter()
            if on_gpu is None:
                state = blocked.step(generator, problem, state, (0.25, 0.25), pool, 2)
            else:
                on_gpu.draw(generator, *state[2:4], *state[:2])
                state = blocked._after_classes(generator, problem, state, 0.25, 0.25)
            seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds[1:])), int((state.class_size > 0).sum())


def main() -> None:
    """Time both, where there is a GPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--combinations", type=float, default=5e6)
    parser.add_argument("--classes", type=int, default=100)
    asked = parser.parse_args()
    problem = invented(int(asked.combinations))
    try:
        on_gpu = GpuClasses(problem)
    except Exception as problem_there:  # noqa: BLE001  (no CuPy, no driver, no GPU)
        print(f"no CUDA GPU with CuPy here ({type(problem_there).__name__}): nothing is measured")
        return
    here, occupied = timed(problem, asked.classes, None)
    there, occupied_there = timed(problem, asked.classes, on_gpu)
    print(f"{problem.counts.size:,} combinations, {asked.classes} classes, whole sweeps:")
    print(f"  two threads of the processor {here:8.3f} s  ({occupied} occupied)")
    print(f"  GPU                          {there:8.3f} s  ({occupied_there} occupied)")
    print(f"  ratio                        {here / there:8.1f}")


if __name__ == "__main__":
    main()
