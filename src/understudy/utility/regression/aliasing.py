"""Which columns of a design can be estimated: not those that are absent or sums of others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.utility.regression.arrow_matrix import BORDER, Arrow
from understudy.utility.regression.design import Indicators
from understudy.utility.regression.fitted_regression import ABSENT, ALIASED, ESTIMATED

__all__ = ["column_status", "identified_columns", "independent_columns"]

Numbers = NDArray[np.float64]


def column_status(rows: Indicators, weights: Numbers) -> list[str]:
    """Say of every column whether it can be estimated beside an intercept, or why not.

    Weights, (row,), are the records with each row. Columns are ``estimated``, ``absent`` or
    ``aliased``.
    """
    size = rows.n_columns
    products = rows.gram_with_intercept(weights, np.ones(size, dtype=bool))
    scale = np.diagonal(products)
    # First in the order that fills nothing up. If then the intercept is a sum of others, the
    # reference level does not occur: start from the intercept, at the price of a dense sweep.
    order = Arrow(np.append(rows.block, BORDER)).order()
    independent = independent_columns(products, scale, order=order)
    if size not in independent:
        independent = independent_columns(products, scale, order=np.roll(np.arange(size + 1), 1))
    free = np.isin(np.arange(size), independent)
    return [
        ABSENT if count == 0 else ESTIMATED if is_free else ALIASED
        for count, is_free in zip(scale[:size].tolist(), free.tolist(), strict=True)
    ]


def identified_columns(rows: Indicators, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Choose, among some columns, those independent of each other and the intercept: (column,)."""
    columns = np.flatnonzero(among)
    size = columns.size
    products = rows.gram_with_intercept(np.ones(len(rows.index)), among)
    order = Arrow(np.append(rows.block[columns], BORDER)).order()
    independent = independent_columns(products, np.diagonal(products), order=order)
    # One column less where the intercept is a sum of others: the model is the same.
    kept = independent[independent < size] if size in independent else independent[1:]
    identified = np.zeros(among.size, dtype=bool)
    identified[columns[kept]] = True
    return identified


def independent_columns(
    products: Numbers,
    scale: Numbers,
    tolerance: float = 1e-9,
    order: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Find columns that are not sums of columns before them: their indices, rising.

    Of a column's own product, by products (column, column), the share `tolerance` of its `scale`
    must be left when columns earlier in the `order` are swept out.
    """
    order = np.arange(len(products)) if order is None else order
    rest = products[np.ix_(order, order)]  # a copy, to be swept
    least = tolerance * np.maximum(scale[order], 1e-300)
    independent = []
    for column in range(len(order)):
        pivot = rest[column, column]
        if pivot <= least[column]:
            continue
        independent.append(order[column])
        others = column + 1 + np.flatnonzero(rest[column, column + 1 :])  # most are zero
        if others.size:
            across = rest[column, others]
            rest[others[:, None], others] -= across[:, None] * (across / pivot)
    return np.sort(np.array(independent, dtype=np.int64))
