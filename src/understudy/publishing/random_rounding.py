"""The one rule for every number that becomes public: one record's label hardly ever changes it.

Public numbers are shares of the records, and each comes with a bound: by how many records it can
change at most when one record gets another label, everything else the same
(`PublicNumber.records`). A share is rounded to a multiple of a step, up or down at random, up with
the probability that is left over: the expected value is the share itself. The random part is fixed
by the study's seed and the number's name, so releasing again shows no other value.

Had the record another label, a number would be printed differently with probability at most

    change of the share / step.

The steps are chosen such that these probabilities add up to at most `CHANCE` over all numbers of a
release. So whoever knows every other record, and the files, is right about the last label at most
`CHANCE` more often with these numbers than without them (the total variation distance between what
is printed for any two labels is at most `CHANCE`). A step above `COARSEST` would say nothing:
numbers that need one are left out. Which ones that are follows from the number of records and the
list of numbers alone, both of which are public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor

from understudy.randomness import stream

__all__ = [
    "CHANCE",
    "COARSEST",
    "NOT_SHOWN",
    "RULE",
    "Printed",
    "PublicNumber",
    "print_shares",
    "steps",
]

CHANCE = 0.01  # that anything printed would differ, had one record another label
COARSEST = 0.1  # of all records
LADDER = [lead / 10**zeros for zeros in range(1, 9) for lead in (1, 0.5, 0.2)]  # 0.1, 0.05, 0.02...
LEAST_STEPS = 4  # a number that others are divided by has to be so many steps
NOT_SHOWN = "not published"
RULE = (
    "Numbers about the confidential file are shares of its records, each rounded up or down at "
    "random to a multiple of a step that depends on the number of records. The steps are so coarse "
    "that, had any one record another label, everything printed here would be the same with a "
    f"probability of at least {1 - CHANCE:.0%}. Numbers that would need steps above "
    f"{COARSEST:.0%} of the records are not published; neither are numbers on which one record has "
    "an effect that nobody can bound, such as coefficients of regressions. No number is given for "
    "single records, combinations or labels."
).replace("%", "\u00a0%")


@dataclass(frozen=True)
class PublicNumber:
    """A number that may become public.

    Attributes
    ----------
    name : str
        What tells it from the others of a release.
    share : float or None
        Its value, as a share of the records; None where undefined.
    records : float
        By how many records another label of one record can change it, at most.
    """

    name: str
    share: float | None
    records: float = 1.0


@dataclass(frozen=True)
class Printed:
    """A number as it is published.

    Attributes
    ----------
    share : float
        A multiple of the step; the exact share is less than one step away.
    step : float
        What it is rounded to.
    """

    share: float
    step: float

    def __str__(self) -> str:
        """Write it as a percentage; the ends of the scale are not told exactly."""
        if self.share < self.step / 2:
            return f"below {_percent(self.step)}"
        if self.share > 1 - self.step / 2:
            return f"above {_percent(1 - self.step)}"
        return f"about {_percent(self.share)}"

    def over(self, other: Printed | None) -> str:
        """Write the ratio to another number, where that is large enough to divide by."""
        if other is None or other.share < (LEAST_STEPS - 0.5) * other.step:
            return NOT_SHOWN
        return f"about {self.share / other.share:.1f}"


def _percent(share: float) -> str:
    return f"{100 * share:.6g}\u00a0%"


def steps(numbers: Sequence[PublicNumber], n_records: int) -> dict[str, float]:
    """Choose what can be published of all numbers of a release, and the step of each, by name.

    The choice depends on names, bounds and the number of records, never on a value: of the numbers
    with the smallest bounds, in the order given, as many as the steps allow for.
    """
    ranked = sorted(numbers, key=lambda number: number.records)  # stable: the order given
    for many in range(len(ranked), 0, -1):
        least = [many * number.records / (CHANCE * n_records) for number in ranked[:many]]
        if max(least) <= COARSEST:
            return {
                number.name: min(step for step in LADDER if step >= fine)
                if fine > 0
                else LADDER[-1]
                for number, fine in zip(ranked, least, strict=False)
            }
    return {}


def print_shares(
    numbers: Sequence[PublicNumber], n_records: int, seed: int, release: str
) -> Mapping[str, Printed]:
    """Round numbers at random, so that one record's label hardly ever shows.

    `release` tells this release from others of the study. Gives what can be published, by name.
    """
    chosen = steps(numbers, n_records)
    printed = {}
    for number in numbers:
        if number.name in chosen and number.share is not None:
            step = chosen[number.name]
            part = stream(seed, "public number", release, number.name).random()
            printed[number.name] = Printed(step * floor(number.share / step + part), step)
    return printed
