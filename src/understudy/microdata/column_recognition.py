"""What a column seems to hold, and the part to give it: identifiers, dates, free text, numbers.

Each of these has one line of advice and one option that follows it. The names of columns and the
form of their values are looked at; no value is shown.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.errors import visible
from understudy.microdata.coding import CodedColumn
from understudy.microdata.levels import looks_continuous

__all__ = ["Holds", "Part", "Suggestion", "missing_words", "recognize", "suggest"]

Holds = Literal[
    "dates",
    "decimal numbers",
    "free text",
    "identifier",
    "many levels",
    "no values",
    "repeating identifier",
    "replicate weights",
    "survey weights",
    "whole numbers",
]
Part = Literal["ignore", "bins", "weight"]

FEWEST_FOR_IDS = 10  # with fewer records, a column in which all values differ says nothing
MOST_DATES = 12  # different dates that may be categories: the waves of a survey
MOST_NUMBERS = 20  # different whole numbers that may be codes
MANY_LEVELS = 1000
LONG_TEXT = 20  # characters of a value, on average, beyond which words are free text
FEWEST_GROUPS = 50  # values of an identifier that repeats
LARGEST_GROUP = 30  # records that one value of it may have, and on average:
MEAN_GROUP = 12
MISSING_WORDS = (
    "NA",
    "N/A",
    "n/a",
    "NaN",
    "nan",
    "NULL",
    "null",
    "None",
    "missing",
    "Missing",
    ".",
)

_WEIGHT_NAME = re.compile(
    r"(^|_)(final|finl|person|house)?_?(weight|wgt|wt|wgts|wts)\d*(_|$)", re.I
)
_REPLICATE_NAME = re.compile(
    r"(rw|brr|bsw|btw|jkw|(rep|brr|jk|bs)_?(weight|wgt|wt|w)s?|(weight|wgt|wt|w)_?(rep|brr|jk|bs))"
    r"_?\d+|p?wgtp\d+",
    re.I,
)
_ID_NAME = re.compile(
    r"(^|[_. ])(id|ids|uid|guid|key|serial|case|caseid|hh|hhid|household|family|fam|subject|subj|"
    r"person|pid|respondent|school|firm|cluster)(no|nr|num|number|id)?\d*$",
    re.I,
)
_ID_ENDING = re.compile(r"[a-z](ID|Id)$|(id|no|nr)$")
_MONTH = (
    r"(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|"
    r"oct(ober)?|nov(ember)?|dec(ember)?)\.?"
)
_DAYS = (
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}",
    r"\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}",
    r"(19|20)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])",
    r"(19|20)\d\d[-/](0?[1-9]|1[0-2])",
    rf"\d{{1,2}}[ .-]*{_MONTH}[ ,.-]*\d{{2,4}}",
    rf"{_MONTH}[ .-]*(\d{{1,2}}(st|nd|rd|th)?,?[ -]+)?\d{{4}}",
)
_DATE = re.compile(
    rf"\s*(({'|'.join(_DAYS)})([ T]\d{{1,2}}:\d{{2}}.*)?|"
    r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?)\s*",
    re.I,
)
_WHOLE = re.compile(r"\s*[+-]?\d+\s*")


@dataclass(frozen=True)
class Suggestion:
    """What a column seems to hold, and what to do with it.

    Attributes
    ----------
    holds : str
        In words, such as "dates".
    advice : str
        One line: what that means, and what to do.
    part : {"ignore", "bins", "weight"}
        The part to give it.
    option : str
        The option of `understudy check` and `understudy init` that does so.
    """

    holds: Holds
    advice: str
    part: Part
    option: str

    @property
    def left_out(self) -> str:
        """Say why the column is left out, and how it could stay."""
        reason = self.advice.partition(": ")[0]
        stays = {"bins": "in groups it can stay", "weight": "utility and risk may use it"}
        how = stays.get(self.part)
        return reason if how is None else f"{reason}; {how} ({self.option})"


def recognize(
    column: CodedColumn, observed: Sequence[str], counts: NDArray[np.int64]
) -> Suggestion | None:
    """Say what a column seems to hold where it is no column of categories, or None.

    `observed` are its values that are not missing, in order of their first record, with the records
    of each.
    """
    n_records, n_values = int(counts.sum()), len(observed)
    name = column.name
    if not n_values:
        return suggest("no values", name)
    whole = column.kind == "integer" or all(map(_WHOLE.fullmatch, observed))
    real = column.kind == "real" or looks_continuous(observed)
    tests: tuple[tuple[Holds, bool], ...] = (
        (
            "replicate weights",
            n_values > MOST_NUMBERS
            and bool(_REPLICATE_NAME.fullmatch(name))
            and all(map(_is_number, observed)),
        ),
        ("survey weights", bool(_WEIGHT_NAME.search(name)) and all(map(_is_number, observed))),
        ("dates", n_values > MOST_DATES and all(map(_DATE.fullmatch, observed))),
        ("decimal numbers", real),
        ("free text", _is_free_text(observed, n_records)),
        ("identifier", n_values == n_records >= FEWEST_FOR_IDS),
        ("repeating identifier", _repeats(name, observed, counts, whole=whole)),
        ("whole numbers", whole and n_values > MOST_NUMBERS),
        ("many levels", _too_many(n_values, n_records)),
    )
    holds = next((what for what, holds in tests if holds), None)
    numbers = f"{n_values:,} values of {n_records:,} records"
    return None if holds is None else suggest(holds, name, numbers)


ADVICE: dict[Holds, tuple[Part, str]] = {
    "survey weights": (
        "weight",
        "looks like survey weights, which the models do not use: pass_through releases it; utility "
        "and population risk use it if it is named as the weight",
    ),
    "replicate weights": (
        "ignore",
        "looks like one of several replicate weights, which the models do not use: ignore it; with "
        "the survey weight, all of them together may be named in a plan (design, replicates)",
    ),
    "dates": (
        "ignore",
        "dates: ignore it, or turn it into years or age groups in the source; pass_through "
        "releases it",
    ),
    "decimal numbers": (
        "bins",
        "decimal numbers: bin them by quartiles or cut points, or ignore it; pass_through "
        "releases it",
    ),
    "free text": ("ignore", "free text, which may name people: ignore it"),
    "no values": ("ignore", "no record has a value: ignore it"),
    "identifier": (
        "ignore",
        "every record has its own value, as in an identifier: ignore it, or bin its numbers",
    ),
    "repeating identifier": (
        "ignore",
        "an identifier that repeats ({}), as of households: ignore it; clusters are not modelled, "
        "labels of their members are drawn one by one",
    ),
    "whole numbers": (
        "bins",
        "many whole numbers: if it is a quantity, such as an age, bin it; if they are codes, leave "
        "it",
    ),
    "many levels": (
        "ignore",
        "very many levels for a kept variable: group them in the source, or ignore it",
    ),
}


def suggest(holds: Holds, name: str, numbers: str = "") -> Suggestion:
    """Make the suggestion for a column that holds something; `numbers` says how much of it."""
    part, advice = ADVICE[holds]
    value = f"{name}=quartiles" if part == "bins" else name
    if part == "ignore" and ("," in name or name.startswith('"')):  # as in a list of names
        value = '"' + name.replace('"', '""') + '"'
    option = f"--{part} {_shell_word(value)}"
    return Suggestion(holds, f"{advice.format(numbers)} ({option})", part, option)


def _shell_word(text: str) -> str:
    """Write a text so that a shell takes it as one word, with escapes for what cannot be seen."""
    if re.fullmatch(r"[\w=.-]+", text):
        return text
    if not text.isprintable():
        signs = text.replace("\\", "\\\\").replace("'", "\\'")
        return f"$'{''.join(map(visible, signs))}'"
    return shlex.quote(text) if set('"$`\\!') & set(text) else f'"{text}"'


def _too_many(n_values: int, n_records: int) -> bool:
    """Tell whether levels are too many to be kept: very many, or of a few records each."""
    return n_values > MANY_LEVELS or (n_values > MANY_LEVELS / 10 and 5 * n_values > n_records)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_free_text(observed: Sequence[str], n_records: int) -> bool:
    """Tell whether values are sentences: long, of several words, and mostly a record's own."""
    if 2 * len(observed) < n_records or n_records < FEWEST_FOR_IDS:
        return False
    words = sum(text.count(" ") >= 2 for text in observed)
    return sum(map(len, observed)) > LONG_TEXT * len(observed) and 2 * words > len(observed)


def _repeats(name: str, observed: Sequence[str], counts: NDArray[np.int64], *, whole: bool) -> bool:
    """Tell whether a column looks like an identifier of small groups of records.

    Its values are many, each has a few records, and either the name says so, or the values are
    codes of letters and digits, or whole numbers that rise from record to record.
    """
    n_records, n_values = int(counts.sum()), len(observed)
    few = counts.max() <= LARGEST_GROUP and n_records <= MEAN_GROUP * n_values
    if n_values < FEWEST_GROUPS or not few or n_values == n_records:
        return False
    if _ID_NAME.search(name) or _ID_ENDING.search(name):
        return True
    if not whole:
        return all(re.fullmatch(r"[A-Za-z]{0,3}[-_]?\d{3,}", text) for text in observed)
    numbers = [int(text) for text in observed]
    return all(later > earlier for earlier, later in itertools.pairwise(numbers))


def missing_words(observed: Sequence[str]) -> tuple[str, ...]:
    """List texts among the values that usually mean missing."""
    there = set(observed)
    return tuple(word for word in MISSING_WORDS if word in there)
