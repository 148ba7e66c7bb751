"""Coarser data: levels merged by the steps of a codebook's hierarchy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingError, quoted
from understudy.microdata.codebook import Codebook
from understudy.microdata.coding import regroup
from understudy.microdata.table import Microdata
from understudy.microdata.variable import Variable

__all__ = ["coarsened"]


def coarsened(data: Microdata, book: Codebook, steps: Mapping[str, int]) -> Microdata:
    """Merge levels of some variables.

    Parameters
    ----------
    data : Microdata
        The records.
    book : Codebook
        Has the hierarchies.
    steps : mapping of str to int
        By variable: which step of its hierarchy, from 1; 0 leaves it as it is.

    Returns
    -------
    Microdata
        The same records with fewer levels. A rule about impossible combinations stays where it
        forbids whole merged levels.
    """
    merged = {
        name: _merged(data.variable(name), book, step) for name, step in steps.items() if step
    }
    if not merged:
        return data
    codes = data.combinations.copy()  # (combination, variable)
    variables = list(data.variables)
    for name, (variable, new_code) in merged.items():
        column = data.names.index(name)
        codes[:, column] = new_code[codes[:, column]]
        variables[column] = variable
    sizes = [variable.n_levels for variable in variables]
    combinations, counts, of_record = regroup(codes, data.counts, data.of_record, sizes)
    rules = (_rule(rule, data, merged) for rule in data.impossible)
    return replace(
        data,
        variables=tuple(variables),
        combinations=combinations,
        counts=counts,
        of_record=of_record,
        impossible=tuple(rule for rule in rules if rule),
    )


Merged = tuple[Variable, NDArray[np.int32]]  # the coarser variable, and the new code of each level


def _merged(variable: Variable, book: Codebook, step: int) -> Merged:
    hierarchy = book.of(variable.name).hierarchy
    if not 1 <= step <= len(hierarchy):
        raise SettingError(
            expected=f"a step of the hierarchy of {quoted(variable.name)}, from 1 to "
            f"{len(hierarchy)}"
            if hierarchy
            else f"a hierarchy of {quoted(variable.name)} in the codebook",
            came=f"step {step}",
            do="add hierarchy = [{ name = [levels] }] to the variable's entry in the codebook",
        )
    larger = {level: name for name, levels in hierarchy[step - 1].items() for level in levels}
    if not set(larger) <= set(variable.levels):
        raise SettingError(
            expected=f"levels of {quoted(variable.name)} in step {step} of its hierarchy",
            came=f"{len(set(larger) - set(variable.levels))} that it does not have",
            do="correct the spelling in the codebook",
        )
    names = [larger.get(level, level) for level in variable.levels]
    levels = tuple(dict.fromkeys(names))
    new_code = np.array([levels.index(name) for name in names], dtype=np.int32)  # (level,)
    labels = {level: text for level, text in variable.labels.items() if level in levels}
    return replace(variable, levels=levels, labels=labels, numeric=False), new_code


def _rule(
    rule: Mapping[str, tuple[str, ...]], data: Microdata, merged: Mapping[str, Merged]
) -> dict[str, tuple[str, ...]]:
    """Write a rule in merged levels; nothing is left of one that forbids a part of one only."""
    changed = {}
    for name, forbidden in rule.items():
        if name not in merged:
            changed[name] = forbidden
            continue
        variable, new_code = merged[name]
        old = data.variable(name).levels
        whole = [
            level
            for code, level in enumerate(variable.levels)
            if all(old[index] in forbidden for index in np.flatnonzero(new_code == code))
        ]
        if not whole:
            return {}
        changed[name] = tuple(whole)
    return changed
