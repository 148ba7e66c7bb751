"""Both samplers against the exact posterior of tiny data: all partitions are enumerated.

Invariance is tested with independent draws: a state is drawn from the exact posterior, one move is
applied, and what comes out must again be a draw from the exact posterior. Every test uses a fixed
seed; its false-alarm rate is how likely a correct program was to fail when the seed was chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable

import numpy as np
import pytest
from scipy.stats import kstest
from tests.naive import dpmpm as naive
from tests.statistics import tiny

from understudy.randomness import stream
from understudy.synthesis.dpmpm import blocked, collapsed, split_merge
from understudy.synthesis.dpmpm.problem import Problem

DRAWS = 10_000
TIMES = 3  # moves that are made in a row
FALSE_ALARM = tiny.FALSE_ALARM
# Mixed records; records all alike, so that only sizes of classes matter; two kinds, sharply apart;
# two records with a hole each.
DATA_SETS: dict[str, tuple[naive.Rows, naive.Priors]] = {
    "mixed": (tiny.ROWS, tiny.PRIORS),
    "alike": ([(0, 0)] * 6, tiny.PRIORS),
    "apart": ([(0, 0)] * 3 + [(1, 2)] * 3, [[0.3, 0.3], [0.2, 0.2, 0.2]]),
    "holes": (tiny.ROWS_WITH_HOLES, tiny.PRIORS),
}
PROBLEM = tiny.problem_of(tiny.ROWS, tiny.PRIORS)
EXACT = naive.exact_partitions(tiny.ROWS, tiny.PRIORS, tiny.SHAPE, tiny.RATE)

Move = Callable[[np.random.Generator, Problem, collapsed.State], collapsed.State]


def one_record_each(
    generator: np.random.Generator, problem: Problem, state: collapsed.State
) -> collapsed.State:
    after: collapsed.State = collapsed.move_records(generator, problem, state, 1)[0]
    return after


def concentration_move(
    generator: np.random.Generator, problem: Problem, state: collapsed.State
) -> collapsed.State:
    drawn = collapsed.draw_concentration(
        generator,
        state.concentration,
        collapsed.n_occupied(state),
        problem.n_records,
        tiny.SHAPE,
        tiny.RATE,
    )
    return state._replace(concentration=drawn)


def whole_sweep(
    generator: np.random.Generator, problem: Problem, state: collapsed.State
) -> collapsed.State:
    after, _ = collapsed.step(generator, problem, state, (tiny.SHAPE, tiny.RATE), 10**9)
    return split_merge.split_or_merge(generator, problem, after)[0]


MOVES: list[Move] = [
    tiny.all_records,
    one_record_each,
    tiny.split_merge_move,
    concentration_move,
    whole_sweep,
]


CASES = [(move, named) for move in MOVES for named in ("mixed", "alike", "apart")]
CASES += [(move, "holes") for move in (tiny.split_merge_move, whole_sweep)]


@pytest.mark.parametrize(
    ("move", "named"), CASES, ids=lambda of: of if isinstance(of, str) else of.__name__
)
def test_move_leaves_the_exact_posterior_unchanged(move: Move, named: str) -> None:
    """False-alarm rate 1e-4 for the partition and 1e-4 for the concentration, per case."""
    rows, priors = DATA_SETS[named]
    problem = tiny.problem_of(rows, priors)
    exact = naive.exact_partitions(rows, priors, tiny.SHAPE, tiny.RATE)
    generator = stream(20260, "enumeration", move.__name__, named)
    keys = list(exact)
    chosen = generator.choice(len(keys), size=DRAWS, p=list(exact.values()))
    quantile = {
        k: tiny.concentration_sampler(k, len(rows), tiny.SHAPE, tiny.RATE)
        for k in range(1, len(rows) + 1)
    }
    seen: Counter[Hashable] = Counter()
    levels = np.empty(DRAWS)  # (draw,) distribution function of the concentration given k
    for draw in range(DRAWS):
        key = keys[chosen[draw]]
        concentration = float(quantile[len(key)][0](np.array(generator.random())))
        state = tiny.state_of_key(key, rows, problem, concentration)
        for _ in range(TIMES):
            state = move(generator, problem, state)
        after = state
        seen[tiny.key_of_state(after, rows)] += 1
        levels[draw] = quantile[collapsed.n_occupied(after)][1](np.array(after.concentration))
    assert tiny.chi_square_p(seen, exact) > FALSE_ALARM
    assert kstest(levels, "uniform").pvalue > FALSE_ALARM


def test_collapsed_sampler_reaches_every_partition() -> None:
    """From one class, short runs end in the exact posterior; false-alarm rate 1e-4."""
    generator = stream(20261, "reach")
    seen: Counter[Hashable] = Counter()
    for _ in range(6_000):
        state = collapsed.init(generator, PROBLEM, 1)
        for _ in range(12):
            state, _ = collapsed.step(generator, PROBLEM, state, (tiny.SHAPE, tiny.RATE), 10**9)
        seen[tiny.key_of_state(state, tiny.ROWS)] += 1
    assert tiny.chi_square_p(seen, EXACT) > FALSE_ALARM


def test_blocked_sampler_has_the_exact_truncated_posterior() -> None:
    """Runs from one class and from three, thinned; false-alarm rate 1e-4 each."""
    exact: dict[Hashable, float] = {}
    truncated = naive.exact_truncated(tiny.ROWS, tiny.PRIORS, tiny.SHAPE, tiny.RATE, 3)
    for key, probability in truncated.items():
        counts = tiny.counts_key_of(key, tiny.PRIORS)
        exact[counts] = exact.get(counts, 0.0) + probability
    for started in (1, 3):
        generator = stream(20262, "blocked", started)
        seen: Counter[Hashable] = Counter()
        state = blocked.init(generator, PROBLEM, 3, started)
        for draw in range(15 * 8_000 + 200):
            state = blocked.step(generator, PROBLEM, state, (tiny.SHAPE, tiny.RATE))
            if draw >= 200 and draw % 15 == 0:
                seen[tiny.blocked_key(state)] += 1
        assert tiny.chi_square_p(seen, exact) > FALSE_ALARM
