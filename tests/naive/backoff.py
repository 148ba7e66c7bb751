"""Slow twins of the back-off model: plain formulas over dictionaries, and exact enumeration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import product
from math import comb, exp, factorial, fsum, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad

Counts = Sequence[int]  # (label,)


def log_rising(start: float, times: int) -> float:
    """Logarithm of start (start + 1) ... (start + times - 1), factor by factor."""
    return fsum(log(start + step) for step in range(times))


def log_dirichlet_multinomial(counts: Sequence[int], masses: Sequence[float]) -> float:
    """Log probability of a sequence of labels with these counts."""
    total = -log_rising(sum(masses), sum(counts))
    return total + fsum(
        log_rising(mass, n) for n, mass in zip(counts, masses, strict=True) if n > 0
    )


def table_probabilities(customers: int, mass: float) -> NDArray[np.float64]:
    """Exact distribution of the number of tables, customer by customer: (tables,) from 0 on."""
    known = np.array([1.0])
    for customer in range(customers):
        opens = mass / (mass + customer)
        known = np.concatenate([known * (1 - opens), [0.0]]) + np.concatenate(
            [[0.0], known * opens]
        )
    return known


def stirling(customers: int, tables: int) -> int:
    """Unsigned Stirling number of the first kind."""
    row = [1]
    for customer in range(customers):
        row = [
            (row[t - 1] if t > 0 else 0) + customer * (row[t] if t < len(row) else 0)
            for t in range(len(row) + 1)
        ]
    return row[tables] if tables < len(row) else 0


class TinyTree(NamedTuple):
    """A tree as a list: parents, and the label counts of leaves (None for inner nodes)."""

    parent: list[int]  # (node,) -1 for the root, parents before children
    counts: list[Counts | None]  # (node,)
    n_labels: int

    def depth(self, node: int) -> int:
        """Count the nodes above."""
        return 0 if self.parent[node] < 0 else 1 + self.depth(self.parent[node])


Tables = tuple[tuple[int, ...], ...]  # (node, label) tables that the node opens in its parent


def table_configurations(tree: TinyTree) -> Iterator[tuple[Tables, Tables]]:
    """All tables (node, label) of a tree, each with the records (node, label) they give."""

    def below(node: int, tables: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
        own = tree.counts[node]
        if own is not None:
            return tuple(own)
        children = [child for child, above in enumerate(tree.parent) if above == node]
        return tuple(
            sum(tables[child][label] for child in children) for label in range(tree.n_labels)
        )

    def go(node: int, tables: dict[int, tuple[int, ...]]) -> Iterator[dict[int, tuple[int, ...]]]:
        if node == 0:
            yield dict(tables)
            return
        ranges = [range(1, n + 1) if n else range(1) for n in below(node, tables)]
        for own in product(*ranges):
            yield from go(node - 1, {**tables, node: own})

    for tables in go(len(tree.parent) - 1, {}):
        records = tuple(below(node, tables) for node in range(len(tree.parent)))
        zero = (0,) * tree.n_labels
        yield tuple(tables.get(node, zero) for node in range(len(tree.parent))), records


def log_prior(log_c: float, middle: float) -> float:
    """Log density of log c where c / (c + middle) is uniform."""
    c = exp(log_c)
    return log(middle) + log_c - 2 * log(middle + c)


def concentration_terms(
    tree: TinyTree, tables: Tables, records: Tables, depth: int
) -> list[tuple[int, int]]:
    """Records and tables of the nodes of one depth."""
    return [
        (sum(records[node]), sum(tables[node]))
        for node in range(len(tree.parent))
        if tree.depth(node) == depth
    ]


def log_weight_of_concentration(
    log_c: float, terms: Sequence[tuple[int, int]], middle: float
) -> float:
    """Log density, up to a constant, of log c given records and tables of its nodes."""
    c = exp(log_c)
    return log_prior(log_c, middle) + fsum(t * log_c - log_rising(c, n) for n, t in terms)


def exact_records(
    tree: TinyTree, root_prior: float, middle: float
) -> dict[Hashable, tuple[float, dict[int, list[tuple[int, int]]]]]:
    """Exact posterior of the records of inner nodes, concentrations and distributions integrated.

    By the records of all nodes: their probability, and for each depth what the concentration's
    posterior given them depends on. Tables that give the same records have the same number in all.
    """
    deepest = max(tree.depth(node) for node in range(len(tree.parent)))
    weights: dict[Hashable, float] = {}
    terms_of: dict[Hashable, dict[int, list[tuple[int, int]]]] = {}
    integrals: dict[Hashable, float] = {}
    for tables, records in table_configurations(tree):
        weight = log_dirichlet_multinomial(records[0], [root_prior] * tree.n_labels)
        terms = {d: concentration_terms(tree, tables, records, d) for d in range(1, deepest + 1)}
        for own in terms.values():
            key = (tuple(sorted(n for n, _ in own)), sum(t for _, t in own))
            if key not in integrals:
                integrals[key] = log(
                    quad(
                        lambda x, own=own: exp(log_weight_of_concentration(x, own, middle)),
                        -40,
                        60,
                        limit=400,
                        points=[-5, 0, 5, 10, 15],
                    )[0]
                )
            weight += integrals[key]
        for node in range(1, len(tree.parent)):
            for label in range(tree.n_labels):
                weight += log(stirling(records[node][label], tables[node][label]))
        whole = tuple(records)
        weights[whole] = weights.get(whole, 0.0) + exp(weight)
        terms_of[whole] = terms
    total = fsum(weights.values())
    return {key: (weight / total, terms_of[key]) for key, weight in weights.items()}


def pairs_of_rows(
    leaves: Sequence[int], labels: Sequence[int], counts: Sequence[int], parent: Sequence[int]
) -> tuple[set[tuple[int, int]], Counter[tuple[int, int]]]:
    """Non-empty (node, label) pairs of a tree, and the records of leaves' pairs."""
    at_leaves: Counter[tuple[int, int]] = Counter()
    every = set()
    for leaf, label, count in zip(leaves, labels, counts, strict=True):
        at_leaves[leaf, label] += count
        node = leaf
        while node >= 0:
            every.add((node, label))
            node = parent[node]
    return every, at_leaves


def gains(
    table: NDArray[np.int64], prior: Sequence[float], weight: float, grid: Sequence[float]
) -> list[float]:
    """What a split gains at each concentration, part by part from its definition.

    Labels that occur in no part, of the prior weight that is left, get one mass of their own.
    """
    n_parts = table.shape[0]
    result = []
    for c in grid:
        total = 0.0
        for part in range(n_parts):
            rest = np.delete(table, part, axis=0).sum(axis=0) + np.asarray(prior)
            masses = [*rest, weight - sum(prior) + 1e-300]
            size = sum(masses)
            own = [*table[part], 0]
            shrunk = [mass * c / (c + size) for mass in masses]
            total += log_dirichlet_multinomial(own, shrunk)
            total -= log_dirichlet_multinomial(own, masses)
        result.append(total * (n_parts - 1) / n_parts)
    return result


def along_first_axis(table: NDArray[np.int64], q: NDArray[np.float64]) -> list[int]:
    """Levels in the order of a correspondence analysis around shares q (label,), by its SVD."""
    sizes = table.sum(axis=1, keepdims=True)  # (level, 1)
    residuals = (table - sizes * q) / np.sqrt(sizes * q)  # (level, label)
    scores = np.linalg.svd(residuals)[0][:, 0] / np.sqrt(sizes[:, 0])  # (level,)
    return [int(level) for level in np.argsort(scores)]


def merged_levels(
    table: NDArray[np.int64], q: NDArray[np.float64], c: float, cost: Callable[[int, int], float]
) -> list[list[int]]:
    """The most probable groups of levels among those that merging neighbours leads through.

    A group's labels are Dirichlet-multinomial around q, what is left of one being a label that
    nobody has; `cost` is that of putting so many levels into so many groups.
    """

    def log_probability(group: list[int]) -> float:
        masses = [*(c * q), c * (1.0 - q.sum())]
        return log_dirichlet_multinomial([*table[group].sum(axis=0), 0], masses)

    groups = [[level] for level in along_first_axis(table, q)]
    passed = [(fsum(map(log_probability, groups)), groups)]
    while len(groups) > 2:
        ways = [
            [*groups[:at], groups[at] + groups[at + 1], *groups[at + 2 :]]
            for at in range(len(groups) - 1)
        ]
        groups = max(ways, key=lambda way: fsum(map(log_probability, way)))
        passed.append((fsum(map(log_probability, groups)), groups))
    return max(passed, key=lambda own: own[0] - cost(len(table), len(own[1])))[1]


def groupings(n_levels: int, n_groups: int) -> int:
    """Ways to put levels into groups: Stirling numbers of the second kind."""
    onto = sum(
        (-1) ** j * comb(n_groups, j) * (n_groups - j) ** n_levels for j in range(n_groups + 1)
    )
    return int(onto) // factorial(n_groups)
