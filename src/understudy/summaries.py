"""Numbers and names as a reader wants them: no more digits than the error allows, safe to show.

Names and levels come from confidential files and may hold anything: marks that turn the reading
direction, line breaks, three hundred characters. They are made visible and short here; escaping
for HTML is the page's business.
"""

from __future__ import annotations

import math

from understudy.errors import visible

__all__ = ["figure", "percent", "rhat_figure", "short", "shown", "whole"]

UNDEFINED = "undefined"
DIGITS = 3
MOST_PLACES = 5


def rhat_figure(value: float | None) -> str:
    """Write an R-hat: always to three places, the size of what is judged about it."""
    return UNDEFINED if value is None else f"{value:.3f}"


def figure(value: float | None, error: float | None = None, digits: int = DIGITS) -> str:
    """Write a number with the digits that its standard error allows.

    Parameters
    ----------
    value : float or None
        The number; None is "undefined".
    error : float, optional
        Its standard error: two digits of it are the last two of the number.
    digits : int
        Significant digits where there is no error.
    """
    if value is None:
        return UNDEFINED
    if error is not None and error > 0:
        places = 1 - math.floor(math.log10(error))
    elif value == 0 or float(value).is_integer():
        places = 0
    else:
        places = digits - 1 - math.floor(math.log10(abs(value)))
    places = min(max(places, 0), MOST_PLACES)
    text = f"{value:,.{places}f}"
    if value != 0 and float(text.replace(",", "")) == 0:
        return f"< {10.0**-places:.{places}f}" if value > 0 else f"> −{10.0**-places:.{places}f}"
    return text.replace("-", "−")


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


def whole(number: float) -> str:
    """Write a whole number with commas."""
    return f"{number:,.0f}"


def shown(text: object) -> str:
    """Make everything in a text visible: control characters and direction marks as escapes."""
    return "".join(visible(character) for character in str(text))


def short(text: object, longest: int = 24) -> str:
    """The same, cut after some characters."""
    whole_text = shown(text)
    return whole_text if len(whole_text) <= longest else whole_text[: longest - 1] + "…"
