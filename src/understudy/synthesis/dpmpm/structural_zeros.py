"""Impossible combinations: the DPMPM truncated to what the codebook allows.

The mixture gives every combination some probability, impossible ones included. With S the set of
those and omega(w, p) its probability, the model of a record is p(x) / (1 - omega) outside S. Since

    (1 - omega)^-n = sum over n_0 of  C(n + n_0 - 1, n_0) omega^n_0,

the n records are as good as all records of an ordinary mixture that has n_0 more, in S, their
number negative binomial. So a sweep draws these records given weights and level probabilities,
counts them with the others, and is otherwise the one of the ordinary mixture (Manrique-Vallier and
Reiter, 2014). They are never shown.

Rules of the codebook are boxes: sets of levels of some variables. They are cut into disjoint boxes
first. The records of a box in a class are then multinomial, and so are the levels of the variables
that the box restricts; the others are not needed and are left out, as holes are.

A record with a hole in a rule's variable has, in a class, the probability of what was observed
times that of the values which make it possible: these are boxes too, and few kinds of records share
them. So a record's kind is one more variable, whose level probabilities are those shares. With the
classes, the boxes and the levels inside them are drawn, and counted as if they had been observed.

References
----------
Manrique-Vallier, D. and Reiter, J. P. (2014), "Bayesian estimation of discrete multivariate latent
structure models with structural zeros", Journal of Computational and Graphical Statistics 23,
doi:10.1080/10618600.2013.844700.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SamplerError

__all__ = [
    "add_completions",
    "add_impossible",
    "box_probabilities",
    "impossible_share",
    "kind_probabilities",
]

MOST_RECORDS = 1e12  # that may be drawn in impossible boxes


def box_probabilities(
    boxes: NDArray[np.bool_],
    level_start: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    variables: Sequence[int] | None = None,
) -> NDArray[np.float64]:
    """Probability of every box in every class: (box, class).

    `boxes` is bool (box, level), `probabilities` float64 (level, class); `variables` are those that
    are looked at, all when left out.
    """
    share = np.ones((boxes.shape[0], probabilities.shape[1]))  # (box, class)
    for variable in range(level_start.size - 1) if variables is None else variables:
        inside = boxes[:, level_start[variable] : level_start[variable + 1]]  # (box, level)
        restricted = ~inside.all(axis=1)  # (box,)
        tables = probabilities[level_start[variable] : level_start[variable + 1]]  # (level, class)
        share[restricted] *= inside[restricted].astype(np.float64) @ tables
    return share


def impossible_share(
    boxes: NDArray[np.bool_],
    level_start: NDArray[np.int64],
    weights: NDArray[np.float64],
    probabilities: NDArray[np.float64],
) -> float:
    """Probability of all boxes together: weights (class,), probabilities (level, class)."""
    return float((box_probabilities(boxes, level_start, probabilities) @ weights).sum())


def kind_probabilities(
    completions: NDArray[np.bool_],
    kind_of_box: NDArray[np.int64],
    level_start: NDArray[np.int64],
    probabilities: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Probability that the holes of a kind of records are possible: (kind, class)."""
    shares = box_probabilities(completions, level_start, probabilities)  # (box, class)
    kinds = np.zeros((int(kind_of_box.max()) + 1, shares.shape[1]))  # (kind, class)
    np.add.at(kinds, kind_of_box, shares)
    return kinds


def add_completions(
    generator: np.random.Generator,
    of_kind: NDArray[np.int64],
    completions: NDArray[np.bool_],
    kind_of_box: NDArray[np.int64],
    level_start: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    level_count: NDArray[np.int64],
) -> None:
    """Draw what holes are where rules restrict them, and add it to the counts (level, class).

    Records are by (kind, class); disjoint boxes (box, level) say what the holes of a kind may be.
    Of variables that a box does not restrict, no level is counted.
    """
    shares = box_probabilities(completions, level_start, probabilities)  # (box, class)
    drawn = of_kind[kind_of_box]  # (box, class)
    for kind in np.flatnonzero(of_kind.any(axis=1)):
        own = np.flatnonzero(kind_of_box == kind)  # (box of the kind,)
        if own.size > 1:
            drawn[own] = generator.multinomial(of_kind[kind], _normalized(shares[own].T)).T
    _add_inside(generator, drawn, completions, level_start, probabilities, level_count)


def _normalized(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make rows (class, box or level) sum to one, unless all of it is zero."""
    whole = chances.sum(axis=1, keepdims=True)
    return np.asarray(chances / np.where(whole > 0.0, whole, 1.0))


def _add_inside(
    generator: np.random.Generator,
    drawn: NDArray[np.int64],
    boxes: NDArray[np.bool_],
    level_start: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    level_count: NDArray[np.int64],
) -> None:
    """Draw the levels of records in boxes, (box, class), where the boxes restrict them."""
    for box in np.flatnonzero(drawn.any(axis=1)):
        for first, last in itertools.pairwise(level_start):
            inside = first + np.flatnonzero(boxes[box, first:last])  # (level inside,)
            if inside.size < last - first:
                chances = _normalized(probabilities[inside].T)  # (class, level inside)
                level_count[inside] += generator.multinomial(drawn[box], chances).T


def add_impossible(
    generator: np.random.Generator,
    n_records: int,
    boxes: NDArray[np.bool_],
    level_start: NDArray[np.int64],
    log_weights: NDArray[np.float64],
    probabilities: NDArray[np.float64],
    class_size: NDArray[np.int64],
    level_count: NDArray[np.int64],
) -> None:
    """Draw the records that would have fallen into the boxes, and add them to the counts.

    Impossible boxes (box, level) are disjoint; counts are (class,) and (level, class). Of variables
    that a box does not restrict, no level is counted.
    """
    weights = np.exp(log_weights - np.logaddexp.reduce(log_weights))  # (class,)
    mass = box_probabilities(boxes, level_start, probabilities) * weights  # (box, class)
    total = float(mass.sum())
    if not total * n_records < MOST_RECORDS * (1.0 - total):
        raise SamplerError(
            expected="possible combinations that the mixture gives some probability",
            came="weights and level probabilities under which nearly everything is impossible",
            do="use fewer or narrower rules, or a larger level prior",
        )
    n_impossible = generator.negative_binomial(n_records, 1.0 - total)
    if n_impossible == 0:
        return
    drawn = generator.multinomial(n_impossible, mass.ravel() / total).reshape(mass.shape)
    class_size += drawn.sum(axis=0)
    _add_inside(generator, drawn, boxes, level_start, probabilities, level_count)
