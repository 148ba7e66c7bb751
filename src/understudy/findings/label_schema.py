"""Findings about how often labels occur: alone, and beside one other variable."""

from __future__ import annotations

from understudy.findings.record import Record

__all__ = ["LabelCounts", "PairCounts"]


class LabelCounts(Record):
    """How many records have each level of a synthesized variable, the most frequent first."""

    name: str
    levels: tuple[str, ...]  # a part of all, where there are many
    original: tuple[int, ...]  # (level,)
    synthetic: tuple[float, ...]  # (level,) mean over sets
    lowest: tuple[int, ...]  # (level,) over sets
    highest: tuple[int, ...]
    n_others: int = 0  # levels that are left out
    others_original: int = 0  # records that have one of them
    others_synthetic: float = 0.0  # the same in a set, mean


class PairCounts(Record):
    """How many records have each pair of levels: of a synthesized variable, and of another one."""

    name: str  # the synthesized variable
    other: str  # kept, or synthesized too
    levels: tuple[str, ...]  # of the synthesized variable, the most frequent first
    other_levels: tuple[str, ...]  # in the order of the codebook
    original: tuple[tuple[int, ...], ...]  # (level, other level)
    synthetic: tuple[tuple[float, ...], ...]  # (level, other level) mean over sets
    n_cells: int  # pairs of levels that occur somewhere, of all levels
    n_far: int  # of these, further off than three standard deviations of chance
