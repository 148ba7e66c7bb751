"""Trajectories of the Hamiltonian move: what pushes them, and that they can be followed back.

The push comes from a coarse table and need not be exact; what exactness rests on is that it depends
on the position alone, so that a trajectory followed backwards ends where it began. Nothing here is
random but the positions.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.statistics import tiny_areal as tiny

from understudy.randomness import stream
from understudy.synthesis.areal import hamiltonian
from understudy.synthesis.areal import poisson_lognormal as counts
from understudy.synthesis.areal.problem import Problem, problem_of_counts

Position = tuple[Problem, hamiltonian.Frame, NDArray[np.float64]]


def position(by_sticks: bool, seed: int) -> Position:
    """Draw parameters, and a table with some large counts."""
    generator = stream(seed, "trajectory", int(by_sticks))
    prior = tiny.priors(by_sticks)
    world = tiny.draw_world(generator, prior, 6, 5)
    world.table[0, :3] += np.array([40, 7, 300])
    problem, state = tiny.problem_and_state(world)
    frame = hamiltonian.frame_of(state, prior)
    return problem, frame, hamiltonian.free_numbers(generator, frame, state)


def push(problem: Problem, frame: hamiltonian.Frame, free: np.ndarray) -> NDArray[np.float64]:
    """Give what a trajectory is pushed by at a position: (free number,)."""
    momentum = np.zeros(free.size)
    step = np.ones(free.size)
    pieces = counts.new_pieces(problem)
    assert hamiltonian.follow_trajectory(problem, pieces, frame, step, 0, free.copy(), momentum)
    return 2.0 * momentum  # half of the push is made before the first step


@pytest.mark.parametrize("by_sticks", [True, False], ids=["text", "script"])
def test_pushes_are_about_the_slopes(by_sticks: bool) -> None:
    for seed in range(5):
        problem, frame, free = position(by_sticks, seed)
        _, slopes = hamiltonian.log_density(problem, counts.new_pieces(problem), frame, free)
        apart = np.abs(push(problem, frame, free) - slopes)
        assert (apart < 2e-3 * (1.0 + np.abs(slopes).max())).all()


@pytest.mark.parametrize("by_sticks", [True, False], ids=["text", "script"])
@pytest.mark.parametrize("with_precision", [True, False])
def test_a_trajectory_followed_back_ends_where_it_began(
    by_sticks: bool, with_precision: bool
) -> None:
    """With a fresh memory on the way back: the push must not depend on what was there before."""
    problem, frame, start = position(by_sticks, 11)
    momentum = stream(12, "momentum").standard_normal(start.size)
    step = np.full(start.size, 0.02)
    step[frame.layout.rate] *= with_precision
    there, at_end = start.copy(), momentum.copy()
    pieces = counts.new_pieces(problem)
    counts.turn_forces(problem, pieces, 0.3)
    assert hamiltonian.follow_trajectory(problem, pieces, frame, step, 30, there, at_end)
    assert (there[frame.layout.rate] != start[frame.layout.rate]) == with_precision
    assert np.abs(there - start).max() > 0.1
    back, at_start = there.copy(), -at_end
    pieces = counts.new_pieces(problem)
    assert hamiltonian.follow_trajectory(problem, pieces, frame, step, 30, back, at_start)
    assert back == pytest.approx(start, abs=1e-6)
    assert -at_start == pytest.approx(momentum, abs=1e-6)


def test_a_trajectory_that_leaves_is_rejected() -> None:
    """Effects, free numbers and the precision have limits."""
    problem, frame, start = position(True, 13)
    for number, value in ((0, 1e5), (frame.layout.scales, 600.0), (frame.layout.rate, 40.0)):
        free = start.copy()
        free[number] = value
        pieces, step = counts.new_pieces(problem), np.full(start.size, 1e-3)
        momentum = np.zeros(start.size)
        assert not hamiltonian.follow_trajectory(problem, pieces, frame, step, 3, free, momentum)


def test_the_coarse_table_is_that_of_the_integrals() -> None:
    """To 1e-3 at its means, between the precisions that it is worked out for."""
    problem = problem_of_counts(np.array([[0, 1, 3, 20, 400]]), np.ones((1, 1)))
    pieces = counts.new_pieces(problem)
    for log_precision in (-1.04, 0.37, 2.9):
        counts.turn_forces(problem, pieces, log_precision)
        forces = pieces.forces
        for index, count in enumerate(problem.distinct):
            for node in range(0, forces.means.size, 7):
                tabulated = forces.table[index, node]
                exact = counts.poisson_lognormal(count, forces.means[node], np.exp(log_precision))
                assert tabulated == pytest.approx(exact, rel=1e-3, abs=1e-3)
            assert forces.best[index] == forces.table[index, :, 0].max()
