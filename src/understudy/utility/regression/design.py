"""From a formula to a design of indicator columns, kept as one place per row and term.

All variables are categories, so every term of a formula is a group of indicator columns of which
a row has at most one. A design therefore needs no matrix: for each row and term the place of its
one, and all products with the design are counts. A label with 500 levels costs what one with 2
costs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingError, nearest, quoted, quoted_list
from understudy.microdata.table import Microdata
from understudy.utility.regression.arrow_matrix import BORDER

__all__ = ["Design", "Formula", "Indicators", "make_design", "read_formula"]

LARGEST = "largest"
TOKEN = re.compile(r"\s*(?:`([^`]*)`|(==|[~+:*])|([^`~+:*=]+))")
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Formula:
    """A formula that was read.

    Attributes
    ----------
    response : str
        The variable on the left.
    event : str or None
        The level after ``==`` on the left, which then stands for "yes".
    terms : tuple of tuple of str
        Variables of each term on the right: one, or several for an interaction.
    """

    response: str
    event: str | None
    terms: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The variables on the right, each once."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term))


@dataclass(frozen=True, repr=False, eq=False)
class Indicators:
    """The rows of a design.

    Attributes
    ----------
    places : int64 (row, term)
        Place of the row's one among the term's columns; the term's width where it has none.
    widths : tuple of int
        Columns of each term.
    block : int64 (column,)
        Level of the variable with most levels that a column involves, -1 for none: columns of
        different levels never meet in a row.
    """

    places: NDArray[np.int64]
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
        total = np.zeros(len(self.places))
        for term, width in enumerate(self.widths):
            own = np.zeros(width + 1)  # the last for rows that have no one in this term
            own[:width] = coefficients[self.starts[term] : self.starts[term] + width]
            total += own[self.places[:, term]]
        return total

    def sums(self, weights: Numbers) -> Numbers:
        """Add weights (row,) up over the rows of each column: (column,)."""
        parts = [
            np.bincount(self.places[:, term], weights=weights, minlength=width + 1)[:width]
            for term, width in enumerate(self.widths)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def gram(self, weights: Numbers) -> Numbers:
        """Weighted products of the columns with each other: (column, column)."""
        products = np.zeros((self.n_columns, self.n_columns))
        for one, width in enumerate(self.widths):
            first = slice(self.starts[one], self.starts[one] + width)
            for other in range(one, len(self.widths)):
                size = self.widths[other]
                second = slice(self.starts[other], self.starts[other] + size)
                pair = self.places[:, one] * (size + 1) + self.places[:, other]
                counted = np.bincount(pair, weights=weights, minlength=(width + 1) * (size + 1))
                block = counted.reshape(width + 1, size + 1)[:width, :size]
                products[first, second] = block
                products[second, first] = block.T
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
    _place_of_code: Mapping[str, NDArray[np.int64]]

    def indicators(self, codes: NDArray[np.integer]) -> Indicators:
        """Lay out rows of codes, with axes (row, variable) in the order of ``formula.names``."""
        names = self.formula.names
        places = np.empty((len(codes), len(self.widths)), dtype=np.int64)
        for number, term in enumerate(self.formula.terms):
            place = np.zeros(len(codes), dtype=np.int64)
            missing = np.zeros(len(codes), dtype=bool)
            for name in term:
                table = self._place_of_code[name]  # (level,) place among the columns, -1 for none
                own = table[codes[:, names.index(name)]]
                place = place * (table.size - 1) + own
                missing |= own < 0
            places[:, number] = np.where(missing, self.widths[number], place)
        return Indicators(places, self.widths, self.block)


def read_formula(text: str, data: Microdata) -> Formula:
    """Read ``income ~ county + age + gender``, with ``a:b`` and ``a*b`` for interactions.

    Parameters
    ----------
    text : str
        Left of ``~`` the response, for a logistic regression perhaps with a level
        (``income == Q4``); right of it terms joined by ``+``. Names with spaces or signs stand in
        backquotes.
    data : Microdata
        Whose variables may be named.

    Returns
    -------
    Formula
    """
    left, right = _sides(text)
    response, event = _response(left, data)
    terms: list[tuple[str, ...]] = []
    for piece in _split(right, "+"):
        terms += _terms_of(piece, data)
    unique = list(dict.fromkeys(terms))
    for term in unique:
        lower = [(name,) for name in term] if len(term) > 1 else []
        if not set(lower) <= set(unique):
            raise _mistake("an interaction of variables that stand in the formula themselves",
                           f"{quoted(':'.join(term))} without all of them",
                           "write a*b for a + b + a:b")  # fmt: skip
        if response in term:
            raise _mistake("a response that is not also explained by itself", quoted(response),
                           "leave it out of the right side")  # fmt: skip
    unique.sort(key=len)
    return Formula(response, event, tuple(unique))


def _sides(text: str) -> tuple[list[str], list[str]]:
    tokens, position = [], 0
    cleaned = text.rstrip() if isinstance(text, str) else ""
    while position < len(cleaned):
        found = TOKEN.match(cleaned, position)
        if found is None:
            raise _mistake("a formula such as income ~ county + age",
                           f"a sign that does not belong there, at place {position + 1}",
                           "put names with spaces or signs into backquotes")  # fmt: skip
        name, sign, bare = found.groups()
        tokens.append(sign if sign else "=" + (name if name is not None else bare.strip()))
        position = found.end()
    if tokens.count("~") != 1:
        raise _mistake("a formula with one ~ between response and terms",
                       f"{tokens.count('~')} of them",
                       "write it like income ~ county + age")  # fmt: skip
    place = tokens.index("~")
    return tokens[:place], tokens[place + 1 :]


def _split(tokens: list[str], sign: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == sign:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _terms_of(piece: list[str], data: Microdata) -> list[tuple[str, ...]]:
    """Terms of one piece between plus signs: a name, a:b, or a*b with all it stands for."""
    crossed = _split(piece, "*")
    factors = [tuple(_variable(one, data) for one in _split(part, ":")) for part in crossed]
    terms: list[tuple[str, ...]] = [()]
    for factor in factors:
        terms += [tuple(dict.fromkeys((*term, *factor))) for term in terms]
    return [tuple(sorted(term, key=data.names.index)) if len(term) > 1 else term
            for term in terms if term]  # fmt: skip


def _variable(tokens: list[str], data: Microdata) -> str:
    if len(tokens) != 1 or not tokens[0].startswith("=") or tokens[0] == "==":
        raise _mistake("a variable on both sides of every sign", "a sign without one",
                       "write the formula like income ~ county + age + county:age")  # fmt: skip
    name = tokens[0][1:]
    if name not in data.names:
        raise _mistake(f"variables among {quoted_list(data.names)}",
                       f"{quoted(name)}{nearest(name, data.names)}",
                       "use names of the data's variables")  # fmt: skip
    return name


def _response(tokens: list[str], data: Microdata) -> tuple[str, str | None]:
    if "==" not in tokens:
        return _variable(tokens, data), None
    place = tokens.index("==")
    name = _variable(tokens[:place], data)
    level = tokens[place + 1][1:] if len(tokens) == place + 2 else ""
    if level not in data.variable(name).levels:
        raise _mistake(f"a level of {quoted(name)} after ==", "something else",
                       "write the level as it stands in the data")  # fmt: skip
    return name, level


def _mistake(expected: str, came: str, do: str) -> SettingError:
    return SettingError(expected=expected, came=came, do=do)


def make_design(
    data: Microdata, formula: Formula, reference: Mapping[str, str] | str | None = None
) -> Design:
    """Give every level of every term a column, except the reference levels.

    Parameters
    ----------
    data : Microdata
        For the levels.
    formula : Formula
        From `read_formula`.
    reference : mapping of str to str, or "largest", optional
        Reference level by variable; the first level that occurs in the data when left out.

    Returns
    -------
    Design
    """
    if isinstance(reference, str):
        if reference != LARGEST:
            raise _mistake("reference levels by variable, or the word largest", "another word",
                           'write reference={"county": "..."} or reference="largest"')  # fmt: skip
        reference = {name: _largest_level(data, name) for name in formula.names}
    chosen = dict(reference or {})
    for name in chosen:
        if name not in formula.names:
            raise _mistake("reference levels of variables on the right of the formula",
                           quoted(name), f"name some of {quoted_list(formula.names)}")  # fmt: skip
    places, labels = {}, {}
    for name in formula.names:
        levels = data.variable(name).levels
        base = _reference_code(data, name, chosen.get(name))
        table = np.arange(len(levels)) - (np.arange(len(levels)) > base)
        table[base] = -1
        places[name] = table
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
    return Design(formula, tuple(columns), tuple(terms), tuple(widths), block, places)


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
        place = data.names.index(name)
        return int(data.combinations[:, place].min())
    if level not in levels:
        raise _mistake(f"a reference level of {quoted(name)} that it has", "another",
                       "write the level as it stands in the data")  # fmt: skip
    return levels.index(level)
