"""Attacks on files of any tool, against a control group or against what other records tell.

Success with the release is measured on the files. Success without a person's record cannot be, so
it is taken from people who were not in the synthesis, pattern by pattern: whatever is guessed right
about them is inference. Without such people the baseline Others is used.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import DataWarning, InputError
from understudy.microdata.coding import regroup
from understudy.microdata.label_table import LARGEST_TABLE, combined_labels
from understudy.microdata.plausibility import table_size
from understudy.microdata.reading import read_microdata
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.risk.alignment import aligned_sets
from understudy.risk.identification import match_sets
from understudy.risk.joint import match_each_jointly, vote_right
from understudy.risk.label_guesses import count_sets, modal_chance, row_chance
from understudy.risk.matching import Labels, find_targets, labels_of
from understudy.risk.own_record.chances import Attacked, Chances, Key
from understudy.risk.prediction import pooled_rows, predict_labels

__all__ = ["Measured", "attack_sets", "compare_with_control"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class Measured:
    """Success of every attack on some files.

    Attributes
    ----------
    success : mapping of Key to float64 (combination,)
        Mean chance of the records of each combination.
    predicted : float64 (pattern, label), optional
        What a model that is trained on the files says; None where the table would be too large.
    n_sets : int
        Files.
    labels : Labels
        True and synthetic labels.
    """

    success: Mapping[Key, Floats]
    predicted: Floats | None
    n_sets: int
    labels: Labels

    def against(self, exact: Mapping[Key, Chances]) -> dict[Key, Chances]:
        """Compare with what the other records of the pattern tell; see the module's text.

        The error is that of two numbers of independent events, each with its own chance: where
        everybody is attacked rightly there is none.
        """
        counts = self.labels.sets.data.counts
        compared = {}
        for key, chance in self.success.items():
            without = exact[key].without_record
            spread = chance * (1.0 - chance) + without * (1.0 - without)  # (combination,)
            error = float(np.maximum(spread, 0.0) @ counts) ** 0.5
            compared[key] = Chances(chance, without, error)
        return compared


def attack_sets(
    generator: np.random.Generator,
    data: Microdata,
    synthetic: Any,
    knowledge: Sequence[tuple[str, ...]],
) -> Measured:
    """Attack synthetic sets in every way that they allow."""
    sets = aligned_sets(data, synthetic)
    labels = labels_of(sets)
    patterns = find_targets(data, data.kept, labels.of_combination, labels.size)
    true, n_sets = labels.of_record, len(sets)
    target = np.zeros(data.n_combinations, dtype=np.int64)
    target[data.of_record] = patterns.of_record  # a combination is a pair of pattern and label
    counted, pooled = count_sets(labels, patterns)
    modal = np.mean([modal_chance(patterns, *counts) for counts in counted], axis=0)  # (target,)
    any_row = np.mean([row_chance(patterns, *counts) for counts in counted], axis=0)  # (target,)
    row = np.mean([labels.of_set(index) == true for index in range(n_sets)], axis=0)  # (record,)
    success = {
        Key("row"): _by_combination(data, row),
        Key("row", True): any_row[target],
        Key("vote"): _by_combination(data, vote_right(labels)),
        Key("modal"): modal[target],
        Key("pooled_modal"): modal_chance(patterns, *pooled)[target],
    }
    for known in knowledge:
        for name, chance in _match_chances(data, labels, known).items():
            success[Key(name, False, known)] = _by_combination(data, chance)
    predicted = None
    if table_size(data) <= LARGEST_TABLE:
        predicted = predict_labels(generator, data, pooled_rows(data, data, sets))
        success[Key("model")] = predicted[data.patterns.of_combination, labels.of_combination]
    return Measured(success, predicted, n_sets, labels)


def _by_combination(data: Microdata, chance: Floats) -> Floats:
    """Average the chances of the records, (record,), by combination."""
    return np.bincount(data.of_record, weights=chance) / data.counts


def compare_with_control(
    generator: np.random.Generator, attacked: Attacked, measured: Measured, control: Any
) -> tuple[dict[Key, Chances], int]:
    """Compare with people who were not in the synthesis, pattern by pattern.

    Nobody of them has a row: a random row of their pattern in each file takes its place. Patterns
    that the control group lacks have the mean of the others; the error is that of both groups'
    means, pattern by pattern. Gives chances, and the records whose pattern the control group has.
    """
    data, labels = attacked.data, measured.labels
    pattern, wanted = _control_keys(data, labels, control)
    patterns = find_targets(data, data.kept, labels.of_combination, labels.size)
    counted, pooled = count_sets(labels, patterns)
    any_row = np.mean([row_chance(patterns, *counts, wanted=wanted) for counts in counted], axis=0)
    modal = np.mean([modal_chance(patterns, *counts, wanted=wanted) for counts in counted], axis=0)
    of_control = {
        Key("row"): any_row,
        Key("row", True): any_row,
        Key("vote"): _votes(generator, labels, patterns.cell_of_record, pattern, wanted),
        Key("modal"): modal,
        Key("pooled_modal"): modal_chance(patterns, *pooled, wanted=wanted),
    }  # (person,) each
    if measured.predicted is not None:
        said = measured.predicted[pattern, np.maximum(wanted, 0) % labels.size]
        of_control[Key("model")] = np.where(wanted >= 0, said, 0.0)
    n_control = np.bincount(pattern, minlength=len(attacked.sizes))  # (pattern,)
    covered = n_control > 0
    n_covered = int(attacked.sizes[covered].sum())
    chances = {}
    for key, chance in of_control.items():
        right = np.bincount(pattern, chance, len(n_control))
        mean = right / np.maximum(n_control, 1)  # (pattern,)
        chances[key] = _compared(attacked, measured.success[key], mean, n_control, n_covered)
    matches = _matched_control(generator, attacked, labels.sets, pattern, wanted)
    for key, mean in matches.items():
        chances[key] = _compared(attacked, measured.success[key], mean, n_control, n_covered)
    return chances, n_covered


def _matched_control(
    generator: np.random.Generator,
    attacked: Attacked,
    sets: SyntheticSets,
    pattern: NDArray[np.int64],
    wanted: NDArray[np.int64],
) -> dict[Key, Floats]:
    """Match people who were not there, as if any row of their pattern were theirs; by pattern.

    As many of them as each pattern has records take the records' places, and the rows of every file
    are put into a random order within patterns. So the files are as they are, and no row is tied to
    anybody.
    """
    data = attacked.data
    drawn = _people_in_place(generator, attacked.sizes, pattern)  # (record,), by pattern
    of_record = data.patterns.of_combination[data.of_record]  # (record,)
    by_pattern = np.argsort(of_record, kind="stable")
    people = np.empty(data.n_records, dtype=np.int64)
    people[by_pattern] = drawn
    known_label = wanted[people] >= 0
    columns = [data.names.index(name) for name in data.synthesized]
    codes = data.combinations[data.of_record].copy()  # (record, variable)
    levels = [data.variable(name).n_levels for name in data.synthesized]
    label = np.maximum(wanted[people], 0) % data.n_labels
    codes[:, columns] = np.stack(np.unravel_index(label, levels), axis=1)
    combinations, counts, rows = regroup(
        codes,
        np.ones(len(codes), dtype=np.int64),
        np.arange(len(codes), dtype=np.int32),
        [data.variable(name).n_levels for name in data.names],
    )
    others = replace(data, combinations=combinations, counts=counts, of_record=rows)
    shuffled = np.empty_like(sets.codes)
    for file, made in enumerate(sets.codes):
        order = np.lexsort((generator.random(data.n_records), of_record))
        shuffled[file, by_pattern] = made[order]
    labels = labels_of(SyntheticSets(others, shuffled))
    means = {}
    for known in attacked.known:
        for name, chance in _match_chances(others, labels, known).items():
            right = np.bincount(of_record, chance * known_label, len(attacked.sizes))
            means[Key(name, False, known)] = right / attacked.sizes
    return means


def _people_in_place(
    generator: np.random.Generator, sizes: NDArray[np.int64], pattern: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Choose a person of the control group for every record, pattern by pattern.

    Everybody as often as possible alike; anybody where the group lacks the pattern.
    """
    of_pattern = np.split(
        np.argsort(pattern, kind="stable"),
        np.cumsum(np.bincount(pattern, minlength=sizes.size))[:-1],
    )
    chosen = []
    for people, size in zip(of_pattern, sizes.tolist(), strict=True):
        group = people if people.size else np.zeros(1, dtype=np.int64)
        chosen.append(np.resize(generator.permutation(group), size))
    return np.concatenate(chosen)


def _match_chances(
    data: Microdata, labels: Labels, known: tuple[str, ...]
) -> dict[str, NDArray[np.float64]]:
    """Chance that each record is found, (record,), in one file and in all together."""
    targets = find_targets(data, known, labels.of_combination, labels.size)
    matches = match_sets(targets, labels)
    return {
        "match_one_file": matches.sums.probability / len(labels.sets),
        "match_all_files": match_each_jointly(targets, matches.matched, matches.counts),
    }


def _votes(
    generator: np.random.Generator,
    labels: Labels,
    of_record: NDArray[np.int64],
    pattern: NDArray[np.int64],
    wanted: NDArray[np.int64],
) -> Floats:
    """Chance that a vote over a random row of the pattern in each file is right, (person,).

    Patterns of records, (record,), and of people, (person,), whose keys are `wanted`.
    """
    order = np.argsort(of_record, kind="stable")
    sizes = np.bincount(of_record)  # (pattern,)
    start = np.concatenate([[0], np.cumsum(sizes)])
    n_sets = len(labels.sets)
    drawn = np.empty((pattern.size, n_sets), dtype=np.int64)  # (person, set)
    for index in range(n_sets):
        row = (generator.random(pattern.size) * sizes[pattern]).astype(np.int64)
        drawn[:, index] = labels.of_set(index)[order[start[pattern] + row]]
    true = np.where(wanted >= 0, wanted % labels.size, -1)
    right = np.empty(pattern.size)
    for person, votes in enumerate(drawn):
        values, counts = np.unique(votes, return_counts=True)
        best = values[counts == counts.max()]
        right[person] = (best == true[person]).any() / best.size
    return right


def _compared(
    attacked: Attacked,
    members: Floats,
    others: Floats,
    n_control: NDArray[np.int64],
    n_covered: int,
) -> Chances:
    """Compare the mean of members, (combination,), with that of others, (pattern,)."""
    counts, covered, mean = attacked.data.counts, n_control > 0, others.copy()
    overall = float(mean[covered] @ attacked.sizes[covered]) / n_covered
    mean[~covered] = overall
    own = np.bincount(attacked.pattern, members * counts) / attacked.sizes  # (pattern,)
    scale = attacked.data.n_records / n_covered
    spread = mean * (1.0 - mean)  # (pattern,), of a success that is right or wrong
    variance = float((attacked.sizes**2 * spread / np.maximum(n_control, 1))[covered].sum())
    variance += float((attacked.sizes * own * (1.0 - own))[covered].sum())
    in_control = covered[attacked.pattern]
    own_covered = float((members * counts)[in_control].sum()) / n_covered
    with_record = np.where(in_control, members, own_covered)
    return Chances(with_record, mean[attacked.pattern], scale * variance**0.5)


def _control_keys(
    data: Microdata, labels: Labels, control: Any
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the pattern and the key of pattern and label of each person of a control group.

    People of patterns that the data do not have are left out. A label that the data do not have
    is a key that no row has.
    """
    if not isinstance(control, Microdata):
        with warnings.catch_warnings():  # small patterns of a control group are nobody's risk
            warnings.simplefilter("ignore", DataWarning)
            control = read_microdata(control, synthesize=data.synthesized, keep=data.kept)
    if set(control.names) != set(data.names):
        raise InputError(
            expected="a control group with the variables of the data",
            came="other variables",
            do="name the same synthesized and kept variables",
        )
    if labels.coded is not None:
        raise InputError(
            expected="fewer labels than pairs of record and label can be numbered",
            came="too many combined labels",
            do="synthesize fewer variables together",
        )
    codes = {name: _recoded(data, control, name) for name in data.names}  # (person,) each
    rows = {tuple(row): index for index, row in enumerate(data.patterns.codes.tolist())}
    kept = np.stack([codes[name] for name in data.patterns.names], axis=1)  # (person, variable)
    pattern = np.array([rows.get(tuple(row), -1) for row in kept.tolist()], dtype=np.int64)
    made = np.stack([codes[name] for name in data.synthesized], axis=1)  # (person, variable)
    label = combined_labels(data, np.maximum(made, 0))
    known = pattern >= 0
    key = np.where((made >= 0).all(axis=1), pattern * labels.size + label, -1)
    if not known.any():
        raise InputError(
            expected="a control group that shares patterns with the data",
            came="none of its people's kept variables occur in the data",
            do="check that levels are written alike in both",
        )
    return pattern[known], key[known]


def _recoded(data: Microdata, control: Microdata, name: str) -> NDArray[np.int64]:
    """Code a control group's variable by the levels of the data, -1 for others, (person,)."""
    code_of = {level: code for code, level in enumerate(data.variable(name).levels)}
    table = np.array([code_of.get(level, -1) for level in control.variable(name).levels])
    coded: NDArray[np.int64] = table[control.codes(name)]
    return coded
