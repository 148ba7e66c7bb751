"""The back-off sampler against exact results: enumeration, closed forms and limits.

Invariance is tested with independent draws: a state is drawn from the exact posterior, sweeps are
made, and what comes out must again be a draw from the exact posterior. Every test uses a fixed
seed; its false-alarm rate is how likely a correct program was to fail when the seed was chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from functools import cache
from math import exp

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, kstest
from tests.naive import backoff as naive
from tests.statistics.tiny import chi_square_p
from tests.statistics.tiny_backoff import (
    MIDDLE,
    TREE,
    at_pairs,
    forest_of,
    forest_of_two,
    records_key,
    state_of,
)

from understudy.randomness import stream
from understudy.synthesis.backoff import gibbs
from understudy.synthesis.backoff.node_counts import Forest
from understudy.synthesis.backoff.synthetic_labels import draw_rows, wanted
from understudy.synthesis.backoff.tree import ROOT_PRIOR

DRAWS = 6_000
FALSE_ALARM = 1e-4
FOREST = forest_of(TREE)
NODES = np.arange(5)
# Before it another tree, of four labels; its concentration is the first of three.
OTHER = naive.TinyTree([-1, 0, 0], [None, (1, 4, 0, 2), (3, 0, 1, 1)], 4)
WITH_OTHER, NODES_WITH_OTHER = forest_of_two(OTHER, TREE)

Levels = Callable[[float], float]


@pytest.mark.parametrize("mass", [0.003, 0.7, 20.0, 150.0, 40_000.0])
@pytest.mark.parametrize("customers", [1, 2, 24, 64, 65, 100, 700])
def test_number_of_tables_is_exact(customers: int, mass: float) -> None:
    """Chi-square of 12,000 draws; false-alarm rate 1e-4 per case."""
    generator = stream(301, "tables", customers, str(mass))
    seen = Counter(int(gibbs.n_tables(generator, customers, mass)) for _ in range(12_000))
    probability = naive.table_probabilities(customers, mass)
    exact = {tables: float(p) for tables, p in enumerate(probability) if p > 0}
    assert len(exact) == 1 or chi_square_p(seen, exact) > FALSE_ALARM
    assert min(seen) >= 1
    assert max(seen) <= customers


def test_many_tables_have_the_exact_mean_and_variance() -> None:
    """A hundred thousand customers, 2,000 draws: within five standard errors (below 1e-5)."""
    customers = np.arange(100_000)
    for mass in (0.4, 900.0, 2e6):
        generator = stream(302, "many tables", str(mass))
        drawn = np.array([gibbs.n_tables(generator, customers.size, mass) for _ in range(2_000)])
        opens = mass / (mass + customers)
        mean, variance = opens.sum(), (opens * (1 - opens)).sum()
        assert abs(drawn.mean() - mean) < 5 * np.sqrt(variance / drawn.size)
        assert abs(drawn.var() / variance - 1) < 5 * np.sqrt(2.5 / drawn.size)


@pytest.mark.parametrize("start", [1e-9, 0.2, 3.0, 11.9, 12.1, 5e3, 1e9])
@pytest.mark.parametrize("times", [0, 1, 2, 6, 7, 30, 2_000])
def test_log_rising(start: float, times: int) -> None:
    expected = naive.log_rising(start, times)
    assert gibbs.log_rising(start, times) == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_density_ratios_of_a_concentration() -> None:
    """Ratios of the marginal at two concentrations are those of Dirichlet-multinomials."""
    distributions = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]] + [[1 / 3] * 3] * 3)
    state = state_of(FOREST, np.ones(2), distributions)
    for group, nodes in enumerate([(1, 2), (3, 4)]):
        records = np.array(records_key(FOREST, state.records, 3))
        gathered = gibbs._gathered(FOREST, group, state.records, state.probability)

        def twin(c: float, nodes=nodes, records=records) -> float:  # type: ignore[no-untyped-def]
            return sum(
                naive.log_dirichlet_multinomial(records[node], c * distributions[TREE.parent[node]])
                for node in nodes
            )

        for c in (0.02, 5.0, 800.0, 3e6):
            ours = gibbs.log_marginal(c, *gathered) - gibbs.log_marginal(1.0, *gathered)
            assert ours == pytest.approx(twin(c) - twin(1.0), rel=1e-9, abs=1e-9)
    for log_c in (-9.0, 0.0, 4.0, 30.0):
        difference = gibbs.log_prior(log_c, MIDDLE) - gibbs.log_prior(1.0, MIDDLE)
        expected = naive.log_prior(log_c, MIDDLE) - naive.log_prior(1.0, MIDDLE)
        assert difference == pytest.approx(expected, abs=1e-12)


@cache
def concentration_levels(
    terms: tuple[tuple[int, int], ...],
) -> tuple[Callable[[float], float], Levels]:
    """Quantiles and distribution function of log c given records and tables of its nodes."""
    grid = np.linspace(-18, 25, 4_001)
    logs = np.array([naive.log_weight_of_concentration(x, terms, MIDDLE) for x in grid])
    density = np.exp(logs - logs.max())
    cumulative = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    cumulative /= cumulative[-1]
    return (
        lambda uniform: float(np.interp(uniform, cumulative, grid)),
        lambda value: float(np.interp(value, grid, cumulative)),
    )


def drawn_distributions(
    generator: np.random.Generator,
    records: NDArray[np.int64],
    concentration: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Whole distributions (node, label) of the tiny tree, by NumPy."""
    table = np.empty(records.shape)
    for node, parent in enumerate(TREE.parent):
        prior = (
            np.full(3, ROOT_PRIOR)
            if parent < 0
            else concentration[TREE.depth(node) - 1] * table[parent]
        )
        table[node] = generator.dirichlet(np.maximum(prior + records[node], 1e-290))
    return np.maximum(table, 1e-300)


@pytest.mark.parametrize(
    ("forest", "nodes"),
    [(FOREST, NODES), (WITH_OTHER, NODES_WITH_OTHER)],
    ids=["alone", "beside another"],
)
def test_sweep_leaves_the_exact_posterior_unchanged(
    forest: Forest, nodes: NDArray[np.int64]
) -> None:
    """All table configurations of five nodes by three labels; 1e-4 for tables and each c."""
    exact = naive.exact_records(TREE, ROOT_PRIOR, MIDDLE)
    keys = list(exact)
    generator = stream(303, "enumeration")
    other = forest.n_groups - 2  # its concentrations come first
    chosen = generator.choice(len(keys), size=DRAWS, p=[exact[key][0] for key in keys])
    quantiles = {
        key: [concentration_levels(tuple(terms)) for _, terms in sorted(exact[key][1].items())]
        for key in keys
    }
    seen: Counter[Hashable] = Counter()
    levels = np.empty((DRAWS, 2))  # (draw, depth)
    for draw in range(DRAWS):
        key = keys[chosen[draw]]
        c = np.array([exp(quantile(generator.random())) for quantile, _ in quantiles[key]])
        distributions = np.full((forest.parent.size, forest.n_labels.max()), 0.25)
        distributions[nodes, :3] = drawn_distributions(generator, np.array(key), c)
        state = state_of(forest, np.append(np.ones(other), c), distributions)
        for _ in range(3):
            gibbs.step(generator, forest, state, MIDDLE, 1.0)
        rows = records_key(forest, state.records, forest.n_labels.max())
        after = tuple(rows[node][:3] for node in nodes)
        seen[after] += 1
        own = state.concentration[other:]
        levels[draw] = [
            level(np.log(value)) for (_, level), value in zip(quantiles[after], own, strict=True)
        ]
    assert len(exact) > 30
    assert chi_square_p(seen, {key: value[0] for key, value in exact.items()}) > FALSE_ALARM
    for depth in range(2):
        assert kstest(levels[:, depth], "uniform").pvalue > FALSE_ALARM


def test_nothing_is_learned_from_what_the_scale_makes_of_a_state() -> None:
    """Bit by bit the sweep without a scale, from the same random numbers; no false alarms."""
    plain, scaled = gibbs.init(FOREST, 4.0), gibbs.init(FOREST, 4.0, 0.1)
    for sweep in range(20):
        for state, scale in ((plain, 1.0), (scaled, 0.1)):
            gibbs.step(stream(310, "scale", sweep), FOREST, state, MIDDLE, scale)
        for own, other in zip(plain[:3], scaled[:3], strict=True):
            assert np.array_equal(own, other)
    assert not np.array_equal(scaled.scaled_probability, scaled.probability)


def test_scaled_tables_come_from_scaled_distributions() -> None:
    """Labels that are all but impossible at the root open one table; no false alarms."""
    state = gibbs.init(FOREST, 1e6, 10.0)
    state.scaled_probability[:] = 1e-30
    gibbs.step(stream(313, "scaled tables"), FOREST, state, MIDDLE, 10.0)
    assert records_key(FOREST, state.scaled_records, 3)[:2] == ((2, 2, 1), (2, 1, 1))
    assert sum(records_key(FOREST, state.records, 3)[0]) > 8


@pytest.mark.parametrize(
    ("forest", "nodes"),
    [(FOREST, NODES), (WITH_OTHER, NODES_WITH_OTHER)],
    ids=["alone", "beside another"],
)
def test_distributions_given_tables_are_dirichlet(forest: Forest, nodes: NDArray[np.int64]) -> None:
    """Pairs' probabilities, and whole rows: marginals are beta; false-alarm rate 1e-4 each.

    A child's are looked at given its parent's, by their distribution function.
    """
    generator = stream(304, "distributions")
    concentration = np.array([4.0, 0.8])
    every = np.append(np.full(forest.n_groups - 2, 7.0), concentration)  # the other tree's first
    state = gibbs.init(forest, 1.0)
    asked = wanted(forest, nodes)
    n = np.array(records_key(forest, state.records, forest.n_labels.max()))[nodes]  # (node, label)
    levels: dict[str, list[float]] = {}
    for _ in range(1_500):
        gibbs.draw_distributions(generator, forest, every, state.records, state.probability)
        sparse = _table(forest, state.probability)[nodes]
        whole = draw_rows(generator, forest, asked, every, state.records)
        assert np.allclose(whole.sum(axis=1), 1.0)
        for name, table in (("pairs", sparse), ("rows", whole)):
            for node, label in ((0, 0), (1, 1), (2, 1), (3, 0), (4, 2)):
                prior = np.full(3, ROOT_PRIOR)
                if node > 0:
                    above = table[TREE.parent[node]]
                    prior = concentration[TREE.depth(node) - 1] * above
                mass = prior[label] + n[node, label]
                total = (1.5 if node == 0 else concentration[TREE.depth(node) - 1]) + n[node].sum()
                level = beta.cdf(table[node, label], mass, total - mass)
                levels.setdefault(f"{name} {node}", []).append(float(level))
    assert len(levels) == 10
    for grouped in levels.values():
        assert kstest(grouped, "uniform").pvalue > FALSE_ALARM


def _table(forest: Forest, probability: NDArray[np.float64]) -> NDArray[np.float64]:
    table = np.zeros((forest.parent.size, forest.n_labels.max()))
    node = np.repeat(np.arange(forest.parent.size), np.diff(forest.pair_start))
    table[node, forest.pair_label] = probability
    return table


def test_infinite_concentration_is_the_parent() -> None:
    generator = stream(305, "limit")
    state = gibbs.init(FOREST, 1.0)
    huge = np.full(2, 1e15)
    gibbs.draw_tables(generator, FOREST, huge, state.records, state.probability)
    records = np.array(records_key(FOREST, state.records, 3))
    assert np.array_equal(records[0], [8, 3, 1])  # every record has a table of its own
    rows = draw_rows(generator, FOREST, wanted(FOREST, np.arange(5)), huge, state.records)
    assert np.abs(rows - rows[0]).max() < 1e-6


def test_vanishing_concentration_opens_one_table_and_forgets_the_parent() -> None:
    generator = stream(306, "limit")
    state = gibbs.init(FOREST, 1.0)
    none = np.full(2, 1e-9)
    gibbs.draw_tables(generator, FOREST, none, state.records, state.probability)
    assert np.array_equal(
        np.array(records_key(FOREST, state.records, 3))[:2], [[2, 2, 1], [2, 1, 1]]
    )
    asked = wanted(FOREST, np.arange(5))
    mean = np.mean(
        [draw_rows(generator, FOREST, asked, none, state.records) for _ in range(4_000)], axis=0
    )
    # leaves have Dirichlet(counts): standard errors of at most 0.008, false-alarm rate below 1e-5
    assert (
        np.abs(mean[2:] - np.array([[2, 1, 0], [3, 2, 0], [3, 0, 1]]) / [[3], [5], [4]]).max()
        < 0.04
    )


def test_a_concentration_that_no_record_speaks_of_has_its_prior() -> None:
    """Nodes of one record each: c / (c + median) is uniform; false-alarm rate 1e-4."""
    tree = naive.TinyTree([-1, 0, 0, 0], [None, (1, 0, 0), (0, 1, 0), (0, 1, 0)], 3)
    forest = forest_of(tree)
    generator = stream(307, "prior")
    state = gibbs.init(forest, 30_000.0)
    drawn = []
    for sweep in range(60_200):
        gibbs.step(generator, forest, state, MIDDLE, 1.0)
        if sweep >= 200 and sweep % 30 == 0:
            drawn.append(float(state.concentration[0] / (state.concentration[0] + MIDDLE)))
    assert kstest(drawn, "uniform").pvalue > FALSE_ALARM


def test_without_records_everything_has_its_prior() -> None:
    """Concentrations, the root's distribution, and a leaf's given both; 1e-4 for each of four."""
    forest = forest_of(naive.TinyTree([-1, 0, 0, 1], [None, None, (0, 0, 0), (0, 0, 0)], 3))
    assert forest.pair_label.size == 0
    generator = stream(308, "no records")
    state, fixed = gibbs.init(forest, 30_000.0), np.full(2, 5.0)
    asked = wanted(forest, np.arange(4))
    drawn = np.empty((3_000, 5))  # (draw, quantity)
    for draw in range(-100, 3_000):
        for _ in range(10):
            gibbs.step(generator, forest, state, MIDDLE, 1.0)
        if draw >= 0:
            rows = draw_rows(generator, forest, asked, fixed, state.records)
            drawn[draw] = *state.concentration, rows[0, 0], rows[1, 0], rows[3, 0]
    above, leaf = drawn[np.abs(drawn[:, 3] - 0.5) < 0.48, 3:].T  # others may round to 0 or 1
    levels = [c / (c + MIDDLE) for c in drawn.T[:2]]
    levels += [beta.cdf(drawn[:, 2], 0.5, 1.0), beta.cdf(leaf, 5 * above, 5 * (1 - above))]
    for level in levels:
        assert kstest(level, "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_one_level_with_a_fixed_concentration_is_dirichlet_multinomial(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leaves' records are Dirichlet-multinomial given the root: its posterior is in closed form.

    With two labels that of the root's probability p of the first is the product of
    p^(-1/2) (1 - p)^(-1/2) and a Dirichlet-multinomial of parameters c p, c (1 - p) for each leaf;
    a leaf's mean is that of (c p + n) / (c + total). Sweeps without the moves of c: distribution of
    p (false-alarm rate 1e-4), and means within five standard errors (below 1e-5). So it is with
    what the scale makes of c / scale.
    """
    c, leaves = 2.5, ((5, 2), (1, 3))
    forest = forest_of(naive.TinyTree([-1, 0, 0], [None, *leaves], 2))
    grid = np.sin(np.linspace(1e-4, np.pi / 2 - 1e-4, 4_001)) ** 2  # even in the prior's levels
    logs = np.array(
        [
            sum(naive.log_dirichlet_multinomial(n, (c * p, c * (1.0 - p))) for n in leaves)
            for p in grid
        ]
    )
    weights = np.exp(logs - logs.max())
    cumulative = np.cumsum(weights) / weights.sum()
    generator = stream(309, "one level")

    def tables(
        generator: np.random.Generator, forest: Forest, state: gibbs.State, _: float
    ) -> None:
        gibbs.draw_tables(generator, forest, state.concentration, state.records, state.probability)

    monkeypatch.setattr(gibbs, "move_concentrations", tables)
    state = gibbs.init(forest, c / scale, scale)
    probability = state.probability if scale == 1.0 else state.scaled_probability
    drawn = np.empty((4_000, 3))  # (draw, node) of the first label
    for draw in range(4_000):
        for _ in range(5):
            gibbs.step(generator, forest, state, MIDDLE, scale)
        drawn[draw] = probability[forest.pair_start[:-1]]
    assert kstest(np.interp(drawn[:, 0], grid, cumulative), "uniform").pvalue > FALSE_ALARM
    for leaf, n in enumerate(leaves, 1):
        mean = weights @ ((c * grid + n[0]) / (c + sum(n))) / weights.sum()
        assert abs(drawn[:, leaf].mean() - mean) < 5 * drawn[:, leaf].std() / np.sqrt(3_000)


def test_start_is_consistent() -> None:
    state = gibbs.init(FOREST, 30.0)
    records = np.array(records_key(FOREST, state.records, 3))
    assert np.array_equal(records[0], [2, 2, 1])
    assert np.array_equal(records[1], [2, 1, 1])
    assert np.all(state.probability > 0)
    assert gibbs.log_likelihood(FOREST, at_pairs(FOREST, np.full((5, 3), 0.25))) == pytest.approx(
        12 * np.log(0.25)
    )
