"""Blocked Gibbs sampler on truncated sticks: the paper's sampler, on distinct combinations.

The Dirichlet process is cut off after K classes. All records are given new classes at once, with
probabilities proportional to w_k prod_v p_kvl: per combination one multinomial draw, so a sweep
costs the same for a thousand records and for a million with the same combinations.

Sticks are kept as logarithms. A Beta draw rounds to exactly 1 when the concentration is small, and
then the concentration could never grow again; log V and log(1 - V) by way of gamma draws do not
round.

Neighbouring classes swap positions, the sticks integrated out: with a records in the first, c in
the second and T behind them, the swapped order is (concentration + c + T) / (concentration + a + T)
times as probable, so larger classes find their way to the front (after Papaspiliopoulos and
Roberts, 2008, who keep the sticks). The last class has no stick of its own and another ratio.

With swaps alone a chain can be caught. The last class takes what is left, so a large concentration
and a large last class hold each other: neither can go without the other. So a class also moves to a
position far away, and the concentration changes in the same step.

A chain that starts with few classes has no way up in a large file: a class that a few records found
is worse than none. So before its warm-up a chain may have its classes taken apart (`divide`). And
where all classes are occupied a state may be given more of them (`widen`): the present classes keep
their records and positions, sticks and level probabilities are drawn anew given them, and what
follows is a chain of the model that is cut off later.

The order of a sweep is part of its proof: strengths, swaps and moves leave sticks and level
probabilities behind, so both are drawn anew right after.

Kernels share these arguments: `generator` (Generator), `problem` (Problem), `state` (State),
`class_size` int64 (class,), `level_count` int64 (level, class), `values` int64 (class,), the floats
`concentration`, `log_concentration` and `log_last_weight`, `shape` and `rate` of its prior, and the
int `n_classes`.

References
----------
Ishwaran, H. and James, L. F. (2001), "Gibbs sampling methods for stick-breaking priors", Journal of
the American Statistical Association 96, doi:10.1198/016214501750332758.
Papaspiliopoulos, O. and Roberts, G. O. (2008), "Retrospective Markov chain Monte Carlo methods for
Dirichlet process hierarchical models", Biometrika 95, doi:10.1093/biomet/asm086.
"""

from __future__ import annotations

from concurrent.futures import Executor
from math import lgamma
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.dpmpm.class_counts import draw_classes
from understudy.synthesis.dpmpm.level_prior_strengths import draw_strengths
from understudy.synthesis.dpmpm.problem import START_STRENGTH, Problem, with_strengths
from understudy.synthesis.dpmpm.structural_zeros import add_completions, add_impossible
from understudy.synthesis.dpmpm.weighted_classes import draw_weighted_classes

__all__ = [
    "ClassesElsewhere",
    "State",
    "divide",
    "draw_classes",
    "draw_concentration",
    "draw_levels",
    "draw_sticks",
    "init",
    "log_prior_of_order",
    "move_class",
    "step",
    "swap_neighbours",
    "widen",
]

SMALLEST_CONCENTRATION = 1e-300
BLOCK = 10_000  # combinations that get their first classes together
CLASS_MOVES = 1  # classes that are offered another position in a sweep


class ClassesElsewhere(Protocol):
    """Draws the classes of all records, as `draw_classes` does, but not in this process."""

    def draw(
        self,
        generator: np.random.Generator,
        log_weights: NDArray[np.float64],
        probabilities: NDArray[np.float64],
        class_size: NDArray[np.int64],
        level_count: NDArray[np.int64],
    ) -> bool:
        """Fill the counts, and tell whether all weights of some combination vanished."""
        ...


class State(NamedTuple):
    """Weights, level probabilities and the counts they were last drawn from."""

    class_size: NDArray[np.int64]  # (class,) records in each class
    level_count: NDArray[Any]  # (level, class) records of the class with the level, or weights
    log_weights: NDArray[np.float64]  # (class,)
    probabilities: NDArray[np.float64]  # (level, class) sum to one in every class and variable
    concentration: float
    failed: bool  # whether all weights of some combination vanished
    strengths: NDArray[np.float64]  # (sampled variable,) of level priors


def init(
    generator: np.random.Generator,
    problem: Problem,
    n_classes: int,
    n_started: int,
    concentration: float = 1.0,
) -> State:
    """Put every record into one of the first `n_started` classes at random, draw the rest."""
    even = np.full(n_started, 1.0 / n_started)  # (class,)
    class_size = np.zeros(n_classes, dtype=np.int64)  # (class,)
    kind = problem.weights.dtype if problem.weights.size else np.int64
    level_count = np.zeros((problem.prior.size, n_classes), dtype=kind)  # (level, class)
    for first in range(0, problem.counts.size, BLOCK):  # members of all would take much memory
        members = generator.multinomial(problem.counts[first : first + BLOCK], even)
        class_size[:n_started] += members.sum(axis=0)
        level_count[:, :n_started] += problem.level_counts(members, first)
    strengths = np.full(problem.sampled.size, START_STRENGTH)  # (sampled variable,)
    log_weights = np.empty(n_classes)  # (class,)
    draw_sticks(generator, class_size, concentration, log_weights)
    probabilities = np.empty((problem.prior.size, n_classes))  # (level, class)
    draw_levels(
        generator, with_strengths(problem, strengths), level_count, class_size, probabilities
    )
    return State(
        class_size, level_count, log_weights, probabilities, float(concentration), False, strengths
    )


def divide(generator: np.random.Generator, problem: Problem, state: State, n_parts: int) -> State:
    """Take classes apart at random into about `n_parts`, larger ones into more, for a warm-up.

    The parts of a class share its weight; their level probabilities are drawn as if each had an
    even share of its records. Then records choose among them: parts that none prefers die out
    within some hundred sweeps. The posterior is not left as it is.
    """
    problem = with_strengths(problem, state.strengths)
    n_classes = state.class_size.size
    wanted = np.rint(n_parts * state.class_size / max(1, state.class_size.sum()))  # (class,)
    parts = np.maximum(wanted, state.class_size > 0).astype(np.int64)  # (class,)
    free = np.flatnonzero(parts == 0)  # (free class,)
    log_weights, probabilities = state.log_weights.copy(), state.probabilities.copy()
    shared = np.zeros_like(state.level_count)  # (level, class) records of a part with the level
    used = 0
    for k in np.argsort(-state.class_size, kind="stable"):
        own = np.append(k, free[used : used + parts[k] - 1]) if parts[k] else free[:0]
        used += max(0, own.size - 1)
        log_weights[own] = state.log_weights[k] - np.log(max(1, own.size))
        shared[:, own] = state.level_count[:, [k]] // max(1, own.size)
    sizes = np.zeros(n_classes, dtype=np.int64)  # (class,) not needed for level probabilities
    draw_levels(generator, problem, shared, sizes, probabilities)
    return state._replace(log_weights=log_weights, probabilities=probabilities)


def widen(generator: np.random.Generator, problem: Problem, state: State, n_classes: int) -> State:
    """Give a state more classes, `n_classes` in all, the new ones empty and behind the others."""
    more = n_classes - state.class_size.size
    class_size = np.append(state.class_size, np.zeros(more, dtype=np.int64))  # (class,)
    level_count = np.pad(state.level_count, ((0, 0), (0, more)))  # (level, class)
    log_weights = np.empty(n_classes)  # (class,)
    draw_sticks(generator, class_size, state.concentration, log_weights)
    probabilities = np.empty((problem.prior.size, n_classes))  # (level, class)
    problem = with_strengths(problem, state.strengths)
    draw_levels(generator, problem, level_count, class_size, probabilities)
    return state._replace(
        class_size=class_size,
        level_count=level_count,
        log_weights=log_weights,
        probabilities=probabilities,
    )


@compiled
def _log_gamma_draw(generator, shape):  # type: ignore[no-untyped-def]
    """Logarithm of a gamma draw, that does not underflow for small shapes."""
    if shape >= 1.0:
        return np.log(generator.standard_gamma(shape))
    uniform = 1.0 - generator.random()
    return np.log(generator.standard_gamma(shape + 1.0)) + np.log(uniform) / shape


@compiled
def swap_neighbours(generator, class_size, level_count, concentration):  # type: ignore[no-untyped-def]
    """Let each class swap positions with the next one, from the back to the front.

    `class_size` int64 (class,) and `level_count` int64 (level, class) are changed.
    """
    n_classes = class_size.size
    behind = 0
    for first in range(n_classes - 2, -1, -1):
        a, c = class_size[first], class_size[first + 1]
        if first == n_classes - 2:
            log_ratio = lgamma(1.0 + c) + lgamma(concentration + a)
            log_ratio -= lgamma(1.0 + a) + lgamma(concentration + c)
        else:
            log_ratio = np.log(concentration + c + behind) - np.log(concentration + a + behind)
        if (a > 0 or c > 0) and np.log(1.0 - generator.random()) < log_ratio:
            class_size[first], class_size[first + 1] = c, a
            for level in range(level_count.shape[0]):
                moved = level_count[level, first]
                level_count[level, first] = level_count[level, first + 1]
                level_count[level, first + 1] = moved
        behind += class_size[first + 1]


@compiled
def log_prior_of_order(class_size, concentration):  # type: ignore[no-untyped-def]
    """Log probability of classes in these positions, sticks integrated out: int64 (class,).

    A stick with n records, and T behind it, has concentration * B(1 + n, concentration + T); the
    last class takes what is left.
    """
    total = 0.0
    behind = class_size.sum()
    for k in range(class_size.size - 1):
        total += np.log(concentration) + lgamma(1.0 + class_size[k])
        total -= lgamma(1.0 + concentration + behind)
        behind -= class_size[k]
        total += lgamma(concentration + behind)
    return total


@compiled
def _log_density_of_order(class_size, log_concentration, shape, rate):  # type: ignore[no-untyped-def]
    """Log density of the order of the classes and of the log concentration: int64 (class,)."""
    concentration = np.exp(log_concentration)
    if not 0.0 < concentration < 1e300:
        return -np.inf
    prior = shape * log_concentration - rate * concentration
    return log_prior_of_order(class_size, concentration) + prior


@compiled
def _move(values, old, new):  # type: ignore[no-untyped-def]
    """Take the value at position `old` of (class,) to position `new`; those between close up."""
    moved = values[old]
    way = 1 if new > old else -1
    for index in range(old, new, way):
        values[index] = values[index + way]
    values[new] = moved


@compiled
def move_class(generator, class_size, level_count, concentration, shape, rate):  # type: ignore[no-untyped-def]
    """Let the class of some record move to any position, together with the concentration.

    The class is drawn by its size, which the move does not change; the position evenly; the step of
    the log concentration from a Cauchy distribution. All that is symmetric, so the densities alone
    decide. `class_size` int64 (class,) and `level_count` int64 (level, class) are changed; returns
    the concentration.
    """
    n_classes = class_size.size
    if n_classes == 1:
        return concentration
    record = np.int64(generator.random() * class_size.sum())
    new = np.int64(generator.random() * n_classes)
    log_here = np.log(concentration)
    log_there = log_here + np.tan(np.pi * (generator.random() - 0.5))
    log_uniform = np.log(1.0 - generator.random())
    old = 0
    while old < n_classes - 1 and record >= class_size[old]:
        record -= class_size[old]
        old += 1
    here = _log_density_of_order(class_size, log_here, shape, rate)
    _move(class_size, old, new)
    there = _log_density_of_order(class_size, log_there, shape, rate)
    if not log_uniform < there - here:
        _move(class_size, new, old)
        return concentration
    for level in range(level_count.shape[0]):
        _move(level_count[level], old, new)
    return np.exp(log_there)


@compiled
def draw_sticks(generator, class_size, concentration, log_weights):  # type: ignore[no-untyped-def]
    """Draw the sticks given the classes: V_k from Beta(1 + n_k, concentration + n_behind).

    `class_size` is int64 (class,); `log_weights` float64 (class,) is filled.
    """
    n_classes = class_size.size
    behind = class_size.sum()
    log_rest = 0.0
    for k in range(n_classes - 1):
        behind -= class_size[k]
        log_taken = np.log(generator.standard_gamma(1.0 + class_size[k]))
        log_left = _log_gamma_draw(generator, concentration + behind)
        larger = max(log_taken, log_left)
        log_total = larger + np.log(np.exp(log_taken - larger) + np.exp(log_left - larger))
        log_weights[k] = log_rest + log_taken - log_total
        log_rest += log_left - log_total
    log_weights[n_classes - 1] = log_rest


@compiled
def _small_levels(generator, shapes, drawn):  # type: ignore[no-untyped-def]
    """Draw from Dirichlet(shapes), float64 (level,), by logarithms: all gamma draws underflowed."""
    largest = -np.inf
    for level in range(shapes.size):
        drawn[level] = _log_gamma_draw(generator, shapes[level])
        largest = max(largest, drawn[level])
    for level in range(shapes.size):
        drawn[level] = np.exp(drawn[level] - largest)
    drawn /= drawn.sum()


@compiled
def draw_levels(generator, problem, level_count, class_size, probabilities):  # type: ignore[no-untyped-def]
    """Draw all level probabilities given the classes: Dirichlet(prior + counts); a hole has 1.

    `level_count` is int64 (level, class), `class_size` int64 (class,); `probabilities` float64
    (level, class) is filled.
    """
    n_classes = class_size.size
    totals = np.empty(n_classes)  # (class,)
    for variable in range(problem.prior_sum.size):
        first, last = problem.level_start[variable], problem.level_start[variable + 1]
        if problem.holes[variable] >= 0:
            last -= 1
            probabilities[last] = 1.0
        totals[:] = 0.0
        for level in range(first, last):
            for k in range(n_classes):
                shape = problem.prior[level] + level_count[level, k]
                if shape == 1.0:
                    drawn = generator.standard_exponential()
                else:
                    drawn = generator.standard_gamma(shape)
                probabilities[level, k] = drawn
                totals[k] += drawn
        for k in range(n_classes):
            if not totals[k] > 1e-280:
                shapes = problem.prior[first:last] + level_count[first:last, k]
                _small_levels(generator, shapes, probabilities[first:last, k])
                totals[k] = 1.0
        for level in range(first, last):
            for k in range(n_classes):
                probabilities[level, k] /= totals[k]


@compiled
def draw_concentration(generator, log_last_weight, n_classes, shape, rate):  # type: ignore[no-untyped-def]
    """Draw the concentration given the sticks: Gamma(shape + K - 1, rate - log w_K).

    With one class there is no stick, and the draw is from the prior.
    """
    drawn = generator.standard_gamma(shape + n_classes - 1.0) / (rate - log_last_weight)
    return max(drawn, SMALLEST_CONCENTRATION)


@compiled
def _after_classes(generator, problem, state, shape, rate):  # type: ignore[no-untyped-def]
    """What follows the classes in a sweep; the state's arrays are written over."""
    class_size, level_count, log_weights, probabilities, concentration, failed, strengths = state
    # 3. order of the classes, sticks integrated out; the concentration may change with them
    swap_neighbours(generator, class_size, level_count, concentration)
    for _ in range(CLASS_MOVES):
        concentration = move_class(generator, class_size, level_count, concentration, shape, rate)
    # 4. sticks
    draw_sticks(generator, class_size, concentration, log_weights)
    # 5. level probabilities
    draw_levels(generator, problem, level_count, class_size, probabilities)
    # 6. concentration
    concentration = draw_concentration(generator, log_weights[-1], class_size.size, shape, rate)
    return State(
        class_size, level_count, log_weights, probabilities, concentration, failed, strengths
    )


def draw_completed_classes(
    generator: np.random.Generator,
    problem: Problem,
    log_weights: NDArray[np.float64],
    probabilities: NDArray[np.float64],
    class_size: NDArray[np.int64],
    level_count: NDArray[np.int64],
    pool: Executor | None = None,
    threads: int = 1,
) -> bool:
    """Draw classes, and the values of holes that rules restrict; arguments of `draw_classes`."""
    levels, with_kinds = problem.with_kinds(probabilities)
    counted = np.zeros(with_kinds.shape, dtype=np.int64)  # (level or kind, class)
    failed = draw_classes(
        generator,
        problem._replace(levels=levels),
        log_weights,
        with_kinds,
        class_size,
        counted,
        pool,
        threads,
    )
    level_count[:] = counted[: problem.prior.size]
    add_completions(
        generator,
        counted[problem.prior.size :],
        problem.completions,
        problem.kind_of_box,
        problem.level_start,
        probabilities,
        level_count,
    )
    return failed


def step(
    generator: np.random.Generator,
    problem: Problem,
    state: State,
    concentration_prior: tuple[float, float],
    pool: Executor | None = None,
    threads: int = 1,
    elsewhere: ClassesElsewhere | None = None,
) -> State:
    """One sweep: classes, strengths, order of classes, sticks, level probabilities, concentration.

    The state's arrays are written over. `pool` has threads beside the calling one, for the classes
    of very many combinations; what is drawn does not depend on them. `elsewhere` draws them on a
    GPU or on workers.
    """
    # 1. classes of all records
    drawn = (state.log_weights, state.probabilities, state.class_size, state.level_count)
    if problem.weights.size:
        failed = draw_weighted_classes(generator, problem, *drawn)
    elif problem.kinds.size:
        failed = draw_completed_classes(generator, problem, *drawn, pool, threads)
    elif elsewhere is not None:
        failed = elsewhere.draw(generator, *drawn)
    else:
        failed = draw_classes(generator, problem, *drawn, pool, threads)
    if problem.impossible.size:  # and of those that impossible combinations would have had
        add_impossible(
            generator,
            problem.n_records,
            problem.impossible,
            problem.level_start,
            state.log_weights,
            state.probabilities,
            state.class_size,
            state.level_count,
        )
    # 2. sampled strengths of level priors, level probabilities integrated out
    strengths = draw_strengths(generator, problem, state.strengths, state.level_count.T)
    state = state._replace(failed=state.failed or failed, strengths=strengths)
    problem = with_strengths(problem, strengths)
    shape, rate = concentration_prior
    after: State = _after_classes(generator, problem, state, shape, rate)
    return after
