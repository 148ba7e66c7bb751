"""Speed of the DP-areal sampler: effective draws a second, and what a sweep costs.

``python -m benchmarks.areal [fit] [small] [sweep]``, everything when nothing is named. Processor
time is printed beside wall time, because a shared machine makes wall time a matter of luck.
``sweep`` also draws ``docs/areal_cost.svg``.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from understudy.errors import UnderstudyWarning
from understudy.randomness import stream
from understudy.synthesis.areal import sampler
from understudy.synthesis.areal.poisson_lognormal import new_pieces
from understudy.synthesis.areal.problem import Problem, make_problem, problem_of_counts
from understudy.synthesis.areal.state import init
from understudy.synthesis.diagnostics import ess_bulk
from understudy.synthesis.kept_probabilities import KeptCells

SWEEPS = 40
SERIES = 3
FIGURE = Path(__file__).parents[1] / "docs" / "areal_cost.svg"
SCALARS = 4


def report_fit() -> None:
    """Effective draws a second on the bundled data, with the default settings of `fit`."""
    data = us.load_ce_like()
    us.DPAreal().fit(data, chains=2, warmup=5, draws=4, thin=1, seed=1)  # compiles
    for variant in ("text", "script"):
        settings = us.DPAreal(variant=variant)
        begin, begin_wall = time.process_time(), time.monotonic()
        fit = settings.fit(data, seed=1)
        spent, wall = time.process_time() - begin, time.monotonic() - begin_wall
        print(f"\n{fit!r}; {wall:.1f} s wall, {spent:.1f} s processor (diagnostics too)")
        table = fit.diagnostics(most_cells=None)
        print(f"{'quantity':26}{'rhat':>8}{'bulk':>8}{'tail':>8}{'bulk per processor second':>28}")
        for row in table.head(SCALARS).iter_rows(named=True):
            print(
                f"{row['quantity']:26}{row['rhat']:8.4f}{row['ess_bulk']:8.0f}"
                f"{row['ess_tail']:8.0f}{row['ess_bulk'] / spent:28.1f}"
            )
        cells = table.slice(SCALARS)
        rhat = cells["rhat"].to_numpy().max()
        bulk, tail = (cells[name].to_numpy().min() for name in ("ess_bulk", "ess_tail"))
        name = f"label_probability ({cells.height})"
        print(f"{name:26}{rhat:8.4f}{bulk:8.0f}{tail:8.0f}{bulk / spent:28.1f}   (worst cells)")


def report_small() -> None:
    """Effective draws of label probabilities a second and chain: 36 cells, four clusters."""
    generator = stream(5, "benchmark", "small table")
    table = generator.poisson(np.exp(generator.standard_normal((4, 9)))).astype(np.int64)
    levels = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    design = np.hstack([np.ones((4, 1)), np.eye(2)[levels[:, 0]], np.eye(2)[levels[:, 1]]])
    problem = problem_of_counts(table, design)
    cells = KeptCells(np.repeat(np.arange(4), 9), np.tile(np.arange(9), 4), complete=True)
    for variant in ("text", "script"):
        chain = sampler.ArealChain(problem, cells, us.DPAreal(variant=variant).priors(), 4, 300)
        state = chain.advance(generator, chain.start(generator, 1), 500)
        kept = 3000
        drawn = np.empty((kept, 36))  # (draw, cell)
        begin = time.process_time()
        for draw in range(kept):
            state = chain.advance(generator, state, 1)
            drawn[draw] = chain.observe(generator, state).label_probability
        spent = time.process_time() - begin
        sizes = [ess_bulk(drawn[None, :, cell]) or 0.0 for cell in range(36)]
        print(
            f"36 cells, K = 4, {variant}: {spent / kept * 1e3:.2f} ms a sweep with its draw; "
            f"effective draws a second: median {np.median(sizes) / spent:,.0f}, "
            f"least {min(sizes) / spent:,.0f}"
        )


def sweep_cost(problem: Problem, n_clusters: int) -> float:
    """Least processor time of a sweep, in milliseconds, in several series."""
    generator = stream(6, "benchmark", "sweep")
    priors, pieces = us.DPAreal().priors(), new_pieces(problem)
    state = init(generator, problem, n_clusters, 5)
    for _ in range(SWEEPS):
        state = sampler.step(generator, problem, state, priors, pieces, tuning=True)
    found = []
    for _ in range(SERIES):
        begin = time.process_time()
        for _ in range(SWEEPS):
            state = sampler.step(generator, problem, state, priors, pieces)
        found.append((time.process_time() - begin) / SWEEPS * 1e3)
    return min(found)


def invented(n_patterns: int, n_labels: int, largest: int) -> Problem:
    """Invent a table whose counts go no higher than `largest`."""
    generator = stream(7, "benchmark", n_patterns, n_labels, largest)
    rates = np.exp(0.8 * generator.standard_normal((n_patterns, n_labels)))
    table = np.minimum(generator.poisson(rates), largest).astype(np.int64)
    design = np.hstack([np.ones((n_patterns, 1)), np.eye(2)[np.arange(n_patterns) % 2]])
    return problem_of_counts(table, design)


def report_sweeps() -> None:
    """What a sweep costs, by cells, clusters and pairs; one is varied at a time."""
    bundled = make_problem(us.load_ce_like())
    series: dict[str, list[tuple[float, float]]] = {"cells": [], "clusters": [], "pairs": []}
    for n_labels in (50, 200, 800, 3200):
        problem = invented(40, n_labels, 4)
        series["cells"].append((problem.n_cells, sweep_cost(problem, 20)))
    for n_clusters in (5, 10, 20, 50, 100):
        series["clusters"].append((n_clusters, sweep_cost(bundled, n_clusters)))
    for largest in (1, 2, 4, 8):
        problem = invented(160, 50, largest)
        series["pairs"].append((problem.pair_size.size, sweep_cost(problem, 20)))
    for name, points in series.items():
        print(f"{name}: " + ", ".join(f"{x:,.0f}: {y:.2f} ms" for x, y in points))
    draw_figure(series)


def draw_figure(series: dict[str, list[tuple[float, float]]]) -> None:
    """Draw the three series as small multiples, without a plotting library."""
    width, height, left, top = 230, 150, 44, 26
    highest = max(y for points in series.values() for _, y in points) * 1.1
    parts: list[Any] = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 840 230" role="img" '
        'font-family="sans-serif" font-size="11">',
        "<title>Milliseconds of a sweep against cells, clusters and pairs</title>",
    ]
    for number, (name, points) in enumerate(series.items()):
        x0 = 20 + left + number * (width + left)
        logs = np.log([x for x, _ in points])
        xs = x0 + (logs - logs[0]) / (logs[-1] - logs[0]) * (width - 20)
        ys = top + height * (1.0 - np.array([y for _, y in points]) / highest)
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
        parts.append(f'<polyline points="{line}" fill="none" stroke="#0072B2" stroke-width="2"/>')
        parts.append(
            f'<line x1="{x0}" x2="{x0 + width - 20}" y1="{top + height}" y2="{top + height}" '
            'stroke="#888"/>'
        )
        parts.append(f'<text x="{x0}" y="14">milliseconds by {name} (log scale)</text>')
        for (value, cost), x, y in zip(points, xs, ys, strict=True):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#0072B2"/>')
            parts.append(f'<text x="{x - 8:.1f}" y="{y - 7:.1f}">{cost:.1f}</text>')
            parts.append(f'<text x="{x - 10:.1f}" y="{top + height + 15}">{value:,.0f}</text>')
    parts.append("</svg>")
    FIGURE.write_text("\n".join(parts) + "\n", encoding="utf-8")


def main() -> None:
    """Run what was asked for."""
    asked = sys.argv[1:] or ["fit", "small", "sweep"]
    warnings.simplefilter("ignore", UnderstudyWarning)
    for name, report in (("fit", report_fit), ("small", report_small), ("sweep", report_sweeps)):
        if name in asked:
            report()


if __name__ == "__main__":
    main()
