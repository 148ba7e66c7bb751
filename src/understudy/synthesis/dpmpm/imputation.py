"""Holes filled: imputed data sets, and several synthetic sets of each.

A kept draw of weights and level probabilities, and values of the holes drawn given them, are one
draw from their joint posterior. So the draw is also one from the posterior given the data thus
completed; further draws for the same completed data come by blocked sweeps from it. That is the
two-stage scheme of Reiter (2004), whose combining rule is `combine_nested_estimates`.

References
----------
Reiter, J. P. (2004), "Simultaneous use of multiple imputation for missing data and disclosure
limitation", Survey Methodology 30(2), 235-242.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.coding import regroup
from understudy.microdata.table import Microdata
from understudy.synthesis.dpmpm import blocked
from understudy.synthesis.dpmpm.labels import class_probabilities
from understudy.synthesis.dpmpm.parameters import Parameters
from understudy.synthesis.dpmpm.problem import Problem, make_problem, model_variables

__all__ = ["completed", "further_draws"]

SWEEPS = 50  # from one draw for the same completed data to the next


def completed(generator: np.random.Generator, data: Microdata, parameters: Parameters) -> Microdata:
    """Fill the holes of all records: a class given what was observed, then a level from it."""
    given, _ = class_probabilities(data, parameters, "full")  # (combination, class)
    cumulative = np.cumsum(given, axis=1)
    codes = data.combinations[data.of_record]  # (record, variable)
    holes = [own.n_levels - 1 if own.has_holes else -1 for own in data.variables]  # (variable,)
    holed = np.flatnonzero((codes == holes).any(axis=1))  # (record with a hole,)
    of_holed = cumulative[data.of_record[holed]]  # (record with a hole, class)
    uniform = generator.random((holed.size, 1)) * of_holed[:, -1:]
    classes = np.zeros(data.n_records, dtype=np.int64)  # (record,) drawn for those with a hole
    classes[holed] = (of_holed[:, :-1] <= uniform).sum(axis=1)
    starts = make_problem(data).level_start
    filled = [name for name in data.with_holes if name in model_variables(data)]
    for name in filled:
        column, n_levels = data.names.index(name), len(data.variable(name).present_levels)
        first = starts[model_variables(data).index(name)]
        tables = np.cumsum(parameters.probabilities[:, first : first + n_levels], axis=1)
        missing = np.flatnonzero(codes[:, column] == n_levels)  # (record with a hole here,)
        own = tables[classes[missing]]  # (record with a hole here, level)
        uniform = generator.random((missing.size, 1)) * own[:, -1:]
        codes[missing, column] = (own[:, :-1] <= uniform).sum(axis=1)
    variables = tuple(
        replace(variable, levels=variable.present_levels) if variable.name in filled else variable
        for variable in data.variables
    )
    records = np.arange(data.n_records, dtype=np.int32)
    combinations, counts, of_record = regroup(
        codes, np.ones(data.n_records, np.int64), records, [own.n_levels for own in variables]
    )
    return replace(
        data, variables=variables, combinations=combinations, counts=counts, of_record=of_record
    )


def further_draws(
    generator: np.random.Generator,
    whole: Problem,
    holed: Problem,
    concentration_prior: tuple[float, float],
    concentration: float,
    strengths: NDArray[np.float64],
    parameters: Parameters,
) -> Iterator[Parameters]:
    """Give the draw itself and then, without end, further ones for the same completed data.

    Classes are cut off at those of the draw, the heaviest first. `whole` and `holed` are the
    problems of the completed data and of those with holes; `strengths` are (sampled variable,).
    """
    order = np.argsort(-parameters.weights, kind="stable")  # (class,)
    levels = np.setdiff1d(np.arange(holed.prior.size), holed.holes)  # (level that is no hole,)
    yield Parameters(parameters.weights, parameters.probabilities[:, levels])
    with np.errstate(divide="ignore"):
        log_weights = np.log(parameters.weights[order])  # (class,)
    state = blocked.State(
        np.zeros(order.size, np.int64),
        np.zeros((levels.size, order.size), np.int64),
        log_weights,
        np.ascontiguousarray(parameters.probabilities[np.ix_(order, levels)].T),
        concentration,
        False,
        strengths,
    )
    while True:
        for _ in range(SWEEPS):
            state = blocked.step(generator, whole, state, concentration_prior)
        weights = np.exp(state.log_weights)  # (class,)
        yield Parameters(weights / weights.sum(), np.ascontiguousarray(state.probabilities.T))
