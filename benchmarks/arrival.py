"""Whether chains arrive: the log joint density of DPMPM chains from few and from many classes.

``python -m benchmarks.arrival RECORDS [--sweeps 4000] [--sampler blocked|collapsed] [--plain]``

RECORDS are drawn from the invented population behind the bundled data; 6208 are the bundled data
themselves. Chains start from 1, 5, 40 and 100 classes as in a default fit; ``--plain`` leaves out
that the blocked sampler takes their classes apart, and that the collapsed one starts from many
classes where there are many records. After parts of the warm-up a
line a chain has its classes (in brackets: those of more than one record in a thousand), the log
joint density of records, partition and what is sampled with it (mean over the part's last sweeps,
and standard deviation over them), its difference to the best chain's, and the log-likelihood of the
data with classes summed out; and processor seconds.
"""

from __future__ import annotations

import argparse
import time
from math import lgamma
from typing import Any

import numpy as np
from numpy.typing import NDArray

import understudy as us
from understudy.microdata.bundled import make_ce_like as population
from understudy.microdata.coding import regroup
from understudy.randomness import stream
from understudy.synthesis.dpmpm import blocked, sampler
from understudy.synthesis.dpmpm.costs import enough_classes
from understudy.synthesis.dpmpm.parameters import draw_parameters, log_likelihood
from understudy.synthesis.dpmpm.problem import Problem, make_problem, with_strengths
from understudy.synthesis.dpmpm.sampler import (
    STARTS,
    BlockedChain,
    CollapsedChain,
    label_cells,
)
from understudy.synthesis.dpmpm.split_merge import log_marginal

PRIOR = (0.25, 0.25)
PARTS = 4  # of the warm-up, after which chains are looked at
LOOKS, APART = 20, 10  # at the end of a part; sweeps from one to the next


def population_of(n_records: int) -> us.Microdata:
    """Draw records from the population behind the bundled data, or give these themselves."""
    bundled = us.load_ce_like()
    if n_records == bundled.n_records:
        return bundled
    generator = stream(1, "benchmark", "arrival", n_records)
    shares = population.PATTERN_SIZES / population.PATTERN_SIZES.sum()
    sizes = generator.multinomial(n_records, shares)  # (pattern,)
    table = population.county_probabilities(population.SETTLED, population.SETTLED_SEED)
    counts = generator.multinomial(sizes, table)  # (pattern, county)
    patterns, counties = np.nonzero(counts)  # (combination,) each
    columns: dict[str, Any] = {"county": counties}
    for name, codes in zip(population.KEPT, population.PATTERN_LEVELS, strict=True):
        columns[name] = codes[patterns]
    repeats = counts[patterns, counties]  # (combination,)
    order = np.repeat(np.arange(repeats.size, dtype=np.int32), repeats)  # (record,)
    codes = np.stack([columns[name] for name in bundled.names], axis=1).astype(np.int32)
    levels = [variable.n_levels for variable in bundled.variables]
    return us.Microdata(bundled.variables, *regroup(codes, repeats, order, levels))


def log_joint(problem: Problem, state: Any, level_count: NDArray[Any]) -> float:
    """Log density of records, partition, concentration and strengths, the rest integrated out.

    The same for both samplers: that of the Dirichlet process, whatever the order of the classes,
    whose counts are (class, level).
    """
    given = with_strengths(problem, state.strengths)
    used, concentration = state.class_size > 0, state.concentration
    total = np.count_nonzero(used) * np.log(concentration)
    total += lgamma(concentration) - lgamma(concentration + problem.n_records)
    total += PRIOR[0] * np.log(concentration) - PRIOR[1] * concentration
    mean, sd = problem.strength_prior
    total -= (((np.log(state.strengths) - mean) / sd) ** 2).sum() / 2
    for count, size in zip(level_count[used], state.class_size[used], strict=True):
        total += lgamma(size) + log_marginal(np.ascontiguousarray(count), size, given)
    return float(total)


def report(n_records: int, sweeps: int, name: str) -> None:
    """Run the four chains through a warm-up."""
    data = population_of(n_records)
    problem = make_problem(data, "sampled")
    n_classes = max(40, enough_classes(n_records))
    shared = (problem, label_cells(data, problem, 1), PRIOR)
    chain: Any = (
        BlockedChain(*shared, n_classes, sampled=("-",))
        if name == "blocked"
        else CollapsedChain(*shared, sampled=("-",))
    )
    warm_up = getattr(chain, "warm_up", chain.advance)
    print(
        f"{name}: {n_records:,} records, {problem.counts.size:,} combinations"
        + (f", {n_classes} classes" if name == "blocked" else "")
    )
    generators = [stream(1, "benchmark", "chain", number) for number in range(len(STARTS))]
    begin = time.process_time()
    states = [chain.start(generator, number) for number, generator in enumerate(generators)]
    for part in range(1, PARTS + 1):
        joint = np.empty((len(STARTS), LOOKS))  # (chain, look)
        reached = np.empty(len(STARTS))  # (chain,)
        for number, generator in enumerate(generators):
            state = warm_up(generator, states[number], sweeps // PARTS - LOOKS * APART)
            for look in range(LOOKS):
                state = warm_up(generator, state, APART)
                count = state.level_count.T if name == "blocked" else state.level_count
                joint[number, look] = log_joint(problem, state, count)
            states[number], reached[number] = state, likelihood(problem, state, name)
        best = joint.mean(axis=1).max()
        print(f"sweep {part * sweeps // PARTS:,}, {time.process_time() - begin:.0f} processor s")
        for start, state, own, value in zip(STARTS, states, joint, reached, strict=True):
            large = np.count_nonzero(state.class_size > n_records / 1000)
            print(
                f"  from {start:3}: {np.count_nonzero(state.class_size)} ({large}) classes, "
                f"strength {state.strengths[-1]:.2f}, log joint {own.mean():,.0f} "
                f"({own.mean() - best:,.0f}; sd {own.std():.0f}), log-likelihood {value:,.0f}",
                flush=True,
            )


def likelihood(problem: Problem, state: Any, name: str) -> float:
    """Log-likelihood of the data at a state, classes summed out."""
    if name == "blocked":
        weights, probabilities = np.exp(state.log_weights), state.probabilities.T
    else:
        given = with_strengths(problem, state.strengths)
        drawn = (state.class_size, state.level_count, state.concentration)
        weights, probabilities = draw_parameters(stream(1, "benchmark", "look"), given, *drawn)
    of_class = np.ascontiguousarray(probabilities)  # (class, level)
    return float(log_likelihood(problem.levels, problem.counts, weights, of_class))


def undivided(
    generator: np.random.Generator,  # noqa: ARG001
    problem: Problem,  # noqa: ARG001
    state: blocked.State,
    n_parts: int,  # noqa: ARG001
) -> blocked.State:
    """Leave the classes as they are."""
    return state


def main() -> None:
    """Look at what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=int)
    parser.add_argument("--sweeps", type=int, default=4000)
    parser.add_argument("--sampler", choices=["blocked", "collapsed"])
    parser.add_argument("--plain", action="store_true")
    asked = parser.parse_args()
    if asked.plain:
        sampler.FIRST_SWEEPS, sampler.MANY_RECORDS = 0, asked.records
        blocked.divide = undivided
    for name in [asked.sampler] if asked.sampler else ["blocked", "collapsed"]:
        report(asked.records, asked.sweeps, name)


if __name__ == "__main__":
    main()
