"""Synthetic labels from one draw of weights and level probabilities.

A record's synthetic label comes from a class, and the class is drawn in one of three ways:

``kept``
    from its posterior given the kept variables only. The default.
``full``
    from its posterior given the whole record, the true label included, as the reference software
    does. About a fifth more labels come out as they were, at no gain in utility.
``prior``
    from the class weights, as the paper's text says. The fewest matches, and the label loses its
    association with the kept variables.

One class per record, then every synthesized variable from its own level probabilities. A record
with a hole has its class drawn given the other variables, and every record gets a label, no hole.
Where the codebook calls labels of a pattern impossible, class and label are drawn together given
that the label is possible (`possible_labels`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from understudy.compiling import compiled
from understudy.microdata.label_table import (
    LabelTable,
    hole_labels,
    split_labels,
    true_labels,
)
from understudy.microdata.table import Microdata
from understudy.synthesis.dpmpm.parameters import Parameters
from understudy.synthesis.dpmpm.possible_labels import PossibleLabels
from understudy.synthesis.dpmpm.problem import model_variables
from understudy.synthesis.set_drawing import Drawer, table_drawer

__all__ = [
    "CLASS_DRAWS",
    "ClassDraw",
    "class_probabilities",
    "draw_labels",
    "label_drawer",
    "label_table",
    "own_label_chances",
    "weighted_label_likelihood",
]

SMALLEST = 1e-300
MOST_GIVEN = 1 << 25  # probabilities of classes that are held at a time
ClassDraw = Literal["kept", "full", "prior"]
CLASS_DRAWS: tuple[ClassDraw, ...] = ("kept", "full", "prior")


def draw_labels(
    generator: np.random.Generator,
    data: Microdata,
    parameters: Parameters,
    class_draw: ClassDraw,
    possible: PossibleLabels | None = None,
) -> NDArray[np.int32]:
    """Draw synthetic levels (record, synthesized variable) from one posterior draw of parameters.

    `class_draw` says what a record's class is drawn from; `possible` is what the rules of these
    data leave, where it is known already.
    """
    return label_drawer(data, parameters, class_draw, possible)(generator, slice(None))


def label_drawer(
    data: Microdata,
    parameters: Parameters,
    class_draw: ClassDraw,
    possible: PossibleLabels | None = None,
) -> Drawer:
    """Prepare to draw the levels of some of the records; see `draw_labels`."""
    if data.impossible:
        table = label_table(data, parameters, class_draw, possible)
        return table_drawer(data, table)
    n_rows, row_of_combination, given = _class_rows(data, parameters, class_draw, possible)
    starts = _level_starts(data)[len(data.predictors) :]  # (synthesized variable + 1,)
    cumulative = np.empty_like(parameters.probabilities)  # (class, level)
    for variable, name in enumerate(data.synthesized):
        here = slice(starts[variable], starts[variable + 1])
        tables = parameters.probabilities[:, here].copy()  # (class, level)
        if data.variable(name).has_holes:
            tables[:, -1] = 0.0
        cumulative[:, here] = _cumulative(tables)
    step = max(1, MOST_GIVEN // parameters.weights.size)  # rows whose classes are held together
    whole = _cumulative(given(slice(None))) if n_rows <= step else None  # (row, class)

    def draw(generator: np.random.Generator, rows: slice) -> NDArray[np.int32]:
        of_record = data.of_record[rows]
        uniforms = generator.random((of_record.size, 1 + len(data.synthesized)))
        codes = np.empty((of_record.size, len(data.synthesized)), dtype=np.int32)
        for first in range(0, n_rows, step):
            some = slice(first, first + step)
            classes = _cumulative(given(some)) if whole is None else whole  # (some row, class)
            of_some = (first, row_of_combination, of_record)
            _draw(uniforms, classes, *of_some, cumulative, starts, codes)
        return codes

    return draw


def label_table(
    data: Microdata,
    parameters: Parameters,
    class_draw: ClassDraw,
    possible: PossibleLabels | None = None,
) -> LabelTable:
    """Tabulate what `draw_labels` draws from: probabilities of combined labels.

    The table has a row per pattern (``kept``), per combination (``full``), or one (``prior``; a row
    per pattern where labels may be impossible).
    """
    possible = possible or PossibleLabels(data)
    given, row_of_combination = class_probabilities(data, parameters, class_draw, possible)
    codes = split_labels(data, np.arange(data.n_labels))  # (label, synthesized variable)
    starts = _level_starts(data)[len(data.predictors) :]
    of_class = np.ones((parameters.weights.size, codes.shape[0]))  # (class, label)
    for variable in range(codes.shape[1]):
        of_class *= parameters.probabilities[:, starts[variable] + codes[:, variable]]
    of_class[:, hole_labels(data)] = 0.0
    table = given @ of_class  # (row, label)
    if not data.impossible:
        return LabelTable(table, row_of_combination)
    patterns = data.patterns.of_combination  # (combination,)
    if table.shape[0] <= len(data.patterns):  # rows depend on kept variables only
        first = np.unique(patterns, return_index=True)[1]  # (pattern,) a combination of each
        rows, row_of_combination = row_of_combination[first], patterns
        patterns = patterns[first]
    else:
        rows = row_of_combination = np.arange(data.n_combinations, dtype=np.int32)
    restricted = possible.restricted(
        table[rows], patterns, given[rows], of_class, parameters.probabilities
    )
    return LabelTable(restricted, row_of_combination)


def own_label_chances(data: Microdata, parameters: Parameters) -> NDArray[np.float64]:
    """Give p(own label | kept variables) of each combination, (combination,).

    The entries of `label_table` with ``class_draw="kept"`` at the combinations' own labels, without
    the table. Nothing may be impossible or missing.
    """
    given, rows = class_probabilities(data, parameters, "kept")
    columns = [data.names.index(name) for name in data.synthesized]
    levels = data.combinations[:, columns] + _level_starts(data)[len(data.predictors) : -1]
    chances: NDArray[np.float64] = _own(given, rows, parameters.probabilities, levels)
    return chances


def weighted_label_likelihood(
    data: Microdata, parameters: Parameters, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What the label of a weighted record adds to the likelihood, its class summed out.

    With the label a record contributes sum_k w_k (prod_v p_kv)^weight, without it the same over the
    kept variables alone; this is their ratio, (pattern, label), and 1 where nobody is. At weight 1
    it is p(label | kept variables). Weights are (combination,).
    """
    starts, names = _level_starts(data), model_variables(data)
    columns = [data.names.index(name) for name in names]
    levels = data.combinations[:, columns] + starts[:-1]  # (combination, variable)
    n_kept, power = len(data.predictors), weights[:, None]
    logs = np.log(np.maximum(parameters.probabilities.T, SMALLEST))  # (level, class)
    log_weights = np.log(np.maximum(parameters.weights, SMALLEST))  # (class,)
    kept = log_weights + power * logs[levels[:, :n_kept]].sum(axis=1)  # (combination, class)
    whole = kept + power * logs[levels[:, n_kept:]].sum(axis=1)  # (combination, class)
    added = logsumexp(whole, axis=1) - logsumexp(kept, axis=1)  # (combination,)
    table = np.ones((len(data.patterns), data.n_labels))  # (pattern, label)
    table[data.patterns.of_combination, true_labels(data)] = np.exp(added)
    return table


def _level_starts(data: Microdata) -> NDArray[np.int64]:
    """Number of the first level of each of the model's variables, and behind the last."""
    sizes = [data.variable(name).n_levels for name in model_variables(data)]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def class_probabilities(
    data: Microdata,
    parameters: Parameters,
    class_draw: ClassDraw,
    possible: PossibleLabels | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Probabilities of the classes (row, class), and each combination's row."""
    _, row_of_combination, given = _class_rows(data, parameters, class_draw, possible)
    return given(slice(None)), row_of_combination


def _class_rows(
    data: Microdata,
    parameters: Parameters,
    class_draw: ClassDraw,
    possible: PossibleLabels | None,
) -> tuple[int, NDArray[np.int32], Callable[[slice], NDArray[np.float64]]]:
    """Give the number of rows, each combination's, and a function for some: (row, class)."""
    starts = _level_starts(data)
    if class_draw == "prior":
        same = np.zeros(data.n_combinations, dtype=np.int32)
        return 1, same, lambda _: parameters.weights[None, :].copy()
    if class_draw == "kept":
        cells = data.cells(data.predictors)
        codes, rows = cells.codes, cells.of_combination
    else:
        columns = [data.names.index(name) for name in model_variables(data)]
        codes = data.combinations[:, columns]
        rows = np.arange(data.n_combinations, dtype=np.int32)
    levels = codes + starts[: codes.shape[1]]  # (row, variable)
    probabilities = parameters.probabilities  # (class, level)
    if class_draw == "full" and data.impossible and data.with_holes:
        possible = possible or PossibleLabels(data)
        kinds = possible.completions.kinds[:, None] + starts[-1]  # (row, 1), behind the levels
        levels = np.hstack([levels, kinds])
        probabilities = np.hstack([probabilities, possible.of_kinds(probabilities).T])
    weights = parameters.weights
    return len(levels), rows, lambda some: _given(levels[some], weights, probabilities)


def _cumulative(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up each row, to one; in place."""
    np.cumsum(probabilities, axis=1, out=probabilities)
    probabilities /= probabilities[:, -1:].copy()
    return probabilities


@compiled
def _own(given, rows, probabilities, levels):  # type: ignore[no-untyped-def]
    """Sum over classes the probability of the own levels, int64 (combination, variable).

    `given` float64 (row, class), `rows` int32 (combination,), `probabilities` (class, level).
    """
    chances = np.empty(rows.size)
    for combination in range(rows.size):
        total = 0.0
        for k in range(given.shape[1]):
            product = given[rows[combination], k]
            for variable in range(levels.shape[1]):
                product *= probabilities[k, levels[combination, variable]]
            total += product
        chances[combination] = total
    return chances


@compiled
def _given(levels, weights, probabilities):  # type: ignore[no-untyped-def]
    """Probability of each class given levels int32 (row, variable): float64 (row, class).

    `weights` float64 (class,), `probabilities` float64 (class, level).
    """
    given = np.empty((levels.shape[0], weights.size))  # (row, class)
    for row in range(levels.shape[0]):
        total = 0.0
        for k in range(weights.size):
            product = weights[k]
            for variable in range(levels.shape[1]):
                product *= probabilities[k, levels[row, variable]]
            given[row, k] = product
            total += product
        for k in range(weights.size):
            given[row, k] /= total
    return given


@compiled
def _draw(uniforms, classes, first, row_of_combination, of_record, levels, starts, codes):  # type: ignore[no-untyped-def]
    """Draw a class, then a level of every synthesized variable, for each record of some rows.

    `classes` float64 (row from the first on, class) and `levels` float64 (class, level) are
    cumulative within a row and within a variable, `row_of_combination` int32 (combination,),
    `of_record` (record,) are combinations, `starts` int64 (synthesized variable + 1,). `uniforms`
    are float64 (record, 1 + synthesized variable); `codes` int32 (record, synthesized variable)
    are filled.
    """
    for record in range(of_record.size):
        row = row_of_combination[of_record[record]] - first
        if not 0 <= row < classes.shape[0]:
            continue
        k = 0
        while classes[row, k] <= uniforms[record, 0]:
            k += 1
        for variable in range(starts.size - 1):
            low, high = starts[variable], starts[variable + 1] - 1
            while low < high:
                middle = (low + high) >> 1
                if levels[k, middle] > uniforms[record, 1 + variable]:
                    high = middle
                else:
                    low = middle + 1
            codes[record, variable] = low - starts[variable]
