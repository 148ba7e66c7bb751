"""The public side of the variables: names, levels and labels that may and can be published.

Names and levels end up in files that people open with spreadsheets, terminals and statistical
programs. A level such as ``=HYPERLINK(...)`` is a program to a spreadsheet: it is refused, or, if
the steward asks for it, written with an apostrophe before it, in the data and in the codebook.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import polars as pl

from understudy.errors import ColumnError, LevelError, SettingError, quoted
from understudy.microdata.codebook import Codebook, VariableBook
from understudy.microdata.variable import MISSING, Variable
from understudy.publishing.evidence import CodebookRecord

__all__ = [
    "Formulas",
    "check_formulas",
    "check_passed",
    "check_text",
    "public_book",
    "public_variables",
    "without_holes",
]

Formulas = Literal["refuse", "quote"]

SIGNS = {*"=+-@\t\r"}  # what a spreadsheet takes for the beginning of a formula
NUMBER = re.compile(r"[+-]?[0-9][0-9 .,]*%?")
# Marks that turn the reading direction of the text around them.
TURNING = {*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"}


def check_formulas(given: object) -> Formulas:
    """Check the choice of what to do with levels that look like formulas."""
    if given not in get_args(Formulas):
        raise SettingError(
            expected='formulas as "refuse" or "quote"',
            came=quoted(given),
            do="refuse levels that look like formulas, or put an apostrophe before them",
        )
    return given  # type: ignore[return-value]


def check_text(text: object, what: str) -> None:
    """Refuse a text for the public pages that is empty, too long, or could mislead its reader."""
    plain = isinstance(text, str) and text.strip() and len(text) <= 200
    if not plain or _unprintable(str(text)) or set(str(text)) & set("\n\r\t"):
        raise SettingError(
            expected=f"{what} as 1 to 200 characters in one line, without control characters",
            came="something else",
            do="give a plain line of text, or leave it out",
        )


def public_variables(record: CodebookRecord, formulas: Formulas) -> tuple[Variable, ...]:
    """Make the variables as they will be published, or refuse what cannot be.

    `formulas` says what to do with levels that look like formulas: "refuse" or "quote".
    """
    if not record.declared:
        raise SettingError(
            expected="a codebook that declares the levels of every published column",
            came="none: levels that come from the data tell that somebody has them",
            do="write one (understudy init drafts it), name it in the plan, run the study again",
        )
    if not record.reviewed:
        raise SettingError(
            expected="a codebook that was reviewed",
            came="a draft (reviewed = false)",
            do="let somebody who knows the survey read it, say reviewed = true, run again",
        )
    return tuple(
        _variable(own.name, own.role, own.levels, own.labels, own.description, record, formulas)
        for own in record.variables
    )


def without_holes(variables: Sequence[Variable], *, kept_too: bool) -> tuple[Variable, ...]:
    """Leave out missing as a level where missing values are modelled: all labels are drawn.

    Those of kept variables are put back, unless the files show imputed values of them.
    """
    return tuple(
        replace(variable, levels=variable.present_levels)
        if kept_too or variable.role == "synthesized"
        else variable
        for variable in variables
    )


def check_passed(frame: pl.DataFrame | None) -> None:
    """Refuse columns that pass through whose names or text cannot be published as they are."""
    for column in frame if frame is not None else ():
        _check_column_name(column.name)
        if column.dtype.is_numeric() or column.dtype.is_temporal() or column.dtype == pl.Boolean:
            continue
        texts = column.cast(pl.String).drop_nulls().unique().to_list()
        wrong = sum(_unprintable(text) or (_formula(text) and not _is_number(text))
                    for text in texts)  # fmt: skip
        if wrong:
            raise LevelError(
                expected=f"values of {quoted(column.name)}, which passes through, that can be "
                "published as they are",
                came=f"{wrong:,} that hold control characters or that a spreadsheet takes for "
                "formulas",
                do="correct the source, or do not pass the column through, and run the study again",
            )


def _is_number(text: str) -> bool:
    """Tell whether a text is a number in any of the ways in which programs write them."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _check_column_name(name: str) -> None:
    if not name.strip() or _unprintable(name) or "\n" in name or _formula(name):
        raise ColumnError(
            expected="column names that can be published as they are",
            came=f"{quoted(name)}, which is empty, holds control characters or looks like a "
            "formula",
            do="rename the column in the source, and run the study again",
        ).about(name)


def _variable(
    name: str,
    role: str,
    levels: tuple[str, ...],
    labels: Mapping[str, str],
    description: str,
    record: CodebookRecord,
    formulas: Formulas,
) -> Variable:
    _check_column_name(name)
    texts = [*labels.values(), description]
    wrong = sum(_unprintable(text) for text in [*levels, *texts])
    if wrong:
        raise LevelError(
            expected=f"levels, labels and a description of {quoted(name)} that can be published",
            came=f"{wrong:,} with control characters or marks that turn the reading direction",
            do="correct the codebook (and the source), and run the study again",
        )
    public = tuple(level if level == MISSING else _safe(level, name, formulas) for level in levels)
    if len(set(public)) != len(public):
        raise LevelError(
            expected=f"levels of {quoted(name)} that stay different with an apostrophe before them",
            came="two that become the same",
            do="rename the levels that look like formulas in the source and the codebook",
        )
    renamed = dict(zip(levels, public, strict=True))
    present = [level for level in public if level != MISSING]
    return Variable(
        name=name,
        role="kept" if role == "kept" else "synthesized",
        levels=public,
        labels={renamed[level]: text for level, text in labels.items() if level in renamed},
        description=description,
        declared=True,
        missing_code=_missing_code(record.missing, name, present),
        numeric=bool(present) and all(_whole(level) for level in present),
    )


def _whole(level: str) -> bool:
    return re.fullmatch(r"0|-?[1-9][0-9]{0,14}", level) is not None


def _missing_code(missing: Any, name: str, present: Iterable[str]) -> str:
    """Find how a missing value of this variable is written: a declared code, or nothing."""
    given = missing.get(name) if isinstance(missing, Mapping) else None
    if isinstance(given, list | tuple):
        given = given[0] if given else None
    if not isinstance(given, str) or given in present:
        return ""
    return "" if _unprintable(given) or _formula(given) else given


def _safe(level: str, name: str, formulas: Formulas) -> str:
    if not _formula(level):
        return level
    if formulas == "quote" and not _hidden_formula(level):
        return f"'{level}"
    raise LevelError(
        expected=f"levels of {quoted(name)} that a spreadsheet does not take for formulas",
        came="one that begins with =, +, -, @, a tab or a line end, or has one of them after a "
        "separator",
        do='rename it in the source and the codebook; or choose formulas="quote" (--formulas '
        "quote), which puts an apostrophe before levels that begin so",
    )


def _formula(text: str) -> bool:
    """Tell whether a spreadsheet may take a text for a formula, or a piece of it."""
    return _begins_formula(text) or _hidden_formula(text)


def _begins_formula(text: str) -> bool:
    """Tell whether a text begins like a formula; numbers do not count.

    Before the sign there may be what a spreadsheet drops or does not show: blanks, quotation marks,
    characters without a shape. Wide and small forms count as the sign itself.
    """
    start = next((at for at, letter in enumerate(text) if not _unseen(letter)), None)
    if start is None:
        return False
    sign = unicodedata.normalize("NFKC", text[start])[:1]
    return sign in SIGNS and not NUMBER.fullmatch(text[start:])


def _unseen(character: str) -> bool:
    if character in "\t\r":
        return False
    return character == '"' or character.isspace() or unicodedata.category(character) == "Cf"


def _hidden_formula(text: str) -> bool:
    """Tell whether a program that splits at other separators would find a formula inside.

    Behind ; | and a tab a new cell begins for programs of another locale: it is judged like the
    beginning. Commas, quotation marks and line ends inside a field are quoted in the files.
    """
    if any(map(_begins_formula, re.split(r"[;|\t]", text)[1:])):
        return True
    pieces = re.split(r'[,;|\t\r\n"]', text)[1:]
    return any(
        _begins_formula(piece) and re.search(r"[=@]|[+\-][^\W\d]", _plain(piece)[:2])
        for piece in pieces
    )


def _plain(text: str) -> str:
    """A text as a spreadsheet may read it: nothing unseen before it, ordinary signs."""
    start = next((at for at, letter in enumerate(text) if not _unseen(letter)), len(text))
    return unicodedata.normalize("NFKC", text[start:])


def _unprintable(text: str) -> bool:
    """Tell whether a text holds what no public file should: control characters, turning marks."""
    return any(
        character in TURNING
        or unicodedata.category(character) == "Cs"
        or (unicodedata.category(character) == "Cc" and character not in "\n\r\t")
        for character in text
    )


def public_book(record: CodebookRecord, variables: Sequence[Variable]) -> Codebook:
    """Make the codebook that goes with the files, in the form that `read_microdata` takes."""
    books = {
        variable.name: VariableBook(
            levels=variable.present_levels,
            labels=dict(variable.labels),
            missing=(variable.missing_code,) if variable.has_missing else (),
            description=variable.description,
        )
        for variable in variables
    }
    renamed = {
        public.name: dict(zip(own.levels, public.levels, strict=False))  # one may end in missing
        for own, public in zip(record.variables, variables, strict=True)
    }
    rules = [
        {
            name: tuple(renamed[name].get(level, level) for level in levels)
            for name, levels in rule.items()
        }
        for rule in record.impossible
        if set(rule) <= set(renamed)  # a rule about a column that is not published says too much
    ]
    return Codebook(reviewed=True, variables=books, impossible=tuple(rules))
