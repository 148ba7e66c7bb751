"""Own-record effects from posterior draws: the record left out by importance weights.

Expectations without record i are weighted means over the kept draws, with weights 1 / likelihood of
its label, Pareto-smoothed (`pareto_smoothing`). Of each draw s two things are used: what the
record's own row is drawn from, and what the rows of its pattern are drawn from on average. For a
model that draws from the kept variables only both are p_s(. | pattern). Where a record's own label
takes part in the draw (``class_draw="full"``) they differ, and without the record its row is drawn
from p_s(. | pattern).

Monte-Carlo errors come from halves of the draws (`half_samples`); simulations add the variance of
their repeats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.microdata.label_table import LabelTable
from understudy.risk.forest import Forest
from understudy.risk.half_samples import BLOCKS, block_sums, half_sample_error, half_samples
from understudy.risk.left_out import (
    Attacked,
    Chances,
    Key,
    match_all_files,
    match_lists,
    modal_of_draws,
    most_probable,
    simulate_pooled,
    simulate_votes,
)
from understudy.risk.pareto_smoothing import smooth_weights

__all__ = ["Draws", "Refitted", "attack_draws", "k_hats", "read_draws"]

FEWEST = 2 * BLOCKS  # draws; with fewer nothing can be said about errors
MEMORY = 1 << 30  # bytes of label probabilities that are held
STEPS = 100_000_000_000  # multiplications for the weighted rows
MATCH_DRAWS = 120  # draws that match integrals are computed for

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class Draws:
    """Posterior draws of a fit, as many as memory and time allow.

    Attributes
    ----------
    pattern : float32 (draw, pattern, label)
        What the rows of a pattern are drawn from, on average.
    own : float32 (draw, combination)
        Probability that a record draws its own label.
    own_rows : LabelTable
        What a record's row is drawn from, mean over draws.
    left_out : float32 (draw, pattern, label)
        What a record's row would be drawn from, had its own label been left out. The same array as
        `pattern` where no record's own label takes part in the draw.
    likelihood : float32 (draw, pattern, label)
        Contribution of one record to the likelihood, up to a factor.
    """

    pattern: NDArray[np.float32]
    own: NDArray[np.float32]
    own_rows: LabelTable
    left_out: NDArray[np.float32]
    likelihood: NDArray[np.float32]

    def __len__(self) -> int:
        """Count the draws."""
        return int(self.own.shape[0])

    def weights(self, attacked: Attacked, pattern: int) -> tuple[Floats, Floats]:
        """Smoothed weights that leave out a record of each combination of a pattern, and k-hats."""
        labels = attacked.label[attacked.of_pattern[pattern]]
        likelihood = self.likelihood[:, pattern, labels].astype(np.float64)
        return smooth_weights(-np.log(np.maximum(likelihood, 1e-300)))


def read_draws(fit: Any, attacked: Attacked) -> Draws:
    """Read the draws of a fit; every second one is dropped as often as memory or time ask."""
    data, n_pairs = attacked.data, len(attacked.sizes) * attacked.data.n_labels
    steps = data.n_combinations * data.n_labels  # for one draw
    most = max(4 * BLOCKS, min(MEMORY // (12 * n_pairs), STEPS // steps))
    step, kept, rows_sum, number = 1, [], np.zeros(1), 0
    for table, predictive, likelihood in zip(
        fit.label_tables(), fit.predictive_tables(), fit.left_out_weights_tables(), strict=True
    ):
        by_pattern = _rows_by_pattern(table, attacked)
        rows_sum = rows_sum + table.probabilities
        if number % step == 0:
            own = table.probabilities[table.row_of_combination, attacked.label]
            if by_pattern is None:
                parts = [_pattern_means(table, attacked), own, likelihood, predictive]
            else:
                parts = [table.probabilities[by_pattern], own, likelihood]
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
    mean, own, likelihood, *without = (np.stack(column) for column in zip(*kept, strict=True))
    own_rows = LabelTable(rows_sum / number, table.row_of_combination)
    return Draws(mean, own, own_rows, without[0] if without else mean, likelihood)


def _rows_by_pattern(table: LabelTable, attacked: Attacked) -> NDArray[np.int32] | None:
    """Give the row of each pattern, or None where records of a pattern draw from several."""
    first = np.array([combinations[0] for combinations in attacked.of_pattern])
    by_pattern: NDArray[np.int32] = table.row_of_combination[first]  # (pattern,)
    return by_pattern if (by_pattern[attacked.pattern] == table.row_of_combination).all() else None


def _pattern_means(table: LabelTable, attacked: Attacked) -> Floats:
    """Average the rows that the records of each pattern draw from, (pattern, label)."""
    sums = np.zeros((len(attacked.sizes), table.probabilities.shape[1]))
    weighted = table.probabilities[table.row_of_combination] * attacked.data.counts[:, None]
    np.add.at(sums, attacked.pattern, weighted)
    return sums / attacked.sizes[:, None]


def k_hats(draws: Draws, attacked: Attacked) -> Floats:
    """Shape of the weights that leave out a record of each combination, (combination,)."""
    shapes = np.empty(attacked.data.n_combinations)
    for pattern, combinations in enumerate(attacked.of_pattern):
        shapes[combinations] = draws.weights(attacked, pattern)[1]
    return shapes


class Refitted(NamedTuple):
    """What a fit without such a record says about a combination."""

    row: Floats  # (label,), what its row is drawn from
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

    Parameters
    ----------
    generator : numpy.random.Generator
        For what is simulated.
    draws : Draws
        Posterior draws.
    attacked : Attacked
        Data, knowledge and number of files.
    refitted : mapping of int to Refitted
        Combinations whose weights cannot be trusted, from fits without such a record.
    forest : Forest
        The model that an intruder trains.
    """
    size, subsets = attacked.data.n_combinations, half_samples()
    some = np.unique(np.linspace(0, len(draws) - 1, MATCH_DRAWS).astype(np.int64))
    some_weights = np.empty((some.size, size))  # (draw, combination)
    means: dict[Key, Floats] = {}  # (with or without, combination)
    effects: dict[Key, Floats] = {}  # (subset of draws,)
    variance: dict[Key, float] = {}  # from simulations
    for pattern, combinations in enumerate(attacked.of_pattern):
        weights, _ = draws.weights(attacked, pattern)
        some_weights[:, combinations] = weights[some]
        by_key, simulated = _attack_pattern(
            generator, draws, attacked, pattern, weights, subsets, refitted, forest
        )
        for key, value in simulated.items():
            variance[key] = variance.get(key, 0.0) + value
        for key, both in by_key.items():  # both: (with or without, subset, combination)
            means.setdefault(key, np.empty((2, size)))[:, combinations] = both[:, 0]
            of_pattern = (both[0] - both[1]) @ attacked.data.counts[combinations]
            effects[key] = effects.get(key, 0.0) + of_pattern
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

    Returns
    -------
    chances : dict of Key to float64 (with or without, subset of draws, combination)
        Of success.
    variance : dict of Key to float
        Of the summed effect of what is simulated, from its repeats.
    """
    combinations = attacked.of_pattern[pattern]
    label, n = attacked.label[combinations], int(attacked.sizes[pattern])
    again = {column: refitted[c] for column, c in enumerate(combinations.tolist()) if c in refitted}
    rows = draws.pattern[:, pattern].astype(np.float64)  # (draw, label)
    left_out = draws.left_out[:, pattern].astype(np.float64)  # (draw, label)
    own = draws.own[:, combinations].astype(np.float64)  # (draw, combination)
    block_size = block_sums(np.ones((len(draws), 1)))
    n_draws = subsets @ block_size  # (subset, 1)
    total = np.maximum(subsets @ block_sums(weights), 1e-300)  # (subset, combination)

    def compared(first: Floats, second: Floats, replaced: Mapping[int, float]) -> Floats:
        """Mean of one, weighted mean of the other; both (draw, combination)."""
        without = subsets @ block_sums(weights * second) / total
        for column, value in replaced.items():
            without[:, column] = value
        return np.stack([subsets @ block_sums(first) / n_draws, without])

    def weighted_rows(tables: Floats) -> Floats:
        """Weighted means of rows, (subset, combination, label)."""
        bounds = np.append(np.arange(BLOCKS) * len(draws) // BLOCKS, len(draws))
        parts = np.stack(
            [weights[start:end].T @ tables[start:end] for start, end in pairwise(bounds)]
        )  # (block, combination, label)
        means = np.tensordot(subsets, parts, axes=1)
        means /= total[..., None]
        for column, fit in again.items():
            means[:, column] = fit.row
        return means

    modal, column = modal_of_draws(generator, rows, n)[:, label], np.arange(label.size)
    again_row = {column: float(fit.row[label[column]]) for column, fit in again.items()}
    again_modal = {column: fit.modal for column, fit in again.items()}
    parts = forest.counts_for(pattern)
    again_model = {column: float(parts[1] @ fit.column[parts[0]]) for column, fit in again.items()}
    less = (own - left_out[:, label]) / n  # of the pattern's mean, where rows keep their labels
    adjusted = rows[:, label] - less
    model = forest.predict_draws(draws.pattern, pattern, label)
    own_part = float(parts[1][np.searchsorted(parts[0], pattern)])
    own_rows = draws.own_rows.probabilities[draws.own_rows.row_of_combination[combinations]]
    without_rows = weighted_rows(left_out)
    of_pattern = without_rows
    if draws.pattern is not draws.left_out:
        of_pattern = weighted_rows(rows) - (own_rows - without_rows) / n
    mean_rows = subsets @ block_sums(rows) / n_draws  # (subset, label)
    limit = most_probable(mean_rows)[:, label], most_probable(of_pattern)[:, column, label]
    votes, of_votes = simulate_votes(generator, attacked, combinations, own_rows, without_rows)
    pooled, of_releases = simulate_pooled(
        generator, attacked, combinations, rows, mean_rows, of_pattern
    )
    chances = {
        Key("row"): compared(own, left_out[:, label], again_row),
        Key("row", True): compared(rows[:, label], adjusted, again_row),
        Key("modal"): compared(modal, modal, again_modal),
        Key("pooled_modal"): pooled,
        Key("pooled_limit"): np.stack(limit),
        Key("model"): compared(model, model - own_part * less, again_model),
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
    lists, own = (
        match_lists(attacked, known),
        np.empty((4, some.size, attacked.data.n_combinations)),
    )
    pattern, label = attacked.pattern, attacked.label
    n = attacked.sizes[pattern]
    again = np.array(sorted(refitted), dtype=np.int64)
    again_row = np.array([refitted[c].row[label[c]] for c in again.tolist()])
    weights = weights.copy()
    weights[:, again] = 1.0
    for index, draw in enumerate(some):
        rows = draws.pattern[draw].astype(np.float64)
        integral = lists.integrals(attacked, rows)
        without = draws.left_out[draw][pattern, label].astype(np.float64)
        without[again] = again_row
        mean = rows[pattern, label]
        adjusted = mean - (draws.own[draw] - without) / n
        adjusted[again] = again_row
        chance = (draws.own[draw], without, mean, adjusted)
        own[:, index] = integral * np.stack(chance)
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
