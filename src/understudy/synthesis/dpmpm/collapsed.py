"""Collapsed Gibbs sampler: records move between classes, weights and probabilities integrated out.

The state is a partition of the records into classes of an exact Dirichlet process: no truncation,
no class weights, no level probabilities. Records with the same combination are interchangeable, so
the state holds how many records of each combination lie in each class, and not which.

One sweep visits the records one after another. A record leaves its class and joins class k with
probability proportional to

    n_k  prod_v (n_kvl + a_vl) / (n_k + sum_l a_vl)        an occupied class,
    concentration  prod_v a_vl / sum_l a_vl                 a new one,

all counts without the record itself (algorithm 3 of Neal, 2000). The factor of a hole is left out,
and n_k in that of a variable counts the records without a hole there. Which record of a combination
is visited next is drawn without replacement. Where combinations have very many records, at most
`visits` of each are visited in one sweep, so that the cost of a sweep grows with the distinct
combinations; any number leaves the posterior unchanged. The concentration is drawn with the
auxiliary variable of Escobar and West (1995), strengths a_v that are sampled as `strengths` has it.

A record whose likelihood has the power w counts w in n_kvl and in the weighted size W_k of its
class, and 1 in n_k; it joins class k with probability proportional to

    n_k  prod_v  G(n_kvl + a_vl + w) / G(n_kvl + a_vl)  G(W_k + A_v) / G(W_k + A_v + w),

G the gamma function and A_v = sum_l a_vl, and for a new class n_kvl and W_k are 0. (The power w of
the factors above would be another model.)

Kernels share these arguments: `generator` (Generator), `problem` (Records), `state` (State), `row`
int64 (variable,), `count` (level,), int64 or float64 weights, `mass` float, its sum, `prior`
float64 (level,), `prior_sum` float64 (variable,), `holes` int64 (variable,), and the ints
`n_classes` and `n_records`.

References
----------
Neal, R. M. (2000), "Markov chain sampling methods for Dirichlet process mixture models", Journal of
Computational and Graphical Statistics 9, doi:10.1080/10618600.2000.10474879.
Escobar, M. D. and West, M. (1995), "Bayesian density estimation and inference using mixtures",
Journal of the American Statistical Association 90, doi:10.1080/01621459.1995.10476550.
"""

from __future__ import annotations

from math import lgamma, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.dpmpm.level_prior_strengths import draw_strengths
from understudy.synthesis.dpmpm.problem import START_STRENGTH, Problem, records_of, with_strengths

__all__ = [
    "Info",
    "State",
    "draw_concentration",
    "init",
    "move_records",
    "n_occupied",
    "step",
    "with_members",
    "with_width",
]

SPARE_CLASSES = 8  # empty classes that a new state has


class State(NamedTuple):
    """A partition of the records, the concentration, and the strengths of level priors."""

    members: NDArray[np.int32]  # (combination, class) records of each combination in each class
    class_size: NDArray[np.int64]  # (class,) records in each class, 0 in an empty one
    level_count: NDArray[Any]  # (class, level) records of the class with the level, or weights
    concentration: float
    strengths: NDArray[np.float64]  # (sampled variable,)


class Info(NamedTuple):
    """What is worth looking at after a step."""

    n_moved: int  # records that changed their class
    failed: bool  # whether all weights of some record vanished


def init(
    generator: np.random.Generator, problem: Problem, n_classes: int, concentration: float = 1.0
) -> State:
    """Put every record into one of `n_classes` classes, at random."""
    n_combinations = problem.counts.size
    width = n_classes + SPARE_CLASSES
    members = np.zeros((n_combinations, width), dtype=np.int32)  # (combination, class)
    even = np.full(n_classes, 1.0 / n_classes)  # (class,)
    members[:, :n_classes] = generator.multinomial(problem.counts, even)
    return with_members(problem, members, concentration)


def with_members(
    problem: Problem,
    members: NDArray[np.int32],
    concentration: float,
    strengths: NDArray[np.float64] | None = None,
) -> State:
    """Make the state that has these members, counting everything else."""
    if strengths is None:
        strengths = np.full(problem.sampled.size, START_STRENGTH)  # (sampled variable,)
    level_count = np.ascontiguousarray(problem.level_counts(members).T)  # (class, level)
    class_size = members.sum(axis=0, dtype=np.int64)  # (class,)
    return State(members, class_size, level_count, float(concentration), strengths)


def n_occupied(state: State) -> int:
    """Count the classes that have a record."""
    return int(np.count_nonzero(state.class_size))


@compiled
def _doubled(occupied, waiting, weights):  # type: ignore[no-untyped-def]
    """Copy `occupied` and `waiting`, int64 (slot,), and `weights` into lists twice as long."""
    more = np.empty((2, 2 * weights.size), dtype=np.int64)  # (list, slot)
    more_weights = np.empty(2 * weights.size)  # (slot,)
    for slot in range(weights.size):
        more[0, slot], more[1, slot] = occupied[slot], waiting[slot]
        more_weights[slot] = weights[slot]
    return more[0], more[1], more_weights


@compiled
def with_width(state, width):  # type: ignore[no-untyped-def]
    """Copy the state into one of `width` classes, the occupied ones first."""
    members = np.empty((state.members.shape[0], width), dtype=np.int32)  # (combination, class)
    class_size = np.empty(width, dtype=np.int64)  # (class,)
    old_count = state.level_count
    level_count = np.empty((width, old_count.shape[1]), dtype=old_count.dtype)  # (class, level)
    old = 0
    for new in range(width):
        while old < state.class_size.size and state.class_size[old] == 0:
            old += 1
        copied = old < state.class_size.size
        for combination in range(members.shape[0]):
            members[combination, new] = state.members[combination, old] if copied else 0
        for level in range(level_count.shape[1]):
            level_count[new, level] = old_count[old, level] if copied else 0
        class_size[new] = state.class_size[old] if copied else 0
        old += 1
    return State(members, class_size, level_count, state.concentration, state.strengths)


@compiled
def _mass(problem, size, count):  # type: ignore[no-untyped-def]
    """Weighted size of a class of `size` records: its counts (level,) of the first variable."""
    if problem.weights.size == 0:
        return size
    mass = count[problem.level_start[0]]
    for level in range(problem.level_start[0] + 1, problem.level_start[1]):
        mass += count[level]
    return mass


@compiled
def _likelihood(row, record_weight, mass, count, prior, prior_sum, holes):  # type: ignore[no-untyped-def]
    """What a class adds to its probability by a record of `record_weight`.

    `row` int64 (variable,) are the record's levels, `mass` the weighted size of the class, `count`
    (level,) its level counts, `prior` float64 (level,), `prior_sum` float64 (variable,) and `holes`
    int64 (variable,).
    """
    log_likelihood = 0.0
    for variable in range(row.size):
        level, hole = row[variable], holes[variable]
        if level != hole:
            here = count[level] + prior[level]
            whole = (mass if hole < 0 else mass - count[hole]) + prior_sum[variable]
            log_likelihood += lgamma(here + record_weight) - lgamma(here)
            log_likelihood -= lgamma(whole + record_weight) - lgamma(whole)
    return np.exp(log_likelihood)


@compiled
def _class_weight(row, record_weight, size, mass, count, prior, prior_sum, holes):  # type: ignore[no-untyped-def]
    """Weight of a class of `size` records for a record of `record_weight`; see `_likelihood`.

    For a record that counts one: n_k prod_v (n_kvl + a_vl) / (n_k + sum_l a_vl).
    """
    if record_weight != 1:
        return size * _likelihood(row, record_weight, mass, count, prior, prior_sum, holes)
    weight = float(size)
    for variable in range(row.size):
        level, hole = row[variable], holes[variable]
        if level != hole:
            observed = mass if hole < 0 else mass - count[hole]
            weight *= (count[level] + prior[level]) / (observed + prior_sum[variable])
    return weight


@compiled
def move_records(generator, problem, state, visits):  # type: ignore[no-untyped-def]
    """Give at most `visits` records of every combination a class, one after another.

    Returns the new state and the step's `Info`; the old state's arrays are written over. Occupied
    classes are listed in slots, and for each combination a slot has the class's weight and how
    many of the combination's records in it wait for their visit:

        combination: weights and waiting records of all slots
            record:  1. drawn among those that wait
                     2. leaves its class, whose slot goes to the last one if it is emptied
                     3. joins a class by weight, or founds one in a new slot

    It is one piece because the steps as functions of their own take twice the time.
    """
    levels, prior, prior_sum, holes = (
        problem.levels,
        problem.prior,
        problem.prior_sum,
        problem.holes,
    )
    n_combinations, n_variables = levels.shape
    n_classes = 0
    for records in state.class_size:
        n_classes += records > 0
    if state.class_size.size > 4 * n_classes + 16:
        state = with_width(state, n_classes + 8)
    members, size, count = state.members, state.class_size, state.level_count
    occupied = np.empty(size.size, dtype=np.int64)  # (slot,) the occupied classes
    n_slots = 0
    for k in range(size.size):
        if size[k] > 0:
            occupied[n_slots] = k
            n_slots += 1
    weights = np.empty(size.size)  # (slot,) for this combination
    waiting = np.empty(size.size, dtype=np.int64)  # (slot,) records not yet visited
    row = np.empty(n_variables, dtype=np.int64)  # (variable,) levels of this combination
    nothing = np.empty(count.shape[1], dtype=count.dtype)  # (level,) counts of a new class
    for level in range(nothing.size):
        nothing[level] = 0
    n_moved = 0
    failed = False
    for combination in range(n_combinations):
        record_weight = problem.weights[combination] if problem.weights.size else 1
        new_weight = state.concentration
        for variable in range(n_variables):
            row[variable] = levels[combination, variable]
            if row[variable] != holes[variable]:
                new_weight *= prior[row[variable]] / prior_sum[variable]
        if record_weight != 1:
            new_weight = state.concentration
            mass = _mass(problem, np.int64(0), nothing)
            new_weight *= _likelihood(row, record_weight, mass, nothing, prior, prior_sum, holes)
        n_waiting = problem.counts[combination]
        for slot in range(n_slots):
            k = occupied[slot]
            waiting[slot] = members[combination, k]
            mass = _mass(problem, size[k], count[k])
            weights[slot] = _class_weight(
                row, record_weight, size[k], mass, count[k], prior, prior_sum, holes
            )
        for _ in range(min(visits, n_waiting)):
            # 1. the next record: any of those that wait
            drawn = np.int64(generator.random() * n_waiting) if n_waiting > 1 else np.int64(0)
            slot = 0
            while drawn >= waiting[slot]:
                drawn -= waiting[slot]
                slot += 1
            waiting[slot] -= 1
            n_waiting -= 1
            # 2. it leaves its class
            left = occupied[slot]
            members[combination, left] -= 1
            size[left] -= 1
            for variable in range(n_variables):
                count[left, row[variable]] -= record_weight
            mass = _mass(problem, size[left], count[left])
            weights[slot] = _class_weight(
                row, record_weight, size[left], mass, count[left], prior, prior_sum, holes
            )
            if size[left] == 0:
                n_slots -= 1
                occupied[slot] = occupied[n_slots]
                waiting[slot] = waiting[n_slots]
                weights[slot] = weights[n_slots]
            # 3. it joins a class, or founds one
            total = new_weight
            for slot in range(n_slots):
                total += weights[slot]
            if not total > 0.0:
                failed = True
            share = generator.random() * total
            slot = 0
            while slot < n_slots and share >= weights[slot]:
                share -= weights[slot]
                slot += 1
            if slot == n_slots:
                if n_slots == size.size:
                    # no class is empty; after the copy classes have the order of their slots
                    state = with_width(state, 2 * size.size)
                    members, size, count = state.members, state.class_size, state.level_count
                    occupied, waiting, weights = _doubled(occupied, waiting, weights)
                k = 0
                while size[k] > 0:
                    k += 1
                occupied[n_slots] = k
                waiting[n_slots] = 0
                n_slots += 1
            joined = occupied[slot]
            members[combination, joined] += 1
            size[joined] += 1
            for variable in range(n_variables):
                count[joined, row[variable]] += record_weight
            mass = _mass(problem, size[joined], count[joined])
            weights[slot] = _class_weight(
                row, record_weight, size[joined], mass, count[joined], prior, prior_sum, holes
            )
            n_moved += joined != left
    state = State(members, size, count, state.concentration, state.strengths)
    return state, Info(n_moved, failed)


def draw_concentration(
    generator: np.random.Generator,
    concentration: float,
    n_classes: int,
    n_records: int,
    shape: float,
    rate: float,
) -> float:
    """Draw the concentration given the number of occupied classes (Escobar and West).

    Its prior is Gamma(shape, rate); without records the draw is from the prior.
    """
    if n_records == 0:
        return float(generator.standard_gamma(shape) / rate)
    # log of a Beta(concentration + 1, n) draw, by way of gamma draws
    first = generator.standard_gamma(concentration + 1.0)
    log_auxiliary = log(first) - log(first + generator.standard_gamma(float(n_records)))
    new_rate = rate - log_auxiliary
    odds = (shape + n_classes - 1.0) / (n_records * new_rate)
    more = generator.random() * (1.0 + odds) < odds
    new_shape = shape + n_classes - (0.0 if more else 1.0)
    return float(generator.standard_gamma(new_shape) / new_rate)


def step(
    generator: np.random.Generator,
    problem: Problem,
    state: State,
    concentration_prior: tuple[float, float],
    visits: int,
) -> tuple[State, Info]:
    """One sweep: 1. every combination's records, 2. the concentration, 3. sampled strengths."""
    problem = with_strengths(problem, state.strengths)
    state, info = move_records(generator, records_of(problem), state, visits)
    shape, rate = concentration_prior
    concentration = draw_concentration(
        generator, state.concentration, n_occupied(state), problem.n_records, shape, rate
    )
    strengths = draw_strengths(generator, problem, state.strengths, state.level_count)
    return state._replace(concentration=concentration, strengths=strengths), info
