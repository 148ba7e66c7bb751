"""The DP-areal sampler: whether its chains meet, and what that takes.

``python -m benchmarks.areal fit DATA [--variant script] [--seed 1] [--options JSON]`` fits one data
set with the defaults, or with other options of `fit`, and prints clusters, worst R-hat and least
effective size of what is judged, and processor minutes. DATA is the number of a redrawn population
(0: the bundled data), a plan, whose data are read, ``stops`` (50,000 invented records like traffic
stops), ``r200000`` (so many from the population behind the bundled data), or ``large`` (1,000
patterns by 500 labels). ``small`` gives effective draws a second on 36
cells; ``sweep`` what a sweep costs, and draws ``docs/areal_cost.svg``. Both when nothing is named.
Processor time is printed beside wall time, because a shared machine makes wall time a matter of
luck.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from benchmarks import fits
from benchmarks.backoff import invented_data, labels_of, skewed
from understudy.errors import UnderstudyWarning
from understudy.randomness import stream
from understudy.synthesis.areal import sampler
from understudy.synthesis.areal.poisson_lognormal import new_pieces
from understudy.synthesis.areal.problem import Problem, make_problem, problem_of_counts
from understudy.synthesis.areal.state import init
from understudy.synthesis.diagnostics import count_failed, ess_bulk
from understudy.synthesis.stored_probabilities import KeptCells

SWEEPS = 40
SERIES = 3
FIGURE = Path(__file__).parents[1] / "docs" / "areal_cost.svg"


def large() -> us.Microdata:
    """400,000 records of 1,000 patterns and a skewed label of 500 levels."""
    generator = stream(1, "benchmark", "areal large")
    columns = [generator.integers(0, 10, 400_000) for _ in range(3)]
    shares = skewed(generator, 500, 100, 100.0)
    return invented_data(columns, labels_of(generator, shares, columns[0] * 10 + columns[1]))


def data_of(text: str) -> us.Microdata:
    """Read or invent what was asked for."""
    return large() if text == "large" else fits.data_of(text)


def report_fit(text: str, variant: Any, seed: int, options: dict[str, Any]) -> None:
    """Fit one data set, and print three lines."""
    data = data_of(text)
    begin, begin_wall = time.process_time(), time.monotonic()
    fit = us.DPAreal(variant=variant).fit(data, seed=seed, **options)
    table = fit.diagnostics().filter("judged")
    minutes, wall = (time.process_time() - begin) / 60, (time.monotonic() - begin_wall) / 60
    many = table["quantity"].str.contains("[", literal=True)
    margins = table["quantity"].str.starts_with("label_margin")
    kinds = {"sums": ~many, "margins": margins, "labels": many & ~margins}
    posterior = fit.draws["posterior"]
    by_chain = {
        name: np.asarray(posterior[name]).mean(axis=1)  # (chain,)
        for name in ("occupied_clusters", "log_rate_precision", "log_likelihood")
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(
        f"{text}, {variant}: {len(data.patterns)} patterns, {data.n_labels} labels, "
        f"{make_problem(data).pair_size.size} pairs; {fit!r}; "
        f"clusters {by_chain['occupied_clusters'].mean():.1f}; "
        + ", ".join(fits.worst(table.filter(chosen), kind) for kind, chosen in kinds.items())
        + f"; {count_failed(table)} of {table.height} not met; {minutes:.1f} processor minutes "
        f"({wall:.1f} wall), peak {peak:.2f} GB"
    )
    print("  by chain: " + "; ".join(f"{name} {mean.round(2)}" for name, mean in by_chain.items()))
    print(f"  {fits.chains_in_words(data, fit)}", flush=True)


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
    milliseconds = []
    for _ in range(SERIES):
        begin = time.process_time()
        for _ in range(SWEEPS):
            state = sampler.step(generator, problem, state, priors, pieces)
        milliseconds.append((time.process_time() - begin) / SWEEPS * 1e3)
    return min(milliseconds)


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("fit", "small", "sweep"))
    parser.add_argument("data", nargs="?", default="0")
    parser.add_argument("--variant", default="text")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", type=json.loads, default={})
    asked = parser.parse_args()
    warnings.simplefilter("ignore", UnderstudyWarning)
    if asked.what == "fit":
        report_fit(asked.data, asked.variant, asked.seed, asked.options)
    if asked.what in {"small", None}:
        report_small()
    if asked.what in {"sweep", None}:
        report_sweeps()


if __name__ == "__main__":
    main()
