"""Whether chains arrive: the log-likelihood of DPMPM chains from few and from many classes.

``python -m benchmarks.arrival RECORDS [--sweeps 4000] [--plain]``

RECORDS are drawn from the invented population behind the bundled data. Chains start from 1, 5, 40
and 100 classes as in a default fit; ``--plain`` leaves out that their classes are taken apart, as
it was before. After parts of the warm-up a line a chain has its classes (in brackets: those of more
than one record in a thousand), the log-likelihood of the data with classes summed out, the log
joint density of records, classes and what is sampled with them, and the difference of the
log-likelihood to that of the best chain; and processor seconds.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import understudy as us
from understudy.microdata.bundled import make_ce_like as population
from understudy.microdata.coding import regroup
from understudy.randomness import stream
from understudy.synthesis.dpmpm import blocked, sampler
from understudy.synthesis.dpmpm.costs import enough_classes
from understudy.synthesis.dpmpm.parameters import log_likelihood
from understudy.synthesis.dpmpm.problem import Problem, make_problem, with_strengths
from understudy.synthesis.dpmpm.sampler import STARTS, BlockedChain, label_cells
from understudy.synthesis.dpmpm.split_merge import log_marginal

PRIOR = (0.25, 0.25)
PARTS = 4  # of the warm-up, after which chains are looked at


def population_of(n_records: int) -> us.Microdata:
    """Draw records from the population behind the bundled data."""
    bundled = us.load_ce_like()
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


def log_joint(problem: Problem, state: blocked.State) -> float:
    """Log density of records, classes, concentration and strengths, the rest integrated out."""
    given = with_strengths(problem, state.strengths)
    total = blocked.log_prior_of_places(state.class_size, state.concentration)
    total += PRIOR[0] * np.log(state.concentration) - PRIOR[1] * state.concentration
    mean, sd = problem.strength_prior
    total -= (((np.log(state.strengths) - mean) / sd) ** 2).sum() / 2
    for count, size in zip(state.level_count.T, state.class_size, strict=True):
        total += log_marginal(np.ascontiguousarray(count), size, given)
    return float(total)


def report(n_records: int, sweeps: int) -> None:
    """Run the four chains through a warm-up."""
    data = population_of(n_records)
    problem = make_problem(data, "sampled")
    n_classes = max(40, enough_classes(n_records))
    chain = BlockedChain(problem, label_cells(data, problem, 1), PRIOR, n_classes, sampled=("-",))
    print(f"{n_records:,} records, {problem.counts.size:,} combinations, {n_classes} classes")
    generators = [stream(1, "benchmark", "chain", number) for number in range(len(STARTS))]
    begin = time.process_time()
    states = [chain.start(generator, number) for number, generator in enumerate(generators)]
    for part in range(1, PARTS + 1):
        states = [
            chain.advance(generator, state, sweeps // PARTS)
            for generator, state in zip(generators, states, strict=True)
        ]
        reached = [
            log_likelihood(
                problem.levels,
                problem.counts,
                np.exp(state.log_weights),
                np.ascontiguousarray(state.probabilities.T),
            )
            for state in states
        ]
        print(f"sweep {part * sweeps // PARTS:,}, {time.process_time() - begin:.0f} processor s")
        for start, state, value in zip(STARTS, states, reached, strict=True):
            large = np.count_nonzero(state.class_size > n_records / 1000)
            print(
                f"  from {start:3}: {np.count_nonzero(state.class_size)} ({large}) of "
                f"{state.class_size.size} classes, strength {state.strengths[-1]:.2f}, "
                f"log-likelihood {value:,.0f} ({value - max(reached):,.0f}), "
                f"log joint {log_joint(problem, state):,.0f}",
                flush=True,
            )


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
    parser.add_argument("--plain", action="store_true")
    asked = parser.parse_args()
    if asked.plain:
        sampler.FIRST_SWEEPS = 0
        blocked.divide = undivided
    report(asked.records, asked.sweeps)


if __name__ == "__main__":
    main()
