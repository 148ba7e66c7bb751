"""Impossible combinations (structural zeros): no record may have one, given or drawn.

Rules of the codebook are boxes: sets of levels of some variables. They are cut into disjoint boxes,
so that volumes add up: a level is impossible beside others when boxes fill all that could follow.

A missing value that is modelled, a hole, is no level of a rule. A record with holes is possible
when some values of them are: `possible_completions` gives them as disjoint boxes too.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.errors import LevelError, SettingError, quoted
from understudy.microdata.label_table import split_labels
from understudy.microdata.table import Microdata
from understudy.summaries import counted

__all__ = [
    "Completions",
    "breaks_rules",
    "check_impossible",
    "disjoint_boxes",
    "fitting",
    "hole_codes",
    "impossible_labels",
    "outside_boxes",
    "possible_completions",
    "possible_levels",
    "rule_boxes",
]

MOST_BOXES = 2_000

Box = NDArray[np.bool_]  # (level,) levels of all variables that are inside


class Completions(NamedTuple):
    """What the holes of rows may be. Rows of kind 0 may have any values in their holes."""

    kinds: NDArray[np.int64]  # (row,)
    kind_of_box: NDArray[np.int64]  # (box,)
    boxes: NDArray[np.bool_]  # (box, level) disjoint; all levels of what a box does not restrict


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


def possible_levels(
    data: Microdata, names: Sequence[str], label: str, codes: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Tell which levels of a synthesized variable are possible beside levels of other variables.

    A level is possible when the synthesized variables that are not named can have levels with which
    the record breaks no rule.

    Parameters
    ----------
    data : Microdata
        Its rules and levels.
    names : sequence of str
        Other variables: all kept ones that have several levels and are in a rule, and some
        synthesized ones.
    label : str
        The variable.
    codes : int32 (row, variable)
        Levels of `names`.

    Returns
    -------
    kinds : int64 (row,)
        Rows of the same kind have the same possible levels.
    possible : bool (kind, level)
        Levels of `label`.
    """
    later = [name for name in data.synthesized if name not in names and name != label]
    sizes = [data.variable(name).n_levels for name in (*names, label, *later)]
    start = np.cumsum([0, *sizes])
    boxes = rule_boxes(data, (*names, label, *later), start)
    if boxes.shape[0] == 0:
        none = np.zeros(codes.shape[0], dtype=np.int64)
        return none, np.ones((1, sizes[len(names)]), dtype=bool)
    fits = np.ones((codes.shape[0], boxes.shape[0]), dtype=bool)  # (row, box)
    for column in range(len(names)):
        fits &= boxes[:, start[column] + codes[:, column]].T
    together, kinds = np.unique(fits, axis=0, return_inverse=True)  # (kind, box), (row,)
    parts = list(itertools.pairwise(start))
    own = slice(*parts[len(names)])
    filled = [
        prod(int(box[low:high].sum()) for low, high in parts[len(names) + 1 :]) for box in boxes
    ]  # (box,) of what may follow: Python integers, which do not overflow
    whole = prod(sizes[len(names) + 1 :])
    possible = np.empty((together.shape[0], sizes[len(names)]), dtype=bool)  # (kind, level)
    for kind, there in enumerate(together):
        inside = boxes[there][:, own]  # (box, level)
        volumes = np.array([0, *itertools.compress(filled, there)], dtype=object)[1:]
        possible[kind] = [sum(volumes[of_level]) < whole for of_level in inside.T]
    return kinds.ravel().astype(np.int64), possible


def rule_boxes(
    data: Microdata, names: Sequence[str], level_start: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Turn the codebook's rules into disjoint boxes of the named variables: bool (box, level).

    `level_start` holds the number of each variable's first level. A box has all levels of a
    variable that it does not restrict, and no hole of one that it does.
    """
    present, start = _present(data, names, level_start)
    boxes = [_box(data, rule, names, start) for rule in data.impossible]
    disjoint = disjoint_boxes([box for box in boxes if box is not None], start)
    return _with_holes(disjoint, present, level_start)


def _present(
    data: Microdata, names: Sequence[str], level_start: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Tell which levels are no holes, bool (level,), and number them: int64 (variable + 1,)."""
    present = np.ones(level_start[-1], dtype=bool)  # (level,)
    for variable, hole in enumerate(hole_codes(data, names)):
        if hole >= 0:
            present[level_start[variable] + hole] = False
    sizes = [int(present[low:high].sum()) for low, high in itertools.pairwise(level_start)]
    return present, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _with_holes(
    boxes: NDArray[np.bool_], present: NDArray[np.bool_], level_start: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Give boxes of present levels those of holes too: inside where nothing is restricted."""
    whole = np.ones((boxes.shape[0], present.size), dtype=bool)  # (box, level)
    whole[:, present] = boxes
    for first, last in itertools.pairwise(level_start):
        if not present[last - 1]:
            whole[:, last - 1] = whole[:, first : last - 1].all(axis=1)
    return whole


def hole_codes(data: Microdata, names: Sequence[str]) -> NDArray[np.int64]:
    """Give the code of each variable's hole, -1 for none: int64 (variable,)."""
    variables = [data.variable(name) for name in names]
    return np.array([own.n_levels - 1 if own.has_holes else -1 for own in variables], np.int64)


def fitting(
    boxes: NDArray[np.bool_],
    level_start: NDArray[np.int64],
    codes: NDArray[np.int32],
    holes: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Tell which boxes a row could be in, whatever its holes are: bool (row, box).

    `codes` int32 (row, variable) are those of the first variables, `holes` int64 (variable,).
    """
    fits = np.ones((codes.shape[0], boxes.shape[0]), dtype=bool)  # (row, box)
    for variable, column in enumerate(codes.T):
        inside = boxes[:, level_start[variable] + column].T  # (row, box)
        fits &= inside | (column == holes[variable])[:, None]
    return fits


def outside_boxes(
    data: Microdata,
    names: Sequence[str],
    boxes: NDArray[np.bool_],
    free: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Cut boxes out of all values of the free variables: disjoint boxes bool (box, level).

    `boxes` bool (box, level) are disjoint, `free` bool (variable,). All levels of the other
    variables are inside.
    """
    level_start = np.cumsum([0, *(data.variable(name).n_levels for name in names)])
    present, start = _present(data, names, level_start)
    parts = [slice(*start[number : number + 2]) for number in np.flatnonzero(free)]
    pieces = [np.ones(int(start[-1]), dtype=bool)]
    for box in boxes[:, present]:
        pieces = [left for piece in pieces for left in _without(piece, box, parts)]
        _check_number(len(pieces))
    whole = np.array(pieces, dtype=bool).reshape(len(pieces), int(start[-1]))
    return _with_holes(whole, present, level_start)


def possible_completions(
    data: Microdata, names: Sequence[str], codes: NDArray[np.int32]
) -> Completions:
    """Give the values of holes with which a row of codes breaks no rule, as disjoint boxes.

    Rows without holes are of kind 0.
    """
    level_start = np.cumsum([0, *(data.variable(name).n_levels for name in names)])
    boxes = rule_boxes(data, names, level_start)
    holes = hole_codes(data, names)  # (variable,)
    missing = codes == holes  # (row, variable)
    rows = np.flatnonzero(missing.any(axis=1))
    fits = fitting(boxes, level_start, codes[rows], holes)  # (row with a hole, box)
    rows, fits = rows[fits.any(axis=1)], fits[fits.any(axis=1)]
    told = np.hstack([fits, missing[rows]])  # (row, box or variable)
    distinct, of_row = np.unique(told, axis=0, return_inverse=True)
    kinds = np.zeros(codes.shape[0], dtype=np.int64)  # (row,)
    kinds[rows] = of_row.ravel() + 1
    per_kind = [np.ones((1, int(level_start[-1])), dtype=bool)]
    for kind in distinct:
        there, free = kind[: boxes.shape[0]], kind[boxes.shape[0] :]
        per_kind.append(outside_boxes(data, names, boxes[there], free))
    sizes = [of_kind.shape[0] for of_kind in per_kind]
    return Completions(kinds, np.repeat(np.arange(len(sizes)), sizes), np.vstack(per_kind))


def _box(
    data: Microdata,
    rule: Mapping[str, tuple[str, ...]],
    names: Sequence[str],
    level_start: NDArray[np.int64],
) -> Box | None:
    """Make the box of a rule; None where a variable outside of the model never fits the rule."""
    inside = np.ones(level_start[-1], dtype=bool)  # (level,)
    for name, levels in rule.items():
        own = data.variable(name)
        known = own.present_levels if own.has_holes else own.levels
        present = np.isin(known, levels)  # (level of the variable,)
        if name in names:
            variable = names.index(name)
            inside[level_start[variable] : level_start[variable + 1]] = present
        elif not present.all():
            return None  # its one level is not in the rule
    return inside


def disjoint_boxes(boxes: Sequence[Box], level_start: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Cut boxes into disjoint ones that cover the same combinations: bool (box, level)."""
    parts = [slice(*edges) for edges in itertools.pairwise(level_start)]
    disjoint: list[Box] = []
    for box in boxes:
        pieces = [box]
        for other in disjoint:
            pieces = [left for piece in pieces for left in _without(piece, other, parts)]
        disjoint += pieces
        _check_number(len(disjoint))
    return np.array(disjoint, dtype=bool).reshape(len(disjoint), int(level_start[-1]))


def _check_number(n_boxes: int) -> None:
    if n_boxes > MOST_BOXES:
        raise SettingError(
            expected=f"rules that are at most {MOST_BOXES:,} boxes that do not overlap",
            came="rules that overlap in too many ways",
            do="write fewer rules with more levels each, or rules that do not overlap",
        )


def _without(box: Box, other: Box, parts: Sequence[slice]) -> list[Box]:
    """Cut the part of a box that lies in another one out of it, variable by variable."""
    if not all((box[part] & other[part]).any() for part in parts):
        return [box]
    pieces, rest = [], box.copy()
    for part in parts:
        outside = rest[part] & ~other[part]
        if outside.any():
            piece = rest.copy()
            piece[part] = outside
            pieces.append(piece)
            rest[part] &= other[part]
    return pieces


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
        n_broken = int(data.counts[hit].sum())
        raise LevelError(
            expected="no record with a combination that the codebook calls impossible",
            came=f"{counted(n_broken, 'record')} that break{'s' * (n_broken == 1)} rule number "
            f"{', '.join(map(str, numbers[:12]))} of the codebook",
            do="correct the records, or the rule",
        )
    _check_holes(data)


def _check_holes(data: Microdata) -> None:
    """Refuse a record whose missing values could only be impossible."""
    if not data.with_holes:
        return
    kinds, kind_of_box, _ = possible_completions(data, data.names, data.combinations)
    hit = ~np.isin(kinds, kind_of_box)  # (combination,)
    if hit.any():
        raise LevelError(
            expected="records whose missing values can be filled without breaking a rule of the "
            "codebook",
            came=f"{counted(int(data.counts[hit].sum()), 'record')} with missing values of which "
            "every filling is impossible",
            do="correct the records, or the rules",
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
            own = data.variable(name)
            known = own.present_levels if own.has_holes else own.levels
            unknown = sum(level not in known for level in levels)
            if unknown:
                raise SettingError(
                    expected=f"levels of {quoted(name)} in rule number {number}",
                    came=f"{unknown} that the data and the codebook do not have",
                    do="correct the spelling, or declare the levels in the codebook",
                )
