"""Joint tests and calibration of the back-off sampler; see `test_joint` for what they are."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare, ks_2samp
from tests.naive.backoff import TinyTree
from tests.statistics.tiny_backoff import MIDDLE, forest_of, state_of

from understudy.randomness import stream
from understudy.synthesis.backoff import gibbs
from understudy.synthesis.backoff.synthetic_labels import draw_rows, wanted
from understudy.synthesis.backoff.tree import ROOT_PRIOR

PARENT = [-1, 0, 0, 0, 1, 1, 2, 2]
SIZES = {3: 9, 4: 6, 5: 5, 6: 7, 7: 4}  # records of the leaves
N_LABELS = 4
DRAWS = 2_000
FALSE_ALARM = 1e-4
SIMULATIONS = int(os.environ.get("UNDERSTUDY_CALIBRATE", "200"))
SHAPE = TinyTree(PARENT, [None] * len(PARENT), N_LABELS)

NOTHING = np.zeros((len(PARENT), N_LABELS), dtype=bool)
# Label 0 is impossible in both leaves of node 1, labels 1 and 3 in one leaf of node 2.
IMPOSSIBLE = {4: (0,), 5: (0, 1), 6: (1, 3)}
EXCLUDED = NOTHING.copy()  # (node, label)
EXCLUDED[[1, 4, 5], 0] = EXCLUDED[[5, 6, 6], [1, 1, 3]] = True

Table = NDArray[np.float64]  # (node, label)


def from_prior(
    generator: np.random.Generator, excluded: NDArray[np.bool_] = NOTHING
) -> tuple[NDArray[np.float64], Table]:
    """Concentrations (depth,) and distributions; a node has none of its `excluded` labels."""
    uniform = generator.random(2)
    concentration = MIDDLE * uniform / (1 - uniform)
    table = np.empty((len(PARENT), N_LABELS))
    for node, parent in enumerate(PARENT):
        mass = (
            np.full(N_LABELS, ROOT_PRIOR)
            if parent < 0
            else concentration[SHAPE.depth(node) - 1] * table[parent]
        )
        table[node] = 0.0
        here = ~excluded[node]
        table[node, here] = generator.dirichlet(np.maximum(mass[here], 1e-290))
    return concentration, np.maximum(table, 1e-300)


def data_given(generator: np.random.Generator, table: Table) -> TinyTree:
    """Labels of the leaves' records."""
    counts: list[tuple[int, ...] | None] = [None] * len(PARENT)
    for leaf, size in SIZES.items():
        share = table[leaf] / table[leaf].sum()
        counts[leaf] = tuple(int(n) for n in generator.multinomial(size, share))
    return SHAPE._replace(counts=list(counts))


def summary(concentration: NDArray[np.float64], table: Table, tree: TinyTree) -> list[float]:
    counts = {leaf: np.array(tree.counts[leaf]) for leaf in SIZES}
    whole = sum(counts.values())
    siblings = float(np.abs(counts[4] / 6 - counts[5] / 5).sum())
    cousins = float(np.abs(counts[4] / 6 - counts[7] / 4).sum())
    return [
        *np.log(concentration),
        float(table[0, 0]),
        float(table[1, 0]),
        float(table[6, 2]),
        float((np.asarray(whole) > 0).sum()) + 1e-6 * float(table[3, 1]),
        siblings + 1e-6 * float(table[4, 0]),
        cousins + 1e-6 * float(np.log(concentration[1])),
        siblings * float(np.log(concentration[1])),
        float(table[4] @ counts[4]),
    ]


@pytest.mark.parametrize("impossible", [None, IMPOSSIBLE], ids=["all", "possible"])
def test_sweep_and_data_leave_their_joint_distribution_unchanged(impossible: Any) -> None:
    """Ten two-sample tests; false-alarm rate 1e-3 together."""
    excluded = NOTHING if impossible is None else EXCLUDED
    before = stream(311, "joint", "before")
    generator = stream(311, "joint", "after")
    asked_nodes = np.arange(len(PARENT))
    first, second = [], []
    for _ in range(DRAWS):
        concentration, table = from_prior(before, excluded)
        first.append(summary(concentration, table, data_given(before, table)))
        concentration, table = from_prior(generator, excluded)
        for _ in range(3):
            tree = data_given(generator, table)
            forest = forest_of(tree, impossible)
            state = state_of(forest, concentration, table)
            gibbs.step(generator, forest, state, MIDDLE, 1.0)
            concentration = state.concentration
            asked = wanted(forest, asked_nodes)
            drawn = draw_rows(generator, forest, asked, concentration, state.records)
            table = np.maximum(drawn, 1e-300)
        second.append(summary(concentration, table, data_given(generator, table)))
    by_prior, by_sweeps = np.array(first), np.array(second)  # (draw, quantity)
    for quantity in range(by_prior.shape[1]):
        assert ks_2samp(by_prior[:, quantity], by_sweeps[:, quantity]).pvalue > FALSE_ALARM, (
            quantity
        )


@pytest.mark.parametrize("start", [1.0, 30_000.0])
def test_ranks_of_the_truth_are_uniform(start: float) -> None:
    """Simulation-based calibration of two concentrations and a probability; 3e-4 per start."""
    bins, kept, thin = 8, 31, 12
    ranks = np.zeros((SIMULATIONS, 3), dtype=np.int64)
    for simulation in range(SIMULATIONS):
        generator = stream(312, "calibration", str(start), simulation)
        concentration, table = from_prior(generator)
        tree = data_given(generator, table)
        forest = forest_of(tree)
        pair = int(forest.pair_start[0])  # the root's first label that occurs
        label = int(forest.pair_label[pair])
        state = gibbs.init(forest, start)
        drawn = np.empty((kept, 3))
        for sweep in range(60 + kept * thin):
            gibbs.step(generator, forest, state, MIDDLE, 1.0)
            if sweep >= 60 and (sweep - 60) % thin == 0:
                drawn[(sweep - 60) // thin] = [*state.concentration, state.probability[pair]]
        ranks[simulation] = (drawn < [*concentration, table[0, label]]).sum(axis=0)
    for quantity in range(3):
        seen = np.bincount(ranks[:, quantity] * bins // (kept + 1), minlength=bins)
        assert chisquare(seen).pvalue > FALSE_ALARM, quantity
