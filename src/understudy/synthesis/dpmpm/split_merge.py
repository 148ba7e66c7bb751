"""Split and merge: whole classes come and go in one Metropolis-Hastings move.

Records that move one by one found a class only through a valley of tiny classes. This move jumps
over it. Two records are drawn. If they share a class, the class is split: each of the two starts
a new class, and the other members, in random order, join one of them with the probabilities of a
collapsed sweep restricted to the two (sequential allocation, Dahl 2005). If they lie in different
classes, the two are merged; how likely a split would have made them is worked out by the same
allocation. The move is accepted with the usual ratio of posterior times proposal probabilities,
the classes' probabilities integrated out:

    posterior(split) / posterior(merged)
        = concentration  G(n_1) G(n_2) / G(n_1 + n_2)  m(1) m(2) / m(1 and 2),

G the gamma function and m(.) the marginal likelihood of the records of a class.

Records of one combination in one class are interchangeable, so the members are listed by their
combinations only.

Kernels share these arguments: `generator` (Generator), `problem` (Records), `state` (State),
`level_count` (level,) and `size` int of a class, `first` and `second` classes, `seed_1` and
`seed_2` combinations, `listed` int64 (member,), `in_second` bool (member,), `count` (side, level)
or (level,), `size` int64 (side,).

References
----------
Dahl, D. B. (2005), "Sequentially-allocated merge-split sampler for conjugate and nonconjugate
Dirichlet process mixture models", technical report, Texas A&M University.
Jain, S. and Neal, R. M. (2004), "A split-merge Markov chain Monte Carlo procedure for the Dirichlet
process mixture model", Journal of Computational and Graphical Statistics 13,
doi:10.1198/1061860043001.
"""

from __future__ import annotations

from math import lgamma
from typing import NamedTuple

import numpy as np

from understudy.compiling import compiled
from understudy.synthesis.dpmpm.collapsed import State, with_width
from understudy.synthesis.dpmpm.problem import Problem, records_of, with_strengths

__all__ = ["Info", "log_marginal", "split_or_merge"]


class Info(NamedTuple):
    """What is worth looking at after the move."""

    split: bool  # whether a split was proposed; otherwise a merge
    accepted: bool
    log_ratio: float  # logarithm of the acceptance ratio


@compiled
def log_marginal(level_count, size, problem):  # type: ignore[no-untyped-def]
    """Log marginal likelihood of a class of `size` records with these level counts int64 (level,).

    A variable's factor is that of the records without a hole there. With weighted counts `size` is
    the weighted one.
    """
    prior, prior_sum, level_start = problem.prior, problem.prior_sum, problem.level_start
    total = 0.0
    for variable in range(prior_sum.size):
        hole = problem.holes[variable]
        observed = size if hole < 0 else size - level_count[hole]
        total += lgamma(prior_sum[variable]) - lgamma(observed + prior_sum[variable])
        for level in range(level_start[variable], level_start[variable + 1]):
            if level_count[level] > 0 and level != hole:
                total += lgamma(level_count[level] + prior[level]) - lgamma(prior[level])
    return total


@compiled
def _any_record(generator, cumulative, members):  # type: ignore[no-untyped-def]
    """Draw a record: its combination, its class and its number among those alike.

    `cumulative` int64 (combination,) are running sums of the records, `members` int32
    (combination, class).
    """
    number = np.int64(generator.random() * cumulative[-1])
    combination, beyond = 0, cumulative.size - 1
    while combination < beyond:  # the first whose running sum exceeds the number
        middle = (combination + beyond) // 2
        if cumulative[middle] > number:
            beyond = middle
        else:
            combination = middle + 1
    if combination > 0:
        number -= cumulative[combination - 1]
    k = 0
    while number >= members[combination, k]:
        number -= members[combination, k]
        k += 1
    return combination, k, number


@compiled
def _list_members(members, first, second, seed_1, seed_2):  # type: ignore[no-untyped-def]
    """List the members of both classes but the seeds: combination, and whether in the second.

    Classes `first` and `second` may be the same; the seeds are combinations.
    """
    total = 0
    for combination in range(members.shape[0]):
        total += members[combination, first]
        if second != first:
            total += members[combination, second]
    listed = np.empty(total - 2, dtype=np.int64)  # (member,) combination
    in_second = np.zeros(total - 2, dtype=np.bool_)  # (member,)
    filled = 0
    for combination in range(members.shape[0]):
        in_first = members[combination, first] - (combination == seed_1)
        if second == first:
            in_first -= combination == seed_2
        for _ in range(in_first):
            listed[filled] = combination
            filled += 1
        if second != first:
            for _ in range(members[combination, second] - (combination == seed_2)):
                listed[filled] = combination
                in_second[filled] = True
                filled += 1
    return listed, in_second


@compiled
def _shuffle(generator, listed, in_second):  # type: ignore[no-untyped-def]
    """Put the members into random order."""
    for last in range(listed.size - 1, 0, -1):
        other = np.int64(generator.random() * (last + 1))
        listed[last], listed[other] = listed[other], listed[last]
        in_second[last], in_second[other] = in_second[other], in_second[last]


@compiled
def _added(problem, combination, record_weight, mass, count):  # type: ignore[no-untyped-def]
    """Log of what a record of `record_weight` adds to a class's probability, but for its size.

    `mass` and `count` (level,) are the weighted size and the counts of the class.
    """
    total = 0.0
    for variable in range(problem.prior_sum.size):
        level = problem.levels[combination, variable]
        here = count[level] + problem.prior[level]
        whole = mass + problem.prior_sum[variable]
        total += (
            lgamma(here + record_weight)
            - lgamma(here)
            + lgamma(whole)
            - lgamma(whole + record_weight)
        )
    return total


@compiled
def _allocate(generator, problem, listed, in_second, count, size, mass, choose):  # type: ignore[no-untyped-def]
    """Allocate the members one after another; returns the log probability of the allocation.

    `listed` int64 (member,) and `in_second` bool (member,) are in the order of allocation; `count`
    (side, level), `size` int64 (side,) and the weighted size `mass` (side,) hold the seeds and are
    filled. With `choose` the members' sides are drawn into `in_second`, otherwise they are given.
    """
    levels, prior, prior_sum = problem.levels, problem.prior, problem.prior_sum
    log_probability = 0.0
    weight = np.empty(2)  # (side,)
    for member in range(listed.size):
        combination = listed[member]
        record_weight = problem.weights[combination] if problem.weights.size else 1
        for side in range(2):
            weight[side] = size[side]
            if record_weight != 1:
                added = _added(problem, combination, record_weight, mass[side], count[side])
                weight[side] *= np.exp(added)
                continue
            for variable in range(prior_sum.size):
                level, hole = levels[combination, variable], problem.holes[variable]
                if level != hole:
                    observed = mass[side] if hole < 0 else mass[side] - count[side, hole]
                    weight[side] *= (count[side, level] + prior[level]) / (
                        observed + prior_sum[variable]
                    )
        total = weight[0] + weight[1]
        if not total > 0.0:  # both rounded to zero: any rule will do that is the same both ways
            weight[0] = weight[1] = 0.5
            total = 1.0
        if choose:
            in_second[member] = generator.random() * total >= weight[0]
        side = 1 if in_second[member] else 0
        log_probability += np.log(weight[side]) - np.log(total)
        size[side] += 1
        mass[side] += record_weight
        for variable in range(prior_sum.size):
            count[side, levels[combination, variable]] += record_weight
    return log_probability


@compiled
def _split(state, first, second, seed_2, listed, in_second, count, size):  # type: ignore[no-untyped-def]
    """Carry out a split: the members of the second side, its seed included, go to `second`."""
    members = state.members
    members[seed_2, first] -= 1
    members[seed_2, second] += 1
    for member in range(listed.size):
        if in_second[member]:
            members[listed[member], first] -= 1
            members[listed[member], second] += 1
    for side, k in ((0, first), (1, second)):
        state.class_size[k] = size[side]
        for level in range(count.shape[1]):
            state.level_count[k, level] = count[side, level]


@compiled
def _merge(state, first, second, count, size):  # type: ignore[no-untyped-def]
    """Carry out a merge: all members of `second` go to `first`."""
    for combination in range(state.members.shape[0]):
        state.members[combination, first] += state.members[combination, second]
        state.members[combination, second] = 0
    state.class_size[first] = size[0] + size[1]
    state.class_size[second] = 0
    for level in range(count.shape[1]):
        state.level_count[first, level] = count[2, level]
        state.level_count[second, level] = 0


@compiled
def _split_or_merge(generator, cumulative, problem, state):  # type: ignore[no-untyped-def]
    """Propose a split or merge of a state that has an empty class; its arrays are changed.

    `cumulative` int64 (combination,) are running sums of the records.
    """
    if cumulative.size == 0 or cumulative[-1] < 2:
        return Info(False, False, -np.inf)
    seed_1, first, number_1 = _any_record(generator, cumulative, state.members)
    seed_2, second, number_2 = _any_record(generator, cumulative, state.members)
    while seed_1 == seed_2 and first == second and number_1 == number_2:
        seed_2, second, number_2 = _any_record(generator, cumulative, state.members)
    split = first == second
    listed, in_second = _list_members(state.members, first, second, seed_1, seed_2)
    _shuffle(generator, listed, in_second)
    # (side or both, level)
    count = np.zeros((3, problem.prior.size), dtype=state.level_count.dtype)
    size = np.empty(2, dtype=np.int64)  # (side,)
    mass = np.empty(2, dtype=state.level_count.dtype)  # (side,)
    size[0] = size[1] = mass[0] = mass[1] = 1
    if problem.weights.size:
        mass[0], mass[1] = problem.weights[seed_1], problem.weights[seed_2]
    for variable in range(problem.prior_sum.size):
        count[0, problem.levels[seed_1, variable]] += mass[0]
        count[1, problem.levels[seed_2, variable]] += mass[1]
    log_proposal = _allocate(generator, problem, listed, in_second, count, size, mass, split)
    for level in range(count.shape[1]):
        count[2, level] = count[0, level] + count[1, level]
    log_ratio = np.log(state.concentration) - log_proposal
    log_ratio += lgamma(size[0]) + lgamma(size[1]) - lgamma(size[0] + size[1])
    log_ratio += log_marginal(count[0], mass[0], problem)
    log_ratio += log_marginal(count[1], mass[1], problem)
    log_ratio -= log_marginal(count[2], mass[0] + mass[1], problem)
    if not split:
        log_ratio = -log_ratio
    if not np.log(generator.random()) < log_ratio:
        return Info(split, False, log_ratio)
    if split:
        empty = 0
        while state.class_size[empty] > 0:
            empty += 1
        _split(state, first, empty, seed_2, listed, in_second, count, size)
    else:
        _merge(state, first, second, count, size)
    return Info(split, True, log_ratio)


def split_or_merge(
    generator: np.random.Generator, problem: Problem, state: State
) -> tuple[State, Info]:
    """Propose one split or merge, and accept or refuse it.

    The state's arrays are written over. A state without an empty class is made wider first: a
    split must be as possible as the merge that undoes it.
    """
    if state.class_size.all():
        state = with_width(state, 2 * state.class_size.size)
    cumulative = np.cumsum(problem.counts)  # (combination,)
    records = records_of(with_strengths(problem, state.strengths))
    return state, _split_or_merge(generator, cumulative, records, state)
