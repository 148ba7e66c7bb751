"""Findings about columns passed through, and about survey weights."""

from __future__ import annotations

from understudy.findings.record import Record

__all__ = ["PassedFindings", "PopulationFindings", "WeightedFindings"]


class PassedFindings(Record):
    """A column that passes through: true values of real people, in every file."""

    name: str
    stored: str  # what it holds, in words
    values: int  # different ones
    alone: int  # records with a value that no other record has
    unique_with_kept: int  # records that it makes unique among those with their kept variables
    decides: bool = False  # whether its value all but fixes what is synthesized
    weight: bool = False  # whether it is the survey weight, or a replicate of it


class PopulationFindings(Record):
    """Uniqueness in the population, estimated from the survey weights."""

    people: float  # that the records stand for
    sample_uniques: int  # records that are alone with their kept variables
    population_uniques: float  # how many of them are alone in the population, too
    expected_matches: float  # records found by linking each with somebody of the population


class WeightedFindings(Record):
    """Weighted tables and shares, where the data have survey weights."""

    orders: tuple[int, ...]
    deviation: tuple[float, ...]  # (order,) mean over the sets, weights scaled to the records
    truth_floor: tuple[float, ...]  # (order,) of a synthesizer that knew the population
    shares: int  # levels of the synthesized variables
    mean_overlap: float | None  # of their design-based intervals
