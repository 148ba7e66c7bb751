"""The codebook: which levels a file may hold, declared outside of it.

A level taken from the data reveals that somebody has it. A codebook written by people who know the
survey declares the levels, their order, their labels, the codes that mean missing, and the
combinations that are impossible. A release needs one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, field_validator, model_validator

from understudy.checks import kind_of
from understudy.errors import SettingError, nearest, quoted
from understudy.microdata.variable import MISSING
from understudy.settings import Settings, read_settings, settings_from, toml_key, toml_text

__all__ = ["Codebook", "VariableBook", "codebook_from", "codebook_text"]


class VariableBook(Settings):
    """What a codebook says of one variable.

    Attributes
    ----------
    levels : tuple of str, optional
        All levels that may occur, in the order in which to show them.
    labels : dict of str to str
        What a level means, by level.
    missing : tuple of str
        Codes that stand for a missing value.
    description : str
        What the variable is, for the public codebook.
    hierarchy : tuple of dict of str to tuple of str
        Steps of coarsening: in each, names of larger levels and the levels merged into them. Levels
        that a step does not name stay as they are.
    """

    levels: tuple[str, ...] | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    missing: tuple[str, ...] = ()
    description: str = ""
    hierarchy: tuple[dict[str, tuple[str, ...]], ...] = ()

    @model_validator(mode="after")
    def _check(self) -> VariableBook:
        for step in self.hierarchy:
            merged = [level for levels in step.values() for level in levels]
            if not merged or len(set(merged)) < len(merged):
                raise ValueError("hierarchy has a step that merges nothing, or a level twice")
            if self.levels is not None and set(merged) - set(self.levels):
                raise ValueError("hierarchy names a level that is not among the levels")
        if self.levels is None:
            return self
        if not self.levels:
            raise ValueError("levels is an empty list")
        if MISSING in self.levels:
            raise ValueError(f"levels holds {MISSING}, which stands for missing values")
        if len(set(self.levels)) != len(self.levels):
            raise ValueError("levels names a level twice")
        if set(self.levels) & set(self.missing):
            raise ValueError("levels and missing have a code in common")
        return self

    def __repr__(self) -> str:
        """Show shapes only: levels are confidential until they are reviewed."""
        return f"VariableBook({len(self.levels or ())} levels, {len(self.labels)} labels)"

    __str__ = __repr__


class Codebook(Settings):
    """A codebook: variables by name, and combinations that cannot occur.

    Attributes
    ----------
    reviewed : bool
        Whether somebody who knows the survey has read it; a draft from the data starts with false.
    variables : dict of str to VariableBook
        By name of the column.
    impossible : tuple of dict
        Each a rule: no record has all the named levels (one of several, where a list is given).
    """

    reviewed: bool = False
    variables: dict[str, VariableBook] = Field(default_factory=dict)
    impossible: tuple[dict[str, tuple[str, ...]], ...] = ()

    @field_validator("impossible", mode="before")
    @classmethod
    def _one_or_several(cls, rules: Any) -> Any:
        if not isinstance(rules, Sequence) or isinstance(rules, str):
            return rules
        return tuple(
            {name: _as_tuple(given) for name, given in rule.items()}
            if isinstance(rule, Mapping)
            else rule
            for rule in rules
        )

    @model_validator(mode="after")
    def _check(self) -> Codebook:
        if any(not rule or not all(rule.values()) for rule in self.impossible):
            raise ValueError("impossible holds a rule that names no level")
        return self

    def __repr__(self) -> str:
        """Show shapes only: levels are confidential until they are reviewed."""
        return f"Codebook({len(self.variables)} variables, {len(self.impossible)} rules)"

    __str__ = __repr__

    def of(self, name: str) -> VariableBook:
        """Return the entry of a variable, an empty one if there is none."""
        return self.variables.get(name, VariableBook())


def _as_tuple(given: Any) -> Any:
    if isinstance(given, str):
        return (given,)
    return tuple(given) if isinstance(given, list) else given


def codebook_from(given: Codebook | Mapping[str, Any] | str | os.PathLike[str] | None) -> Codebook:
    """Read what the user gave as ``codebook=``: a path, a mapping, a `Codebook`, or nothing."""
    if given is None:
        return Codebook()
    if isinstance(given, Codebook):
        return given
    if isinstance(given, Mapping):
        return settings_from(dict(given), Codebook, "codebook")
    if isinstance(given, str | os.PathLike):
        return read_settings(given, Codebook, "codebook")
    raise SettingError(
        expected="a codebook as the path of a TOML file or as a mapping",
        came=kind_of(given),
        do="give one of these, or leave the codebook out",
    )


def check_columns(codebook: Codebook, names: Sequence[str]) -> None:
    """Refuse a codebook that names columns which the data do not have."""
    in_rules = [name for rule in codebook.impossible for name in rule]
    for name in [*codebook.variables, *in_rules]:
        if name not in names:
            raise SettingError(
                expected="a codebook that names columns of the data only",
                came=f"{quoted(name)}{nearest(name, names)}",
                do="correct the name, or remove the entry",
            )


def _step_text(step: Mapping[str, tuple[str, ...]]) -> str:
    merged = (
        f"{toml_key(name)} = [{', '.join(map(toml_text, levels))}]" for name, levels in step.items()
    )
    return f"{{ {', '.join(merged)} }}"


def codebook_text(codebook: Codebook, notes: Sequence[str] = ()) -> str:
    """Write a codebook as TOML, with notes as comment lines at the top."""
    lines = [f"# {note}".rstrip() for note in notes]
    lines += ["", f"reviewed = {str(codebook.reviewed).lower()}"]
    for name, book in codebook.variables.items():
        lines += ["", f"[variables.{toml_key(name)}]"]
        lines.append(f"description = {toml_text(book.description)}")
        if book.levels is not None:
            lines.append("levels = [")
            lines += [f"  {toml_text(level)}," for level in book.levels]
            lines.append("]")
        lines.append(f"missing = [{', '.join(map(toml_text, book.missing))}]")
        if book.hierarchy:
            lines.append(f"hierarchy = [{', '.join(map(_step_text, book.hierarchy))}]")
        if book.labels:
            lines.append(f"[variables.{toml_key(name)}.labels]")
            lines += [
                f"{toml_key(level)} = {toml_text(text)}" for level, text in book.labels.items()
            ]
    for rule in codebook.impossible:
        lines += ["", "[[impossible]]"]
        for name, levels in rule.items():
            lines.append(f"{toml_key(name)} = [{', '.join(map(toml_text, levels))}]")
    return "\n".join(lines).lstrip("\n") + "\n"
