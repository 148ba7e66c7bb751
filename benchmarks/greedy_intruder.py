"""How much the public numbers help an intruder who knows every record but one label.

She holds the released files and all other records. For each label that the last person may have she
computes every number of the release, prints them as the release would, and takes the label whose
numbers agree with the published ones most often; among equals, the label that is most frequent in
the person's pattern among the other people. Without the public numbers she has that guess alone.
The gain is what the numbers add. For comparison, numbers with two digits and exact ones.

    python benchmarks/greedy_intruder.py --records 400 --labels 2 --people 100

The seed of the rounding is not known to her: she gets the random part of the numbers all the same,
which is more than a real intruder has.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from tests.publishing.neighbours import LABEL, Neighbours, made_neighbours, without_propensity

from understudy.publishing.rounding import Figure, print_shares, steps

Texts = Mapping[str, str]


def published(figures: list[Figure], n_records: int, seed: int) -> Texts:
    """Print the numbers as a release does."""
    shown = print_shares(figures, n_records, seed, "one")
    return {name: str(number) for name, number in shown.items()}


def two_digits(figures: list[Figure], *_: int) -> Texts:
    """Print all numbers with two digits."""
    return {figure.name: f"{figure.share or 0:.2g}" for figure in figures}


def exact(figures: list[Figure], *_: int) -> Texts:
    """Print all numbers as they are."""
    return {figure.name: f"{figure.share or 0:.12g}" for figure in figures}


WAYS: dict[str, Callable[..., Texts]] = {
    "published": published,
    "two digits": two_digits,
    "exact": exact,
}


def guesses(neighbours: Neighbours, row: int) -> list[int]:
    """All labels, the most frequent among the other people of the pattern first."""
    rows = neighbours.frame.rows()
    alike = [other[2] for number, other in enumerate(rows)
             if number != row and other[:2] == rows[row][:2]]  # fmt: skip
    counts = Counter(alike)
    return sorted(range(len(neighbours.levels)), key=lambda code: -counts[neighbours.levels[code]])


def chance_of_difference(before: list[Figure], after: list[Figure], n_records: int) -> float:
    """Probability, over the rounding, that anything is printed differently."""
    chosen, same = steps(before, n_records), 1.0
    for old, new in zip(before, after, strict=True):
        if old.name in chosen:
            change = abs((old.share or 0.0) - (new.share or 0.0))
            same *= max(0.0, 1 - change / chosen[old.name])
    return 1 - same


def attack(neighbours: Neighbours, people: list[int], seeds: int) -> None:
    """Attack some people, and print how often each way of printing gives them away."""
    n_records = neighbours.n_records
    truth = neighbours.figures()
    shown = {way: [write(truth, n_records, seed) for seed in range(seeds)]
             for way, write in WAYS.items()}  # fmt: skip
    right, by_guess, differ, compared = Counter[str](), 0, 0, 0
    chances = []
    for row in people:
        own = neighbours.levels.index(neighbours.frame[LABEL][row])
        order = guesses(neighbours, row)
        by_guess += order[0] == own
        figures = {code: truth if code == own else neighbours.figures((row, code))
                   for code in order}  # fmt: skip
        chances += [chance_of_difference(truth, figures[code], n_records)
                    for code in order if code != own]  # fmt: skip
        for way, write in WAYS.items():
            for seed in range(seeds if way == "published" else 1):
                seen = shown[way][seed]
                texts = {code: write(figures[code], n_records, seed) for code in order}
                agree = {code: sum(texts[code].get(name) == text for name, text in seen.items())
                         for code in order}  # fmt: skip
                best = max(order, key=lambda code: agree[code])  # the first among equals
                right[way] += best == own
                if way == "published":
                    differ += sum(texts[code] != seen for code in order if code != own)
                    compared += len(order) - 1
    total = len(people)
    base = by_guess / total
    print(f"{n_records:,} records, {len(neighbours.levels)} labels, {total} people attacked; "
          f"{len(steps(truth, n_records))} of {len(truth)} numbers published")  # fmt: skip
    print(f"  public folders that differ: expected {np.mean(chances):.3%}, at most "
          f"{max(chances):.3%}; seen {differ / compared:.3%} of {compared:,}")  # fmt: skip
    print(f"  guess alone                right {base:.1%}")
    for way in WAYS:
        share = right[way] / (total * (seeds if way == "published" else 1))
        print(f"  with numbers {way:12}  right {share:.1%}  gain {share - base:+.2%}")


def main() -> None:
    """Run the attack for one size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=400)
    parser.add_argument("--labels", type=int, default=2)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=50)
    options = parser.parse_args()
    patch = pytest.MonkeyPatch()
    without_propensity(patch)
    warnings.simplefilter("ignore")
    start = time.process_time()
    neighbours = made_neighbours(options.records, options.labels, 11)
    people = np.random.default_rng(3).choice(options.records, options.people, replace=False)
    attack(neighbours, sorted(people.tolist()), options.seeds)
    print(f"  {time.process_time() - start:.0f} processor seconds")


if __name__ == "__main__":
    main()
