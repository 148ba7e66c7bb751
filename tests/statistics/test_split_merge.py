"""The split-merge move alone: its exact transition matrix, written out, and the kernel against it.

Averages over many states forgive much. Here every proposal from a given partition is enumerated:
all pairs of records, all orders of the others, all allocations. The written-out move is in balance
with the posterior, exactly; the kernel takes the written-out ratios and no others, and ends in the
written-out states with the written-out probabilities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

import numpy as np
import pytest
from tests.naive import dpmpm as naive
from tests.statistics import tiny

from understudy.randomness import stream
from understudy.synthesis.dpmpm import split_merge

FALSE_ALARM = 1e-4
CONCENTRATION = 0.9
ROWS = [(0, 0), (0, 1), (0, 1), (1, 1), (1, 2)]
PRIORS = [[0.4, 0.6], [0.3, 0.5, 0.4]]
# Partitions of the records by their numbers: sizes 5, 3 + 2 in two ways, 2 + 2 + 1.
STARTS = [[[0, 1, 2, 3, 4]], [[0, 1, 2], [3, 4]], [[0, 1, 3], [2, 4]], [[0, 4], [1, 3], [2]]]

WITH_HOLES = [(0, 0), (2, 1), (0, 3), (1, 1), (1, 3)]  # 2 and 3: holes, behind the last level


def test_the_written_out_move_is_in_detailed_balance() -> None:
    """For all pairs of the 52 partitions of five different records; no false alarms."""
    rows = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2)]
    weight, moves = {}, {}
    for classes in naive.partitions(5):
        key = naive.key_of([[rows[record] for record in members] for members in classes])
        weight[key] = naive.partition_density(rows, classes, PRIORS, CONCENTRATION)
        moves[key] = naive.split_merge_transitions(rows, classes, PRIORS, CONCENTRATION)
        assert sum(moves[key].values()) == pytest.approx(1.0, rel=1e-12)
    assert len(weight) == 52
    for start, ends in moves.items():
        for end, probability in ends.items():
            there = np.exp(weight[start]) * probability
            assert np.exp(weight[end]) * moves[end][start] == pytest.approx(there, rel=1e-9)


@pytest.mark.parametrize("rows", [ROWS, WITH_HOLES], ids=["whole", "holes"])
@pytest.mark.parametrize("start", range(len(STARTS)))
def test_the_kernel_takes_the_written_out_ratios(start: int, rows: naive.Rows) -> None:
    """Ratio and kind of every proposal are possible ones, and all occur; no false alarms."""
    possible: dict[bool, list[float]] = {True: [], False: []}
    for _, log_ratio, _, split in naive.split_merge_moves(
        rows, STARTS[start], PRIORS, CONCENTRATION
    ):
        possible[split].append(log_ratio)
    problem = tiny.problem_of(rows, PRIORS)
    key = naive.key_of([[rows[record] for record in members] for members in STARTS[start]])
    generator = stream(71, "ratios", start)
    ratios: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(20_000):
        state = tiny.state_of_key(key, rows, problem, CONCENTRATION)
        _, info = split_merge.split_or_merge(generator, problem, state)
        ratios[info.split].append(info.log_ratio)
    for split in (True, False):
        listed, seen = np.unique(np.round(possible[split], 9)), np.array(ratios[split])
        assert bool(listed.size) == bool(seen.size)
        if seen.size:
            distance = np.abs(seen[:, None] - listed)  # (draw, possible value)
            assert distance.min(axis=1).max() < 1e-8
            assert (distance.min(axis=0) < 1e-8).mean() > 0.8


@pytest.mark.parametrize("spare", [0, 3])
@pytest.mark.parametrize("start", range(len(STARTS)))
def test_the_kernel_has_the_written_out_transition_probabilities(start: int, spare: int) -> None:
    """Also from states without an empty class; false-alarm rate 1e-4 each."""
    exact = naive.split_merge_transitions(ROWS, STARTS[start], PRIORS, CONCENTRATION)
    problem = tiny.problem_of(ROWS, PRIORS)
    key = naive.key_of([[ROWS[record] for record in members] for members in STARTS[start]])
    generator = stream(72, "transitions", start)
    seen: Counter[Hashable] = Counter()
    for _ in range(20_000):
        state = tiny.state_of_key(key, ROWS, problem, CONCENTRATION, spare)
        state, _ = split_merge.split_or_merge(generator, problem, state)
        seen[tiny.key_of_state(state, ROWS)] += 1
    assert tiny.chi_square_p(seen, exact) > FALSE_ALARM
