"""Chances of every attack with a person's own record, and had it been left out.

The attacks, for a record with label g in a pattern of n rows:

- *row*: the probability of g.
- *modal*: g is the most frequent of n labels drawn for the pattern in one file (simulated).
- *pooled_modal*: g is the most frequent label of the pattern in m files together (simulated).
- *pooled_limit*: g is the most probable label of the pattern, as for ever more files. The least
  difference between near ties decides, so it is shown and not judged.
- *model*: what a forest says of g, trees held fixed (`forest`), exactly.
- *vote*: g is the most frequent of m labels drawn for the row (simulated).
- *match_one_file*: probability of g times the mean of 1 / (1 + others that draw g), exactly.
- *match_all_files*: m files are drawn, and the record's own rows are drawn anew with both
  probabilities of g, by the same random numbers.

Here is what they have in common; `from_table` works them out for a table that is known exactly,
`from_draws` for posterior draws, `from_files` for files of any tool, and `match_chances` those that
match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.coarsening import Coarsening
from understudy.microdata.label_table import true_labels
from understudy.microdata.table import Microdata
from understudy.risk.own_record import kernels

__all__ = [
    "Attacked",
    "Chances",
    "Key",
    "modal_of_draws",
    "most_probable",
    "normalized_rows",
    "simulate_pooled",
    "simulate_votes",
]

RELEASES = 120  # simulated releases of all files
VOTES = 1_000_000  # simulated votes, over all combinations
TIE = 1e-12  # probabilities closer than this, relatively, are the same

Floats = NDArray[np.float64]
Parts = list[tuple[int, Floats]]  # how many records of a pattern draw from which rows


class Key(NamedTuple):
    """An attack, in which setting, by an intruder with which knowledge."""

    attack: str
    released: bool = False
    known: tuple[str, ...] = ()


class Chances(NamedTuple):
    """Chances of a record of each combination; the error is that of the sum of differences."""

    with_record: Floats  # (combination,)
    without_record: Floats  # (combination,)
    error: float


@dataclass(frozen=True, repr=False, eq=False)
class Attacked:
    """The data as the attacks see them, and what labels are drawn for.

    An intruder sees patterns and labels as files show them. Where levels were merged after the fit,
    the records of a pattern come from several *groups*, the patterns of the fine data, each of
    which draws its labels from a distribution of its own. Otherwise groups are the patterns.

    Attributes
    ----------
    data : Microdata
        The confidential records as files show them; with a coarsening, a row for every fine
        combination (`Coarsening.told_apart`).
    known : sequence of tuple of str
        Knowledge of each intruder who matches.
    n_sets : int
        Files that are released.
    coarsening : Coarsening, optional
        The finer data that labels are drawn for.
    """

    data: Microdata
    known: Sequence[tuple[str, ...]]
    n_sets: int
    coarsening: Coarsening | None = None
    pattern: NDArray[np.int64] = field(init=False)  # (combination,)
    label: NDArray[np.int64] = field(init=False)  # (combination,)
    sizes: NDArray[np.int64] = field(init=False)  # (pattern,)
    of_pattern: list[NDArray[np.int64]] = field(init=False)  # combinations of each pattern
    group: NDArray[np.int64] = field(init=False)  # (combination,)
    fitted_label: NDArray[np.int64] = field(init=False)  # (combination,), as the model sees it
    group_sizes: NDArray[np.int64] = field(init=False)  # (group,)
    groups_of: list[NDArray[np.int64]] = field(init=False)  # groups of each pattern

    def __post_init__(self) -> None:
        """Group the combinations by pattern, and by what they are drawn for."""
        patterns, pattern, of_pattern = self.data.patterns, *_members(self.data)
        fine = self.fitted
        group = fine.patterns.of_combination.astype(np.int64)
        for name, value in {
            "pattern": pattern,
            "label": true_labels(self.data),
            "sizes": patterns.sizes,
            "of_pattern": of_pattern,
            "group": group,
            "fitted_label": true_labels(fine),
            "group_sizes": fine.patterns.sizes,
            "groups_of": [np.unique(group[members]) for members in of_pattern],
        }.items():
            object.__setattr__(self, name, value)

    @property
    def fitted(self) -> Microdata:
        """The data as the model sees them."""
        return self.data if self.coarsening is None else self.coarsening.fine

    def mean_rows(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Average the rows of each pattern's records over its groups: (..., group, label)."""
        if self.coarsening is None:
            return rows
        means = []
        for groups, size in zip(self.groups_of, self.sizes, strict=True):
            weights = self.group_sizes[groups] / size
            means.append(np.tensordot(weights.astype(rows.dtype), rows[..., groups, :], (0, -2)))
        return np.stack(means, axis=-2)

    def parts(self, pattern: int, rows: NDArray[Any]) -> Parts:
        """Give the sizes of a pattern's groups, and their rows, of (..., group, label)."""
        return [
            (int(self.group_sizes[group]), rows[..., group, :].astype(np.float64))
            for group in self.groups_of[pattern].tolist()
        ]

    def effect(self, with_record: Floats, without_record: Floats) -> Any:
        """Sum the difference over records; leading axes stay."""
        return (with_record - without_record) @ self.data.counts


def _members(data: Microdata) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Give the pattern of each combination, and the combinations of each pattern."""
    pattern = data.patterns.of_combination.astype(np.int64)
    order = np.argsort(pattern, kind="stable")
    starts = np.searchsorted(pattern[order], np.arange(1, len(data.patterns)))
    return pattern, np.split(order, starts)


def most_probable(rows: Floats) -> Floats:
    """Chance that each label is guessed as the most probable one, ties broken at random."""
    modal = rows >= rows.max(axis=-1, keepdims=True) * (1.0 - TIE)
    chance: Floats = modal / modal.sum(axis=-1, keepdims=True)
    return chance


def modal_of_draws(generator: np.random.Generator, parts: Parts) -> Floats:
    """Draw the labels of a pattern from every draw's rows, (draw, label) of each of its parts.

    Gives the chance of each label to be guessed as the most frequent one; see `most_probable`.
    """
    counts = sum(generator.multinomial(n, normalized_rows(rows)) for n, rows in parts)
    return most_probable(np.asarray(counts, dtype=np.float64))


def normalized_rows(rows: Floats) -> Floats:
    """Make rows sum to one exactly enough for a multinomial draw."""
    positive: Floats = np.maximum(rows, 0.0)
    positive /= positive.sum(axis=-1, keepdims=True)
    return positive


def simulate_pooled(
    generator: np.random.Generator,
    attacked: Attacked,
    combinations: NDArray[np.int64],
    draws: Parts,
    mean_rows: Floats,
    without_rows: Floats,
) -> tuple[Floats, float]:
    """Simulate the most frequent label of a pattern over all files of a release.

    Releases are simulated once, each file from a draw of its own. Without the record their counts
    are scaled by the ratio of the mean rows, so that both see the same chance. (Four records and
    three files: an effect of 0.78 instead of 0.85; it gets better with either.)

    `combinations` are all of one pattern, and `draws` what its rows are drawn from. Mean rows over
    (subsets of) draws are (subset, label), without a record of each combination (subset,
    combination, label). Gives chances, (with or without, subset, combination), that the guess is
    right, and the variance of the summed effect over releases.
    """
    label, counts = attacked.label[combinations], attacked.data.counts[combinations]
    n, m = int(attacked.sizes[attacked.pattern[combinations[0]]]), attacked.n_sets
    chosen = generator.integers(0, len(draws[0][1]), (RELEASES, m))
    of_parts = [
        generator.multinomial(size, normalized_rows(rows)[chosen]).sum(axis=1)
        for size, rows in draws
    ]
    released = np.sum(of_parts, axis=0)  # (release, label)
    possible = mean_rows[0] > 0
    if n == 1:  # without the record other labels may be drawn: no ratio
        rows = normalized_rows(without_rows[:, 0])[:, None]
        alone = most_probable(generator.multinomial(m, rows, (len(rows), RELEASES)).astype(float))
    chances = np.empty((2, len(mean_rows), label.size))
    effects, of_few = np.zeros(RELEASES), np.zeros((2, label.size))
    few = max(2, RELEASES // 5)  # releases that are enough to compare subsets of draws
    for subset, row in enumerate(mean_rows):
        made = released[: RELEASES if subset == 0 else few].astype(np.float64)
        scaled = made * np.where(possible, row / np.where(possible, mean_rows[0], 1.0), 0.0)
        with_record = most_probable(scaled)[:, label]  # (release, combination)
        without = np.empty((len(made), label.size))  # (release, combination)
        if n == 1:
            without[:] = alone[subset, : len(made), label].T
        else:
            ratio = np.where(possible, without_rows[subset], 0.0)  # (combination, label)
            ratio /= np.where(possible, mean_rows[0], 1.0)
            frequent = np.argsort(-made.sum(axis=0), kind="stable")  # these end a search soonest
            kernels.modal_chances(
                np.ascontiguousarray(made[:, frequent]),
                np.ascontiguousarray(ratio[:, frequent]),
                np.argsort(frequent)[label],
                without,
            )
        both = np.stack([with_record, without])  # (with or without, release, combination)
        if subset == 0:
            chances[:] = both.mean(axis=1)[:, None]
            effects, of_few = (with_record - without) @ counts, both[:, :few].mean(axis=1)
        else:
            chances[:, subset] += both.mean(axis=1) - of_few
    return chances, float(effects.var(ddof=1) / RELEASES)


def simulate_votes(
    generator: np.random.Generator,
    attacked: Attacked,
    combinations: NDArray[np.int64],
    own_rows: Floats,
    without_rows: Floats,
) -> tuple[Floats, float]:
    """Simulate votes over the rows of all files, with the same random numbers throughout.

    Rows of the records that vote are drawn from (combination, label), and without such a record
    from (subset, combination, label).
    """
    label, counts = attacked.label[combinations], attacked.data.counts[combinations]
    n_repeats = int(np.clip(VOTES // attacked.data.n_combinations, 4, 5000))
    uniform = generator.random((label.size, n_repeats, attacked.n_sets))
    few = max(2, n_repeats // 8)  # repeats that are enough to compare subsets of draws

    def votes(rows: Floats, uniform: Floats) -> Floats:
        """Chances that votes are right, (combination, repeat)."""
        cumulative = np.cumsum(normalized_rows(rows), axis=1)
        cumulative /= cumulative[:, -1:]
        chance = np.empty(uniform.shape[:2])
        kernels.vote_chances(cumulative, np.arange(label.size), label, uniform, chance)
        return chance

    first, second = votes(own_rows, uniform), votes(without_rows[0], uniform)
    means = np.empty((2, *without_rows.shape[:2]))
    means[0], means[1] = first.mean(axis=1), second.mean(axis=1)
    for index in range(1, len(without_rows)):
        of_few = votes(without_rows[index], uniform[:, :few])
        means[1, index] += (of_few - second[:, :few]).mean(axis=1)
    variance = (first - second).var(axis=1, ddof=1) / n_repeats  # (combination,)
    return means, float(counts.astype(np.float64) ** 2 @ variance)
