"""Checks of settings that several measures of this room share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError, SettingError
from understudy.microdata.table import Microdata

__all__ = [
    "as_numbers",
    "as_whole",
    "check_data",
    "check_level",
    "check_repeats",
    "check_rule",
    "check_texts",
    "check_variables",
]

RULES = ("partial", "full")


def as_whole(value: object) -> int | None:
    """Give a whole number, Python's or numpy's, as an int; None for anything else."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    return None


def as_numbers(values: Any) -> NDArray[np.float64] | None:
    """Give what the user meant as an array of numbers; None where it is none."""
    try:
        array = np.asarray(values)
        return array.astype(np.float64) if array.dtype.kind in "iufO" else None
    except (TypeError, ValueError, OverflowError):
        return None


def check_data(data: object) -> Microdata:
    """Check that the confidential data came as microdata."""
    if isinstance(data, Microdata):
        return data
    raise InputError(
        expected="the confidential data as Microdata",
        came=f"a {type(data).__name__}",
        do="read files and frames with read_microdata first, and give what it returns",
    )


def check_texts(names: object, what: str) -> list[str]:
    """List names; one name may stand alone."""
    if isinstance(names, str):
        return [names]
    listed = list(names) if isinstance(names, Iterable) else None
    if listed is not None and all(isinstance(one, str) for one in listed):
        return [str(one) for one in listed]
    raise SettingError(
        expected=f"{what} as a list of texts",
        came=f"a {type(names).__name__}" if listed is None else "a list with something else in it",
        do='give for instance ["county", "age"]',
    )


def check_variables(data: Microdata, names: object) -> list[str]:
    """List variables of the data by their names, each once."""
    listed = check_texts(names, "names of variables")
    return list(dict.fromkeys(data.variable(name).name for name in listed))


def check_repeats(repeats: object, least: int = 1) -> int:
    """Check how often the perfect synthesizer is to be simulated."""
    number = as_whole(repeats)
    if number is not None and number >= least:
        return number
    raise SettingError(
        expected=f"repeats, a whole number from {least} on",
        came=f"a value of type {type(repeats).__name__}" if number is None else str(number),
        do="say how many perfect sets the noise floor is simulated from, 20 if in doubt",
    )


def check_level(level: object) -> float:
    """Check the confidence level of intervals."""
    if isinstance(level, int | float) and not isinstance(level, bool) and 0 < level < 1:
        return float(level)
    raise SettingError(
        expected="a confidence level between 0 and 1, both excluded",
        came=f"{level}" if isinstance(level, int | float) else f"a {type(level).__name__}",
        do="give 0.95 for intervals of 95 %",
    )


def check_rule(rule: object) -> str:
    """Check the name of a combining rule."""
    if isinstance(rule, str) and rule in RULES:
        return rule
    raise SettingError(
        expected="the combining rule partial or full",
        came="another name" if isinstance(rule, str) else f"a {type(rule).__name__}",
        do="give partial where some variables were kept as they are, full where all are synthetic",
    )
