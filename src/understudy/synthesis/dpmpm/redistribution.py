"""Redistribution: all records of the large classes change places at once, at the cost of a table.

Where combinations have very many records, visiting them one by one is too slow. This move draws
class weights and level probabilities given the classes, then the classes of all records given
those: per combination one multinomial draw, whatever the number of its records.

Drawing everything anew among the occupied classes would be wrong for a Dirichlet process: a class
that loses its last record could never come back by the same way. So a few records, drawn whatever
their classes, are pinned. Classes with a pinned record take part, all others sit out with their
records. No class that takes part can become empty, and the move back is as open as the move
there. Given the pinned records the weights of the classes that take part are Dirichlet(n_k) (the
rest of the process does not matter), their probabilities Dirichlet(prior + counts), and every
record that is not pinned joins class k with probability proportional to w_k prod_v p_kvl.
"""

from __future__ import annotations

import numpy as np

from understudy.compiling import compiled

__all__ = ["redistribute"]

SMALL = 24  # from so many records on, binomial draws are cheaper than one draw per record


@compiled
def _pin(generator, counts, members, n_pinned):  # type: ignore[no-untyped-def]
    """Draw records without replacement: how many of each combination and class are pinned."""
    cumulative = np.cumsum(counts)  # (combination,)
    pinned = np.zeros(members.shape, dtype=np.int32)  # (combination, class)
    drawn = 0
    while drawn < min(n_pinned, cumulative[-1]):
        chosen = np.int64(generator.random() * cumulative[-1])
        combination = np.searchsorted(cumulative, chosen, side="right")
        if combination > 0:
            chosen -= cumulative[combination - 1]
        one = 0
        while chosen >= members[combination, one]:
            chosen -= members[combination, one]
            one += 1
        # records alike are numbered; the pinned ones come first
        if chosen >= pinned[combination, one]:
            pinned[combination, one] += 1
            drawn += 1
    return pinned


@compiled
def _taking_part(pinned):  # type: ignore[no-untyped-def]
    """List the classes with a pinned record."""
    has = np.zeros(pinned.shape[1], dtype=np.bool_)  # (class,)
    for combination in range(pinned.shape[0]):
        for one in range(pinned.shape[1]):
            if pinned[combination, one] > 0:
                has[one] = True
    return np.flatnonzero(has)


@compiled
def _draw_probabilities(generator, problem, class_size, level_count, active):  # type: ignore[no-untyped-def]
    """Draw weights and level probabilities of the classes that take part, given their members."""
    weights = np.empty(active.size)  # (place,)
    probabilities = np.empty((problem.prior.size, active.size))  # (level, place)
    for place in range(active.size):
        one = active[place]
        weights[place] = generator.standard_gamma(float(class_size[one]))
        for variable in range(problem.prior_sum.size):
            first, last = problem.level_start[variable], problem.level_start[variable + 1]
            total = 0.0
            for level in range(first, last):
                drawn = generator.standard_gamma(level_count[one, level] + problem.prior[level])
                probabilities[level, place] = drawn
                total += drawn
            for level in range(first, last):
                probabilities[level, place] /= total
    return weights / weights.sum(), probabilities


@compiled
def _multinomial(generator, n_free, weights, total, drawn):  # type: ignore[no-untyped-def]
    """Draw how many of `n_free` records go to each place."""
    last = weights.size - 1
    drawn[:] = 0
    if n_free < SMALL:
        for _ in range(n_free):
            rest = generator.random() * total
            place = 0
            while place < last and rest >= weights[place]:
                rest -= weights[place]
                place += 1
            drawn[place] += 1
        return
    for place in range(last):
        if n_free == 0 or total <= 0.0:
            break
        drawn[place] = generator.binomial(n_free, min(1.0, weights[place] / total))
        n_free -= drawn[place]
        total -= weights[place]
    drawn[last] += n_free


@compiled
def redistribute(generator, problem, state, n_pinned):  # type: ignore[no-untyped-def]
    """Redraw the classes of all records but the pinned ones and those of small classes.

    The state's arrays are changed in place. Returns the number of classes that took part.
    """
    members, class_size, level_count = state.members, state.class_size, state.level_count
    levels = problem.levels
    if problem.counts.size == 0:
        return 0
    pinned = _pin(generator, problem.counts, members, n_pinned)
    active = _taking_part(pinned)
    if active.size < 2:
        return active.size
    weights, probabilities = _draw_probabilities(
        generator, problem, class_size, level_count, active
    )
    for place in range(active.size):
        class_size[active[place]] = 0
        level_count[active[place]] = 0
    joint = np.empty(active.size)  # (place,)
    drawn = np.empty(active.size, dtype=np.int64)  # (place,)
    for combination in range(levels.shape[0]):
        joint[:] = weights
        for variable in range(levels.shape[1]):
            level = levels[combination, variable]
            for place in range(active.size):
                joint[place] *= probabilities[level, place]
        n_free = 0
        total = 0.0
        for place in range(active.size):
            one = active[place]
            n_free += members[combination, one] - pinned[combination, one]
            total += joint[place]
        _multinomial(generator, n_free, joint, total, drawn)
        for place in range(active.size):
            one = active[place]
            here = drawn[place] + pinned[combination, one]
            members[combination, one] = here
            class_size[one] += here
            for variable in range(levels.shape[1]):
                level_count[one, levels[combination, variable]] += here
    return active.size
