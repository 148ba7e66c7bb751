"""Chances of every attack on a table that is known exactly, with a record and without.

Such a table is the baseline Perfect, which own-record effects are put beside, or another baseline.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.label_table import LabelTable
from understudy.risk.forest import grow_on_shares
from understudy.risk.half_samples import BLOCKS, block_sums, half_sample_error, half_samples
from understudy.risk.own_record.chances import (
    Attacked,
    Chances,
    Key,
    most_probable,
    normalized_rows,
    simulate_pooled,
    simulate_votes,
)
from understudy.risk.own_record.match_chances import match_all_files, match_lists

__all__ = ["attack_reference", "modal_of_reference"]

FILES = 400  # simulated files of a reference

Floats = NDArray[np.float64]


def attack_reference(
    generator: np.random.Generator,
    attacked: Attacked,
    own: tuple[LabelTable, LabelTable],
    of_pattern: tuple[LabelTable, LabelTable],
) -> dict[Key, Chances]:
    """Chances of every attack on a table that is known exactly.

    Each pair of tables is with and without the record: what its own row is drawn from, and what the
    rows of its pattern are drawn from on average.
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
            generator, attacked, combinations, [(n, pattern_rows[0][:1])], pattern_rows[0][:1],
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

    Files are simulated once, from the row with the record, (label,); without it, (combination,
    label), they count with weights, the ratio of their probabilities. Gives (with or without,
    subset of files, combination): all files first, then halves of them.
    """
    subsets = half_samples()
    if n == 1:  # without the record anything may be drawn: no ratio
        both = np.stack([row[label], without[np.arange(label.size), label]])
        return np.broadcast_to(both[:, None], (2, len(subsets), label.size))
    files = generator.multinomial(n, normalized_rows(row), FILES).astype(
        np.float64
    )  # (file, label)
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
