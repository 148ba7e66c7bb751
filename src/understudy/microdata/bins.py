"""Numbers become groups with readable names: quantiles, or cut points.

A released file shows the group and never the number. Bins work on the distinct numbers of a column
and on how many records have each, so their cost does not grow with the records.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError, model_validator

from understudy.checks import kind_of
from understudy.errors import ColumnError, SettingError, nearest, quoted
from understudy.microdata.variable import MISSING
from understudy.settings import Settings

__all__ = ["Bins", "apply_bins", "as_number", "bins_from"]


class Bins(Settings):
    """How the numbers of one column become groups: `quantiles` or `cuts`, not both.

    Attributes
    ----------
    quantiles : int, optional
        Number of groups of about equal size, named Q1, Q2, ... from the smallest numbers up.
        Records with the same number are always in the same group: the one of their middle rank.
    cuts : tuple of float, optional
        Increasing cut points; a number at a cut point belongs to the group above it.
    names : tuple of str, optional
        One name per group, one more than there are cut points (as many as there are quantiles).
    """

    quantiles: int | None = None
    cuts: tuple[float, ...] | None = None
    names: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _check(self) -> Bins:
        if (self.quantiles is None) == (self.cuts is None):
            raise ValueError("give either quantiles or cuts")
        if self.quantiles is not None and not 2 <= self.quantiles <= 100:
            raise ValueError("quantiles must be a whole number from 2 to 100")
        cuts = self.cuts
        if cuts is not None:
            if not cuts or not all(math.isfinite(cut) for cut in cuts):
                raise ValueError("cuts must be at least one finite number")
            if any(later <= earlier for earlier, later in itertools.pairwise(cuts)):
                raise ValueError("cuts must increase")
        if self.names is not None:
            if len(self.names) != self.n_groups:
                raise ValueError(f"names must have {self.n_groups} entries, one per group")
            if len(set(self.names)) != len(self.names) or not all(self.names):
                raise ValueError("names must be different from each other and not empty")
            if MISSING in self.names:
                raise ValueError(f"names holds {MISSING}, which stands for missing values")
        return self

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.quantiles if self.quantiles is not None else len(self.cuts or ()) + 1

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the groups, from the smallest numbers up."""
        if self.names is not None:
            return self.names
        if self.cuts is None:
            return tuple(f"Q{group}" for group in range(1, self.n_groups + 1))
        ends = [repr(float(cut)).removesuffix(".0") for cut in self.cuts]
        dash = " to " if self.cuts[0] < 0 else "-"
        between = [f"{low}{dash}{high}" for low, high in itertools.pairwise(ends)]
        return (f"<{ends[0]}", *between, f">={ends[-1]}")

    def name_of(self, text: str | None) -> str | None:
        """Name the group of a number that is written as text; None where cuts do not settle it."""
        try:
            value = float(text) if text is not None and self.cuts is not None else math.nan
        except ValueError:
            return None
        if not math.isfinite(value):
            return None
        (group,) = self.groups(np.array([value]), np.ones(1, dtype=np.int64))
        return self.group_names[int(group)]

    def groups(self, numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.int32]:
        """Assign each distinct number to its group, from 0; quantiles are those of the records."""
        if self.cuts is not None:
            return np.searchsorted(self.cuts, numbers, side="right").astype(np.int32)
        order = np.argsort(numbers, kind="stable")
        below = np.cumsum(counts[order]) - counts[order]  # (level,) records with smaller numbers
        middle = (below + (counts[order] - 1) / 2) / max(1, counts.sum())
        groups = np.empty(numbers.size, dtype=np.int32)
        groups[order] = np.minimum(self.n_groups - 1, np.floor(middle * self.n_groups))
        return groups


def bins_from(settings: Mapping[str, Any] | None) -> dict[str, Bins]:
    """Read what the user gave as ``bins=``, by column.

    That is a `Bins`, a whole number (quantiles), a word such as ``"quartiles"``, a sequence of cut
    points, or a mapping with the fields of `Bins`.
    """
    if settings is None:
        return {}
    if not isinstance(settings, Mapping):
        raise SettingError(
            expected="bins as a mapping from column names to groups",
            came=kind_of(settings),
            do='write for instance bins={"income": "quartiles", "age": [20, 40, 60, 80]}',
        )
    return {name: _column_bins(name, given) for name, given in settings.items()}


def _column_bins(name: str, given: Any) -> Bins:
    words = {"quartiles": 4, "quintiles": 5, "deciles": 10, "terciles": 3, "median": 2}
    try:
        if isinstance(given, Bins):
            return given
        if isinstance(given, str) and given in words:
            return Bins(quantiles=words[given])
        if isinstance(given, int | np.integer) and not isinstance(given, bool):
            return Bins(quantiles=int(given))
        if isinstance(given, Mapping):
            lists = (list, tuple, np.ndarray)
            return Bins.model_validate(
                {key: tuple(value) if isinstance(value, lists) else value
                 for key, value in given.items()}
            )  # fmt: skip
        if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
            return Bins(cuts=tuple(float(cut) for cut in given))
    except ValidationError as problem:
        first = problem.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        hint = nearest(where, Bins.model_fields) if first["type"] == "extra_forbidden" else ""
        text = first["msg"].removeprefix("Value error, ")
        raise SettingError(
            expected=f"valid bins for column {quoted(name)}",
            came=f"{where + ': ' if where else ''}{text}{hint}",
            do="give quantiles (a whole number), or cuts (increasing numbers) and names",
        ) from None
    except (TypeError, ValueError):
        pass
    raise SettingError(
        expected=f"bins for column {quoted(name)} as a number of quantiles or a list of cut points",
        came=kind_of(given) + (nearest(given, words) if isinstance(given, str) else ""),
        do='write for instance "quartiles", 4, [20, 40, 60, 80] or {cuts = [...], names = [...]}',
    )


def apply_bins(
    name: str, bins: Bins, levels: Sequence[str | None], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Give each level of a column of numbers its group, int32 (level,), -1 for missing.

    Also returned are the names of the groups, from the smallest numbers up.
    """
    numbers = np.full(len(levels), np.nan)
    wrong = 0
    for index, level in enumerate(levels):
        if level is None or counts[index] == 0:
            continue
        number = as_number(level)
        if number is None:
            wrong += int(counts[index])
        else:
            numbers[index] = number
    if wrong:
        raise ColumnError(
            expected=f"numbers in column {quoted(name)}, which is to be binned",
            came=f"{wrong:,} record{'s' * (wrong != 1)} with something else (text, infinity, or a "
            "comma as decimal sign)",
            do="correct these values, declare their codes as missing (na), or leave the bins out",
        )
    present = np.flatnonzero(~np.isnan(numbers))
    groups = np.full(len(levels), -1, dtype=np.int32)
    groups[present] = bins.groups(numbers[present], counts[present])
    return groups, bins.group_names


def as_number(text: str) -> float | None:
    """Read a number written with a decimal point, in any locale; None for other text."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None
