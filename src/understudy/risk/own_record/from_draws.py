"""Own-record effects from posterior draws: the record left out by importance weights.

Expectations without record i are weighted means over the kept draws, with weights 1 / likelihood of
its label, Pareto-smoothed (`pareto_smoothing`). Of each draw s two things are used: what the
record's own row is drawn from, and what the rows of its pattern are drawn from on average. For a
model that draws from the kept variables only both are p_s(. | pattern). Where a record's own label
takes part in the draw (``class_draw="full"``) they differ, and without the record its row is drawn
from p_s(. | pattern). Where levels were merged after the fit, a pattern's records come from several
groups (`Attacked`): each has a row of its own, files are simulated group by group, and the
likelihood is that of the levels that were fitted.

Monte-Carlo errors come from halves of the draws (`half_samples`); simulations add the variance of
their repeats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.microdata.label_table import LabelTable
from understudy.randomness import stream
from understudy.risk.forest import Forest
from understudy.risk.half_samples import BLOCKS, block_sums, half_sample_error, half_samples
from understudy.risk.own_record.chances import (
    Attacked,
    Chances,
    Key,
    modal_of_draws,
    most_probable,
    simulate_pooled,
    simulate_votes,
)
from understudy.risk.own_record.match_chances import MatchLists, match_all_files, match_lists
from understudy.risk.pareto_smoothing import smooth_weights
from understudy.spreading import in_order

__all__ = ["OF_PAIR", "Draws", "Refitted", "attack_draws", "k_hats", "most_draws", "read_draws"]

FEWEST = 2 * BLOCKS  # draws; with fewer nothing can be said about errors
OF_PAIR = 12  # bytes of a pair of pattern and label, of each draw
MEMORY = 1 << 30  # bytes of label probabilities that are held
STEPS = 100_000_000_000  # multiplications for the weighted rows
MATCH_DRAWS = 120  # draws that match integrals are computed for
PATTERNS = 64  # attacked with one generator

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class Draws:
    """Posterior draws of a fit, as many as memory and time allow.

    Attributes
    ----------
    pattern : float32 (draw, pattern, label)
        What the rows of a pattern are drawn from, on average.
    group : float32 (draw, group, label)
        The same of a group; the same array where groups are patterns.
    own : float32 (draw, combination)
        Probability that a record draws its own label.
    own_rows : LabelTable
        What a record's row is drawn from, mean over draws.
    left_out : float32 (draw, group, label)
        What a record's row would be drawn from, had its own label been left out. The same array as
        `group` where no record's own label takes part in the draw.
    likelihood : float32 (draw, combination)
        Contribution of one record to the likelihood, up to a factor.
    """

    pattern: NDArray[np.float32]
    group: NDArray[np.float32]
    own: NDArray[np.float32]
    own_rows: LabelTable
    left_out: NDArray[np.float32]
    likelihood: NDArray[np.float32]

    def __len__(self) -> int:
        """Count the draws."""
        return int(self.own.shape[0])

    def weights(self, attacked: Attacked, pattern: int) -> tuple[Floats, Floats]:
        """Smoothed weights that leave out a record of each combination of a pattern, and k-hats."""
        likelihood = self.likelihood[:, attacked.of_pattern[pattern]].astype(np.float64)
        return smooth_weights(-np.log(np.maximum(likelihood, 1e-300)))


def read_draws(fit: Any, attacked: Attacked) -> Draws:
    """Read the draws of a fit; every second one is dropped as often as memory or time ask."""
    data, n_pairs = attacked.data, len(attacked.group_sizes) * attacked.data.n_labels
    most = most_draws(n_pairs, data.n_combinations * data.n_labels)
    step, kept, rows_sum, number = 1, [], np.zeros(1), 0
    for table, predictive, likelihood in zip(
        fit.label_tables(), fit.predictive_tables(), fit.left_out_weights_tables(), strict=True
    ):
        by_group = _rows_by_group(table, attacked)
        rows_sum = rows_sum + table.probabilities
        if number % step == 0:
            own = table.probabilities[table.row_of_combination, attacked.label]
            of_record = likelihood[attacked.group, attacked.fitted_label]  # (combination,)
            if by_group is None:
                parts = [_group_means(table, attacked), own, of_record, predictive]
            else:
                parts = [table.probabilities[by_group], own, of_record]
            kept.append([part.astype(np.float32) for part in parts])
            if len(kept) > most:
                kept, step = kept[::2], 2 * step
        number += 1
    if len(kept) < FEWEST:
        raise InputError(
            expected=f"at least {FEWEST} kept draws of the posterior",
            came=f"{len(kept)}",
            do="run chains longer, or keep more draws",
        )
    group, own, likelihood, *without = (np.stack(column) for column in zip(*kept, strict=True))
    own_rows = LabelTable(rows_sum / number, table.row_of_combination)
    left_out = without[0] if without else group
    return Draws(attacked.mean_rows(group), group, own, own_rows, left_out, likelihood)


def most_draws(n_pairs: int, steps: int) -> int:
    """Say how many draws are held, by pairs of pattern and label, and steps for one draw."""
    return max(4 * BLOCKS, min(MEMORY // (OF_PAIR * n_pairs), STEPS // steps))


def _rows_by_group(table: LabelTable, attacked: Attacked) -> NDArray[np.int32] | None:
    """Give the row of each group, or None where records of a group draw from several."""
    by_group = np.zeros(len(attacked.group_sizes), dtype=np.int32)  # (group,)
    by_group[attacked.group] = table.row_of_combination
    return by_group if (by_group[attacked.group] == table.row_of_combination).all() else None


def _group_means(table: LabelTable, attacked: Attacked) -> Floats:
    """Average the rows that the records of each group draw from, (group, label)."""
    sums = np.zeros((len(attacked.group_sizes), table.probabilities.shape[1]))
    weighted = table.probabilities[table.row_of_combination] * attacked.data.counts[:, None]
    np.add.at(sums, attacked.group, weighted)
    return sums / attacked.group_sizes[:, None]


def k_hats(draws: Draws, attacked: Attacked) -> Floats:
    """Shape of the weights that leave out a record of each combination, (combination,)."""
    shapes = np.empty(attacked.data.n_combinations)
    for pattern, combinations in enumerate(attacked.of_pattern):
        shapes[combinations] = draws.weights(attacked, pattern)[1]
    return shapes


class Refitted(NamedTuple):
    """What a fit without such a record says about a combination."""

    row: Floats  # (label,), what its row is drawn from
    pattern_row: Floats  # (label,), and the rows of its pattern on average
    modal: float  # chance that the modal guess of one file is right
    column: Floats  # (pattern,), probability of its label in every pattern


def attack_draws(
    generator: np.random.Generator,
    draws: Draws,
    attacked: Attacked,
    refitted: Mapping[int, Refitted],
    forest: Forest,
) -> dict[Key, Chances]:
    """Chances of every attack from posterior draws.

    `refitted` has the combinations whose weights cannot be trusted, from fits without such a
    record; the forest is the model that an intruder trains. Patterns are attacked slice by slice,
    each with random numbers of its own, wherever that is done.
    """
    size = attacked.data.n_combinations
    some = np.unique(np.linspace(0, len(draws) - 1, MATCH_DRAWS).astype(np.int64))
    some_weights = np.empty((some.size, size))  # (draw, combination)
    means: dict[Key, Floats] = {}  # (with or without, combination)
    effects: dict[Key, Floats] = {}  # (subset of draws,)
    variance: dict[Key, float] = {}  # from simulations
    every = range(len(attacked.of_pattern))
    slices = [every[first : first + PATTERNS] for first in every[::PATTERNS]]
    tasks = list(zip(_generators(generator, len(slices)), slices, strict=True))
    told = _Attack(draws, attacked, refitted, forest, some)
    for patterns, attack in zip(slices, in_order(_attack_slice, tasks, told), strict=True):
        combinations = np.concatenate([attacked.of_pattern[pattern] for pattern in patterns])
        some_weights[:, combinations] = attack.weights
        for key, both in attack.means.items():
            means.setdefault(key, np.empty((2, size)))[:, combinations] = both
            effects[key] = effects.get(key, 0.0) + attack.effects[key]
        for key, value in attack.variance.items():
            variance[key] = variance.get(key, 0.0) + value
    chances = {}
    for key, both in means.items():
        error = (half_sample_error(effects[key]) ** 2 + variance.get(key, 0.0)) ** 0.5
        chances[key] = Chances(both[0], both[1], error)
    own = means[Key("row")]
    for known in attacked.known:
        chances |= _match_draws(draws, attacked, known, some, some_weights, refitted)
        chances[Key("match_all_files", False, known)] = match_all_files(
            generator, attacked, known, draws.own_rows, own
        )
    return chances


def _generators(generator: np.random.Generator, number: int) -> list[np.random.Generator]:
    """Give every slice of the patterns a generator of its own; a single one has that of all."""
    if number == 1:
        return [generator]
    seeds = generator.integers(0, 2**63, number).tolist()
    return [stream(seed, "patterns") for seed in seeds]


@dataclass(frozen=True, repr=False, eq=False)
class _Attack:
    """What the attacks on all patterns share; `some` are the draws that match integrals are of."""

    draws: Draws
    attacked: Attacked
    refitted: Mapping[int, Refitted]
    forest: Forest
    some: NDArray[np.int64]


class _Attacked(NamedTuple):
    """What attacks on some patterns, one after the other, come to."""

    weights: Floats  # (draw, combination)
    means: dict[Key, Floats]  # (with or without, combination)
    effects: dict[Key, Floats]  # (subset of draws,)
    variance: dict[Key, float]  # from simulations


def _attack_slice(task: tuple[np.random.Generator, Sequence[int]], told: _Attack) -> _Attacked:
    """Attack the records of some patterns."""
    generator, patterns = task
    draws, attacked, subsets = told.draws, told.attacked, half_samples()
    some_weights: list[Floats] = []
    means: dict[Key, list[Floats]] = {}
    effects: dict[Key, Floats] = {}
    variance: dict[Key, float] = {}
    for pattern in patterns:
        weights, _ = draws.weights(attacked, pattern)
        some_weights.append(weights[told.some])
        by_key, simulated = _attack_pattern(
            generator, draws, attacked, pattern, weights, subsets, told.refitted, told.forest
        )
        for key, value in simulated.items():
            variance[key] = variance.get(key, 0.0) + value
        counts = attacked.data.counts[attacked.of_pattern[pattern]]
        for key, both in by_key.items():  # both: (with or without, subset, combination)
            means.setdefault(key, []).append(both[:, 0])
            effects[key] = effects.get(key, 0.0) + (both[0] - both[1]) @ counts
    joined = {key: np.concatenate(parts, axis=1) for key, parts in means.items()}
    return _Attacked(np.concatenate(some_weights, axis=1), joined, effects, variance)


class _Means:
    """Means over the draws of each subset; `weights` (draw, combination) leave a record out.

    `subsets` (subset, block) says which blocks of draws a subset has.
    """

    def __init__(self, weights: Floats, subsets: Floats) -> None:
        self.weights, self.subsets = weights, subsets
        self.n_draws = subsets @ block_sums(np.ones((len(weights), 1)))  # (subset, 1)
        self.total = np.maximum(subsets @ block_sums(weights), 1e-300)  # (subset, combination)

    def plain(self, values: Floats) -> Floats:
        """Means of values (draw, column): (subset, column)."""
        return self.subsets @ block_sums(values) / self.n_draws

    def compared(self, first: Floats, second: Floats, replaced: Mapping[int, float]) -> Floats:
        """Mean of one, weighted mean of the other; both (draw, combination)."""
        without = self.subsets @ block_sums(self.weights * second) / self.total
        for column, value in replaced.items():
            without[:, column] = value
        return np.stack([self.plain(first), without])

    def weighted_rows(self, tables: Floats, columns: Any = slice(None)) -> Floats:
        """Weighted means of rows (draw, label): (subset, combination, label)."""
        n_draws = len(self.weights)
        bounds = np.append(np.arange(BLOCKS) * n_draws // BLOCKS, n_draws)
        parts = [
            self.weights[start:end, columns].T @ tables[start:end]
            for start, end in pairwise(bounds)
        ]
        means: Floats = np.tensordot(self.subsets, np.stack(parts), axes=1)
        means /= self.total[:, columns, None]
        return means


def _attack_pattern(
    generator: np.random.Generator,
    draws: Draws,
    attacked: Attacked,
    pattern: int,
    weights: Floats,
    subsets: Floats,
    refitted: Mapping[int, Refitted],
    forest: Forest,
) -> tuple[dict[Key, Floats], dict[Key, float]]:
    """Attack the records of one pattern.

    Gives chances of success, (with or without, subset of draws, combination), and the variance of
    the summed effect of what is simulated, from its repeats.
    """
    combinations = attacked.of_pattern[pattern]
    label, n = attacked.label[combinations], int(attacked.sizes[pattern])
    again = {column: refitted[c] for column, c in enumerate(combinations.tolist()) if c in refitted}
    rows = draws.pattern[:, pattern].astype(np.float64)  # (draw, label)
    group = attacked.group[combinations]
    left_out = draws.left_out[:, group, label].astype(np.float64)  # (draw, combination)
    own = draws.own[:, combinations].astype(np.float64)  # (draw, combination)
    means = _Means(weights, subsets)
    modal = modal_of_draws(generator, attacked.parts(pattern, draws.group))[:, label]
    column = np.arange(label.size)
    again_row = {column: float(fit.row[label[column]]) for column, fit in again.items()}
    again_any = {column: float(fit.pattern_row[label[column]]) for column, fit in again.items()}
    again_modal = {column: fit.modal for column, fit in again.items()}
    parts = forest.counts_for(pattern)
    again_model = {column: float(parts[1] @ fit.column[parts[0]]) for column, fit in again.items()}
    less = (own - left_out) / n  # of the pattern's mean, where rows keep their labels
    adjusted = rows[:, label] - less
    model = forest.predict_draws(draws.pattern, pattern, label)
    own_part = float(parts[1][np.searchsorted(parts[0], pattern)])
    own_rows = draws.own_rows.probabilities[draws.own_rows.row_of_combination[combinations]]
    without_rows = np.empty((len(subsets), label.size, rows.shape[1]))
    for own_group in attacked.groups_of[pattern].tolist():
        columns = np.flatnonzero(group == own_group)
        some: Any = slice(None) if columns.size == label.size else columns
        without_rows[:, some] = means.weighted_rows(
            draws.left_out[:, own_group].astype(np.float64), some
        )
    of_pattern = without_rows.copy()
    keeps_labels = draws.group is not draws.left_out
    if keeps_labels or attacked.coarsening is not None:
        of_pattern = means.weighted_rows(rows)
    for column_again, fit in again.items():
        without_rows[:, column_again], of_pattern[:, column_again] = fit.row, fit.pattern_row
    if keeps_labels:
        of_pattern -= (own_rows - without_rows) / n
    mean_rows = means.plain(rows)  # (subset, label)
    limit = most_probable(mean_rows)[:, label], most_probable(of_pattern)[:, column, label]
    votes, of_votes = simulate_votes(generator, attacked, combinations, own_rows, without_rows)
    pooled, of_releases = simulate_pooled(
        generator,
        attacked,
        combinations,
        attacked.parts(pattern, draws.group),
        mean_rows,
        of_pattern,
    )
    chances = {
        Key("row"): means.compared(own, left_out, again_row),
        Key("row", True): means.compared(rows[:, label], adjusted, again_any),
        Key("modal"): means.compared(modal, modal, again_modal),
        Key("pooled_modal"): pooled,
        Key("pooled_limit"): np.stack(limit),
        Key("model"): means.compared(model, model - own_part * less, again_model),
        Key("vote"): votes,
    }
    return chances, {Key("vote"): of_votes, Key("pooled_modal"): of_releases}


def _match_draws(
    draws: Draws,
    attacked: Attacked,
    known: tuple[str, ...],
    some: NDArray[np.int64],
    weights: Floats,
    refitted: Mapping[int, Refitted],
) -> dict[Key, Chances]:
    """Match one file, from some of the draws and their weights, (draw, combination).

    A combination that was fitted again takes the probability of its label from there, and the
    other people's rows from all draws alike.
    """
    lists, any_row = match_lists(attacked, known), _AnyRow.of(attacked, known)
    own = np.empty((4, some.size, attacked.data.n_combinations))
    pattern, group, label = attacked.pattern, attacked.group, attacked.label
    n = attacked.sizes[pattern]
    again = np.array(sorted(refitted), dtype=np.int64)
    again_row = np.array([refitted[c].row[label[c]] for c in again.tolist()])
    again_any = np.array([refitted[c].pattern_row[label[c]] for c in again.tolist()])
    weights = weights.copy()
    weights[:, again] = 1.0
    for index, draw in enumerate(some):
        rows = draws.group[draw].astype(np.float64)
        integral = lists.integrals(attacked, rows)
        without = draws.left_out[draw][group, label].astype(np.float64)
        without[again] = again_row
        mean = draws.pattern[draw][pattern, label].astype(np.float64) * integral
        if any_row is not None:
            mean = any_row.chances(attacked, rows)
        adjusted = mean - (draws.own[draw] - without) / n * integral
        adjusted[again] = again_any * integral[again]
        own[:, index] = draws.own[draw] * integral, without * integral, mean, adjusted
    subsets = half_samples()
    total = np.maximum(subsets @ block_sums(weights), 1e-300)
    n_draws = subsets @ block_sums(np.ones((some.size, 1)))
    chances = {}
    for released in (False, True):
        first, second = own[2:] if released else own[:2]
        with_record = subsets @ block_sums(first) / n_draws
        without_record = subsets @ block_sums(weights * second) / total
        error = half_sample_error(attacked.effect(with_record, without_record))
        key = Key("match_one_file", released, known)
        chances[key] = Chances(with_record[0], without_record[0], error)
    return chances


@dataclass(frozen=True, repr=False, eq=False)
class _AnyRow:
    """Matches where a person's row is any row of the pattern, whose groups draw differently."""

    combination: NDArray[np.int64]  # (entry,), a combination and a group of its pattern
    group: NDArray[np.int64]  # (entry,)
    lists: MatchLists

    @classmethod
    def of(cls, attacked: Attacked, known: tuple[str, ...]) -> _AnyRow | None:
        """List the entries; None where a pattern has one group, and any row is like another."""
        if attacked.coarsening is None:
            return None
        groups = [attacked.groups_of[pattern] for pattern in attacked.pattern.tolist()]
        combination = np.repeat(np.arange(len(groups)), [group.size for group in groups])
        group = np.concatenate(groups)
        return cls(combination, group, match_lists(attacked, known, (combination, group)))

    def chances(self, attacked: Attacked, rows: Floats) -> Floats:
        """Chance of being found by a random row of the pattern, (combination,)."""
        label, size = attacked.label[self.combination], attacked.sizes[attacked.pattern]
        share = attacked.group_sizes[self.group] / size[self.combination]
        chance = share * rows[self.group, label] * self.lists.integrals(attacked, rows)
        summed = np.bincount(self.combination, chance, attacked.data.n_combinations)
        return summed.astype(np.float64)
