"""The door of this room: whatever stands for synthetic data becomes `SyntheticSets` here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.errors import InputError, SettingError
from understudy.microdata.synthetic import read_synthetic
from understudy.microdata.table import Microdata, SyntheticSets

__all__ = ["as_sets", "check_level", "check_repeats", "check_rule"]

RULES = ("partial", "full")


def as_sets(data: Microdata, synthetic: Any) -> SyntheticSets:
    """Take synthetic sets as they come: made here, as data frames, or as files.

    Parameters
    ----------
    data : Microdata
        The confidential data.
    synthetic : SyntheticSets, frame, path, or a sequence of frames or paths
        Row i of each stands in for record i.

    Returns
    -------
    SyntheticSets
        At least one set, of these data.
    """
    if isinstance(synthetic, SyntheticSets):
        _check_same(data, synthetic)
        sets = synthetic
    elif isinstance(synthetic, str | os.PathLike) or hasattr(synthetic, "columns"):
        sets = read_synthetic(data, [synthetic])
    elif isinstance(synthetic, Sequence):
        sets = read_synthetic(data, synthetic)
    else:
        raise InputError(
            expected="synthetic sets, or a list of data frames or files",
            came=f"a value of type {type(synthetic).__name__}",
            do="give what a fit's synthesize returned, or a list with one frame or path per set",
        )
    if len(sets) == 0:
        raise InputError(
            expected="at least one synthetic set", came="none", do="give the synthetic sets"
        )
    return sets


def _check_same(data: Microdata, sets: SyntheticSets) -> None:
    other = sets.data
    if other is data:
        return
    same = other.variables == data.variables and np.array_equal(other.of_record, data.of_record)
    if not (same and np.array_equal(other.combinations, data.combinations)):
        raise InputError(
            expected="synthetic sets of the data they are compared with",
            came="sets that were made for other data, or for these data read differently",
            do="make the sets from the same Microdata, or give them as files or data frames",
        )


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
