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
from understudy.microdata.structural_zeros import hole_codes
from understudy.microdata.table import Microdata
from understudy.synthesis.dpmpm import blocked
from understudy.synthesis.dpmpm.parameters import Parameters
from understudy.synthesis.dpmpm.possible_labels import PossibleLabels
from understudy.synthesis.dpmpm.problem import Problem
from understudy.synthesis.dpmpm.structural_zeros import box_probabilities
from understudy.synthesis.dpmpm.synthetic_labels import class_probabilities

__all__ = ["completed", "further_draws"]

SWEEPS = 50  # from one draw for the same completed data to the next


def completed(
    generator: np.random.Generator,
    data: Microdata,
    parameters: Parameters,
    possible: PossibleLabels | None = None,
) -> Microdata:
    """Fill the holes of all records: a class given what was observed, then a level from it.

    Levels that rules restrict are drawn together, given that the record is possible.
    """
    possible = possible or PossibleLabels(data)
    given, _ = class_probabilities(data, parameters, "full", possible)  # (combination, class)
    cumulative = np.cumsum(given, axis=1)
    codes = data.combinations[data.of_record]  # (record, variable)
    holed = np.flatnonzero((codes == hole_codes(data, data.names)).any(axis=1))  # (record,)
    of_holed = cumulative[data.of_record[holed]]  # (record with a hole, class)
    classes = np.zeros(data.n_records, dtype=np.int64)  # (record,) drawn for those with a hole
    classes[holed] = _drawn(generator, of_holed)
    inside = _inside(generator, data, parameters, possible, holed, classes)  # of each one's box
    filled = [name for name in data.with_holes if name in possible.names]
    for name in filled:
        column, n_levels = data.names.index(name), len(data.variable(name).present_levels)
        first = possible.level_start[possible.names.index(name)]
        here = slice(first, first + n_levels)
        missing = np.flatnonzero(codes[:, column] == n_levels)  # (record with a hole here,)
        tables = parameters.probabilities[:, here]  # (class, level)
        if inside is None:
            own = np.cumsum(tables, axis=1)[classes[missing]]  # (record with a hole here, level)
        else:
            within = inside[np.searchsorted(holed, missing)][:, here]
            own = np.cumsum(tables[classes[missing]] * within, axis=1)
        codes[missing, column] = _drawn(generator, own)
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


def _drawn(generator: np.random.Generator, cumulative: NDArray[np.float64]) -> NDArray[np.int64]:
    """Draw one column of every row, whose sums need not be one: int64 (row,)."""
    uniform = generator.random((cumulative.shape[0], 1)) * cumulative[:, -1:]
    return np.asarray((cumulative[:, :-1] <= uniform).sum(axis=1))


def _inside(
    generator: np.random.Generator,
    data: Microdata,
    parameters: Parameters,
    possible: PossibleLabels,
    holed: NDArray[np.int64],
    classes: NDArray[np.int64],
) -> NDArray[np.bool_] | None:
    """Draw the box that each record's holes are in, given its class: bool (record, level).

    None where no rule restricts a hole. `holed` are records with a hole, `classes` (record,).
    """
    if not data.impossible:
        return None
    kinds, kind_of_box, boxes = possible.completions
    if not kinds.any():
        return None
    shares = box_probabilities(boxes, possible.level_start, parameters.probabilities.T)
    of_record = kinds[data.of_record[holed]]  # (record with a hole,)
    box = np.zeros(holed.size, dtype=np.int64)  # (record with a hole,)
    for kind in np.unique(of_record):
        own, records = np.flatnonzero(kind_of_box == kind), np.flatnonzero(of_record == kind)
        cumulative = np.cumsum(shares[own].T, axis=1)[classes[holed[records]]]  # (record, box)
        box[records] = own[_drawn(generator, cumulative)]
    return np.asarray(boxes[box])


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
