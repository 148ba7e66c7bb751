"""Joint tests: moves against the joint distribution of parameters and data, and calibration.

Geweke (2004), in the form of Gandy and Scott (2020): parameters and data are drawn from their joint
distribution; then, several times, a move is made given the data and the data are redrawn given the
parameters. What comes out must have the joint distribution it started from. Both samples are made
of independent draws, so the two-sample tests have the level they say.

Simulation-based calibration (Talts and others, 2018): parameters from the prior, data from the
parameters, a run from one class; the rank of the true value among thinned draws is uniform.
``UNDERSTUDY_CALIBRATE=1000`` makes so many simulations in place of 200.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.naive import dpmpm as naive
from tests.statistics import tiny

from understudy.randomness import stream
from understudy.synthesis.dpmpm import blocked, collapsed, parameters, split_merge
from understudy.synthesis.dpmpm.problem import Problem, with_strengths

N_RECORDS = 6
SHAPE, RATE = 2.0, 1.5
PRIORS = [[0.7, 1.3], [0.5, 1.0, 2.0]]
STRENGTH_PRIOR = (-0.3, 0.9)  # mean and standard deviation of log strengths
DRAWS = 2_500
SIMULATIONS = int(os.environ.get("UNDERSTUDY_CALIBRATE", "200"))

Classes = list[int]  # (record,)
Rows = list[tuple[int, ...]]


def urn(generator: np.random.Generator, weights: list[float]) -> int:
    return int(np.searchsorted(np.cumsum(weights), generator.random() * sum(weights), side="right"))


def partition_from_prior(generator: np.random.Generator, concentration: float) -> Classes:
    """Chinese restaurant."""
    classes: Classes = []
    for _ in range(N_RECORDS):
        sizes = [float(classes.count(class_)) for class_ in range(len(set(classes)))]
        classes.append(urn(generator, [*sizes, concentration]))
    return classes


def rows_given_classes(
    generator: np.random.Generator, classes: Classes, priors: naive.Priors = PRIORS
) -> Rows:
    """Level by level from each class's urn, level probabilities integrated out."""
    rows: list[list[int]] = []
    for record, class_ in enumerate(classes):
        mine = [rows[other] for other in range(record) if classes[other] == class_]
        row = []
        for variable, prior in enumerate(priors):
            seen = [levels[variable] for levels in mine]
            row.append(urn(generator, [a + seen.count(level) for level, a in enumerate(prior)]))
        rows.append(row)
    return [tuple(row) for row in rows]


def state_of(classes: Classes, rows: Rows, concentration: float) -> tuple[Problem, collapsed.State]:
    problem = tiny.problem_of(rows, PRIORS)
    distinct = sorted(set(rows))
    members = np.zeros((len(distinct), N_RECORDS + 2), dtype=np.int32)
    for class_, row in zip(classes, rows, strict=True):
        members[distinct.index(row), class_] += 1
    return problem, collapsed.with_members(problem, members, concentration)


def classes_of(state: collapsed.State) -> Classes:
    """Classes of the records, in the order of their combinations; records are interchangeable."""
    return [
        int(class_)
        for combination in range(state.members.shape[0])
        for class_ in np.repeat(np.arange(state.members.shape[1]), state.members[combination])
    ]


def summary(classes: Classes, rows: Rows, concentration: float) -> list[float]:
    """Numbers that depend on partition, data and concentration."""
    sizes = np.bincount(classes)
    pairs = [
        (classes[i] == classes[j], rows[i] == rows[j]) for i in range(N_RECORDS) for j in range(i)
    ]
    return [
        float(np.count_nonzero(sizes)),
        float((sizes**2).sum()),
        concentration,
        float(sum(a and b for a, b in pairs)),
        float(sum(a and not b for a, b in pairs)),
        float(sum(row[1] == 2 for row in rows)),
        float(sum(not a and b for a, b in pairs)) + concentration / 100,
    ]


def by_concentration(
    generator: np.random.Generator, problem: Problem, state: collapsed.State
) -> collapsed.State:
    drawn = collapsed.draw_concentration(
        generator, state.concentration, collapsed.n_occupied(state), problem.n_records, SHAPE, RATE
    )
    return state._replace(concentration=drawn)


def by_sweep(
    generator: np.random.Generator, problem: Problem, state: collapsed.State
) -> collapsed.State:
    state, _ = collapsed.step(generator, problem, state, (SHAPE, RATE), 2)
    return split_merge.split_or_merge(generator, problem, state)[0]


MOVES: list[Callable[..., collapsed.State]] = [
    tiny.all_records,
    tiny.split_merge_move,
    by_concentration,
    by_sweep,
]


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
def test_collapsed_moves_keep_the_joint_distribution(move: Callable[..., collapsed.State]) -> None:
    """Seven summaries, false-alarm rate 1e-4 each."""
    generator = stream(51, "joint", move.__name__)
    before, after = np.empty((DRAWS, 7)), np.empty((DRAWS, 7))
    for draw in range(DRAWS):
        concentration = float(generator.gamma(SHAPE) / RATE)
        classes = partition_from_prior(generator, concentration)
        before[draw] = summary(classes, rows_given_classes(generator, classes), concentration)
        # a second, independent draw goes through the moves
        concentration = float(generator.gamma(SHAPE) / RATE)
        classes = partition_from_prior(generator, concentration)
        rows = rows_given_classes(generator, classes)
        for _ in range(3):
            problem, state = state_of(classes, rows, concentration)
            state = move(generator, problem, state)
            concentration = float(state.concentration)
            classes = [
                int(class_) for class_ in np.unique(classes_of(state), return_inverse=True)[1]
            ]
            rows = rows_given_classes(generator, classes)
        after[draw] = summary(classes, rows, concentration)
    tiny.check_same_distribution(before, after)


def blocked_prior(
    generator: np.random.Generator, n_classes: int, priors: naive.Priors = PRIORS
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Draw the concentration, log weights and probabilities (level, class) from the prior."""
    concentration = float(generator.gamma(SHAPE) / RATE)
    sticks = np.append(generator.beta(1.0, concentration, n_classes - 1), 1.0)
    with np.errstate(divide="ignore"):
        log_weights = np.log(sticks) + np.append(0.0, np.cumsum(np.log1p(-sticks[:-1])))
    tables = [generator.dirichlet(prior, n_classes).T for prior in priors]
    return concentration, log_weights, np.vstack(tables)


def rows_given_weights(
    generator: np.random.Generator,
    log_weights: NDArray[np.float64],
    tables: NDArray[np.float64],
    n_records: int,
) -> Rows:
    weights = np.exp(log_weights)
    rows: Rows = []
    for _ in range(n_records):
        class_ = urn(generator, weights.tolist())
        rows.append(
            (
                urn(generator, tables[:2, class_].tolist()),
                urn(generator, tables[2:, class_].tolist()),
            )
        )
    return rows


def test_blocked_sweep_keeps_the_joint_distribution() -> None:
    """Five summaries, false-alarm rate 1e-4 each."""
    generator = stream(52, "joint blocked")
    n_classes = 4

    def numbers(
        concentration: float,
        log_weights: NDArray[np.float64],
        tables: NDArray[np.float64],
        rows: Rows,
    ) -> list[float]:
        weights = np.exp(log_weights)
        return [
            concentration,
            float(weights[0]),
            float((weights**2).sum()),
            float((weights * tables[0] * tables[4]).sum()),
            sum(row == (0, 2) for row in rows) + 0.01 * concentration,
        ]

    before, after = np.empty((DRAWS, 5)), np.empty((DRAWS, 5))
    for draw in range(DRAWS):
        drawn = blocked_prior(generator, n_classes)
        before[draw] = numbers(*drawn, rows_given_weights(generator, *drawn[1:], N_RECORDS))
        concentration, log_weights, tables = blocked_prior(generator, n_classes)
        rows = rows_given_weights(generator, log_weights, tables, N_RECORDS)
        for _ in range(3):
            problem = tiny.problem_of(rows, PRIORS)
            state = blocked.State(
                np.zeros(n_classes, np.int64),
                np.zeros((5, n_classes), np.int64),
                log_weights,
                np.ascontiguousarray(tables),
                concentration,
                False,
                np.empty(0),
            )
            state = blocked.step(generator, problem, state, (SHAPE, RATE))
            concentration, log_weights, tables = (
                state.concentration,
                state.log_weights,
                state.probabilities,
            )
            rows = rows_given_weights(generator, log_weights, tables, N_RECORDS)
        after[draw] = numbers(concentration, log_weights, tables, rows)
    tiny.check_same_distribution(before, after)


def label_given_pattern(weights: NDArray[np.float64], tables: NDArray[np.float64]) -> float:
    """p(label 2 | pattern 0), tables (level, class)."""
    return float((weights * tables[0] * tables[4]).sum() / (weights * tables[0]).sum())


def log_likelihood(
    problem: Problem, weights: NDArray[np.float64], tables: NDArray[np.float64]
) -> float:
    return float(
        parameters.log_likelihood(
            problem.levels, problem.counts, weights, np.ascontiguousarray(tables.T)
        )
    )


def priors_of(strengths: NDArray[np.float64]) -> naive.Priors:
    """Symmetric priors of both variables."""
    return [[float(strengths[0])] * 2, [float(strengths[1])] * 3]


def strengths_from_prior(generator: np.random.Generator) -> NDArray[np.float64]:
    """Draw the strengths of both variables."""
    return np.exp(STRENGTH_PRIOR[0] + STRENGTH_PRIOR[1] * generator.standard_normal(2))


def sampled_problem(rows: Rows) -> Problem:
    """Bring rows into the form of the kernels, the strengths of both variables sampled."""
    return tiny.problem_of(rows, priors_of(np.ones(2)))._replace(
        sampled=np.array([0, 1]), strength_prior=STRENGTH_PRIOR
    )


def ranks(sampler: str, n_records: int, kept: int, sampled: bool) -> NDArray[np.int64]:
    """Ranks of the true values: (simulation, quantity).

    Concentration, label probability, log-likelihood, and the strengths where they are sampled.
    """
    ranks = np.empty((SIMULATIONS, 5 if sampled else 3), dtype=np.int64)
    n_classes = 6 if sampler == "blocked" else 60
    for simulation in range(SIMULATIONS):
        kind = f"{sampler} sampled" if sampled else sampler
        generator = stream(53, "calibration", kind, simulation)
        strengths = strengths_from_prior(generator) if sampled else np.empty(0)
        priors = priors_of(strengths) if sampled else PRIORS
        concentration, log_weights, tables = blocked_prior(generator, n_classes, priors)
        rows = rows_given_weights(generator, log_weights, tables, n_records)
        problem = sampled_problem(rows) if sampled else tiny.problem_of(rows, PRIORS)

        def quantities(
            concentration: float,
            weights: NDArray[np.float64],
            tables: NDArray[np.float64],
            strengths: NDArray[np.float64],
            problem: Problem = problem,
        ) -> list[float]:
            likelihood = log_likelihood(problem, weights, tables)
            return [concentration, label_given_pattern(weights, tables), likelihood, *strengths]

        true = quantities(concentration, np.exp(log_weights), tables, strengths)
        drawn = np.empty((kept, len(true)))  # (draw, quantity)
        state: collapsed.State | blocked.State = (
            blocked.init(generator, problem, n_classes, 1)
            if sampler == "blocked"
            else collapsed.init(generator, problem, 1)
        )
        for draw in range(-5, kept):
            for _ in range(12):
                if isinstance(state, blocked.State):
                    state = blocked.step(generator, problem, state, (SHAPE, RATE))
                else:
                    state = by_sweep(generator, problem, state)
            if draw < 0:
                continue
            if isinstance(state, blocked.State):
                weights, tables = np.exp(state.log_weights), state.probabilities
            else:
                weights, flat = parameters.draw_parameters(
                    generator,
                    with_strengths(problem, state.strengths),
                    state.class_size,
                    state.level_count,
                    state.concentration,
                )
                tables = flat.T
            drawn[draw] = quantities(state.concentration, weights, tables, state.strengths)
        ranks[simulation] = (drawn < np.array(true)).sum(axis=0)
    return ranks


@pytest.mark.parametrize("sampled", [False, True], ids=["fixed", "sampled"])
@pytest.mark.parametrize("sampler", ["collapsed", "blocked"])
def test_ranks_of_true_values_are_uniform(sampler: str, sampled: bool) -> None:
    """Chi-square over ten ranks, false-alarm rate 1e-4 per quantity."""
    rank_of_truth = ranks(sampler, 12, 9, sampled)
    tiny.check_uniform_ranks(rank_of_truth, 9, 10)
