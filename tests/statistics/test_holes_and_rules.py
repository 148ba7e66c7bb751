"""Holes in variables that rules restrict: drawn as all that is possible, and nothing else.

The twins go through all values of all holes one by one. Seeds are fixed; false-alarm rates are how
likely a correct program was to fail when they were chosen.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare
from tests.naive import dpmpm as naive
from tests.statistics import test_holes as holes
from tests.statistics import test_joint as joint
from tests.statistics import test_structural_zeros as zeros
from tests.statistics import tiny

import understudy as us
from understudy.errors import DataWarning
from understudy.microdata.label_table import hole_labels, split_labels
from understudy.microdata.structural_zeros import breaks_rules, possible_completions
from understudy.randomness import stream
from understudy.synthesis.dpmpm import blocked
from understudy.synthesis.dpmpm.imputation import completed
from understudy.synthesis.dpmpm.parameters import Parameters, log_likelihood
from understudy.synthesis.dpmpm.problem import Problem, make_problem, model_variables
from understudy.synthesis.dpmpm.synthetic_labels import (
    CLASS_DRAWS,
    class_probabilities,
    label_table,
)

FALSE_ALARM = tiny.FALSE_ALARM
PRIORS, PRIOR = tiny.PRIORS, (tiny.SHAPE, tiny.RATE)
RULES = [
    {"g": ["g1"], "c": ["c0", "c1"]},
    {"a": ["a2"], "b": ["b0"], "c": ["c1", "c2"]},
    {"g": ["g0"], "a": ["a0"], "b": ["b1"]},
]
LEVELS = {"g": 2, "a": 3, "b": 2, "c": 3}


def holed_problem(rows: naive.Rows, sampled: bool = False) -> Problem:
    """Bring rows with holes into the form of the kernels, (1, 0) impossible: as `make_problem`."""
    given = tiny.problem_of([*rows, (2, 3)], PRIORS)  # so that both variables have a hole
    distinct = sorted(set(rows))
    problem = given._replace(
        levels=np.array(distinct, dtype=np.int32) + given.level_start[:-1].astype(np.int32),
        counts=np.array([rows.count(row) for row in distinct]),
        impossible=np.array([[False, True, False, True, False, False, False]]),
    )
    if sampled:
        problem = problem._replace(sampled=np.array([0, 1]), strength_prior=joint.STRENGTH_PRIOR)
    kinds: dict[tuple[int, ...], int] = {(2, 0): 1, (1, 3): 2, (2, 3): 3}
    numbers = np.array([[7 + kinds.get(row, 0)] for row in distinct])
    return problem._replace(
        kinds=np.hstack([numbers, problem.levels]).astype(np.int32),
        completions=np.array(
            [
                [1, 1, 1, 1, 1, 1, 1],
                [1, 0, 0, 1, 1, 1, 1],  # beside the second's 0 only the first's 0
                [1, 1, 1, 0, 1, 1, 0],  # beside the first's 1 all but the second's 0
                [1, 0, 0, 1, 1, 1, 1],  # nothing seen: the first's 0 with anything,
                [0, 1, 0, 0, 1, 1, 0],  # its 1 with all but 0
            ],
            dtype=bool,
        ),
        kind_of_box=np.array([0, 1, 2, 3, 3]),
    )


@pytest.mark.slow
def test_sampler_has_the_exact_posterior_of_filled_counts() -> None:
    """All fillings, all assignments, 0 to 22 impossible records a class; false-alarm rate 1e-4."""
    rows = [(0, 0), (2, 0), (1, 3)]
    fillings = [
        filled for filled in naive.completions(rows, PRIORS) if (1, 0) not in map(tuple, filled)
    ]
    assert len(fillings) == 2
    exact = zeros.exact_with_impossible([list(map(tuple, f)) for f in fillings], 23)
    problem, generator = holed_problem(rows), stream(170, "filled")
    state = blocked.init(generator, problem, 2, 1)
    seen: Counter[Hashable] = Counter()
    for draw in range(-10, 1_800):
        for _ in range(10):
            state = blocked.step(generator, problem, state, PRIOR)
        if draw >= 0:
            counted = np.delete(state.level_count, holes.HOLE_LEVELS, axis=0)
            seen[tiny.counts_key(counted.T)] += 1
    outside = [key for key in seen if key not in exact]
    assert sum(seen[key] for key in outside) < 10
    for key in outside:
        exact[key] = 1e-9
    assert tiny.chi_square_p(seen, exact) > FALSE_ALARM


@pytest.mark.slow
def test_sweep_keeps_the_joint_distribution() -> None:
    """Strengths sampled; seven summaries, false-alarm rate 1e-4 each."""
    generator = stream(171, "joint")
    masks: list[set[int]] = [{0}, {1}, {1}, {0, 1}, set(), set()]
    before, after = np.empty((400, 7)), np.empty((400, 7))
    for draw in range(len(before)):
        for table in (before, after):
            strengths = joint.strengths_from_prior(generator)
            tables = joint.blocked_prior(generator, 4, joint.priors_of(strengths))[2]
            concentration, log_weights = holes.reweighted(generator, 4)
            rows = zeros.possible_rows(generator, log_weights, tables, 6)
            for _ in range(0 if table is before else 3):
                state = blocked.State(
                    np.zeros(4, np.int64), np.zeros((7, 4), np.int64), log_weights,
                    holes.with_hole_levels(tables), concentration, False, strengths,
                )  # fmt: skip
                problem = holed_problem(holes.masked(rows, masks), sampled=True)
                state = blocked.step(generator, problem, state, PRIOR)
                concentration, log_weights = state.concentration, state.log_weights
                strengths = state.strengths
                tables = np.delete(state.probabilities, holes.HOLE_LEVELS, axis=0)
                rows = zeros.possible_rows(generator, log_weights, tables, 6)
            weights = np.exp(log_weights)
            table[draw] = [
                concentration, (weights**2).sum(), weights @ (tables[0] * tables[4]),
                weights @ (tables[1] * tables[2]),
                sum(row == (0, 2) for row in rows) + 0.01 * concentration, *strengths,
            ]  # fmt: skip
    tiny.check_same_distribution(before, after)


@pytest.mark.slow
def test_ranks_of_true_values_are_uniform() -> None:
    """A third of the values missing, 50 simulations, five bins; false-alarm rate 1e-4 each."""
    masks: list[set[int]] = [{0}, {1}, {1}, {0, 1}, set(), set()] * 2
    rank_of_truth = np.empty((50, 3), dtype=np.int64)  # (simulation, quantity)
    for simulation in range(len(rank_of_truth)):
        generator = stream(175, "calibration", simulation)
        tables = np.vstack([generator.dirichlet(prior, 6).T for prior in PRIORS])
        concentration, log_weights = holes.reweighted(generator, 6)
        rows = zeros.possible_rows(generator, log_weights, tables, 12)
        problem = holed_problem(holes.masked(rows, masks))
        true = zeros.quantities(concentration, np.exp(log_weights), tables)
        state = blocked.init(generator, problem, 6, 1)
        drawn = np.empty((19, 3))  # (draw, quantity)
        for draw in range(-5, 19):
            for _ in range(10):
                state = blocked.step(generator, problem, state, PRIOR)
            if draw >= 0:
                shown = np.delete(state.probabilities, holes.HOLE_LEVELS, axis=0)
                weights = np.exp(state.log_weights)
                drawn[draw] = zeros.quantities(state.concentration, weights, shown)
        rank_of_truth[simulation] = (drawn < np.array(true)).sum(axis=0)
    tiny.check_uniform_ranks(rank_of_truth, 19, 5)


@pytest.fixture(scope="module")
def data() -> us.Microdata:
    """All possible records of four variables with holes in three of them, some twice."""
    rows: list[tuple[str | None, ...]] = []
    for codes in itertools.product(*(range(size) for size in LEVELS.values())):
        row = tuple(f"{name}{code}" for name, code in zip(LEVELS, codes, strict=True))
        if not any(broken(row, rule) for rule in RULES):
            number = len(rows)
            rows.append((None if number % 2 else row[0], None if number % 3 else row[1], *row[2:]))
            rows.append((*row[:3], None if number % 4 == 0 else row[3]))
            rows.append((None, row[1], row[2], None if number % 5 == 0 else row[3]))
    frame = pl.DataFrame(rows, schema=list(LEVELS), orient="row")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return us.read_microdata(
            frame, synthesize=["b", "c"], missing="model", codebook={"impossible": RULES}
        )


def broken(row: tuple[str, ...], rule: dict[str, list[str]]) -> bool:
    """Tell whether a whole row breaks a rule."""
    return all(row[list(LEVELS).index(name)] in levels for name, levels in rule.items())


def fillings(data: us.Microdata, codes: Any) -> list[tuple[int, ...]]:
    """Give all possible rows that agree with codes where these are no holes."""
    names = list(LEVELS)
    choices = [
        range(LEVELS[name]) if code == LEVELS[name] else [int(code)]
        for name, code in zip(names, codes, strict=True)
    ]
    levels = [data.variable(name).levels for name in names]
    return [
        row
        for row in itertools.product(*choices)
        if not any(
            broken(tuple(levels[v][code] for v, code in enumerate(row)), rule) for rule in RULES
        )
    ]


@pytest.fixture(scope="module")
def parameters(data: us.Microdata) -> Parameters:
    """Weights and level probabilities of three classes, drawn once."""
    generator, problem = stream(172, "parameters"), make_problem(data)
    parts = []
    for variable, hole in enumerate(problem.holes):
        size = int(np.diff(problem.level_start)[variable]) - (hole >= 0)
        parts.append(generator.dirichlet(np.ones(size), 3))
        parts += [np.ones((3, 1))] if hole >= 0 else []
    return Parameters(np.array([0.5, 0.3, 0.2]), np.hstack(parts))


def chance(data: us.Microdata, given: Parameters, row: tuple[int, ...]) -> NDArray[np.float64]:
    """Probability of class and whole row: (class,)."""
    start = make_problem(data).level_start
    levels = [start[model_variables(data).index(name)] + code
              for name, code in zip(LEVELS, row, strict=True)]  # fmt: skip
    return np.asarray(given.weights * given.probabilities[:, levels].prod(axis=1))


def joint_of(data: us.Microdata, given: Parameters, codes: Any) -> NDArray[np.float64]:
    """Probability of class and record, summed over what its holes may be: (class,)."""
    return np.asarray(sum(chance(data, given, row) for row in fillings(data, codes)))


def test_boxes_of_completions_hold_each_possible_one_once(data: us.Microdata) -> None:
    names = data.names
    kinds, kind_of_box, boxes = possible_completions(data, names, data.combinations)
    start = np.cumsum([0, *(data.variable(name).n_levels for name in names)])
    assert 3 < len(set(kinds)) < data.n_combinations
    for combination, codes in enumerate(data.combinations):
        own = boxes[kind_of_box == kinds[combination]]
        missing = np.array([code == LEVELS[name] for name, code in zip(names, codes, strict=True)])
        choices = [
            range(LEVELS[name]) if hole else [int(code)]
            for name, code, hole in zip(names, codes, missing, strict=True)
        ]
        possible = fillings(data, codes)
        for row in itertools.product(*choices):
            inside = own[:, start[:-1][missing] + np.array(row)[missing]].all(axis=1).sum()
            assert inside == (row in possible)


def test_label_probabilities_are_those_of_the_twin(
    data: us.Microdata, parameters: Parameters
) -> None:
    """Kept: class, holes and label of a pattern enumerated; full: the class from the record."""
    labels = split_labels(data, np.arange(data.n_labels))
    whole = np.setdiff1d(np.arange(data.n_labels), hole_labels(data))
    for class_draw in CLASS_DRAWS:
        table = label_table(data, parameters, class_draw)
        for combination, codes in enumerate(data.combinations):
            classes = np.ones(3)
            if class_draw == "full":
                classes = joint_of(data, parameters, codes)
            expected = np.zeros(data.n_labels)
            for label in whole:
                for row in fillings(data, [*codes[:2], *labels[label]]):
                    expected[label] += label_chance(
                        data, parameters, codes, row, class_draw, classes
                    )
            row = table.probabilities[table.row_of_combination[combination]]
            assert np.allclose(row, expected / expected.sum(), rtol=1e-10), class_draw


def label_chance(
    data: us.Microdata, given: Parameters, codes: Any, row: Any, class_draw: str, classes: Any
) -> float:
    """Probability of a label and of the values of the holes, summed over classes."""
    start, names = make_problem(data).level_start, model_variables(data)
    level = {name: start[names.index(name)] + code for name, code in zip(LEVELS, row, strict=True)}
    missing = [name for name, code in zip("ga", codes[:2], strict=True) if code == LEVELS[name]]
    drawn = given.probabilities[:, [level[name] for name in ("b", "c", *missing)]].prod(axis=1)
    if class_draw == "full":
        return float(classes @ drawn)
    if class_draw == "prior":
        return float(given.weights @ drawn)
    return float(chance(data, given, row).sum())


def test_likelihood_and_classes_are_those_of_the_twin(
    data: us.Microdata, parameters: Parameters
) -> None:
    problem = make_problem(data)
    levels, tables = problem.with_kinds(parameters.probabilities.T)
    likelihood = log_likelihood(
        levels, problem.counts, parameters.weights, np.ascontiguousarray(tables.T)
    )
    given, rows = class_probabilities(data, parameters, "full")
    expected = 0.0
    for combination, codes in enumerate(data.combinations):
        classes = joint_of(data, parameters, codes)
        expected += data.counts[combination] * np.log(classes.sum())
        assert np.allclose(given[rows[combination]], classes / classes.sum(), rtol=1e-10)
    assert likelihood == pytest.approx(expected, rel=1e-10)


def test_counts_of_a_sweep_are_those_of_the_twin(
    data: us.Microdata, parameters: Parameters
) -> None:
    """Means of 2,000 draws of sizes and of counts of g and a, within 5 standard errors.

    A missing value that no rule restricts beside what was observed is not counted.
    """
    problem, generator = make_problem(data), stream(173, "counts")
    drawn = np.zeros((2_000, problem.prior.size + 1, 3))  # (draw, level or size, class)
    for sweep in drawn:
        size, count = np.zeros(3, np.int64), np.zeros((problem.prior.size, 3), np.int64)
        failed = blocked.draw_completed_classes(
            generator, problem, np.log(parameters.weights),
            np.ascontiguousarray(parameters.probabilities.T), size, count,
        )  # fmt: skip
        assert not failed
        sweep[:-1], sweep[-1] = count, size
    expected = np.zeros(drawn.shape[1:])
    names, start = model_variables(data), problem.level_start
    kinds, kind_of_box, boxes = possible_completions(data, data.names, data.combinations)
    for combination, codes in enumerate(data.combinations):
        own = boxes[kind_of_box == kinds[combination]]
        rows = fillings(data, codes)
        chances = [data.counts[combination] * chance(data, parameters, row) for row in rows]
        total = np.sum(chances)
        first = 0
        expected[-1] += data.counts[combination] * np.sum(chances, axis=0) / total
        for variable, name in enumerate(data.names):
            n_levels = data.variable(name).n_levels
            for row, weight in zip(rows, chances, strict=True):
                inside = own[in_box(data, own, codes, row)]
                free = inside[0, first : first + n_levels].all()
                level = start[names.index(name)]
                share = data.counts[combination] * weight / total
                if codes[variable] != LEVELS[name] or not free:
                    expected[level + row[variable]] += share
                if codes[variable] == LEVELS[name]:
                    expected[level + LEVELS[name]] += share
            first += n_levels
    error = drawn.std(axis=0, ddof=1) / np.sqrt(len(drawn))
    assert (np.abs(drawn.mean(axis=0) - expected) <= 5 * error + 1e-9).all()


def in_box(data: us.Microdata, boxes: Any, codes: Any, row: Any) -> NDArray[np.bool_]:
    """Tell which boxes a filled row is in, by the variables that are missing."""
    start = np.cumsum([0, *(data.variable(name).n_levels for name in data.names)])[:-1]
    missing = [variable for variable, name in enumerate(data.names)
               if codes[variable] == LEVELS[name]]  # fmt: skip
    inside = boxes[:, start[missing] + np.array(row)[missing]].all(axis=1)
    return np.asarray(inside)


def test_holes_are_filled_with_what_is_possible(data: us.Microdata, parameters: Parameters) -> None:
    """Never impossible; 1,500 fillings of two records against all that can be, rate 1e-4 each."""
    generator = stream(174, "filled")
    ways = [len(fillings(data, codes)) for codes in data.combinations]  # (combination,)
    combinations = [int(combination) for combination in np.argsort(ways, kind="stable")[-2:]]
    records = [int(np.flatnonzero(data.of_record == c)[0]) for c in combinations]
    seen: list[Counter[tuple[int, ...]]] = [Counter(), Counter()]
    for _ in range(1_500):
        whole = completed(generator, data, parameters)
        assert (breaks_rules(whole, whole.combinations, whole.impossible) == -1).all()
        for counter, record in zip(seen, records, strict=True):
            counter[tuple(whole.combinations[whole.of_record[record]].tolist())] += 1
    for counter, combination in zip(seen, combinations, strict=True):
        rows = fillings(data, data.combinations[combination])
        expected = np.array([chance(data, parameters, row).sum() for row in rows])
        assert set(counter) <= set(rows)
        assert len(rows) > 2
        counts = [counter[row] for row in rows]
        assert chisquare(counts, 1_500 * expected / expected.sum()).pvalue > FALSE_ALARM
