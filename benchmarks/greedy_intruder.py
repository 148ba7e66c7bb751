"""How much the public numbers help an intruder who knows every record but one label.

She holds the released files and all other records. For each label that the last person may have she
computes every number of the release, prints them as the release would, and takes the label whose
numbers agree with the published ones most often; among equals, the label that is most frequent in
the person's pattern among the other people. Without the public numbers she has that guess alone.
The gain is what the numbers add. For comparison, numbers with two digits and exact ones.

    python -m benchmarks.greedy_intruder --records 400 --labels 2 --people 400

The seed of the rounding is not known to her: she gets the random part of the numbers all the same,
which is more than a real intruder has.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.publishing.neighbours import LABEL, Neighbours, made_neighbours, without_propensity

import understudy as us
from understudy.microdata.table import Microdata
from understudy.publishing.random_rounding import PublicNumber, print_shares, steps
from understudy.randomness import stream

RELEASE = "one"

Codes = NDArray[np.float64]  # what is printed, as numbers: (number, seed)


class Printing:
    """One way to print the numbers of a study, for many seeds at once.

    Parameters
    ----------
    truth : list of PublicNumber
        The numbers of the study as it is.
    n_records : int
        Its size.
    seeds : int
        For how many seeds.
    """

    def __init__(self, truth: list[PublicNumber], n_records: int, seeds: int) -> None:
        self._steps = steps(truth, n_records)
        self._parts = np.array(
            [
                [stream(seed, "public number", RELEASE, name).random() for seed in range(seeds)]
                for name in self._steps
            ]
        ).reshape(-1, seeds)  # (number, seed)
        shown = print_shares(truth, n_records, 0, RELEASE)  # the same rule as that of a release
        steps_up = [round(shown[name].share / step) for name, step in self._steps.items()]
        if self.published(truth)[:, 0].tolist() != steps_up:
            raise AssertionError("print_shares rounds by another rule")

    def published(self, numbers: list[PublicNumber]) -> Codes:
        """As a release does: in steps, up or down at random."""
        share = {number.name: number.share or 0.0 for number in numbers}
        exact = [[share[name] / step] for name, step in self._steps.items()]
        printed: Codes = np.floor(np.array(exact).reshape(-1, 1) + self._parts)
        return printed

    @staticmethod
    def two_digits(numbers: list[PublicNumber]) -> Codes:
        """All numbers with two digits."""
        return np.array([[float(f"{number.share or 0:.2g}")] for number in numbers])

    @staticmethod
    def exact(numbers: list[PublicNumber]) -> Codes:
        """All numbers as they are."""
        return np.array([[float(f"{number.share or 0:.12g}")] for number in numbers])


def guesses(neighbours: Neighbours, row: int) -> list[int]:
    """All labels, the most frequent among the other people of the pattern first."""
    rows = neighbours.frame.rows()
    alike = [other[2] for number, other in enumerate(rows)
             if number != row and other[:2] == rows[row][:2]]  # fmt: skip
    counts = Counter(alike)
    return sorted(range(len(neighbours.levels)), key=lambda code: -counts[neighbours.levels[code]])


def chance_of_difference(
    before: list[PublicNumber], after: list[PublicNumber], n_records: int
) -> float:
    """Probability, over the rounding, that anything is printed differently."""
    chosen, same = steps(before, n_records), 1.0
    for old, new in zip(before, after, strict=True):
        if old.name in chosen:
            change = abs((old.share or 0.0) - (new.share or 0.0))
            same *= max(0.0, 1 - change / chosen[old.name])
    return 1 - same


def attack(neighbours: Neighbours, people: list[int], seeds: int) -> None:
    """Attack some people, and print how often each way of printing gives them away."""
    n_records, truth = neighbours.n_records, neighbours.numbers()
    printing = Printing(truth, n_records, seeds)
    ways = {"published": printing.published, "two digits": printing.two_digits,
            "exact": printing.exact}  # fmt: skip
    seen = {way: write(truth) for way, write in ways.items()}
    right = dict.fromkeys(ways, 0.0)
    by_guess, chances = 0, []
    for row in people:
        own = neighbours.levels.index(neighbours.frame[LABEL][row])
        order = guesses(neighbours, row)
        by_guess += order[0] == own
        others = {code: truth if code == own else neighbours.numbers((row, code))
                   for code in order}  # fmt: skip
        chances += [chance_of_difference(truth, others[code], n_records)
                    for code in order if code != own]  # fmt: skip
        for way, write in ways.items():
            agree = np.array([(write(others[code]) == seen[way]).sum(axis=0) for code in order])
            best = agree.argmax(axis=0)  # (seed,): position in the order, the first among equals
            right[way] += float(np.mean(np.array(order)[best] == own))
    base = by_guess / len(people)
    print(f"{n_records:,} records, {len(neighbours.levels)} labels, {len(people)} people attacked; "
          f"{len(steps(truth, n_records))} of {len(truth)} numbers published")  # fmt: skip
    print(f"  chance that a public folder differs, {len(chances):,} pairs of record and label: "
          f"mean {np.mean(chances):.3%}, largest {max(chances):.3%}")  # fmt: skip
    print(f"  guess alone                right {base:.1%}")
    for way, hits in right.items():
        share = hits / len(people)
        print(f"  with numbers {way:12}  right {share:.1%}  gain {share - base:+.2%}")


def fitted(data: Microdata) -> Any:
    """Fit a mixture whose own-record effect is measured; it is held fixed."""
    return us.DPMPM(n_classes=5).fit(data, chains=2, warmup=50, draws=100, seed=1)


def main() -> None:
    """Run the attack for one size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=400)
    parser.add_argument("--labels", type=int, default=2)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=1_000)
    parser.add_argument("--fit", action="store_true", help="with the numbers of a fitted model")
    options = parser.parse_args()
    patch = pytest.MonkeyPatch()
    without_propensity(patch)
    warnings.simplefilter("ignore")
    start = time.process_time()
    fit = fitted if options.fit else None
    even = 20.0 if options.fit else 1.0  # no label so rare that a fit would lose a combination
    neighbours = made_neighbours(options.records, options.labels, 11, fit=fit, evenness=even)
    people = np.random.default_rng(3).choice(options.records, options.people, replace=False)
    attack(neighbours, sorted(people.tolist()), options.seeds)
    print(f"  {time.process_time() - start:.0f} processor seconds")


if __name__ == "__main__":
    main()
