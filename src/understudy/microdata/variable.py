"""A variable: its levels, their order and labels, and its role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from understudy.errors import quoted
from understudy.summaries import counted

__all__ = ["LABELS_KEY", "LONGEST_LEVEL", "MISSING", "Kind", "Role", "Variable"]

Role = Literal["synthesized", "kept"]
Kind = Literal["text", "integer", "real", "boolean"]  # how a source stores a column

# The level that stands for a missing value where missing is a level. In frames it is null.
MISSING = "(missing)"

# Most bytes that a level may have; longer text is not a category.
LONGEST_LEVEL = 4096

# The key under which a Parquet file keeps the labels of its levels.
LABELS_KEY = "understudy.labels"


@dataclass(frozen=True, repr=False)
class Variable:
    """One variable of the data.

    Attributes
    ----------
    name : str
        Name of its column.
    role : {"synthesized", "kept"}
        Whether it is drawn anew or stays as it is.
    levels : tuple of str
        Its levels; a code is an index into this tuple.
    labels : mapping of str to str
        What a level means, by level, where the source or the codebook says it.
    description : str
        What the variable is.
    declared : bool
        Whether a codebook declares the levels; otherwise they were found in the data.
    missing_code : str
        How a missing value is written in text files.
    numeric : bool
        Whether the source stores the levels as whole numbers, so that statistical programs get
        numbers back.
    missing_modelled : bool
        Whether missing values are holes that a model fills: the level for missing values is then
        none of the model's.
    released : bool
        Whether synthetic files show it; the weight's quantile group is used by models alone.
    """

    name: str
    role: Role
    levels: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    declared: bool = False
    missing_code: str = ""
    numeric: bool = False
    missing_modelled: bool = False
    released: bool = True

    @property
    def n_levels(self) -> int:
        """Number of levels, a missing level included."""
        return len(self.levels)

    @property
    def has_missing(self) -> bool:
        """Whether the last level stands for missing values."""
        return bool(self.levels) and self.levels[-1] == MISSING

    @property
    def has_holes(self) -> bool:
        """Whether the last level stands for missing values that a model fills."""
        return self.missing_modelled and self.has_missing

    @property
    def present_levels(self) -> tuple[str, ...]:
        """The levels without the one for missing values."""
        return self.levels[:-1] if self.has_missing else self.levels

    def __repr__(self) -> str:
        """Show the shape only, never a level."""
        return f"Variable({quoted(self.name)}, {self.role}, {counted(self.n_levels, 'level')})"
