"""When do workers pay that share a sweep of the blocked sampler? One machine, two processes.

``python -m benchmarks.cut_sweep [--combinations 1e6] [--classes 40]`` invents distinct combinations
of ten variables, and times drawing the classes of all records here and on workers. Beside seconds
by the clock, which say little on a busy machine, it gives this process's processor seconds: it has
the scheduler too, so they are what a round costs where all goes through one machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import understudy as us
from benchmarks.gpu_sweep import invented
from understudy.randomness import stream
from understudy.synthesis.dpmpm import blocked
from understudy.synthesis.dpmpm.class_counts import draw_classes
from understudy.synthesis.dpmpm.cut_sweeps import ClassesOnWorkers
from understudy.synthesis.workers import current_workers

ROUNDS = 10


def seconds(work: Callable[[], Any]) -> tuple[float, float]:
    """Give seconds of one call by the clock, and of this process's processors: means of some."""
    work()
    clock, processor = time.monotonic(), time.process_time()
    for _ in range(ROUNDS):
        work()
    return (time.monotonic() - clock) / ROUNDS, (time.process_time() - processor) / ROUNDS


def main() -> None:
    """Time both and print a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in {"combinations": 1e6, "classes": 40, "workers": 2}.items():
        parser.add_argument(f"--{name}", type=float, default=default)
    given = parser.parse_args()
    problem = invented(int(given.combinations))
    generator, n_classes = stream(1, "benchmark", "cut sweep"), int(given.classes)
    state = blocked.init(generator, problem, n_classes, n_classes)
    drawn = (state.log_weights, state.probabilities, state.class_size, state.level_count)
    here = seconds(lambda: draw_classes(generator, problem, *drawn))
    with us.on_workers(int(given.workers)):
        workers = current_workers()
        assert workers is not None
        elsewhere = ClassesOnWorkers(workers, problem)
        there = seconds(lambda: elsewhere.draw(generator, *drawn))
    sent = state.probabilities.nbytes
    back = state.level_count.astype(np.min_scalar_type(problem.n_records)).nbytes
    print(
        f"{problem.counts.size:,} combinations, {n_classes} classes: {here[0]:.3f} s here, "
        f"{there[0]:.3f} s on {int(given.workers)} workers with {there[1]:.3f} processor seconds "
        f"here; {sent / 1e6:.2f} MB there, {back / 1e6:.2f} MB back"
    )


if __name__ == "__main__":
    main()
