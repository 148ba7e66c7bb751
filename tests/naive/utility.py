"""Slow, obvious twins of utility: dictionaries, loops and textbook formulas."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = Sequence[Mapping[str, str]]
Numbers = NDArray[np.float64]


def table(rows: Rows, names: Sequence[str]) -> Counter[tuple[str, ...]]:
    """Count a table record by record."""
    return Counter(tuple(row[name] for name in names) for row in rows)


def tables_of(synthesized: Sequence[str], kept: Sequence[str], order: int) -> list[tuple[str, ...]]:
    """All tables of an order that hold a synthesized variable."""
    names = [*synthesized, *kept]
    return [
        combination
        for combination in itertools.combinations(names, order)
        if any(n in synthesized for n in combination)
    ]


def deviation(original: Rows, synthetic: Rows, names: Sequence[str]) -> int:
    """Sum of absolute differences of counts."""
    first, second = table(original, names), table(synthetic, names)
    return sum(abs(first[cell] - second[cell]) for cell in set(first) | set(second))


def measures(
    original: Rows, synthetic: Rows, names: Sequence[str], kept: Sequence[str]
) -> dict[str, float]:
    """The standardized measures from their definitions, record by record where they are so."""
    first, second = table(original, names), table(synthetic, names)
    cells = set(first) | set(second)
    n = len(original)
    stacked = [*original, *synthetic]
    score = {cell: second[cell] / (first[cell] + second[cell]) for cell in cells}
    pmse = sum((score[tuple(row[k] for k in names)] - 0.5) ** 2 for row in stacked) / (2 * n)
    tukey = 4 * sum((math.sqrt(first[cell]) - math.sqrt(second[cell])) ** 2 for cell in cells)
    places = [names.index(name) for name in kept if name in names]
    margins = {tuple(cell[index] for index in places) for cell in cells}
    everything, partial = len(cells) - 1, len(cells) - len(margins)
    null = 0.5 * 0.25 / (2 * n)  # c (1 - c)^2 / N with c one half and N stacked records
    return {
        "deviation": sum(abs(first[cell] - second[cell]) for cell in cells),
        "total_variation": 0.5 * sum(abs(first[c] / n - second[c] / n) for c in cells),
        "pmse": pmse,
        "s_pmse": pmse / (everything * null) if everything else math.nan,
        "s_pmse_partial": pmse / (partial * null) if partial else math.nan,
        "freeman_tukey": tukey,
        "s_freeman_tukey": tukey / everything if everything else math.nan,
        "s_freeman_tukey_partial": tukey / partial if partial else math.nan,
    }


def logit_interval(share: float, error: float, reach: float) -> tuple[float, float]:
    """Interval of a share by the delta method on the logit scale."""
    centre = math.log(share / (1 - share))
    way = reach * error / (share * (1 - share))
    low, high = (1 / (1 + math.exp(-(centre + sign * way))) for sign in (-1, 1))
    return low, high


def binomial_masses(trials: int, chance: float) -> Numbers:
    """Probabilities of 0 to trials successes."""
    return np.array(
        [math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)]
    )


def expected_deviation(parts: Sequence[tuple[int, int]]) -> float:
    """Mean absolute deviation of a sum of binomials (trials, mean), by convolution."""
    masses = np.array([1.0])
    for trials, mean in parts:
        masses = np.convolve(masses, binomial_masses(trials, mean / trials))
    centre = sum(mean for _, mean in parts)
    return float(sum(mass * abs(count - centre) for count, mass in enumerate(masses)))


def deviation_of_two(parts: Sequence[tuple[int, int]]) -> float:
    """Mean absolute difference of two independent sums of binomials, by enumeration."""
    masses = np.array([1.0])
    for trials, mean in parts:
        masses = np.convolve(masses, binomial_masses(trials, mean / trials))
    return float(
        sum(
            own * other * abs(count - other_count)
            for count, own in enumerate(masses)
            for other_count, other in enumerate(masses)
        )
    )


def binomial_deviation(trials: int, mean: int) -> float:
    """De Moivre's closed form: twice (1 - p) (k + 1) P(count = k + 1), k the mean."""
    if mean in {0, trials}:
        return 0.0
    chance = mean / trials
    log_ways = math.lgamma(trials + 1) - math.lgamma(mean + 2) - math.lgamma(trials - mean)
    log_mass = log_ways + (mean + 1) * math.log(chance) + (trials - mean - 1) * math.log1p(-chance)
    return 2 * (1 - chance) * (mean + 1) * math.exp(log_mass)


def table_floor(
    rows: Rows,
    names: Sequence[str],
    kept: Sequence[str],
    synthesized: Sequence[str],
    of_cell: Callable[[Sequence[tuple[int, int]]], float] = expected_deviation,
) -> float:
    """Expected deviation of a table under the perfect synthesizer, cell by cell."""
    sizes = table(rows, kept)
    drawn = [name for name in synthesized if name in names]
    parts: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for key, count in table(rows, [*kept, *drawn]).items():
        levels = dict(zip([*kept, *drawn], key, strict=True))
        cell = tuple(levels[name] for name in names)
        parts.setdefault(cell, []).append((sizes[key[: len(kept)]], count))
    return sum(of_cell(cell_parts) for cell_parts in parts.values())


def pattern_distance(
    original: Rows, synthetic: Rows, kept: Sequence[str], drawn: Sequence[str]
) -> dict[tuple[str, ...], float]:
    """Total variation distance of labels within each pattern."""
    sizes = table(original, kept)
    names = [*kept, *drawn]
    first, second = table(original, names), table(synthetic, names)
    distance = dict.fromkeys(sizes, 0.0)
    for cell in set(first) | set(second):
        pattern = cell[: len(kept)]
        distance[pattern] += 0.5 * abs(first[cell] - second[cell]) / sizes[pattern]
    return distance


def wasserstein(first: Sequence[float], second: Sequence[float]) -> float:
    """Distance between samples of any sizes: repeat each until they are equally long, and sort."""
    size = math.lcm(len(first), len(second))
    own = sorted(value for value in first for _ in range(size // len(first)))
    other = sorted(value for value in second for _ in range(size // len(second)))
    return sum(abs(a - b) for a, b in zip(own, other, strict=True)) / size


def indicator_matrix(columns: Sequence[str], rows: Rows) -> Numbers:
    """Dense design from the names of its columns, such as ``a[x]:b[y]``."""
    matrix = np.zeros((len(rows), len(columns)))
    for index, column in enumerate(columns):
        wanted = [part[:-1].split("[", 1) for part in column.split(":")]
        for number, row in enumerate(rows):
            matrix[number, index] = all(row[name] == level for name, level in wanted)
    return matrix


def ordered_log_likelihood(cuts: Any, slopes: Any, matrix: Numbers, categories: Any) -> float:
    """Log-likelihood of an ordered logit, category by category."""
    edges = [-math.inf, *[float(cut) for cut in cuts], math.inf]
    total = 0.0
    for row, category in zip(matrix, categories, strict=True):
        centre = float(row @ np.asarray(slopes))
        above = 1 / (1 + math.exp(-(edges[category + 1] - centre)))
        lower = edges[category] - centre
        below = 0.0 if lower == -math.inf else 1 / (1 + math.exp(-lower))
        total += math.log(above - below)
    return total
