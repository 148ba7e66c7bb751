"""From the text of a formula to its response and terms."""

from __future__ import annotations

import re
from dataclasses import dataclass

from understudy.errors import SettingError, nearest, quoted, quoted_list
from understudy.microdata.table import Microdata

__all__ = ["Formula", "mistake", "read_formula"]

TOKEN = re.compile(r"\s*(?:`([^`]*)`|(==|[~+:*])|([^`~+:*=]+))")


@dataclass(frozen=True)
class Formula:
    """A formula that was read.

    Attributes
    ----------
    response : str
        The variable on the left.
    event : str or None
        The level after ``==`` on the left, which then counts as "yes".
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


def read_formula(text: str, data: Microdata) -> Formula:
    """Read ``income ~ county + age + gender``, with ``a:b`` and ``a*b`` for interactions.

    Left of ``~`` is the response, for a logistic regression perhaps with a level (``income ==
    Q4``); right of it terms joined by ``+``. Names with spaces or signs are written in backquotes.
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
            raise mistake("an interaction of variables that are in the formula themselves",
                         f"{quoted(':'.join(term))} without all of them",
                         "write a*b for a + b + a:b")  # fmt: skip
        if response in term:
            raise mistake("a response that is not also explained by itself", quoted(response),
                         "leave it out of the right side")  # fmt: skip
    unique.sort(key=len)
    return Formula(response, event, tuple(unique))


def _sides(text: str) -> tuple[list[str], list[str]]:
    tokens, offset = [], 0
    cleaned = text.rstrip() if isinstance(text, str) else ""
    while offset < len(cleaned):
        token = TOKEN.match(cleaned, offset)
        if token is None:
            raise mistake("a formula such as income ~ county + age",
                         f"a sign that does not belong there, at position {offset + 1}",
                         "put names with spaces or signs into backquotes")  # fmt: skip
        name, sign, bare = token.groups()
        tokens.append(sign if sign else "=" + (name if name is not None else bare.strip()))
        offset = token.end()
    if tokens.count("~") != 1:
        raise mistake("a formula with one ~ between response and terms",
                      f"{tokens.count('~')} of them",
                      "write it like income ~ county + age")  # fmt: skip
    middle = tokens.index("~")
    return tokens[:middle], tokens[middle + 1 :]


def _split(tokens: list[str], sign: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == sign:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _terms_of(piece: list[str], data: Microdata) -> list[tuple[str, ...]]:
    """Terms of one piece between plus signs: a name, a:b, or a*b with all that it means."""
    crossed = _split(piece, "*")
    factors = [tuple(_variable(name, data) for name in _split(part, ":")) for part in crossed]
    terms: list[tuple[str, ...]] = [()]
    for factor in factors:
        terms += [tuple(dict.fromkeys((*term, *factor))) for term in terms]
    return [tuple(sorted(term, key=data.names.index)) if len(term) > 1 else term
            for term in terms if term]  # fmt: skip


def _variable(tokens: list[str], data: Microdata) -> str:
    if len(tokens) != 1 or not tokens[0].startswith("=") or tokens[0] == "==":
        raise mistake("a variable on both sides of every sign", "a sign without one",
                      "write the formula like income ~ county + age + county:age")  # fmt: skip
    name = tokens[0][1:]
    if name not in data.names:
        raise mistake(f"variables among {quoted_list(data.names)}",
                      f"{quoted(name)}{nearest(name, data.names)}",
                      "use names of the data's variables")  # fmt: skip
    return name


def _response(tokens: list[str], data: Microdata) -> tuple[str, str | None]:
    if "==" not in tokens:
        return _variable(tokens, data), None
    middle = tokens.index("==")
    name = _variable(tokens[:middle], data)
    level = tokens[middle + 1][1:] if len(tokens) == middle + 2 else ""
    if level not in data.variable(name).levels:
        raise mistake(f"a level of {quoted(name)} after ==", "something else",
                      "write the level as it is in the data")  # fmt: skip
    return name, level


def mistake(expected: str, came: str, do: str) -> SettingError:
    """Make the error of a formula or a reference level."""
    return SettingError(expected=expected, came=came, do=do)
