"""Which prior of level probabilities predicts labels best: held-out log scores of the DPMPM.

``python -m benchmarks.heldout [--priors 1 0.2 sampled] [--sweeps 1500 2500] [DATA ...]``

DATA is the number of a redrawn population (0: the bundled data) or a plan, whose data are read.
Records are cut into five folds at random. Four are fitted (blocked sampler, chains from 5 and from
40 classes), and the labels of the fifth are scored by log p(label | kept variables), averaged over
the draws of both chains. Differences to the first prior have paired standard errors: from the same
records, the same folds. "apart" is how far the two chains' mean label probabilities lie from each
other: total variation, averaged over patterns. "large" counts classes of more than 1 % of records.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import understudy as us
from understudy.microdata.label_table import true_labels
from understudy.randomness import stream
from understudy.reproduction.run import population
from understudy.study.plan import read_plan
from understudy.synthesis.dpmpm.problem import LevelPrior, make_problem, sampled_variables
from understudy.synthesis.dpmpm.sampler import BlockedChain, label_cells

FOLDS = 5
CHAINS = (1, 2)  # numbers of chains that start from 5 and from 40 classes
THIN = 10


class Scored(NamedTuple):
    """How well a prior predicts."""

    scores: NDArray[np.float64]  # (record,) log probability of each record's label
    apart: float
    large: float  # classes of more than 1 % of records
    strength: float  # of the first synthesized variable, where it is sampled
    seconds: float


def read(text: str) -> us.Microdata:
    """Take a redrawn population, or read a file."""
    if text.isdigit():
        return population(int(text))
    path = Path(text)
    return us.read_microdata(**read_plan(path).data.reading_options(path.parent))


def held_out(
    data: us.Microdata, level_prior: LevelPrior, warmup: int, sweeps: int, n_classes: int
) -> Scored:
    """Score every record by chains that have not seen it."""
    begin = time.process_time()
    problem = make_problem(data, level_prior)
    whole = label_cells(data, problem, 10**9)  # every cell (pattern, label)
    # combinations of the problem are in another order than those of the data
    columns = [data.names.index(name) for name in (*data.predictors, *data.synthesized)]
    order = np.lexsort(data.combinations[:, columns].T[::-1])
    position = np.argsort(order)  # (combination,) of the data, in the problem
    sampled = sampled_variables(data, level_prior)
    fold = stream(1, "folds").permutation(data.n_records) % FOLDS  # (record,)
    cells = data.patterns.of_combination.astype(np.int64) * data.n_labels + true_labels(data)
    cell = cells[data.of_record]  # (record,)
    scores = np.empty(data.n_records)  # (record,)
    apart: list[float] = []
    large: list[float] = []
    strength: list[float] = []
    for number in range(FOLDS):
        trained = position[data.of_record[fold != number]]
        counts = np.bincount(trained, minlength=problem.counts.size)
        seen = counts > 0
        part = problem._replace(levels=problem.levels[seen], counts=counts[seen])
        tables = []
        for chain in CHAINS:
            sampler = BlockedChain(part, whole, (0.25, 0.25), n_classes, 1, sampled=sampled)
            generator = stream(1, "held out", number, chain)
            state = sampler.warm_up(generator, sampler.start(generator, chain), warmup)
            table = np.zeros(whole.patterns.size)  # (cell,)
            for _ in range(sweeps // THIN):
                state = sampler.advance(generator, state, THIN)
                table += sampler.observe(generator, state).label_probability
                large.append((state.class_size > 0.01 * data.n_records).sum())
                strength.extend(state.strengths[-1:])
            tables.append(table / (sweeps // THIN))
        between = np.abs(tables[0] - tables[1]).reshape(-1, data.n_labels)  # (pattern, label)
        apart.append(0.5 * between.sum(axis=1).mean())
        held = fold == number
        scores[held] = np.log(np.mean(tables, axis=0)[cell[held]])
    return Scored(
        scores,
        float(np.mean(apart)),
        float(np.mean(large)),
        float(np.mean(strength)) if strength else float("nan"),
        time.process_time() - begin,
    )


def report(text: str, priors: list[Any], sweeps: tuple[int, int], n_classes: int) -> None:
    """Print a line for each prior; sweeps of warm-up, and after it."""
    data = read(text)
    print(f"{text}: {data.n_records:,} records, {data.n_labels} labels", flush=True)
    first = None
    for level_prior in priors:
        result = held_out(data, level_prior, *sweeps, n_classes)
        line = f"  {level_prior!s:>8}: score {result.scores.sum():.1f}"
        if first is not None:
            difference = result.scores - first
            error = difference.std(ddof=1) * np.sqrt(difference.size)
            line += f", difference {difference.sum():+.1f} +- {error:.1f}"
        else:
            first = result.scores
        line += f"; apart {result.apart:.4f}, large classes {result.large:.1f}"
        line += f", strength {result.strength:.3f}; {result.seconds:.0f} processor s"
        print(line, flush=True)


def main() -> None:
    """Compare priors on what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=["0", "4", "9"])
    parser.add_argument("--priors", nargs="+", default=["1", "sampled"])
    parser.add_argument("--sweeps", nargs=2, type=int, default=[1500, 2500])
    parser.add_argument("--classes", type=int, default=40)
    asked = parser.parse_args()
    priors = [prior if prior == "sampled" else float(prior) for prior in asked.priors]
    for text in asked.data:
        report(text, priors, tuple(asked.sweeps), asked.classes)


if __name__ == "__main__":
    main()
