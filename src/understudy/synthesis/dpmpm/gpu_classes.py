"""The blocked sampler's classes on a GPU: for millions of combinations, a hundred times as fast.

`gpu_classes.cu` draws the slices of `class_counts` with the same random numbers, a warp a slice.
Only the last digits of logarithms and exponentials differ between the two, so the draws are the
same unless a uniform number falls between two roundings of one limit. Combinations stay on the GPU;
a sweep sends class weights and level probabilities there, and takes back counts.

Everything else of a sweep is done by the processor: it costs by classes and levels, not by
combinations. CuPy is needed (the extra ``understudy[gpu]``), and imported when a fit asks for it.

References
----------
Okuta, R. et al. (2017), "CuPy: a NumPy-compatible library for NVIDIA GPU calculations", Workshop on
Machine Learning Systems at NeurIPS.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingError
from understudy.synthesis.dpmpm.class_counts import (
    INVERSION,
    NEAR,
    SLICE,
    SMALL,
    SMALLEST,
    n_slices,
    order_by_weight,
)
from understudy.synthesis.dpmpm.problem import Problem

__all__ = ["SOURCE", "GpuClasses", "Sweep", "check_gpu", "describe_sweep"]

SOURCE = Path(__file__).with_suffix(".cu")
WARP = 32
BLOCK = 256  # threads that work out log probabilities together
SHARED_BYTES = 48 * 1024  # of a block, on every GPU


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


def describe_sweep(problem: Problem, arrays: dict[str, Any], tail_weight: float) -> Sweep:
    """Put sizes, limits and the addresses of arrays together.

    `arrays` holds, under the names of the structure, levels, counts, classes, weights, heavy,
    ceiling, probabilities, level_count and failed: addresses where the sweep is drawn.
    """
    return Sweep(
        n_combinations=problem.counts.size,
        n_variables=problem.levels.shape[1],
        tail_weight=tail_weight,
        slice=SLICE,
        small_count=SMALL,
        inversion=INVERSION,
        near_mode=NEAR,
        smallest=SMALLEST,
        **arrays,
    )


class GpuClasses:
    """A problem's combinations on the GPU, shared by all chains, each with its own stream."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._cupy = cupy = check_gpu()
        code = SOURCE.read_text(encoding="utf-8")
        options = ("--std=c++17", "--fmad=false")  # rounded as on the processor
        module = cupy.RawModule(code=code, options=options)
        self._draw_slices = module.get_function("draw_slices")
        self._log_probability = module.get_function("log_probability")
        self._levels = cupy.asarray(problem.levels)
        self._counts = cupy.asarray(problem.counts)
        cupy.cuda.Stream.null.synchronize()

    def __reduce__(self) -> tuple[type[GpuClasses], tuple[Problem]]:
        """Travel to a worker as the problem alone; the worker puts it on a GPU of its own."""
        return GpuClasses, (self._problem,)

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
        n_classes, n_heavy = log_weights.size, order.probabilities.shape[1]
        memory = 8 * (n_classes + n_heavy)
        if memory > SHARED_BYTES:
            raise SettingError(
                expected=f"at most {SHARED_BYTES // 16:,} classes on a GPU",
                came=f"{n_classes:,}",
                do='use fewer classes, or device="cpu"',
            )
        raw: Any = generator.bit_generator.random_raw(3 * slices)
        with cupy.cuda.Stream.ptds:
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
            addresses: dict[str, Any] = {name: array.data.ptr for name, array in there.items()}
            addresses |= {"n_classes": n_classes, "n_heavy": n_heavy}
            sweep = describe_sweep(problem, addresses, order.tail_weight)
            described = cupy.asarray(np.frombuffer(bytes(sweep), dtype=np.uint8))
            words = cupy.asarray(raw)  # (slice * word,)
            self._draw_slices((slices,), (WARP,), (words, described), shared_mem=memory)
            level_count[:] = there["level_count"].get()
            failed = bool(there["failed"].get()[0])
        first, last = problem.level_start[0], problem.level_start[1]
        class_size[:] = level_count[first:last].sum(axis=0)
        return failed

    def log_likelihood(
        self, weights: NDArray[np.float64], probabilities: NDArray[np.float64]
    ) -> float:
        """Log-likelihood of the records, their classes summed out, as `parameters` has it.

        `weights` is float64 (class,), `probabilities` float64 (class, level).
        """
        cupy = self._cupy
        n_combinations, n_variables = self._problem.levels.shape
        with cupy.cuda.Stream.ptds:
            by_level = cupy.asarray(np.ascontiguousarray(probabilities.T))  # (level, class)
            logs = cupy.empty(n_combinations)  # (combination,)
            blocks = -(-n_combinations * WARP // BLOCK)
            sizes = np.int64(n_combinations), np.int32(n_variables), np.int32(weights.size)
            arguments = (self._levels, *sizes, cupy.asarray(weights), by_level, logs)
            self._log_probability((blocks,), (BLOCK,), arguments)
            return float((logs * self._counts).sum().get())


def check_gpu() -> Any:
    """Give CuPy, where there is a GPU that it can use."""
    try:
        import cupy

        has_gpu = cupy.cuda.runtime.getDeviceCount() > 0
    except Exception:  # noqa: BLE001  (no CuPy, no driver, no device: each has its own error)
        has_gpu = False
    if not has_gpu:
        raise SettingError(
            expected='a CUDA GPU and CuPy (pip install "understudy[gpu]") for device="gpu"',
            came="a machine on which CuPy finds none",
            do='use device="cpu"; the draws are the same',
        ) from None
    return cupy
