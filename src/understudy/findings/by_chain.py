"""Do the sets of different chains measure differently? Each measure, chain by chain.

A posterior may have several regions that chains hardly ever leave. Diagnostics then say that the
chains do not agree; what a review board asks next is whether it matters for the file. Sets come
from all chains in turn, so their measures answer that: if all chains sample the same distribution,
the means of their sets differ by chance alone, which a one-way analysis of variance judges. It
takes the sets of a chain as independent. With few sets a chain it misses much: of 20 sets of four
chains and six measures, each judged at the level 0.05 / 6, a gap of 1.7 standard deviations of a
set between two chains and two is seen with probability 0.52, a gap of 2.0 between one chain and
three with 0.54. It can show that chains differ, never that they do not, and does not make up for
convergence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc, fdtri, ncfdtr

__all__ = ["RARE", "ByChain", "by_chain", "chance_in_words", "power"]

RARE = 0.05  # a chance below it, divided by the number of comparisons, shows a difference


@dataclass(frozen=True)
class ByChain:
    """One measure on the sets of every chain.

    Attributes
    ----------
    means : tuple of float (chain,)
        Mean over the sets of each chain.
    spread : float
        Standard deviation of the sets of one chain.
    chance : float
        Probability of means as far apart as these if all sets were alike: analysis of variance.
    """

    means: tuple[float, ...]
    spread: float
    chance: float

    @property
    def gap(self) -> float:
        """How far the means of two chains lie apart at most."""
        return max(self.means) - min(self.means)

    @property
    def gap_in_spreads(self) -> float:
        """The same in standard deviations of a set; 0 where no two sets differ."""
        if self.gap == 0:
            return 0.0
        return self.gap / self.spread if self.spread > 0 else float("inf")


def by_chain(values: Sequence[float | None], chains: Sequence[int]) -> ByChain | None:
    """Compare one measure, (set,), between the chains that the sets come from, (set,).

    None where there is nothing to compare: an undefined value, a single chain, or no chain with two
    sets.
    """
    defined = [value for value in values if value is not None]
    numbers = sorted(set(chains))
    if len(defined) < len(chains) or len(numbers) < 2 or len(chains) <= len(numbers):
        return None
    measured, of_chain = np.array(defined), np.array(chains)  # (set,), (set,)
    groups = [measured[of_chain == number] for number in numbers]
    means = [float(group.mean()) for group in groups]
    between = sum(
        group.size * (mean - measured.mean()) ** 2
        for group, mean in zip(groups, means, strict=True)
    )
    within = sum(
        float(((group - mean) ** 2).sum()) for group, mean in zip(groups, means, strict=True)
    )
    free = (len(numbers) - 1, measured.size - len(numbers))  # degrees of freedom
    tiny = 1e-20 * float((measured**2).sum())  # rounding
    if within <= tiny:
        chance = 1.0 if between <= tiny else 0.0
    else:
        chance = float(fdtrc(*free, (between / free[0]) / (within / free[1])))
    return ByChain(tuple(means), float(np.sqrt(within / free[1])), chance)


def power(n_sets: int, n_chains: int, gap: float, level: float) -> float:
    """Compute the probability of noticing that chains differ.

    `n_sets` is that of all chains together, each with as many. Half of the chains lie `gap`
    standard deviations of a set from the others; below the chance `level` a difference counts.
    """
    free = (n_chains - 1, n_sets - n_chains)
    critical = fdtri(*free, 1 - level)
    return 1.0 - float(ncfdtr(*free, n_sets * (gap / 2) ** 2, critical))


def chance_in_words(chance: float) -> str:
    """Write a chance with three digits, or that it is smaller than they can show."""
    return "below 0.001" if chance < 0.001 else f"{chance:.3f}"
