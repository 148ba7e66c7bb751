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

Here they are worked out for a *reference*: a table that is known exactly, with the table that it
would be without the record. `left_out_draws` does it for posterior draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.label_table import LabelTable, true_labels
from understudy.microdata.table import Microdata
from understudy.risk import left_out_kernels as kernels
from understudy.risk.expected import NODES, REACH
from understudy.risk.forest import grow_on_shares
from understudy.risk.half_samples import BLOCKS, block_sums, half_sample_error, half_samples
from understudy.risk.matching import Targets, find_targets

__all__ = [
    "Attacked",
    "Chances",
    "Key",
    "MatchLists",
    "attack_reference",
    "match_all_files",
    "match_lists",
    "modal_of_draws",
    "modal_of_reference",
    "most_probable",
    "simulate_pooled",
    "simulate_votes",
]

RELEASES = 120  # simulated releases of all files
ELEMENTS = 4_000_000  # counts of releases that are held at once
FILES = 400  # simulated files of a reference
VOTES = 1_000_000  # simulated votes, over all combinations
WORK = 30_000_000  # steps of the match over all files, for each of its repeats
REPEATS = (3, 12)  # fewest and most repeats of it
TIE = 1e-12  # probabilities closer than this, relatively, are the same

Floats = NDArray[np.float64]


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
    """The data as the attacks see them.

    Attributes
    ----------
    data : Microdata
        The confidential records.
    known : sequence of tuple of str
        Knowledge of each intruder who matches.
    n_sets : int
        Files that are released.
    """

    data: Microdata
    known: Sequence[tuple[str, ...]]
    n_sets: int
    pattern: NDArray[np.int64] = field(init=False)  # (combination,)
    label: NDArray[np.int64] = field(init=False)  # (combination,)
    sizes: NDArray[np.int64] = field(init=False)  # (pattern,)
    of_pattern: list[NDArray[np.int64]] = field(init=False)  # combinations of each pattern

    def __post_init__(self) -> None:
        """Group the combinations by pattern."""
        patterns = self.data.patterns
        pattern = patterns.of_combination.astype(np.int64)
        order = np.argsort(pattern, kind="stable")
        starts = np.searchsorted(pattern[order], np.arange(1, len(patterns)))
        for name, value in {
            "pattern": pattern,
            "label": true_labels(self.data),
            "sizes": patterns.sizes,
            "of_pattern": np.split(order, starts),
        }.items():
            object.__setattr__(self, name, value)

    def effect(self, with_record: Floats, without_record: Floats) -> Any:
        """Sum the difference over records; leading axes stay."""
        return (with_record - without_record) @ self.data.counts


def attack_reference(
    generator: np.random.Generator,
    attacked: Attacked,
    own: tuple[LabelTable, LabelTable],
    of_pattern: tuple[LabelTable, LabelTable],
) -> dict[Key, Chances]:
    """Chances of every attack on a table that is known exactly.

    Parameters
    ----------
    generator : numpy.random.Generator
        For what is simulated.
    attacked : Attacked
        Data, knowledge and number of files.
    own : pair of LabelTable
        What a record's row is drawn from, with its own record and without.
    of_pattern : pair of LabelTable
        What the rows of its pattern are drawn from on average, with and without.
    """
    size, label = attacked.data.n_combinations, attacked.label
    means: dict[Key, Floats] = {}  # (with or without, combination)
    vote_variance, pooled_variance, modal_effects = 0.0, 0.0, np.zeros(BLOCKS + 1)
    for pattern, combinations in enumerate(attacked.of_pattern):
        g, column = label[combinations], np.arange(combinations.size)
        rows = [table.probabilities[table.row_of_combination[combinations]] for table in own]
        pattern_rows = [
            table.probabilities[table.row_of_combination[combinations]] for table in of_pattern
        ]
        n = int(attacked.sizes[pattern])
        modal = modal_of_reference(generator, pattern_rows[0][0], pattern_rows[1], g, n)
        pooled, of_releases = simulate_pooled(
            generator, attacked, combinations, pattern_rows[0][:1], pattern_rows[0][:1],
            pattern_rows[1][None],
        )  # fmt: skip
        votes, variance = simulate_votes(generator, attacked, combinations, rows[0], rows[1][None])
        by_key = {
            Key("row"): np.stack([table[column, g] for table in rows]),
            Key("row", True): np.stack([table[column, g] for table in pattern_rows]),
            Key("modal"): modal[:, 0],
            Key("pooled_modal"): pooled[:, 0],
            Key("pooled_limit"): np.stack(
                [most_probable(table)[column, g] for table in pattern_rows]
            ),
            Key("vote"): votes[:, 0],
        }
        vote_variance, pooled_variance = vote_variance + variance, pooled_variance + of_releases
        modal_effects += (modal[0] - modal[1]) @ attacked.data.counts[combinations]
        for key, both in by_key.items():
            means.setdefault(key, np.empty((2, size)))[:, combinations] = both
    error = {
        "modal": half_sample_error(modal_effects),
        "vote": vote_variance**0.5,
        "pooled_modal": pooled_variance**0.5,
    }
    chances = {
        key: Chances(both[0], both[1], error.get(key.attack, 0.0)) for key, both in means.items()
    }
    first = np.array([combinations[0] for combinations in attacked.of_pattern])
    tables = of_pattern[0].probabilities[of_pattern[0].row_of_combination[first]]
    for known in attacked.known:
        lists = match_lists(attacked, known)
        integrals = np.stack(
            [
                lists.integrals(attacked, tables),
                lists.integrals(attacked, tables, means[Key("row", True)][1]),
            ]
        )
        for released in (False, True):
            chance = means[Key("row", released)] * integrals
            chances[Key("match_one_file", released, known)] = Chances(chance[0], chance[1], 0.0)
        chances[Key("match_all_files", False, known)] = match_all_files(
            generator, attacked, known, own[0], means[Key("row")]
        )
    forest = grow_on_shares(generator, attacked.data, tables, attacked.n_sets)
    less = np.subtract(*means[Key("row", True)])  # without a record only its own pattern is another
    believed = forest.believe(tables, less, attacked.pattern, label, attacked.data.counts)
    return chances | {Key("model"): Chances(*believed)}


def modal_of_reference(
    generator: np.random.Generator,
    row: Floats,
    without: Floats,
    label: NDArray[np.int64],
    n: int,
) -> Floats:
    """Chance that the modal guess of one file is right, for the records of one pattern.

    Files are simulated once, from the row with the record; without it they count with weights, the
    ratio of their probabilities.

    Parameters
    ----------
    generator : numpy.random.Generator
        For the files.
    row, without : float64 (label,), (combination, label)
        What the pattern's labels are drawn from, with the record and without.
    label : int64 (combination,)
        True labels.
    n : int
        Records of the pattern.

    Returns
    -------
    float64 (with or without, subset of files, combination)
        All files first, then halves of them.
    """
    subsets = half_samples()
    if n == 1:  # without the record anything may be drawn: no ratio
        both = np.stack([row[label], without[np.arange(label.size), label]])
        return np.broadcast_to(both[:, None], (2, len(subsets), label.size))
    files = generator.multinomial(n, _normalized(row), FILES).astype(np.float64)  # (file, label)
    chance = most_probable(files)[:, label]  # (file, combination)
    possible = row > 0
    with np.errstate(divide="ignore"):
        log_ratio = np.log(without[:, possible] / row[possible])  # (combination, label)
    log_ratio = np.maximum(log_ratio, -1e6)  # a label that is gone makes a file impossible
    log_weight = files[:, possible] @ log_ratio.T  # (file, combination)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    total = np.maximum(subsets @ block_sums(weight), 1e-300)
    mean = subsets @ block_sums(chance) / (subsets.sum(axis=1)[:, None] * FILES / BLOCKS)
    return np.stack([mean, subsets @ block_sums(weight * chance) / total])


def most_probable(rows: Floats) -> Floats:
    """Chance that each label is guessed as the most probable one, ties broken at random."""
    modal = rows >= rows.max(axis=-1, keepdims=True) * (1.0 - TIE)
    chance: Floats = modal / modal.sum(axis=-1, keepdims=True)
    return chance


def modal_of_draws(generator: np.random.Generator, rows: Floats, n: int) -> Floats:
    """Draw n labels from every row and find the most frequent ones; see `most_probable`."""
    return most_probable(generator.multinomial(n, _normalized(rows)).astype(np.float64))


def _normalized(rows: Floats) -> Floats:
    """Make rows sum to one exactly enough for a multinomial draw."""
    positive: Floats = np.maximum(rows, 0.0)
    positive /= positive.sum(axis=-1, keepdims=True)
    return positive


def simulate_pooled(
    generator: np.random.Generator,
    attacked: Attacked,
    combinations: NDArray[np.int64],
    draws: Floats,
    mean_rows: Floats,
    without_rows: Floats,
) -> tuple[Floats, float]:
    """Simulate the most frequent label of a pattern over all files of a release.

    Releases are simulated once, each file from a draw of its own. Without the record their counts
    are scaled by the ratio of the mean rows, so that both see the same chance. (Four records and
    three files: an effect of 0.78 instead of 0.85; it gets better with either.)

    Parameters
    ----------
    generator : numpy.random.Generator
        For the releases.
    attacked : Attacked
        Data and number of files.
    combinations : int64 (combination,)
        All combinations of one pattern.
    draws : float64 (draw, label)
        What the pattern's rows are drawn from.
    mean_rows, without_rows : float64 (subset, label), (subset, combination, label)
        Its mean over (subsets of) draws, and without a record of each combination.

    Returns
    -------
    chances : float64 (with or without, subset, combination)
        That the guess is right.
    variance : float
        Of the summed effect, from the releases.
    """
    label, counts = attacked.label[combinations], attacked.data.counts[combinations]
    n, m = int(attacked.sizes[attacked.pattern[combinations[0]]]), attacked.n_sets
    chosen = generator.integers(0, len(draws), (RELEASES, m))
    released = generator.multinomial(n, _normalized(draws)[chosen]).sum(axis=1)  # (release, label)
    possible = mean_rows[0] > 0
    if n == 1:  # without the record other labels may be drawn: no ratio
        rows = _normalized(without_rows[:, 0])[:, None]
        alone = most_probable(generator.multinomial(m, rows, (len(rows), RELEASES)).astype(float))
    chances = np.empty((2, len(mean_rows), label.size))
    effects, of_few = np.zeros(RELEASES), np.zeros((2, label.size))
    few = max(2, RELEASES // 5)  # releases that are enough to compare subsets of draws
    for subset, row in enumerate(mean_rows):
        made = released[: RELEASES if subset == 0 else few].astype(np.float64)
        scaled = made * np.where(possible, row / np.where(possible, mean_rows[0], 1.0), 0.0)
        with_record = most_probable(scaled)[:, label]  # (release, combination)
        without = np.empty_like(with_record)
        if n == 1:
            without[:] = alone[subset, : len(made), label].T
        else:
            step = max(1, ELEMENTS // made.size)
            for start in range(0, label.size, step):
                part = slice(start, start + step)
                ratio = np.where(possible, without_rows[subset, part], 0.0)
                ratio = ratio / np.where(possible, mean_rows[0], 1.0)  # (combination, label)
                guessed = most_probable(made[:, None] * ratio)  # (release, combination, label)
                without[:, part] = np.take_along_axis(guessed, label[part][None, :, None], axis=2)[
                    ..., 0
                ]
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

    Parameters
    ----------
    generator : numpy.random.Generator
        For the labels.
    attacked : Attacked
        Data and number of files.
    combinations : int64 (combination,)
        Whose records vote.
    own_rows, without_rows : float64 (combination, label), (subset, combination, label)
        What rows are drawn from.
    """
    label, counts = attacked.label[combinations], attacked.data.counts[combinations]
    n_repeats = int(np.clip(VOTES // attacked.data.n_combinations, 4, 5000))
    uniform = generator.random((label.size, n_repeats, attacked.n_sets))
    few = max(2, n_repeats // 8)  # repeats that are enough to compare subsets of draws

    def votes(rows: Floats, uniform: Floats) -> Floats:
        """Chances that votes are right, (combination, repeat)."""
        cumulative = np.cumsum(_normalized(rows), axis=1)
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


@dataclass(frozen=True, repr=False, eq=False)
class MatchLists:
    """Patterns of each known cell, and combinations of each target, as the kernel wants them."""

    targets: Targets
    order: NDArray[np.int64]  # (combination,), by target
    arguments: tuple[Any, ...]

    def integrals(self, attacked: Attacked, rows: Floats, left_out: Floats | None = None) -> Floats:
        """Mean of 1 / (1 + others who draw the label), (combination,)."""
        start, cells, target_start, points, weights = self.arguments
        inverse = np.empty(self.order.size)
        replaced = np.full(self.order.size, -1.0) if left_out is None else left_out[self.order]
        kernels.match_integrals(
            rows, attacked.sizes, start, cells, target_start, self.targets.cell,
            self.targets.label, attacked.pattern[self.order], replaced,
            points, weights, REACH, inverse,
        )  # fmt: skip
        integral = np.empty(self.order.size)
        integral[self.order] = inverse
        return integral


def match_lists(attacked: Attacked, known: tuple[str, ...]) -> MatchLists:
    """Group patterns by known cell and combinations by target."""
    data = attacked.data
    targets = find_targets(data, known, attacked.label, data.n_labels)
    target = np.zeros(data.n_combinations, dtype=np.int64)
    target[data.of_record] = targets.of_record
    order = np.argsort(target, kind="stable")
    target_start = np.searchsorted(target[order], np.arange(len(targets) + 1)).astype(np.int64)
    cell = np.zeros(len(attacked.sizes), dtype=np.int64)  # known cell of each pattern
    cell[attacked.pattern] = targets.cell[target]
    by_cell = np.argsort(cell, kind="stable")
    start = np.searchsorted(cell[by_cell], np.arange(targets.cell_sizes.size + 1)).astype(np.int64)
    points, weights = np.polynomial.legendre.leggauss(NODES // 2)  # (node,), on [-1, 1]
    return MatchLists(targets, order, (start, by_cell, target_start, (points + 1) / 2, weights / 2))


def match_all_files(
    generator: np.random.Generator,
    attacked: Attacked,
    known: tuple[str, ...],
    rows: LabelTable,
    own: Floats,
) -> Chances:
    """Match all files: draw them, then draw each record's own rows anew with both probabilities.

    Parameters
    ----------
    generator : numpy.random.Generator
        For files and rows.
    attacked : Attacked
        Data and number of files.
    known : tuple of str
        What the intruder knows.
    rows : LabelTable
        What files are drawn from.
    own : float64 (with or without, combination)
        Probability that a record's row has its own label.
    """
    data = attacked.data
    targets = find_targets(data, known, attacked.label, data.n_labels)
    repeats = int(np.clip(WORK // (attacked.n_sets * data.n_records), *REPEATS))
    both = np.zeros((2, data.n_combinations))
    effects = np.zeros(repeats)  # (repeat,)
    for repeat in range(repeats):
        success = _match_files(generator, attacked, targets, rows, own)
        both += success / repeats
        effects[repeat] = (success[0] - success[1]) @ data.counts
    return Chances(both[0], both[1], float(effects.std(ddof=1) / repeats**0.5))


def _match_files(
    generator: np.random.Generator,
    attacked: Attacked,
    targets: Targets,
    rows: LabelTable,
    own: Floats,
) -> Floats:
    """Draw files once and match them; (with or without, combination)."""
    data, m = attacked.data, attacked.n_sets
    matched = np.empty((m, data.n_records), dtype=np.int32)  # (file, record)
    counts = np.empty((m, len(targets)), dtype=np.int64)  # (file, target)
    for index in range(m):
        made = rows.draw(generator, data).astype(np.int64)
        matched[index], counts[index] = targets.match_rows(made)
    file, row = np.nonzero(matched >= 0)
    target = matched[file, row].astype(np.int64)
    order = np.lexsort((file, row, target))
    start = np.searchsorted(target[order], np.arange(len(targets) + 1)).astype(np.int64)
    work = float((start[1:] - start[:-1])[targets.of_record].mean()) + m
    size = int(min(data.n_records, max(1000, WORK / work)))  # records that are attacked
    records = np.sort(generator.choice(data.n_records, size, replace=False))
    uniform = generator.random((size, m))
    both = np.empty((2, data.n_combinations))
    for index in range(2):
        hits = uniform < own[index][data.of_record[records], None]
        success = np.empty(size)  # (attacked record,)
        kernels.match_all_files(
            records, targets.of_record, matched, counts, start, row[order], file[order], hits,
            success,
        )  # fmt: skip
        both[index] = np.bincount(data.of_record[records], success, data.n_combinations)
    return both * (data.n_records / size) / data.counts
