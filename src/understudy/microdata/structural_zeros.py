"""Impossible combinations (structural zeros): no record may have one, given or drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.errors import LevelError, SettingError, quoted
from understudy.microdata.label_table import split_labels
from understudy.microdata.table import Microdata

__all__ = ["breaks_rules", "check_impossible", "impossible_labels"]


def breaks_rules(
    data: Microdata, codes: NDArray[np.int32], rules: Sequence[Mapping[str, tuple[str, ...]]]
) -> NDArray[np.int32]:
    """Find the first rule that each row of codes (row, variable) breaks: int32 (row,), -1 for none.

    A rule holds levels that cannot occur together, by variable.
    """
    broken = np.full(codes.shape[0], -1, dtype=np.int32)
    for number, rule in reversed(list(enumerate(rules))):
        broken[_hit(data, data.names, codes, rule)] = number
    return broken


def impossible_labels(data: Microdata) -> NDArray[np.bool_]:
    """Tell which combined labels are impossible in which pattern: bool (pattern, label)."""
    codes = split_labels(data, np.arange(data.n_labels))  # (label, synthesized variable)
    broken = np.zeros((len(data.patterns), data.n_labels), dtype=bool)
    for rule in data.impossible:
        pattern = _hit(data, data.kept, data.patterns.codes, rule)
        broken[np.ix_(pattern, _hit(data, data.synthesized, codes, rule))] = True
    return broken


def _hit(
    data: Microdata,
    names: Sequence[str],
    codes: NDArray[np.int32],
    rule: Mapping[str, tuple[str, ...]],
) -> NDArray[np.bool_]:
    """Tell which rows of codes (row, variable) have levels of the rule in all of its variables."""
    hit = np.ones(codes.shape[0], dtype=bool)
    for column, name in enumerate(names):
        if name in rule:
            hit &= np.isin(data.variable(name).levels, rule[name])[codes[:, column]]
    return hit


def check_impossible(data: Microdata) -> None:
    """Refuse data with a record that the codebook calls impossible."""
    if not data.impossible:
        return
    _check_rules(data)
    broken = breaks_rules(data, data.combinations, data.impossible)
    hit = broken >= 0
    if hit.all():
        raise SettingError(
            expected="rules for impossible combinations that leave some combination possible",
            came="rules that every record breaks",
            do="read the rules again: a record is impossible when it has all levels of one rule",
        )
    if hit.any():
        numbers = sorted({int(number) + 1 for number in broken[hit]})
        raise LevelError(
            expected="no record with a combination that the codebook calls impossible",
            came=f"{int(data.counts[hit].sum()):,} records that break rule number "
            f"{', '.join(map(str, numbers[:12]))} of the codebook",
            do="correct the records, or the rule",
        )


def _check_rules(data: Microdata) -> None:
    for number, rule in enumerate(data.impossible, start=1):
        for name, levels in rule.items():
            if name not in data.names:
                raise SettingError(
                    expected="rules about columns that are kept or synthesized",
                    came=f"rule number {number} about {quoted(name)}",
                    do="keep that column, or remove the rule",
                )
            unknown = sum(level not in data.variable(name).levels for level in levels)
            if unknown:
                raise SettingError(
                    expected=f"levels of {quoted(name)} in rule number {number}",
                    came=f"{unknown} that the data and the codebook do not have",
                    do="correct the spelling, or declare the levels in the codebook",
                )
