"""Draws of the baselines and what they give away: a few repeats, wherever they are computed.

Every file that is drawn has a stream of random numbers of its own, so repeats may be drawn in any
order and by anyone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.microdata.label_rows import LabelRows, SparseTable, dense_rows, others_rows
from understudy.microdata.label_table import LabelTable, true_labels
from understudy.microdata.table import Microdata
from understudy.randomness import stream
from understudy.risk import match_kernels as kernels
from understudy.risk.closed_form import ExpectedRisk, expected_risk
from understudy.risk.forest import grow_forest
from understudy.risk.joint import match_jointly
from understudy.risk.label_guesses import count_labels, modal_chance
from understudy.risk.matching import MatchCounts, PerRecord, Targets, count_matches, find_targets

__all__ = ["Attacked", "Sampling", "attacked", "in_closed_form"]

STREAMS = {"Uniform": "Min", "Perfect": "Max"}  # names of their streams of random numbers


@dataclass(frozen=True, repr=False, eq=False)
class Sampling:
    """What all draws of all baselines share; targets are found where the draws are attacked."""

    data: Microdata
    names: tuple[str, ...]
    tables: Mapping[str, LabelTable | SparseTable]
    seed: int
    sets: int | None

    @cached_property
    def targets(self) -> Targets:
        """Find what the intruder can look for."""
        return find_targets(self.data, self.names, true_labels(self.data), self.data.n_labels)

    @cached_property
    def patterns(self) -> Targets:
        """Find the pairs of pattern and label."""
        return find_targets(self.data, self.data.kept, true_labels(self.data), self.data.n_labels)

    def draw(self, name: str, *path: str | int) -> NDArray[np.int64]:
        """Draw the labels of one file."""
        generator = stream(self.seed, "inherent risk", STREAMS.get(name, name), *path)
        return self.tables[name].draw(generator, self.data).astype(np.int64)


class Attacked(NamedTuple):
    """What some repeats give away, one after the other."""

    matches: list[MatchCounts]
    guesses: list[float]  # right guesses of the most frequent label
    votes: list[float]  # right votes of all files

    def frame(self, n_records: int) -> pl.DataFrame:
        """Make a row of each repeat; labels are guessed by vote where there is one."""
        rights: list[Any] = self.votes or [counts.attribute_matches for counts in self.matches]
        return pl.DataFrame(
            {
                "repeat": list(range(len(self.matches))),
                "expected_match_risk": [counts.expected_match_risk for counts in self.matches],
                "true_match_rate": [counts.true_matches / n_records for counts in self.matches],
                "false_match_rate": [counts.false_match_rate for counts in self.matches],
                "unique_matches": [counts.unique_matches for counts in self.matches],
                "attribute_matches": rights,
                "modal_matches": self.guesses,
            },
            schema_overrides={"false_match_rate": pl.Float64},
        )


def in_closed_form(name: str, sampling: Sampling) -> tuple[ExpectedRisk, float | None]:
    """Compute what needs no draws of a baseline, and what a model says about it."""
    data, table, sets = sampling.data, sampling.tables[name], sampling.sets
    expected = expected_risk(data, table, sampling.names)
    return expected, None if sets is None else _believed(sampling.seed, data, table, name, sets)


def attacked(task: tuple[str, Sequence[int]], sampling: Sampling) -> tuple[Attacked, Attacked]:
    """Draw one file in every repeat and attack it; draw all files and attack them together."""
    name, repeats = task
    by_file, together = Attacked([], [], []), Attacked([], [], [])
    targets, patterns = sampling.targets, sampling.patterns
    for repeat in repeats:
        labels = sampling.draw(name, repeat)
        matched, counts = targets.match_rows(labels)
        sums = PerRecord.zeros(labels.size)
        by_file.matches.append(count_matches(targets, counts, matched == targets.of_record, sums))
        chance = modal_chance(patterns, *count_labels(patterns, labels))
        by_file.guesses.append(float(chance @ patterns.sizes))
        if sampling.sets is not None:
            _attack_together(name, repeat, sampling, together)
    return by_file, together


def _attack_together(name: str, repeat: int, sampling: Sampling, together: Attacked) -> None:
    """Draw as many files as the intruder holds, attack them together, and add what is found."""
    targets, patterns, n_sets = sampling.targets, sampling.patterns, sampling.sets or 0
    n_records = targets.of_record.size
    matched = np.empty((n_sets, n_records), dtype=np.int32)  # (set, record)
    labels = np.empty((n_sets, n_records), dtype=np.int32)  # (set, record)
    counts = np.empty((n_sets, len(targets)), dtype=np.int64)  # (set, target)
    for index in range(n_sets):
        made = sampling.draw(name, "joint", repeat, index)
        labels[index] = made
        matched[index], counts[index] = targets.match_rows(made)
    together.matches.append(match_jointly(targets, matched, counts))
    right = np.zeros(n_records)  # (record,)
    kernels.vote(targets.label[targets.of_record], labels, right)
    together.votes.append(float(right.sum()))
    chance = modal_chance(patterns, *count_labels(patterns, labels))
    together.guesses.append(float(chance @ patterns.sizes))


def _believed(
    seed: int, data: Microdata, table: LabelTable | SparseTable, name: str, n_sets: int
) -> float:
    """Sum what a model says of true labels that is trained on as many rows as are expected."""
    pattern, true = data.patterns.of_combination, true_labels(data)
    if isinstance(table, LabelTable) and len(table.probabilities) == 1:  # all trees say the same
        return float(table.probabilities[0, true] @ data.counts)
    rows = _pattern_rows(data, table)
    weights = (data.patterns.sizes * n_sets).astype(np.float64)
    generator = stream(seed, "inherent risk", name, "model")
    forest = grow_forest(
        generator, data.patterns.codes, rows, weights, data.patterns.sizes, data.n_labels
    )
    return float(forest.predict_pairs(rows, data.n_labels, pattern, true) @ data.counts)


def _pattern_rows(data: Microdata, table: LabelTable | SparseTable) -> LabelRows:
    """Average what the records of each pattern draw from.

    The others of a record, averaged over the records of a pattern, are the whole pattern; a record
    that is alone has all others.
    """
    if isinstance(table, LabelTable):
        of_pattern, of_row = data.patterns.of_combination, table.row_of_combination
        starts = np.cumsum(np.bincount(of_pattern))[:-1]
        groups = np.split(np.argsort(of_pattern, kind="stable"), starts)
        shares = [data.counts[group] @ table.probabilities[of_row[group]] for group in groups]
        return dense_rows(np.stack(shares) / data.patterns.sizes[:, None])
    if (table.rows.own < 0).all():  # Perfect: a row per pattern already
        return table.rows
    first = np.unique(data.patterns.of_combination, return_index=True)[1]  # (pattern,)
    alone = data.patterns.sizes == 1
    return others_rows(data, first)._replace(
        own=np.where(alone, true_labels(data)[first], -1),
        totals=np.where(alone, data.n_records - 1.0, data.patterns.sizes),
    )
