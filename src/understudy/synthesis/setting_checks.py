"""Checks of single settings, so that every synthesizer refuses a bad one in the same words."""

from __future__ import annotations

import math

import numpy as np

from understudy.errors import SettingError, quoted, quoted_list

__all__ = ["check_one_of", "check_positive", "check_shape_and_rate", "check_whole"]


def check_whole(name: str, value: object, least: int) -> None:
    """Refuse anything but a whole number of at least `least`."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or int(value) < least:  # type: ignore[call-overload]
        raise SettingError(
            expected=f"{name} as a whole number of at least {least}",
            came=f"{int(value):,}" if whole else f"a value of type {type(value).__name__}",  # type: ignore[call-overload]
            do=f"give a larger {name}" if whole else f"give a whole number as {name}",
        )


def check_positive(name: str, value: object) -> None:
    """Refuse anything but a finite number above zero."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0.0 < float(value) < math.inf:  # type: ignore[arg-type]
        raise SettingError(
            expected=f"{name} made of numbers above zero",
            came="a number that is zero, negative, infinite or none at all"
            if number
            else f"a value of type {type(value).__name__}",
            do="give numbers above zero",
        )


def check_one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse anything but one of these names."""
    if value not in allowed:
        raise SettingError(
            expected=f"{name} as one of {quoted_list(allowed)}",
            came=f"{quoted(value)}",
            do="use a name from the list",
        )


def check_shape_and_rate(name: str, value: object, example: str) -> tuple[float, float]:
    """Check the two numbers of a gamma prior, and give them as such."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise SettingError(
            expected=f"{name} as two numbers, shape and rate",
            came="something else",
            do=f"give for example {name}={example}",
        )
    for number in value:
        check_positive(name, number)
    return float(value[0]), float(value[1])
