"""Slow twins of the risk measures, written from the definitions: lists, loops and fractions.

Everything here compares every record with every row. `known` and `true` list the known values and
the true label of each record, `made` the labels of one synthetic set, `sets` several such lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product
from math import prod
from typing import NamedTuple

Values = Sequence[Hashable]


class Matches(NamedTuple):
    """Candidates c and truth T of every record."""

    candidates: list[int]
    truth: list[int]


def match(known: Values, true: Values, made: Values, count_in: str = "synthetic") -> Matches:
    """Count, for every record, the rows with its known values and its true label."""
    n = len(true)
    counted = made if count_in == "synthetic" else true
    candidates = [
        sum(1 for j in range(n) if known[j] == known[i] and counted[j] == true[i])
        for i in range(n)
    ]  # fmt: skip
    truth = [1 if made[i] == true[i] else 0 for i in range(n)]
    return Matches(candidates, truth)


def joint_match(known: Values, true: Values, sets: Sequence[Values]) -> Matches:
    """Average match probabilities over the sets, then count the rows with the highest."""
    n = len(true)
    candidates, truth = [], []
    for i in range(n):
        probability = [Fraction(0)] * n
        for made in sets:
            rows = [j for j in range(n) if known[j] == known[i] and made[j] == true[i]]
            for j in rows:
                probability[j] += Fraction(1, len(rows) * len(sets))
        best = max(probability)
        candidates.append(probability.count(best) if best > 0 else 0)
        truth.append(1 if best > 0 and probability[i] == best else 0)
    return Matches(candidates, truth)


def expected_match_risk(matches: Matches) -> Fraction:
    """Sum T/c over the records that have candidates."""
    return sum((Fraction(t, c) for c, t in zip(*matches, strict=True) if c > 0), Fraction(0))


def true_matches(matches: Matches) -> int:
    """Count the records with c T = 1."""
    return sum(1 for c, t in zip(*matches, strict=True) if c * t == 1)


def unique_matches(matches: Matches) -> int:
    """Count the records with c = 1."""
    return matches.candidates.count(1)


def false_match_rate(matches: Matches) -> Fraction | None:
    """Divide the records with c (1 - T) = 1 by those with c = 1."""
    wrong = sum(1 for c, t in zip(*matches, strict=True) if c * (1 - t) == 1)
    unique = unique_matches(matches)
    return Fraction(wrong, unique) if unique else None


def vote(true: Values, sets: Sequence[Values]) -> Fraction:
    """Expect the number of records whose most frequent label over the sets is the true one."""
    right = Fraction(0)
    for i, label in enumerate(true):
        votes = Counter(made[i] for made in sets)
        winners = [value for value in votes if votes[value] == max(votes.values())]
        right += Fraction(label in winners, len(winners))
    return right


def any_row(pattern: Values, true: Values, made: Values) -> Fraction:
    """Expect the number of records whose label a random row of their pattern has."""
    right = Fraction(0)
    for i, label in enumerate(true):
        rows = [made[j] for j in range(len(made)) if pattern[j] == pattern[i]]
        right += Fraction(rows.count(label), len(rows))
    return right


def guess_most_frequent(pattern: Values, true: Values, seen: Values, files: int = 1) -> Fraction:
    """Expect the number of records that have the label seen most often in their pattern."""
    right, rows = Fraction(0), list(pattern) * files
    for i, label in enumerate(true):
        votes = Counter(seen[j] for j in range(len(seen)) if rows[j] == pattern[i])
        winners = [value for value in votes if votes[value] == max(votes.values())]
        right += Fraction(label in winners, len(winners))
    return right


def random_pairings(
    known: Values, true: Values, made: Values, count_in: str = "synthetic", within: Values = ()
) -> Fraction:
    """Average the expected match risk over all pairings of records with rows.

    `within` takes only the pairings that exchange rows among records with equal values of it.
    """
    risks = []
    candidates = match(known, true, made, count_in).candidates
    for order in permutations(range(len(true))):
        if within and any(within[j] != within[i] for i, j in enumerate(order)):
            continue
        risks.append(
            sum(
                (
                    Fraction(1, candidates[i])
                    for i, j in enumerate(order)
                    if known[j] == known[i] and made[j] == true[i]
                ),
                Fraction(0),
            )
        )
    return sum(risks, Fraction(0)) / len(risks)


def shuffled_labels(true: Values, sets: Sequence[Values]) -> tuple[Fraction, Fraction]:
    """Mean and variance, over one shuffle of all label columns, of the mean number of matches."""
    n = len(true)
    numbers = [
        Fraction(sum(made[j] == true[i] for made in sets for i, j in enumerate(order)), len(sets))
        for order in permutations(range(n))
    ]
    mean = sum(numbers, Fraction(0)) / len(numbers)
    return mean, sum(((value - mean) ** 2 for value in numbers), Fraction(0)) / len(numbers)


def shuffled_score(pattern: Values, true: Values, made: Values) -> tuple[Fraction, Fraction]:
    """Mean and variance, over all shuffles of one label column, of its score."""
    n = len(true)
    scores = [
        sum((Fraction(*_holders(pattern, true, i, made[j])) for i, j in enumerate(order)),
            Fraction(0))
        for order in permutations(range(n))
    ]  # fmt: skip
    mean = sum(scores, Fraction(0)) / len(scores)
    return mean, sum(((value - mean) ** 2 for value in scores), Fraction(0)) / len(scores)


def _holders(pattern: Values, true: Values, record: int, label: Hashable) -> tuple[int, int]:
    """Count the records of a record's pattern that have a label, and all of them."""
    own = [true[j] for j in range(len(true)) if pattern[j] == pattern[record]]
    return own.count(label), len(own)


def all_draws(probabilities: Sequence[Sequence[float]]) -> Iterator[tuple[float, tuple[int, ...]]]:
    """List every file that records with these label probabilities can draw, with its chance."""
    for labels in product(range(len(probabilities[0])), repeat=len(probabilities)):
        yield prod(row[label] for row, label in zip(probabilities, labels, strict=True)), labels


def attribution(
    keys: Values, target: Values, made_keys: Values, made_target: Values
) -> dict[str, Fraction | None]:
    """Compute the measures that need no rows, record by record."""
    n = len(keys)
    other = len(made_keys)

    def rows(listed: Values, key: Hashable) -> list[int]:
        return [j for j in range(len(listed)) if listed[j] == key]

    def values(listed: Values, column: Values, key: Hashable) -> set[Hashable]:
        return {column[j] for j in rows(listed, key)}

    def share(number: int, of: int = n) -> Fraction:
        return Fraction(number, of)

    alone = [len(rows(keys, key)) == 1 for key in keys]
    told = [values(made_keys, made_target, key) for key in keys]
    held = [values(keys, target, key) for key in keys]
    told_one = [len(value) == 1 for value in told]
    correct = [told[i] == {target[i]} for i in range(n)]
    return {
        "uniques_original": share(sum(alone)),
        "uniques_synthetic": share(sum(len(rows(made_keys, key)) == 1 for key in made_keys), other),
        "uniques_in_synthetic": share(sum(alone[i] and bool(told[i]) for i in range(n))),
        "replicated_uniques": share(
            sum(alone[i] and len(rows(made_keys, keys[i])) == 1 for i in range(n))
        ),
        "disclosive_original": share(sum(len(value) == 1 for value in held)),
        "disclosive_synthetic": share(
            sum(len(values(made_keys, made_target, key)) == 1 for key in made_keys), other
        ),
        "in_synthetic": share(sum(bool(value) for value in told)),
        "disclosive": share(sum(told_one)),
        "disclosive_correct": share(sum(correct)),
        "disclosive_both": share(sum(correct[i] and len(held[i]) == 1 for i in range(n))),
        "dcap": _mean_share(keys, target, made_keys, made_target),
        "cap_original": _mean_share(keys, target, keys, target),
        "baseline_cap": _mean_share([0] * n, target, [0] * n, target),
        "cap_synthetic": _mean_share(made_keys, made_target, made_keys, made_target),
        "tcap": Fraction(sum(correct), sum(map(bool, told))) if any(told) else None,
        "precision": Fraction(sum(correct), sum(told_one)) if any(told_one) else None,
    }


def _mean_share(keys: Values, target: Values, in_keys: Values, in_target: Values) -> Fraction:
    """Average, over records, the share of the true value among the rows with the record's key."""
    total = Fraction(0)
    for key, value in zip(keys, target, strict=True):
        rows = [j for j in range(len(in_keys)) if in_keys[j] == key]
        if rows:
            total += Fraction(sum(in_target[j] == value for j in rows), len(rows))
    return total / len(keys)
