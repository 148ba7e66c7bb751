"""Classes drawn on a GPU: the draws of the processor, with its random numbers.

The kernel's source is C++ with one lane where there is no CUDA, so its arithmetic is compared
everywhere that has a C++ compiler; and on a GPU where there is one.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import understudy as us
from understudy.errors import SettingError
from understudy.synthesis.dpmpm.class_counts import (
    SLICE,
    draw_classes,
    n_slices,
    order_by_weight,
)
from understudy.synthesis.dpmpm.gpu_classes import SOURCE, GpuClasses, check_gpu, describe_sweep
from understudy.synthesis.dpmpm.parameters import log_likelihood
from understudy.synthesis.dpmpm.problem import NO_HOLE, Problem

Draw = Callable[
    [Problem, np.random.Generator, NDArray[np.float64], NDArray[np.float64]],
    tuple[NDArray[np.int64], bool],
]


def _gpu_is_here() -> bool:
    try:
        check_gpu()
    except SettingError:
        return False
    return True


def problem_of(sizes: list[int], counts: NDArray[np.int64], seed: int) -> Problem:
    """Invent distinct combinations of variables of these sizes, with these counts."""
    codes = np.random.default_rng(seed).choice(int(np.prod(sizes)), counts.size, replace=False)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = np.stack(np.unravel_index(np.sort(codes), sizes), axis=1) + start[:-1]
    prior = np.ones(int(start[-1]))
    holes = np.full(len(sizes), NO_HOLE)
    prior_sum = np.asarray(sizes, dtype=np.float64)
    return Problem(rows.astype(np.int32), counts, start, prior, prior_sum, holes)


def parameters_of(
    problem: Problem, n_classes: int, spread: float, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Invent log weights and level probabilities; a small spread makes many classes rare."""
    generator = np.random.default_rng(seed)
    weights = generator.dirichlet(np.full(n_classes, spread)) + 1e-12
    probabilities = np.empty((problem.prior.size, n_classes))
    for first, last in zip(problem.level_start[:-1], problem.level_start[1:], strict=True):
        drawn = generator.dirichlet(np.full(last - first, 0.5), size=n_classes)
        probabilities[first:last] = drawn.T
    return np.log(weights / weights.sum()), probabilities


def cases() -> list[tuple[str, Problem, int, float]]:
    """Every way in which a combination is drawn: few and many records, with and without a tail."""
    generator = np.random.default_rng(3)
    few = generator.integers(1, 4, 5000)
    many = generator.integers(1, 5000, 300)
    huge = np.asarray([3_000_000, 17, 1, 40_000])
    return [
        ("few records", problem_of([3, 4, 5, 6, 40], few, 1), 30, 1.0),
        ("few records, rare classes", problem_of([3, 4, 5, 6, 40], few, 1), 100, 0.02),
        ("many records", problem_of([2, 5, 90], many, 2), 40, 0.3),
        ("many records, even classes", problem_of([2, 5, 90], many, 2), 40, 10.0),
        ("huge counts", problem_of([2, 3, 4], huge, 4), 25, 0.1),
        ("one class", problem_of([2, 5, 90], many, 2), 1, 1.0),
        ("one variable", problem_of([400], many, 5), 12, 0.5),
    ]


CASES = [pytest.param(*case[1:], id=case[0]) for case in cases()]


def drawn_by_processor(
    problem: Problem,
    generator: np.random.Generator,
    log_weights: NDArray[np.float64],
    probabilities: NDArray[np.float64],
) -> tuple[NDArray[np.int64], bool]:
    """Level counts (level, class) of the compiled code, and whether it failed."""
    class_size = np.empty(log_weights.size, dtype=np.int64)
    level_count = np.empty(probabilities.shape, dtype=np.int64)
    failed = draw_classes(generator, problem, log_weights, probabilities, class_size, level_count)
    return level_count, failed


@pytest.fixture(scope="module")
def drawn_in_cpp(tmp_path_factory: pytest.TempPathFactory) -> Draw:
    """The kernel's source as C++, with one lane."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler here to compile the kernel's source with")
    library = Path(tmp_path_factory.mktemp("kernel")) / "kernel.so"
    options = ["-O2", "-ffp-contract=off", "-Wall", "-Werror", "-shared", "-fPIC", "-x", "c++"]
    subprocess.run([compiler, *options, str(SOURCE), "-o", str(library)], check=True)
    kernel = ctypes.CDLL(str(library)).draw_slices

    def draw(
        problem: Problem,
        generator: np.random.Generator,
        log_weights: NDArray[np.float64],
        probabilities: NDArray[np.float64],
    ) -> tuple[NDArray[np.int64], bool]:
        slices = n_slices(problem.counts.size)
        order = order_by_weight(log_weights, probabilities, problem.counts.sum())
        level_count = np.zeros(probabilities.shape, dtype=np.int64)
        failed = np.zeros(1, dtype=np.int32)
        here = {
            "levels": problem.levels,
            "counts": problem.counts,
            "classes": order.classes,
            "weights": order.weights,
            "heavy": order.probabilities,
            "ceiling": order.ceiling,
            "probabilities": probabilities,
            "level_count": level_count,
            "failed": failed,
        }
        addresses = {name: array.ctypes.data for name, array in here.items()}
        n_classes, n_heavy = log_weights.size, order.probabilities.shape[1]
        addresses |= {"n_classes": n_classes, "n_heavy": n_heavy}
        sweep = describe_sweep(problem, addresses, order.tail_weight)
        words = np.asarray(generator.bit_generator.random_raw(3 * slices))
        memory = np.empty(n_classes + n_heavy)
        kernel(
            ctypes.c_void_p(words.ctypes.data),
            ctypes.byref(sweep),
            ctypes.c_longlong(slices),
            ctypes.c_void_p(memory.ctypes.data),
        )
        return level_count, bool(failed[0])

    return draw


@pytest.mark.parametrize(("problem", "n_classes", "spread"), CASES)
def test_kernel_draws_what_the_compiled_code_draws(
    drawn_in_cpp: Draw, problem: Problem, n_classes: int, spread: float
) -> None:
    for seed in range(5):
        log_weights, probabilities = parameters_of(problem, n_classes, spread, seed)
        arguments = log_weights, probabilities
        expected, _ = drawn_by_processor(problem, np.random.default_rng(seed), *arguments)
        drawn, failed = drawn_in_cpp(problem, np.random.default_rng(seed), *arguments)
        np.testing.assert_array_equal(drawn, expected)
        assert not failed


def test_kernel_says_when_all_weights_vanish(drawn_in_cpp: Draw) -> None:
    problem = problem_of([2, 5, 90], np.full(20, 3), 2)
    log_weights, probabilities = parameters_of(problem, 4, 1.0, 0)
    probabilities[problem.levels[7, 2]] = 0.0
    arguments = log_weights, probabilities
    expected, failed = drawn_by_processor(problem, np.random.default_rng(1), *arguments)
    drawn, failed_too = drawn_in_cpp(problem, np.random.default_rng(1), *arguments)
    np.testing.assert_array_equal(drawn, expected)
    assert failed
    assert failed_too


def test_cases_cover_several_slices() -> None:
    assert max(case[1].counts.size for case in cases()) > SLICE


def test_a_machine_without_a_gpu_is_told_what_to_do() -> None:
    if _gpu_is_here():
        pytest.skip("there is a GPU here")
    with pytest.raises(SettingError, match='use device="cpu"'):
        us.DPMPM(device="gpu", sampler="blocked").fit(us.load_ce_like(), draws=4, warmup=0, seed=1)


@pytest.mark.parametrize("settings", [{"sampler": "collapsed"}, {"risk_weighting": 0.5}])
def test_what_a_gpu_does_not_draw_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="blocked sampler without weights"):
        us.DPMPM(device="gpu", **settings)


def test_weights_of_ones_own_are_refused_on_a_gpu() -> None:
    data = us.load_ce_like()
    weights = np.full(data.n_combinations, 0.5)
    with pytest.raises(SettingError, match="without weights"):
        us.DPMPM(device="gpu").fit(data, draws=4, warmup=0, seed=1, weights=weights)


@pytest.mark.skipif(not _gpu_is_here(), reason="no CUDA GPU with CuPy here")
@pytest.mark.filterwarnings("ignore::understudy.errors.ConvergenceWarning")
def test_a_whole_fit_on_a_gpu_keeps_the_same_draws() -> None:
    data = us.load_ce_like()
    lengths = {"chains": 2, "warmup": 20, "draws": 8, "thin": 3, "seed": 1}
    fits = [
        us.DPMPM(sampler="blocked", device=device).fit(data, **lengths)  # type: ignore[arg-type]
        for device in ("cpu", "gpu")
    ]
    for name in ("concentration", "occupied_classes"):
        here, there = (np.asarray(fit.draws["posterior"][name]) for fit in fits)
        np.testing.assert_allclose(there, here, rtol=1e-9)


@pytest.mark.parametrize(("problem", "n_classes", "spread"), CASES)
def test_a_gpu_draws_what_the_compiled_code_draws(
    problem: Problem, n_classes: int, spread: float
) -> None:
    if not _gpu_is_here():
        pytest.skip("no CUDA GPU with CuPy here")
    on_gpu = GpuClasses(problem)
    for seed in range(5):
        log_weights, probabilities = parameters_of(problem, n_classes, spread, seed)
        arguments = log_weights, probabilities
        expected, _ = drawn_by_processor(problem, np.random.default_rng(seed), *arguments)
        class_size = np.empty(n_classes, dtype=np.int64)
        drawn = np.empty_like(expected)
        assert not on_gpu.draw(np.random.default_rng(seed), *arguments, class_size, drawn)
        np.testing.assert_array_equal(drawn, expected)
        weights = np.exp(log_weights)
        by_class = np.ascontiguousarray(probabilities.T)
        likelihood = log_likelihood(problem.levels, problem.counts, weights, by_class)
        assert on_gpu.log_likelihood(weights, by_class) == pytest.approx(likelihood, rel=1e-12)
