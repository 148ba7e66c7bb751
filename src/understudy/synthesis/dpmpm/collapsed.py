"""Collapsed Gibbs sampler: records move between classes, weights and probabilities integrated out.

The state is a partition of the records into classes of an exact Dirichlet process: no truncation,
no class weights, no level probabilities. Records with the same combination are interchangeable, so
the state holds how many records of each combination lie in each class, and not which.

One sweep visits the records one after another. A record leaves its class and joins class k with
probability proportional to

    n_k  prod_v (n_kvl + a_vl) / (n_k + sum_l a_vl)        an occupied class,
    concentration  prod_v a_vl / sum_l a_vl                 a new one,

all counts without the record itself (algorithm 3 of Neal, 2000). Which record of a combination is
visited next is drawn without replacement. Where combinations have very many records, at most
`visits` of each are visited in one sweep, so that the cost of a sweep grows with the distinct
combinations; any number leaves the posterior unchanged. The concentration is drawn with the
auxiliary variable of Escobar and West (1995).

References
----------
Neal, R. M. (2000), "Markov chain sampling methods for Dirichlet process mixture models", Journal of
Computational and Graphical Statistics 9, doi:10.1080/10618600.2000.10474879.
Escobar, M. D. and West, M. (1995), "Bayesian density estimation and inference using mixtures",
Journal of the American Statistical Association 90, doi:10.1080/01621459.1995.10476550.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.dpmpm.problem import Problem

__all__ = ["Info", "State", "draw_concentration", "init", "move_records", "occupied", "step"]

SPARE_CLASSES = 8  # empty places that a new state has beyond its classes


class State(NamedTuple):
    """A partition of the records, and the concentration."""

    members: NDArray[np.int32]  # (combination, class) records of each combination in each class
    class_size: NDArray[np.int64]  # (class,) records in each class; 0 for an empty place
    level_count: NDArray[np.int64]  # (class, level) records of the class with the level
    concentration: float


class Info(NamedTuple):
    """What is worth looking at after a step."""

    n_moved: int  # records that changed their class
    failed: bool  # whether all weights of some record vanished


def init(
    generator: np.random.Generator, problem: Problem, n_classes: int, concentration: float = 1.0
) -> State:
    """Put every record into one of `n_classes` classes, at random."""
    n_combinations = problem.counts.size
    places = n_classes + SPARE_CLASSES
    members = np.zeros((n_combinations, places), dtype=np.int32)  # (combination, class)
    even = np.full(n_classes, 1.0 / n_classes)  # (class,)
    members[:, :n_classes] = generator.multinomial(problem.counts, even)
    return with_members(problem, members, concentration)


def with_members(problem: Problem, members: NDArray[np.int32], concentration: float) -> State:
    """Make the state that has these members, counting everything else."""
    level_count = np.zeros((members.shape[1], problem.prior.size), dtype=np.int64)
    for variable in range(problem.levels.shape[1]):
        np.add.at(level_count.T, problem.levels[:, variable], members)
    return State(members, members.sum(axis=0, dtype=np.int64), level_count, float(concentration))


def occupied(state: State) -> int:
    """Count the classes that have a record."""
    return int(np.count_nonzero(state.class_size))


@compiled
def _longer(old):  # type: ignore[no-untyped-def]
    """Copy a list of places into one twice as long."""
    new = np.zeros(2 * old.size, dtype=old.dtype)
    new[: old.size] = old
    return new


@compiled
def _with_room(state, width):  # type: ignore[no-untyped-def]
    """Copy the state into one with room for so many classes, the occupied ones first."""
    members = np.zeros((state.members.shape[0], width), dtype=np.int32)  # (combination, class)
    class_size = np.zeros(width, dtype=np.int64)  # (class,)
    level_count = np.zeros((width, state.level_count.shape[1]), dtype=np.int64)  # (class, level)
    new = 0
    for old in range(state.class_size.size):
        if state.class_size[old] > 0:
            members[:, new] = state.members[:, old]
            class_size[new] = state.class_size[old]
            level_count[new] = state.level_count[old]
            new += 1
    return State(members, class_size, level_count, state.concentration)


@compiled
def move_records(generator, problem, state, visits):  # type: ignore[no-untyped-def]
    """Give at most `visits` records of every combination a class, one after another.

    Returns the new state and the step's `Info`. The old state's arrays are written over.
    """
    levels, prior, prior_sum = problem.levels, problem.prior, problem.prior_sum
    n_combinations, n_variables = levels.shape
    n_occupied = np.count_nonzero(state.class_size)
    if state.class_size.size > 4 * n_occupied + 16:
        state = _with_room(state, n_occupied + 8)
    members, size, count = state.members, state.class_size, state.level_count
    held = np.empty(size.size, dtype=np.int64)  # (place,) the occupied classes
    n_held = 0
    for one in range(size.size):
        if size[one] > 0:
            held[n_held] = one
            n_held += 1
    weights = np.empty(size.size)  # (place,) of the occupied classes, for this combination
    waiting = np.empty(size.size, dtype=np.int64)  # (place,) records not yet visited
    row = np.empty(n_variables, dtype=np.int64)  # (variable,) levels of this combination
    n_moved = 0
    failed = False
    for combination in range(n_combinations):
        new_weight = state.concentration
        for variable in range(n_variables):
            row[variable] = levels[combination, variable]
            new_weight *= prior[row[variable]] / prior_sum[variable]
        n_waiting = problem.counts[combination]
        for place in range(n_held):
            one = held[place]
            waiting[place] = members[combination, one]
            weight = float(size[one])
            for variable in range(n_variables):
                level = row[variable]
                weight *= (count[one, level] + prior[level]) / (size[one] + prior_sum[variable])
            weights[place] = weight
        for _ in range(min(visits, n_waiting)):
            # 1. the next record: any of those that wait
            chosen = np.int64(generator.random() * n_waiting) if n_waiting > 1 else np.int64(0)
            place = 0
            while chosen >= waiting[place]:
                chosen -= waiting[place]
                place += 1
            waiting[place] -= 1
            n_waiting -= 1
            # 2. it leaves its class; the place of an emptied class goes to the last one
            left = held[place]
            members[combination, left] -= 1
            size[left] -= 1
            weight = float(size[left])
            for variable in range(n_variables):
                level = row[variable]
                count[left, level] -= 1
                weight *= (count[left, level] + prior[level]) / (size[left] + prior_sum[variable])
            weights[place] = weight
            if size[left] == 0:
                n_held -= 1
                held[place] = held[n_held]
                waiting[place] = waiting[n_held]
                weights[place] = weights[n_held]
            # 3. it joins a class, or founds one
            total = new_weight
            for place in range(n_held):
                total += weights[place]
            if not total > 0.0:
                failed = True
            rest = generator.random() * total
            place = 0
            while place < n_held and rest >= weights[place]:
                rest -= weights[place]
                place += 1
            if place == n_held:
                if n_held == size.size:
                    # all places are taken, in the order of `held` after the copy
                    state = _with_room(state, 2 * size.size)
                    members, size, count = state.members, state.class_size, state.level_count
                    held = _longer(held)
                    waiting = _longer(waiting)
                    weights = _longer(weights)
                one = 0
                while size[one] > 0:
                    one += 1
                held[n_held] = one
                waiting[n_held] = 0
                n_held += 1
            joined = held[place]
            members[combination, joined] += 1
            size[joined] += 1
            weight = float(size[joined])
            for variable in range(n_variables):
                level = row[variable]
                count[joined, level] += 1
                weight *= (count[joined, level] + prior[level]) / (
                    size[joined] + prior_sum[variable]
                )
            weights[place] = weight
            n_moved += joined != left
    return State(members, size, count, state.concentration), Info(n_moved, failed)


@compiled
def draw_concentration(generator, concentration, n_occupied, n_records, shape, rate):  # type: ignore[no-untyped-def]
    """Draw the concentration given the number of occupied classes (Escobar and West).

    Its prior is Gamma(shape, rate); without records the draw is from the prior.
    """
    if n_records == 0:
        return generator.standard_gamma(shape) / rate
    # log of a Beta(concentration + 1, n) draw, by way of gamma draws
    first = generator.standard_gamma(concentration + 1.0)
    log_auxiliary = np.log(first) - np.log(first + generator.standard_gamma(float(n_records)))
    new_rate = rate - log_auxiliary
    odds = (shape + n_occupied - 1.0) / (n_records * new_rate)
    more = generator.random() * (1.0 + odds) < odds
    new_shape = shape + n_occupied - (0.0 if more else 1.0)
    return generator.standard_gamma(new_shape) / new_rate


def step(
    generator: np.random.Generator,
    problem: Problem,
    state: State,
    concentration_prior: tuple[float, float],
    visits: int,
) -> tuple[State, Info]:
    """One sweep: 1. every combination's records, 2. the concentration."""
    state, info = move_records(generator, problem, state, visits)
    shape, rate = concentration_prior
    concentration = draw_concentration(
        generator, state.concentration, occupied(state), problem.n_records, shape, rate
    )
    return state._replace(concentration=float(concentration)), info
