"""Speed of the DPMPM: effective draws a second, milliseconds a sweep, synthetic sets.

``python benchmarks/dpmpm.py [fit] [sweep] [sets] [modes]``, all but the last when nothing is named.
Processor time is printed beside wall time, because a shared machine makes wall time a matter of
luck; ratios are taken between figures of one run.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import understudy as us
from understudy.errors import UnderstudyWarning
from understudy.randomness import stream
from understudy.reproduction.run import population
from understudy.synthesis.dpmpm import blocked, class_counts, collapsed, split_merge
from understudy.synthesis.dpmpm.problem import Problem, make_problem

REPEATS = 5
BETWEEN_MODES = -47_744  # log-likelihood between those of population 4's two modes


def milliseconds(action: Callable[[], Any], times: int) -> float:
    """Least processor time of one call, in several series of calls."""
    action()
    spent = []
    for _ in range(REPEATS):
        begin = time.process_time()
        for _ in range(times):
            action()
        spent.append((time.process_time() - begin) / times * 1e3)
    return min(spent)


def compile_everything(data: us.Microdata) -> None:
    """Compile all kernels, so that no figure holds that."""
    for sampler in ("collapsed", "blocked"):
        us.DPMPM(sampler=sampler).fit(data, chains=2, warmup=20, draws=10, thin=1, seed=1)


def report_fit(data: us.Microdata) -> None:
    """Effective draws a second of every quantity, with the default settings of `fit`."""
    for settings in (
        us.DPMPM(sampler=sampler, level_prior=level_prior)
        for level_prior in (1.0, "sampled")
        for sampler in ("collapsed", "blocked")
    ):
        begin, begin_wall = time.process_time(), time.monotonic()
        fit = settings.fit(data, seed=1)
        spent, wall = time.process_time() - begin, time.monotonic() - begin_wall
        print(f"\nlevel prior {settings.level_prior}: {fit!r}")
        print(f"{wall:.1f} s wall, {spent:.1f} s processor (diagnostics too)")
        table = fit.diagnostics()
        is_cell = table["quantity"].str.starts_with("label_probability[")
        print(f"{'quantity':26}{'rhat':>8}{'bulk':>8}{'tail':>8}{'bulk per processor second':>28}")
        alone = table.filter(~table["quantity"].str.contains("[", literal=True))
        for row in alone.iter_rows(named=True):
            print(
                f"{row['quantity']:26}{row['rhat']:8.4f}{row['ess_bulk']:8.0f}{row['ess_tail']:8.0f}"
                f"{row['ess_bulk'] / spent:28.0f}"
            )
        cells = table.filter(is_cell)
        rhat = cells["rhat"].to_numpy().max()
        bulk, tail = (cells[name].to_numpy().min() for name in ("ess_bulk", "ess_tail"))
        name = f"label_probability ({cells.height})"
        print(f"{name:26}{rhat:8.4f}{bulk:8.0f}{tail:8.0f}{bulk / spent:28.0f}   (worst cells)")


def report_sweeps(data: us.Microdata) -> None:
    """Milliseconds of every move on the bundled data, and of blocked sweeps of many records."""
    problem = make_problem(data)
    prior = (0.25, 0.25)
    report_blocked(problem, prior)
    generator = stream(1, "benchmark", "collapsed")
    at = collapsed.init(generator, problem, 5)
    for _ in range(500):
        at, _ = collapsed.step(generator, problem, at, prior, 10**9)
    moves: dict[str, Callable[[], Any]] = {
        "collapsed sweep": lambda: collapsed.step(generator, problem, at, prior, 99),
        "split or merge": lambda: split_merge.split_or_merge(generator, problem, at),
    }
    for name, move in moves.items():
        print(f"{name}: {milliseconds(move, 50):.3f} ms")


def _classes_alone(
    generator: np.random.Generator, state: blocked.State, n_records: int, problem: Problem
) -> None:
    """Draw the class counts of a problem as if it had so many records, and drop them."""
    order = class_counts.order_by_weight(state.log_weights, state.probabilities, n_records)
    words: Any = generator.bit_generator.random_raw(3)
    counts = np.empty_like(state.class_size), np.empty_like(state.level_count)
    class_counts.draw_slices(
        words.reshape(1, 3), problem, 0, 1, order, state.probabilities, *counts
    )


def report_blocked(problem: Problem, prior: tuple[float, float]) -> None:
    """Blocked sweeps of 6,208, 1 million and 10 million records with the same combinations.

    Each is timed at the state of its own chain, started from five classes. The drawing of class
    counts is timed apart from all other work: the kernel with the records, less that with none.
    """
    whole, drawing = {}, {}
    for name, times in (("6,208 records", 1), ("1 million", 161), ("10 million", 1610)):
        repeated = problem._replace(counts=problem.counts * times)
        generator = stream(1, "benchmark", name)
        state = blocked.init(generator, repeated, 40, 5)
        for _ in range(1000):
            state = blocked.step(generator, repeated, state, prior)
        whole[name] = milliseconds(partial(blocked.step, generator, repeated, state, prior), 200)
        none = problem._replace(counts=problem.counts * 0)
        classes = partial(_classes_alone, generator, state, repeated.n_records)
        drawing[name] = milliseconds(partial(classes, repeated), 200)
        drawing[name] -= milliseconds(partial(classes, none), 200)
        print(
            f"blocked sweep, K = 40, {name}: {whole[name]:.3f} ms, of which drawing class counts "
            f"{drawing[name]:.3f}, everything else {whole[name] - drawing[name]:.3f} "
            f"({np.count_nonzero(state.class_size)} classes occupied)"
        )
    small = whole["6,208 records"]
    for name in ("1 million", "10 million"):
        aside = (whole[name] - drawing[name]) / (small - drawing["6,208 records"])
        print(f"  {name} over 6,208: {whole[name] / small:.2f}, drawing aside {aside:.2f}")


def report_sets(data: us.Microdata) -> None:
    """Twenty synthetic sets of a million records."""
    repeats = 162
    many = replace(
        data,
        counts=data.counts * repeats,
        of_record=np.tile(data.of_record, repeats)[:1_000_000],
    )
    fit = us.DPMPM(sampler="blocked").fit(data, warmup=500, draws=100, thin=5, seed=1)
    for class_draw in ("kept", "full", "prior"):
        settings = us.DPMPM(sampler="blocked", class_draw=class_draw)
        large = replace(fit, data=many, settings=settings)
        large.synthesize(m=1, seed=1)
        begin, begin_wall = time.process_time(), time.monotonic()
        sets = large.synthesize(m=20, seed=1)
        spent, wall = time.process_time() - begin, time.monotonic() - begin_wall
        print(
            f"20 sets of {sets.data.n_records:,} records, {class_draw}: "
            f"{wall:.1f} s wall, {spent:.1f} s processor"
        )


def report_modes(data: us.Microdata) -> None:  # noqa: ARG001
    """How often chains pass between the two modes of a redrawn population, with the paper's prior.

    A chain is in one mode or the other by its log-likelihood, averaged over 5,000 sweeps: those of
    the modes are 52 apart, and such means spread by 5.
    """
    blocks, per_block, thin = 40, 10, 500
    for sampler in ("collapsed", "blocked"):
        begin = time.process_time()
        fit = us.DPMPM(level_prior=1.0, sampler=sampler).fit(
            population(4), chains=2, warmup=thin, draws=blocks * per_block, thin=thin, seed=1
        )
        spent = time.process_time() - begin
        drawn = np.asarray(fit.draws["posterior"]["log_likelihood"])  # (chain, draw)
        means = drawn.reshape(drawn.shape[0], blocks, per_block).mean(axis=2)  # (chain, block)
        passages = np.count_nonzero(np.diff(means > BETWEEN_MODES, axis=1))
        print(
            f"{sampler}: {passages} passages in {drawn.size * thin:,} sweeps, "
            f"{spent:.0f} processor s; log-likelihoods, a line a chain, every fourth mean"
        )
        print(np.array2string(means[:, ::4], precision=0, max_line_width=200))


def main() -> None:
    """Run what was asked for."""
    asked = sys.argv[1:] or ["fit", "sweep", "sets"]
    warnings.simplefilter("ignore", UnderstudyWarning)
    data = us.load_ce_like()
    compile_everything(data)
    reports = {
        "fit": report_fit,
        "sweep": report_sweeps,
        "sets": report_sets,
        "modes": report_modes,
    }
    for name, report in reports.items():
        if name in asked:
            report(data)


if __name__ == "__main__":
    main()
