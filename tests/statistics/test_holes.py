"""Holes in the DPMPM: leaving out their factor must be the same as summing over their values.

The exact posteriors are by enumeration of all values of all holes (`naive.completions`), and so is
the posterior of a missing value itself. Moves of the collapsed sampler are in ``test_enumeration``.
Seeds are fixed; false-alarm rates are how likely a correct program was to fail when they were
chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from math import lgamma

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, kstest
from tests.naive import dpmpm as naive
from tests.statistics import test_joint as joint
from tests.statistics import tiny

from understudy.randomness import stream
from understudy.synthesis.dpmpm import blocked, collapsed, parameters, split_merge
from understudy.synthesis.dpmpm.level_prior_strengths import draw_strengths
from understudy.synthesis.dpmpm.parameters import Parameters
from understudy.synthesis.dpmpm.problem import Problem, with_strengths

FALSE_ALARM = tiny.FALSE_ALARM
ROWS, PRIORS, PRIOR = tiny.ROWS_WITH_HOLES, tiny.PRIORS, (tiny.SHAPE, tiny.RATE)
PROBLEM = tiny.problem_of(ROWS, PRIORS)
# Which variables of the six records of the joint tests are missing.
MASKS: list[set[int]] = [{0}, {1}, {1}, set(), set(), set()]
HOLE_LEVELS = [2, 6]  # of the joint tests' two variables

State = collapsed.State | blocked.State


def sweep(generator: np.random.Generator, problem: Problem, state: State) -> State:
    """One sweep of either sampler."""
    if isinstance(state, blocked.State):
        return blocked.step(generator, problem, state, PRIOR)
    state, _ = collapsed.step(generator, problem, state, PRIOR, 10**9)
    return split_merge.split_or_merge(generator, problem, state)[0]


def parameters_of(generator: np.random.Generator, problem: Problem, state: State) -> Parameters:
    """Weights and level probabilities of a state, as `observe` takes them."""
    if isinstance(state, blocked.State):
        return Parameters(np.exp(state.log_weights), np.ascontiguousarray(state.probabilities.T))
    given: Parameters = parameters.draw_parameters(
        generator,
        with_strengths(problem, state.strengths),
        state.class_size,
        state.level_count,
        state.concentration,
    )
    return given


@pytest.mark.slow
def test_blocked_sampler_has_the_exact_truncated_posterior() -> None:
    """A run from one class, thinned; false-alarm rate 1e-4."""
    exact: dict[Hashable, float] = {}
    for key, probability in naive.exact_truncated(ROWS, PRIORS, *PRIOR, 3).items():
        counts = tiny.counts_key_of(key, PRIORS)
        exact[counts] = exact.get(counts, 0.0) + probability
    generator = stream(90, "blocked with holes")
    seen: Counter[Hashable] = Counter()
    state: State = blocked.init(generator, PROBLEM, 3, 1)
    for draw in range(-10, 3_000):
        for _ in range(12):
            state = sweep(generator, PROBLEM, state)
        if draw >= 0:
            seen[tiny.counts_key(state.level_count.T)] += 1
    assert tiny.chi_square_p(seen, exact) > FALSE_ALARM


def exact_value(record: int, variable: int) -> NDArray[np.float64]:
    """Posterior of a missing value under the Dirichlet process, by enumeration: (level,)."""
    total = np.zeros(len(PRIORS[variable]))  # (level,)
    for whole in naive.completions(ROWS, PRIORS):
        for partition in naive.partitions(len(whole)):
            classes = [[whole[member] for member in members] for members in partition]
            weight = naive.log_process_weight(len(classes), len(whole), *PRIOR)
            for rows in classes:
                weight += lgamma(len(rows)) + naive.log_complete_marginal(rows, PRIORS)
            total[whole[record][variable]] += np.exp(weight)
    return np.asarray(total / total.sum())


def value_given(record: int, variable: int, given: Parameters) -> NDArray[np.float64]:
    """Probabilities of a missing value given weights and level probabilities: (level,)."""
    weights = given.weights.copy()  # (class,)
    for other, level in enumerate(ROWS[record]):
        weights *= given.probabilities[:, PROBLEM.level_start[other] + level]
    first = PROBLEM.level_start[variable]
    tables = given.probabilities[:, first : first + len(PRIORS[variable])]  # (class, level)
    return np.asarray(weights @ tables / weights.sum())


@pytest.mark.slow
def test_missing_values_have_their_exact_posterior() -> None:
    """Means of 2,000 draws of five values within 4.5 standard errors, by 40 batches."""
    generator = stream(91, "imputation")
    state: State = collapsed.init(generator, PROBLEM, 2)
    missing = [(1, 1), (4, 0)]
    values = np.empty((2_000, 5))  # (draw, level of either missing value)
    for draw in range(-10, len(values)):
        for _ in range(5):
            state = sweep(generator, PROBLEM, state)
        given = parameters_of(generator, PROBLEM, state)
        if draw >= 0:
            values[draw] = np.concatenate([value_given(*where, given) for where in missing])
    batches = values.reshape(40, -1, 5).mean(axis=1)  # (batch, level)
    error = batches.std(axis=0, ddof=1) / np.sqrt(40)
    exact = np.concatenate([exact_value(*where) for where in missing])
    assert (np.abs(values.mean(axis=0) - exact) < 4.5 * error).all()
    assert error.max() < 0.01


def test_one_class_is_the_dirichlet_posterior_of_what_was_observed() -> None:
    """KS against exact beta distributions, false-alarm rate 1e-4 each; a hole has probability 1."""
    rows = [(0, 0)] * 7 + [(1, 3)] * 5 + [(2, 1)] * 4  # a 2 or 3 is a hole
    problem = tiny.problem_of(rows, PRIORS)
    generator = stream(92, "one class")
    state: State = blocked.init(generator, problem, 1, 1)
    drawn = np.empty((2_000, 2))
    for draw in range(len(drawn)):
        state = sweep(generator, problem, state)
        assert isinstance(state, blocked.State)
        drawn[draw] = state.probabilities[[0, 3], 0]
        assert (state.probabilities[HOLE_LEVELS] == 1.0).all()
    (a, b), (c, d, e) = PRIORS
    assert kstest(drawn[:, 0], beta(a + 7, b + 5).cdf).pvalue > FALSE_ALARM
    assert kstest(drawn[:, 1], beta(c + 7, d + 4 + e).cdf).pvalue > FALSE_ALARM


def test_holes_tell_nothing_of_strengths() -> None:
    """The same strengths are drawn, bit by bit, as from the records without holes alone."""
    count = stream(96, "counts").integers(0, 9, (4, 7))  # (class, level), holes among the levels
    holed = sampled_problem(masked([(0, 0), (1, 1)], MASKS[:2]))
    whole = sampled_problem([(0, 0), (1, 1)])
    start = np.array([0.4, 2.0])
    drawn = [
        draw_strengths(stream(97, "strengths"), *given)
        for given in (
            (holed, start, count),
            (whole, start, np.delete(count, HOLE_LEVELS, axis=1)),
        )
    ]
    assert drawn[0].tolist() == drawn[1].tolist()
    assert holed.holes.tolist() == HOLE_LEVELS


def masked(rows: joint.Rows, masks: list[set[int]]) -> joint.Rows:
    """Make holes of some values."""
    return [
        tuple(
            len(PRIORS[variable]) if variable in mask else level
            for variable, level in enumerate(row)
        )
        for row, mask in zip(rows, masks, strict=True)
    ]


def sampled_problem(rows: joint.Rows) -> Problem:
    """Bring rows with holes into the form of the kernels, both strengths sampled."""
    return tiny.problem_of(rows, joint.priors_of(np.ones(2)))._replace(
        sampled=np.array([0, 1]), strength_prior=joint.STRENGTH_PRIOR
    )


def collapsed_state(
    classes: joint.Classes, rows: joint.Rows, concentration: float, strengths: NDArray[np.float64]
) -> tuple[Problem, collapsed.State]:
    problem, distinct = sampled_problem(rows), sorted(set(rows))
    members = np.zeros((len(distinct), len(rows) + 2), dtype=np.int32)  # (combination, class)
    for k, row in zip(classes, rows, strict=True):
        members[distinct.index(row), k] += 1
    return problem, collapsed.with_members(problem, members, concentration, strengths)


@pytest.mark.slow
def test_collapsed_sweep_keeps_the_joint_distribution() -> None:
    """Strengths sampled; nine summaries, false-alarm rate 1e-4 each."""
    generator = stream(93, "joint collapsed")
    before, after = np.empty((400, 9)), np.empty((400, 9))
    for draw in range(len(before)):
        for table in (before, after):
            strengths = joint.strengths_from_prior(generator)
            concentration = float(generator.gamma(tiny.SHAPE) / tiny.RATE)
            classes, masks = joint.partition_from_prior(generator, concentration), MASKS
            priors = joint.priors_of(strengths)
            rows = masked(joint.rows_given_classes(generator, classes, priors), masks)
            for _ in range(0 if table is before else 3):
                problem, state = collapsed_state(classes, rows, concentration, strengths)
                moved = sweep(generator, problem, state)
                assert isinstance(moved, collapsed.State)
                concentration, strengths = float(moved.concentration), moved.strengths
                classes = np.unique(joint.classes_of(moved), return_inverse=True)[1].tolist()
                # records are in the order of their combinations now, and holes stay theirs
                masks = [{v for v in (0, 1) if row[v] == len(PRIORS[v])} for row in sorted(rows)]
                priors = joint.priors_of(strengths)
                rows = masked(joint.rows_given_classes(generator, classes, priors), masks)
            table[draw] = [*joint.summary(classes, rows, concentration), *strengths]
    tiny.check_same_distribution(before, after)


def with_hole_levels(tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put rows of ones for the holes into level probabilities (level, class)."""
    ones = np.ones((1, tables.shape[1]))
    return np.vstack([tables[:2], ones, tables[2:], ones])


@pytest.mark.slow
def test_blocked_sweep_keeps_the_joint_distribution() -> None:
    """Strengths sampled; seven summaries, false-alarm rate 1e-4 each."""
    generator = stream(94, "joint blocked")
    before, after = np.empty((400, 7)), np.empty((400, 7))
    for draw in range(len(before)):
        for table in (before, after):
            strengths = joint.strengths_from_prior(generator)
            concentration, log_weights, tables = joint.blocked_prior(
                generator, 4, joint.priors_of(strengths)
            )
            concentration, log_weights = reweighted(generator, 4)
            rows = joint.rows_given_weights(generator, log_weights, tables, len(MASKS))
            for _ in range(0 if table is before else 3):
                state = blocked.State(
                    np.zeros(4, np.int64), np.zeros((7, 4), np.int64), log_weights,
                    with_hole_levels(tables), concentration, False, strengths,
                )  # fmt: skip
                state = blocked.step(generator, sampled_problem(masked(rows, MASKS)), state, PRIOR)
                concentration, log_weights = state.concentration, state.log_weights
                strengths = state.strengths
                tables = np.delete(state.probabilities, HOLE_LEVELS, axis=0)
                rows = joint.rows_given_weights(generator, log_weights, tables, len(MASKS))
            weights = np.exp(log_weights)
            table[draw] = [
                concentration, weights[0], (weights**2).sum(), weights @ (tables[0] * tables[4]),
                sum(row == (0, 2) for row in rows) + 0.01 * concentration, *strengths,
            ]  # fmt: skip
    tiny.check_same_distribution(before, after)


def reweighted(generator: np.random.Generator, n_classes: int) -> tuple[float, NDArray[np.float64]]:
    """Concentration and log weights from the prior of these tests."""
    concentration = float(generator.gamma(tiny.SHAPE) / tiny.RATE)
    sticks = np.append(generator.beta(1.0, concentration, n_classes - 1), 1.0)
    with np.errstate(divide="ignore"):
        return concentration, np.log(sticks) + np.append(0.0, np.cumsum(np.log1p(-sticks[:-1])))


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["collapsed", "blocked"])
def test_ranks_of_true_values_are_uniform(sampler: str) -> None:
    """A quarter of the values missing, 50 simulations, five bins; false-alarm rate 1e-4 each."""
    n_classes = 6 if sampler == "blocked" else 60
    rank_of_truth = np.empty((50, 4), dtype=np.int64)  # (simulation, quantity)
    for simulation in range(len(rank_of_truth)):
        generator = stream(95, sampler, simulation)
        strengths = joint.strengths_from_prior(generator)
        tables = joint.blocked_prior(generator, n_classes, joint.priors_of(strengths))[2]
        concentration, log_weights = reweighted(generator, n_classes)
        rows = joint.rows_given_weights(generator, log_weights, tables, 12)
        problem = sampled_problem(masked(rows, MASKS * 2))
        truth = Parameters(np.exp(log_weights), np.ascontiguousarray(with_hole_levels(tables).T))
        true = quantities(problem, concentration, truth, strengths)
        state: State = (
            blocked.init(generator, problem, n_classes, 1)
            if sampler == "blocked"
            else collapsed.init(generator, problem, 1)
        )
        drawn = np.empty((19, 4))  # (draw, quantity)
        for draw in range(-6, 19):
            for _ in range(7):
                state = sweep(generator, problem, state)
            if draw >= 0:
                given = parameters_of(generator, problem, state)
                drawn[draw] = quantities(problem, state.concentration, given, state.strengths)
        rank_of_truth[simulation] = (drawn < np.array(true)).sum(axis=0)
    tiny.check_uniform_ranks(rank_of_truth, 19, 5)


def quantities(
    problem: Problem, concentration: float, given: Parameters, strengths: NDArray[np.float64]
) -> list[float]:
    """Concentration, p(label 2 | pattern 0), log-likelihood of what was observed, a strength."""
    weights, tables = given.weights, given.probabilities.T  # (class,), (level, class)
    label = float((weights * tables[0] * tables[5]).sum() / (weights * tables[0]).sum())
    likelihood = parameters.log_likelihood(problem.levels, problem.counts, *given)
    return [concentration, label, float(likelihood), float(strengths[1])]
