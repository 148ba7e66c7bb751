"""Impossible combinations in the back-off tree, against a grid, a closed form and enumeration.

Seeds are fixed; false-alarm rates are how likely a correct program was to fail when they were
chosen.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import betainc, betaincinv, gammaln
from scipy.stats import ks_2samp, kstest
from tests.naive.backoff import Counts, TinyTree
from tests.statistics.tiny_backoff import MIDDLE, forest_of
from tests.synthesis.conftest import small_data

import understudy as us
from understudy.microdata.structural_zeros import possible_levels
from understudy.randomness import stream
from understudy.synthesis.backoff import gibbs
from understudy.synthesis.backoff.synthetic_labels import draw_rows, wanted

FALSE_ALARM = 1e-4
FULL, PART = (1, 1, 3), (2, 4, 0)  # records of a leaf with three labels, of one without the last
PAIR = TinyTree([-1, 0, 0], [None, FULL, PART], 3)


def posterior_on_a_grid(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights (last label's share, share of the first among the others, concentration).

    Each axis is the prior's distribution function, so that the prior is flat. And the probability
    of the first label in the leaf without the last: its mean.
    """
    middle = (np.arange(size) + 0.5) / size
    last = betaincinv(0.5, 1.0, middle)[:, None, None]
    first = betaincinv(0.5, 0.5, middle)[None, :, None]
    c = (MIDDLE * middle / (1 - middle))[None, None, :]
    shares = [(1 - last) * first, (1 - last) * (1 - first), last + 0 * first]

    def log_probability(counts: tuple[int, ...], labels: tuple[int, ...]) -> Any:
        whole: Any = sum(c * shares[label] for label in labels)
        log_p = gammaln(whole) - gammaln(whole + sum(counts))
        for label in labels:
            log_p = log_p + gammaln(c * shares[label] + counts[label]) - gammaln(c * shares[label])
        return log_p

    log_weight = log_probability(FULL, (0, 1, 2)) + log_probability(PART, (0, 1))
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    among = c * (shares[0] + shares[1]) + sum(PART)
    return weight, (weight * (c * shares[0] + PART[0]) / among).sum()


def test_posterior_is_the_one_on_a_grid() -> None:
    """Two leaves, one without the last label: KS tests of three unknowns, 1e-4 each."""
    weight, mean = posterior_on_a_grid(90)
    forest = forest_of(PAIR, {2: (2,)})
    generator = stream(331, "grid")
    state, asked = gibbs.init(forest, 30.0), wanted(forest, np.arange(3))
    drawn, first = np.empty((1_500, 3)), np.empty(1_500)
    for draw in range(-10, len(drawn)):
        for _ in range(25):
            gibbs.step(generator, forest, state, MIDDLE, 1.0)
        rows = draw_rows(generator, forest, asked, state.concentration, state.records)
        assert rows[2, 2] == 0.0
        assert np.allclose(rows.sum(axis=1), 1.0)
        c = state.concentration[0]
        first[draw] = rows[2, 0]
        drawn[draw] = [
            betainc(0.5, 1.0, rows[0, 2]),
            betainc(0.5, 0.5, rows[0, 0] / (rows[0, 0] + rows[0, 1])),
            c / (c + MIDDLE),
        ]
    edges = np.linspace(0, 1, 91)
    for axis in range(3):
        others = tuple(other for other in range(3) if other != axis)
        cumulative = np.concatenate([[0.0], np.cumsum(weight.sum(axis=others))])
        ranks = np.interp(drawn[:, axis], edges, cumulative)
        assert kstest(ranks, "uniform").pvalue > FALSE_ALARM, axis
    # within 4 standard errors of independent draws: 6e-5
    assert abs(first.mean() - mean) < 4 * first.std() / np.sqrt(first.size)


def test_extra_tables_have_the_mean_of_their_definition() -> None:
    """E k = c (digamma(c q + n) - digamma(c q)) (1 - q), within five standard errors."""
    from scipy.special import digamma

    generator = stream(332, "extra")
    for c, possible, total in ((0.4, 0.7, 5), (9.0, 0.2, 40), (2_000.0, 0.5, 300)):
        drawn = np.array(
            [gibbs.extra_tables(generator, c, possible, total) for _ in range(6_000)], dtype=float
        )
        rise = digamma(c * possible + total) - digamma(c * possible)
        error = drawn.std() / np.sqrt(drawn.size)
        assert abs(drawn.mean() - c * rise * (1 - possible)) < 5 * error


def test_pairs_and_whole_rows_have_the_same_distribution() -> None:
    """Of an inner node without label 0 and its leaves; two-sample tests, 1e-4 each."""
    leaves: list[Counts | None] = [
        (4, 1, 2, 2),
        (0, 3, 2, 1),
        (0, 0, 4, 1),
        (2, 0, 5, 0),
        (1, 1, 1, 1),
    ]
    tree = TinyTree([-1, 0, 0, 0, 1, 1, 2, 2], [None, None, None, *leaves], 4)
    forest = forest_of(tree, {4: (0,), 5: (0, 1), 6: (1, 3)})
    concentration, asked = np.array([5.0, 2.0]), wanted(forest, np.arange(8))
    state, generator = gibbs.init(forest, 1.0), stream(335, "pairs")
    gibbs.draw_tables(generator, forest, concentration, state.records, state.probability)
    node = np.repeat(np.arange(8), np.diff(forest.pair_start))  # (pair,)
    sparse, whole = np.empty((1_500, node.size)), np.empty((1_500, node.size))
    for draw in range(len(sparse)):
        gibbs.draw_distributions(generator, forest, concentration, state.records, state.probability)
        sparse[draw] = state.probability
        rows = draw_rows(generator, forest, asked, concentration, state.records)
        whole[draw] = rows[node, forest.pair_label]
    for pair in range(node.size):
        assert ks_2samp(sparse[:, pair], whole[:, pair]).pvalue > FALSE_ALARM, pair


@pytest.mark.parametrize("shape", [0.05, 0.9, 1.0, 7.0])
def test_logarithms_of_gamma_variables(shape: float) -> None:
    """Against the distribution function; false-alarm rate 1e-4 each."""
    generator = stream(333, "gamma", str(shape))
    drawn = np.exp([gibbs.log_gamma_variate(generator, shape) for _ in range(3_000)])
    assert kstest(drawn, "gamma", args=(shape,)).pvalue > FALSE_ALARM


def test_a_label_that_nobody_ever_has_gets_nothing_anywhere() -> None:
    tree = TinyTree([-1, 0, 0], [None, (1, 0, 3, 0), (2, 0, 0, 1)], 4)
    forest = forest_of(tree, {-1: (1,), 1: (1,), 2: (1, 2)})
    generator, state = stream(334, "never"), gibbs.init(forest, 1.0)
    for _ in range(20):
        gibbs.step(generator, forest, state, MIDDLE, 1.0)
        rows = draw_rows(
            generator, forest, wanted(forest, np.arange(3)), state.concentration, state.records
        )
        assert (rows[:, 1] == 0.0).all()
        assert rows[2, 2] == 0.0
        assert (rows[[0, 1]][:, [0, 2, 3]] > 0.0).all()


RULES = [
    {"gender": ["g0"], "county": ["c4", "c5"]},
    {"age": ["a2"], "region": ["r3"], "county": ["c3", "c4"]},
    {"gender": ["g1"], "county": ["c1"], "region": ["r0", "r1"]},
    {"county": ["c1"], "region": ["r2", "r3"], "age": ["a0", "a1"]},  # with the last: all regions
    {"county": ["c0"]},
]


def without_broken(synthesize: list[str]) -> us.Microdata:
    """The small data without the records that break a rule."""
    frame = small_data(n_records=400).frame("polars")
    strings = frame.select(frame[name].cast(str) for name in frame.columns)
    for rule in RULES:
        hit = pl.all_horizontal(pl.col(name).is_in(levels) for name, levels in rule.items())
        strings = strings.filter(~hit)
    codebook: Any = {
        "variables": {"county": {"levels": [f"c{code}" for code in range(6)]}},
        "impossible": RULES,
    }
    return us.read_microdata(strings, synthesize=synthesize, codebook=codebook)


@pytest.mark.parametrize(
    "synthesize", [["county"], ["county", "region"], ["region", "county", "age"]]
)
def test_possible_levels_are_those_that_can_be_completed(synthesize: list[str]) -> None:
    """Against all records that can be written down, each checked against every rule."""
    data = without_broken(synthesize)
    every = [variable.levels for variable in data.variables]
    allowed = {
        row
        for row in itertools.product(*every)
        if not any(
            all(row[data.names.index(name)] in levels for name, levels in rule.items())
            for rule in RULES
        )
    }
    for index, label in enumerate(data.synthesized):
        names = (*data.kept, *data.synthesized[:index])
        sizes = [data.variable(name).n_levels for name in names]
        codes = np.array(list(itertools.product(*map(range, sizes))), dtype=np.int32)
        kinds, possible = possible_levels(data, names, label, codes.reshape(-1, len(names)))
        at = [data.names.index(name) for name in (*names, label)]
        known = {tuple(row[column] for column in at) for row in allowed}
        for row, kind in zip(codes, kinds, strict=True):
            beside = tuple(
                data.variable(name).levels[code] for name, code in zip(names, row, strict=True)
            )
            for level, is_possible in zip(data.variable(label).levels, possible[kind], strict=True):
                assert is_possible == ((*beside, level) in known)
