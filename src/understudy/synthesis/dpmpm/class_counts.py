"""Classes of all records given weights and level probabilities: one multinomial a combination.

This is the blocked sampler's first and most expensive conditional, so it is written for speed, and
still draws from the exact distribution. Class k gives a combination the joint probability
w_k prod_v p_kvl; its records are multinomial with these. Classes are ranked by weight:

    rank      0  1  2  ... | ...                          last
              heavy        | tail: expect less than TAIL of all records

The tail is worked out only where it can matter. Let `heavy` be the sum over the heavy ranks and
`bound` at least the sum over the tail; then a draw below `heavy` of `heavy + bound` needs no more.
A combination is drawn in one of three ways:

    the bound is not small       all classes are worked out           _draw_among_all
    fewer than SMALL records     one by one, by inversion             in _draw_slice
    more                         1. the tail, mostly without a look   _draw_tail
                                 2. rare classes (less than half a record expected), together
                                 3. the others, one binomial draw each
                                 4. the most probable class takes what is left     _draw_heavy

For m expected records a uniform number below 1 - m says that there are none, without a power, since
(1 - p)^n >= 1 - n p. Other binomial draws are by inversion, and from ten expected records on by
transformed rejection with squeezing (Hoermann 1993), where the ratio of probabilities is two
products without a division or a logarithm.

Combinations are cut into slices, always in the same way, and each slice has random numbers of its
own: the generator SFC64, its state three words of the chain's stream. So slices may be drawn by
several threads or machines, and the bytes do not depend on how many.

Arguments that the kernels share:

    random           uint64 (4,)                   state of SFC64: three words and a counter
    n_free           int64                         records of the combination without a class yet
    row              int32 (variable,)             levels of the combination
    order            Order                         classes by weight
    probabilities    float64 (level, class)        level probabilities
    joint            float64 (rank,)               joint probabilities of this combination
    drawn            int64 (rank,)                 its records that are added to level_count next
    pending          int64 (heavy rank,)           records since the first levels last changed
    count            int64 (level, heavy rank)     records of this slice
    level_count      int64 (level, class)          records of all slices

Arrays travel one by one where a function is called for every combination: a tuple of them would
triple the time of a sweep.

Also: `problem` (Problem), `log_weights` float64 (class,), `shared` float64 (heavy rank,), the ints
`n_records` and `n_heavy`, `lump` float.

References
----------
Hoermann, W. (1993), "The generation of binomial random variates", Journal of Statistical
Computation and Simulation 46, doi:10.1080/00949659308811496.
"""

from __future__ import annotations

from concurrent.futures import Executor
from math import lgamma
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.dpmpm.problem import Problem

__all__ = [
    "draw_binomial", "draw_classes", "draw_slices", "draw_word", "n_slices", "order_by_weight",
    "slice_words",
]  # fmt: skip

SLICE = 4096  # combinations that are always drawn one after another
SMALL = 16  # from so many records on, binomial draws are cheaper than one draw per record
INVERSION = 10.0  # expected records up to which a binomial draw is by inversion
NEAR = 40.0  # steps from the mode up to which a ratio of probabilities is worked out as products
SMALLEST = 1e-300
TAIL = 0.1  # expected records below which a class is in the tail


class Order(NamedTuple):
    """The classes by weight, the heavy ones first."""

    classes: NDArray[np.int64]  # (rank,) all classes
    weights: NDArray[np.float64]  # (rank,)
    probabilities: NDArray[np.float64]  # (level, heavy rank)
    ceiling: NDArray[np.float64]  # (level,) largest probability among the tail
    tail_weight: float


def n_slices(n_combinations: int) -> int:
    """Count the slices that combinations are cut into."""
    return max(1, -(-n_combinations // SLICE))


def slice_words(generator: np.random.Generator, slices: int) -> NDArray[np.uint64]:
    """Draw the words that make the random numbers of every slice its own: (slice, word)."""
    return np.asarray(generator.bit_generator.random_raw(3 * slices)).reshape(slices, 3)


@compiled
def draw_word(random):  # type: ignore[no-untyped-def]
    """Draw 64 random bits: SFC64; `random` uint64 (4,) has its three words and a counter."""
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
def _invert(uniform, n_free, p):  # type: ignore[no-untyped-def]
    """Turn a uniform number into a binomial one; few records are expected."""
    here = 0
    density = np.exp(n_free * np.log1p(-p))
    odds = p / (1.0 - p)
    left, following = float(n_free), 1.0
    while uniform >= density and here < n_free:
        uniform -= density
        here += 1
        density *= odds * left / following
        left -= 1.0
        following += 1.0
    return here


@compiled
def _accept(here, n_free, p, below, above):  # type: ignore[no-untyped-def]
    """Tell whether below / above is at most the ratio of probabilities here and at the mode."""
    mode = np.floor((n_free + 1) * p)
    odds = p / (1.0 - p)
    if abs(here - mode) >= NEAR:
        log_ratio = lgamma(mode + 1.0) + lgamma(n_free - mode + 1.0)
        log_ratio -= lgamma(here + 1.0) + lgamma(n_free - here + 1.0)
        log_ratio += (here - mode) * np.log(odds)
        return np.log(below / above) <= log_ratio
    upper, lower = min(here, mode) + 1.0, n_free - min(here, mode)
    uppers, lowers = 1.0, 1.0
    while upper <= max(here, mode):
        uppers *= upper
        lowers *= lower * odds
        upper += 1.0
        lower -= 1.0
    if here > mode:
        return below * uppers <= above * lowers
    return below * lowers <= above * uppers


@compiled
def _reject(random, n_free, p):  # type: ignore[no-untyped-def]
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
        below = v * (2.83 + 5.1 * inverse_b) * spread
        above = a / (edge * edge) + b
        if 0.0 <= here <= n_free and _accept(here, n_free, p, below, above):
            return np.int64(here)


@compiled
def draw_binomial(random, n_free, p):  # type: ignore[no-untyped-def]
    """Draw how many of `n_free` records have something that each has with probability p.

    `random` uint64 (4,) is the state of `draw_word`.
    """
    rare = min(p, 1.0 - p)
    if n_free * rare < INVERSION:
        here = _invert(_uniform(random), n_free, rare) if rare > 0.0 else 0
    else:
        here = _reject(random, n_free, rare)
    return here if p <= 0.5 else n_free - here


@compiled
def order_by_weight(log_weights, probabilities, n_records):  # type: ignore[no-untyped-def]
    """Rank the classes by their log weights (class,), and bound what the tail can be."""
    classes = np.argsort(-log_weights)  # (rank,)
    weights = np.exp(log_weights[classes])  # (rank,)
    n_heavy = 1
    while n_heavy < weights.size and weights[n_heavy] * n_records >= TAIL:
        n_heavy += 1
    n_levels = probabilities.shape[0]
    heavy = np.empty((n_levels, n_heavy))  # (level, heavy rank)
    ceiling = np.zeros(n_levels)  # (level,)
    for level in range(n_levels):
        for rank in range(n_heavy):
            heavy[level, rank] = probabilities[level, classes[rank]]
        for rank in range(n_heavy, weights.size):
            ceiling[level] = max(ceiling[level], probabilities[level, classes[rank]])
    return Order(classes, weights, heavy, ceiling, weights[n_heavy:].sum())


@compiled
def _weigh_first_levels(row, order, shared):  # type: ignore[no-untyped-def]
    """Fill in the product over all variables but the last; returns the tail's bound so far."""
    bound = order.tail_weight
    shared[:] = order.weights[: shared.size]
    for variable in range(row.size - 1):
        bound *= order.ceiling[row[variable]]
        for rank in range(shared.size):
            shared[rank] *= order.probabilities[row[variable], rank]
    return bound


@compiled
def _weigh_last_level(level, probabilities, shared, joint):  # type: ignore[no-untyped-def]
    """Fill in the joint probabilities of the heavy classes; returns their sum."""
    heavy = 0.0
    for rank in range(shared.size):
        joint[rank] = shared[rank] * probabilities[level, rank]
        heavy += joint[rank]
    return heavy


@compiled
def _weigh_tail(row, order, probabilities, joint):  # type: ignore[no-untyped-def]
    """Fill in the joint probabilities of the tail; returns their sum."""
    total = 0.0
    for rank in range(order.probabilities.shape[1], joint.size):
        joint[rank] = order.weights[rank]
        for variable in range(row.size):
            joint[rank] *= probabilities[row[variable], order.classes[rank]]
        total += joint[rank]
    return total


@compiled
def _locate(share, joint, first, last):  # type: ignore[no-untyped-def]
    """Find the rank from `first` to `last` where a share of the sum of their weights lies."""
    rank = first
    while rank < last - 1 and share >= joint[rank]:
        share -= joint[rank]
        rank += 1
    return rank


@compiled
def _add_pending(pending, row, count):  # type: ignore[no-untyped-def]
    """Add the records that share their first levels, for all variables but the last."""
    for rank in range(pending.size):
        for variable in range(row.size - 1):
            count[row[variable], rank] += pending[rank]
        pending[rank] = 0


@compiled
def _add_drawn(drawn, row, classes, level_count):  # type: ignore[no-untyped-def]
    """Add records for all variables at once."""
    for rank in range(drawn.size):
        if drawn[rank] > 0:
            for variable in range(row.size):
                level_count[row[variable], classes[rank]] += drawn[rank]
            drawn[rank] = 0


@compiled
def _draw_among_all(random, n_free, row, order, probabilities, joint, drawn):  # type: ignore[no-untyped-def]
    """Draw the classes of a combination to which the tail matters; whether all weights vanished."""
    n_heavy, last = order.probabilities.shape[1], joint.size - 1
    total = _weigh_tail(row, order, probabilities, joint)
    for rank in range(n_heavy - 1, -1, -1):
        total += joint[rank]
    if not total > 0.0:
        drawn[0] += n_free
        return True
    if n_free < SMALL:
        for _ in range(n_free):
            drawn[_locate(_uniform(random) * total, joint, 0, joint.size)] += 1
        return False
    for rank in range(last):
        if n_free > 0:
            here = draw_binomial(random, n_free, max(0.0, min(1.0, joint[rank] / total)))
            drawn[rank] += here
            n_free -= here
            total = max(total - joint[rank], SMALLEST)
    drawn[last] += n_free
    return False


@compiled
def _draw_tail(random, uniform, n_free, row, order, probabilities, joint, heavy, drawn):  # type: ignore[no-untyped-def]
    """Draw how many of many records go to the tail, and to which classes; returns how many."""
    n_heavy = order.probabilities.shape[1]
    tail = _weigh_tail(row, order, probabilities, joint)
    n_tail = _invert(uniform, n_free, tail / (heavy + tail))
    for _ in range(n_tail):
        drawn[_locate(_uniform(random) * tail, joint, n_heavy, joint.size)] += 1
    return n_tail


@compiled
def _count_rare(random, n_free, lump, heavy):  # type: ignore[no-untyped-def]
    """Draw how many of many records go to the rare classes; mostly less than one is expected."""
    expected = n_free * lump
    if expected >= heavy:  # there are very many rare classes
        return draw_binomial(random, n_free, lump / heavy)
    uniform = _uniform(random)
    if uniform * heavy <= heavy - expected:
        return 0
    return _invert(uniform, n_free, lump / heavy)


@compiled
def _draw_rare(random, joint, n_heavy, lump, rare, most):  # type: ignore[no-untyped-def]
    """Draw one of the rare classes: those below `rare` but the rank `most`, `lump` in all."""
    share = _uniform(random) * lump
    last = most
    for rank in range(n_heavy):
        if joint[rank] < rare and rank != most:
            last = rank
            if share < joint[rank]:
                break
            share -= joint[rank]
    return last


@compiled
def _draw_heavy(random, n_free, heavy, level, joint, pending, count):  # type: ignore[no-untyped-def]
    """Draw the heavy classes of many records, whose joint probabilities sum to `heavy`."""
    n_heavy = pending.size
    # 2. rare classes together
    most = 0
    for rank in range(1, n_heavy):
        most = rank if joint[rank] > joint[most] else most
    rare = 0.5 * heavy / max(1, n_free)
    lump = kept = 0.0
    for rank in range(n_heavy):
        few = joint[rank] < rare and rank != most
        lump += joint[rank] if few else 0.0
        kept += 0.0 if few else joint[rank]
    n_rare = _count_rare(random, n_free, lump, heavy)
    n_free -= n_rare
    for _ in range(n_rare):
        rank = _draw_rare(random, joint, n_heavy, lump, rare, most)
        pending[rank] += 1
        count[level, rank] += 1
    # 3. the others one after another
    for rank in range(n_heavy):
        if joint[rank] >= rare and rank != most and n_free > 0:
            here = draw_binomial(random, n_free, min(1.0, joint[rank] / kept))
            pending[rank] += here
            count[level, rank] += here
            n_free -= here
            kept -= joint[rank]
    # 4. the most probable class
    pending[most] += n_free
    count[level, most] += n_free


@compiled
def _same_first_levels(levels, combination):  # type: ignore[no-untyped-def]
    """Tell whether a combination differs from the one before in its last variable only."""
    for variable in range(levels.shape[1] - 1):
        if levels[combination, variable] != levels[combination - 1, variable]:
            return False
    return True


@compiled
def _draw_slice(words, problem, first, last, order, probabilities, level_count):  # type: ignore[no-untyped-def]
    """Draw the classes of the combinations from `first` to `last` and add them to the counts.

    Combinations are in lexicographic order, so the product over all variables but the last is
    mostly that of the combination before. Returns whether all weights of some combination vanished.
    """
    levels, counts, classes = problem.levels, problem.counts, order.classes
    random = np.ones(4, dtype=np.uint64)
    random[:3] = words
    n_heavy = order.probabilities.shape[1]
    shared = np.empty(n_heavy)  # (heavy rank,) weight times all variables but the last
    joint = np.empty(classes.size)  # (rank,)
    drawn = np.zeros(classes.size, dtype=np.int64)  # (rank,)
    pending = np.zeros(n_heavy, dtype=np.int64)  # (heavy rank,)
    count = np.zeros((level_count.shape[0], n_heavy), dtype=np.int64)  # (level, heavy rank)
    shared_bound = 0.0
    failed = False
    for combination in range(first, last):
        row = levels[combination]
        if combination == first or not _same_first_levels(levels, combination):
            if combination > first:
                _add_pending(pending, levels[combination - 1], count)
            shared_bound = _weigh_first_levels(row, order, shared)
        level = row[-1]
        heavy = _weigh_last_level(level, order.probabilities, shared, joint)
        bound = shared_bound * order.ceiling[level]
        n_free = counts[combination]
        if not bound * (n_free if n_free >= SMALL else 1) < heavy:
            failed |= _draw_among_all(random, n_free, row, order, probabilities, joint, drawn)
            _add_drawn(drawn, row, classes, level_count)
        elif n_free < SMALL:
            while n_free > 0:
                share = _uniform(random) * (heavy + bound)
                if share < heavy:
                    rank = _locate(share, joint, 0, n_heavy)
                    pending[rank] += 1
                    count[level, rank] += 1
                else:
                    share -= heavy
                    if share >= _weigh_tail(row, order, probabilities, joint):
                        continue  # between the tail and its bound
                    drawn[_locate(share, joint, n_heavy, joint.size)] = 1
                    _add_drawn(drawn, row, classes, level_count)
                n_free -= 1
        else:
            uniform = _uniform(random)
            if uniform * heavy > heavy - n_free * bound:
                n_free -= _draw_tail(
                    random, uniform, n_free, row, order, probabilities, joint, heavy, drawn
                )
                _add_drawn(drawn, row, classes, level_count)
            _draw_heavy(random, n_free, heavy, level, joint, pending, count)
    if last > first:
        _add_pending(pending, levels[last - 1], count)
    for level in range(level_count.shape[0]):
        for rank in range(n_heavy):
            level_count[level, classes[rank]] += count[level, rank]
    return failed


@compiled
def draw_slices(words, problem, first, last, order, probabilities, class_size, level_count):  # type: ignore[no-untyped-def]
    """Draw the slices from `first` to `last` into counts that are cleared first.

    `words` is uint64 (slice, 3), `class_size` int64 (class,).
    """
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

    The generator gives three words for every slice. Log weights are (class,), level probabilities
    (level, class); records are counted by (class,) and by (level, class). A pool has threads beside
    the calling one, `threads` in all.
    """
    slices = n_slices(problem.counts.size)
    words = slice_words(generator, slices)  # (slice, word)
    order = order_by_weight(log_weights, probabilities, problem.counts.sum())
    threads = min(threads, slices)
    if pool is None or threads == 1:
        return bool(
            draw_slices(words, problem, 0, slices, order, probabilities, class_size, level_count)
        )
    cuts = [slices * part // threads for part in range(threads + 1)]
    others = [(np.empty_like(class_size), np.empty_like(level_count)) for _ in range(1, threads)]
    running = [
        pool.submit(draw_slices, words, problem, first, last, order, probabilities, *counts)
        for first, last, counts in zip(cuts[1:], cuts[2:], others, strict=False)
    ]
    failed = bool(
        draw_slices(words, problem, 0, cuts[1], order, probabilities, class_size, level_count)
    )
    for future, counts in zip(running, others, strict=True):
        failed |= bool(future.result())
        class_size += counts[0]
        level_count += counts[1]
    return failed
