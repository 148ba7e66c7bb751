"""Variants of the back-off tree that were not taken, by labels held out in five folds.

``python -m benchmarks.backoff_variants [DATA ...]`` (names as in ``benchmarks.comparison``).

Sampled, on the grown tree and in an order of all kept variables: the model as it is; one
concentration for all depths; every node's own records as its data in place of its children's
tables. Not sampled, on the same trees, with means in place of draws and concentrations that are
best for the very labels that are held out, so each score is the most that its variant could
reach: every node's own records as its data, with discounts of 0 to 0.5 (Kneser and Ney); and a
Dirichlet distribution around the product of what each variable tells by itself.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from math import lgamma
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

import understudy as us
from benchmarks.comparison import FOLDS, SOURCES, without
from understudy.microdata.label_table import true_labels
from understudy.randomness import stream
from understudy.synthesis.backoff import gibbs
from understudy.synthesis.backoff.problem import Problem, make_problem
from understudy.synthesis.backoff.synthetic_labels import draw_rows, wanted

MEDIAN = 1000.0
WARMUP, DRAWS, THIN = 200, 100, 3
GRID = 4.0 ** np.arange(0, 10)  # concentrations that are tried
DISCOUNTS = (0.0, 0.1, 0.3, 0.5)


class Fold:
    """Training records, their trees, and where the labels that are held out belong."""

    def __init__(self, data: us.Microdata, order: tuple[str, ...] | None, number: int) -> None:
        fold = stream(1, "folds").permutation(data.n_records) % FOLDS  # (record,)
        self.problem: Problem = make_problem(without(data, np.flatnonzero(fold != number)), order)
        held = data.of_record[fold == number]  # (record held out,)
        columns = [data.names.index(name) for name in self.problem.variables[0]]
        codes = np.ascontiguousarray(data.combinations[held][:, columns])
        self.node = self.problem.nodes(0, codes)  # (record held out,)
        self.label = true_labels(data)[held]
        forest = self.problem.forest
        self.node_of_pair = np.repeat(np.arange(forest.parent.size), np.diff(forest.pair_start))
        self.counts = self._whole_counts()

    def score(self, rows: NDArray[np.float64]) -> float:
        """Log probability of the labels held out, given distributions (node, label)."""
        return float(np.log(rows[self.node, self.label]).sum())

    def _whole_counts(self) -> NDArray[np.float64]:
        """Every node's own records: (node, label)."""
        forest = self.problem.forest
        n_nodes, n_labels = forest.parent.size, int(forest.n_labels[0])
        counts = np.zeros((n_nodes, n_labels))
        counts[self.node_of_pair, forest.pair_label] = forest.counts
        for number in range(n_nodes - 1, 0, -1):
            counts[forest.parent[number]] += counts[number]
        return counts


@njit
def _density_of_one(c, forest, records, probability):  # type: ignore[no-untyped-def]
    """Log density of one concentration given the distributions of inner nodes."""
    total = 0.0
    for node in range(forest.n_labels.size, forest.parent.size):
        first, last = forest.pair_start[node], forest.pair_start[node + 1]
        leaf, n, left, rest = forest.counts[first] > 0, 0, 1.0, 1.0
        for pair in range(first, last):
            share = probability[forest.pair_above[pair]]
            if leaf:
                n += records[pair]
                total += gibbs.log_rising(c * share, records[pair])
            else:
                left -= share
                rest -= probability[pair]
                total += (c * share - 1.0) * np.log(probability[pair]) - lgamma(c * share)
        if leaf:
            total -= gibbs.log_rising(c, n)
        else:
            total += lgamma(c)
            if c * left > 1e-9:
                total += (c * left - 1.0) * np.log(max(rest, 1e-300)) - lgamma(c * left)
    return total


def _sweep_as_it_is(generator: np.random.Generator, fold: Fold, state: Any) -> None:
    gibbs.step(generator, fold.problem.forest, state, MEDIAN, 1.0)


def _sweep_one_concentration(generator: np.random.Generator, fold: Fold, state: Any) -> None:
    forest, here = fold.problem.forest, float(np.log(state.concentration[0]))

    def density(log_c: float) -> float:
        terms = _density_of_one(np.exp(log_c), forest, state.records, state.probability)
        return float(terms) + float(gibbs.log_prior(log_c, MEDIAN))

    for width in (0.03, 0.15, 0.8):
        there = here + width * generator.standard_normal()
        if np.log1p(-generator.random()) < density(there) - density(here):
            here = there
    state.concentration[:] = np.exp(here)
    gibbs.draw_tables(generator, forest, state.concentration, state.records, state.probability)
    gibbs.draw_distributions(
        generator, forest, state.concentration, state.records, state.probability
    )


def _sweep_own_records(generator: np.random.Generator, fold: Fold, state: Any) -> None:
    forest = fold.problem.forest
    state.records[:] = fold.counts[fold.node_of_pair, forest.pair_label]
    for group in range(forest.n_groups - 1, -1, -1):
        gibbs._move_concentration(
            generator, forest, group, state.concentration, state.records, state.probability, MEDIAN
        )
    gibbs.draw_distributions(
        generator, forest, state.concentration, state.records, state.probability
    )


def sampled(folds: list[Fold], sweep: Callable[..., None]) -> float:
    """Score of posterior means, from two chains for each fold."""
    total = 0.0
    for number, fold in enumerate(folds):
        forest = fold.problem.forest
        every = wanted(forest, np.arange(forest.parent.size))
        rows = np.zeros((forest.parent.size, every.n_labels))  # (node, label)
        for chain, start in enumerate((100.0, 10_000.0)):
            generator = stream(1, "variants", number, chain)
            state = gibbs.init(forest, start)
            for index in range(WARMUP + DRAWS * THIN):
                sweep(generator, fold, state)
                if index >= WARMUP and index % THIN == 0:
                    rows += draw_rows(generator, forest, every, state.concentration, state.records)
        total += fold.score(rows / rows.sum(axis=1, keepdims=True))
    return total


def _means(fold: Fold, c: NDArray[np.float64], discount: float) -> NDArray[np.float64]:
    """Distributions (node, label) at their means, every node's own records as its data."""
    forest, counts = fold.problem.forest, fold.counts
    rows = np.empty_like(counts)
    rows[0] = (counts[0] + forest.root_prior) / (counts[0] + forest.root_prior).sum()
    for node in range(1, counts.shape[0]):
        occurs = counts[node] > 0
        weight = c[forest.group[node]] + discount * occurs.sum()
        kept = counts[node] - discount * occurs
        rows[node] = (kept + weight * rows[forest.parent[node]]) / (kept.sum() + weight)
    return rows


def at_best(score: Callable[[NDArray[np.float64]], float], n_groups: int) -> float:
    """Find the best concentrations, one after another, twice round."""
    best = np.full(n_groups, 256.0)
    most = score(best)
    for _ in range(2):
        for group in range(n_groups):
            for value in GRID:
                tried = best.copy()
                tried[group] = value
                scored = score(tried)
                if scored > most:
                    best, most = tried, scored
    return most


def discounted(folds: list[Fold], discount: float) -> float:
    """Score of means with a discount; the folds' trees differ, so do their concentrations."""
    return sum(
        at_best(
            lambda c, fold=fold: fold.score(_means(fold, c, discount)),  # type: ignore[misc]
            fold.problem.forest.n_groups,
        )
        for fold in folds
    )


def additive(data: us.Microdata) -> float:
    """Score of a Dirichlet distribution around the product of what each variable tells."""
    order = tuple(data.predictors)
    whole = [Fold(data, order, number) for number in range(FOLDS)]
    alone = [[Fold(data, (name,), number) for name in order] for number in range(FOLDS)]
    total = 0.0
    for fold, parts in zip(whole, alone, strict=True):
        counts = fold.counts

        def rows_of(
            c: NDArray[np.float64], fold: Fold = fold, parts: Any = parts, n: Any = counts
        ) -> float:
            base = np.zeros((fold.node.size, n.shape[1]))  # (record held out, label)
            for part in parts:
                rows = np.log(_means(part, c[:1], 0.0))
                base += rows[part.node] - rows[0]
            base = np.exp(base + rows[0])
            base /= base.sum(axis=1, keepdims=True)
            own = n[fold.node]
            mean = (own + c[1] * base) / (own.sum(axis=1, keepdims=True) + c[1])
            return float(np.log(mean[np.arange(fold.label.size), fold.label]).sum())

        total += at_best(rows_of, 2)
    return total


def report(name: str) -> None:
    """Print the scores of all variants on one file."""
    data = SOURCES[name].read()
    print(f"{name}: {data.n_records:,} records", flush=True)
    for order in (None, tuple(data.predictors)):
        folds = [Fold(data, order, number) for number in range(FOLDS)]
        begin = time.process_time()
        scores = {
            "as it is": sampled(folds, _sweep_as_it_is),
            "one concentration": sampled(folds, _sweep_one_concentration),
            "own records": sampled(folds, _sweep_own_records),
        }
        for discount in DISCOUNTS:
            scores[f"means, discount {discount:g}"] = discounted(folds, discount)
        if order is not None:
            scores["means, additive"] = additive(data)
        first = scores["as it is"]
        words = ", ".join(f"{key} {value - first:+.1f}" for key, value in scores.items())
        print(
            f"  {'grown' if order is None else ', '.join(order)}: {first:,.1f}; {words}; "
            f"{time.process_time() - begin:.0f} processor s",
            flush=True,
        )


def main() -> None:
    """Compare variants on what was asked for."""
    for name in sys.argv[1:] or ["0", "chem97", "stops", "votes", "communes"]:
        report(name)


if __name__ == "__main__":
    main()
