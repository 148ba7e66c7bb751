"""Checks of settings that several measures of this room share."""

from __future__ import annotations

from understudy.errors import SettingError

__all__ = ["check_level", "check_repeats", "check_rule"]

RULES = ("partial", "full")


def check_repeats(repeats: object) -> int:
    """Check how often the perfect synthesizer is to be simulated."""
    if isinstance(repeats, int) and not isinstance(repeats, bool) and repeats >= 1:
        return repeats
    raise SettingError(
        expected="repeats, a whole number from 1 on",
        came=f"a value of type {type(repeats).__name__}"
        if not isinstance(repeats, int) or isinstance(repeats, bool)
        else str(repeats),
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
