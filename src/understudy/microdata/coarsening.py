"""Coarser data: levels merged by the steps of a codebook's hierarchy.

A model is fitted to the levels as they are, and what files show is coarser: labels are drawn for
the fine data and merged afterwards, kept variables are shown with their larger levels. So one fit
serves every coarseness, and what is measured are the coarse files against the coarse truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingError, quoted
from understudy.microdata.codebook import Codebook
from understudy.microdata.coding import regroup
from understudy.microdata.label_table import combined_labels, split_labels
from understudy.microdata.table import Microdata
from understudy.microdata.variable import Variable

__all__ = ["Coarsening", "coarsening_of"]


@dataclass(frozen=True, repr=False, eq=False)
class Coarsening:
    """The same records twice: as a model sees them, and as files show them.

    Attributes
    ----------
    fine, coarse : Microdata
        In the same order of records.
    new_codes : mapping of str to int32 (level,)
        Of variables whose levels are merged: the code in `coarse` of each level in `fine`.
    """

    fine: Microdata
    coarse: Microdata
    new_codes: Mapping[str, NDArray[np.int32]]

    @cached_property
    def told_apart(self) -> Microdata:
        """The coarse data, with a row for every fine combination: equal rows may repeat.

        Records that files show alike may have been drawn from different distributions.
        """
        row = np.zeros(self.fine.n_combinations, dtype=np.int64)  # (fine combination,)
        row[self.fine.of_record] = self.coarse.of_record
        return replace(
            self.coarse,
            combinations=self.coarse.combinations[row],
            counts=self.fine.counts,
            of_record=self.fine.of_record,
        )

    @cached_property
    def new_label(self) -> NDArray[np.int64]:
        """The coarse label of every fine one, (fine label,)."""
        labels = np.arange(self.fine.n_labels)
        return combined_labels(self.coarse, self.merge_codes(split_labels(self.fine, labels)))

    def merge_codes(self, codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Merge drawn levels, (..., synthesized variable)."""
        merged = codes.copy()
        for axis, name in enumerate(self.fine.synthesized):
            if name in self.new_codes:
                merged[..., axis] = self.new_codes[name][codes[..., axis]]
        return merged

    def merge(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up the probabilities of the labels that are merged, (..., label)."""
        if self.fine.n_labels == self.coarse.n_labels:
            return table
        order, starts = self._grouped
        merged: NDArray[np.float64] = np.add.reduceat(table[..., order], starts, axis=-1)
        return merged

    @cached_property
    def _grouped(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Fine labels by coarse label, and where each coarse label begins; none is empty."""
        order = np.argsort(self.new_label, kind="stable")
        starts = np.searchsorted(self.new_label[order], np.arange(self.coarse.n_labels))
        return order, starts


def coarsening_of(data: Microdata, book: Codebook, steps: Mapping[str, int]) -> Coarsening | None:
    """Merge levels of some variables in what files show; None where nothing is merged.

    A step of a variable's hierarchy in the codebook counts from 1; 0 leaves it as it is. The
    records stay; a rule about impossible combinations stays where it forbids whole merged levels.
    """
    merged = {
        name: _merged(data.variable(name), book, step) for name, step in steps.items() if step
    }
    if not merged:
        return None
    codes = data.combinations.copy()  # (combination, variable)
    variables = list(data.variables)
    for name, (variable, new_code) in merged.items():
        column = data.names.index(name)
        codes[:, column] = new_code[codes[:, column]]
        variables[column] = variable
    sizes = [variable.n_levels for variable in variables]
    combinations, counts, of_record = regroup(codes, data.counts, data.of_record, sizes)
    rules = (_rule(rule, data, merged) for rule in data.impossible)
    coarse = replace(
        data,
        variables=tuple(variables),
        combinations=combinations,
        counts=counts,
        of_record=of_record,
        impossible=tuple(rule for rule in rules if rule),
    )
    return Coarsening(data, coarse, {name: new_code for name, (_, new_code) in merged.items()})


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
