"""Classes of all records given weights and level probabilities: one multinomial a combination.

This is the blocked sampler's first and most expensive conditional, so it is written for speed, and
still draws from the exact distribution:

- Classes are ordered by weight. Those that expect hardly a record of all, the *tail*, are looked
  at only where they can matter: with B at least what the tail gives a combination, and h what the
  others give it, a draw below h of h + B needs no more than that.
- Of the others, a combination's most probable class takes what is left over, and all that expect
  less than half a record of it are drawn together. Mostly that is none: for m expected records a
  uniform number below 1 - m says so without a power, since (1 - p)^n >= 1 - n p.
- What remains, one or two classes, are binomial draws: by inversion, and from ten expected records
  on by transformed rejection with squeezing (Hoermann 1993), the ratio of probabilities worked out
  as two products without a division or a logarithm.

Combinations are cut into slices, always in the same way, and each slice has random numbers of its
own: the generator SFC64, its state three words of the chain's stream. So slices may be drawn by
several threads, and the bytes do not depend on how many.

References
----------
Hoermann, W. (1993), "The generation of binomial random variates", Journal of Statistical
Computation and Simulation 46, doi:10.1080/00949659308811496.
"""

from __future__ import annotations

from concurrent.futures import Executor
from math import lgamma
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.dpmpm.problem import Problem

__all__ = ["draw_binomial", "draw_classes", "draw_word", "n_slices"]

SLICE = 4096  # combinations that are always drawn one after another
SMALL = 16  # from so many records on, binomial draws are cheaper than one draw per record
INVERSION = 10.0  # expected records up to which a binomial draw is by inversion
NEAR = 40.0  # steps from the mode up to which a ratio of probabilities is worked out as products
SMALLEST = 1e-300
TAIL = 0.1  # expected records below which a class is in the tail


class Order(NamedTuple):
    """The classes by weight, the heavy ones first."""

    classes: NDArray[np.int64]  # (place,) all classes
    weights: NDArray[np.float64]  # (place,)
    probabilities: NDArray[np.float64]  # (level, heavy place)
    ceiling: NDArray[np.float64]  # (level,) largest probability among the tail
    tail_weight: float


def n_slices(n_combinations: int) -> int:
    """Count the slices that combinations are cut into."""
    return max(1, -(-n_combinations // SLICE))


@compiled
def draw_word(random):  # type: ignore[no-untyped-def]
    """Draw 64 random bits: SFC64, whose state is three words and a counter."""
    a, b, c = random[0], random[1], random[2]
    word = a + b + random[3]
    random[3] += np.uint64(1)
    random[0] = b ^ (b >> np.uint64(11))
    random[1] = c + (c << np.uint64(3))
    random[2] = ((c << np.uint64(24)) | (c >> np.uint64(40))) + word
    return word


@compiled
def _uniform(random):  # type: ignore[no-untyped-def]
    """Draw a number from 0 to 1, 1 not included."""
    return np.float64(draw_word(random) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def _inverted(uniform, n_free, p):  # type: ignore[no-untyped-def]
    """Turn a uniform number into a binomial one; few records are expected."""
    here = 0
    density = np.exp(n_free * np.log1p(-p))
    odds = p / (1.0 - p)
    left, next_one = float(n_free), 1.0
    while uniform >= density and here < n_free:
        uniform -= density
        here += 1
        density *= odds * left / next_one
        left -= 1.0
        next_one += 1.0
    return here


@compiled
def _rejected(random, n_free, p):  # type: ignore[no-untyped-def]
    """Draw a binomial number by transformed rejection; p is at most 1/2, many are expected."""
    spread = np.sqrt(n_free * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    inverse_b = 1.0 / b
    surely = 0.92 - 4.2 * inverse_b
    while True:
        v = _uniform(random)
        u = _uniform(random) - 0.5
        edge = 0.5 - abs(u)
        here = np.floor((2.0 * a / edge + b) * u + n_free * p + 0.5)
        if edge >= 0.07 and v <= surely:
            return np.int64(here)
        if here < 0.0 or here > n_free:
            continue
        # accept with the ratio of probabilities here and at the mode, over that of the proposal
        mode = np.floor((n_free + 1) * p)
        odds = p / (1.0 - p)
        below = v * (2.83 + 5.1 * inverse_b) * spread
        above = a / (edge * edge) + b
        if abs(here - mode) >= NEAR:
            log_ratio = lgamma(mode + 1.0) + lgamma(n_free - mode + 1.0)
            log_ratio -= lgamma(here + 1.0) + lgamma(n_free - here + 1.0)
            log_ratio += (here - mode) * np.log(odds)
            if np.log(below / above) <= log_ratio:
                return np.int64(here)
            continue
        one, other = min(here, mode) + 1.0, n_free - min(here, mode)
        ones, others = 1.0, 1.0
        while one <= max(here, mode):
            ones *= one
            others *= other * odds
            one += 1.0
            other -= 1.0
        if here > mode:
            below, above = below * ones, above * others
        else:
            below, above = below * others, above * ones
        if below <= above:
            return np.int64(here)


@compiled
def draw_binomial(random, n_free, p):  # type: ignore[no-untyped-def]
    """Draw how many of `n_free` records have something that each has with probability p."""
    rare = min(p, 1.0 - p)
    if n_free * rare < INVERSION:
        here = _inverted(_uniform(random), n_free, rare) if rare > 0.0 else 0
    else:
        here = _rejected(random, n_free, rare)
    return here if p <= 0.5 else n_free - here


@compiled
def _ordered(log_weights, probabilities, n_records):  # type: ignore[no-untyped-def]
    """Order the classes by weight, and see how much the tail can be."""
    classes = np.argsort(-log_weights)  # (place,)
    weights = np.exp(log_weights[classes])  # (place,)
    n_heavy = 1
    while n_heavy < weights.size and weights[n_heavy] * n_records >= TAIL:
        n_heavy += 1
    n_levels = probabilities.shape[0]
    heavy = np.empty((n_levels, n_heavy))  # (level, heavy place)
    ceiling = np.zeros(n_levels)  # (level,)
    for level in range(n_levels):
        for place in range(n_heavy):
            heavy[level, place] = probabilities[level, classes[place]]
        for place in range(n_heavy, weights.size):
            ceiling[level] = max(ceiling[level], probabilities[level, classes[place]])
    return Order(classes, weights, heavy, ceiling, weights[n_heavy:].sum())


@compiled
def _look_at_tail(row, order, probabilities, joint):  # type: ignore[no-untyped-def]
    """Fill in what the tail's classes give a combination; returns their sum."""
    total = 0.0
    for place in range(order.probabilities.shape[1], joint.size):
        joint[place] = order.weights[place]
        for variable in range(row.size):
            joint[place] *= probabilities[row[variable], order.classes[place]]
        total += joint[place]
    return total


@compiled
def _found(rest, joint, first, last):  # type: ignore[no-untyped-def]
    """Find the place where a share of the sum of these weights lies."""
    place = first
    while place < last - 1 and rest >= joint[place]:
        rest -= joint[place]
        place += 1
    return place


@compiled
def _draw_among_all(random, n_free, row, order, probabilities, joint, drawn):  # type: ignore[no-untyped-def]
    """Draw the classes of a combination to which the tail matters; whether all weights vanished."""
    n_heavy, last = order.probabilities.shape[1], joint.size - 1
    total = _look_at_tail(row, order, probabilities, joint)
    for place in range(n_heavy - 1, -1, -1):
        total += joint[place]
    if not total > 0.0:
        drawn[0] += n_free
        return True
    if n_free < SMALL:
        for _ in range(n_free):
            drawn[_found(_uniform(random) * total, joint, 0, joint.size)] += 1
        return False
    for place in range(last):
        if n_free > 0:
            here = draw_binomial(random, n_free, max(0.0, min(1.0, joint[place] / total)))
            drawn[place] += here
            n_free -= here
            total = max(total - joint[place], SMALLEST)
    drawn[last] += n_free
    return False


@compiled
def _draw_tail(random, uniform, n_free, row, order, probabilities, joint, heavy, drawn):  # type: ignore[no-untyped-def]
    """Draw how many of many records go to the tail, and to which classes; returns how many."""
    n_heavy = order.probabilities.shape[1]
    tail = _look_at_tail(row, order, probabilities, joint)
    n_tail = _inverted(uniform, n_free, tail / (heavy + tail))
    for _ in range(n_tail):
        drawn[_found(_uniform(random) * tail, joint, n_heavy, joint.size)] += 1
    return n_tail


@compiled
def _draw_rare(random, n_free, lump, heavy):  # type: ignore[no-untyped-def]
    """Draw how many of many records go to the rare classes; mostly less than one is expected."""
    expected = n_free * lump
    if expected >= heavy:  # there are very many rare classes
        return draw_binomial(random, n_free, lump / heavy)
    uniform = _uniform(random)
    if uniform * heavy <= heavy - expected:
        return 0
    return _inverted(uniform, n_free, lump / heavy)


@compiled
def _rare_place(random, joint, n_heavy, lump, rare, most):  # type: ignore[no-untyped-def]
    """Choose one of the rare classes."""
    rest = _uniform(random) * lump
    chosen = most
    for place in range(n_heavy):
        if joint[place] < rare and place != most:
            chosen = place
            if rest < joint[place]:
                break
            rest -= joint[place]
    return chosen


@compiled
def _book(pending, row, count):  # type: ignore[no-untyped-def]
    """Book the records counted since the first levels last changed, for all variables but one."""
    for place in range(pending.size):
        for variable in range(row.size - 1):
            count[row[variable], place] += pending[place]
        pending[place] = 0


@compiled
def _book_alone(places, row, classes, level_count):  # type: ignore[no-untyped-def]
    """Book records of the tail, which are few."""
    for place in range(places.size):
        if places[place] > 0:
            for variable in range(row.size):
                level_count[row[variable], classes[place]] += places[place]
            places[place] = 0


@compiled
def _draw_slice(words, problem, first, last, order, probabilities, level_count):  # type: ignore[no-untyped-def]
    """Draw the classes of some combinations and add them to the counts; whether weights vanished.

    Combinations are in lexicographic order, so the product over all variables but the last is
    mostly that of the combination before.
    """
    levels, counts, classes = problem.levels, problem.counts, order.classes
    last_variable = levels.shape[1] - 1
    random = np.ones(4, dtype=np.uint64)  # SFC64: three words and a counter
    random[:3] = words
    n_heavy = order.probabilities.shape[1]
    shared = np.empty(n_heavy)  # (heavy place,) weight times all variables but the last
    joint = np.empty(classes.size)  # (place,)
    drawn = np.zeros(classes.size, dtype=np.int64)  # (place,) records that are booked at once
    pending = np.zeros(n_heavy, dtype=np.int64)  # (heavy place,) records to be booked
    count = np.zeros((level_count.shape[0], n_heavy), dtype=np.int64)  # (level, heavy place)
    shared_bound = 0.0
    failed = False
    for combination in range(first, last):
        row = levels[combination]
        same = combination > first
        for variable in range(last_variable):
            same = same and row[variable] == levels[combination - 1, variable]
        if not same:
            if combination > first:
                _book(pending, levels[combination - 1], count)
            shared[:] = order.weights[:n_heavy]
            shared_bound = order.tail_weight
            for variable in range(last_variable):
                shared_bound *= order.ceiling[row[variable]]
                for place in range(n_heavy):
                    shared[place] *= order.probabilities[row[variable], place]
        level = row[last_variable]
        heavy = 0.0
        for place in range(n_heavy):
            joint[place] = shared[place] * order.probabilities[level, place]
            heavy += joint[place]
        bound = shared_bound * order.ceiling[level]
        n_free = counts[combination]
        if not bound * (n_free if n_free >= SMALL else 1) < heavy:
            failed |= _draw_among_all(random, n_free, row, order, probabilities, joint, drawn)
            _book_alone(drawn, row, classes, level_count)
        elif n_free < SMALL:
            while n_free > 0:
                rest = _uniform(random) * (heavy + bound)
                place = 0
                if rest < heavy:
                    while place < n_heavy - 1 and rest >= joint[place]:
                        rest -= joint[place]
                        place += 1
                else:
                    rest -= heavy
                    if rest >= _look_at_tail(row, order, probabilities, joint):
                        continue  # between the tail and its bound
                    drawn[_found(rest, joint, n_heavy, classes.size)] = 1
                    _book_alone(drawn, row, classes, level_count)
                    n_free -= 1
                    continue
                pending[place] += 1
                count[level, place] += 1
                n_free -= 1
        else:
            # 1. the tail, mostly without a look at it
            uniform = _uniform(random)
            if uniform * heavy > heavy - n_free * bound:
                n_free -= _draw_tail(
                    random, uniform, n_free, row, order, probabilities, joint, heavy, drawn
                )
                _book_alone(drawn, row, classes, level_count)
            # 2. all that is rare
            most = 0
            for place in range(1, n_heavy):
                most = place if joint[place] > joint[most] else most
            rare = 0.5 * heavy / max(1, n_free)
            lump = kept = 0.0
            for place in range(n_heavy):
                few = joint[place] < rare and place != most
                lump += joint[place] if few else 0.0
                kept += 0.0 if few else joint[place]
            n_rare = _draw_rare(random, n_free, lump, heavy)
            n_free -= n_rare
            for _ in range(n_rare):
                place = _rare_place(random, joint, n_heavy, lump, rare, most)
                pending[place] += 1
                count[level, place] += 1
            # 3. the others one after another
            for place in range(n_heavy):
                if joint[place] >= rare and place != most and n_free > 0:
                    here = draw_binomial(random, n_free, min(1.0, joint[place] / kept))
                    pending[place] += here
                    count[level, place] += here
                    n_free -= here
                    kept -= joint[place]
            # 4. the most probable one takes what is left
            pending[most] += n_free
            count[level, most] += n_free
    if last > first:
        _book(pending, levels[last - 1], count)
    for level in range(count.shape[0]):
        for place in range(n_heavy):
            level_count[level, classes[place]] += count[level, place]
    return failed


@compiled
def _draw_slices(words, problem, first, last, order, probabilities, class_size, level_count):  # type: ignore[no-untyped-def]
    """Draw some slices one after another into counts that are cleared first."""
    class_size[:] = 0
    level_count[:] = 0
    failed = False
    for number in range(first, last):
        start = number * SLICE
        end = min(start + SLICE, problem.counts.size)
        failed |= _draw_slice(words[number], problem, start, end, order, probabilities, level_count)
    for level in range(problem.level_start[0], problem.level_start[1]):
        class_size += level_count[level]
    return failed


def draw_classes(
    generator: np.random.Generator,
    problem: Problem,
    log_weights: NDArray[np.float64],
    probabilities: NDArray[np.float64],
    class_size: NDArray[np.int64],
    level_count: NDArray[np.int64],
    pool: Executor | None = None,
    threads: int = 1,
) -> bool:
    """Draw the classes of all records; fills the counts, returns whether all weights vanished.

    Parameters
    ----------
    generator : numpy.random.Generator
        The chain's; gives three words for every slice.
    problem : Problem
        Combinations and their counts.
    log_weights : float64 (class,)
        Logarithms of the class weights.
    probabilities : float64 (level, class)
        Level probabilities.
    class_size, level_count : int64 (class,), int64 (level, class)
        Filled.
    pool : Executor, optional
        Threads beside the calling one.
    threads : int
        Threads in all.
    """
    slices = n_slices(problem.counts.size)
    raw: Any = generator.bit_generator.random_raw(3 * slices)
    words = raw.reshape(slices, 3)  # (slice, word)
    order = _ordered(log_weights, probabilities, problem.counts.sum())
    threads = min(threads, slices)
    if pool is None or threads == 1:
        return bool(
            _draw_slices(words, problem, 0, slices, order, probabilities, class_size, level_count)
        )
    cuts = [slices * part // threads for part in range(threads + 1)]
    others = [(np.empty_like(class_size), np.empty_like(level_count)) for _ in range(1, threads)]
    running = [
        pool.submit(_draw_slices, words, problem, first, last, order, probabilities, *counts)
        for first, last, counts in zip(cuts[1:], cuts[2:], others, strict=False)
    ]
    failed = bool(
        _draw_slices(words, problem, 0, cuts[1], order, probabilities, class_size, level_count)
    )
    for future, counts in zip(running, others, strict=True):
        failed |= bool(future.result())
        class_size += counts[0]
        level_count += counts[1]
    return failed
