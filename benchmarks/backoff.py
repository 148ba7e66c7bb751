"""The back-off tree: time, memory, convergence, and what its sets are worth.

``python benchmarks/backoff.py [bundled] [score] [stops] [million] [wide] [ten-million]``, the first
five when nothing is named. Processor time is printed beside wall time, because a shared machine
makes wall time a matter of luck. Invented files have labels that depend on some of their variables.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import understudy as us
from understudy.errors import UnderstudyWarning
from understudy.microdata.coding import regroup
from understudy.microdata.table import Microdata
from understudy.microdata.variable import Variable
from understudy.randomness import stream

FOLDS = 5


def invented_data(columns: list[NDArray[np.int64]], labels: NDArray[np.int64]) -> Microdata:
    """Make data of columns of codes and a label."""
    every = np.stack([*columns, labels], axis=1).astype(np.int32)  # (record, variable)
    sizes = every.max(axis=0) + 1
    variables = tuple(
        Variable(
            f"v{number}" if number < len(columns) else "label",
            "kept" if number < len(columns) else "synthesized",
            tuple(f"{level:04d}" for level in range(size)),
        )
        for number, size in enumerate(sizes)
    )
    ones = np.ones(labels.size, dtype=np.int64)
    order = np.arange(labels.size, dtype=np.int32)
    codes, counts, of_record = regroup(every, ones, order, list(map(int, sizes)))
    return Microdata(variables, codes, counts, of_record)


def skewed(
    generator: np.random.Generator, n_labels: int, n_groups: int, spread: float
) -> NDArray[np.float64]:
    """Draw label distributions (group, label) around a skewed one."""
    base = 1.0 / np.arange(1, n_labels + 1) ** 1.1
    shares = generator.standard_gamma(spread * base / base.sum(), (n_groups, n_labels)) + 1e-12
    scaled: NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
    return scaled


def labels_of(
    generator: np.random.Generator, shares: NDArray[np.float64], groups: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Draw a label for every record from its group's distribution."""
    cumulative = np.cumsum(shares, axis=1)
    uniform = generator.random(groups.size)
    labels = np.empty(groups.size, dtype=np.int64)
    for group in range(shares.shape[0]):
        own = groups == group
        labels[own] = np.searchsorted(cumulative[group], uniform[own] * cumulative[group, -1])
    np.minimum(labels, shares.shape[1] - 1, out=labels)
    return labels


def stops() -> Microdata:
    """50,000 records like traffic stops: about 170 patterns, a skewed label of 87 levels."""
    generator = stream(1, "benchmark", "stops")
    n = 50_000
    sex, race = generator.integers(0, 2, n), np.minimum(generator.geometric(0.5, n) - 1, 4)
    age = generator.integers(0, 6, n)
    outcome = np.where(generator.random(n) < 0.1, 1, 0) * generator.integers(1, 3, n)
    group = race * 6 + age
    shares = skewed(generator, 87, 30, 60.0)
    return invented_data([sex, race, age, outcome], labels_of(generator, shares, group))


def large(n: int) -> Microdata:
    """Records of eight kept variables and 500 labels."""
    generator = stream(1, "benchmark", "large")
    sizes = (2, 3, 4, 5, 6, 8, 10, 12)
    columns = [generator.integers(0, size, n) for size in sizes]
    group = columns[3] * 60 + columns[5] // 2 * 15 + columns[2] // 2 * 5 + columns[0]
    shares = skewed(generator, 500, 300, 200.0)
    return invented_data(columns, labels_of(generator, shares, group))


def wide() -> Microdata:
    """50,000 records of sixty kept variables: every pattern is a single record."""
    generator = stream(1, "benchmark", "wide")
    n = 50_000
    columns = [generator.integers(0, 2 + number % 5, n) for number in range(60)]
    group = columns[3] * 12 + columns[2] * 3 + columns[1]
    shares = skewed(generator, 60, 60, 40.0)
    return invented_data(columns, labels_of(generator, shares, group))


def timed(action: Callable[[], Any]) -> tuple[Any, str]:
    """Run something; its result, and wall and processor seconds in words."""
    begin, begin_wall = time.process_time(), time.monotonic()
    result = action()
    spent, wall = time.process_time() - begin, time.monotonic() - begin_wall
    return result, f"{wall:.1f} s wall, {spent:.1f} s processor"


def report_fit(name: str, data: Microdata, settings: us.BackoffTree, **options: Any) -> Any:
    """Fit, diagnose, draw 20 sets; print what that took and gave."""
    fit, took = timed(lambda: settings.fit(data, seed=1, **options))
    sets, took_sets = timed(lambda: fit.synthesize(m=20, seed=2))
    forest = fit.cells.problem.forest
    table = fit.diagnostics(most_cells=None)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    depths = [
        f"{float(np.median(fit.chain_draws.scalars[key])):.3g}" for key in concentrations(fit)
    ]
    print(
        f"{name}, {settings.order}, scale {settings.scale:g}: {data.n_records:,} records, "
        f"{len(data.patterns):,} patterns, {data.n_labels} labels\n"
        f"  {int((forest.counts > 0).sum()):,} leaf pairs of {forest.counts.size:,}, "
        f"{forest.parent.size:,} nodes, concentrations {', '.join(depths)}\n"
        f"  fit {took}; 20 sets {took_sets}; peak {peak:.2f} GB; "
        f"{'converged' if fit.converged else 'not converged'}: worst R-hat "
        f"{table['rhat'].max():.4f}, least bulk {table['ess_bulk'].min():.0f}, tail "
        f"{table['ess_tail'].min():.0f} of {table.height} quantities"
    )
    return fit, sets


def concentrations(fit: Any) -> list[str]:
    """Name the concentrations among a fit's scalars."""
    return [key for key in fit.chain_draws.scalars if key.startswith("concentration_")]


def report_worth(data: Microdata, sets: Any) -> None:
    """Right labels, and deviations of tables against the resampled floor."""
    counts = np.zeros((len(data.patterns), data.n_labels))  # (pattern, label)
    label = data.names.index(data.synthesized[0])
    np.add.at(counts, (data.patterns.of_combination, data.combinations[:, label]), data.counts)
    size = counts.sum(axis=1, keepdims=True)  # (pattern, 1)
    others = (counts * (counts - 1) / np.maximum(size - 1, 1)).sum()
    right = (sets.codes[:, :, 0] == data.codes(data.synthesized[0])).sum(axis=1).mean()
    utility = us.table_utility(data, sets, orders=(1, 2, 3))
    ratios = [utility.deviation[order] / utility.noise_floor[order] for order in (1, 2, 3)]
    print(
        f"  right labels {right:.1f}; Others {others:.1f}, Perfect {(counts**2 / size).sum():.1f}; "
        f"deviations over the resampled floor {', '.join(f'{ratio:.2f}' for ratio in ratios)}"
    )


def report_bundled() -> None:
    """The bundled data: grown, in the best fixed order, and at two scales."""
    data = us.load_ce_like()
    us.BackoffTree(scale=0.5).fit(data, chains=2, warmup=4, draws=4, thin=1, seed=1)
    for settings in (
        us.BackoffTree(),
        us.BackoffTree(order=["income", "age", "gender"]),
        us.BackoffTree(scale=0.2),
        us.BackoffTree(scale=5.0),
    ):
        _, sets = report_fit("bundled", data, settings)
        report_worth(data, sets)


def held_out(data: Microdata, settings: Any, **options: Any) -> float:
    """Log probability of labels held out in five folds, by the posterior mean of a fit."""
    fold = stream(1, "benchmark", "folds").integers(0, FOLDS, data.n_records)  # (record,)
    total = 0.0
    for number in range(FOLDS):
        records = data.of_record[fold != number]
        counts = np.bincount(records, minlength=data.n_combinations)
        rest = replace(
            data,
            combinations=data.combinations[counts > 0],
            counts=counts[counts > 0],
            of_record=(np.cumsum(counts > 0) - 1)[records].astype(np.int32),
        )
        fit = settings.fit(rest, seed=1, **options)
        table = np.mean(list(fit.predictive_tables()), axis=0)  # (pattern, label)
        codes = {tuple(row): index for index, row in enumerate(rest.patterns.codes)}
        left = data.of_record[fold == number]
        pattern = data.patterns.codes[data.patterns.of_combination[left]]
        label = data.combinations[left, data.names.index(data.synthesized[0])]
        rows = [codes[tuple(row)] for row in pattern]
        total += float(np.log(table[rows, label]).sum())
    return total


def report_score() -> None:
    """Held-out log scores on the bundled data."""
    data = us.load_ce_like()
    short = {"warmup": 200, "draws": 100, "thin": 4}
    for settings in (us.BackoffTree(), us.BackoffTree(order=["income", "age", "gender"])):
        print(f"held-out log score {held_out(data, settings, **short):,.1f}: {settings}")
    dpmpm = us.DPMPM()
    long = {"warmup": 2000, "draws": 100, "thin": 10, "chains": 2}
    print(f"held-out log score {held_out(data, dpmpm, **long):,.1f}: {dpmpm}")


def report_stops() -> None:
    """The file like traffic stops."""
    data = stops()
    _, sets = report_fit("stops", data, us.BackoffTree())
    report_worth(data, sets)
    _, sets = report_fit("stops", data, us.BackoffTree(order=["v1", "v2", "v0", "v3"]))
    report_worth(data, sets)


def report_million() -> None:
    """1 million records."""
    report_fit("1 million", large(1_000_000), us.BackoffTree())


def report_ten_million() -> None:
    """10 million records."""
    report_fit("10 million", large(10_000_000), us.BackoffTree())


def report_wide() -> None:
    """Sixty kept variables."""
    report_fit("sixty variables", wide(), us.BackoffTree())


def main() -> None:
    """Run what was asked for."""
    reports = {
        "bundled": report_bundled,
        "score": report_score,
        "stops": report_stops,
        "wide": report_wide,
        "million": report_million,
        "ten-million": report_ten_million,
    }
    warnings.simplefilter("ignore", UnderstudyWarning)
    asked = sys.argv[1:] or list(reports)[:-1]
    for name in asked:
        reports[name]()


if __name__ == "__main__":
    main()
