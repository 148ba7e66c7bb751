"""The design of a regression on categories, stored as one column index per row and term.

All variables are categories, so every term of a formula is a group of indicator columns of which
a row has at most one. A design therefore needs no matrix: it stores for each row and term the
index of that column, and all products with the design are counts. A label with 500 levels costs
what one with 2 costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.errors import quoted, quoted_list
from understudy.microdata.table import Microdata
from understudy.utility.regression.arrow_matrix import BORDER
from understudy.utility.regression.formula import Formula, mistake

__all__ = ["Design", "Indicators", "make_design"]

LARGEST = "largest"
Numbers = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class Indicators:
    """The rows of a design.

    Attributes
    ----------
    index : int64 (row, term)
        Which of the term's columns is 1 in the row; the term's width where none is.
    widths : tuple of int
        Columns of each term.
    block : int64 (column,)
        Level of the variable with most levels that a column involves, -1 for none: columns of
        different levels never meet in a row.
    """

    index: NDArray[np.int64]
    widths: tuple[int, ...]
    block: NDArray[np.int64]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """First column of each term, and the number of columns at the end."""
        return tuple(np.concatenate([[0], np.cumsum(self.widths)]).astype(int).tolist())

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.starts[-1]

    def linear(self, coefficients: Numbers) -> Numbers:
        """Multiply with coefficients (column,): the linear predictor (row,)."""
        total = np.zeros(len(self.index))
        for term, width in enumerate(self.widths):
            own = np.zeros(width + 1)  # the last for rows without a column in this term
            own[:width] = coefficients[self.starts[term] : self.starts[term] + width]
            total += own[self.index[:, term]]
        return total

    def dense(self, columns: NDArray[np.bool_]) -> Numbers:
        """Write some columns out: (row, chosen column)."""
        whole = np.zeros((len(self.index), self.n_columns))
        for term, width in enumerate(self.widths):
            row = np.flatnonzero(self.index[:, term] < width)
            whole[row, self.starts[term] + self.index[row, term]] = 1.0
        return whole[:, columns]

    def sums(self, weights: Numbers) -> Numbers:
        """Add weights (row,) up over the rows of each column: (column,)."""
        parts = [
            np.bincount(self.index[:, term], weights=weights, minlength=width + 1)[:width]
            for term, width in enumerate(self.widths)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def gram(self, weights: Numbers) -> Numbers:
        """Weighted products of the columns with each other: (column, column)."""
        products = np.zeros((self.n_columns, self.n_columns))
        for term, width in enumerate(self.widths):
            first = slice(self.starts[term], self.starts[term] + width)
            for other in range(term, len(self.widths)):
                size = self.widths[other]
                second = slice(self.starts[other], self.starts[other] + size)
                pair = self.index[:, term] * (size + 1) + self.index[:, other]
                counted = np.bincount(pair, weights=weights, minlength=(width + 1) * (size + 1))
                block = counted.reshape(width + 1, size + 1)[:width, :size]
                products[first, second] = block
                products[second, first] = block.T
        return products

    def gram_with_intercept(self, weights: Numbers, columns: NDArray[np.bool_]) -> Numbers:
        """The same for some columns (column,) and, last, an intercept."""
        size = int(columns.sum())
        products = np.empty((size + 1, size + 1))
        products[size, size] = weights.sum()
        products[size, :size] = products[:size, size] = self.sums(weights)[columns]
        products[:size, :size] = self.gram(weights)[np.ix_(columns, columns)]
        return products


@dataclass(frozen=True, repr=False, eq=False)
class Design:
    """Which columns a formula has, for these data.

    Attributes
    ----------
    formula : Formula
        What it was made from.
    columns : tuple of str
        Names such as ``county[C002]`` and ``county[C002]:age[20-40]``.
    term_of_column : tuple of str
        The term of each column, such as ``county:age``.
    widths : tuple of int
        Columns of each term.
    block : int64 (column,)
        As in `Indicators`.
    """

    formula: Formula
    columns: tuple[str, ...]
    term_of_column: tuple[str, ...]
    widths: tuple[int, ...]
    block: NDArray[np.int64]
    _column_of_code: Mapping[str, NDArray[np.int64]]  # (level,) by variable, -1 for the reference

    def indicators(self, codes: NDArray[np.integer]) -> Indicators:
        """Lay out rows of codes, with axes (row, variable) in the order of ``formula.names``."""
        names = self.formula.names
        index = np.empty((len(codes), len(self.widths)), dtype=np.int64)
        for term, variables in enumerate(self.formula.terms):
            column = np.zeros(len(codes), dtype=np.int64)
            missing = np.zeros(len(codes), dtype=bool)
            for name in variables:
                column_of_code = self._column_of_code[name]
                own = column_of_code[codes[:, names.index(name)]]
                column = column * (column_of_code.size - 1) + own
                missing |= own < 0
            index[:, term] = np.where(missing, self.widths[term], column)
        return Indicators(index, self.widths, self.block)


def make_design(
    data: Microdata, formula: Formula, reference: Mapping[str, str] | str | None = None
) -> Design:
    """Give every level of every term a column, except the reference levels.

    `reference` is by variable, or "largest"; the first level that occurs in the data when left out.
    """
    if isinstance(reference, str):
        if reference != LARGEST:
            raise mistake("reference levels by variable, or the word largest", "another word",
                         'write reference={"county": "..."} or reference="largest"')  # fmt: skip
        reference = {name: _largest_level(data, name) for name in formula.names}
    by_name = dict(reference or {})
    for name in by_name:
        if name not in formula.names:
            raise mistake("reference levels of variables on the right of the formula",
                         quoted(name), f"name some of {quoted_list(formula.names)}")  # fmt: skip
    column_of_code, labels = {}, {}
    for name in formula.names:
        levels = data.variable(name).levels
        base = _reference_code(data, name, by_name.get(name))
        columns_of = np.arange(len(levels)) - (np.arange(len(levels)) > base)
        columns_of[base] = -1
        column_of_code[name] = columns_of
        labels[name] = [f"{name}[{level}]" for code, level in enumerate(levels) if code != base]
    columns: list[str] = []
    terms: list[str] = []
    widths = []
    for term in formula.terms:
        own = [""]
        for name in term:
            own = [f"{left}:{label}" if left else label for left in own for label in labels[name]]
        columns += own
        terms += [":".join(term)] * len(own)
        widths.append(len(own))
    block = _blocks(formula, {name: len(own) for name, own in labels.items()})
    return Design(formula, tuple(columns), tuple(terms), tuple(widths), block, column_of_code)


def _blocks(formula: Formula, widths: Mapping[str, int]) -> NDArray[np.int64]:
    """Level of the widest variable in each column, -1 where the column does not involve it."""
    widest = max(formula.names, key=lambda name: widths[name])
    parts = []
    for term in formula.terms:
        levels = np.zeros(1, dtype=np.int64)
        for name in term:
            own = np.arange(widths[name]) if name == widest else np.zeros(widths[name], np.int64)
            levels = (levels[:, None] + own[None, :]).reshape(-1)
        parts.append(levels if widest in term else np.full(levels.size, BORDER))
    return np.concatenate(parts)


def _largest_level(data: Microdata, name: str) -> str:
    codes = data.combinations[:, data.names.index(name)]
    return data.variable(name).levels[int(np.argmax(np.bincount(codes, weights=data.counts)))]


def _reference_code(data: Microdata, name: str, level: str | None) -> int:
    levels = data.variable(name).levels
    if level is None:
        return int(data.combinations[:, data.names.index(name)].min())
    if level not in levels:
        raise mistake(f"a reference level of {quoted(name)} that it has", "another",
                      "write the level as it is in the data")  # fmt: skip
    return levels.index(level)
