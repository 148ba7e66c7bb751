"""All checks of plain arguments, so that every function refuses a bad one in the same words.

Checks that need the data themselves are in `understudy.microdata.data_arguments`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import (
    OutputError,
    SettingError,
    UnderstudyError,
    nearest,
    quoted,
    quoted_list,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "RULES",
    "as_numbers",
    "as_whole",
    "check_confidence",
    "check_number",
    "check_one_of",
    "check_path",
    "check_positive",
    "check_rule",
    "check_shape_and_rate",
    "check_texts",
    "check_whole",
    "kind_of",
]

RULES = ("partial", "full")


def kind_of(value: object) -> str:
    """Describe what came by its type, never by its value."""
    return f"a value of type {type(value).__name__}"


def as_whole(value: object) -> int | None:
    """Give a whole number, Python's or numpy's, as an int; None for anything else."""
    return None if isinstance(value, bool) or not isinstance(value, Integral) else int(value)


def as_numbers(values: Any) -> NDArray[np.float64] | None:
    """Give what the user meant as an array of numbers; None for anything else."""
    import numpy as np

    try:
        array = np.asarray(values)
        return array.astype(np.float64) if array.dtype.kind in "iufO" else None
    except (TypeError, ValueError, OverflowError):
        return None


def check_whole(
    name: str, value: object, least: int, most: int | None = None, *, do: str = ""
) -> int:
    """Refuse anything but a whole number from `least` to `most`; `do` replaces the usual advice."""
    whole = as_whole(value)
    if whole is not None and least <= whole and (most is None or whole <= most):
        return whole
    limits = f"of at least {least}" if most is None else f"from {least} to {most:,}"
    usual = f"give a whole number {limits}" if whole is None or most is not None else "give more"
    raise SettingError(
        expected=f"{name} as a whole number {limits}",
        came=kind_of(value) if whole is None else f"{whole:,}",
        do=do or usual,
    )


def check_number(name: str, value: object) -> None:
    """Refuse anything but a number."""
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
        raise SettingError(
            expected=f"{name} as a number", came=kind_of(value), do="give a number, such as 5"
        )


def check_positive(name: str, value: object) -> None:
    """Refuse anything but a finite number above zero."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not 0.0 < float(value) < math.inf:  # type: ignore[arg-type]
        raise SettingError(
            expected=f"{name} made of numbers above zero",
            came="a number that is zero, negative, infinite or not a number"
            if real
            else kind_of(value),
            do="give numbers above zero",
        )


def check_confidence(level: object) -> float:
    """Check the confidence level of intervals."""
    real = isinstance(level, Real) and not isinstance(level, bool)
    if real and 0 < level < 1:  # type: ignore[operator]
        return float(level)  # type: ignore[arg-type]
    raise SettingError(
        expected="a confidence level between 0 and 1, both excluded",
        came=f"{level}" if real else kind_of(level),
        do="give 0.95 for intervals of 95 %",
    )


def check_one_of(
    name: str, value: object, allowed: Iterable[str], do: str = "use a name from the list"
) -> str:
    """Refuse anything but one of these names; the error names the nearest."""
    listed = list(allowed)
    if isinstance(value, str) and value in listed:
        return value
    raise SettingError(
        expected=f"{name} as one of {quoted_list(listed)}",
        came=quoted(value) + nearest(value, listed) if isinstance(value, str) else kind_of(value),
        do=do,
    )


def check_rule(rule: object) -> str:
    """Check the name of a combining rule of synthetic files that show no imputations."""
    return check_one_of(
        "the combining rule",
        rule,
        RULES,
        "give partial where some variables were kept as they are, full where all are synthetic",
    )


def check_shape_and_rate(name: str, value: object, example: str) -> tuple[float, float]:
    """Check the two numbers of a gamma prior."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise SettingError(
            expected=f"{name} as two numbers, shape and rate",
            came=kind_of(value),
            do=f"give for example {name}={example}",
        )
    for number in value:
        check_positive(name, number)
    return float(value[0]), float(value[1])


def check_path(
    what: str,
    path: object,
    kind: type[UnderstudyError] = OutputError,
    do: str = "give a path as text, without NUL characters",
) -> Path:
    """Refuse anything but a path that a file or folder may have; the error is of this kind."""
    if isinstance(path, str | os.PathLike) and str(path) and "\0" not in str(path):
        return Path(path)
    raise kind(expected=what, came=f"{kind_of(path)} that is not one", do=do)


def check_texts(names: object, what: str) -> list[str]:
    """List names; a single name may come without a list."""
    if isinstance(names, str):
        return [names]
    listed = list(names) if isinstance(names, Iterable) else None
    if listed is not None and all(isinstance(name, str) for name in listed):
        return listed
    raise SettingError(
        expected=f"{what} as a list of texts",
        came=kind_of(names) if listed is None else "a list with something else in it",
        do='give for instance ["county", "age"]',
    )
