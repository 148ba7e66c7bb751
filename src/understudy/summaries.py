"""What a reader sees of a measure: its spread over sets, numbers, names and plain tables as text.

A number has no more digits than its error allows. Names and levels come from confidential files
and may hold anything: marks that turn the reading direction, line breaks, three hundred
characters. They are made visible and short here; escaping for HTML is left to the pages.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.errors import visible

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "LARGEST_RARE",
    "UNDEFINED",
    "Spread",
    "aligned",
    "counted",
    "estimate_number",
    "frequencies",
    "number",
    "one_in",
    "percent",
    "percent_exact",
    "position_text",
    "rhat_number",
    "short",
    "shown",
    "spread_frame",
    "spread_of",
    "text_table",
    "whole",
]

UNDEFINED = "undefined"
DIGITS = 3
MOST_DECIMALS = 5
MOST_PEOPLE = 1_000_000  # a smaller share is only called smaller
FEW = 10  # people, of whom tenths are shown: their share has two digits, too
LARGEST_RARE = 0.1  # share up to which it is written as 1 in so many


@dataclass(frozen=True)
class Spread:
    """One measure over several synthetic sets, repeats or draws.

    Attributes
    ----------
    mean, minimum, maximum : float or None
        Over the sets where the measure is defined; None where it is defined in none.
    standard_error : float or None
        Of the mean; None with fewer than two sets.
    files : int
        In how many sets the measure is defined: what the mean is taken over.
    """

    mean: float | None
    minimum: float | None
    maximum: float | None
    standard_error: float | None
    files: int


def spread_of(values: Iterable[float | None]) -> Spread:
    """Summarize one measure; None means "undefined in this set" and is left out."""
    defined = [float(value) for value in values if value is not None]
    files = len(defined)
    if files == 0:
        return Spread(None, None, None, None, 0)
    mean = math.fsum(defined) / files
    error = None
    if files > 1:
        squares = math.fsum((value - mean) ** 2 for value in defined)
        error = math.sqrt(squares / (files - 1) / files)
    return Spread(mean, min(defined), max(defined), error, files)


def spread_frame(spreads: Mapping[str, Spread]) -> pl.DataFrame:
    """Put several measures into a frame, one row each; null where a value is undefined."""
    import polars as pl

    values = ("mean", "minimum", "maximum", "standard_error")
    columns = {
        name: [getattr(spread, name) for spread in spreads.values()] for name in (*values, "files")
    }
    return pl.DataFrame(
        {"measure": list(spreads), **columns}, schema_overrides=dict.fromkeys(values, pl.Float64)
    )


def rhat_number(value: float | None) -> str:
    """Write an R-hat: always to three decimals, the size of what is judged about it."""
    return UNDEFINED if value is None else f"{value:.3f}"


def number(
    value: float | None,
    error: float | None = None,
    digits: int = DIGITS,
    missing: str = UNDEFINED,
    most_decimals: int = MOST_DECIMALS,
) -> str:
    """Write a number with the digits that its standard error allows.

    Two digits of the error are the last two of the number; without one it has so many significant
    `digits`. None and NaN are undefined, and written as `missing`. Numbers too small for the
    decimals are only called smaller: ``< 0.00001``.
    """
    if value is None or math.isnan(value):
        return missing
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if error is not None and error > 0:
        decimals = 1 - math.floor(math.log10(error))
    elif float(value).is_integer():
        decimals = 0
    else:
        decimals = digits - 1 - math.floor(math.log10(abs(value)))
    decimals = min(max(decimals, 0), most_decimals)
    text = f"{value:,.{decimals}f}"
    if value != 0 and float(text.replace(",", "")) == 0:
        least = f"{10.0**-decimals:.{decimals}f}"
        return f"< {least}" if value > 0 else f"> −{least}"
    return text.replace("-", "−")


def estimate_number(value: float | None) -> str:
    """Write an estimate, which may be of any size, with four significant digits."""
    return number(value, digits=4, most_decimals=12)


def percent(share: float | None) -> str:
    """Write a share as a percentage, with two significant digits below ten per cent."""
    if share is None:
        return UNDEFINED
    hundred = 100 * share
    if hundred == 0:
        return "0 %"
    if abs(hundred) < 0.01:
        return "< 0.01 %"
    return f"{hundred:.0f} %" if abs(hundred) >= 9.95 else f"{hundred:.2g} %"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Write how many there are of something: 1 record, 2 records."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def percent_exact(share: float) -> str:
    """Write a large share as a percentage with one decimal."""
    return f"{100 * share:.1f} %"


def one_in(rate: float | None) -> str:
    """Write a small share as people say it: 1 in 4,500; a large one as a percentage."""
    if rate is None:
        return UNDEFINED
    if rate <= 0:
        return "none"
    if rate > LARGEST_RARE:
        return percent(rate)
    people = 1 / rate
    if people > MOST_PEOPLE:
        return f"< 1 in {MOST_PEOPLE:,}"
    digits = 10 ** max(0, math.floor(math.log10(people)) - 1)
    return f"1 in {round(people / digits) * digits:,.0f}"


def whole(number: float) -> str:
    """Write a whole number with commas."""
    return f"{number:,.0f}"


def frequencies(right: float, without: float, n_records: int, *, found: bool = False) -> str:
    """Say how often an attack is right, and how often without the person's own record.

    `found` tells whether it finds people, or else guesses labels.
    """
    share = percent(right / n_records if n_records else None)
    return (
        f"{_people(right)} of {whole(n_records)} {'people found' if found else 'right'}, {share}; "
        f"{_people(without)} without anybody's own record"
    )


def _people(expected: float) -> str:
    """Write an expected number of people: whole where there are many, else to a tenth."""
    few = expected < FEW and not float(expected).is_integer()
    return f"{expected:.1f}" if few else whole(expected)


def position_text(position: float) -> str:
    """Write a position to two decimals, with a real minus."""
    return f"{round(position, 2) + 0.0:.2f}".replace("-", "−")


def shown(text: object) -> str:
    """Make everything in a text visible: control characters and direction marks as escapes."""
    return "".join(visible(character) for character in str(text))


def short(text: object, longest: int = 24) -> str:
    """Make a text visible, and cut it after some characters."""
    whole_text = shown(text)
    return whole_text if len(whole_text) <= longest else whole_text[: longest - 1] + "…"


def text_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Set a plain table under its title: first column to the left, the others to the right."""
    return "\n".join([title, *(f"  {line}".rstrip() for line in aligned([header, *rows]))])


def aligned(lines: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Set lines of cells in columns, the first ones flush left and the others flush right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if column < left else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
